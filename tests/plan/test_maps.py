"""The line of a target and the map over two fields, point by point against a scenario each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ettr import Scenario, budget, plan
from ettr.core.errors import InputError
from ettr.scenario.paths import INTERVAL
from mechanisms import PEER, WARNED

SIZE, RESTART, STALL = "cluster.n_gpus", "recovery.restart_min", "checkpoint.stall_s"


@pytest.fixture(params=["started, with maintenance", "tiers", "prediction"])
def run(request, llama3) -> Scenario:
    quiet = {"maintenance": None, "job.include_start": False}
    changes = {
        "started, with maintenance": {},
        "tiers": quiet | {"checkpoint.tiers": [PEER]},
        "prediction": quiet | {"prediction": WARNED},
    }
    return llama3.override(changes[request.param])


def test_each_point_of_the_line_is_what_is_required_there(run):
    sizes = np.array([1024, 8192, 16_384, 131_072, 1_048_576])
    line = plan.frontier(run, SIZE, RESTART, 0.9, x_values=sizes)
    assert (line.x, line.y, line.sense) == (SIZE, RESTART, "at most")
    assert list(line.points) == [SIZE, RESTART, "reaches", "best_ettr", "interval_min"]
    assert line.points[SIZE].tolist() == sizes.tolist()
    for point in line.points.rename(columns={SIZE: "x", RESTART: "y"}).itertuples():
        at = run.override({SIZE: int(point.x)})
        need = plan.required(at, RESTART, 0.9)
        assert point.reaches == (need.value is not None)
        assert point.best_ettr == pytest.approx(need.best_ettr, rel=1e-9)
        if point.reaches:
            assert point.y == pytest.approx(need.value, rel=2e-6)
            best = budget.best_interval_min(at.override({RESTART: point.y}))
            assert point.interval_min == pytest.approx(best, rel=1e-6)
        else:
            assert math.isnan(point.y) and math.isnan(point.interval_min)
    assert line.points["reaches"].tolist() == [True, True, True, False, False]
    assert (np.diff(line.points[RESTART][:3]) < 0).all()


def test_each_point_of_the_map_is_the_best_of_a_run(run):
    sizes, stalls = np.array([2048, 32_768]), np.array([0.0, 5.0, 100.0])
    frame = plan.ettr_map(run, SIZE, STALL, sizes, stalls)
    assert list(frame) == [SIZE, STALL, "interval_min", "ettr", "answered"] and frame["answered"].all()
    assert frame[[SIZE, STALL]].to_numpy().tolist() == [[n, w] for n in sizes for w in stalls]
    for point in frame.rename(columns={SIZE: "x", STALL: "y"}).itertuples():
        at = run.override({SIZE: int(point.x), STALL: point.y})
        assert point.ettr == pytest.approx(plan.ettr_at_best(at), rel=1e-9)
        assert point.interval_min == pytest.approx(budget.best_interval_min(at), rel=1e-6)


def test_what_does_not_matter_is_an_infinite_line(plain_run):
    still = plain_run.override({"failures.rate_per_1000_node_days": 0})
    line = plan.frontier(still, SIZE, "recovery.detection_min", 0.9, n=5)
    assert np.isinf(line.points["recovery.detection_min"]).all() and line.points["reaches"].all()
    assert line.points["interval_min"].tolist() == pytest.approx([2400] * 5)


def test_a_map_over_the_interval_uses_that_interval(llama3):
    frame = plan.ettr_map(llama3, INTERVAL, STALL, [5, 50], [1, 10])
    exact = budget.exact(llama3, {INTERVAL: np.array([[5], [50]]), STALL: [1, 10]}).ettr
    assert frame["ettr"].tolist() == exact.ravel().tolist()
    assert frame["interval_min"].tolist() == frame[INTERVAL].tolist() == [5, 5, 50, 50]


def test_a_point_without_an_answer_says_so(plain_run):
    frame = plan.ettr_map(plain_run, SIZE, STALL, [8e3, 8e9], [300])
    assert frame["answered"].tolist() == [True, False] and frame["ettr"].tolist()[1] == 0
    line = plan.frontier(plain_run, SIZE, STALL, 0.1, x_values=[8e3, 8e9])
    assert line.points["reaches"].tolist() == [True, False]


def test_without_values_a_field_is_shown_around_its_own(llama3):
    frame = plan.ettr_map(llama3, SIZE, RESTART, n=3)
    assert frame[SIZE].unique() == pytest.approx([1638.4, 16_384, 163_840])
    assert frame[RESTART].unique() == pytest.approx([0.5, 5, 50])
    warned = llama3.override({"maintenance": None, "prediction": WARNED})
    recalls = plan.ettr_map(warned, "prediction.recall", RESTART, n=2)["prediction.recall"].unique()
    assert recalls == pytest.approx([0.06, 1])  # a share ends at 1
    intervals = plan.ettr_map(llama3, INTERVAL, RESTART, n=2)[INTERVAL].unique()
    assert intervals == pytest.approx([1, 100], rel=1e-9)  # the write


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: plan.frontier(run, SIZE, SIZE, 0.9), "must be different fields, got cluster.n_gpus twice"),
        (lambda run: plan.frontier(run, SIZE, INTERVAL, 0.9), "y must be no interval, which has two ends"),
        (lambda run: plan.frontier(run, SIZE, RESTART, math.nan), "target_ettr must be between 0 and 1, got nan"),
        (lambda run: plan.frontier(run, SIZE, RESTART, 0.9, x_values=[1, math.nan]), "n_gpus must be finite, got nan"),
        (lambda run: plan.frontier(run, SIZE, RESTART, 0.9, x_values=[[1, 2]]), "must be a list of numbers"),
        (lambda run: plan.frontier(run, SIZE, RESTART, 0.9, n=1), "n must be >= 2, got 1"),
        (lambda run: plan.ettr_map(run, SIZE, STALL, y_values=[-1]), "checkpoint.stall_s must be >= 0 s, got -1"),
        (lambda run: plan.ettr_map(run, SIZE, "recovery.queue_min"), "must be given: the scenario's own is 0"),
        (lambda run: plan.ettr_map(run, SIZE, "prediction.recall"), "the scenario has no prediction"),
        (lambda run: plan.ettr_map(run, "cluster.gpus", STALL), r"'cluster.gpus'; did you mean 'cluster.n_gpus'\?"),
    ],
)
def test_what_makes_no_picture_is_refused(llama3, call, message):
    with pytest.raises(InputError, match=message):
        call(llama3)


@pytest.mark.parametrize(
    ("call", "order"),
    [
        (
            lambda run: plan.frontier(SIZE, run, STALL, 0.9),
            "frontier(scenario, 'cluster.n_gpus', 'checkpoint.stall_s', 0.9)",
        ),
        (
            lambda run: plan.frontier(run, 0.9, SIZE, STALL),
            "frontier(scenario, 'cluster.n_gpus', 'checkpoint.stall_s', 0.9)",
        ),
        (lambda run: plan.ettr_map(SIZE, run, STALL), "ettr_map(scenario, 'cluster.n_gpus', 'checkpoint.stall_s')"),
        (lambda run: plan.ettr_map(SIZE, STALL, "rsc-1"), "ettr_map('rsc-1', 'cluster.n_gpus', 'checkpoint.stall_s')"),
        (
            lambda run: plan.ettr_map(run, SIZE, [8, 16], STALL, [1, 2]),
            "ettr_map(scenario, 'cluster.n_gpus', 'checkpoint.stall_s', x_values)",
        ),
    ],
)
def test_swapped_arguments_are_told_their_order(llama3, call, order):
    function = order.partition("(")[0]
    with pytest.raises(InputError) as caught:
        call(llama3)
    text = str(caught.value)
    assert text.startswith(f"{function} takes the scenario, then the first field, then the second field")
    assert text.endswith(f": {order}")


def test_a_preset_s_name_is_its_run(llama3):
    points = plan.frontier("llama3-405b", SIZE, RESTART, 0.9, n=3).points
    assert points.equals(plan.frontier(llama3, SIZE, RESTART, 0.9, n=3).points)
    assert plan.ettr_map("llama3-405b", SIZE, RESTART, n=2).equals(plan.ettr_map(llama3, SIZE, RESTART, n=2))


def test_a_line_is_shown_in_one_line(llama3):
    line = plan.frontier(llama3, SIZE, RESTART, 0.9, n=3)
    assert repr(line) == "Frontier(recovery.restart_min for an ETTR of 0.9, at 3 of cluster.n_gpus)"
