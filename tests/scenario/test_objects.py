"""Scenarios and answers as objects: made by name, told apart, kept in sets, and shown in a line and a page."""

from __future__ import annotations

import copy
import functools
import pickle
from pathlib import Path
from typing import Any

import pytest

from ettr import Scenario, budget, failures, logs, plan, recommendation, simulate
from ettr.core.errors import InputError

LOG = Path(__file__).parents[2] / "data" / "glm130b_events.csv"
FIRST = {"name": "first", "cluster": {"n_gpus": 4096}, "failures": {"job_mttf_h": 9}}
FAULTS = [
    {"name": "a"},
    {**FIRST, "cluster": {"n_gpus": -8}},
    {**FIRST, "checkpoint": {"stal_s": 1}},
    {**FIRST, "failures": {"job_mttf_h": 9, "modes": [{"name": "gpu", "share": 2}]}},
    {**FIRST, "spares": {"n_nodes": 4}},
    {**FIRST, "evidence": {"checkpoint.stal_s": {"status": "assumed"}}},
]


class Named(Scenario):
    """A scenario of somebody who has more to say."""

    owner: str = "nobody"


# --------------------------------------------------------------------------- a scenario by its sections


@pytest.mark.parametrize("values", FAULTS, ids=str)
def test_sections_are_refused_in_the_words_of_of(values):
    with pytest.raises(InputError) as expected:
        Scenario.of(values)
    for made in (Scenario, Named):
        with pytest.raises(InputError) as caught:
            made(**values)
        assert str(caught.value).replace(", owner", "") == str(expected.value)


def test_a_class_of_ones_own_keeps_its_fields():
    named = Named(**FIRST, owner="us")
    longer = named.override({"checkpoint.interval_min": 30})
    assert (type(longer), longer.owner, longer.interval_min) == (Named, "us", 30)
    assert pickle.loads(pickle.dumps(longer)) == copy.deepcopy(longer) == longer


# --------------------------------------------------------------------------- objects


@functools.cache
def log() -> Any:
    columns = {"start": "time", "cause": "kind"}
    return logs.read(LOG, n_nodes=96, window="2022-05-06/2022-06-29", columns=columns, planned="start|planned")


def run(**changes: Any) -> Scenario:
    return Scenario.load("llama3-405b").override(changes)


OBJECTS = {
    "Scenario": run,
    "Plan": lambda: plan.make(run()),
    "Simulation": lambda: simulate(run(), 20),
    "TimeBudget": lambda: budget.exact(run()),
    "FailureLog": log,
    "Requirement": lambda: plan.required(run(), "recovery.restart_min", 0.9),
    "Comparison": lambda: recommendation.mitigations(run(**{"job.productive_h": 24}), ["in-process-restart"], n_runs=2),
    "Fit": lambda: failures.fit(log()),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_shown_in_a_line_and_a_page(name):
    thing = OBJECTS[name]()
    line, page = repr(thing), thing._repr_html_()
    assert line.startswith(f"{name}(") and len(line) <= 110 and "\n" not in line
    assert "<p>" in page and "<table>" in page


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_can_be_a_key(name):
    thing = OBJECTS[name]()
    assert {thing: name}[thing] == name and thing in {thing}


def test_a_budget_of_arrays_is_no_key():
    spent = budget.exact(run(), {"checkpoint.interval_min": [5.0, 10.0]})
    with pytest.raises(TypeError, match="unhashable type"):
        hash(spent)
    assert len(repr(spent)) <= 110 and spent._repr_html_()
