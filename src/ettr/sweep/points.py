"""The files of a sweep: each written whole or not at all, and known to be as it was written.

A file holds a digest of all that is in it. So what a crash cut short, a disk forgot, or somebody changed is noticed
when it is read, and counts as not there.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ettr.core import durable
from ettr.core.errors import EttrError
from ettr.core.sentences import encodable
from ettr.notebook import RECORD

MANIFEST = "sweep.json"
FOLDER = "points"
SEAL = "sha256"
"""The field that holds the digest of all others."""


class Altered(EttrError):
    """A file is not as it was written."""


def file_name(digest: str, suffix: str, failed: bool) -> str:
    """The name of a point's file in ``points/``."""
    return f"{digest}{'.failed' if failed else ''}{suffix}"


def keep(out: Path, digest: str, suffix: str, text: str, failed: bool) -> None:
    """Keep what a point left, in place of what an earlier attempt left.

    When this returns, a disk holds it: a power cut does not undo it.
    """
    content = json.loads(text)
    write(out / FOLDER / file_name(digest, suffix, failed), content, _run(content, suffix))
    (out / FOLDER / file_name(digest, suffix, not failed)).unlink(missing_ok=True)


def record(path: Path, digest: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The content of a point's file and what it says of its run; nothing if there is no file.

    Raises
    ------
    Altered
        If it is cut short, of another point, lacks a field, or holds another value than was written.
    """
    content = read(path, path.suffix)
    if content is None:
        return None
    run = _run(content, path.suffix)
    if run.get("digest") != digest or "duration_s" not in run:
        raise Altered(f"{path} is not of point {digest}")
    return content, run


def is_done(path: Path, digest: str) -> bool:
    """Whether the file of a point is there, and as it was written."""
    try:
        return record(path, digest) is not None
    except Altered:
        return False


def write(path: Path, content: dict[str, Any], holder: dict[str, Any]) -> None:
    """Write JSON with its digest in `holder`, a part of it."""
    holder.pop(SEAL, None)
    holder[SEAL] = _digest(content)
    text = json.dumps(content, ensure_ascii=False, indent=1)
    durable.write(path, encodable(text) + "\n")


def read(path: Path, suffix: str = ".json") -> dict[str, Any] | None:
    """What :func:`write` wrote; nothing if there is no file.

    Raises
    ------
    Altered
        If it is something else.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        holder = _run(content, suffix)
        seal = holder.pop(SEAL)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Altered(f"{path} is not whole") from error
    if seal != _digest(content):
        raise Altered(f"{path} is not as it was written")
    return content


def is_same(out: Path, token: str) -> bool:
    """Whether this is the folder of the sweep with this token, as seen from here."""
    try:
        manifest = read(out / MANIFEST)
    except Altered:
        return False
    return bool(token) and manifest is not None and manifest.get("token") == token


def _run(content: dict[str, Any], suffix: str) -> dict[str, Any]:
    """What a point's file says of its run."""
    run: dict[str, Any] = content["metadata"][RECORD] if suffix == ".ipynb" else content
    return run


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()
