"""Which nodes were watched from when to when: a table of nodes, when each came and when it went."""

from __future__ import annotations

from datetime import tzinfo
from pathlib import Path

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.sentences import pct
from ettr.files.clock import StampClock
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import DelimitedTable, columns_found, plain_name, refuse_twice
from ettr.files.times import DAY
from ettr.files.zones import zone_of
from ettr.logs.columns import WORDS, origins
from ettr.logs.nodes import PLACEHOLDERS

_CAME = "in from since installed installedat added joined commissioned deployed"
_WENT = "out until to removed removedat left retired decommissioned"
_IN, _OUT = (*_CAME.split(), *WORDS["start"]), (*_WENT.split(), *WORDS["end"])
_MOST_STRANGERS = 0.05
"""A larger share of failures on nodes that an inventory does not have makes it that of another cluster."""
_HOUR_US = 3_600_000_000


def read_inventory(path: str | Path, ledger: Ledger, zone: str | tzinfo | None = None) -> pd.DataFrame:
    """Read when nodes came and went.

    Parameters
    ----------
    path : str or path
        A table with the columns node, in and out, or words like these. A blank in is before the log, a blank out after
        it. A node may have several rows.
    ledger : Ledger
        Takes rows that cannot be read.
    zone : str, tzinfo or None
        Zone of times that carry none.

    Returns
    -------
    DataFrame
        ``node``, ``in_us`` and ``out_us`` [us since 1970 UTC], a row a stay; stays of a node that touch are one.

    Raises
    ------
    InputError
        A column that is missing, or no node.
    """
    source = Source(path, kind="inventory")
    table, clock = DelimitedTable(source.lines(ledger), ledger), StampClock(ledger, zone_of(zone))
    columns = {
        ours: next((name for word in words for name in table.header if plain_name(name) == word), None)
        for ours, words in (("node", WORDS["node"]), ("in", _IN), ("out", _OUT))
    }
    if columns["node"] is None:
        raise InputError(f"the inventory {source.name} must name nodes. {columns_found(table.header)}")
    refuse_twice(filter(None, columns.values()), table.header, source.name)
    ledger.note(origins("inventory", {ours: (name,) for ours, name in columns.items() if name}, table.header))
    rows = [row for _, batch in table.batches() for row in batch]
    frame = pd.DataFrame(rows, columns=table.header, dtype=object)
    far = np.iinfo(np.int64).max // 4
    ends = {}
    for ours, blank in (("in", -far), ("out", far)):
        ends[ours] = np.full(len(frame), blank)
        if columns[ours] is not None:
            texts = frame[columns[ours]]
            is_written = texts.str.strip().ne("").to_numpy(dtype=bool)
            us, good = clock.us_series(texts[is_written])
            ends[ours][is_written] = np.where(good, us, blank)
            ledger.not_parsed(f"inventory: {ours} is no time, taken as blank", int((~good).sum()))
    node = frame[columns["node"]].str.strip()
    wrong = ((ends["out"] <= ends["in"]) | node.str.casefold().isin({*PLACEHOLDERS, ""})).to_numpy(dtype=bool)
    ledger.not_parsed("inventory: no node, or out before in", int(wrong.sum()))
    stays = pd.DataFrame({"node": node, "in_us": ends["in"], "out_us": ends["out"]})[~wrong]
    if stays.empty:
        raise InputError(f"the inventory {source.name} holds no node that was there")
    return _joined(stays)


def _joined(stays: pd.DataFrame) -> pd.DataFrame:
    """Stays of a node that overlap or touch as one."""
    stays = stays.sort_values(["node", "in_us"], ignore_index=True)
    before = stays.groupby("node")["out_us"].cummax().groupby(stays["node"]).shift()
    stay = (before.isna() | (stays["in_us"] > before)).cumsum()
    return stays.groupby(stay.to_numpy()).agg(node=("node", "first"), in_us=("in_us", "min"), out_us=("out_us", "max"))


def watched(stays: pd.DataFrame, frame: pd.DataFrame, window: tuple[int, int], ledger: Ledger) -> pd.DataFrame:
    """When each node of a log was watched.

    Parameters
    ----------
    stays : DataFrame
        From `read_inventory`.
    frame : DataFrame
        Failures in the window, as ``Events.frame`` gives them.
    window : tuple of int
        Ends of the observation. [us]
    ledger : Ledger
        Takes what does not fit.

    Returns
    -------
    DataFrame
        ``node`` as the log calls it, ``in_h`` and ``out_h`` since the window's start [h], of those that were there.

    Raises
    ------
    InputError
        More than one failure in twenty on nodes that the inventory does not have.
    """
    stays = stays.assign(in_us=stays["in_us"].clip(lower=window[0]), out_us=stays["out_us"].clip(upper=window[1]))
    stays = stays[stays["out_us"] > stays["in_us"]]
    by_key = {_key(name): name for name in frame["node"].cat.categories}
    stays = stays.assign(node=[by_key.get(_key(name), name) for name in stays["node"]])
    has_node = frame["node"].notna()
    strange = has_node & ~frame["node"].isin(stays["node"])
    n = int(strange.sum())
    if n > max(1, _MOST_STRANGERS * len(frame)):
        raise InputError(
            f"{n:,} of {len(frame):,} failures are on nodes that the inventory does not have in the window, such as "
            f"{frame.loc[strange, 'node'].iloc[0]!r}: is it that of this cluster?"
        )
    if n:
        name = frame.loc[strange, "node"].iloc[0]
        ledger.doubt(f"{n:,} failures are on nodes that the inventory does not have in the window, such as {name!r}")
    hours = (stays[["in_us", "out_us"]] - window[0]) / _HOUR_US
    watched_h = pd.DataFrame({"node": stays["node"], "in_h": hours["in_us"], "out_h": hours["out_us"]})
    _say_absent(frame, stays, has_node & ~strange, ledger)
    return watched_h.reset_index(drop=True)


def _say_absent(frame: pd.DataFrame, stays: pd.DataFrame, chosen: pd.Series, ledger: Ledger) -> None:
    """Count failures of nodes while they were not there."""
    failures = frame.loc[chosen, ["node", "start"]].astype({"node": object}).reset_index()
    both = failures.merge(stays, on="node")
    inside = both[(both["start"] >= both["in_us"]) & (both["start"] <= both["out_us"])]["index"].nunique()
    absent = len(failures) - inside
    if absent:
        share = pct(absent / len(frame), 0)
        ledger.doubt(f"{absent:,} failures ({share}) are of nodes that were not there then, by the inventory")


def node_days(there: pd.DataFrame) -> float:
    """Exposure of all stays. [node-days]"""
    return float((there["out_h"] - there["in_h"]).sum()) * _HOUR_US / DAY


def _key(name: str) -> str:
    """A name without case and domain, by which a log and an inventory may call one node."""
    return name.casefold().partition(".")[0] if any(sign.isalpha() for sign in name) else name
