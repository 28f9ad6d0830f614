"""Recordings written on the spot."""

from __future__ import annotations

import pytest

from ettr import telemetry
from written_files import count, write

__all__ = ["count", "read", "write"]


@pytest.fixture
def read(write):
    """Read a text as a recording."""

    def _read(content, name="telemetry.csv", **options):
        return telemetry.read(write(content, name), **options)

    return _read
