"""Runs one parameterised notebook, strictly.

Papermill runs whatever it is given: an unknown parameter is a line in a log, a text where a number belongs
is injected all the same. :func:`run` checks first, runs in a kernel of this interpreter, and leaves either
a whole executed copy or, after a failure, the executed copy under another name together with one clear
error.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import io
import json
import logging
import math
import os
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ettr.errors import InputError, NotebookFailed, UnknownName

ROOT_FILES = ("_toc.yml", "pyproject.toml", ".git")
SCENARIO_SUFFIXES = (".yml", ".yaml")
RECORD = "ettr"  # the key of the notebook's metadata that holds what this module knows about a run
LONGEST_SOCKET_PATH = 80  # a Unix socket's path may have 104 bytes on macOS, 108 on Linux


@dataclass(frozen=True)
class Parameter:
    """One parameter that a notebook declares in its cell tagged ``parameters``."""

    name: str
    default: Any
    comment: str
    type: str


@dataclass(frozen=True)
class Run:
    """A finished run: the executed copy, how long it took, and the values that it was given."""

    path: Path
    duration_s: float
    parameters: Mapping[str, Any]


def repository_root(path: str | os.PathLike[str]) -> Path:
    """The folder that holds the book: the nearest parent with a table of contents or a project file."""
    folder = Path(path).resolve()
    for mark in ROOT_FILES:
        for parent in folder.parents:
            if (parent / mark).exists():
                return parent
    return folder.parent


def declared_parameters(path: str | os.PathLike[str]) -> tuple[Parameter, ...]:
    """The parameters that a notebook declares, in the order in which they are written.

    Parameters
    ----------
    path : path
        A notebook with one cell tagged ``parameters`` that holds one plain literal a line.

    Returns
    -------
    tuple of Parameter
        Empty for a notebook without such a cell.

    Raises
    ------
    InputError
        If the notebook cannot be read, or the cell holds anything else than literals.
    """
    cell = _parameters_cell(read(path), path)
    return () if cell is None else tuple(_declarations(cell.source, _shown(path)))


def run(
    notebook: str | os.PathLike[str],
    out: str | os.PathLike[str],
    parameters: Mapping[str, Any] | None = None,
    *,
    cwd: str | os.PathLike[str] | None = None,
    timeout_s: float | None = None,
    engine_name: str | None = None,
    record: Mapping[str, Any] | None = None,
) -> Run:
    """Execute a notebook with papermill and keep the executed copy.

    Parameters
    ----------
    notebook : path
        The notebook, which is left untouched.
    out : path
        Where the executed copy goes. It appears when it is whole; ``<stem>.failed.ipynb`` beside it holds the
        executed part of a run that failed.
    parameters : mapping, optional
        Values for declared parameters. A text that names an existing YAML file is made absolute.
    cwd : path, optional
        Working folder of the kernel; the repository root if not given.
    timeout_s : float, optional
        Longest time that one cell may take. [s]
    engine_name : str, optional
        A papermill engine; the default starts a kernel of this interpreter.
    record : mapping, optional
        Entries kept with the executed copy, in its metadata.

    Returns
    -------
    Run
        Path of the executed copy, duration [s] and the values that were passed.

    Raises
    ------
    UnknownName
        If a parameter is not declared by the notebook.
    InputError
        If the notebook is missing or unreadable, or a value does not fit the declared default.
    NotebookFailed
        If a cell raises, takes longer than `timeout_s`, or the kernel dies.
    """
    notebook, out = Path(notebook).resolve(), Path(out).resolve()
    values = checked_parameters(notebook, parameters or {})
    if out == notebook:
        raise InputError(f"the executed copy must not replace the notebook itself ({_shown(notebook)})")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror or error}") from error
    part, failed = out.with_name(f"{out.stem}.part.ipynb"), out.with_name(f"{out.stem}.failed.ipynb")
    folder = Path(cwd).resolve() if cwd else repository_root(notebook)
    started = time.monotonic()
    try:
        stop = _execute(notebook, part, values, cwd=folder, timeout_s=timeout_s, engine_name=engine_name)
        duration_s = time.monotonic() - started
        _finish(part, {**(record or {}), "parameters": values, "duration_s": round(duration_s, 3)}, stop)
        os.replace(part, failed if stop else out)
    finally:
        part.unlink(missing_ok=True)
    if stop:
        raise NotebookFailed(stop_message(_shown(notebook), stop))
    failed.unlink(missing_ok=True)
    return Run(out, duration_s, MappingProxyType(values))


def digest(
    notebook: str | os.PathLike[str],
    parameters: Mapping[str, Any],
    *,
    root: str | os.PathLike[str] | None = None,
) -> str:
    """SHA-256 of all that decides a run's outputs.

    That is the notebook's code cells with their tags, the parameters, the contents of files that parameters
    name, the package's source, the repository's ``data/`` and its locked versions. Text cells do not count.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    root = Path(root) if root else repository_root(notebook)
    code = [
        [cell.get("id", ""), cell.source, sorted(cell.metadata.get("tags", []))]
        for cell in read(notebook).cells
        if cell.cell_type == "code"
    ]
    total = hashlib.sha256(json.dumps([code, dict(parameters), sys.version_info[:2]], sort_keys=True).encode())
    for value in _texts(list(parameters.values())):
        if _is_file(root / value):
            total.update(value.encode() + b"\0" + hashlib.sha256((root / value).read_bytes()).digest())
    total.update(_surroundings(root).encode())
    return total.hexdigest()


