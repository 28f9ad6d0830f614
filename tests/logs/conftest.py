"""Logs written on the spot, and what must hold for all of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ettr import logs
from written_files import count, write

sys.path.insert(0, str(Path(__file__).parent))  # what the tests of all formats use

__all__ = ["count", "read", "write"]


@pytest.fixture
def read(write):
    """Read a text as a log of 16 nodes over May 2024, unless told otherwise."""

    def _read(content, name="log.csv", **options):
        arguments = {"n_nodes": 16, "window": "2024-05-01/2024-05-31", **options}
        return logs.read(write(content, name), **arguments)

    return _read
