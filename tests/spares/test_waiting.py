"""The share of the time that a job waits, against a recursion, the states of a chain and a simulated job."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import Scenario, simulate, spares


def chances(offered: float, n_servers: int, most: int) -> np.ndarray:
    """Stationary chances of a birth-death chain with up to ``most`` in it, from its own equations."""
    rates = np.zeros((most + 1, most + 1))
    for k in range(most):
        rates[k, k + 1] = offered
        rates[k + 1, k] = min(k + 1, n_servers)
    rates -= np.diag(rates.sum(axis=1))
    system = np.vstack([rates.T, np.ones(most + 1)])
    return np.linalg.lstsq(system, np.append(np.zeros(most + 1), 1.0), rcond=None)[0]


def recursion(n_servers: int, offered: float) -> float:
    """1/B by the recursion in n, which is stable."""
    inverse = 1.0
    for k in range(1, n_servers + 1):
        inverse = 1 + inverse * k / offered
    return 1 / inverse


@pytest.mark.parametrize("offered", [1e-3, 7.76, 2500.0, 1e6])
@pytest.mark.parametrize("n_servers", [0, 1, 18, 3000])
def test_erlang_b_follows_its_recursion_from_far_below_the_load_to_far_above(n_servers, offered):
    # the recursion underflows together with the answer, to 0
    assert spares.erlang_b(n_servers, offered) == pytest.approx(recursion(n_servers, offered), rel=2e-9, abs=1e-300)


@settings(max_examples=40)
@given(st.integers(0, 400), st.floats(1e-3, 1e4))
def test_more_servers_turn_fewer_away(n_servers, offered):
    first, second = spares.erlang_b([n_servers, n_servers + 1], offered)
    assert 0 <= second <= first <= 1
    assert second < first or first == 0


def test_a_load_of_nothing_is_never_turned_away_unless_there_is_no_server():
    assert spares.erlang_b([0, 1, 50], 0.0).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(("n_crew", "in_repair"), [(3, 2.5), (4, 9.0), (2, 2.0)])
def test_a_job_that_waits_for_crews_has_the_chances_of_its_chain(n_crew, in_repair):
    """Also where crews cannot keep up: the job then runs as fast as they do."""
    for n_spares in (0, 1, 5, 30):
        full = chances(in_repair, n_crew, n_spares + 1)[-1]
        assert spares.waiting_share(n_spares, in_repair, n_crew) == pytest.approx(full, rel=1e-7, abs=1e-12)


def test_the_limits_of_few_and_of_many_crews():
    for n_spares in (0, 20):
        assert spares.waiting_share(n_spares, 7.76, 21) == pytest.approx(spares.waiting_share(n_spares, 7.76))
    assert spares.waiting_share(10_000, 8.0, 4) == pytest.approx(1 - 4 / 8)  # crews that cannot keep up


@pytest.mark.parametrize(
    ("cv", "n_spares"),
    [
        (0.0, 0),
        (1.0, 2),
        *(pytest.param(cv, n, marks=pytest.mark.slow) for cv, n in ((0.0, 2), (0.0, 5), (1.0, 0), (1.0, 5))),
    ],
)
def test_without_detection_and_queue_a_simulated_job_waits_that_long(cv, n_spares):
    """D = q = 0 and no maintenance: there the closed form is exact in the long run, whatever a repair takes."""
    run = long_run(cv).override({"spares.n_nodes": n_spares})
    simulated = simulate(run, 40, 3)
    share = simulated.runs["waiting_h"] / simulated.total_h
    error = share.std(ddof=1) / np.sqrt(len(share))
    # a full pool at the start saves at most one repair time of waiting in all
    start = 24.0 / simulated.total_h.mean()
    expected = spares.waiting_share(n_spares, run.job_rate_per_h * 24)
    assert share.mean() == pytest.approx(expected, abs=4 * error + start)


def test_a_crew_of_a_simulated_job_makes_it_wait_that_long():
    """Exponential repairs would be exact; log-normal ones of the same spread are near."""
    run = long_run(1.0).override({"spares.n_nodes": 5, "repair.n_crew": 4})
    simulated = simulate(run, 40, 3)
    share = float((simulated.runs["waiting_h"] / simulated.total_h).mean())
    assert share == pytest.approx(spares.waiting_share(5, run.job_rate_per_h * 24, 4), rel=0.08)


def long_run(cv: float) -> Scenario:
    return Scenario.of(
        {
            "name": "long",
            "title": "A long run",
            "cluster": {"n_gpus": 4096},
            "job": {"productive_h": 8000, "include_start": False},
            "failures": {"rate_per_1000_node_days": 6.0},
            "checkpoint": {"interval_min": 10, "stall_s": 0},
            "recovery": {"detection_min": 0, "restart_min": 0},
            "spares": {"n_nodes": 0},
            "repair": {"manual_h": 24, "cv": cv},
        }
    )