def checked_parameters(notebook: Path, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The values as they will be passed on, each checked against the default that the notebook declares."""
    declared = {parameter.name: parameter for parameter in declared_parameters(notebook)}
    place = _shown(notebook)
    if parameters and not declared:
        raise InputError(f"{place} has no cell tagged 'parameters', so it takes none; got {', '.join(parameters)}")
    values = {}
    for name, value in parameters.items():
        if name not in declared:
            raise UnknownName("parameter", str(name), declared, place)
        values[name] = _fitting(declared[name], value, place)
    return values


def read(path: str | os.PathLike[str]) -> Any:
    """The notebook as a ``NotebookNode`` of format 4."""
    import nbformat

    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no notebook {_shown(path)}")
    try:
        return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    except Exception as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{_shown(path)} is not a notebook that can be read: {first}") from error


def stop_message(notebook: str, stop: Mapping[str, Any]) -> str:
    """One line that says where a notebook stopped and why."""
    return f"{notebook} stopped at cell {stop['number']} (id {stop['id']}): {stop['error']}"


def replaced_values(source: str, values: Mapping[str, Any]) -> str:
    """The source of a parameters cell with the given values in place of its defaults; comments stay."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for name, node in sorted(_assignments(source), key=lambda pair: -pair[1].lineno):
        if name in values:
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            text = text[:begin] + repr(values[name]).encode() + text[end:]
    return text.decode()


def _parameters_cell(notebook: Any, path: str | os.PathLike[str]) -> Any:
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) > 1:
        raise InputError(f"{_shown(path)} has {len(cells)} cells tagged 'parameters'; there may be one")
    return cells[0] if cells else None


def _assignments(source: str) -> Iterator[tuple[str, ast.expr]]:
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            yield statement.targets[0].id, statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            yield statement.target.id, statement.value


def _declarations(source: str, place: str) -> Iterator[Parameter]:
    try:
        assignments = list(_assignments(source))
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, tokenize.TokenError) as error:
        raise InputError(f"the parameters cell of {place} is not Python: {error}") from error
    comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    for name, node in assignments:
        try:
            default = ast.literal_eval(node)
        except ValueError as error:
            raise InputError(f"{name} in the parameters cell of {place} must be a plain value") from error
        yield Parameter(name, default, comments.get(node.end_lineno or 0, ""), type(default).__name__)


