"""``datapackage.json`` and its files, each with its hash."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from ettr.core.errors import DataError


def _data_folder() -> Path:
    """Return ``ettr/data`` of an installed wheel, else ``data/`` of the repository."""
    installed = Path(__file__).parents[1] / "data"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "data"


DATA = _data_folder()
"""The folder with ``datapackage.json`` and all tables, presets and sources."""

STATUSES = ("primary", "secondary", "derived", "assumed")
"""How a figure was obtained, from the strongest to the weakest."""

REMEDY = "restore it from version control, or after an intended edit run `make data-hashes`"

UNLISTED = "is not listed in datapackage.json; run `make data-hashes`, which lists it"

KINDS = {"scenarios": "preset", "gpus": "GPU"}
"""Folders of ``data/`` with one YAML file per name, and the noun for such a file in errors."""


def resources(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the resources of ``datapackage.json`` by name."""
    return {resource["name"]: resource for resource in package(folder)["resources"]}


def package(folder: Path) -> dict[str, Any]:
    """Return ``datapackage.json``; the value is shared between calls and must not be changed."""
    return _package(folder, state(folder, "datapackage.json"))


def file_hash(content: bytes) -> str:
    """Return ``sha256:`` and the hexadecimal digest."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def unlisted(folder: Path = DATA) -> tuple[str, ...]:
    """Return presets of runs and GPUs missing from ``datapackage.json``, as sorted paths below ``data/``."""
    listed = {resource["path"] for resource in package(folder)["resources"]}
    files = {path.relative_to(folder).as_posix() for kind in KINDS for path in (folder / kind).glob("[!._]*.yml")}
    return tuple(sorted(files - listed))


def refuse_unlisted(kind: str, name: str, folder: Path = DATA) -> None:
    """Raise if an unknown name belongs to a file that is not listed yet.

    Parameters
    ----------
    kind : {"scenarios", "gpus"}
        A folder of ``data/``.
    name : str
        A name that is not known.
    folder : Path, optional
        Another folder of the same layout.

    Raises
    ------
    DataError
        If there is a file of that name, which ``datapackage.json`` does not list.
    """
    if f"{kind}/{name}.yml" in unlisted(folder):
        raise DataError(f"data/{kind}/{name}.yml {UNLISTED}")


def checked(name: str, folder: Path) -> bytes:
    """Return the content of a resource after checking its hash."""
    resource = resources(folder)[name]
    content = content_of(folder, resource["path"])
    if file_hash(content) != resource.get("hash"):
        raise DataError(changed(resource))
    return content


def content_of(folder: Path, path: str) -> bytes:
    """Return the content of a file of ``data/``."""
    try:
        return (folder / path).read_bytes()
    except (OSError, ValueError):  # a name with a null byte
        raise DataError(f"data/{path} is missing; restore it from version control") from None


def changed(resource: dict[str, Any]) -> str:
    """Return the error message for a file with another hash than the recorded one."""
    return f"data/{resource['path']} was changed: its SHA-256 is not the recorded one; {REMEDY}"


def state(folder: Path, path: str) -> tuple[int, int] | None:
    """Return modification time and size of a file, to detect changes; None if it is missing."""
    try:
        stat = (folder / path).stat()
    except (OSError, ValueError):
        return None
    return stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=32)
def _package(folder: Path, _state: tuple[int, int] | None) -> dict[str, Any]:
    path = folder / "datapackage.json"
    try:
        described: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise DataError(f"{path} is missing; restore it from version control") from None
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}; restore it from version control") from None
    return described
