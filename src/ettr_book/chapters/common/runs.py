"""The run that a chapter speaks of: as closed forms follow it, as much as a page can simulate, and what is added."""

from __future__ import annotations

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
"""Of all runs with one mitigation together."""
_MOST_OF_ONE, _MOST_CHECKPOINTS = 1e5, 1e6
"""Failures and checkpoints of a run whose timeline is looked at."""


_PLANNED = {"status": "derived", "note": "the best one of its plan"}


def loaded(name: str) -> Scenario:
    """A scenario that any model takes: with the interval of its plan where ``best`` has no rule.

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
    """The run with the best interval of its plan; what was measured of it and fitted to that stays.

    Examples
    --------
    >>> run = loaded("llama3-405b")
    >>> round(at_best_interval(run, plan.make(run, simulate=False)).interval_min, 1)
    7.7
    """
    planned_min = whole_interval_min(run, answer.band.interval_min)
    evidence = run.evidence | {INTERVAL: _PLANNED}
    return run.override({INTERVAL: planned_min, "measured": run.measured, "evidence": evidence})


def simplified(given: Scenario) -> budget.Simplified:
    """A run as the closed forms follow it, at its mean rate where they know that, and what they have no term for."""
    plain = budget.without_extras(given)
    try:
        rest = budget.simplified(budget.at_mean_rate(plain.scenario))
    except NotModelled:
        rest = budget.simplified(plain.scenario)  # at the settled rate
    return replace(rest, left_out=(*plain.left_out, *rest.left_out))


def followed(given: Scenario) -> Scenario:
    """A run as the closed forms follow it; its title says what they have no term for.

    Examples
    --------
    >>> followed(Scenario.load("llama3-405b")).title
    'Llama 3 405B on 16,384 H100'
    """
    plain = simplified(given)
    if not plain.left_out:
        return plain.scenario
    title = f"{given.title}, without {listed(list(plain.left_out))}"
    return plain.scenario.override({"title": title[:LONGEST_TEXT]})


def in_hours(run: Scenario) -> Scenario:
    """The run with its work in hours instead of tokens, so that its size may change without another layout."""
    return run.override({"job.productive_h": run.productive_h}) if run.job.tokens else run


def affordable(run: Scenario, n_runs: int) -> int:
    """Runs that a page can simulate with each mitigation, fewer where a run meets very many failures."""
    return affordable_runs(_failures(run), n_runs, _MOST_FAILURES)


def shortened(run: Scenario, part: float) -> Scenario:
    """The run with a part of its work; with all of it from 1 on."""
    return run.override({"job.productive_h": part * run.productive_h}) if part < 1 else run


def of_failures(run: Scenario, most: float) -> Scenario:
    """As much of the run as meets so many failures."""
    return shortened(run, most / max(_failures(run), 1.0))


def for_timeline(run: Scenario) -> Scenario:
    """As much of the run as a timeline can hold, of failures and of checkpoints."""
    every_h = min([run.interval_h, *(tier.interval_s / S_PER_H for tier in run.checkpoint.tiers)])
    return of_failures(shortened(run, _MOST_CHECKPOINTS * every_h / run.productive_h), _MOST_OF_ONE)


def _failures(run: Scenario) -> float:
    """Failures that a run meets, without stops or at its best interval where it is endless, 0 if still."""
    plain = budget.simplified(run).scenario
    without_stops = plain.override({"maintenance": None})
    for one in (plain, without_stops, without_stops.override({INTERVAL: "best"})):
        try:
            return float(budget.exact(one).n_failures)
        except OutsideValidity:
            continue
    return 0.0


_OF_RACKS = 0.02
"""Share of failures that take out a rack (assumed)."""


def formula_run(scenario: Scenario) -> Scenario:
    """The run with nothing but what the closed form has a term for, its failure rate given instead of counted.

    A count would be read as that of new nodes as soon as nodes have a memory; a rate is that of the long run.

    Examples
    --------
    >>> run = formula_run(Scenario.load("llama3-405b"))
    >>> run.failures.n_events is None, round(run.job_mttf_h, 2)
    (True, 3.05)
    """
    plain = budget.simplified(scenario).scenario
    return plain.override({RATE: plain.failure_rate})


def another_mode(run: Scenario, name: str, share: float, **lost: int) -> dict[str, Any]:
    """Changes that give a run one more kind of failure, with this share of all; the rate of failures stays."""
    rarer = [
        {**mode.model_dump(), "n_events": None, "share": own * (1 - share)}
        for mode, own in zip(run.failures.modes, run.failures.shares, strict=True)
        if mode.name != name
    ]
    return {"failures.modes": [*rarer, {"name": name, **lost, "share": share}]}


def rack_failures(run: Scenario, rack_nodes: int) -> dict[str, Any]:
    """Changes that let 2% of a run's failures take out a rack, or half of the job if that is less; the rate stays."""
    n_nodes = max(1, min(rack_nodes, run.n_nodes // 2))
    return another_mode(run, "Rack", _OF_RACKS, n_out_nodes=n_nodes, n_lost_nodes=n_nodes)
