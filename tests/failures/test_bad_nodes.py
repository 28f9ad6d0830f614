"""Nodes beyond chance: by the binomial tail, by drawn logs, and with what each should have done to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ettr import failures, logs
from ettr.failures.bad_nodes import find_bad_nodes
from ettr.failures.outages import find_outages
from simulated_logs import simulate_log

NODES, DAYS = 400, 350
WINDOW_H = DAYS * 24.0
BEGIN = pd.Timestamp("2025-01-01", tz="UTC")


def bad_of(start, node, end=None, **options):
    order = np.argsort(start, kind="stable")
    end = None if end is None else np.asarray(end)[order]
    start, node = np.asarray(start)[order], np.asarray(node)[order]
    names = pd.unique(node)
    return find_bad_nodes(find_outages(start, end, node, WINDOW_H, NODES), names, **options)


def of_log(seed, **rules):
    log = simulate_log(seed, NODES, DAYS, 4.0, **rules)
    return bad_of(log["start_h"], log["node"], log["end_h"])


def test_the_tail_of_a_node_is_binomial(exact_ratio):
    """Five of ten failures on one node of 400: by Holm, four hundred times the binomial tail."""
    start = np.linspace(100, 8000, 10)
    bad = bad_of(start, [7, 0, 7, 1, 7, 2, 7, 3, 7, 4])
    worst, second = bad.table.iloc[0], bad.table.iloc[1]
    assert worst[["node", "n_failures"]].tolist() == [7, 5] and bad.n_beyond == 1
    assert worst["p"] == pytest.approx(400 * stats.binom.sf(4, 10, 1 / 400)) and second["p"] == 1
    assert worst["expected"] == pytest.approx(5 / 399)  # from the others, not from itself
    exact = exact_ratio(5, 1.0, 5, 399.0)
    assert worst[["lift", "low", "high"]].tolist() == pytest.approx([exact.ratio, exact.low, exact.high])


def test_a_node_with_13_of_60_failures_is_named_in_every_draw():
    rng = np.random.default_rng(0)
    for _ in range(100):
        node = rng.integers(1, NODES, 60)
        node[rng.choice(60, 13, replace=False)] = 0
        table = bad_of(rng.uniform(0, WINDOW_H, 60), node).table
        assert table["node"][0] == 0 and table["beyond"][0] and table["advice"][0] == "replace"


@pytest.mark.parametrize("rules", [{}, {"burst_mean": 3.0}, {"trend_beta": 1.5}], ids=str)
def test_where_nodes_are_alike_few_are_named(rules):
    """Any node in 5% of the logs at most, which 40 logs exceed by 3 with probability 1.2%; none to replace in these."""
    results = [of_log(seed, **rules) for seed in range(40)]
    assert sum(bad.n_beyond > 0 for bad in results) <= 5
    assert sum(len(bad.advised("replace")) for bad in results) <= 2


def test_lemons_are_replaced_and_do_not_hide_each_other():
    for seed in range(10):
        bad = of_log(seed, lemon_share=0.03, lemon_factor=15.0)
        replaced = bad.advised("replace")
        assert len(replaced) >= 10 and set(replaced) <= set(range(12)) and not bad.advised("re-test")


@pytest.mark.parametrize(
    ("rate", "n_logs"), [(10.0, 20), *(pytest.param(rate, 200, marks=pytest.mark.slow) for rate in (4.0, 10.0, 25.0))]
)
def test_identical_nodes_that_remember_are_not_named(rate, n_logs):
    """Times between failures of shape 0.6: without memory a node would be named in 70 to 90% of such logs."""
    named = sum(of_nodes(seed, rate).n_beyond > 0 for seed in range(n_logs))
    assert named <= stats.binom.isf(1e-3, n_logs, 0.05)


def test_bad_nodes_are_found_among_nodes_that_remember():
    """Eight of 256 at fifteen times the rate of the others."""
    for seed in range(5):
        bad = of_nodes(seed, 10.0, lemon_share=8 / 256, lemon_factor=15.0)
        assert bad.has_memory and bad.index > 1.5 and bad.n_beyond >= 7
        assert set(bad.table.loc[bad.table["beyond"], "node"]) <= set(range(8))


def of_nodes(seed, rate, **rules):
    log = simulate_log(seed, 256, DAYS, rate, node_shape=0.6, **rules)
    outages = find_outages(log["start_h"], log["end_h"], log["node"], WINDOW_H, 256)
    return find_bad_nodes(outages, pd.unique(log["node"]))


def test_unequal_rates_are_no_memory():
    """A tenth of the nodes at eight times the rate: what is not named yet must not hide the rest of them."""
    results = [of_log(seed, lemon_share=0.1, lemon_factor=8.0) for seed in range(6)]
    assert sum(not bad.has_memory for bad in results) >= 5
    assert sum(bad.n_beyond for bad in results) > 6 * 10


def test_repairs_that_do_not_hold_are_no_reason_to_replace():
    """Half of the repairs fail within a week: chains of failures, on nodes like any other."""
    results = [of_log(seed, repeat_probability=0.5, repeat_within_h=168.0) for seed in range(20)]
    assert sum(len(bad.advised("replace")) for bad in results) <= 2
    assert sum(len(bad.advised("re-test")) for bad in results) > 20


def test_one_node_whose_repairs_do_not_hold():
    """Ten failures of one node, each a day after the last: one chain, to be tested, not replaced."""
    rng = np.random.default_rng(2)
    start = np.append(rng.uniform(0, WINDOW_H, 100), 3000 + 30.0 * np.arange(10))
    bad = bad_of(start, np.append(rng.integers(1, NODES, 100), [0] * 10), start + 4.0)
    about = ["node", "n_failures", "n_apart", "n_soon", "n_returns", "advice"]
    assert bad.table.loc[0, about].tolist() == [0, 10, 1, 9, 10, "re-test"]


def test_a_node_that_came_late_or_stopped_is_told():
    rng = np.random.default_rng(3)
    others, nodes = rng.uniform(0, WINDOW_H, 100), rng.integers(2, NODES, 100)
    late, over = 6000 + 200.0 * np.arange(11), 100 + 200.0 * np.arange(11)
    table = bad_of(np.r_[others, late, over], np.r_[nodes, [0] * 11, [1] * 11]).worst.set_index("node")
    assert table.loc[[0, 1], "remark"].tolist() == ["late", "over"]
    assert table.loc[[0, 1], "advice"].tolist() == ["replace", "watch"]  # what has stopped is no more to replace
    assert (table["remark"].drop([0, 1]) == "").all()


def test_weights_stand_for_what_explains_failures():
    """Nodes that were watched for half as long should fail half as often; a kind that fails more explains its nodes."""
    rng = np.random.default_rng(4)
    start, node = rng.uniform(0, WINDOW_H, 60), np.r_[[0] * 12, rng.integers(1, NODES, 48)]
    names = pd.unique(node[np.argsort(start)])
    plain = bad_of(start, node).table.set_index("node")
    weight = np.where(names == 0, 100.0, 1.0)
    explained = bad_of(start, node, weight=weight, total=NODES + 99.0).table.set_index("node")
    assert plain.loc[0, "lift"] == pytest.approx(100 * explained.loc[0, "lift"], rel=0.01)
    assert plain.loc[0, "advice"] == "replace" and explained.loc[0, "advice"] == ""


def test_single_nodes_are_judged_with_a_role_allowed_for():
    """Every 32nd node fails ten times as often, and one of the others twenty times."""
    rng = np.random.default_rng(5)
    rate = np.where(np.arange(256) % 32 == 0, 10.0, 1.0)
    rate[100] = 20.0
    node = rng.choice(256, 600, p=rate / rate.sum())
    start = BEGIN + pd.to_timedelta(np.sort(rng.uniform(0, WINDOW_H, 600)), unit="h")
    frame = pd.DataFrame({"start": start, "node": [f"node{i:03d}" for i in node]})
    fit = failures.fit(logs.from_frame(frame, 256, (BEGIN, BEGIN + pd.Timedelta(days=DAYS))))
    assert fit.node_statistics.role.value == "0 mod 32" and fit.node_statistics.role.p < 0.05
    assert fit.node_statistics.bad.advised("replace") == ["node100"]
