"""What a drill may be asked, and its plan of faults."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ettr.core.errors import InputError, UnknownName
from ettr.drill.settings import KINDS, Settings


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n_workers": 1}, "n_workers must be >= 2"),
        ({"work_s": -1}, "work_s must be > 0"),
        ({"work_s": 0.001}, "work_s must be >= 0.02 s, one step, got 0.001"),
        ({"interval_s": 0.4, "write_s": 0.5, "background": True}, "interval_s must be > 0.5 s, .*, got 0.4"),
        ({"write_s": 0.4}, "heartbeat_s must be > 0.9 s, five steps and two stalls, got 0.5"),
        ({"faults": {"crash": 0}}, "the mean time between crash faults must be > 0"),
        ({"check_steps": 351}, "check_steps must be <= 350, 7 checkpoint intervals, got 351"),
        ({"faults": {"flip": 3}}, "check_steps must be >= 1 with flip faults, .*, got 0"),
    ],
)
def test_what_cannot_be_is_said(arguments, says):
    with pytest.raises(InputError, match=says):
        Settings(**arguments)


def test_an_unknown_fault_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'crash'"):
        Settings(faults={"crsh": 3})


def test_a_seed_is_a_plan():
    values = {"faults": dict.fromkeys(KINDS, 5.0), "check_steps": 1}
    first, again, other = (list(itertools.islice(Settings(seed=seed, **values).planned(), 50)) for seed in (1, 1, 2))
    assert first == again != other
    assert first == sorted(first)
    assert {fault.kind for fault in first} == set(KINDS)
    assert {fault.rank for fault in first} == {0, 1, 2, 3}


def test_faults_come_at_their_rate():
    times = np.array([fault.at_s for fault in itertools.islice(Settings(faults={"crash": 4.0}).planned(), 4000)])
    gaps = np.diff(times, prepend=0.0)
    assert gaps.mean() == pytest.approx(4.0, abs=4 * 4.0 / np.sqrt(4000))
    assert gaps.std() == pytest.approx(4.0, rel=0.1)  # exponential
