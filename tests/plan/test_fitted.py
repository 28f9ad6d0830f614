"""From a log to a plan: the scenario carries what was fitted, and the plan says how far it can be trusted."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, budget, failures, logs, plan
from ettr.core.errors import InputError
from simulated_logs import simulate_log

BEGIN = pd.Timestamp("2025-01-01T00:00:00Z")


@cache
def fitted(days: float = 350.0, **drawn: float) -> failures.Fit:
    table = simulate_log(21, days=days, **drawn)
    frame = pd.DataFrame(
        {
            "start": BEGIN + pd.to_timedelta(table["start_h"], unit="h"),
            "node": table["node"].astype(str),
            "component": table["component"],
        }
    )
    return failures.fit(logs.from_frame(frame, 400, (BEGIN, BEGIN + pd.Timedelta(days=days)), source="drawn.csv"))


@cache
def planned(**drawn: float) -> plan.FittedPlan:
    return plan.from_fit(fitted(**drawn))


def of_starts(start_h: list[float], days: float = 100.0, components: list[str] | None = None) -> failures.Fit:
    frame = pd.DataFrame({"start": BEGIN + pd.to_timedelta(np.array(start_h, dtype=float), unit="h")})
    if components is not None:
        frame["component"] = components
    return failures.fit(logs.from_frame(frame, 400, (BEGIN, BEGIN + pd.Timedelta(days=days))))


def test_a_fit_assumes_the_recovery_that_a_plan_of_the_same_cluster_assumes():
    answer = plan.from_fit(fitted()).plan
    size, rate = answer.scenario.cluster.n_gpus, answer.scenario.failure_rate
    typed = plan.make(Scenario.of({"cluster": {"n_gpus": size}, "failures": {"rate_per_1000_node_days": rate}}))
    assert answer.scenario.recovery == typed.scenario.recovery
    assert answer.band.interval_min == pytest.approx(typed.band.interval_min, rel=1e-9)
    assumed = {entry.field for entry in answer.assumptions.inputs}
    assert {"recovery.restart_min", "recovery.detection_min", "checkpoint.stall_s"} <= assumed


def test_the_scenario_has_the_rate_and_what_is_known_of_it():
    fit = fitted()
    run = plan.scenario_of(fit)
    assert run.failure_rate == pytest.approx(fit.rate.per_1000_node_days)
    assert (run.failures.posterior.shape, run.failures.posterior.node_days) == (
        fit.knowledge.shape,
        fit.knowledge.node_days,
    )
    assert run.n_nodes == 400 and run.cluster.n_gpus == 3200
    shares = dict(zip(run.mode_names, run.failures.shares, strict=False))
    for row in fit.components.itertuples():
        assert shares[row.group] == pytest.approx(row.share)


def test_the_interval_is_that_of_a_hand_made_scenario():
    """A second road: the same rate written into the preset that gave the rest."""
    fit = fitted()
    answer = plan.from_fit(fit, n_gpus=1600, like="rsc-1").plan
    by_hand = Scenario.load("rsc-1").override(
        {
            "cluster.n_gpus": 1600,
            "failures.rate_per_1000_node_days": fit.rate.per_1000_node_days,
            "maintenance": None,
            "job.productive_h": plan.PRODUCTIVE_H,
        }
    )
    assert answer.band.interval_min == pytest.approx(budget.best_interval_min(by_hand), rel=1e-9)
    assert answer.job_mttf_h == pytest.approx(24_000 / fit.rate.per_1000_node_days / 200)


def test_a_fitted_scenario_is_read_back(tmp_path):
    path = tmp_path / "mine.yml"
    answer = planned()
    path.write_text(answer.scenario.to_yaml(), encoding="utf-8")
    assert Scenario.load(path) == answer.scenario
    assert plan.make(Scenario.load(path)).band == answer.plan.band


def test_a_plan_from_the_past_is_judged_by_what_followed():
    answer = planned()
    splits, fit = answer.splits, answer.fit
    assert len(splits) == 10 and splits["until_d"].iloc[0] == pytest.approx(350 / 3)
    split = splits.iloc[4]
    past = np.count_nonzero(fit.start_h / 24 < split["until_d"])
    assert split["past_rate"] == pytest.approx(1000 * past / (400 * split["until_d"]))
    steady = answer.scenario.override({"job.include_start": False})

    def ettr(rate: float, interval_min: float) -> float:
        changes = {"failures.rate_per_1000_node_days": rate, "checkpoint.interval_min": interval_min}
        return budget.exact(steady.override(changes)).ettr

    best = budget.best_interval_min(steady.override({"failures.rate_per_1000_node_days": split["next_rate"]}))
    assert split["ettr"] == pytest.approx(ettr(split["next_rate"], split["interval_min"]))
    assert split["interval_loss"] == pytest.approx(ettr(split["next_rate"], best) - split["ettr"])
    assert split["level_error"] == pytest.approx(ettr(split["past_rate"], split["interval_min"]) - split["ettr"])
    assert (splits["interval_loss"] >= -1e-9).all()


def test_the_interval_is_robust_and_the_level_is_not():
    answer = planned(burst_mean=3.0, shape=0.6)
    assert answer.splits["interval_loss"].max() < 0.25 * answer.splits["level_error"].abs().max()
    assert answer.ettr_low < answer.plan.budget.ettr < answer.ettr_high


def test_merging_moves_the_interval_less_than_the_rate():
    """The best interval goes with the root of the rate."""
    table = planned(burst_mean=3.0, shape=0.6).by_rule
    assert table["rate"].iloc[0] > 1.5 * table["rate"].iloc[-1]
    longer = table["interval_min"].iloc[-1] / table["interval_min"].iloc[0]
    assert longer == pytest.approx(np.sqrt(table["rate"].iloc[0] / table["rate"].iloc[-1]), rel=0.02)
    assert table["loss"].iloc[0] == pytest.approx(0, abs=1e-9) and (table["loss"] >= -1e-9).all()
    assert table["inside_band"].all() == (table["loss"] <= budget.BAND_POINTS).all()


def test_without_failures_the_rate_is_that_of_the_posterior():
    answer = plan.from_fit(of_starts([]))
    assert answer.scenario.failure_rate == pytest.approx(1000 * 0.5 / 40_000)
    assert answer.splits.empty and 0.9 < answer.ettr_low <= answer.ettr_high <= 1


@pytest.mark.parametrize("n", [1, 12])
def test_a_short_log_has_a_plan(n):
    rng = np.random.default_rng(n)
    answer = plan.from_fit(of_starts(sorted(rng.uniform(0, 2400, n))))
    assert 0 < answer.ettr_low <= answer.plan.budget.ettr <= answer.ettr_high <= 1
    json.dumps(answer.to_dict(), allow_nan=False)


def test_names_of_components_become_names_of_modes():
    names = ["GPU [0x79] <b>", "GPU [0x79] <b>", "other", "{x: 1}", "Über-Fehler", "Netz\twerk"]
    run = plan.scenario_of(of_starts([1, 2, 3, 4, 5, 6], components=names))
    assert run.mode_names[:-1] == ("GPU 0x79 b", "Netz werk", "x: 1", "ber-Fehler")
    assert sum(run.failures.shares) == pytest.approx(5 / 6)
    assert Scenario.parse(run.to_yaml()) == run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gpus_per_node": 0}, "gpus_per_node must be >= 1, got 0"),
        ({"n_gpus": 0}, "n_gpus must be >= 1, got 0"),
        ({"like": "rsc1"}, "did you mean 'rsc-1'"),
    ],
)
def test_what_cannot_be_planned(arguments, message):
    with pytest.raises(InputError) as caught:
        plan.from_fit(of_starts([1.0, 50.0]), **arguments)
    assert message in str(caught.value)
