"""Every number at the ends of floats is refused by name, and at the ends of its own bounds it has a finite answer."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

import extreme_numbers as extreme
from ettr import Gpu, Scenario, budget, plan
from ettr.core.errors import EttrError, OutsideValidity
from refusals import refusal

NUMBERS = extreme.numeric_paths(Scenario)
RULE = re.compile(r"must be (0 or )?(>=|<=|<|>|finite|a (whole )?number|a list)")


def names_field_and_rule(message: str, path: str) -> bool:
    name = path.rpartition(".")[2]
    return bool(re.search(rf"\b{name}\b[^:]* {RULE.pattern}", message)) and "\n" not in message


def test_the_ends_of_floats_are_refused_by_field_and_rule():
    for path in NUMBERS:
        run, place = next(extreme.places_of(path))
        for value in extreme.FLOATS:
            assert names_field_and_rule(refusal(run.override, {place: value}), path), (path, value)
    for path in extreme.numeric_paths(Gpu):
        gpu = extreme.gpu_with(path)
        for value in extreme.FLOATS:
            assert names_field_and_rule(refusal(extreme.set_number, gpu, path, value), path), (path, value)


def test_arrays_are_bounded_as_single_values_are():
    n_refused = 0
    for run in extreme.bases():
        for path in run.swept:
            for value in extreme.FLOATS:
                words = refusal(budget.exact, run, {path: [1.0, value]})
                assert names_field_and_rule(words, path), (path, value, words)
                n_refused += 1
    assert n_refused > 10_000


def test_a_bound_is_told_with_unit_value_and_file(tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text("cluster: {n_gpus: 4096}\nfailures: {job_mttf_h: 9}\ncheckpoint: {interval_min: 1e-320}\n")
    assert refusal(Scenario.load, path) == f"checkpoint.interval_min must be >= 0.0001 min, got 1e-320 ({path})"
    path.write_text("cluster: {n_gpus: 4096}\nfailures: {job_mttf_h: 9}\ncheckpoint: {stall_s: 5e-324}\n")
    assert refusal(Scenario.load, path) == f"checkpoint.stall_s must be 0 or >= 1e-30 s, got 5e-324 ({path})"


def finite(value: Any) -> bool:
    """Whether all numbers of an answer are finite."""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def at_their_ends() -> Iterator[Scenario]:
    """Runs with each number at its own ends, where it may be there."""
    for path in NUMBERS:
        for value in extreme.bounds_of_field(path, Scenario):
            if (run := extreme.accepted(path, value)) is not None:
                yield run


def test_at_its_bounds_a_number_has_a_finite_budget_or_a_named_refusal():
    for run in at_their_ends():
        with contextlib.suppress(EttrError):
            hours = budget.exact(run)
            assert finite(hours.to_dict()) and 1e-6 <= hours.ettr <= 1, run


@pytest.mark.slow
def test_at_its_bounds_a_number_has_a_finite_plan_or_a_named_refusal():
    for run in at_their_ends():
        with contextlib.suppress(EttrError):
            answer = plan.make(run, simulate=False)
            answer.report()
            record = answer.to_dict()
            assert finite(record) and json.dumps(record, allow_nan=False), run


HARDLY = [
    {"recovery.person_share": 0.1, "recovery.person_min": 1e10},
    {"job.productive_h": 1e-3, "recovery.queue_min": 1e6},
]


@pytest.mark.parametrize("changes", HARDLY)
def test_a_run_that_hardly_trains_is_refused_wherever_it_is_asked_about(plain_run, changes):
    run = plain_run.override({"job.include_start": True, **changes})
    for formula in (budget.exact, budget.first_order, budget.finishing):
        with pytest.raises(OutsideValidity, match="holds only for"):
            formula(run)
    with pytest.raises(OutsideValidity, match="This job practically never ends"):
        plan.make(run)
    changing = run.override({"failures.burn_in": {"factor": 2, "decay_days": 10}})
    with pytest.raises(OutsideValidity, match="budget.over_time holds only for"):
        budget.over_time(changing)
