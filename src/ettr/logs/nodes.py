"""One name for one node: what people write in different ways, and what stands for none or for many."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.times import NoTime, written

LONGEST = 1_000_000
"""Names that one list, or all lists of a log together, may stand for."""

_TOO_LONG = f"a node list may stand for at most {LONGEST:,} names"
_LISTED_NAME = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)

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
    shortest: list[str] = min(met.values(), key=len)
    example = " and ".join(map(repr, shortest))
    ledger.note(f"names of nodes that differ in {words} are taken as one: {len(met):,} nodes, such as {example}")
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
    has_both = frame["node"].notna() & frame[split].notna()
    joined = frame[split].astype(str) + APART + frame["node"].astype(str)
    return frame.assign(node=pd.Categorical(joined.where(has_both, frame["node"].astype(object))))


def _n_shared(frame: pd.DataFrame, column: str) -> int:
    pairs = frame.loc[frame["node"].notna() & frame[column].notna(), ["node", column]].drop_duplicates()
    return int((pairs["node"].value_counts() > 1).sum())


# --------------------------------------------------------------------------- lists of Slurm


def expand(text: str) -> list[str]:
    """Names that a node list stands for.

    Parameters
    ----------
    text : str
        Names and ranges, e.g. ``node[1001-1002,1073],gpu-[01-03]n[1-2]``. Leading zeros are kept.

    Returns
    -------
    list of str
        In the order of the list; empty for ``None assigned`` and the like.

    Raises
    ------
    ValueError
        The text is no node list, or stands for more than 1,000,000 names.

    Examples
    --------
    >>> expand("node[08-10,12],login")
    ['node08', 'node09', 'node10', 'node12', 'login']
    """
    text = text.strip()
    if text in ("", "None assigned", "None", "(null)", "N/A"):
        return []
    names: list[str] = []
    at = 0
    while at < len(text):
        match = _LISTED_NAME.match(text, at)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            raise ValueError(f"{text[at : at + 40]!r} is no node list")
        parts: list[list[str]] = []
        most = LONGEST - len(names)
        if not most:
            raise ValueError(_TOO_LONG)
        for ranges, plain in _PIECE.findall(match.group()):
            parts.append([plain] if plain else _numbers(ranges, most))
            most //= len(parts[-1])
        names.extend(map("".join, product(*parts)))
        at = match.end() + 1
    return names


def _numbers(text: str, most: int) -> list[str]:
    numbers: list[str] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item.strip())
        if match is None:
            raise ValueError(f"{item[:40]!r} is no range of numbers")
        low, high = match[1], match[2] or match[1]
        if int(high) < int(low):
            raise ValueError(f"the range {item} falls")
        if len(numbers) + int(high) - int(low) + 1 > most:
            raise ValueError(_TOO_LONG)
        numbers.extend(f"{number:0{len(low)}d}" for number in range(int(low), int(high) + 1))
    return numbers
