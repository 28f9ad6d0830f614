"""The uncertain inputs of a comparison: how far each may be off, by how it is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from ettr.core.errors import InputError, UnknownName
from ettr.core.units import ROUNDING, unit_of
from ettr.failures import gamma_interval
from ettr.mitigation import Catalogue, weakest_status
from ettr.recommendation.study import check_measure
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, RATE, bounds_at

EFFECT = "effect of "
"""Before the name of a mitigation: how strongly it acts."""
FACTORS = MappingProxyType({"assumed": 2.0, "secondary": 1.5, "given": 1.25, "derived": 1.25, "primary": 1.25})
"""How many times smaller or larger a value may be, by its status (assumed)."""
_KELVIN = 5.0
"""How far a temperature may be off. [K]"""
_SECTIONS = ("failures.lemons", "checkpoint", "recovery", "maintenance", "repair", "slow_nodes", "heat", "prediction")
"""What runs depend on, and what is not a decision."""
_OF_MONEY = ("power", "cost")
"""Sections that runs do not depend on: they set energy and costs."""
_DECISIONS = (
    INTERVAL,
    "checkpoint.n_kept",
    "heat.limit_w",
    "heat.hottest_hour",
    "heat.reference_inlet_c",
    "power.floor_share",
    "repair.n_crew",
    "repair.retire_after",
    "repair.retire_window_days",
    "failures.lemons.left",
)
_OF_MODES = ("latency_h", "heat_share", "detection_min", "restart_min", "repair_h")


@dataclass(frozen=True)
class Input:
    """One uncertain input.

    Attributes
    ----------
    field : str
        Dotted path; ``failures.modes.*`` stands for all modes that have a value of their own.
    given, low, high : float
        The scenario's value and the ends of its range; for all modes factors of their values.
    unit : str
        Its unit.
    status : str
        How it is known.
    """

    field: str
    given: float
    low: float
    high: float
    unit: str
    status: str

    @property
    def of_effect(self) -> str:
        """The mitigation whose effect it is; empty for a field of the scenario."""
        return self.field.removeprefix(EFFECT) if self.field.startswith(EFFECT) else ""

    def changes(self, scenario: Scenario, value: float) -> dict[str, float]:
        """What another value of it overrides in a scenario."""
        if not self.field.startswith("failures.modes.*"):
            return {self.field: value}
        name = self.field.rpartition(".")[2]
        return {
            f"failures.modes.{mode.name}.{name}": min(own * value, _most(self.field))
            for mode in scenario.failures.modes
            if (own := getattr(mode, name))
        }


def uncertain(scenario: Scenario, measure: str = "days", fields: Iterable[str] | None = None) -> tuple[Input, ...]:
    """What is uncertain of a scenario, and how far it may be off.

    Parameters
    ----------
    scenario : Scenario
        The run, with what is assumed of it.
    measure : str
        What is asked about: prices and power matter for ``usd`` and ``mwh`` only.
    fields : iterable of str, optional
        Only these.

    Returns
    -------
    tuple of Input
        The failure rate with its 95% interval where that is known; other values up to 2 times smaller or larger where
        they are assumed, 1.5 times where they are taken from others' reports, 1.25 times otherwise, within the rules of
        their fields; temperatures by 5 K. Decisions, such as the interval, are none of them.

    Raises
    ------
    InputError
        A field that is not uncertain here.

    Examples
    --------
    >>> inputs = {one.field: one for one in uncertain(Scenario.load("llama3-405b"))}
    >>> inputs["recovery.restart_min"].low, inputs["recovery.restart_min"].high
    (2.5, 10.0)
    """
    check_measure(measure)
    inputs = [*_rate(scenario), *_values(scenario, measure), *_of_modes(scenario)]
    inputs = [one for one in inputs if one.high > one.low]
    if fields is None:
        return tuple(inputs)
    known = {one.field: one for one in inputs}
    for name in fields:
        if name not in known:
            raise UnknownName("uncertain input", name, known)
    return tuple(known[name] for name in fields)


def effects(of: Catalogue, ids: Iterable[str]) -> tuple[Input, ...]:
    """How strongly mitigations act: from a part of what was published or assumed up to all of it.

    Parameters
    ----------
    of : Catalogue
        Where they stand.
    ids : iterable of str
        Mitigations.

    Returns
    -------
    tuple of Input
        One a mitigation: the part of the way that its numbers go, from 1 over the factor of its weakest status to 1.
        What is no number, such as a tier of checkpoints, is there at any strength.
    """
    inputs = []
    for name in ids:
        status = weakest_status(of[name].changes)
        inputs.append(Input(f"{EFFECT}{name}", 1.0, 1 / FACTORS.get(status, FACTORS["given"]), 1.0, "", status))
    return tuple(inputs)


def _rate(scenario: Scenario) -> list[Input]:
    given, known = scenario.failure_rate, scenario.failures.posterior
    if given <= 0:
        return []
    if known is None:
        spread = FACTORS["given"]
        return [Input(RATE, given, given / spread, given * spread, unit_of(RATE), "given")]
    ends = gamma_interval(known.shape, known.node_days)
    return [Input(RATE, given, float(ends.low), float(ends.high), unit_of(RATE), "primary")]


def _values(scenario: Scenario, measure: str) -> list[Input]:
    sections = _SECTIONS + (_OF_MONEY if measure in ("usd", "mwh") else ())
    rows: pd.DataFrame = scenario.to_frame()
    inputs = []
    for row in rows.itertuples():
        value, field = row.value, str(row.field)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or value == 0 or field in _DECISIONS or not field.startswith(tuple(f"{s}." for s in sections)):
            continue
        if field.startswith("checkpoint.tiers."):
            continue
        low, high = _range(field, float(value), str(row.status))
        if _fits(scenario, field, low) and _fits(scenario, field, high):
            inputs.append(Input(field, float(value), low, high, str(row.unit), str(row.status)))
    return inputs


def _of_modes(scenario: Scenario) -> list[Input]:
    """Values of single modes, which are moved together."""
    inputs = []
    for name in _OF_MODES:
        if any(getattr(mode, name) for mode in scenario.failures.modes):
            path = f"failures.modes.*.{name}"
            spread = FACTORS["assumed"]
            inputs.append(Input(path, 1.0, 1 / spread, spread, f"times {unit_of(name)}".strip(), "assumed"))
    return inputs


def _range(field: str, value: float, status: str) -> tuple[float, float]:
    if field.endswith("_c"):
        return value - _KELVIN, value + _KELVIN
    spread = FACTORS.get(status, FACTORS["given"])
    return value / spread, min(value * spread, _most(field))


def _most(field: str) -> float:
    """The largest value that a field's rule allows."""
    rules: dict[str, Any] = dict(bounds_at(field, Scenario))
    most = float(min(rules.get("<=", float("inf")), rules.get("<", float("inf"))))
    return most * (1 - ROUNDING) if "<" in rules else most


def _fits(scenario: Scenario, field: str, value: float) -> bool:
    try:
        scenario.override({field: value})
    except InputError:
        return False
    return True
