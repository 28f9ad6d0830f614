"""Exposure by node: from an inventory, with what of the log does not fit into it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ettr import failures, logs
from ettr.core.errors import InputError

LOG = """start,node
2024-05-02 10:00,a
2024-05-12 10:00,A.hall
2024-05-20 10:00,b
2024-05-28 10:00,c
"""
NODES = """hostname,installed,removed
a,2024-01-01,
b,2024-05-16,2024-05-26
b,2024-05-26,2024-06-30
c,2024-05-21,
d,,
e,,2024-04-01
"""


@pytest.fixture
def read_with(write):
    def _read(log=LOG, nodes=NODES, **options):
        arguments = {"window": "2024-05-01/2024-05-31", "zone": "UTC", **options}
        return logs.read(write(log), inventory=write(nodes, "nodes.csv"), **arguments)

    return _read


def test_each_node_is_watched_while_it_was_there(read_with):
    """A node that left before the window is not there; one with two stays that touch has one."""
    log = read_with()
    assert log.n_nodes == 4 and log.node_days == 31 + 16 + 11 + 31
    assert log.stays["node"].tolist() == ["a", "b", "c", "d"]
    assert log.stays["in_h"].tolist() == [0, 15 * 24, 20 * 24, 0] and (log.stays["out_h"] == 31 * 24).all()
    assert log.exposure == "nodes from the inventory, window given" and not log.doubts
    assert any("inventory read: node from 'hostname', in from 'installed'" in note for note in log.notes)


def test_what_does_not_fit_is_said_or_refused(read_with):
    early = read_with(LOG + "2024-05-03 10:00,b\n")
    assert early.doubts == ("1 failures (20%) are on nodes that were not in service then, by the inventory",)
    stranger = read_with(LOG + "2024-05-03 10:00,z\n")
    assert "1 failures are on nodes that are not in the inventory in the window, such as 'z'" in stranger.doubts[0]
    with pytest.raises(InputError, match="2 of 6 failures are on nodes that are not in the inventory"):
        read_with(LOG + "2024-05-03 10:00,y\n2024-05-04 10:00,z\n")
    with pytest.raises(InputError, match="`n_nodes` conflicts with `inventory`"):
        read_with(n_nodes=4)
    with pytest.raises(
        InputError, match="the inventory nodes.csv must have a column of nodes. Columns found: 'x', 'installed'"
    ):
        read_with(nodes="x,installed\na,2024-01-01\n")
    with pytest.raises(InputError, match="columns of nodes.csv must have different names; 'in' occurs twice"):
        read_with(nodes="node,in,in\na,2024-01-01,2024-01-02\n")
    with pytest.raises(InputError, match="has no node with a valid stay"):
        read_with(nodes="node,in,out\na,2024-05-02,2024-05-01\nunknown,,\n")


BEGIN, DAYS = pd.Timestamp("2025-01-01", tz="UTC"), 350


def fit_with(write, start_d, node, nodes):
    stamps = BEGIN + pd.to_timedelta(start_d, unit="D")
    frame = pd.DataFrame({"start": stamps.strftime("%Y-%m-%dT%H:%M:%SZ"), "node": node}).sort_values("start")
    window = "2025-01-01/2025-12-16"
    path = write(frame.to_csv(index=False))
    with_nodes = logs.read(path, inventory=write(nodes.to_csv(index=False), "nodes.csv"), window=window)
    return failures.fit(with_nodes), failures.fit(logs.read(path, n_nodes=len(nodes), window=window))


def test_a_fleet_that_grows_has_its_rate_by_the_time_that_nodes_were_there(write):
    """Half of the nodes come in the middle: as many failures in three quarters of the node-days."""
    rng = np.random.default_rng(1)
    come = np.where(np.arange(400) < 200, 0, DAYS / 2)
    n = rng.poisson(4e-3 * (DAYS - come))
    node = np.repeat(np.arange(400), n)
    start = come[node] + rng.uniform(0, 1, node.size) * (DAYS - come[node])
    nodes = pd.DataFrame({"node": [f"n{i}" for i in range(400)], "in": BEGIN + pd.to_timedelta(come, unit="D")})
    fit, without = fit_with(write, start, [f"n{i}" for i in node], nodes.astype({"in": str}))
    assert fit.rate.low < 4 < fit.rate.high and fit.log.node_days == pytest.approx(400 * 0.75 * DAYS)
    assert without.rate.per_1000_node_days == pytest.approx(0.75 * fit.rate.per_1000_node_days)
    assert fit.node_statistics.bad.n_beyond == 0 and fit.verdict("nodes").answer == "nothing"
    hazard = fit.node_statistics.hazard
    assert hazard["node_days"].sum() == pytest.approx(fit.log.node_days)


def test_a_node_that_came_late_is_judged_by_its_own_time(write):
    """Seven failures in sixty days are more than in a year, and no reason to ask when the node came."""
    rng = np.random.default_rng(2)
    node = np.append(rng.integers(1, 400, 700), np.zeros(7, dtype=int))
    start = np.append(rng.uniform(0, DAYS, 700), DAYS - 58 + 8 * np.arange(7))
    nodes = pd.DataFrame({"node": [f"n{i}" for i in range(400)], "in": ""})
    nodes.loc[0, "in"] = str(BEGIN + pd.Timedelta(days=DAYS - 60))
    fit, without = fit_with(write, start, [f"n{i}" for i in node], nodes)
    ours, theirs = (log_fit.node_statistics.bad.table.set_index("node").loc["n0"] for log_fit in (fit, without))
    assert ours["expected"] == pytest.approx(theirs["expected"] * 60 / DAYS, rel=0.1)
    assert ours["beyond"] and ours["p"] < theirs["p"] and (ours["remark"], theirs["remark"]) == ("", "late")
