"""What operators decide about nodes and restarts, against closed forms and Markov chains."""

from __future__ import annotations

import math
import random

import numpy as np
import pandas as pd
import pytest
from mixtures import policies
from scipy import integrate, linalg, stats

import simpy_model
from agreement import FOUR, ROUNDING
from ettr import budget, simulate
from ettr.core.errors import InputError
from ettr.core.report import Note
from ettr.core.results import PARTS

RATE = "failures.rate_per_1000_node_days"
AT_ONCE = {"repair": {"automatic_h": 0}}


def _near(values, expected: float) -> None:
    """The mean of runs is what a formula says, within four standard errors."""
    values = np.asarray(values, dtype=float)
    assert values.mean() == pytest.approx(expected, abs=FOUR * values.std(ddof=1) / values.size**0.5 + 1e-9)


@pytest.fixture
def counting(counting_run):
    """Sixteen nodes that fail twice a day each, in 20 exposed hours that are never lost; nobody waits."""
    return counting_run.override(
        {"cluster.n_gpus": 128, RATE: 2000, "job.productive_h": 20, "spares": {"n_nodes": 1}} | AT_ONCE
    )


@pytest.mark.parametrize("cured", [0.0, 0.5, 1.0])
def test_lemons_that_are_cured_are_a_mixture_of_two_kinds(counting, cured):
    """Each of many nodes is bad with a probability that follows one differential equation."""
    share, factor, hours = 0.25, 10.0, 20.0
    lemons = {"share": share, "factor": factor, "cured_automatic": cured}
    n_nodes = 800
    run = counting.override({"cluster.n_gpus": 8 * n_nodes, RATE: 300, "failures.lemons": lemons})
    base = 0.3 / 24 / (1 + share * (factor - 1))

    def bad(t: float) -> float:
        return share * math.exp(-cured * factor * base * t)

    expected = n_nodes * integrate.quad(lambda t: base * (1 + bad(t) * (factor - 1)), 0, hours)[0]
    runs = simulate(run, 400, seed=5, control_variates=False).runs
    # one spare among 801 nodes, and lemons that go in and out with it
    assert runs["n_failures"].mean() == pytest.approx(
        expected, abs=FOUR * runs["n_failures"].std() / 20 + 0.002 * expected
    )


@pytest.mark.parametrize("n_spares", [5])
def test_spares_taken_at_random_are_exchangeable(counting, n_spares):
    """Lemons of the job are a chain of births and deaths: which spare comes in depends on nothing but their numbers."""
    n_nodes, share, factor, hours = 12, 0.25, 12.0, 400.0
    run = counting.override(
        {
            "cluster.n_gpus": 8 * n_nodes,
            "job.productive_h": hours,
            RATE: 1000,
            "failures.lemons": {"share": share, "factor": factor},
            "spares": {"n_nodes": n_spares, "choose": "random"},
            "repair": {"automatic_h": 1e-6},
        }
    )
    base = 1 / 24 / (1 + share * (factor - 1))
    expected = 0.0
    for more in (0, 1):
        weight = share * n_spares % 1 if more else 1 - share * n_spares % 1
        total = 3 + int(share * n_spares) + more
        states = np.arange(max(0, total - n_spares), total + 1)  # lemons of the job
        waiting = total - states
        # a spare comes in before the node that failed is among them
        out = states * factor * base * (1 - waiting / n_spares)
        into = (n_nodes - states) * base * waiting / n_spares
        chain = np.diag(into[:-1], 1) + np.diag(out[1:], -1)
        chain -= np.diag(chain.sum(axis=1))
        rates = base * (n_nodes + states * (factor - 1))
        steps, now = np.linspace(0, hours, 4001), (states == 3).astype(float)
        step, values = linalg.expm(chain * steps[1]), []
        for _ in steps:
            values.append(now @ rates)
            now = now @ step
        expected += weight * integrate.simpson(values, x=steps)
    runs = simulate(run, 2000, seed=3, control_variates=False).runs
    _near(runs["n_failures"], expected)


