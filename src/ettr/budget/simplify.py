"""A scenario without the mechanisms that the exact model does not cover, and the analytical model closest to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.changing import over_time
from ettr.budget.closed_forms import exact
from ettr.budget.refusals import EXTRAS, SILENT, silent_modes, together
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.core.report import Answer, Note, Report
from ettr.core.results import TimeBudget
from ettr.core.sentences import listed
from ettr.scenario import Scenario
from ettr.scenario.fields import idle_value
from ettr.scenario.long_run import changes, settled
from ettr.scenario.paths import PREDICTION, SLOWDOWN, TIERS
from ettr.scenario.to_hours import before_interval


@dataclass(frozen=True)
class Simplified:
    """A scenario that the exact model covers, and the mechanisms that were left out.

    Attributes
    ----------
    scenario : Scenario
        The scenario without the mechanisms in ``left_out``.
    left_out : tuple of str
        Name and fields of each mechanism; empty if none had to be left out.
    """

    scenario: Scenario
    left_out: tuple[str, ...] = ()

    def without(self, words: str, changes: Mapping[str, Any]) -> Simplified:
        """Leave out another mechanism."""
        return Simplified(self.scenario.override(changes), (*self.left_out, words))


def mechanisms(left_out: Sequence[str]) -> str:
    """Return the mechanisms left out as a list in words, without how the simplified scenario treats them.

    Examples
    --------
    >>> mechanisms(["slow nodes (slow_nodes)", "silent failures, detected at once here (failures.modes.SDC.latency_h)"])
    'slow nodes (slow_nodes) and silent failures (failures.modes.SDC.latency_h)'
    """
    return listed([re.sub(r", [^()]*( here|at their mean rate)(?= \(|$)", "", words) for words in left_out])


def simplified(scenario: Scenario) -> Simplified:
    """Return a scenario without the mechanisms that :func:`exact` does not cover, for comparison with a simulation.

    Spares never run out, and the failure rate is the long-run rate. Silent failures count as detected at once if
    another mechanism excludes them, and different latencies are replaced by their mean. Predictions are left out beside
    faster tiers.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    Simplified
        ``scenario``, and ``left_out`` in words. :func:`exact` covers it, unless it raises ``OutsideValidity``.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 8}, "repair": {"manual_h": 24}})
    >>> simple = budget.simplified(run)
    >>> simple.left_out, round(budget.exact(simple.scenario).ettr, 3)
    (('spares that run out (spares, repair)',), 0.909)
    """
    simple = without_extras(scenario)
    return _without_different_latencies(_without_what_excludes_others(_at_the_settled_rate(simple)))


def without_extras(scenario: Scenario) -> Simplified:
    """Return a scenario without the mechanisms that only the simulator covers.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    Simplified
        ``scenario``, which may still have a changing rate, or mechanisms that :func:`exact` does not cover together.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> slow = {"slow_nodes": {"per_1000_node_days": 1, "loss": 0.1, "detection_h": 4}}
    >>> budget.without_extras(Scenario.load("llama3-405b").override(slow)).left_out
    ('slow nodes (slow_nodes)',)
    """
    changes: dict[str, Any] = {}
    words: list[str] = []
    for extra in EXTRAS:
        if paths := extra.found_at(scenario):
            changes |= {path: idle_value(path, Scenario) for path in paths}
            words.append(f"{extra.words} ({', '.join(paths)})")
    return Simplified(scenario.override(changes) if changes else scenario, tuple(words))


def _at_the_settled_rate(simple: Simplified) -> Simplified:
    failures = simple.scenario.failures
    if failures.burn_in and failures.burn_in.factor != 1:
        words = "a changing failure rate, at its long-run value here (failures.burn_in)"
        simple = simple.without(words, {"failures.burn_in": None})
    if failures.lifetime and failures.lifetime.shape != 1:
        words = "nodes whose failure rate depends on age, at their long-run rate here (failures.lifetime)"
        simple = simple.without(words, settled(simple.scenario))
    return simple


def _without_what_excludes_others(simple: Simplified) -> Simplified:
    """Leave out mechanisms until the exact model covers the others together."""
    run = before_interval(simple.scenario)
    present = set(together(run))
    if SLOWDOWN in present:
        present.discard(SLOWDOWN)
        if run.persist <= run.tau:
            simple = simple.without(f"slowdown by the background write ({SLOWDOWN})", {SLOWDOWN: 0.0})
        else:  # without slowdown the interval would be too short for the write
            present.discard(TIERS)
            simple = simple.without(f"faster tiers ({TIERS})", {TIERS: ()})
    if TIERS in present and PREDICTION in present:
        present.discard(PREDICTION)
        simple = simple.without(f"predicted failures ({PREDICTION})", {PREDICTION: None})
    if SILENT in present and len(present) > 1:
        modes = silent_modes(simple.scenario)
        immediate = {f"{mode}.latency_h": None for mode in modes} | {f"{mode}.latency_cv": 0.0 for mode in modes}
        named = ", ".join(f"{mode}.latency_h" for mode in modes)
        simple = simple.without(f"silent failures, detected at once here ({named})", immediate)
    return simple


def _without_different_latencies(simple: Simplified) -> Simplified:
    run = simple.scenario
    if len(run.latencies_h) < 2:
        return simple
    latency = [mode.latency_h for mode in run.failures.modes]
    silent = np.array([hours is not None for hours in latency])
    hours = np.array([hours or 0.0 for hours in latency])
    mean_h = float(np.average(hours, weights=run.mode_weights[:-1] * silent))
    paths = [f"{mode}.latency_h" for mode in silent_modes(run)]
    return simple.without(f"different latencies, all the mean here ({', '.join(paths)})", dict.fromkeys(paths, mean_h))


def with_immediate_detection(scenario: Scenario) -> Scenario:
    """Return a scenario with silent failures detected at once; no faster tier survives them, as copies are corrupt."""
    changes: dict[str, Any] = {}
    for mode in scenario.failures.modes:
        if mode.latency_h is not None:
            path = f"failures.modes.{mode.name}"
            changes |= {f"{path}.latency_h": None, f"{path}.latency_cv": 0.0, f"{path}.n_lost_nodes": scenario.n_nodes}
    return scenario.override(changes) if changes else scenario


OVER_TIME = "budget.over_time"


@dataclass(frozen=True, repr=False)
class ClosedForm(Answer):
    """Time budget by an analytical model, with the mechanisms left out.

    Attributes
    ----------
    formula : str
        ``budget.exact``, or ``budget.over_time`` if the failure rate changes and that model covers everything else.
    budget : TimeBudget or None
        Expected time budget; None outside the model's validity.
    left_out : tuple of str
        Name and fields of each mechanism that the model does not cover.
    refusal : str
        Reason for no time budget; empty if there is one.
    """

    formula: str
    budget: TimeBudget | None
    left_out: tuple[str, ...] = ()
    refusal: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "formula": self.formula,
            "ettr": float(self.budget.ettr) if self.budget else None,
            "left_out": list(self.left_out),
            "refusal": self.refusal or None,
            "budget": self.budget.to_dict() if self.budget else None,
        }

    @property
    def headline(self) -> str:
        """Formula and ETTR."""
        return f"{self.formula}: {self.budget.headline if self.budget else 'no answer'}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """Mechanisms that the model leaves out, or why there is no time budget, a sentence each."""
        if self.budget is None:
            return (f"The analytical model does not cover this run: {self.refusal}.",)
        if self.left_out:
            return ("The analytical model leaves out:", *(f"  {words}" for words in self.left_out))
        changing = ", at the failure rate of each moment" if self.formula == OVER_TIME else ""
        maintenance = ", with maintenance to first order" if self.budget.maintenance_h > 0 else ""
        return (f"The analytical model ({self.formula}) covers all mechanisms of this run{changing}{maintenance}.",)

    def report(self) -> Report:
        """Return the hours by part, and the mechanisms left out."""
        return [*(self.budget.report() if self.budget else []), *map(Note, self.caveats)]


def closed_form(scenario: Scenario) -> ClosedForm:
    """Return the time budget by the analytical model that leaves out the fewest mechanisms.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    ClosedForm
        By :func:`over_time` if the failure rate changes and that model covers everything else; otherwise by
        :func:`exact`, for the scenario from :func:`simplified`.

    Examples
    --------
    >>> from ettr import Scenario
    >>> answer = closed_form(Scenario.load("llama3-405b").override({"recovery.false_alarms_per_day": 1}))
    >>> answer.left_out, round(answer.budget.ettr, 3)
    (('time-outs that kill a healthy job (recovery.false_alarms_per_day)',), 0.909)
    """
    try:
        if changes(scenario):
            return ClosedForm(OVER_TIME, over_time(scenario))
    except NotModelled:
        pass  # then at the long-run rate
    except OutsideValidity as error:
        return ClosedForm(OVER_TIME, None, refusal=str(error))
    simple = simplified(scenario)
    try:
        return ClosedForm("budget.exact", exact(simple.scenario), simple.left_out)
    except OutsideValidity as error:
        return ClosedForm("budget.exact", None, simple.left_out, str(error))
