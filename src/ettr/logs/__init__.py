"""Failure logs as people have them."""

from ettr.logs.reading import formats, from_frame, read

__all__ = ["formats", "from_frame", "read"]
