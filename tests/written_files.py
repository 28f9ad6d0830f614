"""Fixtures for readers of files: a temporary file, and the counts of a ledger."""

from __future__ import annotations

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a text or bytes to a file and return its path."""

    def _write(content, name="log.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


def records(ledger, action, reason=""):
    """Count the records of a ledger with one fate: an action, and a part of the reason."""
    rows = ledger[(ledger["action"] == action) & ledger["reason"].str.contains(reason, regex=False)]
    return int(rows["n"].sum())


@pytest.fixture
def count():
    """Count what became of the records of a log or recording."""
    return lambda read, action, reason="": records(read.ledger, action, reason)
