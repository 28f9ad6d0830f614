"""Old checkpoints against corruption: the forms against corruptions drawn one by one, and against each other."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.checkpoint.corruption import checkpoints_to_keep, risk_of_none_clean
from refusals import refusal

DISTRIBUTIONS = ("constant", "exponential")
CASES = [(6.0, 4.0, 2), (0.5, 4.0, 1), (9.0, 1.0, 4), (3.0, 3.0, 2)]


def drawn(latency_h, interval_h, n_kept, distribution, n=40_000):
    """Corruptions at any time of a long run, with checkpoints at whole intervals: whether one was clean."""
    rng = np.random.default_rng(11)
    struck = rng.uniform(500, 1000, n) * interval_h
    noticed_h = struck + (latency_h if distribution == "constant" else rng.exponential(latency_h, n))
    newest = np.floor(noticed_h / interval_h)
    kept = (newest[:, None] - np.arange(n_kept)) * interval_h
    return (kept <= struck[:, None]).any(axis=1)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(("latency_h", "interval_h", "n_kept"), CASES)
def test_the_risk_is_what_corruptions_do(latency_h, interval_h, n_kept, distribution):
    clean = drawn(latency_h, interval_h, n_kept, distribution)
    error = max(clean.std() / math.sqrt(clean.size), 1e-12)
    risk = risk_of_none_clean(latency_h, interval_h, n_kept, distribution)
    assert risk == pytest.approx(1 - clean.mean(), abs=4 * error)


def test_a_worked_value():
    """Found 6 h later, checkpoints every 4 h: two do not suffice if it struck in the second half of its interval."""
    assert risk_of_none_clean(6.0, 4.0, 2) == 0.5
    assert risk_of_none_clean(6.0, 4.0, np.array([1, 2, 3])).tolist() == [1.0, 0.5, 0.0]
    assert checkpoints_to_keep(6.0, 4.0) == 3 == math.ceil(6 / 4) + 1
    assert checkpoints_to_keep(6.0, 4.0, risk=0.5) == 2


@given(
    latency=st.floats(1e-3, 1e3),
    interval=st.floats(0.1, 10),
    risk=st.floats(1e-9, 0.99),
    exponential=st.booleans(),
)
@settings(max_examples=80)
def test_the_number_to_keep_is_the_fewest(latency, interval, risk, exponential):
    distribution = DISTRIBUTIONS[exponential]
    n = checkpoints_to_keep(latency, interval, risk, distribution)
    assert n >= 1 and n == int(n)
    assert risk_of_none_clean(latency, interval, n, distribution) <= risk * (1 + 1e-8) + 1e-11 * latency / interval
    if n > 1:
        fewer = risk_of_none_clean(latency, interval, n - 1, distribution)
        assert fewer > risk * (1 - 1e-8) - 1e-11 * latency / interval
    if exponential:
        assert n <= math.ceil(latency * math.log(1 / risk) / interval) + 1


@given(latency=st.floats(0, 100), interval=st.floats(0.1, 10), k=st.floats(1e-3, 1e3))
@settings(max_examples=30)
def test_it_has_no_unit(latency, interval, k):
    for distribution in DISTRIBUTIONS:
        n = np.array([1.0, 3.0, math.inf])
        risk = risk_of_none_clean(latency, interval, n, distribution)
        assert risk_of_none_clean(k * latency, k * interval, n, distribution) == pytest.approx(risk, abs=1e-9)
        assert (np.diff(risk) <= 0).all() and risk[-1] == 0 and ((risk >= 0) & (risk <= 1)).all()


@pytest.mark.parametrize("latency_h", [0.3, 0.7, 1.1, 2.9, 3.0, 123.0])
def test_whole_intervals_need_no_checkpoint_more_for_rounding(latency_h):
    assert checkpoints_to_keep(latency_h, 0.1) == round(latency_h / 0.1) + 1
    assert checkpoints_to_keep(latency_h, latency_h / 7) == 8


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_without_latency_the_newest_is_clean(distribution):
    assert checkpoints_to_keep(0.0, 1.0, 0.5, distribution) == 1
    assert risk_of_none_clean(0.0, 1.0, 1, distribution) == 0
    assert checkpoints_to_keep(0.0, 1.0, 0.0, distribution) == 1


def test_a_latency_far_above_the_interval():
    """Every kept checkpoint is corrupt, whatever the distribution; no digits run out."""
    for distribution in DISTRIBUTIONS:
        assert risk_of_none_clean(1e9, 1.0, 5, distribution) == pytest.approx(1, abs=1e-8)
    assert checkpoints_to_keep(1e-9, 1.0, 1e-12, "exponential") == 2
    assert risk_of_none_clean(1e-9, 1.0, 1, "exponential") == pytest.approx(1e-9)


@pytest.mark.parametrize("ask", [checkpoints_to_keep, risk_of_none_clean])
def test_an_unknown_distribution_is_answered_with_the_valid_ones(ask):
    message = refusal(ask, 1, 1, 1, "normal")
    assert re.search("unknown distribution 'normal'.*Valid: constant, exponential", message)
