"""The first answer of the book."""

from __future__ import annotations

import pytest

from ettr import Scenario, plan
from ettr_book.chapters.index import cost_of_a_failure_h, headline


@pytest.mark.parametrize(("interval_min", "is_said"), [(8, False), (60, True)])
def test_the_best_interval_is_named_where_the_own_one_is_far_from_it(interval_min, is_said):
    run = Scenario.load("llama3-405b").override({"checkpoint.interval_min": interval_min})
    assert ("would be best" in headline(plan.make(run)).text) is is_said


def test_a_failure_costs_its_way_back_and_half_an_interval_in_a_short_job_as_in_a_long_one():
    run = Scenario.load("llama3-405b").override({"maintenance": None, "job.productive_h": 500})
    way_back_h = run.detection_h + run.restart_h
    assert cost_of_a_failure_h(run) == pytest.approx(way_back_h + run.interval_h / 2, rel=0.1)
    assert cost_of_a_failure_h(run.override({"job.productive_h": 5000})) == pytest.approx(cost_of_a_failure_h(run))
