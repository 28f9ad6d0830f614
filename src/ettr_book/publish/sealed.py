"""Folders that a build keeps for the next one, with the digest of all that is in them.

What fills them writes in place: a build that is killed, a full disk or a power cut leaves half a page or half a pickle
that looks like a whole one. Such a folder does not have its digest, and whoever goes on from it makes it anew instead.
"""

from __future__ import annotations

from pathlib import Path

from ettr import notebook


def seal(folder: Path) -> None:
    """Write the digest of a folder beside it."""
    _place(folder).write_text(notebook.contents([(folder, "*")]), encoding="utf-8")


def is_whole(folder: Path) -> bool:
    """Whether a folder is as it was when it was sealed."""
    try:
        return _place(folder).read_text(encoding="utf-8") == notebook.contents([(folder, "*")])
    except (OSError, ValueError):
        return False


def _place(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.sha256")
