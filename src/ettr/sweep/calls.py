"""Functions of the package that a sweep can call without a notebook."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
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
"""Points that the exact model evaluates at once."""


@dataclass(frozen=True)
class Call:
    """Function of a scenario that a sweep can call.

    Attributes
    ----------
    run : callable
        Function from parameter values to recorded values by name.
    options : mapping
        Parameters other than ``scenario`` and the fields of a scenario, each with a check of its value and the rule.
    """

    run: Callable[[Mapping[str, Any]], dict[str, Any]]
    options: Mapping[str, tuple[Callable[[Any], bool], str]]


def scenario_of(values: Mapping[str, Any], options: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a point."""
    fields = {name: value for name, value in values.items() if name not in options and name != "scenario"}
    return Scenario.load(values["scenario"]).override(fields)


def takes_arrays(grid: Grid) -> bool:
    """Return True if the exact model can evaluate all points as arrays: numeric fields that accept arrays."""
    values = {name: [row[at] for row in block.rows] for block in grid.blocks for at, name in enumerate(block.columns)}
    scenarios, sizes = dict.fromkeys(values.pop("scenario")), values.get(N_GPUS, [])
    if not all(type(value) in (int, float) for column in values.values() for value in column):
        return False
    if not all(accepts_arrays(name, values) for name in scenarios):
        return False
    return not any(size % Scenario.load(name).cluster.gpus_per_node for name in scenarios for size in sizes)


def accepts_arrays(scenario: str, fields: Iterable[str]) -> bool:
    """Return True if the exact model can evaluate a scenario with arrays in these fields."""
    run = Scenario.load(scenario)
    if run.heat is not None:
        return False  # the temperature of its hottest GPU depends on the size
    try:
        if not set(fields) <= set(run.swept):
            return False
        budget.exact(run)
    except NotModelled:
        return False
    except OutsideValidity:
        pass  # other points of the grid may be valid
    return True


def at_once(grid: Grid) -> dict[str, np.ndarray]:
    """Evaluate the exact model at all points of a grid as arrays.

    Returns
    -------
    dict
        One array per recorded value; NaN outside the validity of the model.
    """
    columns = grid.columns()
    names = columns.pop("scenario")
    arrays: dict[str, np.ndarray] = {name: np.full(len(names), np.nan) for name in (*_BUDGET, "speed")}
    for name in dict.fromkeys(names):
        run, indices = Scenario.load(name), np.flatnonzero(names == name)
        arrays["speed"][indices] = run.speed
        for start in range(0, len(indices), BLOCK):
            rows = indices[start : start + BLOCK]
            at = {path: values[rows].astype(float) for path, values in columns.items()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # points outside validity are marked in the rows
                answer = budget.exact(run, at)
            for part in _BUDGET:
                arrays[part][rows] = getattr(answer, part)
    texts = {"formula": "budget.exact", "left_out": ""}
    return {**arrays, **{name: np.full(len(names), text, dtype=object) for name, text in texts.items()}}


_BUDGET = ("ettr", "total_h", *PARTS, "n_failures")


def _budget(values: Mapping[str, Any]) -> dict[str, Any]:
    """Time budget of a point by the exact model."""
    run = scenario_of(values, {})
    answer = budget.closed_form(run)
    if answer.budget is None:
        raise InputError(f"outside the validity of {answer.formula}: {answer.refusal}")
    hours = {name: getattr(answer.budget, name) for name in _BUDGET}
    return {**hours, "speed": run.speed, "formula": answer.formula, "left_out": "; ".join(answer.left_out)}


def _simulate(values: Mapping[str, Any]) -> dict[str, Any]:
    """ETTR, run times and time budget of a point by simulation."""
    names = CALLS["simulate"].options
    options = {name: values[name] for name in names if name in values}
    simulated = simulate(scenario_of(values, names), **options)
    low, high = simulated.ettr_interval
    recorded = {"ettr": simulated.ettr, "ettr_low": low, "ettr_high": high}
    recorded |= {f"finish_p{percentile}_h": simulated.finish_h(percentile / 100) for percentile in (5, 50, 95)}
    return {**recorded, **simulated.budget.to_dict(), "ettr": simulated.ettr, "speed": simulated.scenario.speed}


def _is_share(value: Any) -> bool:
    """True for a number between 0 and 1."""
    return isinstance(value, float) and 0 < value < 1


def _integer(low: int, high: float) -> tuple[Callable[[Any], bool], str]:
    """Check for an integer in a range, and the rule."""
    return (
        lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high,
        f"an integer from {low:,} to {high:,}",
    )


CALLS: dict[str, Call] = {
    "budget": Call(_budget, {}),
    "simulate": Call(
        _simulate,
        {
            "n_runs": _integer(1, MOST_RUNS),
            "seed": _integer(0, 2**63 - 1),
            "until": (_is_share, "a number between 0 and 1"),
        },
    ),
}
