"""Where the GPU-hours go, against a made-up cluster whose losses are known, and against sums by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, cluster
from ettr.cluster.measured import PARTS, size_classes
from made_up_cluster import SIZES, MadeUp

RUN = Scenario.of(
    {
        "cluster": {"n_gpus": 8},
        "failures": {"rate_per_1000_node_days": 6.5},
        "checkpoint": {"interval_min": 60, "stall_s": 60},
        "recovery": {"detection_min": 5, "restart_min": 10},
    }
)


def frame_of(*rows: tuple) -> cluster.Accounting:
    return cluster.from_frame(pd.DataFrame(rows, columns=["job", "gpus", "start", "end", "state"]))


def test_a_failed_job_has_the_losses_that_a_sum_by_hand_gives():
    accounting = frame_of((1, 16, 0.0, 10.0, "NODE_FAIL"), (1, 16, 10.5, 15.5, "COMPLETED"))
    found = cluster.measured(accounting, RUN, 60.0).by_size.iloc[0]
    gpu_h = 16 * 15.0
    assert found["gpu_h"] == gpu_h
    assert found["lost_work"] * gpu_h == pytest.approx(16 * (0.5 + 5 / 60))  # half an interval, and the detection
    assert found["restart"] * gpu_h == pytest.approx(16 * 10 / 60)
    # 9.92 h of training have 9 checkpoints, 4.83 h have 4
    assert found["checkpoint"] * gpu_h == pytest.approx(16 * 13 / 60)
    assert found["waiting"] * gpu_h == pytest.approx(16 * 0.5)
    assert found[["productive", *PARTS]].sum() == pytest.approx(1)
    assert found["rate"] == pytest.approx(1000 / (2 * 15 / 24))


def test_a_short_run_loses_what_it_trained():
    accounting = frame_of(
        (1, 8, 0.0, 0.25, "NODE_FAIL"), (2, 8, 0.0, 0.25, "PREEMPTED"), (3, 8, 0.0, 0.75, "PREEMPTED")
    )
    found = cluster.measured(accounting, RUN, 60.0).by_size.iloc[0]
    assert found["lost_work"] * found["gpu_h"] == pytest.approx(8 * 0.25)
    assert found["preemption"] * found["gpu_h"] == pytest.approx(8 * (0.25 + 0.5))


def test_pre_emption_before_a_larger_failed_job_starts_again_is_second_order():
    failed = ((1, 64, 0.0, 10.0, "NODE_FAIL"), (1, 64, 11.0, 20.0, "COMPLETED"))
    for_it, earlier, larger = (
        (2, 8, 0.0, 10.9, "PREEMPTED"),
        (3, 8, 0.0, 10.5, "PREEMPTED"),
        (4, 128, 0, 10.9, "PREEMPTED"),
    )
    found = cluster.measured(frame_of(*failed, for_it, earlier, larger), RUN, 60.0)
    first, second = 64 * (0.5 + 5 / 60 + 10 / 60), 8 * 0.5
    assert found.second_order == pytest.approx(second / (first + second))


def test_the_nearest_failed_job_that_is_no_smaller_is_the_cause():
    failed = [(job, gpus, 0.0, 10.0, "NODE_FAIL") for job, gpus in ((1, 16), (2, 32))]
    again = [(1, 16, 10 + 10 / 60, 20.0, "COMPLETED"), (2, 32, 10 + 12 / 60, 20.0, "COMPLETED")]
    found = cluster.measured(frame_of(*failed, *again, (3, 32, 0.0, 10 + 7 / 60, "PREEMPTED")), RUN, 60.0)
    assert found.second_order > 0


def test_without_failures_the_shares_have_an_upper_end():
    found = cluster.measured(frame_of((1, 8, 0.0, 100.0, "COMPLETED")), RUN, 60.0)
    row = found.by_size.iloc[0]
    assert row["lost_work"] == 0 == row["lost_work_low"]
    assert row["lost_work_high"] * 800 == pytest.approx(3.689 * 8 * 0.75, rel=1e-3)  # at most 3.7 failures
    assert np.isnan(found.second_order)


def test_sizes_are_powers_of_two_of_nodes():
    assert size_classes([1, 4, 5, 8, 9, 4096], 4).tolist() == [0, 1, 2, 2, 3, 11]


def covered(n_draws: int) -> pd.DataFrame:
    """Count, by size, in how many draws the intervals hold the truth."""
    inside = []
    for seed in range(n_draws):
        made_up = MadeUp(seed)
        found = cluster.measured(made_up.accounting(), RUN, 60.0).by_size
        truth = pd.DataFrame(made_up.truth).T.sort_index()
        row = {"rate": found["rate_low"].le(6.5) & found["rate_high"].ge(6.5)}
        for part in ("productive", "lost_work", "preemption"):
            share = (truth[part] / truth["gpu_h"]).to_numpy()
            row[part] = found[f"{part}_low"].le(share + 1e-12) & found[f"{part}_high"].ge(share)
        inside.append(pd.DataFrame(row).set_axis(list(SIZES)))
    return sum(inside)


def test_intervals_hold_the_truth_of_a_made_up_cluster():
    inside = covered(8)
    assert inside["rate"].sum() >= 36  # of 40 intervals, 95% of which hold the truth on average
    assert (inside[["productive", "lost_work", "preemption"]] == 8).all(axis=None)


@pytest.mark.slow
def test_intervals_hold_the_truth_in_95_of_100_draws():
    assert (covered(100) >= 95).all(axis=None)
