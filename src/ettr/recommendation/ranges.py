"""How far the gain of a mitigation may be off: by what is assumed, by how strong it is, and by luck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ettr import budget, mitigation
from ettr.budget.closed_forms import quiet_budget
from ettr.budget.intervals import any_interval, best_h
from ettr.core.results import PARTS
from ettr.mitigation import Mitigation
from ettr.ranges.assumed import TAILS, agrees_with_what_is_known, assumed_inputs, even_points
from ettr.recommendation.inputs import effects
from ettr.recommendation.measures import Runs, gains, with_immediate_detection
from ettr.recommendation.study import NO_ANSWER, Study
from ettr.scenario import Scenario
from ettr.scenario.fields import given_at
from ettr.scenario.paths import INTERVAL, SLOWDOWN
from ettr.simulation.columns import COLUMNS, PRODUCTIVE

if TYPE_CHECKING:
    from ettr.scenario import JobInHours

_STRENGTHS, _DRAWS, _FEWEST = 3, 1024, 32
"""Strengths of an effect that are tried, draws of the assumed inputs, and how many must agree with what is known."""
_EACH = 64
"""Draws that are looked at with each strength."""
_NOT_DRAWN = (INTERVAL, SLOWDOWN)
"""The interval is chosen, and no closed form has a slowdown beside the faster tiers that mitigations add."""


class Draws:
    """A study's assumed inputs over their ranges, and the measure of the runs without mitigations, by the closed form.

    Draws that contradict what is known of the run are left out, as :func:`ettr.plan.assumptions` does.
    """

    def __init__(self, study: Study, measure: str) -> None:
        self.study, self.measure = study, measure

    @cached_property
    def plain(self) -> Scenario:
        """The study's baseline as the closed form takes it."""
        return _plain(self.study.baseline)

    @cached_property
    def at(self) -> Mapping[str, np.ndarray]:
        """Values by path; none of the interval, which is chosen. Empty where nothing is assumed, or nothing agrees."""
        inputs = tuple(assumed_inputs(self.plain))
        if not inputs:
            return {}
        u = even_points(_DRAWS, len(inputs), self.study.seed)
        at = {one.field: one.at(column) for one, column in zip(inputs, u.T, strict=True)}
        given = _plain(self.study.scenario)
        known = {path: values for path, values in at.items() if path in given.swept}
        agrees = agrees_with_what_is_known(given, known) if known else np.ones(_DRAWS, dtype=bool)
        kept = np.flatnonzero(agrees)[: _STRENGTHS * _EACH]
        return {path: values[kept] for path, values in at.items() if path not in _NOT_DRAWN}

    @property
    def enough(self) -> bool:
        """Whether enough of them agree with what is known of the run."""
        return all(values.size >= _FEWEST for values in self.at.values())

    @cached_property
    def before(self) -> tuple[float, np.ndarray]:
        """The measure as things are assumed, and at each draw."""
        centre, drawn = (self.values(self.study.bare, self.plain, at, 0.0) for at in ({}, self.at))
        return float(centre[0]), drawn

    def values(self, full: Scenario, plain: Scenario, at: Mapping[str, np.ndarray], own_usd: float) -> np.ndarray:
        """The measure by the closed form at each draw; of no draws at the values of the scenario."""
        run = any_interval(plain, {path: values for path, values in at.items() if path in plain.swept})
        tau_h = best_h(run)[0] if self.study.interval == "best" else np.maximum(np.atleast_1d(run.tau), run.head)
        runs = Runs(full, _hours(replace(run, tau=np.atleast_1d(tau_h))), own_usd)
        return runs.hours[:, PRODUCTIVE] / runs.total_h if self.measure == "ettr" else runs.values(self.measure)


def _plain(run: Scenario) -> Scenario:
    """The run as the closed form takes it."""
    return budget.simplified(with_immediate_detection(run)).scenario


def _hours(run: JobInHours) -> np.ndarray:
    """Hours of each part by the closed form, a row a draw, as a simulation's table has them."""
    closed = quiet_budget(run)
    parts = np.broadcast_arrays(*(np.atleast_1d(getattr(closed, part)) for part in PARTS))
    hours = np.zeros((parts[0].size, len(COLUMNS)))
    hours[:, : len(PARTS)] = np.column_stack(parts)
    return hours


def range_of(draws: Draws, one: Mitigation, is_closed: bool) -> tuple[float, float, bool]:
    """The range of what a run gains, the mean as things are assumed within it, and whether it is of luck alone."""
    study = draws.study
    gained = gains(study.runs(), study.runs([one.id]), draws.measure)
    mean = float(gained.mean())
    moves = _moves(draws, one) if is_closed else np.zeros(0)
    if moves.size:
        n = max(moves.size, _DRAWS)
        gained = np.resize(moves, n) + np.random.default_rng(study.seed).choice(gained, n)
    low, high = np.quantile(gained, TAILS)
    return min(float(low), mean), max(float(high), mean), not moves.size


def _moves(draws: Draws, one: Mitigation) -> np.ndarray:
    """By how much what is assumed moves the gain, draw by draw and strength by strength; empty without an answer."""
    study, sign = draws.study, 1 if draws.measure == "ettr" else -1
    strengths = np.linspace(effects(study.catalogue, [one.id])[0].low, 1.0, _STRENGTHS)
    try:
        if not draws.enough:
            return np.zeros(0)
        centre, before = draws.before
        goal = _plain(mitigation.apply(study.bare, one.id, study.catalogue))
        at_centre = _after(draws, one, goal, 1.0, {})[0] - centre
        moves = []
        for i, strength in enumerate(strengths):
            some = {path: values[i::_STRENGTHS] for path, values in draws.at.items()}
            after = _after(draws, one, goal, float(strength), some)
            moves.append(after - (before[i::_STRENGTHS] if some else centre) - at_centre)
    except NO_ANSWER:
        return np.zeros(0)
    found = sign * np.concatenate(moves)
    found = found[np.isfinite(found)]
    return np.resize(found, max(found.size, _EACH)) if found.size else found


def _after(draws: Draws, one: Mitigation, goal: Scenario, strength: float, at: Mapping[str, np.ndarray]) -> np.ndarray:
    """The measure with a mitigation of this strength at each draw; ``goal`` is the run with all of it."""
    study = draws.study
    full = mitigation.apply(study.bare, one.id, study.catalogue, {one.id: strength})
    moved: dict[str, np.ndarray] = {}
    for path, drawn in at.items():
        own, aim = given_at(draws.plain, path), given_at(goal, path)
        op = _op(draws.plain, one, path) if aim != own else ""
        if op is not None:
            moved[path] = drawn + strength * (_changed(op, drawn, float(own), float(aim)) - drawn) if op else drawn
    return draws.values(full, _plain(full), moved, study.own_usd(one))


def _op(run: Scenario, one: Mitigation, path: str) -> str | None:
    """What a mitigation does to a field that it changes; None where it makes a section that holds it."""
    for change in one.changes:
        if change.path == path:
            alone = mitigation.changed(run, [(change, 1.0)], one.id)
            if given_at(alone, path) != given_at(run, path):
                return change.op
    return None


def _changed(op: str, drawn: np.ndarray, own: float, aim: float) -> np.ndarray:
    """Other values of a field, changed as the mitigation changes its own to its aim."""
    if op == "scale":
        return np.asarray(drawn * (aim / own))
    if op == "add":
        return np.asarray(drawn + (aim - own))
    if op == "cap":
        return np.asarray(np.minimum(drawn, aim))
    return np.asarray(np.maximum(drawn, aim) if op == "floor" else np.full_like(drawn, aim))
