"""Identity of a run: a digest of everything that determines its outputs, to recognise finished runs."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ettr import evidence
from ettr.core.yaml_files import load
from ettr.notebook.documents import is_file, read, repository_root, written_ids

LIBRARIES = ("numpy", "pandas", "scipy", "numba", "altair", "pydantic", "papermill", "ipykernel")
"""Libraries that must have the same version on all machines of a sweep."""

PACKAGES = ("ettr", "ettr_book")
"""Folders of the code of this distribution."""


class Identity:
    """Digests of the runs of a piece of code.

    Parameters
    ----------
    code : object
        Code, as values that JSON can represent.
    root : path
        Repository. A text parameter that is the path of a file, absolute or relative to the repository, counts with
        the contents of the file. ``requirements.txt`` counts as well, and ``data`` if it is a copy of this repository.

    Examples
    --------
    >>> identity = Identity(["call", "budget"], ".")
    >>> identity.digest({"cluster.n_gpus": 8192}) == identity.digest({"cluster.n_gpus": 8193})
    False
    """

    def __init__(self, code: Any, root: str | os.PathLike[str]) -> None:
        self._root = Path(root)
        common = json.dumps([code, sys.version_info[:2], package_digest(), _project(self._root)], sort_keys=True)
        self._common = hashlib.sha256(common.encode())
        self._files = functools.cache(self._file)

    @classmethod
    def of_notebook(cls, notebook: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Identity:
        """Return the identity of a notebook: its code cells with their tags, without text cells."""
        cells, ids = read(notebook).cells, written_ids(notebook)
        code = [
            [name, cell.source, sorted(cell.metadata.get("tags", []))]
            for name, cell in zip(ids or [""] * len(cells), cells, strict=True)
            if cell.cell_type == "code"
        ]
        return cls(code, root or repository_root(notebook))

    def digest(self, parameters: Mapping[str, Any]) -> str:
        """Return the SHA-256 digest of everything that determines the outputs of a run, as 64 hexadecimal digits."""
        return self.joined(self.fragment(name, value) for name, value in sorted(parameters.items()))

    def fragment(self, name: str, value: Any) -> str:
        """Return the part of a parameter: its value, and the contents of its files."""
        files = "".join(self._files(text) for text in _texts(value))
        return json.dumps([name, value], sort_keys=True) + files

    def joined(self, fragments: Iterable[str]) -> str:
        """Return the digest of the parts of all parameters, in order of their names."""
        total = self._common.copy()
        total.update("\n".join(fragments).encode())
        return total.hexdigest()

    def _file(self, text: str) -> str:
        """Digests of a file and, for YAML, of the files named in it, recursively (scenarios name GPUs and weather)."""
        digests: dict[Path, str] = {}
        waiting = [self._root / text]
        while waiting:
            path = waiting.pop()
            if path in digests or not is_file(path):
                continue
            content = path.read_bytes()
            digests[path] = hashlib.sha256(content).hexdigest()
            if path.suffix in (".yml", ".yaml"):
                names = sorted(set(_named(content)))
                waiting += [path.parent / name if is_file(path.parent / name) else self._root / name for name in names]
        return "".join(digests.values())


def package_digest() -> str:
    """Return the SHA-256 digest of the source of both packages and of the data."""
    packages = Path(__file__).parents[2]
    return contents([*((packages / name, "*.py") for name in PACKAGES), (evidence.DATA, "*")])


def surroundings() -> dict[str, str]:
    """Return the versions that must be the same on all machines of a sweep, by name."""
    import ettr

    versions = {name: _version(name) for name in LIBRARIES}
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return {"ettr": f"{ettr.__version__} ({package_digest()[:12]})", "Python": python, **versions}


def _version(name: str) -> str:
    """Installed version of a library."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def _project(root: Path) -> str:
    """Digest of the locked versions, and of the data if the repository is a copy of this one."""
    data = root / "data"
    other = data != evidence.DATA and (data / "datapackage.json").is_file()
    return contents([(root, "requirements.txt"), *([(data, "*")] if other else [])])


def contents(parts: Iterable[tuple[Path, str]]) -> str:
    """Return the SHA-256 digest of the names and contents of files, each part a folder and a pattern."""
    total = hashlib.sha256()
    for folder, pattern in parts:
        paths = folder.rglob(pattern) if "*" in pattern else folder.glob(pattern)
        for path in sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts):
            total.update(path.relative_to(folder).as_posix().encode() + b"\0")
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _named(content: bytes) -> list[str]:
    """Texts of a YAML file; for an invalid one, every word that could be a file name."""
    text = content.decode("utf-8", "replace")
    try:
        return list(_texts(load(text, "a file")))
    except ValueError:
        return re.split(r"""[\s,'"\[\]{}]+|:(?=\s)""", text)


def _texts(value: Any) -> Iterator[str]:
    """All texts in a nested value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))
