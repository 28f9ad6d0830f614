"""Functions of the package that a grid can map over without a notebook."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr import budget
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.results import PARTS
from ettr.scenario import Scenario
from ettr.scenario.paths import N_GPUS
from ettr.simulation import MOST_RUNS, simulate
from ettr.sweep.grid import Grid

BLOCK = 200_000
"""Points that the closed form takes at once."""


@dataclass(frozen=True)
class Call:
    """A function of a scenario, as a sweep calls it.

    Attributes
    ----------
    run : callable
        From values by parameter to recorded values by name.
    own : mapping
        Parameters beside ``scenario`` and the scenario's fields, each with its rule for one value.
    """

    run: Callable[[Mapping[str, Any]], dict[str, Any]]
    own: Mapping[str, Callable[[Any], bool]]


def scenario_of(values: Mapping[str, Any], own: Mapping[str, Any]) -> Scenario:
    """The scenario with the fields that a point gives."""
    fields = {name: value for name, value in values.items() if name not in own and name != "scenario"}
    return Scenario.load(values["scenario"]).override(fields)


def takes_arrays(grid: Grid) -> bool:
    """Whether the closed form takes all points of a grid together: all fields numbers, and such that may be arrays."""
    values = {name: [row[at] for row in block.rows] for block in grid.blocks for at, name in enumerate(block.columns)}
    scenarios, sizes = values.pop("scenario"), values.get(N_GPUS, [])
    if not all(type(value) in (int, float) for taken in values.values() for value in taken):
        return False
    for name in dict.fromkeys(scenarios):
        run = Scenario.load(name)
        if run.heat is not None:
            return False  # its hottest GPU goes with the size
        try:
            if not set(values) <= set(run.swept) or any(size % run.cluster.gpus_per_node for size in sizes):
                return False
            budget.exact(run)
        except NotModelled:
            return False
        except OutsideValidity:
            pass  # elsewhere in the grid it may hold
    return True


def at_once(grid: Grid) -> dict[str, np.ndarray]:
    """What the closed form says of all points of a grid together.

    Returns
    -------
    dict
        An array for each name that a single point records, NaN where the form has no answer.
    """
    columns = grid.columns()
    names = columns.pop("scenario")
    arrays: dict[str, np.ndarray] = {name: np.full(len(names), np.nan) for name in (*_BUDGET, "speed")}
    for name in dict.fromkeys(names):
        run, mine = Scenario.load(name), np.flatnonzero(names == name)
        arrays["speed"][mine] = run.speed
        for start in range(0, len(mine), BLOCK):
            rows = mine[start : start + BLOCK]
            at = {path: values[rows].astype(float) for path, values in columns.items()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is outside validity shows in the rows
                answer = budget.exact(run, at)
            for part in _BUDGET:
                arrays[part][rows] = getattr(answer, part)
    texts = {"formula": "budget.exact", "left_out": ""}
    return {**arrays, **{name: np.full(len(names), text, dtype=object) for name, text in texts.items()}}


_BUDGET = ("ettr", "total_h", *PARTS, "n_failures")


def _budget(values: Mapping[str, Any]) -> dict[str, Any]:
    run = scenario_of(values, {})
    answer = budget.closed_form(run)
    if answer.budget is None:
        raise InputError(f"outside the validity of {answer.formula}: {answer.refusal}")
    hours = {name: getattr(answer.budget, name) for name in _BUDGET}
    return {**hours, "speed": run.speed, "formula": answer.formula, "left_out": "; ".join(answer.left_out)}


def _simulate(values: Mapping[str, Any]) -> dict[str, Any]:
    own = CALLS["simulate"].own
    options = {name: values[name] for name in own if name in values}
    simulated = simulate(scenario_of(values, own), **options)
    low, high = simulated.ettr_interval
    recorded = {"ettr": simulated.ettr, "ettr_low": low, "ettr_high": high}
    recorded |= {f"finish_p{percentile}_h": simulated.finish_h(percentile / 100) for percentile in (5, 50, 95)}
    return {**recorded, **simulated.budget.to_dict(), "ettr": simulated.ettr, "speed": simulated.scenario.speed}


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 < value < 1


def _is_whole(low: int, high: float) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


CALLS: dict[str, Call] = {
    "budget": Call(_budget, {}),
    "simulate": Call(
        _simulate, {"n_runs": _is_whole(1, MOST_RUNS), "seed": _is_whole(0, 2**63 - 1), "until": _is_share}
    ),
}
