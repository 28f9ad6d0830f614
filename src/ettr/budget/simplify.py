"""A scenario without what the closed forms have no term for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.refusals import EXTRAS, SILENT, silent_modes, together
from ettr.core.sentences import listed
from ettr.scenario import Scenario
from ettr.scenario.fields import idle_value
from ettr.scenario.long_run import settled
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
