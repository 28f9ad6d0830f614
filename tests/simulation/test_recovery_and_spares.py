"""Spares that run out, against exact references."""

from __future__ import annotations

import numpy as np
import pytest

from agreement import FOUR, check_means, per_hour_of_work
from ettr import budget, simulate


def _blocked(n_servers: int, load: float) -> float:
    """Erlang's formula B: share of customers who find all servers busy."""
    blocked = 1.0
    for n in range(1, n_servers + 1):
        blocked = load * blocked / (n + load * blocked)
    return blocked


POOLS = {
    "constant": {"automatic_h": 8},
    "in two stages": {"automatic_h": 2, "automatic_success": 0.25, "manual_h": 8, "cv": 0.5},
    "or a new node": {"automatic_h": 2, "automatic_success": 0.5, "replacement_h": 12},
}


@pytest.mark.parametrize("n_spares", [0, 1, 3])
@pytest.mark.parametrize("law", POOLS)
def test_a_job_waits_as_often_as_erlang_says(plain_run, law, n_spares):
    """Spares are servers, failures customers; the clock of failures stands while the job waits.

    In the long run, whatever the law of the repair: so what lies between the ends of a short and of a long run. It is
    exact without detection and queue, during which nodes are repaired and none fails.
    """
    run = plain_run.override({"spares": {"n_nodes": n_spares}, "repair": POOLS[law]})
    without = budget.exact(plain_run)
    load = 8 * run.job_rate_per_h
    blocked = _blocked(n_spares + 1, load)
    busy_h = without.total_h / without.productive_h
    mean, error = per_hour_of_work(run, 60, 360, 500, seed=2)
    expected = {"total_h": busy_h / (1 - blocked), "waiting_h": busy_h * blocked / (1 - blocked)}
    expected |= {"n_failures": without.n_failures / without.productive_h, "rework_h": without.rework_h / 40}
    check_means(mean, error, expected)
    assert error["total_h"] < 0.01 * mean["total_h"]


@pytest.mark.parametrize("n_out", [0, 1, 3])
def test_each_failure_takes_its_nodes(plain_run, n_out):
    """With repair that outlasts the run, each node that left is one spare less, and the first shortage is the end."""
    n_spares = 6
    run = plain_run.override(
        {
            "job": {"productive_h": 10},
            "failures.modes": [{"name": "rack", "share": 1, "n_out_nodes": n_out}],
            "spares": {"n_nodes": n_spares},
            "repair": {"automatic_h": 1e5},
        }
    )
    runs = simulate(run, 2000, seed=4).runs
    short = runs["n_failures"] * n_out > n_spares
    assert (runs.loc[short, "n_waits"] > 0).all() and (runs.loc[~short, "n_waits"] == 0).all()
    assert short.any() == (n_out > 0)
    assert (runs.loc[short, "waiting_h"] > 9e4).all()


LEMONS = {"failures.lemons": {"share": 0.15, "factor": 5}}


@pytest.mark.parametrize("left", [1, 0.3, 0])
def test_lemons_that_nobody_takes_out_keep_the_rate_of_the_fleet(plain_run, left):
    """Each node strikes at its own rate for ever: together at the mean rate, of which the lemons that left took a part.

    With 15% of the nodes at five times the rate the fleet has 1.6 times that of its normal nodes.
    """
    run = plain_run.override(LEMONS | {"failures.lemons.left": left})
    assert run.job_mttf_h == pytest.approx(plain_run.job_mttf_h * 1.6 / (1 + 0.6 * left))
    simulated = simulate(run, n_runs=2000)
    assert abs(simulated.ettr - budget.exact(run).ettr) < FOUR * simulated.ettr_error


def test_starting_more_gpus_than_were_observed_takes_longer(plain_run):
    """Each start takes 30 s more for 1,000 GPUs beyond the 8,000 observed, by the closed form and by the simulator."""
    run = plain_run.override({"recovery.init_s_per_1000_gpus": 30, "failures.modes": OWN_RESTART})
    four_times = run.override({"cluster.n_gpus": 32_000})
    longer_min = 0.5 * 24
    assert four_times.restart_h == pytest.approx(run.restart_h + longer_min / 60)
    assert four_times.recovery_h == pytest.approx(run.recovery_h + longer_min / 60)
    modes = [{**OWN_RESTART[0], "restart_min": OWN_RESTART[0]["restart_min"] + longer_min}]
    same = four_times.override(
        {
            "failures.observed_nodes": None,
            "recovery.restart_min": plain_run.recovery.restart_min + longer_min,
            "failures.modes": modes,
        }
    )
    assert budget.exact(four_times).total_h == pytest.approx(budget.exact(same).total_h)
    sizes = {"cluster.n_gpus": np.array([8000, 32_000])}
    swept = budget.exact(run, sizes).total_h
    assert swept == pytest.approx([float(budget.exact(scenario).total_h) for scenario in (run, four_times)])
    assert budget.over_time(four_times).total_h == pytest.approx(budget.over_time(same).total_h)
    both = {**sizes, "recovery.init_s_per_1000_gpus": np.array([[0.0], [30.0]])}
    assert budget.exact(run, both).total_h[1] == pytest.approx(budget.exact(run, sizes).total_h)
    table, expected = simulate(four_times, n_runs=20).rows, simulate(same, n_runs=20).rows
    np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-9)


OWN_RESTART = [{"name": "bug", "share": 0.4, "restart_min": 2}]


def test_a_smaller_job_starts_sooner_but_never_in_less_than_no_time(plain_run):
    run = plain_run.override({"recovery.init_s_per_1000_gpus": 60, "failures.modes": OWN_RESTART})
    half = run.override({"cluster.n_gpus": 4000})
    assert half.restart_h == pytest.approx(run.restart_h - 4 / 60)
    assert half.recovery_h == pytest.approx(run.recovery_h - (0.6 * 4 + 0.4 * 2) / 60)  # the bug's 2 min are used up
    swept = budget.exact(run, {"cluster.n_gpus": np.array([4000.0])})
    assert swept.total_h[0] == pytest.approx(budget.exact(half).total_h)
