"""Files written on the spot."""

from __future__ import annotations

from written_files import write

__all__ = ["write"]
