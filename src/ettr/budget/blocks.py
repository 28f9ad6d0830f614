"""Runs a closed form over arrays, block by block, and marks the points that lie outside its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from ettr.core.errors import OutsideValidity
from ettr.core.results import PARTS, TimeBudget
from ettr.core.validity import ENDS, LEAST_ETTR, plain, warn_outside
from ettr.scenario import JobInHours

_BLOCK_POINTS = 32_768
"""Points evaluated at a time: their temporaries fit the cache."""

Parts = dict[str, Any]
Limits = dict[str, Any]
"""What must hold, in words, and where it does not (a mask)."""


def evaluate(
    formula: str,
    model: Callable[[JobInHours], tuple[Parts, Limits]],
    run: JobInHours,
    least_ettr: float = LEAST_ETTR,
) -> TimeBudget:
    """Run a model block by block, and mark the points that lie outside its limits or below an ETTR."""
    shape = run.shape
    results = {field.name: np.zeros(shape) for field in fields(TimeBudget)} if shape else {}
    broken: dict[str, int] = {}
    with np.errstate(all="ignore"):
        blocks = list(_blocks(shape))
        for block in blocks:
            parts, limits = model(run if len(blocks) == 1 else _cut(run, len(shape), block))
            outside = _broken(limits, broken)
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
    """The part of a run that belongs to a block; arrays that do not vary along it stay whole."""

    def part(array: np.ndarray) -> np.ndarray:
        axis = len(block) - 1 - (n_axes - array.ndim)
        if axis < 0 or array.shape[axis] == 1:
            return array
        return array[(slice(None),) * axis + block[-1:]]

    return run.map(part)


def _never_ends(parts: Parts, least_ettr: float) -> Any:
    """Where a run trains for a smaller share of its time, or has no finite hours at all."""
    total_h = sum(parts.get(name, 0.0) for name in PARTS)
    work_h = parts["productive_h"]  # which is NaN where no layout fits: that has its own warning
    return np.isfinite(work_h) & np.logical_not((work_h >= least_ettr * total_h) & np.isfinite(total_h))


def _broken(limits: Limits, broken: dict[str, int]) -> Any:
    """Join the masks of all limits, and note which limits were broken at all."""
    outside: Any = False
    for rule, mask in limits.items():
        if np.any(mask):
            broken[rule] = 1
            outside = outside | mask
    return outside
