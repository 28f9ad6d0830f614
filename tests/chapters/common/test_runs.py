"""The run of a chapter: simplified, shortened and at its best interval."""

from __future__ import annotations

from functools import cache

import pytest

from ettr import Scenario, budget
from ettr_book.chapters.common.runs import affordable, followed, for_timeline, of_failures, shortened


@cache
def run(name: str = "llama3-405b") -> Scenario:
    return Scenario.load(name)


def test_what_no_closed_form_follows_is_named_in_the_title():
    pooled = run().override({"spares": {"n_nodes": 8}, "repair": {"manual_h": 24}})
    simpler = followed(pooled)
    assert simpler.title == f"{run().title}, without spares that run out (spares, repair)"
    assert budget.exact(simpler).ettr == pytest.approx(budget.exact(run()).ettr)
    assert followed(run()) == run()


def test_a_run_of_many_failures_is_simulated_less():
    large = run().override({"cluster.n_gpus": 1_000_000, "recovery.init_s_per_1000_gpus": 0})
    assert affordable(run(), 300) == 300 and affordable(large, 300) < 30
    assert of_failures(run(), 1e5) == run() and of_failures(large, 1e5).productive_h < run().productive_h
    assert shortened(run(), 0.5).productive_h == run().productive_h / 2


def test_a_timeline_is_of_as_many_checkpoints_as_it_can_hold():
    free = {"checkpoint.interval_min": 1 / 60, "checkpoint.stall_s": 0, "checkpoint.persist_s": 0}
    often = run().override({**free, "job.productive_h": 2000})
    assert for_timeline(run()) == run()
    assert for_timeline(often).productive_h / often.interval_h == pytest.approx(1e6)
