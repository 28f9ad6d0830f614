"""What the next GPU adds, where it takes, and the layouts behind it, against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ettr import sizing

RATE = "failures.rate_per_1000_node_days"
CASES = {
    "Llama 3": {},
    "twice the failures": {RATE: 7.6},
    "a tenth of the failures": {RATE: 0.38},
    "local SGD": {"sync": {"every_steps": 30}},
    "slow links": {"network.across_gb_s": 5},
    "a small batch": {"model.batch_tokens": 2**21},
    "a layout that is given": {"layout": {"tensor": 8, "pipeline": 16}},
}


def brute(scenario) -> tuple[int, float]:
    """The best of all whole sizes: a fine grid, and every one near its best, each with its own fastest layout."""
    low, high = sizing.range_gpus(scenario)
    grid = np.unique(np.round(np.geomspace(low, high, 5000)))
    grid = grid[grid <= high]
    near = grid[sizing.yields(scenario, grid).useful_tokens_per_day.argmax()]
    every = np.arange(max(low, near - 600), min(math.floor(high), near + 600) + 1)
    useful = sizing.yields(scenario, every).useful_tokens_per_day
    return int(every[useful.argmax()]), float(useful.max())


@pytest.mark.parametrize(
    "case", ["Llama 3", "a layout that is given", *(pytest.param(case, marks=pytest.mark.slow) for case in CASES)]
)
def test_the_turning_point_is_the_best_of_all_whole_sizes(run, case):
    scenario = run.override(CASES[case])
    best, useful = brute(scenario)
    turning = sizing.turning_point(scenario)
    assert abs(turning - best) <= 1
    assert sizing.next_gpu(scenario, turning).useful_tokens_per_day == pytest.approx(useful, rel=1e-9)
    before, after = (sizing.next_gpu(scenario, size).marginal_tokens_per_day for size in (turning - 1, turning))
    assert before > 0 and not after > 0  # missing where the batch ends


@pytest.mark.parametrize("sync", [pytest.param(None, marks=pytest.mark.slow), {"every_steps": 30}])
def test_the_turning_point_of_a_small_model(small, sync):
    scenario = small.override({"sync": sync})
    assert abs(sizing.turning_point(scenario) - brute(scenario)[0]) <= 1


def test_where_more_is_better_up_to_the_last_size_nothing_turns(small):
    safe = small.override({RATE: 0.001, "model.batch_tokens": 2**20, "layout": {"tensor": 8, "pipeline": 1}})
    assert sizing.turning_point(safe) is None
    assert math.ceil(sizing.range_gpus(safe)[1]) == 1024 and brute(safe)[0] == 1023  # a hair below the end


def test_nothing_turns_without_a_loss_that_grows_with_the_size(run):
    """Without failures and jitter, the exchange hidden, the wait for others grows, but never faster than the size."""
    harmless = {RATE: 0, "maintenance": None, "scaling.jitter": 0, "scaling.overlap": 1}
    harmless |= {"layout": {"tensor": 8, "pipeline": 16}}
    assert sizing.turning_point(run.override(harmless)) is None


def test_shares_of_the_next_gpu_fall_to_zero_at_the_turning_point(run):
    at = [sizing.next_gpu(run, size).share for size in (1000, 16384, 50_000, sizing.turning_point(run))]
    assert 1 > at[0] > at[1] > at[2] > 0 > at[3] > -0.01
    answer = sizing.next_gpu(run)
    assert answer.n_gpus == 16384 and answer.mean_tokens_per_day == answer.useful_tokens_per_day / 16384


def test_the_range_is_from_what_holds_the_model_to_where_a_micro_batch_is_left(run, small):
    low, high = sizing.range_gpus(run)
    assert low == 112 and high == pytest.approx(2**24 / 8192 * 512)  # 2,048 sequences on 8 x 64 GPUs each
    through = run.throughput
    assert through.fastest(low).tensor > 0 and through.fastest(low - 8).tensor == 0
    assert through.fastest(high).tensor > 0 and through.fastest(high + 1).tensor == 0
    assert sizing.range_gpus(small)[0] == 8


@pytest.mark.parametrize("n_gpus", [112, 3000, 100_000])
def test_the_fastest_layout_by_a_loop_over_all(run, n_gpus):
    through = run.throughput
    tried, best, name = through.candidates, math.inf, None
    for i in range(tried.tensor.size):
        candidate = tried.at(i)
        replica = int(candidate.tensor) * int(candidate.context) * int(candidate.pipeline)
        if replica > n_gpus or through.memory_gb(n_gpus, candidate) > 0.9 * 80:
            continue
        if 2**24 / 8192 / (n_gpus / replica) / int(candidate.micro_batch) < 1:
            continue
        total = float(through.step(n_gpus, candidate).total_s)
        if total < best:
            best, name = total, str(candidate)
    layout = through.fastest(float(n_gpus))
    assert str(layout) == name
    assert through.tokens_per_s(float(n_gpus)) == pytest.approx(2**24 / best)


def test_many_sizes_are_taken_in_pieces(run, monkeypatch):
    from ettr.scaling import throughput

    sizes = np.geomspace(100, 2e6, 50)
    whole = vars(run.throughput.fastest(sizes))
    monkeypatch.setattr(throughput, "_BATCH_PAIRS", 1000)
    pieces = vars(run.throughput.fastest(sizes))
    assert all(np.array_equal(whole[name], pieces[name]) for name in whole)
    assert run.throughput.fastest(np.zeros(0)).tensor.size == 0


def test_a_next_gpu_that_takes_more_than_a_mean_one_gives_is_told_as_such(run):
    """Far beyond the turning point tokens fall faster than the size grows; only the end of a batch is missing."""
    failing = run.override({RATE: 40, "recovery.init_s_per_1000_gpus": 0})
    assert sizing.next_gpu(failing, 120_000).share < -1
    assert math.isnan(sizing.next_gpu(run, 2048 * 128).share)  # 2,048 sequences for as many replicas of 128
    assert math.isnan(sizing.next_gpu(run, 3e6).share)  # no layout has work for so many
