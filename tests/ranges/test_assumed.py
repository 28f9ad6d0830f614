"""How far the ETTR may be off by what is assumed: the design, the ranges, and what is known of the run."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import Scenario, budget, evidence, ranges
from ettr.core.errors import InputError
from ettr.ranges.assumed import span_of_ettr
from ettr.ranges.drawing import ettr_at, even_points
from ettr.ranges.inputs import Assumed, assumed_inputs, plausible
from ettr.scenario import fields
from ettr.scenario.paths import bounds_at, each_field

FIRST = {"cluster": {"n_gpus": 4096}, "failures": {"job_mttf_h": 9}}


@pytest.fixture
def first() -> Scenario:
    return Scenario.of(FIRST)


def test_points_fill_the_cube_evenly():
    points = even_points(4096, 7, 1)
    assert points.shape == (4096, 7) and (points >= 0).all() and (points < 1).all()
    for axis in points.T:
        assert np.histogram(axis, 64, (0, 1))[0] == pytest.approx(64, abs=8)


def test_the_range_is_that_of_many_random_draws(first):
    inputs = list(assumed_inputs(first))
    u = np.random.default_rng(3).random((40_000, len(inputs)))
    at = {entry.field: entry.at(column) for entry, column in zip(inputs, u.T, strict=True)}
    drawn = ettr_at(first, at, budget.best_interval_min(first) / 60)
    assert ranges.assumptions(first).range == pytest.approx(np.quantile(drawn, (0.05, 0.95)), abs=1e-3)


def test_a_value_is_log_uniform_and_a_share_uniform():
    u = np.linspace(0, 1, 5)
    time = Assumed("recovery.restart_min", "", 5, 2, 32, "min", "", "")
    assert time.at(u) == pytest.approx([2, 4, 8, 16, 32])
    share = Assumed("recovery.person_share", "", 0.1, 0.1, 0.5, "", "", "")
    assert share.at(u) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    from_zero = Assumed("recovery.queue_min", "", 0, 0, 4, "min", "", "")
    assert from_zero.at(u) == pytest.approx([0, 1, 2, 3, 4])


def test_every_published_range_has_a_source_and_keeps_the_rule_of_its_field():
    keys = set(evidence.bibliography()["key"])
    some = 0
    for path, field in each_field(Scenario):
        if (ends := fields.meta_of(field).plausible) is None:
            continue
        some += 1
        assert ends.low < ends.high and ends.reason, path
        assert {key.strip() for key in ends.source.split(",")} <= keys, path
        Scenario.check_values(path, [ends.low, ends.high])
    assert some >= 9


def test_a_value_without_a_source_goes_from_half_to_double_within_its_rule():
    ends = plausible("maintenance.duration_min", 15.0)
    assert (ends.low, ends.high, ends.source) == (7.5, 30.0, "")
    assert plausible("checkpoint.store.compression_ratio", 1.5).low == 1.0
    most = plausible("checkpoint.persist_slowdown", 0.7).high
    assert 0.7 < most < 1 and dict(bounds_at("checkpoint.persist_slowdown", Scenario))["<"] == 1
    assert plausible("maintenance.duration_min", 0.0) is None


def test_a_value_beyond_what_is_published_gets_a_range_of_its_own():
    assert plausible("recovery.detection_min", 5.0).source
    far = plausible("recovery.detection_min", 100.0)
    assert (far.low, far.high, far.source) == (50.0, 200.0, "")


def test_what_is_given_is_not_assumed(first):
    names = {entry.field for entry in assumed_inputs(first)}
    assert {"checkpoint.stall_s", "recovery.detection_min", "recovery.restart_min"} <= names
    stated = first.override({"checkpoint.stall_s": 30, "recovery.restart_min": 10})
    assert names - {entry.field for entry in assumed_inputs(stated)} == {"checkpoint.stall_s", "recovery.restart_min"}
    assert "checkpoint.persist_s" not in names  # nothing written: the save is waited for


def test_nothing_assumed_leaves_no_range(plain_run):
    zeros = ("checkpoint.persist_s", "checkpoint.persist_slowdown", "checkpoint.load_s", "recovery.queue_min")
    zeros += ("recovery.init_s_per_1000_gpus", "recovery.person_share", "recovery.person_min")
    assumed = ranges.assumptions(plain_run.override(dict.fromkeys(zeros, 0.0)))
    assert assumed.inputs == () and assumed.range is None and assumed.words == "no input is assumed"


def test_the_draws_are_those_of_the_closed_form_one_by_one(first):
    assumed = ranges.assumptions(first, n=100, seed=5)
    order = [entry.field for entry in assumed_inputs(first)]
    u = even_points(100, len(order), 5)
    inputs = {entry.field: entry for entry in assumed.inputs}
    for i in (0, 41):
        values = {path: float(inputs[path].at(u[i, j])) for j, path in enumerate(order)}
        run = first.override({**values, "checkpoint.interval_min": budget.best_interval_min(first)})
        assert assumed.values[i] == pytest.approx(float(budget.exact(run).ettr), rel=1e-9)
    low, high = np.quantile(assumed.values, (0.05, 0.95))
    assert assumed.range == (min(low, assumed.ettr), max(high, assumed.ettr))
    assert assumed.agrees and assumed.condition == ""


def test_draws_that_contradict_what_is_published_are_left_out():
    run = Scenario.load("llama3-405b")
    assumed = ranges.assumptions(run)
    free = ranges.assumptions(run.override({"measured": None}))
    assert free.values.size == free.n_draws and free.range[0] < 0.85
    assert 100 < assumed.values.size < assumed.n_draws and assumed.range[0] > 0.89
    assert "given the published ETTR above 90%" in assumed.words


def test_a_few_ranges_with_a_source_are_no_range():
    run = Scenario.of(
        {
            **FIRST,
            "checkpoint": {"stall_s": 30},
            "recovery": dict.fromkeys(("queue_min", "init_s_per_1000_gpus", "person_share", "person_min"), 0)
            | {"detection_min": 100, "restart_min": 100},
            "evidence": {
                "recovery.detection_min": {"status": "assumed", "note": "long"},
                "recovery.restart_min": {"status": "assumed", "note": "long"},
            },
        }
    )
    assumed = ranges.assumptions(run)
    assert assumed.range is None and [entry.source for entry in assumed.inputs] == ["", ""]
    leading = assumed.leading.field
    assert assumed.at_half > assumed.ettr > assumed.at_twice
    twice = budget.exact(run.override({leading: 200, "checkpoint.interval_min": budget.best_interval_min(run)}))
    assert assumed.at_twice == pytest.approx(float(twice.ettr), rel=1e-9)
    assert "twice the assumed" in assumed.words


def test_too_few_draws_are_refused(first):
    with pytest.raises(InputError, match="n must be >= 100 draws, got 10"):
        ranges.assumptions(first, n=10)


@pytest.mark.parametrize(
    ("low", "high", "words"), [(0.861, 0.932, "86-93%"), (0.901, 0.904, "90.1-90.4%"), (0.9904, 0.9904, "99.0%")]
)
def test_a_range_has_the_digits_that_tell_its_ends_apart(low, high, words):
    assert span_of_ettr(low, high) == words


@pytest.mark.parametrize("n_gpus", [None, 100_000])
@pytest.mark.parametrize("name", evidence.scenario_names())
def test_the_headline_of_every_preset_lies_within_its_range_at_any_size(name, n_gpus):
    """The quantiles of the draws themselves hold it, wherever the range is made to end."""
    run = Scenario.load(name)
    tokens = {"job.productive_h": run.productive_h} if run.job.tokens else {}
    run = budget.simplified(run.override({**tokens, "cluster.n_gpus": n_gpus or run.cluster.n_gpus})).scenario
    assumed = ranges.assumptions(run)
    low, high = np.quantile(assumed.values, (0.05, 0.95))
    assert assumed.agrees and low <= assumed.ettr <= high
    assert assumed.range == (low, high)
    record = assumed.to_dict()
    assert record["n_kept"] <= record["n_draws"] and len(record["inputs"]) == len(assumed.inputs)


@pytest.mark.parametrize("n_gpus", [64, 4096, 65_536])
@pytest.mark.parametrize("node_mttf_h", [4000, 20_000])
def test_the_headline_of_somebody_who_only_knows_failures_lies_within_its_range(n_gpus, node_mttf_h):
    assumed = ranges.assumptions(Scenario.of({"cluster": {"n_gpus": n_gpus}, "failures": {"node_mttf_h": node_mttf_h}}))
    low, high = np.quantile(assumed.values, (0.05, 0.95))
    assert low < assumed.ettr < high
    assert abs(np.mean(assumed.values < assumed.ettr) - 0.5) < 0.25  # and nowhere near an end


# --------------------------------------------------------------------------- of another cluster


def test_draws_are_valid_and_agree_with_what_was_measured():
    preset = Scenario.load("llama3-405b")
    run = preset.override({"checkpoint.interval_min": 10, "measured": preset.measured})
    some = ranges.draws(run, 1000, 3)
    assert len(some.shares) == len(some.inputs) and some.n_valid == 1000
    assert set(some.at) == {entry.field for entry in some.inputs}
    assert {values.size for values in some.at.values()} == {some.ettr.size} and 30 < some.ettr.size < 200
    ettrs = ettr_at(run, some.at)
    assert (ettrs >= 0.9).all()
    assert some.ettr == pytest.approx(ettr_at(run, some.at, budget.best_interval_min(run) / 60))
    assert ranges.draws(run, 1000, 3).ettr == pytest.approx(some.ettr)
    assert ranges.draws(run, 1000, 4).ettr.mean() != pytest.approx(some.ettr.mean(), abs=1e-9)


def test_a_rate_is_drawn_from_published_clusters_each_once():
    rates = evidence.cluster_rates()
    assert not rates["cluster_id"].str.contains("memory|premise|-faults|-manual|-all-").any() and len(rates) >= 8
    presets = {round(Scenario.load(name).failure_rate, 2) for name in evidence.scenario_names()}
    middle = round(Scenario.load("gb200-nvl72").failure_rate, 2)  # of a range, not that of a cluster
    assert presets - {middle} <= set(rates["rate"].round(2))
    drawn = ranges.rate_across_clusters(Scenario.load("rsc-1"))
    u = np.linspace(0, 1, len(rates))
    assert drawn.at(u) == pytest.approx(rates["rate"].to_numpy())
    between = drawn.at((u[1:] + u[:-1]) / 2)
    assert between == pytest.approx(np.sqrt(rates["rate"].to_numpy()[1:] * rates["rate"].to_numpy()[:-1]))
    half = Scenario.of({"cluster": {"n_gpus": 4096, "gpus_per_node": 4}, "failures": {"job_mttf_h": 9}})
    assert ranges.rate_across_clusters(half).at(u) == pytest.approx(rates["rate"].to_numpy() / 2)


@pytest.mark.parametrize(
    ("name", "values", "is_elsewhere"),
    [
        ("llama3-405b", {}, False),
        ("llama3-405b", {"cluster.n_gpus": 32_768}, True),
        ("llama3-405b", {"cluster.n_gpus": 32_768, "failures.node_mttf_h": 9000}, False),
        ("llama3-405b", {"recovery.restart_min": 9}, False),
        ("h100-100k", {}, True),
        ("rsc-2", {"cluster.n_gpus": 16_000}, True),
    ],
)
def test_a_rate_is_from_elsewhere_where_a_published_one_is_used_at_another_size(name, values, is_elsewhere):
    run = Scenario.load(name).override(values)
    assumed = ranges.across_clusters(run)
    assert (assumed is not None) is ranges.rate_is_from_elsewhere(run) is is_elsewhere
    if assumed is not None:
        narrow = ranges.assumptions(run)
        assert assumed.range[0] < narrow.range[0] < narrow.range[1] < assumed.range[1]
        assert assumed.label != narrow.label and assumed.ettr == narrow.ettr
        assert {entry.field for entry in assumed.inputs} - {entry.field for entry in narrow.inputs} == {
            "failures.rate_per_1000_node_days"
        }


README_TIER = {"name": "peer memory", "interval_s": 60, "stall_s": 0.2, "write_s": 5, "load_s": 10, "copies": 2}


def with_a_store(write_gb_s: float) -> Scenario:
    """A run with peer memory, whose write to the store takes 16.8 s at 50 GB/s and may not be shorter than 5 s."""
    return Scenario.of(
        {
            "cluster": {"n_gpus": 1024},
            "job": {"productive_h": 500},
            "failures": {"rate_per_1000_node_days": 6.5},
            "checkpoint": {
                "interval_min": 60,
                "stall_s": 45,
                "store": {"n_parameters": 70e9, "write_gb_s": write_gb_s},
                "tiers": [README_TIER],
            },
        }
    )


def test_draws_that_break_a_rule_of_the_scenario_are_redrawn():
    """A smaller checkpoint is written faster than the faster tier allows, which is no run that never ends."""
    assumed = ranges.assumptions(with_a_store(50))
    assert assumed.n_redrawn > 0.05 * assumed.n_draws and assumed.n_draws == assumed.values.size == 4096
    assert assumed.values.min() > 0.97
    assert assumed.range[0] == pytest.approx(0.98, abs=0.002) and assumed.range[1] == pytest.approx(0.992, abs=0.002)
    assert "redrawn" in assumed.words and assumed.to_dict()["n_redrawn"] == assumed.n_redrawn
    slow = ranges.assumptions(with_a_store(10))  # which no draw makes too fast
    assert slow.n_redrawn == 0 and "redrawn" not in slow.words
    assert slow.range == pytest.approx(assumed.range, abs=0.003), "the store hardly matters: nothing is loaded from it"


def test_where_every_draw_breaks_a_rule_there_is_no_range_and_the_rule_is_named(monkeypatch):
    run = with_a_store(50)
    slowest = ranges.Assumed("checkpoint.store.changed_share", "the share", 1.0, 0.01, 0.02, "", "", "")
    monkeypatch.setattr(ranges.drawing, "assumed_inputs", lambda scenario: [slowest])
    assumed = ranges.assumptions(run)
    assert assumed.range is None and assumed.n_draws == 0 and assumed.values.size == 0
    assert "must be >= 5 s, the write of the faster tier 'peer memory'" in assumed.words
    assert assumed.to_dict()["low"] is None and assumed.report()
