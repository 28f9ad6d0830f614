"""Runs that closed forms follow to the end, and what is added to them that only simulation follows."""

from __future__ import annotations

from typing import Any

from ettr import budget
from ettr.scenario import Scenario
from ettr.scenario.paths import RATE

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


def rack_failures(run: Scenario, rack_nodes: int) -> dict[str, Any]:
    """Changes that let 2% of a run's failures take out a rack, or half of the job if that is less; the rate stays."""
    n_nodes = max(1, min(rack_nodes, run.n_nodes // 2))
    rarer = [
        {**one.model_dump(), "n_events": None, "share": own * (1 - _OF_RACKS)}
        for one, own in zip(run.failures.modes, run.failures.shares, strict=True)
        if one.name != "Rack"
    ]
    rack = {"name": "Rack", "n_out_nodes": n_nodes, "n_lost_nodes": n_nodes, "share": _OF_RACKS}
    return {"failures.modes": [*rarer, rack]}
