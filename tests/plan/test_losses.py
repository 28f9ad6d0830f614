"""What was measured beyond the model: against other roads to the same numbers."""

from __future__ import annotations

import math

import pytest

from ettr import Scenario, plan
from ettr.core.errors import InputError

FIRST = {
    "cluster": {"n_gpus": 4096},
    "failures": {"job_mttf_h": 9},
    "checkpoint": {"stall_s": 90},
    "recovery": {"restart_min": 12},
}


@pytest.fixture
def first() -> Scenario:
    return Scenario.of(FIRST)


# --------------------------------------------------------------------------- what was measured


def test_what_the_model_does_not_explain_is_said_first(first):
    run = first.override({"measured.ettr": 0.78, "cost.usd_per_gpu_h": 2.5})
    answer = plan.make(run)
    lost = answer.unexplained
    assert lost.share == pytest.approx(float(answer.budget.ettr) - 0.78)
    assert lost.usd_per_month == pytest.approx(lost.share * 730.5 * 4096 * 2.5)
    assert answer.report()[1].text == lost.words and "78%" in lost.words and "90%" in lost.words


def test_a_measured_ettr_above_the_model_names_the_input_that_must_be_wrong(first):
    with pytest.raises(InputError) as caught:
        plan.make(first.override({"measured.ettr": 0.95}))
    words = str(caught.value)
    assert "at most 89.8%" in words and "got 95.0%" in words
    mttf_h = float(words.partition("at least ")[2].partition(" h")[0])
    enough = first.override({"failures.job_mttf_h": 1.01 * mttf_h})
    assert plan.make(enough).budget.ettr >= 0.95 - 1e-3
    assert not math.isclose(mttf_h, 9)


def test_what_was_measured_on_another_size_is_not_this_one(first):
    run = first.override({"measured.ettr": 0.78}).override({"cluster.n_gpus": 8192})
    assert plan.make(run).unexplained is None


def test_inputs_that_must_be_wrong_are_asked_at_the_interval_of_the_run(llama3):
    """An hour between checkpoints leaves 80%: what would do is a better value than the given one, or the interval."""
    hourly = llama3.override({"checkpoint.interval_min": 60, "measured": {"ettr": 0.85}})
    with pytest.raises(InputError, match=r"a checkpoint every 7.7 min, not 1 h") as caught:
        plan.make(hourly)
    mttf_h = float(str(caught.value).partition("at least ")[2].partition(" h")[0])
    assert mttf_h > llama3.job_mttf_h


def test_no_failures_seen_contradict_no_measurement():
    run = Scenario.of({"cluster": {"n_gpus": 1024}, "failures": {"n_events": 0, "node_days": 256}})
    answer = plan.make(run.override({"measured.ettr": 0.97}))
    assert answer.is_bound and answer.unexplained is None and answer.report()


PEER = {"name": "peer", "interval_s": 60, "stall_s": 0.5, "load_s": 5, "survives": 0.9}


@pytest.mark.parametrize(
    "more",
    [
        {"checkpoint.tiers": [PEER]},
        {"prediction": {"recall": 0.5, "precision": 0.7, "lead_s": 600, "action_s": 60}},
        {"checkpoint.tiers": [PEER], "prediction": {"recall": 0.5, "precision": 0.7, "lead_s": 600, "action_s": 60}},
        {"failures.modes": [{"name": "SDC", "share": 0.1, "latency_h": 6}]},
    ],
    ids=["tiers", "prediction", "both", "silent"],
)
def test_a_plan_finds_the_interval_where_no_rule_does(first, more):
    answer = plan.make(first.override(more), simulate=False)
    assert answer.report() and answer.details() and answer.report(short=True)
    assert answer.to_dict()["as_given"]["interval_min"] == pytest.approx(answer.band.interval_min)
    assert not answer.has_fixed_interval
