"""Grids: which values to go through, written as a file, and the points that they span."""

from __future__ import annotations

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
LARGEST = 1e300
EXACT = 2.0**53
"""Up to here every whole number is one that a float can be."""
RANGE_KEYS = {"from", "to", "count", "step", "scale", "multiple_of"}


@dataclass(frozen=True)
class Point:
    """The value of each parameter, and the name that the grid gave the point, if any."""

    parameters: Mapping[str, Any]
    name: str = ""


@dataclass(frozen=True)
class Block:
    """Points that are written together: rows of one table with a column a parameter."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grid:
    """Every combination of a row of each block.

    Attributes
    ----------
    blocks : tuple of Block
        The last one runs fastest.
    """

    blocks: tuple[Block, ...]

    @property
    def n_points(self) -> int:
        """How many points there are, without making them."""
        return math.prod(len(block.rows) for block in self.blocks)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters, in the order of the file."""
        return tuple(column for block in self.blocks for column in block.columns)

    def mapped(self, change: Callable[[str, Any], Any]) -> Grid:
        """The grid with ``change(parameter, value)`` in place of each value."""
        blocks = (
            Block(b.columns, [[change(c, v) for c, v in zip(b.columns, row, strict=True)] for row in b.rows], b.names)
            for b in self.blocks
        )
        return Grid(tuple(blocks))

    def points(self) -> Iterator[Point]:
        """The points, one after another."""
        rows = [list(zip(block.rows, block.names or [""] * len(block.rows), strict=True)) for block in self.blocks]
        for combination in itertools.product(*rows):
            values = itertools.chain.from_iterable(row for row, _ in combination)
            name = " ".join(name for _, name in combination if name)
            yield Point(dict(zip(self.parameters, values, strict=True)), name)

    def columns(self) -> dict[str, np.ndarray]:
        """One array a parameter, with an element a point, for what can be computed all at once."""
        arrays: dict[str, np.ndarray] = {}
        before, total = 1, self.n_points
        for block in self.blocks:
            after = total // (before * len(block.rows))
            for number, column in enumerate(block.columns):
                values = _array([row[number] for row in block.rows])
                arrays[column] = np.tile(np.repeat(values, after), before)
            before *= len(block.rows)
        return arrays


def load(source: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any], most_points: int) -> Grid:
    """A grid from a YAML file, or from what such a file would hold.

    A mapping of parameters to values spans their product. Each parameter has

    - a list of values, or one value;
    - a range, ``{from: 1, to: 60, count: 7}`` or ``{from: 1, to: 60, step: 1}``, both ends included; with
      ``scale: log`` its steps are equal ratios, and with ``multiple_of: 8`` its values are rounded to multiples of 8
      between the ends.

    Values that belong together are written in blocks, and the blocks are combined with each other:

    - ``product:`` is a mapping as above;
    - ``zip:`` is one whose parameters take their first values together, then their second, and so on;
    - ``points:`` is a list of mappings, or a mapping of names to mappings.

    A list at the top is a list of points.

    Parameters
    ----------
    source : path, mapping or list
        A YAML file, or its contents.
    most_points : int
        A grid with more points is refused.

    Returns
    -------
    Grid

    Raises
    ------
    InputError
        If the file cannot be read, or the grid breaks a rule: a parameter given twice or without values, a zip of
        different lengths, a point twice, more points than `most_points`.
    """
    content, place = _content(source)
    grid = Grid(tuple(_blocks(content, place)))
    for number, name in enumerate(grid.parameters):
        if name in grid.parameters[:number]:
            raise InputError(f"{name} is given by two blocks ({place})")
    if grid.n_points > most_points:
        sizes = " x ".join(f"{len(block.rows):,}" for block in grid.blocks if len(block.rows) > 1)
        raise InputError(
            f"{place} has {grid.n_points:,} points ({sizes}), and at most {most_points:,} are swept at once"
        )
    _check_twice(grid, place)
    return grid


def key(parameters: Mapping[str, Any]) -> str:
    """What a point is compared by."""
    return json.dumps(dict(parameters), sort_keys=True, default=str)


def _content(source: Any) -> tuple[Any, str]:
    if not isinstance(source, str | os.PathLike):
        return source, "the grid"
    return load_yaml(text_of(source, "the grid"), str(source)), str(source)


def _blocks(content: Any, place: str) -> Iterator[Block]:
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
                f"{place} has the parameter {name!r} beside the block {next(b for b in BLOCKS if b in content)!r}; "
                f"put it into a block 'product'"
            )
        if name == "points":
            yield _points(block, place)
        elif not isinstance(block, Mapping) or not block:
            raise InputError(f"{name} must map parameters to values ({place})")
        elif name == "zip":
            yield _zip(block, place)
        else:
            yield from (Block((parameter,), [(v,) for v in taken]) for parameter, taken in _axes(block, place).items())


def _axes(block: Mapping[str, Any], place: str) -> dict[str, Sequence[Any]]:
    """The values that each parameter takes, in order."""
    axes: dict[str, Sequence[Any]] = {}
    for name, written in block.items():
        if not isinstance(name, str):
            raise InputError(f"a parameter's name must be a text, got {name!r} ({place})")
        values = _range(name, written, place) if isinstance(written, Mapping) else written
        axes[name] = list(values) if isinstance(values, list | tuple | range | np.ndarray) else [values]
        if not isinstance(written, Mapping):
            refuse_infinite(name, axes[name], place)
        if len(axes[name]) == 0:
            raise InputError(f"{name} has no values, so there is no point ({place})")
    return axes


