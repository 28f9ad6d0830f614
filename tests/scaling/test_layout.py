"""Memory of a cut, and the cuts that are tried."""

from __future__ import annotations

import numpy as np
import pytest

from ettr.scaling import Layout, Transformer, candidates, memory_gb, micro_batches

LLAMA = Transformer(405e9, 126, 16384, 8192, 1 / 16)
ANY = Layout(tensor=None, context=None, pipeline=None, sharded=None)


def test_weights_gradients_and_moments_of_one_gpu_are_18_bytes_a_weight():
    tiny = Transformer(1e9, 1, 1, 1)
    assert memory_gb(tiny, Layout(), 1, 1) == pytest.approx(18 + 20e-9)
    assert memory_gb(tiny, Layout(), 1000, 1000) == pytest.approx(6 + 12 / 1000, rel=1e-6)
    sharded = memory_gb(tiny, Layout(sharded=True), 1000, 1000)
    assert sharded == pytest.approx(18 / 1000 + 2 * 2, rel=1e-6)  # and two gathered layers, though there is but one


def test_memory_of_llama_3_by_hand():
    layout = Layout(8, 1, 16, 8)
    state_gb = 405e9 / 128
    kept = state_gb * (2 + 4 + 12 / (16384 / 128))
    under_way = 16 + 15 / 8  # of an interleaved pipeline, and no more than there are micro-batches
    activations = 8192 / 8 * 16384 * 20 * 126 / 16 * under_way
    assert micro_batches(LLAMA, layout, 16384, 2**24) == 16
    assert memory_gb(LLAMA, layout, 16384, 2**24) == pytest.approx((kept + activations) / 1e9)
    again = Layout(8, 1, 16, 8, recompute=True)
    less = 8192 / 8 * 16384 * (2 * 126 / 16 * under_way + 20)
    assert memory_gb(LLAMA, again, 16384, 2**24) == pytest.approx((kept + less) / 1e9)


def test_a_short_queue_of_micro_batches_holds_no_more_than_itself():
    small = Transformer(1.0, 16, 1024, 8192)
    single, many = (memory_gb(small, Layout(pipeline=8), 8, 8192 * m) for m in (1, 100))
    assert single == pytest.approx(20 * 2 * 1024 * 8192 * (1 + 7) / 1e9, rel=1e-6)
    assert many == pytest.approx(20 * 2 * 1024 * 8192 * (8 + 7) / 1e9, rel=1e-6)


def test_the_layouts_that_are_tried():
    tried = candidates(LLAMA, 8, ANY)
    assert set(tried.tensor) == {1, 2, 4, 8} and set(tried.context) == {1}
    assert all(126 % p == 0 or 128 % p == 0 for p in tried.pipeline) and {1, 14, 16, 64} <= set(tried.pipeline)
    assert not np.any(tried.sharded & (tried.pipeline > 1))
    assert np.all((tried.virtual_stages >= 1) & (tried.virtual_stages <= 8))
    stages = tried.virtual_stages * tried.pipeline
    assert np.all((126 % stages == 0) | (128 % stages == 0))  # turns of as many layers each
    assert set(tried.virtual_stages[tried.pipeline == 16]) == {8}
    assert set(tried.virtual_stages[tried.pipeline == 14]) == {3}
    assert len({str(tried.at(i)) for i in range(tried.tensor.size)}) == tried.tensor.size  # no two alike


def test_long_sequences_are_cut():
    long = Transformer(8e9, 32, 4096, 131072)
    assert set(candidates(long, 8, ANY).context) == {1, 2, 4, 8, 16}
    assert set(candidates(long, 8, Layout(**{**vars(ANY), "context": 4})).context) == {4}


def test_what_is_given_stays():
    name, value = "tensor", 3
    tried = candidates(LLAMA, 8, Layout(**{**vars(ANY), name: value}))
    assert tried.tensor.size and np.all(getattr(tried, name) == value)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (Layout(sharded=True, recompute=True, micro_batch=2), "data parallel only, micro-batch 2, sharded, recomputed"),
        (Layout(8, 16, 16, 8), "tensor 8, context 16, pipeline 16 with 8 virtual stages"),
    ],
)
def test_a_layout_in_words(layout, words):
    assert str(layout) == words
    assert layout.replica_gpus == layout.tensor * layout.context * layout.pipeline


def test_replicas_that_step_on_their_own_hold_a_whole_optimizer():
    layout = Layout(8, 1, 16, 8)
    more = memory_gb(LLAMA, layout, 16384, 2**24, local_optimizers=True) - memory_gb(LLAMA, layout, 16384, 2**24)
    assert more == pytest.approx(405e9 / 128 * 12 * (1 - 1 / 128) / 1e9)
