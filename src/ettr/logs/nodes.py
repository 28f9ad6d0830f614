"""One name for one node: what people write in different ways, and what stands for none or for many."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.times import NoTime, written
from ettr.logs.node_lists import LONGEST, expand

APART = "/"
"""Between a system and the name of a node in it."""

_NO_NODE = """
    unknown unk n/a na none null nan nil tbd unassigned undefined unspecified notavailable not-available (none)
    (unknown) ? - -- --- * ."""
PLACEHOLDERS = frozenset(_NO_NODE.split())
_DECIMALS = re.compile(r"\d+\.0+")
_NAMES = re.compile(r"[\w.\-\[\]:]+", re.ASCII)
_SEPARATORS = re.compile(r"\s*[,;|]\s*")
SYSTEMS = ("system", "cluster", "site", "datacenter", "datacentre", "dc", "region", "hall")
"""Columns of which each value may have a node of the same name."""

_HALF = 0.5


def settle_nodes(frame: pd.DataFrame, split: str | None, ledger: Ledger, source: str) -> pd.DataFrame:
    """Give every failure the node that it speaks of.

    Parameters
    ----------
    frame : DataFrame
        Failures as ``Events.frame`` gives them.
    split : str or None
        Column whose values are systems of their own.
    ledger : Ledger
        Takes what was done, in sentences.
    source : str
        The file, for messages.

    Returns
    -------
    DataFrame
        The same failures with one name a node, missing where a placeholder stands; a row a node where a record names
        several.

    Raises
    ------
    InputError
        Times in place of names, or a list of more than a million.
    """
    names = frame["node"].cat.categories
    _refuse_times(names, source)
    frame = _without_placeholders(frame, ledger)
    frame = _expanded(frame, ledger, source)
    for fold, words in _FOLDS:
        frame = _folded(frame, fold, words, ledger)
    return _systems_apart(frame, split, ledger)


def _refuse_times(names: pd.Index, source: str) -> None:
    def is_time(name: str) -> bool:
        try:
            return written(name) is not None
        except NoTime:
            return False

    some = names[:200]
    if len(some) and sum(map(is_time, some)) > _HALF * len(some):
        raise InputError(
            f"node must hold names, and {source} has times such as {some[0]!r} there: are columns swapped? Name them, "
            "e.g. --map start=opened_at --map node=host"
        )


def _without_placeholders(frame: pd.DataFrame, ledger: Ledger) -> pd.DataFrame:
    found = [name for name in frame["node"].cat.categories if name.casefold() in PLACEHOLDERS]
    if not found:
        return frame
    n = int(frame["node"].isin(found).sum())
    ledger.note(f"names that stand for no node ({', '.join(map(repr, found[:4]))}): {n:,} failures are of none")
    return frame.assign(node=frame["node"].cat.remove_categories(found))


def _expanded(frame: pd.DataFrame, ledger: Ledger, source: str) -> pd.DataFrame:
    """A row a node where a record names several."""
    many = {name: nodes for name in frame["node"].cat.categories if (nodes := _nodes_of(name))}
    if not many:
        return frame
    codes = {name: len(nodes) for name, nodes in many.items()}
    times = frame["node"].map(codes).astype(float).fillna(1).to_numpy(dtype=int)
    if times.sum() > LONGEST + len(frame):
        raise InputError(f"lists of nodes may stand for at most {LONGEST:,} failures, got {times.sum():,} ({source})")
    rows = np.repeat(np.arange(len(frame)), times)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    as_named = frame["node"].astype(object).to_numpy()[rows]
    node = [many[name][i] if name in many else name for name, i in zip(as_named, place, strict=True)]
    n = int((times > 1).sum())
    in_all = int(times[times > 1].sum())
    ledger.note(f"records that name several nodes: {n:,}, each counted once a node, {in_all:,} in all")
    return frame.iloc[rows].assign(node=pd.Categorical(node)).reset_index(drop=True)


def _nodes_of(name: str) -> list[str]:
    """Names that a list or a range stands for; none for a single name."""
    if "[" not in name and not _SEPARATORS.search(name):
        return []
    try:
        nodes = expand(_SEPARATORS.sub(",", name)) if "[" in name else _SEPARATORS.split(name)
    except ValueError:
        return []
    nodes = list(dict.fromkeys(node for node in nodes if node))
    # a list has names with a number each; anything else may be one name with a comma
    like_names = all(_NAMES.fullmatch(node) and any(sign.isdigit() for sign in node) for node in nodes)
    return nodes if len(nodes) > 1 and like_names else []


def _folded(frame: pd.DataFrame, fold: Callable[[str], str], words: str, ledger: Ledger) -> pd.DataFrame:
    """One name for those that become the same, where several do."""
    names = frame["node"].cat.categories
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(fold(name), []).append(name)
    met = {key: group for key, group in groups.items() if len(group) > 1 and _may_meet(key, group, words)}
    if not met:
        return frame
    counts = frame["node"].value_counts()
    one_of = {
        name: max(group, key=lambda each: (each == key, counts[each])) for key, group in met.items() for name in group
    }
    example = min(met.values(), key=len)
    ledger.note(f"names of nodes that differ in {words} are taken as one: {len(met):,} nodes, such as {_or(example)}")
    kept = [name for name in names if one_of.get(name, name) == name]
    codes = pd.Index(kept).get_indexer([one_of.get(name, name) for name in names])
    old = frame["node"].cat.codes.to_numpy()
    node = pd.Categorical.from_codes(np.where(old < 0, -1, codes[old]), categories=pd.Index(kept, dtype=object))
    return frame.assign(node=node)


def _may_meet(key: str, group: list[str], words: str) -> bool:
    """Domains are dropped only where the bare name stands there too: two domains are two nodes."""
    return words != _DOMAIN or (len(group) == 2 and any(name.casefold() == key for name in group))


def _bare(name: str) -> str:
    """The name before its domain, without case; addresses and numbers have none."""
    head, _, domain = name.partition(".")
    has_domain = any(sign.isalpha() for sign in head) and any(sign.isalpha() for sign in domain)
    return (head if has_domain else name).casefold()


def _whole(name: str) -> str:
    return name.partition(".")[0] if _DECIMALS.fullmatch(name) else name


_DOMAIN = "their domain"
_FOLDS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.casefold, "case"),
    (_bare, _DOMAIN),
    (_whole, "decimals of nothing"),
)


def _or(names: Iterable[str]) -> str:
    return " and ".join(map(repr, names))


def _systems_apart(frame: pd.DataFrame, split: str | None, ledger: Ledger) -> pd.DataFrame:
    """Nodes of one name in several systems are several, where the user says that they are systems."""
    if split is None or split not in frame.columns:
        column = next((name for name in frame.columns if name.casefold() in SYSTEMS), None)
        n = _n_shared(frame, column) if column else 0
        if n:
            ledger.doubt(
                f"{n:,} names of nodes occur under several values of {column!r}, and are taken as one node each: if "
                f"they are not, give --split {column}"
            )
        return frame
    n = _n_shared(frame, split)
    if not n:
        return frame
    ledger.note(f"names of nodes that occur under several values of {split}: {n:,}; each value has a node of its own")
    known = frame["node"].notna() & frame[split].notna()
    joined = frame[split].astype(str) + APART + frame["node"].astype(str)
    return frame.assign(node=pd.Categorical(joined.where(known, frame["node"].astype(object))))


def _n_shared(frame: pd.DataFrame, column: str) -> int:
    pairs = frame.loc[frame["node"].notna() & frame[column].notna(), ["node", column]].drop_duplicates()
    return int((pairs["node"].value_counts() > 1).sum())
