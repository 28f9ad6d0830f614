"""Grids: the parameter values of a sweep, read from a file, and the points that they span."""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.numbers import refuse_infinite
from ettr.core.sentences import cut, encodable
from ettr.core.units import LAST_DIGITS
from ettr.core.yaml_files import load as load_yaml
from ettr.core.yaml_files import text_of

BLOCKS = ("product", "zip", "points")
MOST_VALUES = 10_000_000
MOST_ROUNDED = 100_000
"""Most values of a range with ``multiple_of``, whose different ones can only be counted once they are made."""
LARGEST = 1e300
EXACT = 2.0**53
"""Largest integer up to which a float represents every integer."""
RANGE_KEYS = {"from", "to", "count", "step", "scale", "multiple_of"}


@dataclass(frozen=True)
class Point:
    """Point of a grid: the value of each parameter, and an optional name.

    Examples
    --------
    >>> next(load({"n_gpus": [1024, 2048]}, most_points=10).points())
    Point(parameters={'n_gpus': 1024}, name='')
    """

    parameters: Mapping[str, Any]
    name: str = ""


@dataclass(frozen=True)
class Block:
    """Block of a grid: a table with one row per point and one column per parameter."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Draft:
    """Block, or values of a parameter, of a known number before they are made.

    The number is 0 for rounded values, which may be equal. `make` returns them.
    """

    columns: tuple[str, ...]
    n: int
    make: Callable[[], Any]


@dataclass(frozen=True)
class Grid:
    """Grid of points: all combinations of the rows of its blocks.

    Attributes
    ----------
    blocks : tuple of Block
        Blocks; the last one varies fastest.

    Examples
    --------
    >>> grid = load({"n_gpus": [1024, 2048], "mttf_h": [3, 9, 27]}, most_points=10)
    >>> grid.n_points, grid.parameters
    (6, ('n_gpus', 'mttf_h'))
    """

    blocks: tuple[Block, ...]

    @property
    def n_points(self) -> int:
        """Number of points."""
        return math.prod(len(block.rows) for block in self.blocks)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters, in the order of the file."""
        return tuple(column for block in self.blocks for column in block.columns)

    def mapped(self, change: Callable[[str, Any], Any]) -> Grid:
        """Return the grid with ``change(parameter, value)`` instead of each value."""
        blocks = (
            Block(b.columns, [[change(c, v) for c, v in zip(b.columns, row, strict=True)] for row in b.rows], b.names)
            for b in self.blocks
        )
        return Grid(tuple(blocks))

    def points(self) -> Iterator[Point]:
        """Return the points in order."""
        rows = [list(zip(block.rows, block.names or [""] * len(block.rows), strict=True)) for block in self.blocks]
        for combination in itertools.product(*rows):
            values = itertools.chain.from_iterable(row for row, _ in combination)
            name = " ".join(name for _, name in combination if name)
            yield Point(dict(zip(self.parameters, values, strict=True)), name)

    def columns(self) -> dict[str, np.ndarray]:
        """Return one array per parameter with one element per point, for vectorised functions."""
        arrays: dict[str, np.ndarray] = {}
        before, total = 1, self.n_points
        for block in self.blocks:
            after = total // (before * len(block.rows))
            for number, column in enumerate(block.columns):
                values = _array([row[number] for row in block.rows])
                arrays[column] = np.tile(np.repeat(values, after), before)
            before *= len(block.rows)
        return arrays


