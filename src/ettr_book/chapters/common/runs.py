"""The run of a chapter: with its best interval, simplified for the exact model, shortened for a page, and changed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ettr import budget, plan
from ettr.budget.intervals import whole_interval_min
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.core.sentences import listed
from ettr.core.units import S_PER_H
from ettr.scenario import Scenario
from ettr.scenario.basics import LONGEST_TEXT
from ettr.scenario.paths import INTERVAL, RATE
from ettr.scenario.to_hours import before_interval
from ettr.simulation.outlook import affordable_runs

_MOST_FAILURES = 2e6
"""Failures in all simulated runs with one mitigation together."""
_MOST_OF_ONE, _MOST_CHECKPOINTS = 1e5, 1e6
"""Failures and checkpoints in a run with a timeline."""


_PLANNED = {"status": "derived", "note": "the best one of its plan"}


def loaded(name: str) -> Scenario:
    """Return a scenario for any model: with its plan's interval where ``best`` has no rule.

    Examples
    --------
    >>> loaded("llama3-405b") == Scenario.load("llama3-405b")
    True
    """
    run = Scenario.load(name)
    if run.checkpoint.interval_min != "best" or before_interval(run).has_interval_rule:
        return run
    return at_best_interval(run, plan.make(run, simulate=False))


def at_best_interval(run: Scenario, answer: plan.Plan) -> Scenario:
    """Return the run with its plan's best interval; measured values and fits to them are kept.

    Examples
    --------
    >>> run = loaded("llama3-405b")
    >>> round(at_best_interval(run, plan.make(run, simulate=False)).interval_min, 1)
    7.7
    """
    planned_min = whole_interval_min(run, answer.band.interval_min)
    evidence = run.evidence | {INTERVAL: _PLANNED}
    return run.override({INTERVAL: planned_min, "measured": run.measured, "evidence": evidence})


def simplified(scenario: Scenario) -> budget.Simplified:
    """Return the run that the exact model covers, at its mean rate if known, and the features it drops."""
    stripped = budget.without_extras(scenario)
    try:
        rest = budget.simplified(budget.at_mean_rate(stripped.scenario))
    except NotModelled:
        rest = budget.simplified(stripped.scenario)  # at the settled rate
    return replace(rest, left_out=(*stripped.left_out, *rest.left_out))


def followed(scenario: Scenario) -> Scenario:
    """Return the run that the exact model covers; its title lists the features it drops.

    Examples
    --------
    >>> followed(Scenario.load("llama3-405b")).title
    'Llama 3 405B on 16,384 H100'
    """
    simpler = simplified(scenario)
    if not simpler.left_out:
        return simpler.scenario
    title = f"{scenario.title}, without {listed(list(simpler.left_out))}"
    return simpler.scenario.override({"title": title[:LONGEST_TEXT]})


def with_failures(run: Scenario) -> None:
    """Refuse a run without failures, about which the rest of a page has nothing to say.

    Raises
    ------
    NotModelled
        If the run never fails.
    """
    if math.isinf(run.job_mttf_h):
        raise NotModelled("the run has no failures")


def in_hours(run: Scenario) -> Scenario:
    """Return the run with its work in hours instead of tokens, so that its size can change without another layout."""
    return run.override({"job.productive_h": run.productive_h}) if run.job.tokens else run


def affordable(run: Scenario, n_runs: int) -> int:
    """Return how many runs a page can simulate with each mitigation: fewer if a run has very many failures."""
    return affordable_runs(_failures(run), n_runs, _MOST_FAILURES)


def shortened(run: Scenario, part: float) -> Scenario:
    """Return the run with a part of its work; from 1 on with all its work."""
    return run.override({"job.productive_h": part * run.productive_h}) if part < 1 else run


def of_failures(run: Scenario, most: float) -> Scenario:
    """Return the part of the run that has a number of failures."""
    return shortened(run, most / max(_failures(run), 1.0))


def for_timeline(run: Scenario) -> Scenario:
    """Return the part of the run whose failures and checkpoints fit into a timeline."""
    every_h = min([run.interval_h, *(tier.interval_s / S_PER_H for tier in run.checkpoint.tiers)])
    return of_failures(shortened(run, _MOST_CHECKPOINTS * every_h / run.productive_h), _MOST_OF_ONE)


def _failures(run: Scenario) -> float:
    """Return the expected failures of a run, without stops or at its best interval if it would never end, else 0."""
    simpler = budget.simplified(run).scenario
    without_stops = simpler.override({"maintenance": None})
    for candidate in (simpler, without_stops, without_stops.override({INTERVAL: "best"})):
        try:
            return float(budget.exact(candidate).n_failures)
        except OutsideValidity:
            continue
    return 0.0


_OF_RACKS = 0.02
"""Share of failures that take out a rack (assumed)."""


def formula_run(scenario: Scenario) -> Scenario:
    """Return the run that the exact model covers, with its failure rate instead of a count.

    When node lifetimes depend on age, a count refers to new nodes, but a rate to the long-run mean.

    Examples
    --------
    >>> run = formula_run(Scenario.load("llama3-405b"))
    >>> run.failures.n_events is None, round(run.job_mttf_h, 2)
    (True, 3.05)
    """
    simpler = budget.simplified(scenario).scenario
    return simpler.override({RATE: simpler.failure_rate})


def another_mode(run: Scenario, name: str, share: float, **lost: int) -> dict[str, Any]:
    """Return changes that add a kind of failure with this share of all; the failure rate stays the same."""
    rarer = [
        {**mode.model_dump(), "n_events": None, "share": mode_share * (1 - share)}
        for mode, mode_share in zip(run.failures.modes, run.failures.shares, strict=True)
        if mode.name != name
    ]
    return {"failures.modes": [*rarer, {"name": name, **lost, "share": share}]}


def rack_failures(run: Scenario, rack_nodes: int) -> dict[str, Any]:
    """Return changes that let 2% of failures take out a rack (at most half the job); the rate stays the same."""
    n_nodes = max(1, min(rack_nodes, run.n_nodes // 2))
    return another_mode(run, "Rack", _OF_RACKS, n_out_nodes=n_nodes, n_lost_nodes=n_nodes)
