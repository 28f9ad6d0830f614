"""De-duplication against a plain loop, the hazard after repairs by hand, and repeats told from lemons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ettr.failures.outages import find_outages
from ettr.failures.rates import failure_rate
from ettr.failures.repeats import RepeatRisk, deduplicate, hazard_after_repair, repeat_risk
from simulated_logs import simulate_log

NAN = float("nan")
DAYS, NODES = 350.0, 400
WINDOW_H = DAYS * 24


def outages_of(log):
    return find_outages(log["start_h"], log["end_h"], log["node"], WINDOW_H, NODES)


# --------------------------------------------------------------------------- de-duplication


def one_by_one(start, node, within_h, end=None):
    """The definition, a failure at a time."""
    kept, last = np.zeros(len(start), dtype=bool), {}
    for i in sorted(range(len(start)), key=lambda i: (start[i], i)):
        if node[i] < 0 or node[i] not in last or start[i] > last[node[i]] + within_h:
            kept[i] = True
            last[node[i]] = start[i] if end is None or np.isnan(end[i]) else max(start[i], end[i])
    return kept


logs = st.lists(st.tuples(st.integers(0, 200), st.integers(-1, 4), st.integers(0, 30)), max_size=60)


@given(log=logs, within_h=st.sampled_from([0.0, 1.0, 24.0, 500.0]), from_end=st.booleans())
@settings(max_examples=60, deadline=None)
def test_what_is_kept_is_what_a_loop_keeps(log, within_h, from_end):
    start, node, length = np.array(log, dtype=float).reshape(-1, 3).T
    end = np.where(length < 29, start + length, NAN) if from_end else None
    kept = deduplicate(start, node.astype(int), within_h, end)
    expected = one_by_one(start, node, within_h, end)
    # failures of a node at one instant are alike: which of them is kept is no matter, but for their ends
    if end is None:
        for code in np.unique(node):
            assert sorted(start[kept & (node == code)]) == sorted(start[expected & (node == code)])
    else:
        assert kept.tolist() == expected.tolist()
    assert (kept | (node >= 0)).all()


def test_a_chain_is_kept_once_a_day():
    """A failure each 10 h: counted from the last kept one, every third is no repeat within 24 h."""
    kept = deduplicate(np.arange(9) * 10.0, ["a"] * 9)
    assert np.flatnonzero(kept).tolist() == [0, 3, 6]
    assert deduplicate([0.0, 24.0], ["a", "a"]).tolist() == [True, False]
    assert deduplicate([0.0, 24.1], ["a", "a"]).tolist() == [True, True]


def test_a_second_pass_takes_nothing():
    log = simulate_log(3, repeat_probability=0.5)
    kept = deduplicate(log["start_h"], log["node"])
    assert 0.4 < kept.mean() < 0.75
    again = log[kept]
    assert deduplicate(again["start_h"], again["node"]).all()


# --------------------------------------------------------------------------- hazard after a repair


def test_hazard_by_hand():
    """Ten days, three nodes. One is out on day 1 and again from day 3.5 to 4; one fails on day 9 for good."""
    start, end, node = [24.0, 84.0, 216.0, 30.0], [48.0, 96.0, NAN, 40.0], ["a", "a", "b", "a"]
    hazard = hazard_after_repair(find_outages([*start, 5.0], [*end, 6.0], [*node, None], 240.0, 3), (0, 1, 3))
    assert hazard["when"].tolist() == ["after repair", "after repair", "remaining", "while out", "unknown node"]
    assert hazard["node_days"].tolist() == pytest.approx([2.0, 2.5, 23.0, 2.5, 0.0])
    assert hazard["n_events"].tolist() == [0, 1, 2, 1, 1]
    assert hazard["node_days"].sum() == pytest.approx(30)
    row = failure_rate(1, 2.5)
    assert hazard.loc[1, ["rate", "low", "high"]].tolist() == pytest.approx([400.0, row.low, row.high])
    assert hazard.loc[3:, "rate"].isna().all()


@given(seed=st.integers(0, 10_000), repeat=st.sampled_from([0.0, 0.6]))
@settings(max_examples=10, deadline=None)
def test_every_failure_and_every_hour_is_in_one_row(seed, repeat):
    log = simulate_log(seed, 30, 60, 20.0, repeat_probability=repeat)
    hazard = hazard_after_repair(find_outages(log["start_h"], log["end_h"], log["node"], 1440.0, 30))
    assert hazard["n_events"].sum() == len(log)
    assert hazard["node_days"].sum() == pytest.approx(30 * 60)


def test_a_memoryless_log_has_one_rate():
    """Twenty logs of nodes that fail at 4 per 1,000 node-days, whatever happened before."""
    logs = [simulate_log(seed, repair_h=1.0) for seed in range(20)]
    tables = [hazard_after_repair(outages_of(log)) for log in logs]
    events = sum(table["n_events"][:7] for table in tables)
    expected = 4e-3 * sum(table["node_days"][:7] for table in tables)
    assert (np.abs(events - expected) < 4 * np.sqrt(expected)).all()


# --------------------------------------------------------------------------- repeats or lemons


MANY_LOGS = pytest.mark.parametrize("n_logs", [12, pytest.param(30, marks=pytest.mark.slow)])


def risk_of(log):
    return repeat_risk(outages_of(log))


def most_alarms(n_logs):
    """At 5% each, more have a probability below 0.4%."""
    return stats.binom.isf(4e-3, n_logs, 0.05)


@MANY_LOGS
def test_lemons_alone_are_no_repeats(n_logs):
    """Nodes that fail twelve times as often are back from repair more often, and so are expected to fail soon after."""
    risks = [risk_of(simulate_log(seed, lemon_share=0.03, lemon_factor=12.0)) for seed in range(n_logs)]
    assert sum(risk.p < 0.05 for risk in risks) <= most_alarms(n_logs) and not any(risk.repairs_fail for risk in risks)
    soon, expected = (np.array([getattr(risk, name) for risk in risks]) for name in ("n_soon", "n_expected"))
    assert soon.mean() == pytest.approx(expected.mean(), abs=4 * (soon - expected).std() / np.sqrt(n_logs))


def test_repairs_are_tested_only_if_it_matters():
    """Two per cent more repeats than expected, of 282,381: beyond chance, and no reason to do anything."""
    risk = RepeatRisk(7.0, 282_381, 276_509.0, 282_381 / 276_509, 1.018, 1.025, 0.95, 1e-28)
    assert not risk.repairs_fail and replace(risk, low=1.6).repairs_fail


def test_rows_of_one_fault_are_no_repeats():
    """A fault that is logged five times within the hour, where ends are known, and within a day where they are not."""
    first = np.arange(40) * 200.0
    start, node = (first[:, None] + np.arange(5) * 0.2).ravel(), np.repeat(np.arange(40), 5)
    with_ends = find_outages(start, np.repeat(first + 0.9, 5), node, 8400.0, 400)
    without_ends = find_outages(start, None, node, 8400.0, 400)
    for outages in (with_ends, without_ends):
        assert len(outages.incidents) == 40 and (outages.incidents["n_events"] == 5).all()
        assert repeat_risk(outages) is None
    assert len(without_ends.joined) == 200 and with_ends.downtime_h == pytest.approx(40 * 0.9)


@pytest.mark.parametrize("draws", [40, pytest.param(150, marks=pytest.mark.slow)])
def test_the_expected_count_is_that_of_dealing_failures_out(draws):
    """Node labels shuffled over the failures, repairs of no length."""
    rng = np.random.default_rng(4)
    start = np.sort(rng.uniform(0, 2400.0, 120) ** 0.8 * 2400.0**0.2)
    node = rng.choice(12, 120, p=np.arange(1, 13) / 78)

    def dealt(node):
        return repeat_risk(find_outages(start, start, node, 2400.0, 12), within_d=2.0)

    risk = dealt(node)
    drawn = [dealt(rng.permutation(node)).n_soon for _ in range(draws)]
    assert risk.n_expected == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(len(drawn)) + 0.1)
    # what its p supposes, with room for so many draws: 1.3 for 150
    assert np.var(drawn) < (1 + 2.58 * np.sqrt(2 / (draws - 1))) * risk.n_expected


def test_the_expected_count_tends_to_uniform_spacings():
    """Sum of (n - 1) [1 - (1 - x / T) ** n] over the nodes, for failures anywhere."""
    rng = np.random.default_rng(8)
    start, node = rng.uniform(0, WINDOW_H, 4000), rng.integers(0, 400, 4000)
    risk = repeat_risk(find_outages(start, start, node, WINDOW_H, 400))
    n = np.bincount(node)
    closed = ((n - 1) * (1 - (1 - 7 / DAYS) ** n)).sum()
    assert risk.n_expected == pytest.approx(closed, rel=0.01)


def test_nothing_to_compare():
    assert repeat_risk(find_outages([], [], [], 100.0, 5)) is None
    assert repeat_risk(find_outages([50.0, 60.0], [NAN, NAN], ["a", "b"], 100.0, 5)) is None  # no node failed twice
    assert repeat_risk(find_outages([50.0], [200.0], ["a"], 100.0, 5)) is None  # no node came back
    assert repeat_risk(find_outages([0.0, 50.0], [0.0, 50.0], ["a", "a"], 100.0, 1)).n_soon == 1
