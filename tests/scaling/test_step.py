"""Duration of a step: by hand, in its limits, and monotone in everything that is lost."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.scaling import Constants, Layout, Network, StepTime, Sync, Transformer, step_time
from ettr.thermal import largest_of

LLAMA = Transformer(405e9, 126, 16384, 8192, 1 / 16)
SMALL = Transformer(7e9, 32, 4096, 4096, 0.25)
PARTS = [part.name for part in fields(StepTime)]
REAL = Constants(0.56, 0.02, 0.5, 4.7)


def of(model=LLAMA, layout=None, n=16384, batch=2**24, peak=989.4, links=None, constants=REAL, sync=None):
    return step_time(
        model, layout or Layout(8, 1, 16, 8), n, batch, peak, links or Network(450, 50, 8, 3072, 7), constants, sync
    )


# --------------------------------------------------------------------------- worked values


def test_the_bubble_of_llama_3_is_that_of_an_interleaved_pipeline():
    """16 stages of 8 turns and 16 micro-batches: 15 / (8 x 16) of the work, 12% (Narayanan et al. 2021)."""
    step = of(links=Network(), constants=Constants())
    assert step.bubble_s / step.ideal_s == pytest.approx(15 / 128)
    assert step.mfu == pytest.approx(128 / 143)


def test_a_step_put_together_by_hand():
    """Llama 3 on 16,384 GPUs, each term from its bytes and operations."""
    step, m, gpus = of(), 16, 16384
    flop = (6 * 405e9 + 6 * 126 * 16384 * 8192) * 2**24
    ideal = flop / (gpus * 989.4e12)
    tensor = m * 126 / 16 * 8 * 7 / 8 * (2 * 8192 * 16384) / 450e9
    busy = ideal / 0.56
    worked = busy + tensor
    bubble = 15 / 8 / 16 * worked
    handover = 2 * 15 * (2 * 8192 * 16384 / 8 / 50e9 + 4.7e-6)
    members = gpus / (8 * 16)  # 24 replicas of 128 GPUs in a pod of 3,072: all of its links are theirs
    exchange = 6 * 405e9 / (8 * 16) * (members - 1) / members / 50e9 + 2 * (members - 1) * 4.7e-6
    assert exchange * 0.5 > exchange - busy
    slowest = 0.02 * largest_of(2048) * (worked + bubble)
    by_hand = {
        "ideal_s": ideal,
        "kernels_s": busy - ideal,
        "recompute_s": 0,
        "tensor_s": tensor,
        "context_s": 0,
        "bubble_s": bubble,
        "handover_s": handover,
        "data_s": 0.5 * exchange,
        "stragglers_s": slowest,
    }
    assert {name: float(getattr(step, name)) for name in PARTS} == pytest.approx(by_hand, rel=1e-7)
    assert step.total_s == pytest.approx(sum(by_hand.values()))


def test_a_ring_moves_twice_its_bytes_less_a_member_each():
    """An all-reduce of S bytes over R takes 2 (R - 1) / R S / B: here 6 bytes a weight are both halves of it."""
    step = of(SMALL, Layout(), 16, 2**24, links=Network(450, 50), constants=Constants(overlap=0.0))
    assert step.data_s == pytest.approx(6 * 7e9 * 15 / 16 / 400e9)  # eight links of a node
    inside = of(SMALL, Layout(), 8, 2**24, links=Network(450, 50), constants=Constants(overlap=0.0))
    assert inside.data_s == pytest.approx(6 * 7e9 * 7 / 8 / 450e9)


def test_sharded_weights_are_gathered_twice_and_scattered_once_in_each_layer_and_micro_batch():
    constants = Constants(overlap=0.0, latency_us=4.7)
    m = 2**24 / (128 * SMALL.sequence_tokens)
    step = of(SMALL, Layout(sharded=True), 128, 2**24, links=Network(450, 50), constants=constants)
    assert m > 1
    assert step.data_s == pytest.approx(m * (6 * 7e9 * 127 / 128 / 400e9 + 3 * 32 * 127 * 4.7e-6))


def test_keys_and_values_of_the_others_are_gathered_for_long_sequences():
    long = replace(LLAMA, sequence_tokens=131072)
    step = of(long, Layout(8, 16, 16, 8), constants=Constants())
    m = 2**24 / (8 * 131072)
    gathered = 3 * 2 * 15 * (2 * 131072 / 16 * 16384) / 16 / 8
    assert step.context_s == pytest.approx(m * 126 / 16 * gathered / 50e9)


def test_recomputing_is_a_third_of_the_work():
    step = of(layout=Layout(8, 1, 16, 8, recompute=True))
    assert step.recompute_s == pytest.approx((step.ideal_s + step.kernels_s) / 3)


def test_overlap_hides_a_share_and_never_more_than_there_is_to_hide_behind():
    slow = Network(450, 0.5)
    for overlap in (0.0, 0.5, 1.0):
        step = of(SMALL, Layout(), 1024, 2**24, links=slow, constants=Constants(overlap=overlap))
        exchange = 6 * 7e9 * 1023 / 1024 / 4e9
        assert exchange > step.ideal_s
        assert step.data_s == pytest.approx(max(exchange * (1 - overlap), exchange - step.ideal_s))


# --------------------------------------------------------------------------- limits

FREE = Constants(1.0, 0.0, 1.0, 0.0)
CUTS = st.builds(
    Layout,
    tensor=st.sampled_from([1, 2, 8, 16]),
    context=st.sampled_from([1, 2, 4]),
    pipeline=st.sampled_from([1, 2, 14, 16]),
    virtual_stages=st.integers(1, 4),
    micro_batch=st.integers(1, 2),
    sharded=st.booleans(),
    recompute=st.booleans(),
)
SIZES = st.floats(2048, 32768)
LOSSES = st.builds(
    Constants,
    kernel_efficiency=st.floats(0.3, 1),
    jitter=st.floats(0, 0.2),
    overlap=st.floats(0, 1),
    latency_us=st.floats(0, 20),
)
LINKS = st.builds(
    Network,
    inside_gb_s=st.floats(100, 900),
    across_gb_s=st.floats(5, 90),
    gpus_per_node=st.sampled_from([4, 8, 72]),
    pod_gpus=st.sampled_from([256.0, 3072.0, math.inf]),
    oversubscription=st.floats(1, 10),
    aware_placement=st.booleans(),
    failed_share=st.floats(0, 0.3),
    adaptive=st.booleans(),
)
BATCH = 2.0**29


@pytest.mark.parametrize(("links", "sharded"), [(Network(), False), (Network(1e30, 1e30), True)])
def test_without_any_loss_a_step_is_ideal_and_throughput_linear(links, sharded):
    sizes = np.geomspace(8, 1e6, 50)
    step = of(SMALL, Layout(sharded=sharded), sizes, 2**40, links=links, constants=FREE)
    for name in PARTS[1:]:
        assert np.all(getattr(step, name) < 1e-15 * step.ideal_s), name
    per_gpu = 2**40 / step.total_s / sizes
    assert per_gpu == pytest.approx(989.4e12 / SMALL.flop_per_token)
    assert step.mfu == pytest.approx(1) and np.all(step.waiting_share < 1e-12)


@given(CUTS, SIZES, LOSSES, LINKS, st.floats(1, 64))
def test_parts_are_no_less_than_zero_and_sum_to_the_step(layout, n, constants, links, every):
    step = of(layout=layout, n=n, batch=BATCH, links=links, constants=constants, sync=Sync(every, 2.0, 0.01))
    parts = [float(getattr(step, name)) for name in PARTS]
    assert min(parts) >= 0 and np.isfinite(parts).all()
    assert step.total_s == pytest.approx(sum(parts))
    assert 0 < step.mfu <= 1 and 0 <= step.waiting_share < 1
    parts_s = step.ideal_s + step.kernels_s + step.recompute_s
    assert step.waiting_share == pytest.approx(1 - parts_s / step.total_s, abs=1e-12)


# --------------------------------------------------------------------------- monotone

WORSE = {
    "across": lambda links, losses: (replace(links, across_gb_s=0.8 * links.across_gb_s), losses),
    "oversubscription": lambda links, losses: (replace(links, oversubscription=1.3 * links.oversubscription), losses),
    "failed links": lambda links, losses: (replace(links, failed_share=links.failed_share + 0.1), losses),
    "jitter": lambda links, losses: (links, replace(losses, jitter=losses.jitter + 0.01)),
    "latency": lambda links, losses: (links, replace(losses, latency_us=losses.latency_us + 1)),
}


@pytest.mark.parametrize("loss", WORSE)
@settings(max_examples=12)
@given(CUTS, SIZES, LOSSES, LINKS)
def test_no_loss_makes_a_step_shorter(loss, layout, n, constants, links):
    links_then, constants_then = WORSE[loss](links, constants)
    now = of(layout=layout, n=n, batch=BATCH, links=links, constants=constants).total_s
    then = of(layout=layout, n=n, batch=BATCH, links=links_then, constants=constants_then).total_s
    assert then >= now * (1 - 1e-12)


@settings(max_examples=40)
@given(CUTS, SIZES, st.floats(1, 10), st.sampled_from([2, 4, 8, 32]))
def test_nodes_anywhere_are_no_faster_where_a_ring_leaves_its_pod_once(layout, n, over, members):
    """Aware placement lets one flow in so many members leave; anywhere, all but those of the own pod do."""
    pod = float(layout.replica_gpus * members)
    if n < 2 * pod:
        return
    links = Network(450, 50, 8, pod, over)
    aware, anywhere = (
        of(layout=layout, n=n, batch=BATCH, links=replace(links, aware_placement=b)).total_s for b in (True, False)
    )
    assert anywhere >= aware * (1 - 1e-12)


# --------------------------------------------------------------------------- scale, loose exchange, arrays


@settings(max_examples=30)
@given(CUTS, SIZES, LOSSES, LINKS, st.floats(0.1, 10))
def test_hardware_k_times_as_fast_takes_a_kth_of_the_time(layout, n, constants, links, k):
    faster = replace(links, inside_gb_s=k * links.inside_gb_s, across_gb_s=k * links.across_gb_s)
    quick = replace(constants, latency_us=constants.latency_us / k)
    now = of(layout=layout, n=n, batch=BATCH, links=links, constants=constants)
    then = of(layout=layout, n=n, batch=BATCH, peak=k * 989.4, links=faster, constants=quick)
    for name in PARTS:
        assert getattr(then, name) == pytest.approx(getattr(now, name) / k, rel=1e-9, abs=1e-12), name


def test_local_sgd_divides_the_exchange_by_its_steps_and_the_wait_by_their_root():
    constants = Constants(0.56, 0.02, 0.0, 4.7)
    synchronous, single, nine = (of(constants=constants, sync=sync) for sync in (None, Sync(), Sync(9)))
    assert single == synchronous
    assert nine.data_s == pytest.approx(single.data_s / 9) and nine.stragglers_s == pytest.approx(
        single.stragglers_s / 3
    )
    same = set(PARTS) - {"data_s", "stragglers_s"}
    assert all(getattr(single, name) == getattr(nine, name) for name in same)


def test_compression_divides_the_bytes_and_takes_its_own_time():
    constants = Constants(overlap=0.0)
    plain, squeezed = (of(constants=constants, sync=Sync(1, *how)) for how in ((1, 0), (10, 0.03)))
    assert squeezed.data_s == pytest.approx(plain.data_s / 10 + 0.03 * plain.ideal_s)


def test_a_batch_smaller_than_its_replicas_is_marked():
    step = of(SMALL, Layout(), np.array([64, 65]), 64 * 4096)
    for name in (*PARTS, "total_s", "mfu", "waiting_share"):
        assert np.isnan(getattr(step, name)).tolist() == [False, True]


def test_arrays_are_taken_point_by_point():
    layouts = Layout(np.array([8, 4]), 1, np.array([16, 8]), np.array([7, 8]), 1, np.array([False, False]), False)
    many = of(layout=layouts, n=np.array([[4096.0], [8192.0]]), constants=Constants(0.6, np.array([0.01, 0.02])))
    assert many.total_s.shape == (2, 2)
    single = of(layout=Layout(4, 1, 8, 8), n=8192, constants=Constants(0.6, 0.02))
    assert all(getattr(many, name)[1, 1] == pytest.approx(getattr(single, name), abs=1e-18) for name in PARTS)
