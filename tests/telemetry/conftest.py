"""Recordings written on the spot."""

from __future__ import annotations

import pytest

from ettr import telemetry


@pytest.fixture
def write(tmp_path):
    """Write a text or bytes to a file and return its path."""

    def _write(content, name="telemetry.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


@pytest.fixture
def read(write):
    """Read a text as a recording."""

    def _read(content, name="telemetry.csv", **options):
        return telemetry.read(write(content, name), **options)

    return _read


@pytest.fixture
def count():
    """Count the entries of a ledger with one action, and a part of the reason."""

    def _count(recording, action, reason=""):
        rows = recording.ledger
        rows = rows[(rows["action"] == action) & rows["reason"].str.contains(reason, regex=False)]
        return int(rows["n"].sum())

    return _count