def _fitting(parameter: Parameter, value: Any, place: str) -> Any:
    """The value, or an error that names the parameter, the rule and what was given."""
    value = value.item() if hasattr(value, "item") and not isinstance(value, str) else value
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    kind = parameter.type

    def refuse(rule: str) -> InputError:
        return InputError(f"{parameter.name} must be {rule}, got {value!r} ({place})")

    if kind in ("int", "float"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse("a number")
        if not math.isfinite(value):
            raise refuse("a finite number")
        if kind == "int" and value != int(value):
            raise refuse("a whole number")
        return int(value) if kind == "int" else value
    if kind in ("bool", "str", "list", "dict") and type(value).__name__ != kind:
        raise refuse({"bool": "true or false", "str": "a text", "list": "a list", "dict": "a mapping"}[kind])
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise refuse("made of texts, finite numbers, true or false, lists and mappings") from error
    if isinstance(value, str) and value.endswith(SCENARIO_SUFFIXES) and _is_file(Path(value)):
        return str(Path(value).resolve())
    return value


def _execute(
    notebook: Path,
    part: Path,
    values: dict[str, Any],
    *,
    cwd: Path,
    timeout_s: float | None,
    engine_name: str | None,
) -> dict[str, Any] | None:
    """Run into `part`; return where and why the run stopped, or nothing when it reached the end."""
    try:
        import papermill
        from nbclient.exceptions import CellTimeoutError, DeadKernelError
    except ImportError as error:
        raise InputError("running notebooks needs more packages: pip install 'ettr[book]'") from error
    logging.getLogger("papermill").addHandler(logging.NullHandler())  # what it would print comes back as an error
    with contextlib.ExitStack() as stack:
        kernel = {} if engine_name else stack.enter_context(_own_kernel())
        try:
            papermill.execute_notebook(
                _braces_doubled(notebook),
                _braces_doubled(part),
                values,
                engine_name=engine_name,
                kernel_name="python3",
                progress_bar=False,
                execution_timeout=timeout_s,
                shutdown_kernel="immediate",
                resources={"metadata": {"path": str(cwd)}},  # instead of cwd=, which moves this whole process
                **kernel,
            )
        except papermill.PapermillExecutionError as error:
            return _stop(notebook, part, f"{error.ename}: {error.evalue}".strip().splitlines()[0])
        except CellTimeoutError:
            return _stop(notebook, part, f"it took longer than {timeout_s:g} s")
        except DeadKernelError:
            return _stop(notebook, part, "its kernel died")
    return None


def _stop(notebook: Path, part: Path, error: str) -> dict[str, Any]:
    """The cell at which a run stopped: the last one that was begun."""
    begun = [cell for cell in read(part).cells if cell.metadata.get("papermill", {}).get("start_time")]
    cell = begun[-1] if begun else None
    ids = [source.get("id") for source in read(notebook).cells]
    number = ids.index(cell.id) + 1 if cell and cell.get("id") in ids else 0
    source, name = (cell.source, cell.get("id", "")) if cell else ("", "")
    return {"number": number, "id": name, "error": error, "source": source}


def _finish(part: Path, record: dict[str, Any], stop: Mapping[str, Any] | None) -> None:
    """Put the record into the executed copy, and take papermill's banners and paths of this machine out."""
    import nbformat

    executed = read(part)
    executed.cells = [c for c in executed.cells if "papermill-error-cell-tag" not in c.metadata.get("tags", [])]
    executed.metadata.pop("papermill", None)
    executed.metadata[RECORD] = {**record, "stopped": dict(stop)} if stop else record
    nbformat.write(executed, part)  # type: ignore[no-untyped-call]


@functools.cache
def _kernel_manager() -> type:
    """A manager that starts this interpreter's kernel, whatever kernels the machine has registered."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    class OwnKernelManager(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=[*command, "--HistoryManager.enabled=False"], language="python")

    return OwnKernelManager


@contextlib.contextmanager
def _own_kernel() -> Iterator[dict[str, Any]]:
    """Options for a kernel that talks over Unix sockets in a folder of its own.

    TCP ports are chosen before they are bound, so parallel kernels now and then get the same one, and
    Jupyter's default socket names are the same for every kernel.
    """
    from traitlets.config import Config

    with tempfile.TemporaryDirectory(prefix="ettr-", ignore_cleanup_errors=True) as folder:
        options: dict[str, Any] = {"kernel_manager_class": _kernel_manager()}
        if sys.platform != "win32" and len(folder) < LONGEST_SOCKET_PATH:
            place = {"transport": "ipc", "connection_file": os.path.join(folder, "k.json")}
            options["config"] = Config({"OwnKernelManager": place})
        yield options


def _surroundings(root: Path) -> str:
    """Digest of the package, the data and the locked versions, which all notebooks share."""
    package = Path(__file__).parent
    files = [path for folder in (package, root / "data") for path in folder.rglob("*") if path.is_file()]
    files = sorted(path for path in files if "__pycache__" not in path.parts)
    total = hashlib.sha256()
    for path in [*files, root / "requirements.txt"]:
        if path.is_file():
            base = package if path.is_relative_to(package) else root
            total.update(path.relative_to(base).as_posix().encode() + b"\0")
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a name, or a null byte: a text that is no path
        return False


def _braces_doubled(path: Path) -> str:
    """Papermill formats its paths; a brace in a folder's name must survive that."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _shown(path: str | os.PathLike[str]) -> str:
    """The path as a person would write it: relative to the working folder when it lies below it."""
    path = Path(path)
    return os.path.relpath(path) if path.is_absolute() and path.is_relative_to(Path.cwd()) else str(path)