def test_over_a_long_horizon_work_is_the_share_of_the_steady_state(small_run):
    """Renewal reward: what is done divided by the time goes to the ETTR, and misses it by a constant over the time."""
    steady = budget.exact(small_run.override({"job.include_start": False})).ettr
    for horizon_h in (500.0, 4000.0):
        simulated = simulate(small_run, 300, seed=2, horizon_h=horizon_h)
        assert simulated.ettr == pytest.approx(steady, abs=FOUR * simulated.ettr_error + 3.0 / horizon_h)
    assert simulated.to_dict()["horizon_h"] == 4000.0
    with pytest.raises(
        InputError, match="finish_h is of runs that go on until their work is done, and these end after"
    ):
        simulated.finish_h(0.5)


HORIZONS = {
    "plain": {},
    "spares and maintenance": {
        "spares": {"n_nodes": 1},
        "repair": {"automatic_h": 6, "cv": 1},
        "maintenance": {"per_day": 4, "duration_min": 90},
        "recovery.person_share": 0.4,
        "recovery.person_min": 60,
    },
    "silent": {"failures.modes": [{"name": "silent", "share": 0.5, "latency_h": 1.5, "latency_cv": 1}]},
}


@pytest.mark.parametrize("horizon_h", [11.0])
@pytest.mark.parametrize("name", HORIZONS)
def test_a_horizon_cuts_as_that_of_the_other_model_does(small_run, name, horizon_h):
    run = small_run.override(HORIZONS[name])
    endless = run.override({"job.productive_h": 2 * horizon_h})
    other = simpy_model.runs(endless, 200, 8, horizon_h)
    runs = simulate(run, 5000, seed=8, horizon_h=horizon_h, control_variates=False).runs
    for quantity in (*PARTS, "n_failures", "n_planned", "waiting_h", "n_waits"):
        values = runs[quantity].to_numpy()
        error = values.std(ddof=1) * (1 / 200 + 1 / 5000) ** 0.5
        assert other[quantity].mean() == pytest.approx(values.mean(), abs=FOUR * error + 1e-6), quantity
    assert runs["total_h"].to_numpy() == pytest.approx(horizon_h, rel=1e-9)


def test_a_fleet_that_shrinks_ends_at_the_last_loss_it_can_bear(counting):
    """Each repair loses the node with a probability: the run ends at loss number s + 1, a negative binomial count."""
    run = counting.override(
        {
            "job.productive_h": 1e4,
            "spares": {"n_nodes": 3},
            "repair": {"automatic_h": 0, "automatic_success": 0.8, "replaced": False},
        }
    )
    simulated = simulate(run, 2000, seed=1, control_variates=False)
    assert simulated.ended.all() and np.isinf(simulated.finish_h(0.5))
    runs = simulated.runs
    _near(runs["n_failures"], 4 / 0.2)
    assert runs["n_failures"].var() == pytest.approx(4 * 0.8 / 0.2**2, rel=0.15)
    notes = [part.text for part in simulated.report() if isinstance(part, Note)]
    assert any(note.startswith("100% of the runs ended early") and "too few nodes" in note for note in notes)


@pytest.mark.parametrize("law", ["exponential", "gamma", "lognormal"])
def test_repair_times_have_the_distribution_that_was_asked_for(counting, law):
    """Without spares each failure waits for its repair: the waits of runs with one failure are repair times."""
    repair = {"manual_h": 5, "distribution": law} | ({} if law == "exponential" else {"cv": 0.7})
    run = counting.override({"job.productive_h": 0.3, "spares": {"n_nodes": 0}, "repair": repair})
    runs = simulate(run, 40_000, seed=8).runs
    waits_h = runs.loc[runs["n_failures"] == 1, "waiting_h"].to_numpy()
    assert waits_h.size > 5000
    sigma = math.sqrt(math.log1p(0.7**2))
    expected = {
        "exponential": stats.expon(scale=5),
        "gamma": stats.gamma(1 / 0.49, scale=5 * 0.49),
        "lognormal": stats.lognorm(sigma, scale=5 * math.exp(-(sigma**2) / 2)),
    }[law]
    assert stats.kstest(waits_h, expected.cdf).pvalue > 1e-3


