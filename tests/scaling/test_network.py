"""What topology, placement and failed links leave of the links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettr.scaling import Network


def test_one_failed_link_halves_a_static_route_and_costs_its_share_otherwise():
    assert Network(failed_share=0.01).remaining_share == pytest.approx(0.99)
    assert Network(failed_share=0.01, adaptive=False).remaining_share == 0.5
    assert Network(failed_share=0.7, adaptive=False).remaining_share == pytest.approx(0.3)
    assert Network(adaptive=False).remaining_share == 1


def test_oversubscription_of_llama_3_leaves_a_ring_that_stays_in_pods_its_speed():
    """3,072 GPUs a pod, 1:7, 24 replicas of 128 GPUs in each: one flow leaves for 24 that could."""
    network = Network(450, 50, 8, 3072, 7)
    assert network.ring_gb_s(16384, 128, 1) == 50
    assert network.ring_gb_s(16384, 1024, 1) == pytest.approx(50 * 3 / 7)
    k = 16384 / 3072  # a replica larger than a pod: chance keeps some flows in their pod
    assert network.ring_gb_s(16384, 8192, 1) == pytest.approx(50 / (7 * (1 - 1 / k)))
    assert network.ring_gb_s(3072, 8192, 1) == 50  # one pod


@pytest.mark.parametrize(("pod_gpus", "gb_s"), [(8, 50), (32, 200), (128, 400)])
def test_small_pods_hold_rings_of_whole_nodes_to_their_links_upwards(pod_gpus, gb_s):
    """Eight members a node, 8:1 and 50 GB/s a GPU: a pod of so many GPUs has an eighth of their links upwards."""
    network = Network(450, 50, 8, pod_gpus, 8)
    assert network.ring_gb_s(512, 1, 8) == pytest.approx(gb_s, rel=0.02)
    assert gb_s == min(400, pod_gpus * 50 / 8)


def test_nodes_anywhere_send_what_is_not_in_their_own_pod():
    network = Network(450, 50, 8, 3072, 7, aware_placement=False)
    assert network.ring_gb_s(2 * 3072, 128, 1) == pytest.approx(50 / (7 * 0.5))
    assert network.ring_gb_s(1e9, 128, 1) == pytest.approx(50 / 7, rel=1e-4)
    assert network.ring_gb_s(3072, 128, 1) == 50


def test_a_ring_with_several_members_in_a_node_has_all_its_links_but_is_no_faster_than_those_inside():
    network = Network(450, 50)
    assert [network.ring_gb_s(1024, 8, members) for members in (1, 4, 8, 16)] == [50, 200, 400, 450]
    assert [network.group_gb_s(gpus).item() for gpus in (1, 8, 9)] == [450, 450, 50]


@given(st.floats(1, 1e6), st.floats(1, 4096), st.floats(1, 20), st.floats(1, 5000), st.booleans(), st.floats(0, 0.9))
def test_what_is_left_is_a_share_and_falls_with_oversubscription_and_failures(n, replica, over, pod, aware, failed):
    def share(over, failed):
        network = Network(450, 50, 8, pod, over, aware, failed)
        return network.ring_gb_s(n, replica, 1.0) / 50

    assert 0 < share(over, failed) <= 1
    assert share(1.1 * over, failed) <= share(over, failed)
    assert share(over, failed + 0.05) < share(over, failed)
    static = Network(failed_share=failed, adaptive=False).remaining_share
    assert static <= Network(failed_share=failed).remaining_share
