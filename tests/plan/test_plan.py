"""The plan against a search over the closed form, and what it says of runs at the edges."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from ettr import Scenario, budget, evidence, plan
from ettr.budget.intervals import longest_h
from ettr.core.errors import OutsideValidity
from ettr.core.validity import ValidityWarning
from ettr.scenario.job_in_hours import SHORTEST_MIN
from ettr.scenario.to_hours import before_interval
from mechanisms import DISK, PEER, WARNED
from written_scenarios import zero_or_up_to

PRESETS = ["llama3-405b", "rsc-2", *(pytest.param(name, marks=pytest.mark.slow) for name in evidence.scenario_names())]


def steady(scenario: Scenario) -> Scenario:
    return scenario.override({"job.include_start": False, "maintenance": None})


def cost_at(scenario: Scenario, minutes: np.ndarray) -> np.ndarray:
    return np.asarray(1 / budget.exact(steady(scenario), {"checkpoint.interval_min": minutes}).ettr)


def longest_min_of(scenario: Scenario) -> float:
    return 60 * float(longest_h(before_interval(scenario)))


def loss_at(scenario: Scenario, minutes: float, best_min: float) -> float:
    best, other = 1 / cost_at(scenario, np.array([best_min, minutes]))
    return float(best - other)


@pytest.mark.parametrize("name", PRESETS)
def test_the_ends_of_the_band_lose_half_a_point_and_its_inside_less(name):
    scenario = budget.simplified(Scenario.load(name)).scenario
    band = budget.flat_band(scenario)
    assert band.low_min < band.interval_min < band.high_min and not band.ends_job
    for end, other in ((band.low_min, 0.99), (band.high_min, 1.01)):
        loss = loss_at(scenario, end, band.interval_min)
        if end > max(SHORTEST_MIN, scenario.checkpoint.persist_s / 60) * 1.001:
            assert loss == pytest.approx(0.005, abs=2e-5)
            assert loss_at(scenario, end * other, band.interval_min) > 0.005
        assert loss_at(scenario, end / other, band.interval_min) < 0.005


def test_bands_at_many_points_are_those_of_each(llama3):
    rates = [0.5, 5, 50]
    bands = budget.flat_band(llama3, at={"failures.rate_per_1000_node_days": rates})
    each = [budget.flat_band(llama3.override({"failures.rate_per_1000_node_days": rate})) for rate in rates]
    for name in ("interval_min", "low_min", "high_min", "ends_job"):
        assert getattr(bands, name) == pytest.approx([getattr(band, name) for band in each], rel=1e-9)
    with pytest.raises(OutsideValidity, match="practically end"):
        budget.flat_band(llama3, at={"recovery.restart_min": [5, 1e7]})


@pytest.mark.parametrize("name", PRESETS)
def test_a_plan_is_the_budget_at_both_intervals_and_no_other_interval_has_a_higher_ettr(name):
    scenario = budget.simplified(Scenario.load(name)).scenario
    answer = plan.make(scenario)
    best_min = answer.band.interval_min
    assert answer.scenario == scenario and best_min == budget.best_interval_min(scenario)
    assert answer.best == scenario.override({"checkpoint.interval_min": best_min})
    assert answer.budget == budget.exact(answer.best)
    assert answer.budget_at_current == budget.exact(scenario)
    assert answer.budget.ettr >= answer.budget_at_current.ettr
    assert answer.failures_per_day * answer.job_mttf_h < 24  # fewer than if failures struck at all times
    grid = best_min * np.geomspace(0.2, 5, 2001)
    grid = grid[grid >= scenario.checkpoint.persist_s / 60]
    # the grid's step is 0.16%
    assert grid[cost_at(scenario, grid).argmin()] == pytest.approx(best_min, rel=2e-3)


def test_what_is_known_of_the_rate_is_known_of_the_time_to_failure(llama3):
    """Gamma with shape 419.5: relative ends 0.906 and 1.099, so 3.05 h becomes 2.77 to 3.36 h."""
    assert plan.mttf_interval_h(llama3) == pytest.approx((2.774, 3.360), abs=2e-3)
    assert plan.mttf_interval_h(Scenario.load("rsc-1")) is None


def test_what_is_hardly_known_has_no_upper_end():
    vague = Scenario.load("rsc-1").override({"failures.rate_gamma": {"shape": 0.001, "node_days": 1}})
    low, high = plan.mttf_interval_h(vague)
    assert low > 0 and math.isinf(high)
    record = plan.make(vague).to_dict()
    assert record["job_mttf_95_h"] == [low, None] and record["bands"][0]["high_50"] is None


# --------------------------------------------------------------------------- the edges


def test_without_failures_one_checkpoint_at_the_end_is_best(plain_run):
    answer = plan.make(plain_run.override({"failures.rate_per_1000_node_days": 0, "job.include_start": True}))
    assert answer.band.ends_job
    assert answer.band.interval_min == answer.band.high_min == 40 * 60
    assert answer.failures_per_day == 0 and math.isinf(answer.job_mttf_h) and answer.job_mttf_95_h is None
    assert answer.budget.checkpoint_h == 0
    # a stall of 5 min costs half a point each 16.6 h: w/(τ + w) - w/(40 h + w) = 0.005
    low_h = answer.band.low_min / 60
    loss = (1 / 12) / (low_h + 1 / 12) - (1 / 12) / (40 + 1 / 12)
    assert loss == pytest.approx(0.005, rel=1e-3)


def test_a_free_checkpoint_is_taken_each_second(plain_run):
    answer = plan.make(plain_run.override({"checkpoint.stall_s": 0}))
    assert answer.band.interval_min == answer.band.low_min == pytest.approx(1 / 60)
    assert answer.budget.checkpoint_h == 0
    assert loss_at(answer.scenario, answer.band.high_min, answer.band.interval_min) == pytest.approx(0.005, rel=1e-3)


@pytest.mark.parametrize("rate", [0, 1e-3])
def test_rare_failures_with_daily_maintenance_still_have_a_plan(llama3, rate):
    """A stop waits for the next checkpoint, so a plan checkpoints more often than stops are requested."""
    run = llama3.override({"failures.rate_per_1000_node_days": rate, "checkpoint.stall_s": 300})
    answer = plan.make(run)
    longest_min = longest_min_of(run)
    assert answer.band.interval_min <= longest_min <= 0.5 / 0.87 * 24 * 60 * (1 + 1e-9)
    assert budget.exact(run.override({"checkpoint.interval_min": longest_min})).ettr > 0
    assert answer.band.low_min <= answer.band.interval_min <= answer.band.high_min
    assert answer.budget.maintenance_h == pytest.approx(1166.4 / 24 * 0.87 * 0.25, rel=0.05)


def test_a_run_that_practically_never_ends_has_no_plan(plain_run):
    with pytest.raises(OutsideValidity, match=r"fails every 0\.0144 s"):
        plan.make(plain_run.override({"cluster.n_gpus": 8_000_000_000}))


changes = st.fixed_dictionaries(
    {
        "cluster.n_gpus": st.integers(1, 10_000).map(lambda nodes: 8 * nodes),
        "job.productive_h": st.floats(0.5, 5000),
        "failures.rate_per_1000_node_days": zero_or_up_to(30),
        "checkpoint.stall_s": zero_or_up_to(600),
        "checkpoint.persist_s": zero_or_up_to(3000),
        "checkpoint.persist_slowdown": zero_or_up_to(0.5),
        "recovery.restart_min": zero_or_up_to(30),
        "maintenance": st.none() | st.just({"per_day": 0.5, "duration_min": 20}),
    }
)


@settings(max_examples=15, deadline=None)
@given(values=changes)
def test_any_plan_is_plain_numbers_in_range(values):
    scenario = Scenario.load("rsc-2").override(values)
    try:
        answer = plan.make(scenario)
    except OutsideValidity:
        return
    band = answer.band
    assert 0 < band.low_min <= band.interval_min <= band.high_min
    assert band.high_min <= max(scenario.job.productive_h * 60, band.interval_min)
    record = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert 0 < record["ettr"] <= 1
    assert record["time_budget"]["ettr"] == record["ettr"]


def test_the_answer_for_machines_has_these_fields(llama3):
    record = plan.make(llama3).to_dict()
    assert record["assumed"] == plan.assumed_fields(llama3) and "recovery.restart_min" in record["assumed"]
    assert "cluster.gpus_per_node" not in record["assumed"]
    parts = [
        value
        for part, value in record["time_budget"].items()
        if part.endswith("_h") and part not in ("total_h", "spare_gpu_h")
    ]
    assert sum(parts) == pytest.approx(record["time_budget"]["total_h"])


# --------------------------------------------------------------------------- another size


def test_another_size_has_two_ranges_and_what_was_published_for_it():
    grown = plan.make(Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000}))
    narrow, wide = grown.to_dict()["ranges"]
    assert narrow["label"] == "with this node failure rate" and wide["label"] == "across published clusters"
    assert wide["low"] < narrow["low"] < float(grown.budget.ettr) < narrow["high"] < wide["high"]
    assert wide["leading"] == "failures.rate_per_1000_node_days"
    published = grown.published
    assert published is not None and wide["low"] < published.ettr < wide["high"]
    text = " ".join(str(item) for item in grown.report())
    assert published.words in text and wide["label"] in text and "3.48 min longer" in text
    details = " ".join(str(item) for item in grown.details())
    assert all(key in details for key in evidence.cluster_rates()["source"])


# --------------------------------------------------------------------------- intervals of many runs, and of tiers


def richer(name: str) -> Scenario:
    """Runs whose best interval has no closed form, but for the silent one, which must need none."""
    run = Scenario.load("llama3-405b").override({"maintenance": None})
    return {
        "tiers": lambda: run.override({"checkpoint.tiers": [PEER, DISK]}),
        "tiers, hard": lambda: run.override({"checkpoint.tiers": [PEER, DISK], "cluster.n_gpus": 160_000}),
        "prediction": lambda: run.override({"prediction": WARNED}),
        "prediction, slow write": lambda: run.override({"prediction": WARNED, "checkpoint.persist_slowdown": 0.3}),
        "no alarm heeded": lambda: run.override({"prediction": WARNED | {"lead_s": 10}}),
        "alarms mostly false": lambda: run.override({"prediction": WARNED | {"precision": 0.05}}),
        "the write sets it": lambda: run.override({"prediction": WARNED, "checkpoint.stall_s": 0.001}),
        "silent": lambda: Scenario.load("rsc-1").override(
            {
                "failures.modes": [{"name": "Silent", "share": 1, "latency_h": 5}],
                "checkpoint.persist_s": 0,
                "checkpoint.stall_s": 60,
            }
        ),
    }[name]()


RICHER = [
    *("tiers", "tiers, hard", "prediction", "prediction, slow write", "no alarm heeded", "alarms mostly false"),
    *("the write sets it", "silent"),
]


@pytest.mark.parametrize("name", RICHER)
def test_no_other_interval_costs_less(name):
    """Against 4000 intervals, then a bounded search of SciPy's between the neighbours of the best of them."""
    run = richer(name)
    best_min = budget.best_interval_min(run)
    low, high = budget.shortest_interval_min(run), longest_min_of(run)
    grid = np.geomspace(low, high, 4000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        costs = cost_at(run, grid)
    at = int(np.nanargmin(costs))
    ends = np.log(grid[max(at - 1, 0)]), np.log(grid[min(at + 1, grid.size - 1)])
    best = optimize.minimize_scalar(
        lambda x: float(cost_at(run, np.exp([x]))[0]), bounds=ends, method="bounded", options={"xatol": 1e-10}
    )
    # a minimum is known to the root of the rounding error, 1e-8, over the root of the loss
    assert best_min == pytest.approx(np.exp(best.x), rel=1e-6)
    assert cost_at(run, np.array([best_min]))[0] <= min(np.nanmin(costs), best.fun) * (1 + 1e-14)


@pytest.mark.parametrize("name", ["tiers", "prediction"])
def test_arrays_give_the_interval_of_each_run(name):
    run = richer(name)
    sizes, stalls = np.array([8192, 65_536]), np.array([2.0, 30.0, 200.0])
    best_min = budget.best_interval_min(run, {"cluster.n_gpus": sizes[:, None], "checkpoint.stall_s": stalls})
    one_by_one = [
        [budget.best_interval_min(run.override({"cluster.n_gpus": int(n), "checkpoint.stall_s": w})) for w in stalls]
        for n in sizes
    ]
    assert best_min == pytest.approx(np.array(one_by_one), rel=1e-7)


def test_the_store_is_not_more_frequent_than_the_tier_below_it():
    run = richer("tiers").override({"checkpoint.stall_s": 0})
    slow = {"checkpoint.tiers.local disk.interval_s": np.array([60.0, 600.0, 6000.0])}
    best_min = budget.best_interval_min(run, slow)
    assert (best_min * 60 >= slow["checkpoint.tiers.local disk.interval_s"]).all()
    assert best_min[2] == pytest.approx(100, rel=1e-9)
    assert budget.shortest_interval_min(run) == pytest.approx(3, rel=1e-9)
    assert plan.make(run).band.low_min >= 3


def test_two_minima_on_either_side_of_the_first_alarm_that_is_heeded(llama3):
    """Below action / precision no alarm is heeded, so that the cost has a kink there, and may have two minima."""
    run = llama3.override({"maintenance": None, "checkpoint.persist_s": 0, "checkpoint.stall_s": 1})
    warned = {"recall": 0.9, "precision": 0.5, "lead_s": 600, "action_s": 100}
    kinks = np.array([20.0, 60.0, 100.0, 150.0, 200.0, 400.0])
    run = run.override({"prediction": warned})
    best_min = budget.best_interval_min(run, {"prediction.action_s": kinks})
    grid = np.geomspace(0.1, 600, 20_000)
    at = {"prediction.action_s": kinks, "checkpoint.interval_min": grid[:, None]}
    costs = np.asarray(1 / budget.exact(steady(run), at).ettr)
    ours = 1 / budget.exact(steady(run), {"prediction.action_s": kinks, "checkpoint.interval_min": best_min}).ettr
    assert (ours <= costs.min(axis=0) * (1 + 1e-14)).all()
    heeded = best_min * 60 >= kinks / 0.5
    assert heeded.any() and not heeded.all()


@pytest.mark.parametrize(
    ("name", "n_scales"), [("tiers, hard", 40), *(pytest.param(n, 300, marks=pytest.mark.slow) for n in RICHER[:2])]
)
def test_the_best_tiers_are_the_best_whole_multiples(name, n_scales):
    """Against a search over whole ratios by hand, and the unrounded optimum of SciPy's simplex."""
    run = richer(name)
    intervals_s = [tier.best_interval_s for tier in plan.make(run).tiers]
    paths = [f"checkpoint.tiers.{tier.name}.interval_s" for tier in run.checkpoint.tiers]

    def ettr(peer_s, disk_s, store_s):
        at = {paths[0]: peer_s, paths[1]: disk_s, "checkpoint.interval_min": np.asarray(store_s) / 60}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ValidityWarning)
            return np.nan_to_num(budget.exact(steady(run), at).ettr)

    ratios = np.array(intervals_s[1:]) / intervals_s[:-1]
    assert ratios == pytest.approx(np.round(ratios), abs=1e-9)
    ours = ettr(*np.array(intervals_s)[:, None])[0]
    peer = intervals_s[0] * np.geomspace(0.3, 3, n_scales)[:, None, None]
    disk, store = np.arange(1, 20)[:, None], np.arange(1, 30)
    assert ours >= ettr(peer, peer * disk, peer * disk * store).max() * (1 - 1e-12)
    free = optimize.minimize(
        lambda x: -ettr(*np.exp(x)[:, None])[0], np.log(intervals_s), method="Nelder-Mead", options={"xatol": 1e-8}
    )
    assert ours <= -free.fun <= ours + 1e-4


