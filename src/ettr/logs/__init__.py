"""Readers of failure logs, one a format, and of training logs."""

from ettr.logs.lifetimes import read_lifetimes
from ettr.logs.reading import formats, from_frame, read

__all__ = ["formats", "from_frame", "read", "read_lifetimes"]
