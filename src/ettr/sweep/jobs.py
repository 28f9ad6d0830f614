"""Jobs of a sweep: a notebook, or a function of the package, with its grid."""

from __future__ import annotations

import functools
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ettr import evidence, notebook
from ettr.core.errors import InputError, UnknownName
from ettr.notebook import Identity
from ettr.scenario import Scenario
from ettr.scenario.loader import beside
from ettr.sweep import calls
from ettr.sweep.grid import Block, Grid, Point
from ettr.sweep.work import File, Task

ID_DIGITS = 16


class SweepJob:
    """Job to run at every point of a grid.

    Attributes
    ----------
    what : str
        Notebook, relative to its repository, or ``call NAME``.
    name : str
        Name of the notebook in messages, or of the call.
    grid : Grid
        Points, with checked and converted values.
    suffix : str
        File extension of a result.
    root : Path
        Working folder of the points.
    """

    what: str
    name: str
    grid: Grid
    suffix: str
    root: Path
    _identity: Identity
    _source = ""
    _timeout_s: float | None = None
    _fresh_kernels = False

    def column(self, parameter: str) -> str:
        """Return the column of a parameter in the table: its name, unless the name is reserved."""
        return f"parameter_{parameter}" if parameter in notebook.RESERVED else parameter

    @property
    def columns(self) -> list[str]:
        """Columns of all parameters in the table."""
        return [self.column(name) for name in self.grid.parameters]

    def ids(self) -> Iterator[str]:
        """Return the id of each point, in grid order."""
        order = sorted(range(len(self.grid.parameters)), key=self.grid.parameters.__getitem__)
        pieces = [
            [[self._identity.fragment(c, v) for c, v in zip(block.columns, row, strict=True)] for row in block.rows]
            for block in self.grid.blocks
        ]
        for combination in itertools.product(*pieces):
            fragments = list(itertools.chain.from_iterable(combination))
            yield self._identity.joined(fragments[place] for place in order)[:ID_DIGITS]

    def points(self) -> dict[str, Point]:
        """Return all points by id.

        Raises
        ------
        InputError
            If two points are equal, for example by two paths of the same file.
        """
        points: dict[str, Point] = {}
        for digest, point in zip(self.ids(), self.grid.points(), strict=True):
            if digest in points:
                parameters = ", ".join(f"{name}: {value!r}" for name, value in point.parameters.items())
                raise InputError(f"points must be different, got twice {parameters}")
            points[digest] = point
        return points

    def task(self, digest: str, parameters: Mapping[str, Any], elsewhere: bool = False) -> Task:
        """Return the task of a point for a worker; with the contents of its files if the worker is `elsewhere`."""
        return Task(
            self.name,
            self._source,
            dict(parameters),
            digest,
            tuple(self._file(path) for path in _files(parameters)) if elsewhere else (),
            str(self.root),
            self._surroundings,
            timeout_s=self._timeout_s,
            fresh_kernel=self._fresh_kernels,
        )

    @functools.cached_property
    def _surroundings(self) -> dict[str, str]:
        return notebook.surroundings()

    @functools.cache  # noqa: B019  (a job lives as long as its sweep)
    def _file(self, path: str) -> File:
        return File(path, Path(path).read_bytes())


class NotebookJob(SweepJob):
    """Notebook to run at every point of a grid: a file, or the name of a chapter of the book.

    Raises
    ------
    UnknownName
        If there is no such chapter, or the notebook does not declare a parameter of the grid.
    InputError
        If the notebook cannot be read, or a value does not match the declared type.
    """

    suffix = ".ipynb"

    def __init__(
        self,
        path: str | os.PathLike[str],
        grid: Grid,
        *,
        timeout_s: float | None = None,
        fresh_kernels: bool = False,
    ) -> None:
        path = notebook.chapter(path)
        declared = notebook.declared_parameters(path)
        self.root = notebook.repository_root(path)
        self.what = self.name = Path(path).resolve().relative_to(self.root).as_posix()
        self.grid = grid.mapped(lambda name, value: notebook.fitted(declared, {name: value}, self.what)[name])
        self._source = notebook.text(notebook.read(path))
        self._identity = Identity.of_notebook(path, self.root)
        self._timeout_s, self._fresh_kernels = timeout_s, fresh_kernels


class CallJob(SweepJob):
    """Function of a scenario to call at every point of a grid.

    Raises
    ------
    UnknownName
        If there is no such function, or scenarios have no such field.
    InputError
        If a value is out of range, or there is no scenario.

    Examples
    --------
    >>> from ettr import sweep
    >>> job = CallJob("budget", "llama3-405b", sweep.load({"cluster.n_gpus": [8192, 16384]}, most_points=10))
    >>> job.what, job.columns, len(job.points())
    ('call budget', ['scenario', 'cluster.n_gpus'], 2)
    """

    suffix = ".json"

    def __init__(self, name: str, scenario: str | None, grid: Grid) -> None:
        if name not in calls.CALLS:
            raise UnknownName("call", name, calls.CALLS)
        self.name = name
        call = calls.CALLS[name]
        self.what = f"call {name}"
        self.root = evidence.DATA.parent
        if "scenario" not in grid.parameters:
            if scenario is None:
                raise InputError(f"a sweep of {name} needs a scenario: set scenario, or add it to the grid")
            grid = Grid((Block(("scenario",), [(os.fspath(scenario),)]), *grid.blocks))
        elif scenario is not None:
            raise InputError("scenario conflicts with the scenario in the grid; use one of them")
        self.grid = grid.mapped(lambda field, value: _checked(call, field, value))
        first = next(self.grid.points())
        calls.scenario_of(first.parameters, call.options)  # raises for an unknown field before anything runs
        self._identity = Identity(["call", name], self.root)


def _checked(call: calls.Call, name: str, value: Any) -> Any:
    """Value of a call's grid, checked and converted."""
    value = value.item() if hasattr(value, "item") else value
    if name in call.options:
        check, rule = call.options[name]
        if not check(value):
            raise InputError(f"{name} must be {rule}, got {value!r}")
        return value
    if name == "scenario":
        if not isinstance(value, str):
            raise InputError(f"scenario must be a preset or a file, got {value!r}")
        Scenario.load(value)
        return beside(value, "")
    if "." not in name:
        raise UnknownName(
            "parameter", name, ["scenario", *call.options], "or a field of a scenario, e.g. cluster.n_gpus"
        )
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must consist of text, finite numbers, true or false, got {value!r}") from error
    return beside(value, "") if isinstance(value, str) else value  # a GPU or weather file is identified by its contents


def _files(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Absolute paths of files among the parameters."""
    for value in parameters.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and os.path.isabs(text) and Path(text).is_file():
                yield text
