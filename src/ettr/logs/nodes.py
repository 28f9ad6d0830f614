"""Names of nodes: different spellings of one node, placeholders for no node, and lists of several nodes."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.node_lists import LONGEST, expand
from ettr.files.times import NoTime, written

APART = "/"
"""Separator between a system and the name of a node in it."""

_NO_NODE = """
    unknown unk n/a na none null nan nil tbd unassigned undefined unspecified notavailable not-available (none)
    (unknown) ? - -- --- * ."""
PLACEHOLDERS = frozenset(_NO_NODE.split())
_DECIMALS = re.compile(r"\d+\.0+")
_NAMES = re.compile(r"[\w.\-\[\]:]+", re.ASCII)
_SEPARATORS = re.compile(r"\s*[,;|]\s*")
SYSTEMS = ("system", "cluster", "site", "datacenter", "datacentre", "dc", "region", "hall")
"""Names of columns whose values may each have a node of the same name."""

_HALF = 0.5


def settle_nodes(frame: pd.DataFrame, split: str | None, ledger: Ledger, source: str) -> pd.DataFrame:
    """Return the failures with one name per node.

    Parameters
    ----------
    frame : DataFrame
        Failures as ``Events.frame`` gives them.
    split : str or None
        Column whose values are separate systems.
    ledger : Ledger
        Takes notes on the changes.
    source : str
        Name of the file, for messages.

    Returns
    -------
    DataFrame
        The failures with one name per node, missing for placeholders, and with one row per node for records with
        several nodes.

    Raises
    ------
    InputError
        Times instead of names, or a list of more than a million names.
    """
    names = frame["node"].cat.categories
    _refuse_times(names, source)
    frame = _without_placeholders(frame, ledger)
    frame = _expanded(frame, ledger, source)
    for fold, words in _FOLDS:
        frame = _folded(frame, fold, words, ledger)
    return _systems_apart(frame, split, ledger)


def _refuse_times(names: pd.Index, source: str) -> None:
    """Refuse a column of nodes that contains times."""

    def is_time(name: str) -> bool:
        try:
            return written(name) is not None
        except NoTime:
            return False

    sample = names[:200]
    if len(sample) and sum(map(is_time, sample)) > _HALF * len(sample):
        raise InputError(
            f"node must be a column of names, but in {source} it has times such as {sample[0]!r}: are columns swapped? "
            'Name them, e.g. `columns={"start": "opened_at", "node": "host"}`'
        )


def _without_placeholders(frame: pd.DataFrame, ledger: Ledger) -> pd.DataFrame:
    """Failures without nodes that are placeholders, such as ``unknown``."""
    placeholders = [name for name in frame["node"].cat.categories if name.casefold() in PLACEHOLDERS]
    if not placeholders:
        return frame
    n = int(frame["node"].isin(placeholders).sum())
    examples = ", ".join(map(repr, placeholders[:4]))
    ledger.note(f"failures with a placeholder instead of a node ({examples}): {n:,}, counted without a node")
    return frame.assign(node=frame["node"].cat.remove_categories(placeholders))


def _expanded(frame: pd.DataFrame, ledger: Ledger, source: str) -> pd.DataFrame:
    """One row per node for records with several nodes."""
    many = {name: nodes for name in frame["node"].cat.categories if (nodes := _nodes_of(name))}
    if not many:
        return frame
    codes = {name: len(nodes) for name, nodes in many.items()}
    times = frame["node"].map(codes).astype(float).fillna(1).to_numpy(dtype=int)
    if times.sum() > LONGEST + len(frame):
        raise InputError(f"lists of nodes may make at most {LONGEST:,} failures, got {times.sum():,} ({source})")
    rows = np.repeat(np.arange(len(frame)), times)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    names = frame["node"].astype(object).to_numpy()[rows]
    node = [many[name][i] if name in many else name for name, i in zip(names, place, strict=True)]
    n = int((times > 1).sum())
    total = int(times[times > 1].sum())
    ledger.note(f"records with several nodes: {n:,}, each counted once per node, {total:,} in all")
    return frame.iloc[rows].assign(node=pd.Categorical(node)).reset_index(drop=True)


def _nodes_of(name: str) -> list[str]:
    """The names in a list or a range; empty for a single name."""
    if "[" not in name and not _SEPARATORS.search(name):
        return []
    try:
        nodes = expand(_SEPARATORS.sub(",", name)) if "[" in name else _SEPARATORS.split(name)
    except ValueError:
        return []
    nodes = list(dict.fromkeys(node for node in nodes if node))
    # all names in a list have numbers; anything else may be one name with a comma
    like_names = all(_NAMES.fullmatch(node) and any(sign.isdigit() for sign in node) for node in nodes)
    return nodes if len(nodes) > 1 and like_names else []


def _folded(frame: pd.DataFrame, fold: Callable[[str], str], words: str, ledger: Ledger) -> pd.DataFrame:
    """One name for all spellings that are equal after ``fold``."""
    names = frame["node"].cat.categories
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(fold(name), []).append(name)
    merged = {key: group for key, group in groups.items() if len(group) > 1 and _may_merge(key, group, words)}
    if not merged:
        return frame
    counts = frame["node"].value_counts()
    common_name = {
        name: max(group, key=lambda spelling: (spelling == key, counts[spelling]))
        for key, group in merged.items()
        for name in group
    }
    shortest: list[str] = min(merged.values(), key=len)
    example = " and ".join(map(repr, shortest))
    ledger.note(f"names of nodes that differ only in {words} are treated as one: {len(merged):,}, such as {example}")
    kept = [name for name in names if common_name.get(name, name) == name]
    codes = pd.Index(kept).get_indexer([common_name.get(name, name) for name in names])
    old = frame["node"].cat.codes.to_numpy()
    node = pd.Categorical.from_codes(np.where(old < 0, -1, codes[old]), categories=pd.Index(kept, dtype=object))
    return frame.assign(node=node)


def _may_merge(key: str, group: list[str], words: str) -> bool:
    """Whether names are merged: domains only if the bare name occurs too, because two domains are two nodes."""
    return words != _DOMAIN or (len(group) == 2 and any(name.casefold() == key for name in group))


def _bare(name: str) -> str:
    """The name before its domain, without case; addresses and numbers stay."""
    head, _, domain = name.partition(".")
    has_domain = any(sign.isalpha() for sign in head) and any(sign.isalpha() for sign in domain)
    return (head if has_domain else name).casefold()


def _without_decimals(name: str) -> str:
    """A number without its zero decimals, e.g. ``7`` for ``7.0``."""
    return name.partition(".")[0] if _DECIMALS.fullmatch(name) else name


_DOMAIN = "their domain"
_FOLDS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.casefold, "case"),
    (_bare, _DOMAIN),
    (_without_decimals, "zero decimals"),
)


def _systems_apart(frame: pd.DataFrame, split: str | None, ledger: Ledger) -> pd.DataFrame:
    """Nodes with the system in their names, if ``split`` is a column of systems that share names."""
    if split is None or split not in frame.columns:
        column = next((name for name in frame.columns if name.casefold() in SYSTEMS), None)
        n = _n_shared(frame, column) if column else 0
        if n:
            ledger.doubt(
                f"{n:,} names of nodes occur under several values of {column!r} and are treated as one node each: if "
                f'they are different nodes, give `split="{column}"`'
            )
        return frame
    n = _n_shared(frame, split)
    if not n:
        return frame
    ledger.note(f"names of nodes that occur under several values of {split}: {n:,}; treated as different nodes")
    has_both = frame["node"].notna() & frame[split].notna()
    joined = frame[split].astype(str) + APART + frame["node"].astype(str)
    return frame.assign(node=pd.Categorical(joined.where(has_both, frame["node"].astype(object))))


def _n_shared(frame: pd.DataFrame, column: str) -> int:
    """Number of node names that occur under several values of a column."""
    pairs = frame.loc[frame["node"].notna() & frame[column].notna(), ["node", column]].drop_duplicates()
    return int((pairs["node"].value_counts() > 1).sum())
