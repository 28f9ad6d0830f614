"""Survival of copies against every set of lost nodes, the published bound, and draws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.checkpoint.placement import peer_survival
from refusals import refusal

PLACEMENTS = ("group", "ring")


def holders(n_nodes, copies, placement):
    """For each node, the nodes that hold its part: as the strategies are described, not as they are counted."""
    if placement == "ring":
        return [{(node + i) % n_nodes for i in range(copies)} for node in range(n_nodes)]
    rest = n_nodes % copies
    grouped = n_nodes - copies - rest if rest else n_nodes
    sets = [set(range(node - node % copies, node - node % copies + copies)) for node in range(grouped)]
    last = n_nodes - grouped
    return sets + [{grouped + (node + i) % last for i in range(copies)} for node in range(last)]


def by_hand(n_nodes, n_lost, copies, placement):
    parts = holders(n_nodes, copies, placement)
    sets = [set(lost) for lost in itertools.combinations(range(n_nodes), n_lost)]
    return sum(all(part - lost for part in parts) for lost in sets) / len(sets)


# --------------------------------------------------------------------------- worked values


def test_sixteen_nodes_in_pairs():
    """Wang et al. (2023): 16 machines with two copies survive two losses at 93.3%, three at 80.0%; a ring less."""
    assert peer_survival(16, 3) == pytest.approx(0.8, rel=1e-15)
    assert peer_survival(16, 2, placement="ring") == pytest.approx(1 - 16 / 120, rel=1e-15)


@pytest.mark.parametrize(("n_nodes", "copies"), [(16, 2), (24, 3), (96, 4)])
def test_the_published_bound(n_nodes, copies):
    """1 - (N/m) C(N-m, k-m) / C(N, k): exact for k < 2m, and below the truth from there on."""
    for lost in range(copies, 4 * copies):
        share = math.comb(n_nodes - copies, lost - copies) / math.comb(n_nodes, lost)
        bound = 1 - n_nodes // copies * share
        survival = peer_survival(n_nodes, lost, copies)
        if lost < 2 * copies:
            assert survival == pytest.approx(bound, rel=1e-13)
        else:
            assert survival > bound


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("n_nodes", [1, 2, 3, 5, 8, pytest.param(10, marks=pytest.mark.slow)])
def test_every_set_of_lost_nodes(n_nodes, placement):
    for copies in range(1, n_nodes + 1):
        for lost in range(n_nodes + 1):
            expected = by_hand(n_nodes, lost, copies, placement)
            assert peer_survival(n_nodes, lost, copies, placement) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("n_nodes", "lost", "copies"), [(14, 5, 3), pytest.param(15, 7, 4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_groups_with_a_remainder(n_nodes, lost, copies, placement):
    expected = by_hand(n_nodes, lost, copies, placement)
    assert peer_survival(n_nodes, lost, copies, placement) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_many_losses_by_drawing(placement):
    n_nodes, lost, copies, n_draws = 62, 18, 3, 20_000
    rng = np.random.default_rng(5)
    gone = np.argsort(rng.random((n_draws, n_nodes)), axis=1) < lost
    parts = np.array([sorted(part) for part in holders(n_nodes, copies, placement)])
    survived = (~gone[:, parts].all(axis=2)).all(axis=1)
    error = survived.std() / math.sqrt(n_draws)
    assert peer_survival(n_nodes, lost, copies, placement) == pytest.approx(survived.mean(), abs=4 * error)


# --------------------------------------------------------------------------- properties


@given(n_nodes=st.integers(2, 400), lost=st.integers(0, 400), copies=st.integers(1, 12), ring=st.booleans())
@settings(max_examples=60)
def test_limits_and_order(n_nodes, lost, copies, ring):
    copies, placement = min(copies, n_nodes), PLACEMENTS[ring]
    survival = peer_survival(n_nodes, lost, copies, placement)
    assert 0 <= survival <= 1
    assert survival >= peer_survival(n_nodes, lost + 1, copies, placement)
    if lost < copies:
        assert survival == 1
    elif lost >= n_nodes:
        assert survival == 0
    elif 1 < copies <= 4:  # with more the chance of a loss may be too small for a float to tell
        assert survival < 1
    if n_nodes % copies == 0:
        assert peer_survival(n_nodes, lost, copies, "group") >= peer_survival(n_nodes, lost, copies, "ring")
    if copies < n_nodes:
        more = peer_survival(n_nodes, lost, copies + 1, "ring")
        assert more >= peer_survival(n_nodes, lost, copies, "ring")


def test_thousands_of_losses_are_exact_too():
    """A whole hall: groups are nearly independent, each lost with the hypergeometric chance of its four nodes."""
    n_nodes, lost, copies = 20_000, 1000, 4
    each = math.prod((lost - i) / (n_nodes - i) for i in range(copies))
    expected = math.exp(-n_nodes / copies * each)
    assert peer_survival(n_nodes, lost, copies) == pytest.approx(expected, rel=1e-3)  # their dependence is of order 1/N
    assert peer_survival(20_001, lost, copies) == pytest.approx(expected, rel=1e-3)


def test_an_unknown_placement_is_answered_with_the_nearest():
    message = refusal(peer_survival, 16, 2, placement="groups")
    assert message.startswith("unknown placement 'groups'; did you mean 'group'")