def test_without_failures_in_restarts_the_form_is_that_of_a_longer_downtime(small_run):
    """A restart in which nothing strikes is dead time: rework and failures are those of no restart at all."""
    run = small_run.override({"recovery.exposed": False, "recovery.restart_min": 60})
    as_dead_time = small_run.override(
        {"recovery.restart_min": 0, "recovery.detection_min": 6, "recovery.queue_min": 64}
    )
    expected, simulated = budget.exact(as_dead_time), simulate(run, 4000, seed=2)
    rows = simulated.budget_interval.set_index("part")
    for part in ("rework", "n_failures", "total"):
        value = expected.n_failures if part == "n_failures" else expected.to_dict()[f"{part}_h"]
        assert rows.loc[part, "mean"] == pytest.approx(value, abs=FOUR * rows.loc[part, "error"]), part


@pytest.mark.parametrize("n_simpy", [60, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", range(4))
def test_policies_together_are_those_of_the_other_model(small_run, number, n_simpy):
    run = small_run.override(policies(random.Random(f"policies {number}").choice))
    other = simpy_model.runs(run, n_simpy, number)
    runs: pd.DataFrame = simulate(run, 5000, seed=number, control_variates=False).runs
    for quantity in (*PARTS, "n_failures", "n_planned", "waiting_h", "n_waits", "n_ended", "total_h"):
        values = runs[quantity].to_numpy()
        error = values.std(ddof=1) * (1 / n_simpy + 1 / 5000) ** 0.5
        assert other[quantity].mean() == pytest.approx(values.mean(), abs=FOUR * error + 1e-6), quantity


# --------------------------------------------------------------------------- silent failures

DEAD = {"recovery.detection_min": 4, "recovery.queue_min": 6}


def silent(latency_h: float) -> dict:
    return {"failures.modes": [{"name": "sdc", "share": 1, "latency_h": latency_h}]}


def test_what_nobody_has_found_at_the_end_is_counted_and_costs_nothing(plain_run):
    """One latency, longer than any run: no failure is ever found, and all that strike are hidden at the end."""
    run = plain_run.override(silent(1e6) | DEAD | {"job.include_start": True, "recovery.restart_min": 0})
    simulated = simulate(run, n_runs=4000, seed=7, control_variates=False)
    runs = simulated.runs
    exposed_h = 40 + 39 * run.stall_h
    assert runs["total_h"].to_numpy() == pytest.approx(exposed_h + run.first_queue_h, rel=ROUNDING)
    assert (runs["n_failures"] == 0).all()
    # a Poisson number, so its variance is its mean; four standard errors of each
    expected = run.job_rate_per_h * exposed_h
    assert runs["n_undetected"].mean() == pytest.approx(expected, abs=FOUR * (expected / 4000) ** 0.5)
    assert runs["n_undetected"].var() == pytest.approx(expected, rel=FOUR * (2 / 4000) ** 0.5)


def test_fewer_checkpoints_kept_mean_more_lost_work(plain_run):
    """A latency of 2.5 h spans two checkpoints or three: two kept are never enough, three sometimes, four always."""
    run = plain_run.override(silent(2.5) | DEAD | {"failures.rate_per_1000_node_days": 1})
    kept_1, kept_2, kept_3, kept_4, kept_all = (
        simulate(run.override({"checkpoint.n_kept": kept}), 500, seed=8).runs["total_h"].to_numpy()
        for kept in (1, 2, 3, 4, None)
    )
    assert (kept_1 == kept_2).all() and (kept_4 == kept_all).all()
    assert kept_2.mean() > kept_3.mean() > kept_4.mean()
    assert (kept_3 >= kept_4 - ROUNDING).all()
