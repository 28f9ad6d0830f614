"""A cluster of many jobs: against the exact model of each class, the RSC study, and limits."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from ettr import Scenario, budget, cluster
from ettr.cluster.measured import PARTS
from ettr.core.errors import InputError
from ettr.recommendation import recommend
from made_up_cluster import MadeUp


@pytest.fixture(scope="module")
def rsc() -> cluster.ClusterPlan:
    return cluster.make("rsc-1")


@pytest.fixture(scope="module")
def counted() -> cluster.ClusterPlan:
    return cluster.make(MadeUp(3).accounting(), cluster.usual(8).override({"checkpoint.stall_s": 60}))


def test_a_class_has_the_numbers_of_its_run_alone(rsc):
    run = Scenario.load("rsc-1").override({"cluster.n_gpus": 2048, "job.productive_h": None})
    row = rsc.by_size.set_index("n_gpus").loc[2048]
    hours = budget.exact(run)
    assert row["ettr"] == pytest.approx(hours.ettr, rel=1e-12)
    assert row["mttf_h"] == pytest.approx(24 / (256 * 6.5e-3))
    held_h = hours.total_h - hours.queue_h
    assert row["lost_work"] == pytest.approx((hours.rework_h + hours.detection_h) / held_h)
    assert row["best_min"] == pytest.approx(budget.best_interval_min(run))


@pytest.mark.parametrize("name", ["rsc", "counted"])
def test_the_parts_sum_to_all_gpu_hours(name, request):
    answer = request.getfixturevalue(name)
    assert answer.by_size[["productive", *PARTS]].sum(axis=1).to_numpy() == pytest.approx(1)
    totals = answer.totals
    assert sum(totals[part] for part in ("productive", *PARTS)) == pytest.approx(1)


def test_second_order_losses_are_a_sum_by_hand():
    classes = [cluster.JobClass(64, 0.5), cluster.JobClass(1024, 0.5, priority=1)]
    common = cluster.usual(2048).override({"failures.rate_per_1000_node_days": 0.001, "recovery.detection_min": 0})
    answer = cluster.make(classes, common)
    # few failures: each of the large job preempts 7000 / 35 GPUs, which lose half an hour; as many GPUs in small jobs
    node_rate = 1e-6 / 24
    second = 128 * node_rate * 7000 / 35 * 0.5
    first = (128 * 1024 + 1024 / 64 * 8 * 64) * node_rate * (0.5 + 10 / 60)
    assert answer.second_order == pytest.approx(second / (first + second), rel=0.01)


def test_large_jobs_dominate_the_loss_of_rsc(rsc):
    first = (rsc.by_size["lost_work"] + rsc.by_size["restart"]) * rsc.by_size["share"]
    assert first[rsc.by_size["n_gpus"] >= 2048].sum() / first.sum() > 0.5  # 2k to 4k GPUs dominate


def test_equal_priorities_pre_empt_nothing():
    answer = cluster.make([cluster.JobClass(64, 0.5), cluster.JobClass(1024, 0.5)], n_gpus=2048)
    assert answer.totals["preemption"] == 0
    assert math.isnan(answer.second_order)


def test_a_cluster_of_one_job_needs_the_mitigations_of_that_job():
    run = Scenario.load("llama3-405b").override({"job.productive_h": None, "measured": None})
    answer = cluster.make([cluster.JobClass(16_384, 1.0)], run)
    alone = recommend(budget.simplified(run).scenario)
    assert answer.recommendation.ids == alone.ids == answer.of_largest.ids
    assert answer.recommendation.net_usd == pytest.approx(alone.net_usd)


def test_small_jobs_lower_the_saving_of_a_mitigation():
    run = Scenario.load("llama3-405b").override({"job.productive_h": None, "measured": None})
    half = cluster.make([cluster.JobClass(8, 0.5), cluster.JobClass(16_384, 0.5)], run)
    alone = cluster.make([cluster.JobClass(16_384, 1.0)], run)
    assert 0.4 * alone.recommendation.saved_h < half.recommendation.saved_h < 0.6 * alone.recommendation.saved_h


def test_accounting_has_the_rate_it_was_made_with(counted):
    assert counted.rate.low < 6.5 < counted.rate.high
    assert counted.common.failure_rate == counted.rate.per_1000_node_days  # for charts of other sizes
    assert counted.comparison.p > 0.05
    assert len({*counted.by_size["planned_rate"]}) == 1
    truth = pd.DataFrame(MadeUp(3).truth).T
    assert counted.totals["productive"] == pytest.approx(truth["productive"].sum() / truth["gpu_h"].sum(), abs=0.003)
    low, high = counted.productive_ends
    assert low < counted.totals["productive"] < high


def test_sizes_that_differ_are_planned_at_their_own_rate():
    rows = [(i, 8, 0.0, 240.0, "NODE_FAIL" if i < 40 else "COMPLETED") for i in range(80)]
    rows += [(100 + i, 64, 0.0, 240.0, "NODE_FAIL" if i < 2 else "COMPLETED") for i in range(20)]
    accounting = cluster.from_frame(pd.DataFrame(rows, columns=["job", "gpus", "start", "end", "state"]))
    answer = cluster.make(accounting)
    assert answer.comparison.p < 0.01
    assert answer.by_size["planned_rate"].tolist() == pytest.approx([1000 * 40 / 800, 1000 * 2 / 1600])
    assert answer.projected["mttf_h"].iloc[0] == pytest.approx(24 * 1000 / (8 * 4 * 1.25))


def test_a_size_without_failures_is_planned_at_no_more_than_its_upper_limit():
    rows = [(i, 8, 0.0, 1440.0, "COMPLETED") for i in range(100)] + [(200, 256, 0.0, 1440.0, "NODE_FAIL")]
    rows += [(200, 256, 1440.0 + i, 1441.0 + i, "NODE_FAIL") for i in range(30)]
    accounting = cluster.from_frame(pd.DataFrame(rows, columns=["job", "gpus", "start", "end", "state"]))
    small = cluster.make(accounting).by_size.iloc[0]
    assert small["rate"] == 0 < small["planned_rate"] < small["rate_high"]


def test_no_failures_are_planned_at_their_upper_limit_and_need_no_mitigation():
    frame = pd.DataFrame({"job": range(9), "gpus": 8, "start": 0.0, "end": 1000.0, "state": "COMPLETED"})
    answer = cluster.make(cluster.from_frame(frame))
    assert answer.rate.per_1000_node_days == 0 < answer.by_size["planned_rate"].iloc[0]
    assert answer.recommendation is None
    assert any("No failures" in getattr(section, "text", "") for section in answer.report())


def test_jobs_that_never_end_lose_all_and_are_named():
    answer = cluster.make([cluster.JobClass(8, 0.5), cluster.JobClass(8_000_000, 0.5)], cluster.usual(8_000_000))
    assert answer.by_size["ettr"].iloc[1] == 0
    assert answer.policy[0].up_to_gpus is None
    assert any("8,000,000 GPUs practically never end" in getattr(part, "text", "") for part in answer.report())


def test_a_job_that_only_a_shorter_interval_saves_has_its_policy_and_counts():
    common = cluster.usual(200_000).override({"checkpoint.interval_min": 900, "failures.rate_per_1000_node_days": 3})
    answer = cluster.make([cluster.JobClass(16, 0.5), cluster.JobClass(100_000, 0.5)], common)
    assert (answer.by_size["ettr"].iloc[1], len(answer.jobs)) == (0, 2)
    assert answer.policy[0].above_gpus == 16 and answer.policy[0].high_min < 10


def test_idle_gpus_save_nothing():
    rows = [(0, 4096, 0.0, 24.0, "NODE_FAIL"), *((i, 64, 24.0 * i, 24.0 * i + 24, "COMPLETED") for i in range(1, 61))]
    accounting = cluster.from_frame(pd.DataFrame(rows, columns=["job", "gpus", "start", "end", "state"]))
    small, large = (cluster.make(accounting, n_gpus=n_gpus) for n_gpus in (4096, 40_960))
    most_usd = accounting.gpu_h / accounting.window_h * 730.5 * 2 * (1 - small.totals["productive"])
    assert large.recommendation.saved_usd <= small.recommendation.saved_usd <= most_usd * 1.05


def test_each_job_gets_the_members_of_a_set_that_apply_to_it():
    common = Scenario.load("rsc-1")
    both = cluster.make([cluster.JobClass(8, 0.5), cluster.JobClass(4096, 0.5)], common, 16_000).recommendation
    for_one_node = {"async-checkpoint", "parallel-checkpoint"}  # which has no replica to save its state
    assert for_one_node & {*both.ids}
    assert "just-in-time-checkpoint" in both.ids
    assert not for_one_node & {*cluster.make([cluster.JobClass(4096, 1.0)], common, 16_000).recommendation.ids}


def test_jobs_on_more_nodes_than_they_need_fail_as_often():
    rows = [(i, 8, 8, 0.0, 480.0, "NODE_FAIL") for i in range(2)]
    frame = pd.DataFrame(rows, columns=["job", "gpus", "nodes", "start", "end", "state"])
    assert cluster.make(cluster.from_frame(frame)).by_size["mttf_h"].tolist() == pytest.approx([480])


def test_a_tokens_scenario_lends_its_times_only():
    answer = cluster.make([cluster.JobClass(8, 1.0)], Scenario.load("llama3-405b-tokens"))
    assert answer.common.checkpoint.stall_s == Scenario.load("llama3-405b-tokens").checkpoint.stall_s


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cluster.make("rsc-9"), "cannot read rsc-9: no such file, and no published mix"),
        (lambda: cluster.make([cluster.JobClass(8, 1.0)]), "needs the GPUs of the cluster"),
        (lambda: cluster.make([cluster.JobClass(64, 1.0)], n_gpus=32), "at least 64 GPUs"),
        (lambda: cluster.make(MadeUp(3, n_jobs=50).accounting(), n_gpus=8), "more than the 8 GPUs of the cluster"),
    ],
)
def test_what_no_cluster_can_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
