"""Roles in node names: found where they are, and not in random names or single bad nodes."""

from __future__ import annotations

import uuid

import numpy as np
import pytest
from scipy import stats

from ettr.failures.roles import check_roles


def failed(counts, names):
    """Only nodes that failed are in a log."""
    seen = np.flatnonzero(counts)
    return np.array(names, dtype=object)[seen], counts[seen]


def numbered(n, form="node{:03d}"):
    return [form.format(i) for i in range(n)]


@pytest.mark.parametrize(
    ("form", "modulus"), [("{}", 8), ("node{:04d}", 32), ("gpu-{}.rack7.example.org", 8), ("c{}-ib", 32)]
)
def test_every_so_many_nodes(form, modulus):
    """The first node of each group fails six times as often; more than half of the others never do."""
    rate = np.where(np.arange(400) % modulus == 0, 3.0, 0.5)
    counts = np.random.default_rng(1).poisson(rate)
    role = check_roles(*failed(counts, numbered(400, form)), n_nodes=400)
    assert (role.kind, role.value) == ("number", f"0 mod {modulus}")
    assert role.p < 0.05
    first = np.arange(400) % modulus == 0
    assert role.ratio == pytest.approx(counts[first].mean() / counts[~first].mean(), rel=0.1)


def test_login_nodes():
    names = [*numbered(300, "gpu{:03d}"), *numbered(6, "login{}")]
    counts = np.random.default_rng(2).poisson(np.append(np.full(300, 1.0), np.full(6, 15.0)))
    role = check_roles(*failed(counts, names), n_nodes=306)
    assert (role.kind, role.value, role.n_nodes) == ("prefix", "login", 6)
    assert role.p < 0.01 and 10 < role.ratio < 20


@pytest.mark.parametrize("n_logs", [10, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("more", [0, 40])
def test_neither_chance_nor_a_lemon_is_a_role(more, n_logs):
    """One node with forty failures lies in some class of every size; chance would put it in one as well."""
    alarms = 0
    for seed in range(n_logs):
        rng = np.random.default_rng(seed)
        counts = rng.poisson(1.0, 400)
        counts[rng.integers(400)] += more
        alarms += check_roles(*failed(counts, numbered(400)), n_nodes=400, seed=seed).p < 0.05
    assert alarms <= stats.binom.isf(3e-3, n_logs, 0.05)  # at 5% each


@pytest.mark.parametrize("serial", [lambda i: str(uuid.UUID(int=i)), lambda i: f"{i:032x}", lambda i: f"SN{i:040d}"])
def test_random_names_have_no_roles(serial):
    rng = np.random.default_rng(0)
    names = [serial(int.from_bytes(rng.bytes(16), "big")) for _ in range(231)]
    assert check_roles(names, rng.integers(1, 9, 231), n_nodes=400) is None


def test_names_without_numbers_have_no_roles():
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("abcdefgh"), 6)) for _ in range(40)]
    assert check_roles(names, np.ones(40), 40) is None
    assert check_roles([*names[:15], *numbered(14)], np.ones(29), 40) is None  # fewer than half
    assert check_roles(numbered(9), np.ones(9), 9) is None  # too few


def test_racks_and_slots():
    """Slot 1 of each of 20 racks: the number after the rack's, counted over the slots of all racks."""
    names = [f"r{rack}-s{slot}" for rack in range(20) for slot in range(16)]
    first = np.tile(np.arange(16) == 1, 20)
    counts = np.random.default_rng(5).poisson(np.where(first, 6.0, 0.7))
    role = check_roles(*failed(counts, names), n_nodes=320)
    assert role.value == "1 mod 16" and role.p < 0.05
    assert role.n_nodes == pytest.approx(20, abs=2)


def test_a_large_fleet_is_sampled():
    counts = np.random.default_rng(6).poisson(np.where(np.arange(60_000) % 18 == 5, 2.0, 0.5))
    role = check_roles(*failed(counts, numbered(60_000)), n_nodes=60_000)
    assert role.value == "5 mod 18" and role.p < 0.05
    assert 900 < role.n_nodes < 1300
    assert role.ratio == pytest.approx(4, rel=0.15)


def test_no_role_rests_on_nodes_that_do_not_exist():
    """Names that end in two suffixes only: between U1 and U11 there is nothing, however many nodes were watched."""
    names = [f"R{rack:02d}-U{unit}" for rack in range(40) for unit in (1, 11)]
    assert check_roles(names, [3] * 80, n_nodes=2000).p > 0.5
    counts = np.tile([3, 9], 40)  # and where the upper ones do fail more, they are found
    role = check_roles(names, counts, n_nodes=2000)
    assert role.p < 0.05 and role.ratio == 3.0 and role.n_nodes == 40
    assert role.holds(["R00-U11", "R41-U11", "R00-U1", "login"]).tolist() == [True, True, False, False]