def test_best_tiers_keep_above_their_writes_and_below_the_work():
    slow = {"checkpoint.tiers.local disk.interval_s": 600, "checkpoint.tiers.local disk.write_s": 600}
    run = richer("tiers, hard").override({"checkpoint.persist_s": 1200, "checkpoint.interval_min": 60} | slow)
    _, disk, store = plan.make(run).tiers
    assert disk.best_interval_s >= 600 and store.best_interval_s >= 1200
    rare = richer("tiers").override({"failures.rate_per_1000_node_days": 0, "job.productive_h": 5})
    assert plan.make(rare).tiers[-1].best_interval_s == pytest.approx(300 * 60, rel=1e-6)


@pytest.mark.parametrize("name", ["tiers", "prediction", "silent"])
def test_richer_runs_have_a_whole_plan(name):
    run = richer(name)
    answer = plan.make(run)
    assert answer.budget.ettr >= answer.budget_at_current.ettr - 1e-9
    assert answer.band.low_min < answer.band.interval_min < answer.band.high_min
    assert loss_at(run, answer.band.high_min, answer.band.interval_min) == pytest.approx(0.005, abs=2e-5)
    json.dumps(answer.to_dict(), allow_nan=False)


def test_the_plan_for_a_rate_that_changes_does_not_depend_on_the_interval_given(llama3):
    young = llama3.override({"failures.burn_in": {"factor": 5, "decay_days": 14}})
    plans = [plan.make(young.override({"checkpoint.interval_min": minutes})) for minutes in (5, 30)]
    assert plans[0].band.interval_min == pytest.approx(plans[1].band.interval_min, rel=1e-4)
    assert plans[0].budget.ettr == pytest.approx(plans[1].budget.ettr, rel=1e-4)
    assert [made.scenario.checkpoint.interval_min for made in plans] == [5, 30]
