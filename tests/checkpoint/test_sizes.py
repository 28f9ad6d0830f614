"""Sizes and transfer times against worked values and their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
