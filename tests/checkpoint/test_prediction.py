"""Announced failures: the interval by brute force, the rates by counting, the share by drawing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from ettr.checkpoint import young_interval
from ettr.checkpoint.prediction import (
    alarm_rate_per_h,
    false_alarm_rate_per_h,
    heed_threshold_h,
    predicted_interval,
    recall_of,
    usable_recall,
)
from ettr.core.errors import InputError

shares = st.floats(0.01, 1.0)


@pytest.mark.parametrize("recall", [0.0, 0.3, 0.85, 0.99])
def test_the_interval_is_the_minimum_of_the_first_order_loss(recall):
    """w/τ + λ[(1 - recall) τ/2 + ...]: the rest does not depend on the interval."""
    stall, mttf = 0.02, 3.0
    optimum = optimize.minimize_scalar(
        lambda log_tau: stall / math.exp(log_tau) + (1 - recall) * math.exp(log_tau) / 2 / mttf,
        bounds=(-10, 10),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert predicted_interval(stall, mttf, recall) == pytest.approx(math.exp(optimum.x), rel=1e-6)


def test_the_interval_without_announcements_is_young_s_and_grows_without_bound():
    stall, mttf = np.array([0.0, 0.02, 1.0]), 3.0
    assert predicted_interval(stall, mttf, 0.0).tolist() == young_interval(stall, mttf).tolist()
    intervals_h = predicted_interval(0.02, mttf, np.array([0.0, 0.5, 0.99, 0.9999]))
    assert (np.diff(intervals_h) > 0).all()
    assert intervals_h[2:] / intervals_h[0] == pytest.approx([10, 100], rel=1e-10)
    assert predicted_interval(0.1, math.inf, 0.5) == math.inf


@given(recall=shares, precision=shares, rate=st.floats(0, 100))
def test_alarms_are_counted_twice_over(recall, precision, rate):
    """Of all alarms the share `precision` is true, and true ones are the share `recall` of failures."""
    alarms, false = alarm_rate_per_h(rate, recall, precision), false_alarm_rate_per_h(rate, recall, precision)
    assert alarms * precision == pytest.approx(rate * recall, rel=1e-12)
    assert alarms - false == pytest.approx(rate * recall, rel=1e-9)
    assert false >= 0
    assert false_alarm_rate_per_h(rate, recall, 1.0) == 0 == alarm_rate_per_h(rate, 0.0, precision)


@given(action=st.floats(1e-3, 1.0), precision=shares, risk=st.floats(0, 5))
def test_the_threshold_is_where_heeding_an_alarm_begins_to_pay(action, precision, risk):
    threshold = heed_threshold_h(action, precision)
    if risk > threshold * (1 + 1e-9):
        assert action < precision * risk
    if risk < threshold * (1 - 1e-9):
        assert action > precision * risk


def test_the_usable_share_is_what_leads_leave_time_for():
    rng = np.random.default_rng(2)
    announced = rng.random(200_000) < 0.6
    usable = announced & (rng.exponential(2.0, announced.size) >= 0.5)
    error = usable.std() / math.sqrt(usable.size)
    assert usable_recall(0.6, 0.5, 2.0) == pytest.approx(usable.mean(), abs=4 * error)
    assert usable_recall(0.6, 0.0, 2.0) == 0.6 == usable_recall(0.6, 5.0, math.inf)


def test_the_recall_of_a_published_predictor():
    """Deng et al. (2025) give a precision of 0.904 and an F1 score of 0.893."""
    assert recall_of(0.904, 0.893) == pytest.approx(0.882, abs=5e-4)


@given(precision=shares, recall=shares)
def test_the_recall_gives_the_score_back(precision, recall):
    score = 2 * precision * recall / (precision + recall)
    assert recall_of(precision, score) == pytest.approx(recall, rel=1e-9)


def test_arrays_broadcast():
    intervals_h = predicted_interval(0.1, np.array([1.0, 2.0]), np.array([[0.0], [0.5], [0.9]]))
    assert intervals_h.shape == (3, 2)
    assert intervals_h[1, 1] == predicted_interval(0.1, 2.0, 0.5)
    for answer in (
        alarm_rate_per_h(1, 0.5, 0.5),
        false_alarm_rate_per_h(1, 0.5, 0.5),
        heed_threshold_h(1, 1),
        usable_recall(1, 1, 1),
        recall_of(1, 1),
    ):
        assert isinstance(answer, float)
    assert recall_of(np.array([0.5, 0.9]), 0.6).shape == (2,)


BAD = {
    "recall must be < 1, got 1: if every failure is announced, no regular checkpoint is needed and the interval has no "
    "bound; 0.99 gives ten times Young's interval": lambda: predicted_interval(0.1, 1.0, [0.5, 1.0]),
    "recall must be <= 1, got 1.2": lambda: predicted_interval(0.1, 1.0, 1.2),
    "recall must be >= 0 and finite, got -0.1": lambda: usable_recall(-0.1, 1, 1),
    "mttf_h must be > 0 h, got 0": lambda: predicted_interval(0.1, 0.0, 0.5),
    "stall_h must be >= 0 h and finite, got -1": lambda: predicted_interval(-1, 1.0, 0.5),
    "precision must be > 0 and finite, got 0": lambda: heed_threshold_h(1.0, 0.0),
    "precision must be <= 1, got 1.5": lambda: alarm_rate_per_h(1.0, 0.5, 1.5),
    "rate_per_h must be >= 0 1/h and finite, got -1": lambda: false_alarm_rate_per_h(-1, 0.5, 0.5),
    "action_h must be >= 0 h and finite, got nan": lambda: heed_threshold_h(math.nan, 0.5),
    "mean_lead_h must be > 0 h, got 0": lambda: usable_recall(0.5, 1.0, 0.0),
    "f1 must be > 0 and finite, got 0": lambda: recall_of(0.9, 0.0),
    "f1 must be <= 0.6667, what a recall of 1 gives with the precision 0.5, got 0.7": lambda: recall_of(0.5, 0.7),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused(message):
    with pytest.raises(InputError) as caught:
        BAD[message]()
    assert str(caught.value) == message