def load(
    source: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any],
    most_points: int | Callable[[Sequence[str]], int],
) -> Grid:
    """Read a grid from a YAML file, or from its contents.

    A mapping of parameters to values spans their product. Each parameter has

    - a list of values, or a single value;
    - a range, ``{from: 1, to: 60, count: 7}`` or ``{from: 1, to: 60, step: 1}``, both ends included; with
      ``scale: log`` the steps are equal ratios, and with ``multiple_of: 8`` the values are rounded to multiples of 8
      between the ends.

    Blocks group values, and all blocks are combined with each other:

    - ``product:`` is a mapping as above;
    - ``zip:`` is a mapping whose parameters take their first values together, then their second, and so on;
    - ``points:`` is a list of mappings, or a mapping of names to mappings.

    A list at the top level is a list of points.

    Parameters
    ----------
    source : path, mapping or list
        YAML file, or its contents.
    most_points : int or callable
        Largest number of points, or a function from the names of all parameters to it.

    Returns
    -------
    Grid

    Raises
    ------
    InputError
        If the file cannot be read, or the grid breaks a rule: a repeated parameter or one without values, a zip of
        different lengths, a repeated point, or more points than `most_points`, which are counted before the values
        of ranges are made.

    Examples
    --------
    >>> grid = load({"cluster.n_gpus": {"from": 1024, "to": 16384, "count": 5, "scale": "log"}}, most_points=100)
    >>> [point.parameters["cluster.n_gpus"] for point in grid.points()]
    [1024, 2048, 4096, 8192, 16384]
    """
    content, place = _content(source)
    drafts = list(_drafts(content, place))
    names = [name for draft in drafts for name in draft.columns]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InputError(f"{name} must be in one block only, got two ({place})")
    most = most_points(names) if callable(most_points) else most_points
    sizes = [draft.n or 1 for draft in drafts]
    _check_size(sizes, most, place)
    blocks: list[Block] = []
    for number, draft in enumerate(drafts):
        blocks.append(draft.make())
        sizes[number] = len(blocks[-1].rows)
        _check_size(sizes, most, place)  # the number of rounded values is known only now
    grid = Grid(tuple(blocks))
    _check_twice(grid, place)
    return grid


def _check_size(sizes: Sequence[int], most_points: int, place: str) -> None:
    """Raise for too many points."""
    n_points = math.prod(sizes)
    if n_points > most_points:
        factors = " x ".join(f"{size:,}" for size in sizes if size > 1)
        equation = f"{n_points:,} = {factors}" if " x " in factors else factors
        raise InputError(f"a sweep must have at most {most_points:,} points, got {equation} ({place})")


def key(parameters: Mapping[str, Any]) -> str:
    """Return a key by which points are compared."""
    return json.dumps(dict(parameters), sort_keys=True, default=str)


def _content(source: Any) -> tuple[Any, str]:
    """Contents of a grid, and its place for messages."""
    if not isinstance(source, str | os.PathLike):
        return source, "the grid"
    return load_yaml(text_of(source, "the grid"), str(source)), str(source)


def _drafts(content: Any, place: str) -> Iterator[_Draft]:
    """Blocks of a grid, to be made."""
    if isinstance(content, Sequence) and not isinstance(content, str):
        yield _points(content, place)
        return
    if not isinstance(content, Mapping) or not content:
        raise InputError(f"{place} must map parameters to values, e.g. n_gpus: [1024, 2048], or be a list of points")
    if not set(content) & set(BLOCKS):
        content = {"product": content}
    for name, block in content.items():
        if name not in BLOCKS:
            raise InputError(
                f"{place} has the parameter {name!r} next to the block {next(b for b in BLOCKS if b in content)!r}; "
                f"move it to a block 'product'"
            )
        if name == "points":
            yield _points(block, place)
        elif not isinstance(block, Mapping) or not block:
            raise InputError(f"{name} must map parameters to values ({place})")
        elif name == "zip":
            yield _zip(_axes(block, place), place)
        else:
            yield from (_zip([axis], place) for axis in _axes(block, place))


