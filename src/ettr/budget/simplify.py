"""A scenario without what the closed forms have no term for, and the form that comes closest to it."""

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
    """A scenario that the exact form takes, and what was left out for it.

    Attributes
    ----------
    scenario : Scenario
        Without what is named in ``left_out``.
    left_out : tuple of str
        A few words and the fields each; empty if nothing had to go.
    """

    scenario: Scenario
    left_out: tuple[str, ...] = ()

    def without(self, words: str, changes: Mapping[str, Any]) -> Simplified:
        """With one more thing left out."""
        return Simplified(self.scenario.override(changes), (*self.left_out, words))


def mechanisms(left_out: Sequence[str]) -> str:
    """Return in a list what was left out, without how the simplified scenario treats it.

    Examples
    --------
    >>> mechanisms(["slow nodes (slow_nodes)", "silent failures, noticed at once here (failures.modes.SDC.latency_h)"])
    'slow nodes (slow_nodes) and silent failures (failures.modes.SDC.latency_h)'
    """
    return listed([re.sub(r", [^()]*( here|at their mean rate)(?= \(|$)", "", words) for words in left_out])


def simplified(scenario: Scenario) -> Simplified:
    """The same scenario without what :func:`exact` has no term for, to set beside a simulation.

    Spares never run out, the failure rate is the settled one. Silent failures that stand
    beside something else count as noticed at once; of different latencies all get the mean. Beside tiers the
    prediction goes.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    Simplified
        ``scenario``, and ``left_out`` in words. :func:`exact` answers for it, or raises ``OutsideValidity``.

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
    """The same scenario without what no closed form has a term for, whatever stands beside it.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    Simplified
        ``scenario``, which may still hold mechanisms that no form holds for together, or a rate that changes.
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
        simple = simple.without("a rate that changes, settled here (failures.burn_in)", {"failures.burn_in": None})
    if failures.lifetime and failures.lifetime.shape != 1:
        simple = simple.without(
            "nodes with a memory, their rate settled here (failures.lifetime)", settled(simple.scenario)
        )
    return simple


def _without_what_excludes_others(simple: Simplified) -> Simplified:
    """Leave out what no closed form holds for beside something else."""
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
        simple = simple.without(f"warnings of failures ({PREDICTION})", {PREDICTION: None})
    if SILENT in present and len(present) > 1:
        modes = silent_modes(simple.scenario)
        immediate = {f"{mode}.latency_h": None for mode in modes} | {f"{mode}.latency_cv": 0.0 for mode in modes}
        named = ", ".join(f"{mode}.latency_h" for mode in modes)
        simple = simple.without(f"silent failures, noticed at once here ({named})", immediate)
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
    """The scenario with silent failures noticed at once, and survived by no faster tier, whose copies are spoiled."""
    changes: dict[str, Any] = {}
    for mode in scenario.failures.modes:
        if mode.latency_h is not None:
            path = f"failures.modes.{mode.name}"
            changes |= {f"{path}.latency_h": None, f"{path}.latency_cv": 0.0, f"{path}.n_lost_nodes": scenario.n_nodes}
    return scenario.override(changes) if changes else scenario


OVER_TIME = "budget.over_time"


@dataclass(frozen=True, repr=False)
class ClosedForm(Answer):
    """What a closed form says of a scenario.

    Attributes
    ----------
    formula : str
        ``budget.exact``, or ``budget.over_time`` where the failure rate changes and the form takes all the rest.
    budget : TimeBudget or None
        Expected time budget; None where the form has no answer.
    left_out : tuple of str
        What the form has no term for, a few words and the fields each.
    refusal : str
        Why it has no answer; empty if it has one.
    """

    formula: str
    budget: TimeBudget | None
    left_out: tuple[str, ...] = ()
    refusal: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "formula": self.formula,
            "ettr": float(self.budget.ettr) if self.budget else None,
            "left_out": list(self.left_out),
            "refusal": self.refusal or None,
            "budget": self.budget.to_dict() if self.budget else None,
        }

    @property
    def headline(self) -> str:
        """The formula, and its ETTR."""
        return f"{self.formula}: {self.budget.headline if self.budget else 'no answer'}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the form leaves out, or why it has no answer, a sentence each."""
        if self.budget is None:
            return (f"No closed form beside it: {self.refusal}.",)
        if self.left_out:
            return ("The closed form leaves out:", *(f"  {words}" for words in self.left_out))
        changing = ", at each moment's failure rate" if self.formula == OVER_TIME else ""
        maintenance = ", and has maintenance to first order" if self.budget.maintenance_h > 0 else ""
        return (f"The closed form ({self.formula}) leaves nothing out{changing}{maintenance}.",)

    def report(self) -> Report:
        """Its hours, and what they leave out."""
        return [*(self.budget.report() if self.budget else []), *map(Note, self.caveats)]


def closed_form(scenario: Scenario) -> ClosedForm:
    """The closed form that leaves least out of a scenario.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    ClosedForm
        Of :func:`over_time` if the failure rate changes and the form takes all the rest; else of :func:`exact` for the
        scenario that :func:`simplified` leaves.

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
        pass  # the settled rate then
    except OutsideValidity as error:
        return ClosedForm(OVER_TIME, None, refusal=str(error))
    plain = simplified(scenario)
    try:
        return ClosedForm("budget.exact", exact(plain.scenario), plain.left_out)
    except OutsideValidity as error:
        return ClosedForm("budget.exact", None, plain.left_out, str(error))
