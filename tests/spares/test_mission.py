"""Never short in a mission: a chain of births and deaths, beside matrices, binomials and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import linalg, stats

from ettr import Scenario, spares
from ettr.core.errors import InputError


@pytest.mark.parametrize(("n_spares", "n_crew"), [(0, math.inf), (1, 1), (6, 2), (20, math.inf)])
def test_the_chain_is_that_of_a_full_matrix_exponential(n_spares, n_crew):
    births, repair_h, mission_h = 0.3, 20.0, 500.0
    chain = np.zeros((n_spares + 2, n_spares + 2))
    for k in range(n_spares + 1):
        chain[k, k + 1] += births
        chain[k, k] -= births
        if k:
            chain[k, k - 1] += min(k, n_crew) / repair_h
            chain[k, k] -= min(k, n_crew) / repair_h
    never_short = 1 - linalg.expm(chain * mission_h)[0, -1]
    assert spares.mission_level(n_spares, births, repair_h, mission_h, n_crew) == pytest.approx(never_short, abs=1e-10)


def test_what_is_known_at_the_ends():
    assert spares.mission_level(0, 0.01, 24.0, 100.0) == pytest.approx(math.exp(-1.0), rel=1e-9)
    assert spares.mission_level(5, 0.0, 24.0, 100.0) == 1.0
    assert spares.mission_level(3, 0.01, math.inf, 100.0) == pytest.approx(stats.poisson.cdf(3, 1.0))
    # few of many nodes, none repaired: a binomial number of them fails
    many = stats.binom.cdf(3, 100_000, 1e-5)
    assert spares.mission_level(3, 0.01, 1e9, 100.0) == pytest.approx(many, rel=1e-4)
    quick = spares.mission_level(3, 0.01, [1e-6, 1.0, 24.0, 1e3, 1e6], 100.0)
    assert (np.diff(quick) < 0).all() and quick[0] == pytest.approx(1.0)
    assert spares.mission_level([1, 3, 9], 0.3, 24.0, 100.0).shape == (3,)


def test_a_mission_asks_for_more_than_a_moment():
    busy = 0.3 * 24
    of_a_moment = spares.poisson_pool(busy, 0.99)
    pool = spares.mission_pool(0.3, 24.0, 28 * 24, 0.99)
    assert pool > of_a_moment
    assert spares.mission_level(pool, 0.3, 24.0, 28 * 24) >= 0.99 > spares.mission_level(pool - 1, 0.3, 24.0, 28 * 24)


@pytest.mark.parametrize("crew", [None, 9])
def test_simulated_missions_are_those_of_the_closed_form(plain_run, crew):
    """With exponential repairs; at D > 0 nodes leave a little later than the failure strikes, and no more than that."""
    run = plain_run.override(
        {
            "spares": {"n_nodes": 0},
            "repair": {"manual_h": 20, "distribution": "exponential", "n_crew": crew},
            "checkpoint.stall_s": 0,
            "job.include_start": True,
            "job.first_queue_min": 0,
        }
    )
    table = spares.by_mission(run, [8, 10, 12, 14], 300.0, n_runs=1000, seed=2)
    error = np.sqrt(table["form"] * (1 - table["form"]) / 1000)
    assert (abs(table["level"] - table["form"]) < 4 * error + 0.01).all(), table
    assert (table["low"] <= table["level"]).all() and (table["level"] <= table["high"]).all()
    assert table["level"].is_monotonic_increasing and table["form"].between(0.02, 0.999).any()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((3, -0.1, 24.0, 100.0), "leaves_per_h must be >= 0 1/h"),
        ((3, 0.1, 0.0, 100.0), "repair_h must be > 0 h, got 0"),
        ((3, 0.1, 24.0, 0.0), "mission_h must be > 0 h"),
        ((3.5, 0.1, 24.0, 10.0), "n_spares must be a whole number"),
        ((3, 0.1, 24.0, 10.0, 0), "n_crew must be >= 1, got 0"),
    ],
)
def test_numbers_that_cannot_be_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        spares.mission_level(*given)


def test_a_mission_that_ends_before_it_begins_is_refused():
    run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    with pytest.raises(InputError, match=r"horizon_h must be > 0.083\d* h, the first queue and restart, got 0.01"):
        spares.by_mission(run, [4], 0.01, n_runs=10)
