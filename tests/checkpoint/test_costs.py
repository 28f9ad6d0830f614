"""Sizes and transfers, announced failures, and old checkpoints against corruption."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.checkpoint import checkpoints_to_keep
from ettr.checkpoint.prediction import alarm_rate_per_h, heed_threshold_h, recall_of
from ettr.checkpoint.sizes import checkpoint_bytes, needed_gb_s, transfer_h

positive = st.floats(1e-3, 1e6)


@pytest.mark.parametrize(("shared_gb_s", "seconds"), [(2000, 2.43), (7000, 0.69)])
def test_a_405b_model_to_a_fast_store(shared_gb_s, seconds):
    """405e9 parameters of 12 bytes at 2 and at 7 TB/s."""
    size = checkpoint_bytes(405e9)
    assert size == 4.86e12
    assert transfer_h(size, shared_gb_s) * 3600 == pytest.approx(seconds, abs=0.005)


def test_what_is_written_shrinks_with_change_and_compression():
    assert checkpoint_bytes(1e9, 14, changed_share=0.25, compression_ratio=2) == pytest.approx(1.75e9, rel=1e-15)


def test_nodes_saturate_the_store():
    """Ten nodes of 10 GB/s take a tenth of one's time; from 200 on the store of 2 TB/s sets it."""
    times = transfer_h(1e12, 2000, np.array([1, 10, 199, 200, 20_000]), 10) * 3600
    assert times == pytest.approx([100, 10, 100 / 199, 0.5, 0.5], rel=1e-14)


@given(size=positive, shared=positive, n_nodes=st.integers(1, 10_000), node=positive)
@settings(max_examples=40)
def test_times_and_bandwidths_are_each_other_s_inverse(size, shared, n_nodes, node):
    time = transfer_h(size * 1e9, shared, n_nodes, node)
    assert needed_gb_s(size * 1e9, time) == pytest.approx(min(shared, n_nodes * node), rel=1e-12)
    assert time >= transfer_h(size * 1e9, shared) * (1 - 1e-12)
    assert (time > transfer_h(size * 1e9, shared) * (1 + 1e-12)) == (n_nodes < shared / node * (1 - 1e-12))


def test_limits():
    assert transfer_h(5.0, math.inf) == 0 == transfer_h(0.0, 1.0)
    assert transfer_h(1e12, math.inf, 5, 10) == transfer_h(1e12, 50)
    assert needed_gb_s(1.0, math.inf) == 0


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


@pytest.mark.parametrize(
    ("latency_h", "interval_h", "n"), [(6.0, 4.0, 3), (0.5, 4.0, 2), (9.0, 1.0, 10), (0.0, 1.0, 1)]
)
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
