"""Formulas of floors: inverses, limits and published numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import power
from ettr.core.errors import InputError


@pytest.mark.parametrize(("trough", "share"), [(0.2, 0.866), (0.45, 0.793), (0.5, 0.768), (0.75, 0.404)])
def test_many_steps_give_the_published_overhead(trough, share):
    assert power.floor_overhead(share, trough, 0.9) == pytest.approx(0.105, abs=5e-4)


def test_a_floor_costs_more_the_higher_it_is_and_nothing_below_the_trough():
    floors = np.linspace(0, 1, 50)
    cost = power.floor_overhead(0.8, 0.5, floors, 0.95)
    assert (np.diff(cost) >= 0).all() and (cost[floors <= 0.5] == 0).all()
    assert power.floor_overhead(0.8, 0.5, 1.0, 1.0) == pytest.approx(0.2 * 0.5 / 0.9)
    assert power.floor_overhead(1.0, 0.5, 0.9) == 0.0  # never waits


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power.floor_overhead(1.2, 0.5, 0.9), "compute_share must be <= 1"),
        (lambda: power.floor_overhead(0.5, 0.95, 0.9, 0.9), "trough must be <= peak"),
        (lambda: power.floor_overhead(0.0, 0.0, 0.9), "must take some energy"),
        (lambda: power.floor_range(0.9, 0.0), "overshoot must be > 0"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
