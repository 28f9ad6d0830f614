"""Inventory: a table of nodes with the times at which each entered and left service."""

from __future__ import annotations

from datetime import tzinfo
from pathlib import Path

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.sentences import pct
from ettr.files.clock import StampClock
from ettr.files.columns import find_roles, origins
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import DelimitedTable, columns_found
from ettr.files.times import DAY, HOUR
from ettr.files.zones import zone_of
from ettr.logs.columns import WORDS
from ettr.logs.nodes import PLACEHOLDERS

_CAME = "in from since installed installedat added joined commissioned deployed"
_WENT = "out until to removed removedat left retired decommissioned"
_IN, _OUT = (*_CAME.split(), *WORDS["start"]), (*_WENT.split(), *WORDS["end"])
_MOST_STRANGERS = 0.05
"""Share of failures on nodes missing from the inventory above which it is refused as that of another cluster."""


def read_inventory(path: str | Path, ledger: Ledger, zone: str | tzinfo | None = None) -> pd.DataFrame:
    """Read the times at which nodes entered and left service.

    Parameters
    ----------
    path : str or path
        A table with the columns node, in and out, or similar names. A blank in means before the log, a blank out after
        it. A node may have several rows.
    ledger : Ledger
        Records rows that cannot be read.
    zone : str, tzinfo or None
        Time zone of times without one.

    Returns
    -------
    DataFrame
        ``node``, ``in_us`` and ``out_us`` [us since 1970 UTC], one row per stay; adjoining stays of a node are one.

    Raises
    ------
    InputError
        The column of nodes is missing, or there is no node.
    """
    source = Source(path, kind="inventory")
    table, clock = DelimitedTable(source.lines(ledger), ledger), StampClock(ledger, zone_of(zone))
    columns = find_roles(table.header, {"node": WORDS["node"], "in": _IN, "out": _OUT}, {}, source.name)
    if "node" not in columns:
        raise InputError(
            f"the inventory {source.name} must have a column of nodes. {columns_found(table.header)} If the first line "
            "is a row, put a header above it, such as node,in,out"
        )
    ledger.note(origins("inventory", columns, table.header))
    frame = table.frame()
    far = np.iinfo(np.int64).max // 4
    ends = {}
    for role, blank in (("in", -far), ("out", far)):
        ends[role] = np.full(len(frame), blank)
        if role in columns:
            texts = frame[columns[role][0]].str.strip()
            us, good = clock.us_series(texts)
            ends[role] = np.where(good, us, blank)
            wrong = texts[~good & texts.ne("")]
            first = repr(next(iter(wrong), "")[:40])
            ledger.not_parsed(f"inventory: {role} is no time, treated as blank", len(wrong), first)
    node = frame[columns["node"][0]].str.strip()
    wrong = ((ends["out"] <= ends["in"]) | node.str.casefold().isin({*PLACEHOLDERS, ""})).to_numpy(dtype=bool)
    ledger.not_parsed("inventory: no node, or out before in", int(wrong.sum()))
    stays = pd.DataFrame({"node": node, "in_us": ends["in"], "out_us": ends["out"]})[~wrong]
    if stays.empty:
        raise InputError(f"the inventory {source.name} has no node with a valid stay")
    return _joined(stays)


def _joined(stays: pd.DataFrame) -> pd.DataFrame:
    """Stays with overlapping or adjoining ones of a node joined."""
    stays = stays.sort_values(["node", "in_us"], ignore_index=True)
    before = stays.groupby("node")["out_us"].cummax().groupby(stays["node"]).shift()
    stay = (before.isna() | (stays["in_us"] > before)).cumsum()
    return stays.groupby(stay.to_numpy()).agg(node=("node", "first"), in_us=("in_us", "min"), out_us=("out_us", "max"))


def watched(stays: pd.DataFrame, frame: pd.DataFrame, window: tuple[int, int], ledger: Ledger) -> pd.DataFrame:
    """Return the times in which each node of a log was watched.

    Parameters
    ----------
    stays : DataFrame
        From `read_inventory`.
    frame : DataFrame
        Failures in the window, as ``Events.frame`` gives them.
    window : tuple of int
        Ends of the window. [us]
    ledger : Ledger
        Takes cautions on mismatches.

    Returns
    -------
    DataFrame
        ``node`` (name in the log), ``in_h`` and ``out_h`` since the window's start [h], for stays in the window.

    Raises
    ------
    InputError
        More than 5% of the failures are on nodes missing from the inventory.
    """
    stays = stays.assign(in_us=stays["in_us"].clip(lower=window[0]), out_us=stays["out_us"].clip(upper=window[1]))
    stays = stays[stays["out_us"] > stays["in_us"]]
    by_key = {_key(name): name for name in frame["node"].cat.categories}
    stays = stays.assign(node=[by_key.get(_key(name), name) for name in stays["node"]])
    has_node = frame["node"].notna()
    is_missing = has_node & ~frame["node"].isin(stays["node"])
    n = int(is_missing.sum())
    if n > max(1, _MOST_STRANGERS * len(frame)):
        raise InputError(
            f"{n:,} of {len(frame):,} failures are on nodes that are not in the inventory in the window, such as "
            f"{frame.loc[is_missing, 'node'].iloc[0]!r}: is it the inventory of this cluster?"
        )
    if n:
        name = frame.loc[is_missing, "node"].iloc[0]
        ledger.doubt(f"{n:,} failures are on nodes that are not in the inventory in the window, such as {name!r}")
    hours = (stays[["in_us", "out_us"]] - window[0]) / HOUR
    watched_h = pd.DataFrame({"node": stays["node"], "in_h": hours["in_us"], "out_h": hours["out_us"]})
    _doubt_absent(frame, stays, has_node & ~is_missing, ledger)
    return watched_h.reset_index(drop=True)


def _doubt_absent(frame: pd.DataFrame, stays: pd.DataFrame, chosen: pd.Series, ledger: Ledger) -> None:
    """Caution if nodes failed outside their stays in the inventory."""
    failures = frame.loc[chosen, ["node", "start"]].astype({"node": object}).reset_index()
    both = failures.merge(stays, on="node")
    inside = both[(both["start"] >= both["in_us"]) & (both["start"] <= both["out_us"])]["index"].nunique()
    absent = len(failures) - inside
    if absent:
        share = pct(absent / len(frame), 0)
        ledger.doubt(f"{absent:,} failures ({share}) are on nodes that were not in service then, by the inventory")


def node_days(stays: pd.DataFrame) -> float:
    """Return the exposure of all stays. [node-days]"""
    return float((stays["out_h"] - stays["in_h"]).sum()) * HOUR / DAY


def _key(name: str) -> str:
    """A name without case and domain, to match the log with the inventory."""
    return name.casefold().partition(".")[0] if any(sign.isalpha() for sign in name) else name
