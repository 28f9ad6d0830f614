"""Simulated alone: what helps does not hurt, and what is taken away is missed."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import mitigation, simulate
from ettr.simulation import Simulation

SEED, SURE = 1, 3.0
UNSURE = {
    50: {"ai-administration", "elastic-shrink", "replica-rerouting", "short-timeout"},
    200: set(),
}
"""What takes more runs than these to tell from nothing."""

BOUGHT_WITH_ETTR = {
    "repeat-offender-retirement": "nodes that a repair of hours would bring back are away for a week",
    "checkpoint-interval": "with stalls of 10 s every 5 minutes is too often",
}
"""Mitigations that cost effective training time in this run, with why."""
BOUGHT_WITH_TIME = {
    "repeat-offender-retirement": BOUGHT_WITH_ETTR["repeat-offender-retirement"],
    "checkpoint-interval": BOUGHT_WITH_ETTR["checkpoint-interval"],
    "sdc-checks": "safety: the checks take more than corruptions that are seen within an hour",
    "local-sgd": "it needs more tokens, for links that are slow",
    "power-cap": "energy, and fewer failures: clocks are lower",
    "software-power-floor": "smoothness: the second load takes its share",
}
"""Mitigations with which this run takes longer, with why."""


@pytest.fixture(scope="module", params=[50, pytest.param(200, marks=pytest.mark.slow)])
def base(completed, request) -> Simulation:
    return simulate(completed, request.param, seed=SEED)


def gains(run, base) -> tuple[float, float]:
    """How sure it is that the ETTR is higher, and that the job is shorter: mean differences over their errors."""
    n_runs = len(base.runs)
    simulated = simulate(run, n_runs, seed=SEED)
    higher = simulated.runs["ettr"].to_numpy() - base.runs["ettr"].to_numpy()
    shorter = base.total_h - simulated.total_h
    return tuple(float(gain.mean() / max(gain.std(ddof=1) / np.sqrt(n_runs), 1e-12)) for gain in (higher, shorter))


def test_what_helps_does_not_hurt(completed, applicable, base):
    """Effective throughput is the work over the time that it took: the job is not longer."""
    catalogue = mitigation.catalogue()
    added = [name for name in applicable if not catalogue[name].before]
    gained = {name: gains(mitigation.apply(completed, name), base) for name in added}
    unsure = UNSURE[len(base.runs)]
    assert {name for name, gain in gained.items() if gain[0] < -SURE} == set(BOUGHT_WITH_ETTR) - unsure
    assert {name for name, gain in gained.items() if gain[1] < -SURE} == set(BOUGHT_WITH_TIME) - unsure
    # a floor of power changes no hour, and starts grow with the size only beyond the one where they were observed
    idle = {"gpu-power-floor", "scalable-collectives"}
    assert {name for name, gain in gained.items() if abs(gain[1]) <= SURE} == idle | unsure


def test_what_is_taken_away_is_missed(completed, base):
    for entry in mitigation.catalogue():
        if entry.before:
            assert gains(mitigation.without(completed, entry), base)[1] < -SURE, entry.id


def test_the_completed_run_stays_near_the_published_bound(base):
    """Llama 3 reports that more than 90% of its time was effective; what is assumed costs some of that."""
    assert 0.88 < base.ettr < 0.92
