"""Logs written on the spot, and what must hold for all of them."""

from __future__ import annotations

import pytest

from ettr import logs


@pytest.fixture
def write(tmp_path):
    """Write a text or bytes to a file and return its path."""

    def _write(content, name="log.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


@pytest.fixture
def read(write):
    """Read a text as a log of 16 nodes over May 2024, unless told otherwise."""

    def _read(content, name="log.csv", **options):
        asked = {"n_nodes": 16, "window": "2024-05-01/2024-05-31", **options}
        return logs.read(write(content, name), **asked)

    return _read


@pytest.fixture
def count():
    """Count the records of a log with one fate: an action, and a part of the reason."""

    def _count(log, action, reason=""):
        rows = log.ledger[(log.ledger["action"] == action) & log.ledger["reason"].str.contains(reason, regex=False)]
        return int(rows["n"].sum())

    return _count
