"""Announced failures: alarms by counting, the threshold by what acting costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettr.checkpoint.prediction import (
    alarm_rate_per_h,
    heed_threshold_h,
    recall_of,
)
from ettr.core.errors import InputError

shares = st.floats(0.01, 1.0)


@given(recall=shares, precision=shares, rate=st.floats(0, 100))
def test_alarms_are_counted_twice_over(recall, precision, rate):
    """Of all alarms the share `precision` is true, and true ones are the share `recall` of failures."""
    assert alarm_rate_per_h(rate, recall, precision) * precision == pytest.approx(rate * recall, rel=1e-12)
    assert alarm_rate_per_h(rate, 0.0, precision) == 0


@given(action=st.floats(1e-3, 1.0), precision=shares, risk=st.floats(0, 5))
def test_the_threshold_is_where_heeding_an_alarm_begins_to_pay(action, precision, risk):
    threshold = heed_threshold_h(action, precision)
    if risk > threshold * (1 + 1e-9):
        assert action < precision * risk
    if risk < threshold * (1 - 1e-9):
        assert action > precision * risk


def test_the_recall_of_a_published_predictor():
    """Deng et al. (2025) give a precision of 0.904 and an F1 score of 0.893."""
    assert recall_of(0.904, 0.893) == pytest.approx(0.882, abs=5e-4)


@given(precision=shares, recall=shares)
def test_the_recall_gives_the_score_back(precision, recall):
    score = 2 * precision * recall / (precision + recall)
    assert recall_of(precision, score) == pytest.approx(recall, rel=1e-9)


def test_arrays_broadcast():
    for answer in (alarm_rate_per_h(1, 0.5, 0.5), heed_threshold_h(1, 1), recall_of(1, 1)):
        assert isinstance(answer, float)
    assert recall_of(np.array([0.5, 0.9]), 0.6).shape == (2,)


BAD = {
    "recall must be <= 1, got 1.2": lambda: alarm_rate_per_h(1.0, 1.2, 0.5),
    "recall must be >= 0 and finite, got -0.1": lambda: alarm_rate_per_h(1.0, -0.1, 0.5),
    "precision must be > 0 and finite, got 0": lambda: heed_threshold_h(1.0, 0.0),
    "precision must be <= 1, got 1.5": lambda: alarm_rate_per_h(1.0, 0.5, 1.5),
    "rate_per_h must be >= 0 1/h and finite, got -1": lambda: alarm_rate_per_h(-1, 0.5, 0.5),
    "action_h must be >= 0 h and finite, got nan": lambda: heed_threshold_h(math.nan, 0.5),
    "f1 must be > 0 and finite, got 0": lambda: recall_of(0.9, 0.0),
    "f1 must be <= 0.6667, what a recall of 1 gives with the precision 0.5, got 0.7": lambda: recall_of(0.5, 0.7),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused(message):
    with pytest.raises(InputError) as caught:
        BAD[message]()
    assert str(caught.value) == message
