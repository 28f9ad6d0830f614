"""The first answer of the book."""

from __future__ import annotations

import pytest

from ettr import Scenario, plan
from ettr_book.chapters.index import headline


@pytest.mark.parametrize(("interval_min", "is_said"), [(8, False), (60, True)])
def test_the_best_interval_is_named_where_the_own_one_is_far_from_it(interval_min, is_said):
    run = Scenario.load("llama3-405b").override({"checkpoint.interval_min": interval_min})
    assert ("would be best" in headline(plan.make(run)).text) is is_said