def _axes(block: Mapping[str, Any], place: str) -> list[_Draft]:
    """Values of each parameter, in order, to be made."""
    axes: list[_Draft] = []
    for name, content in block.items():
        if not isinstance(name, str):
            raise InputError(f"the name of a parameter must be text, got {name!r} ({place})")
        is_range = isinstance(content, range) and bool(content)
        written = {"from": content[0], "to": content[-1], "step": content.step} if is_range else content
        if isinstance(written, Mapping):
            axes.append(_range(name, written, place))
            continue
        values = list(written) if isinstance(written, list | tuple | range | np.ndarray) else [written]
        refuse_infinite(name, values, place)
        if not values:
            raise InputError(f"{name} must have at least one value, got none ({place})")
        axes.append(_Draft((name,), len(values), values.copy))
    return axes


def _zip(axes: Sequence[_Draft], place: str) -> _Draft:
    """Block of parameters that change together, to be made."""
    columns = tuple(name for axis in axes for name in axis.columns)
    _check_equal({name: axis.n for name, axis in zip(columns, axes, strict=True) if axis.n}, place)

    def make() -> Block:
        values = [axis.make() for axis in axes]
        _check_equal(dict(zip(columns, map(len, values), strict=True)), place)
        return Block(columns, list(zip(*values, strict=True)))

    return _Draft(columns, max(axis.n for axis in axes), make)


def _check_equal(sizes: Mapping[str, int], place: str) -> None:
    """Raise for parameters of a zip with different numbers of values."""
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} has {n:,}" for name, n in sizes.items())
        raise InputError(f"parameters of a zip must have equal numbers of values: {counts} ({place})")


def _points(block: Any, place: str) -> _Draft:
    """Block of points, with or without names."""
    named = isinstance(block, Mapping)
    points = list(block.values()) if named else block
    if not isinstance(points, Sequence) or isinstance(points, str) or not points:
        raise InputError(f"points must be a non-empty list of points, or a mapping of names to points ({place})")
    for point in points:
        if not isinstance(point, Mapping) or not point or not all(isinstance(name, str) for name in point):
            raise InputError(f"a point maps parameters to values, e.g. {{n_gpus: 1024}}, got {point!r} ({place})")
        if set(point) != set(points[0]):
            odd = ", ".join(sorted(map(str, set(point) ^ set(points[0]))))
            raise InputError(f"points must all have the same parameters; not all have {odd} ({place})")
        for name, value in point.items():
            refuse_infinite(name, value, place)
    columns = tuple(points[0])
    rows = [[point[c] for c in columns] for point in points]
    names = tuple(encodable(str(name)) for name in block) if named else ()
    return _Draft(columns, len(rows), functools.partial(Block, columns, rows, names))


