"""`ettr plan` of a job given by its tokens: how many GPUs, its JSON, and what it refuses."""

from __future__ import annotations

import pytest

from ettr import Scenario, sizing

JOB = ("plan", "llama3-405b-tokens", "--details")
SEVENTY = ("plan", "llama3-405b", "--details", "--set", "job.tokens=2e12", "--set", "model.n_parameters=70e9")


def test_it_says_how_many_gpus(in_words):
    out = in_words(*JOB)
    run = Scenario.load(JOB[1])
    turning = sizing.turning_point(run)
    assert f"From {turning:,} GPUs on the next one takes more than it gives." in out
    for words in ("How many GPUs", "this size", "fastest", "cheapest", "greenest", "The next GPU adds"):
        assert words in out
    assert "Layout of this size: tensor 8, pipeline 16" in out


def test_json_holds_the_same_numbers(as_json):
    sizes = as_json(*SEVENTY, "--power-mw", "10")["sizing"]
    run = Scenario.load("llama3-405b").override({"job.tokens": 2e12, "model.n_parameters": 70e9})
    answer = sizing.make(run, sizing.SizingLimits(power_mw=10))
    assert sizes["limits"] == {"power_mw": 10}
    assert sizes["best"]["fastest"]["n_gpus"] == answer.best["fastest"].n_gpus
    assert sizes["best"]["fastest"]["power_mw"] <= 10
    assert sizes["next_gpu"]["share"] == pytest.approx(answer.next.share)
    assert sizes["turning_gpus"] == answer.turning_gpus


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["--set", "cluster.n_gpus=100000"], ["divides 100,000 GPUs", "take 99,968 or 100,096 GPUs"]),
        (["--set", "model.batch_tokens=1e5"], ["smaller than the replicas", "model.batch_tokens >= 262,144"]),
        (["--set", "network.across_gb_s=0"], ["network.across_gb_s must be > 0 GB/s", "has 50 GB/s"]),
        (["--set", "cluster.n_gpus=8"], ["does not fit 8 GPUs of 80 GB", "it fits from 112 GPUs on"]),
        (["--power-mw", "0"], ["power_mw must be > 0 MW"]),
        (["--power-mw", "0.01"], ["power_mw of 0.01 MW is below the least of all sizes"]),
        (["--deadline-days", "35", "--power-mw", "20"], ["where power_mw is kept, deadline_days is at least"]),
    ],
)
def test_what_it_refuses_it_answers_with_what_would_do(refused, changes, words):
    message = refused(*JOB, *changes)
    assert all(word in message for word in words), message


def test_limits_need_tokens(refused):
    message = refused("plan", "llama3-405b", "--most-gpus", "1000")
    assert message.startswith("--most-gpus needs the job as tokens and parameters")


def test_a_price_of_zero_leaves_no_cheapest(in_words):
    free = ("--set", "cost.usd_per_gpu_h=0", "--set", "cost.usd_per_kwh=0")
    out = in_words(*JOB, *free)
    assert "No cheapest: where nothing has a price every size is the cheapest" in out
    assert "fastest" in out and "greenest" in out


def test_a_batch_without_work_for_another_gpu_says_so(in_words):
    """2,048 sequences of a replica of 256 GPUs each."""
    full = 2**24 // 8192 * 8 * 32
    cut = ("--set", "layout.pipeline=32", "--set", "layout.tensor=8")
    out = in_words(*JOB, "--set", f"cluster.n_gpus={full}", *cut, "--set", "recovery.init_s_per_1000_gpus=0")
    assert f"The batch has no work for more than {full:,} GPUs." in out
