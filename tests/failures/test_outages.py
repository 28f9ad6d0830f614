"""Outages by hand, against a clock that ticks, and what a missing end means."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.failures.outages import find_outages, seen_nodes, settled_ends

NAN = float("nan")


@pytest.mark.parametrize(
    "node",
    [
        ["n2", None, "n1", "n2"],
        [7, -1, 3, 7],
        [7.0, NAN, 3.0, 7.0],
        pd.Categorical(["n2", None, "n1", "n2"], categories=["n1", "n2", "never"]),
        pd.Series(["n2", None, "n1", "n2"], index=[9, 9, 4, 1]),
        pd.array([7, None, 3, 7], dtype="Int64"),
    ],
    ids=["names", "codes", "floats", "categorical", "series", "nullable"],
)
def test_nodes_are_numbered_whatever_they_are(node):
    seen = seen_nodes(node, n_nodes=2)
    assert seen.codes.tolist() == [0, -1, 1, 0]
    assert [str(name).rstrip("0").rstrip(".") for name in seen.names] in (["n2", "n1"], ["7", "3"])


def test_overlapping_failures_of_a_node_are_one_outage():
    outages = find_outages([5, 1, 2, 6, 2, 8], [6, 4, 3, 7, 9, 9], ["a", "a", "a", "a", "b", None], 10.0, 2).joined
    assert outages[["start_h", "end_h", "n_events"]].to_numpy().tolist() == [[8, 9, 1], [1, 4, 2], [5, 7, 2], [2, 9, 1]]
    assert outages["node"].tolist() == [-1, 0, 0, 1]


events = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 59), st.integers(0, 20)), max_size=25)


@given(log=events)
@settings(max_examples=40, deadline=None)
def test_downtime_is_what_a_clock_counts(log):
    """Whole hours: mark each hour of each node that a failure covers."""
    window = 60
    clock = np.zeros((4, window), dtype=bool)
    for node, start, length in log:
        clock[node, start : start + length] = True
    node, start, length = np.array(log, dtype=float).reshape(-1, 3).T
    outages = find_outages(start, start + length, node, window, 4)
    assert outages.downtime_h == pytest.approx(clock.sum())
    assert outages.availability == (pytest.approx(1 - clock.mean()) if log else None)


def test_unknown_nodes_never_overlap():
    unnamed, named = (find_outages([0, 0], [5, 5], node, 10.0, 3) for node in ([None, None], ["a", "a"]))
    assert (unnamed.downtime_h, named.downtime_h) == (10, 5)
    assert unnamed.availability is None and named.availability == pytest.approx(25 / 30)


# --------------------------------------------------------------------------- missing ends


def test_a_missing_end_at_the_window_is_open():
    """Ends are kept elsewhere, and the node did not fail again: it is out still."""
    settled = settled_ends([1.0, 5.0, 8.0], [2.0, 6.0, NAN], ["a", "a", "b"], 10.0)
    assert settled["open"].tolist() == [False, False, True]
    assert settled["end_h"].tolist() == [2, 6, 10]


def test_a_missing_end_before_another_failure_is_unknown():
    settled = settled_ends([1.0, 5.0, *range(20)], [NAN, 6.0, *range(1, 21)], ["a", "a", *["c"] * 20], 30.0)
    assert settled["unknown"].tolist() == [True] + [False] * 21
    assert settled["end_h"][0] == 1
    assert not settled["open"].any()


def test_a_log_without_ends_leaves_no_node_out():
    """Nothing says that the last failure of a node lasts to the end of the window."""
    for ends in (None, [NAN] * 4):
        settled = settled_ends([1.0, 2.0, 3.0, 4.0], ends, ["a", "b", "a", "b"], 10.0)
        assert settled["unknown"].all() and not settled["open"].any()
        outages = find_outages([1.0, 2.0, 3.0, 4.0], ends, ["a", "b", "a", "b"], 10.0, 2)
        assert outages.downtime_h == 0 and outages.availability is None


def test_an_end_behind_the_window_is_open():
    settled = settled_ends([1.0, 2.0], [30.0, 3.0], ["a", "b"], 10.0)
    assert settled["open"].tolist() == [True, False]
    assert settled["end_h"].tolist() == [10, 3]


def test_ends_kept_badly_are_not_taken_for_long_outages():
    """Two of five failures that were followed by another lack their end: so may the last one of a node."""
    start = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    settled = settled_ends(start, [0.5, NAN, 2.5, NAN, 4.5, NAN], ["a"] * 6, 100.0)
    assert settled["open"].sum() == 0 and settled["unknown"].sum() == 3


def test_nothing_failed():
    for ends in ([], None):
        outages = find_outages([], ends, [], 10.0, 5)
        assert len(outages.joined) == 0 and outages.downtime_h == 0 and outages.availability is None
