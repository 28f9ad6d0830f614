"""Old checkpoints against corruption: the form against corruptions drawn one by one."""

from __future__ import annotations

import numpy as np
import pytest

from ettr.checkpoint import checkpoints_to_keep


@pytest.mark.parametrize(("latency_h", "interval_h", "n"), [(6.0, 4.0, 3), (0.5, 4.0, 2), (9.0, 1.0, 10), (0.0, 1.0, 1)])
def test_the_number_to_keep_is_the_fewest(latency_h, interval_h, n):
    """Corruptions at any time of a long run, with checkpoints at whole intervals."""
    struck = np.random.default_rng(11).uniform(500, 1000, 4000) * interval_h
    newest = np.floor((struck + latency_h) / interval_h) * interval_h
    assert checkpoints_to_keep(latency_h, interval_h) == n
    assert (newest - (n - 1) * interval_h <= struck).all()
    assert n == 1 or not (newest - (n - 2) * interval_h <= struck).all()


@pytest.mark.parametrize("latency_h", [0.3, 0.7, 1.1, 2.9, 3.0, 123.0])
def test_whole_intervals_need_no_checkpoint_more_for_rounding(latency_h):
    assert checkpoints_to_keep(latency_h, 0.1) == round(latency_h / 0.1) + 1
    assert checkpoints_to_keep(latency_h, latency_h / 7) == 8
