"""The finishing date is what is simulated: under every rule alone, and under every two together."""

from __future__ import annotations

import pytest
from finishing_rules import FOLLOWED, RUN, distance

from ettr import Scenario, budget

SEEN = 1.95
"""Kolmogorov's distance times the root of the runs, which one comparison in a thousand exceeds; the seed is fixed."""
ALONE, TOGETHER = 1_000_000, 250_000
"""Runs under one rule, and under two."""


@pytest.mark.slow
@pytest.mark.parametrize("names", FOLLOWED, ids=", ".join)
def test_the_finishing_date_is_what_is_simulated(names):
    run = Scenario.parse(RUN).override(FOLLOWED[names])
    finish = budget.finishing(run)
    n_runs = ALONE if len(names) == 1 else TOGETHER
    assert distance(finish, run, n_runs, seed=1) < SEEN
