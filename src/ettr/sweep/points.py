"""The file that each point leaves, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ettr.files import durable
from ettr.notebook import RECORD

MANIFEST = "sweep.json"
FOLDER = "points"


def file_name(digest: str, suffix: str, failed: bool) -> str:
    """The name of a point's file in ``points/``."""
    return f"{digest}{'.failed' if failed else ''}{suffix}"


def keep(out: Path, digest: str, suffix: str, text: str, failed: bool) -> None:
    """Keep what a point left, in place of what an earlier attempt left."""
    durable.write(out / FOLDER / file_name(digest, suffix, failed), text)
    (out / FOLDER / file_name(digest, suffix, not failed)).unlink(missing_ok=True)


def record(path: Path, digest: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The content of a point's file and what it says of its run, if it is whole and of this point."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        run = content["metadata"][RECORD] if path.suffix == ".ipynb" else content
        return (content, run) if run["digest"] == digest else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_same(out: Path, token: str) -> bool:
    """Whether this is the folder of the sweep with this token, as seen from here."""
    try:
        return bool(token) and json.loads((out / MANIFEST).read_text(encoding="utf-8")).get("token") == token
    except (OSError, ValueError, AttributeError):
        return False
