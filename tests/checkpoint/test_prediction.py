"""Announced failures: alarms by counting, the threshold by what acting costs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.checkpoint.prediction import alarm_rate_per_h, heed_threshold_h, recall_of

shares = st.floats(0.01, 1.0)


@given(recall=shares, precision=shares, rate=st.floats(0, 100))
@settings(max_examples=30)
def test_alarms_are_counted_twice_over(recall, precision, rate):
    """Of all alarms the share `precision` is true, and true ones are the share `recall` of failures."""
    assert alarm_rate_per_h(rate, recall, precision) * precision == pytest.approx(rate * recall, rel=1e-12)
    assert alarm_rate_per_h(rate, 0.0, precision) == 0


@given(action=st.floats(1e-3, 1.0), precision=shares, risk=st.floats(0, 5))
@settings(max_examples=30)
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
@settings(max_examples=30)
def test_the_recall_gives_the_score_back(precision, recall):
    score = 2 * precision * recall / (precision + recall)
    assert recall_of(precision, score) == pytest.approx(recall, rel=1e-9)
