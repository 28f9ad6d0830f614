"""Means, intervals and finishing dates from many runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from agreement import FOUR, ROUNDING
from ettr import budget, simulate
from ettr.core.errors import InputError
from ettr.core.results import PARTS
from ettr.simulation.columns import CONTROL, CONTROLS, OUTCOME
from ettr.simulation.estimates import interval, means
from ettr.simulation.outcome import PERCENTILES

SPARES = {"spares": {"n_nodes": 2}, "repair": {"automatic_h": 8, "cv": 1}}
MODES = {"failures.modes": [{"name": "hang", "share": 0.4, "detection_min": 40, "restart_min": 25}]}
RANDOM = {"recovery.person_share": 0.3, "recovery.person_min": 30}
SCENARIOS = {
    "core": {},
    "random times": RANDOM | MODES,
    "spares": SPARES,
    "nodes": {"failures.lifetime": {"shape": 0.6}} | RANDOM,
    "every rule": SPARES
    | MODES
    | {"maintenance": {"per_day": 3, "duration_min": 40}, "failures.burn_in": {"factor": 3, "decay_days": 1}},
}


@pytest.mark.parametrize("n_runs", [4000, pytest.param(40_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SCENARIOS)
def test_controls_have_the_mean_that_they_are_said_to_have(small_run, name, n_runs):
    simulated = simulate(small_run.override(SCENARIOS[name]), n_runs, seed=1)
    controls = simulated.rows[:, CONTROL:OUTCOME]
    assert controls.shape[1] == len(CONTROLS)
    error = controls.std(axis=0, ddof=1) / n_runs**0.5
    assert (np.abs(controls.mean(axis=0)) <= FOUR * error + 1e-9).all()
    assert (error > 1e-6).any()


@pytest.mark.parametrize("n_runs", [4000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SCENARIOS)
def test_control_variates_sharpen_the_means_and_leave_them_where_they_are(small_run, name, n_runs):
    run = small_run.override(SCENARIOS[name])
    plain, sharper = (simulate(run, n_runs, seed=2, control_variates=each) for each in (False, True))
    assert plain.variance_ratio == 1
    assert sharper.variance_ratio > (1.05 if name == "nodes" else 1.5)
    rows, others = (each.budget_interval.set_index("part") for each in (plain, sharper))
    assert sharper.variance_ratio == pytest.approx((rows["error"] / others["error"])["total"] ** 2, rel=1e-9)
    # the two means differ by what the controls explain, of which four explain a part in 4,000 by chance
    explained = np.sqrt(np.maximum(rows["error"] ** 2 - others["error"] ** 2, 0) + rows["error"] ** 2 / 4000)
    assert (abs(rows["mean"] - others["mean"]) <= FOUR * explained + 1e-9).all()
    assert (others["error"] <= 1.001 * rows["error"] + 1e-12).all()
    assert others["mean"].drop(["n_failures", "total"]).sum() == pytest.approx(others["mean"]["total"], rel=1e-12)


def test_means_with_controls_are_those_of_a_regression():
    """The mean is the intercept; what is left over has a degree of freedom less for it and for each control."""
    rng = np.random.default_rng(1)
    controls = rng.uniform(-1, 1, size=(200, 2))
    values = 10 + controls @ [[1.0, 2.0], [0.5, 0.1]] + rng.uniform(-1, 1, size=(200, 2))
    estimated = means(values, controls)
    slopes, squares, *_ = np.linalg.lstsq(np.column_stack([np.ones(200), controls]), values)
    assert estimated.mean == pytest.approx(slopes[0], rel=1e-12)
    assert estimated.freedom.tolist() == [197, 197]
    assert estimated.error**2 == pytest.approx(squares / 197 / 200, rel=1e-9)


COVERED = {
    "plain, few": ("core", 50, False),
    "controls, few": ("core", 130, True),
    "controls": ("random times", 300, True),
}


@pytest.mark.parametrize("n_experiments", [200, pytest.param(800, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", COVERED)
def test_intervals_cover_the_truth_as_often_as_they_say(small_run, name, n_experiments):
    """Of all experiments 95% should."""
    scenario, n_runs, control_variates = COVERED[name]
    run = small_run.override(SCENARIOS[scenario])
    expected = budget.exact(run)
    everything = simulate(run, n_experiments * n_runs, seed=3, control_variates=control_variates)
    covered = {"total": 0, "rework": 0, "ettr": 0}
    totals = []
    for number in range(n_experiments):
        table = everything.rows[number * n_runs : (number + 1) * n_runs]
        experiment = type(everything)(run, 3, table, pd.DataFrame(), control_variates)
        rows = experiment.budget_interval.set_index("part")
        for part in ("total", "rework"):
            covered[part] += rows["low"][part] <= getattr(expected, f"{part}_h") <= rows["high"][part]
        low, high = experiment.ettr_interval
        covered["ettr"] += low <= expected.ettr <= high
        totals.append((experiment.budget.total_h, experiment.relative_error * experiment.budget.total_h))
    for quantity, n in covered.items():
        error = (0.95 * 0.05 / n_experiments) ** 0.5
        assert n / n_experiments == pytest.approx(0.95, abs=3 * error), quantity
    mean, error = np.array(totals).T
    assert mean.mean() == pytest.approx(expected.total_h, abs=FOUR * mean.std(ddof=1) / n_experiments**0.5)
    # the errors are those by which the experiments differ; a spread of n is known to sqrt(1 / 2n)
    assert np.sqrt((error**2).mean()) == pytest.approx(mean.std(ddof=1), rel=FOUR * (1 / 2 / n_experiments) ** 0.5)


def test_few_runs_that_differ_are_few_degrees_of_freedom():
    """Three runs of 1,000 that met something: two for each of them, by the kurtosis of such a column."""
    values = np.zeros((1000, 1))
    values[:3] = 1.0
    estimated = means(values, None)
    assert estimated.freedom == pytest.approx([6.0], rel=0.02)
    low, high = interval(estimated.mean, estimated.error, estimated.freedom)
    assert low[0] < 0.001 and high[0] > 0.006


@pytest.mark.parametrize(("expected_failures", "n_runs"), [(0.3, 200), (0.01, 1000)])
def test_intervals_hold_where_failures_are_rare(small_run, expected_failures, n_runs):
    """Also of restarts, which controls explain but for failures in a restart, and those no run may have met."""
    run = small_run.override({"failures.rate_per_1000_node_days": 50 * expected_failures})
    expected = budget.exact(run).to_dict()
    parts = {part: f"{part}_h" for part in ("rework", "detection", "queue", "restart", "total")}
    held, n_experiments = dict.fromkeys([*parts, "n_failures"], 0), 200
    for seed in range(n_experiments):
        rows = simulate(run, n_runs, seed).budget_interval.set_index("part")
        for part in held:
            low, high = rows.loc[part, ["low", "high"]]
            held[part] += low - ROUNDING <= expected[parts.get(part, part)] <= high + ROUNDING
    # of 200 experiments with 95% each, fewer than 179 hold by chance once in 10,000
    assert min(held.values()) >= 179, held


@pytest.mark.parametrize("until", [0.03, 0.01, 0.004])
@pytest.mark.parametrize("control_variates", [False, True])
def test_runs_are_added_until_the_error_is_small_enough(small_run, until, control_variates):
    simulated = simulate(small_run, n_runs=20, seed=4, until=until, control_variates=control_variates)
    assert simulated.relative_error <= until
    # what was asked for and not much more: batches grow by what the last one leaves to do
    assert simulated.n_runs <= max(200, 3 * (simulate(small_run, 5000, seed=5).runs["total_h"].std() / 40 / until) ** 2)
    assert simulate(small_run, n_runs=700, seed=4, until=0.5).n_runs == 700


def test_nothing_varies_without_failures(plain_run):
    run = plain_run.override({"failures.rate_per_1000_node_days": 0})
    simulated = simulate(run, n_runs=30, until=1e-9)
    assert simulated.n_runs <= 200 and simulated.variance_ratio == 1
    assert (simulated.relative_error, simulated.ettr_error) == pytest.approx((0, 0), abs=1e-12)
    assert (*simulated.ettr_interval, simulated.ettr) == pytest.approx([budget.exact(run).ettr] * 3, rel=1e-12)
    assert simulated.finish_h(0.01) == pytest.approx(simulated.finish_h(0.99), rel=1e-12)


def test_finishing_dates_are_quantiles_of_the_runs(small_run):
    simulated = simulate(small_run, n_runs=501, seed=6)
    totals = np.sort(simulated.runs["total_h"].to_numpy())
    assert simulated.finish_h() == totals[250]
    assert simulated.finish_h(0) == totals[0] and simulated.finish_h(1) == totals[-1]
    several = simulated.finish_h(np.array([[0, 0.2], [0.5, 1]]))
    assert several.shape == (2, 2) and several.tolist() == [[totals[0], totals[100]], [totals[250], totals[500]]]
    for bad, words in ((50, "from 0 to 1, got 50"), ([0.5, 1.01], "got 1.01"), (-0.1, ">= 0"), ("half", "a number")):
        with pytest.raises(InputError, match=f"p, a share of runs, must be .*{words}"):
            simulated.finish_h(bad)
    quantiles = simulated.to_dict()["finish_h"]
    assert list(quantiles) == [str(percentile) for percentile in PERCENTILES]
    assert list(quantiles.values()) == sorted(quantiles.values())


def test_the_error_of_a_finishing_date_is_what_other_seeds_differ_by(small_run):
    each = [simulate(small_run, n_runs=300, seed=seed) for seed in range(100)]
    for p in (0.5, 0.9):
        differ_h = np.std([simulated.finish_h(p) for simulated in each])
        assert np.mean([simulated.finish_error_h(p) for simulated in each]) == pytest.approx(differ_h, rel=0.3)
    record = each[0].to_dict()
    assert list(record["finish_error_h"]) == list(record["finish_h"]) and record["finish_error_h"]["50"] > 0
    assert "standard error, hours" in str(each[0].report())
    alone = simulate(small_run, n_runs=1)
    assert np.isnan(alone.finish_error_h()) and alone.to_dict()["finish_error_h"]["50"] is None
    assert "standard error" not in str(alone.report())


def test_the_ettr_is_the_ratio_of_sums_and_not_the_mean_of_ratios(plain_run):
    run = plain_run.override({"cluster.n_gpus": 40_000, "job.productive_h": 5})
    simulated = simulate(run, n_runs=20_000, seed=8, control_variates=False)
    runs = simulated.runs
    assert simulated.ettr == pytest.approx(runs["productive_h"].sum() / runs["total_h"].sum(), rel=1e-12)
    truth = budget.exact(run).ettr
    assert simulated.ettr == pytest.approx(truth, abs=FOUR * simulated.ettr_error)
    assert runs["ettr"].mean() > truth + 10 * simulated.ettr_error
    # the delta method against the scatter of batches
    batches = runs[["productive_h", "total_h"]].to_numpy().reshape(200, 100, 2).sum(axis=1)
    ratios = batches[:, 0] / batches[:, 1]
    assert simulated.ettr_error == pytest.approx(ratios.std(ddof=1) / 200**0.5, rel=FOUR * (1 / 400) ** 0.5)


def test_the_whole_answer_as_plain_numbers(small_run):
    simulated = simulate(small_run.override(SPARES), n_runs=300, seed=10)
    record = simulated.to_dict()
    assert record["n_runs"] == 300 and record["seed"] == 10 and record["scenario"] == "small"
    assert record["ettr_low"] < record["ettr"] < record["ettr_high"]
    assert sum(record["budget"][part] for part in PARTS) == pytest.approx(record["budget"]["total_h"], rel=1e-12)
    assert record["waiting_h"] == pytest.approx(simulated.runs["waiting_h"].mean())
    assert list(record["errors"]) == [*PARTS, "n_failures", "total_h"]
    assert simulated.budget_interval["part"].tolist() == [name.removesuffix("_h") for name in record["errors"]]
    assert len(simulated.runs) == 300 and list(simulated.runs["run"]) == list(range(300))


def test_intervals_stay_where_hours_and_ratios_can_be(small_run):
    """A few runs that differ widely would put the ends of Student's interval beyond."""
    run = small_run.override(
        {"job.productive_h": 3, "recovery.restart_min": 60, "maintenance": {"per_day": 0.3, "duration_min": 60}}
    )
    simulated = simulate(run, n_runs=3, seed=2)
    assert (simulated.budget_interval["low"] >= 0).all() and (simulated.budget_interval["low"] == 0).any()
    low, high = simulated.ettr_interval
    assert 0 <= low < simulated.ettr < high <= 1


@pytest.mark.parametrize("rate", [1e-4, pytest.param(1e-30, marks=pytest.mark.slow)])
def test_failures_that_are_rare_are_waited_for(small_run, rate):
    """In 200 runs none is met, and their spread of nothing would end the search at once."""
    run = small_run.override({"failures.rate_per_1000_node_days": rate, "cluster.n_gpus": 8, "job.productive_h": 240})
    simulated = simulate(run, until=0.001, n_runs=20)
    assert simulated.n_runs > 50_000
    assert simulated.met_nothing == (rate < 1e-9) == np.isnan(simulated.relative_error)