def _zip(block: Mapping[str, Any], place: str) -> Block:
    axes = _axes(block, place)
    if len({len(taken) for taken in axes.values()}) > 1:
        counts = ", ".join(f"{name} has {len(taken)}" for name, taken in axes.items())
        raise InputError(f"parameters of a zip must have as many values: {counts} ({place})")
    return Block(tuple(axes), list(zip(*axes.values(), strict=True)))


def _points(block: Any, place: str) -> Block:
    named = isinstance(block, Mapping)
    points = list(block.values()) if named else block
    if not isinstance(points, Sequence) or isinstance(points, str) or not points:
        raise InputError(f"points must be a list of points, or a mapping of names to points, and not empty ({place})")
    for point in points:
        if not isinstance(point, Mapping) or not point or not all(isinstance(name, str) for name in point):
            raise InputError(f"a point maps parameters to values, e.g. {{n_gpus: 1024}}, got {point!r} ({place})")
        if set(point) != set(points[0]):
            odd = ", ".join(sorted(map(str, set(point) ^ set(points[0]))))
            raise InputError(f"points must all give the same parameters; not all give {odd} ({place})")
        for name, value in point.items():
            refuse_infinite(name, value, place)
    columns = tuple(points[0])
    return Block(
        columns,
        [[point[c] for c in columns] for point in points],
        tuple(encodable(str(name)) for name in block) if named else (),
    )


def _range(name: str, written: Mapping[str, Any], place: str) -> Sequence[Any]:
    """The values of a range, as whole numbers where all of them are."""
    odd = set(written) - RANGE_KEYS
    if odd or not {"from", "to"} <= set(written):
        raise InputError(
            f"{name} must be a list of values or a range such as {{from: 1, to: 60, count: 7}}, "
            f"got a mapping with {', '.join(map(str, written))}; a value that is itself a mapping stands in a list "
            f"({place})"
        )
    for part in ("from", "to", "step", "count", "multiple_of"):
        value = written.get(part, 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
            raise InputError(
                f"{part} of {name} must be a number below {LARGEST:g}, got {cut(repr(value), 40)} ({place})"
            )
    if ("count" in written) == ("step" in written):
        raise InputError(f"{name} needs one of count and step ({place})")
    if not written.get("multiple_of", 1) > 0:
        raise InputError(f"multiple_of of {name} must be > 0, got {written['multiple_of']} ({place})")
    scale = written.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise InputError(f"scale of {name} must be linear or log, got {scale!r} ({place})")
    if scale == "log" and min(written["from"], written["to"]) <= 0:
        raise InputError(f"a log range must be above 0, got {name} from {written['from']} to {written['to']} ({place})")
    count = _count(name, written, place)
    if count > MOST_VALUES:
        raise InputError(f"{name} has {count:,} values, and at most {MOST_VALUES:,} are swept at once ({place})")
    values = _spread(written, count)
    multiple = written.get("multiple_of")
    return values if multiple is None else _multiples(name, values, multiple, place)


def _spread(written: Mapping[str, Any], count: int) -> list[Any]:
    """The values of a range: whole numbers where all of them are, else with 12 digits, as a person would write them."""
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
    """Each value rounded to a multiple between the least and the largest; close ones round to one."""
    if not max(map(abs, values)) / multiple < EXACT:
        raise InputError(
            f"multiple_of of {name} must be so large that its values are at most {EXACT:g} times it, got {multiple} "
            f"({place})"
        )
    least, most = math.ceil(min(values) / multiple), math.floor(max(values) / multiple)
    if least > most:
        raise InputError(
            f"no multiple of {multiple} lies between {min(values)} and {max(values)}, where {name} should be ({place})"
        )
    rounded = (multiple * min(max(round(value / multiple), least), most) for value in values)
    return list(dict.fromkeys(rounded))


def _count(name: str, written: Mapping[str, Any], place: str) -> int:
    low, high = written["from"], written["to"]
    if "count" in written:
        count = written["count"]
        if count != int(count) or count < 1:
            raise InputError(f"count of {name} must be a whole number >= 1, got {count!r} ({place})")
        return int(count)
    step = written["step"]
    if step == 0 or (high - low) / step < 0 or written.get("scale") == "log":
        raise InputError(f"step of {name} must lead from {low} to {high} on a linear scale, got {step} ({place})")
    n_steps = (high - low) / step * (1 + LAST_DIGITS)
    return int(n_steps) + 1 if n_steps < LARGEST else MOST_VALUES + 1


def _check_twice(grid: Grid, place: str) -> None:
    """Refuse a point that comes twice; rows of blocks tell, as blocks share no parameter."""
    for block in grid.blocks:
        try:
            rows = [_told_apart(row) for row in block.rows]
        except TypeError as error:
            raise InputError(f"a mapping among the values must have texts as names ({place})") from error
        if len(set(rows)) == len(rows):
            continue
        twice = next(number for number, row in enumerate(rows) if row in rows[:number])
        parameters = ", ".join(f"{c}: {v!r}" for c, v in zip(block.columns, block.rows[twice], strict=True))
        raise InputError(f"a point comes twice: {parameters} ({place})")


def _told_apart(row: Sequence[Any]) -> Any:
    """A row as something that is equal for equal rows only, and never for true and 1."""
    if all(type(value) in (int, float, str) for value in row):
        return tuple(row)
    return json.dumps(list(row), sort_keys=True, default=str)


def _array(values: Sequence[Any]) -> np.ndarray:
    """Numbers as an array of numbers, all else as objects."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return np.asarray(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