def _range(name: str, written: Mapping[str, Any], place: str) -> _Draft:
    """Values of a range, to be made."""
    odd = set(written) - RANGE_KEYS
    if odd or not {"from", "to"} <= set(written):
        raise InputError(
            f"{name} must be a list of values or a range such as {{from: 1, to: 60, count: 7}}, "
            f"got a mapping with {', '.join(map(str, written))}; put a value that is itself a mapping into a list "
            f"({place})"
        )
    for part in ("from", "to", "step", "count", "multiple_of"):
        value = written.get(part, 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
            raise InputError(
                f"{part} of {name} must be a number below {LARGEST:g}, got {cut(repr(value), 40)} ({place})"
            )
    if ("count" in written) == ("step" in written):
        raise InputError(f"{name} needs either count or step ({place})")
    if not written.get("multiple_of", 1) > 0:
        raise InputError(f"multiple_of of {name} must be > 0, got {written['multiple_of']} ({place})")
    scale = written.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise InputError(f"scale of {name} must be linear or log, got {scale!r} ({place})")
    if scale == "log" and min(written["from"], written["to"]) <= 0:
        raise InputError(f"a log range must be > 0, got {name} from {written['from']} to {written['to']} ({place})")
    count = _count(name, written, place)
    most, kind = (MOST_ROUNDED, " before rounding to multiples") if "multiple_of" in written else (MOST_VALUES, "")
    if count > most:
        raise InputError(f"{name} must have at most {most:,} values{kind}, got {count:,} ({place})")
    if "multiple_of" in written:
        return _Draft((name,), 0, lambda: _multiples(name, _spread(written, count), written["multiple_of"], place))
    return _Draft((name,), count, lambda: _spread(written, count))


def _spread(written: Mapping[str, Any], count: int) -> list[Any]:
    """Values of a range: integers if all are, otherwise floats rounded to 12 digits."""
    low, high = written["from"], written["to"]
    between = count - 1 or 1
    step = written.get("step", (high - low) / between)
    if isinstance(low, int) and written.get("scale") != "log":
        if "step" in written and float(step).is_integer():
            return [low + number * int(step) for number in range(count)]
        if "step" not in written and isinstance(high, int) and (high - low) % between == 0:
            return [low + number * ((high - low) // between) for number in range(count)]
    low, high, step = float(low), float(high), float(step)  # numpy has no logarithm of a whole number above 2^64
    if "step" in written:
        values = low + step * np.arange(count)
    else:
        values = (np.geomspace if written.get("scale") == "log" else np.linspace)(low, high, count)
    values = np.array([float(f"{value:.12g}") for value in values])
    if "count" in written:
        values[[0, -1]] = low, high if count > 1 else low
    return [int(v) for v in values] if np.all(values == np.round(values)) else values.tolist()


def _multiples(name: str, values: list[Any], multiple: Any, place: str) -> list[Any]:
    """Distinct values rounded to multiples within the range."""
    if not max(map(abs, values)) / multiple < EXACT:
        raise InputError(
            f"multiple_of of {name} must be > {max(map(abs, values)) / EXACT:g}, its largest value / {EXACT:g}, got "
            f"{multiple} ({place})"
        )
    lowest, highest = math.ceil(min(values) / multiple), math.floor(max(values) / multiple)
    if lowest > highest:
        raise InputError(f"{name} has no multiple of {multiple} between {min(values)} and {max(values)} ({place})")
    rounded = (multiple * min(max(round(value / multiple), lowest), highest) for value in values)
    return list(dict.fromkeys(rounded))


def _count(name: str, written: Mapping[str, Any], place: str) -> int:
    """Number of values of a range."""
    low, high = written["from"], written["to"]
    if "count" in written:
        count = written["count"]
        if count != int(count) or count < 1:
            raise InputError(f"count of {name} must be a whole number >= 1, got {count!r} ({place})")
        return int(count)
    step = written["step"]
    if step == 0 or (high - low) / step < 0 or written.get("scale") == "log":
        raise InputError(f"step of {name} must lead from {low} to {high} on a linear scale, got {step} ({place})")
    if all(isinstance(value, int) for value in (low, high, step)):
        return int((high - low) // step) + 1
    n_steps = (high - low) / step * (1 + LAST_DIGITS)
    return int(n_steps) + 1 if n_steps < LARGEST else MOST_VALUES + 1


def _check_twice(grid: Grid, place: str) -> None:
    """Raise for a repeated point; comparing rows of blocks is enough, because blocks share no parameter."""
    for block in grid.blocks:
        try:
            rows = [_row_key(row) for row in block.rows]
        except TypeError as error:
            raise InputError(f"a mapping among the values must have text keys ({place})") from error
        seen: set[Any] = set()
        for row, values in zip(rows, block.rows, strict=True):
            if row in seen:
                parameters = ", ".join(f"{c}: {v!r}" for c, v in zip(block.columns, values, strict=True))
                raise InputError(f"points must be different, got twice {parameters} ({place})")
            seen.add(row)


def _row_key(row: Sequence[Any]) -> Any:
    """Key that is equal for equal rows only, and differs between true and 1."""
    if all(type(value) in (int, float, str) for value in row):
        return tuple(row)
    return json.dumps(list(row), sort_keys=True, default=str)


def _array(values: Sequence[Any]) -> np.ndarray:
    """Array of numbers if all values are numbers, otherwise of objects."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return np.asarray(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
