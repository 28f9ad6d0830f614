"""Evaluate a model over arrays, block by block, and mark the points outside its validity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ettr.core.errors import OutsideValidity
from ettr.core.results import PARTS, TimeBudget
from ettr.core.validity import ENDS, LEAST_ETTR, plain, warn_outside
from ettr.scenario import JobInHours

if TYPE_CHECKING:
    import pandas as pd

_BLOCK_POINTS = 32_768
"""Points evaluated at a time: their temporaries fit the cache."""

Parts = dict[str, Any]
Limits = dict[str, Any]
"""Rule, in words, to a mask of the points that break it."""


@dataclass(frozen=True, repr=False)
class SweptBudget(TimeBudget):
    """Time budgets at many points, with the swept values of each point.

    Attributes
    ----------
    swept : mapping of str to ndarray
        Field path to its values in the field's unit; they broadcast to the shape of the budget.
    """

    swept: Mapping[str, np.ndarray] = field(default_factory=dict)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per point: ``point``, a column per swept field, and the columns of :class:`TimeBudget`.

        Examples
        --------
        >>> from ettr import Scenario, budget
        >>> at = {"cluster.n_gpus": [8192, 16_384], "checkpoint.interval_min": [5, 10, 20]}
        >>> frame = budget.exact(Scenario.load("llama3-405b"), at, product=True).to_frame()
        >>> len(frame), frame.loc[4, ["cluster.n_gpus", "checkpoint.interval_min", "ettr"]].round(3).tolist()
        (6, [16384.0, 10.0, 0.909])
        """
        frame = super().to_frame()
        for place, (path, values) in enumerate(self.swept.items(), start=1):
            frame.insert(place, path, np.broadcast_to(values, np.shape(self.total_h)).ravel())
        return frame


def as_product(at: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    """Reshape arrays so that they broadcast to every combination of their values, in the order of the mapping.

    Examples
    --------
    >>> product = as_product({"cluster.n_gpus": [8, 16], "checkpoint.interval_min": [5, 6, 7]})
    >>> [values.shape for values in product.values()]
    [(2, 1), (3,)]
    """
    arrays = {path: np.asarray(values) for path, values in (at or {}).items()}
    n_later, shaped = 0, {}
    for path, values in reversed(arrays.items()):
        shaped[path] = values.reshape(values.shape + (1,) * n_later)
        n_later += values.ndim
    return {path: shaped[path] for path in arrays}


def with_swept(hours: TimeBudget, at: Mapping[str, Any] | None) -> TimeBudget:
    """Add the swept values to budgets at many points; a single budget is returned unchanged."""
    if not at or not np.shape(hours.total_h):
        return hours
    values = {part.name: getattr(hours, part.name) for part in fields(TimeBudget)}
    return SweptBudget(**values, swept={path: np.asarray(swept) for path, swept in at.items()})


def evaluate(
    formula: str,
    model: Callable[[JobInHours], tuple[Parts, Limits]],
    run: JobInHours,
    least_ettr: float = LEAST_ETTR,
) -> TimeBudget:
    """Run a model block by block; points that break a rule, or fall below an ETTR, become NaN."""
    shape = run.shape
    results = {part.name: np.zeros(shape) for part in fields(TimeBudget)} if shape else {}
    broken: dict[str, int] = {}
    with np.errstate(all="ignore"):
        blocks = list(_blocks(shape))
        for block in blocks:
            parts, limits = model(run if len(blocks) == 1 else _cut(run, len(shape), block))
            outside = _broken(limits, broken)
            # a point that already broke a rule is not reported a second time for never ending
            outside = outside | _broken({ENDS: np.logical_not(outside) & _never_ends(parts, least_ettr)}, broken)
            if not shape:
                break
            for name, value in parts.items():
                results[name][block] = value
            if np.any(outside):
                for result in results.values():
                    np.copyto(result[block], np.nan, where=outside)
    if broken and not shape:
        raise OutsideValidity(f"{formula} holds only for {next(iter(broken))}")
    if broken:
        warn_outside(formula, " and ".join(broken), int(np.isnan(results["productive_h"]).sum()), int(np.prod(shape)))
    return TimeBudget(**(results or {name: plain(value) for name, value in parts.items()}))


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Cut an array across its longest axis."""
    if not shape:
        yield ()
        return
    axis = int(np.argmax(shape))
    before = (slice(None),) * axis
    width = max(1, _BLOCK_POINTS * shape[axis] // max(1, int(np.prod(shape))))
    for start in range(0, shape[axis], width):
        yield (*before, slice(start, start + width))


def _cut(run: JobInHours, n_axes: int, block: tuple[slice, ...]) -> JobInHours:
    """Return the block of a run; arrays that do not vary along the cut axis are kept in full."""

    def part(array: np.ndarray) -> np.ndarray:
        # arrays with fewer axes are aligned at the last one, as NumPy broadcasts
        axis = len(block) - 1 - (n_axes - array.ndim)
        if axis < 0 or array.shape[axis] == 1:
            return array
        return array[(slice(None),) * axis + block[-1:]]

    return run.map(part)


def _never_ends(parts: Parts, least_ettr: float) -> Any:
    """Mask of points with an ETTR below the limit, or without finite hours."""
    total_h = sum(parts.get(name, 0.0) for name in PARTS)
    work_h = parts["productive_h"]  # NaN where no layout fits, which has its own warning
    return np.isfinite(work_h) & np.logical_not((work_h >= least_ettr * total_h) & np.isfinite(total_h))


def _broken(limits: Limits, broken: dict[str, int]) -> Any:
    """Join the masks of all rules, and note in ``broken`` the rules that any point breaks."""
    outside: Any = False
    for rule, mask in limits.items():
        if np.any(mask):
            broken[rule] = 1
            outside = outside | mask
    return outside
