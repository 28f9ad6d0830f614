"""Failures by role: whether the number or the prefix in a node's name explains which nodes fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.validity import at_least_zero
from ettr.failures.lemons import monte_carlo_p

MODULI = (2, 4, 8, 16, 18, 32, 36, 64, 72)
"""Sizes of groups (trays, racks, switches): the number of a node is taken modulo each."""
_FEWEST_NAMES, _DRAWS, _MOST_NODES = 10, 499, 20_000


@dataclass(frozen=True)
class RoleCheck:
    """The position or kind of node, read from its name, that stands out by its failures.

    Attributes
    ----------
    kind : str
        ``"number"``: the last number in the name, modulo a group size; ``"prefix"``: the text before the number.
    value : str
        The class, e.g. ``"0 mod 32"`` or ``"login"``.
    ratio : float
        Failures per node in the class over failures per other node.
    p : float
        P-value, corrected for all classes tried.
    n_nodes : int
        Nodes in the class, among those used in the check. [count]
    share : float
        Share of nodes in the class, among those used in the check.
    """

    kind: str
    value: str
    ratio: float
    p: float
    n_nodes: int
    share: float

    def holds(self, names: Any) -> np.ndarray:
        """Return whether each node is in the class. Shape (n,), bool."""
        parts = _parts(names)
        if self.kind == "prefix":
            has_prefix: np.ndarray = (_kind(parts[0]).map(_prefix, na_action="ignore") == self.value).to_numpy(
                dtype=bool
            )
            return has_prefix
        rest, modulus = map(int, self.value.split(" mod "))
        numbers = parts[1].astype(float).to_numpy()
        has_rest: np.ndarray = numbers % modulus == rest
        return has_rest


def check_roles(names: Any, counts: Any, n_nodes: int | None = None, seed: int = 0) -> RoleCheck | None:
    """Find the position or kind of node that stands out by its failures, from the names of the nodes.

    Classes are the last number in a name (for a host name, in the part before the first dot) modulo 2, 4, 8, 16, 18,
    32, 36, 64 and 72, as long as there are four nodes per class, and the text before the number (``login``, ``gpu``).

    Parameters
    ----------
    names : sequence of str or int
        Names of the nodes that failed, each once.
    counts : array of int
        Failures of each node. [count]
    n_nodes : int, optional
        Nodes watched, including healthy ones. [count]
    seed : int
        Seed of the permutations.

    Returns
    -------
    RoleCheck or None
        The class that stands out most, significant or not. None if fewer than half of the names contain a number, if
        most names have different beginnings, as random identifiers do, or if fewer than ten nodes failed.

    Raises
    ------
    InputError
        Counts that are negative, or not one per name.

    Notes
    -----
    Healthy nodes are not in a log. If the range of the numbers is no larger than the number of nodes watched, or if at
    least half of the range failed, the missing numbers are taken as healthy nodes; otherwise only nodes that failed are
    compared, with less power. At most 20,000 nodes are used, at random. The statistic of a class is :math:`z`, its
    failures against its share of the nodes. The p-value is the share of 499 permutations of the counts over the names
    with such a high :math:`z` in any class, so neither a single bad node nor the number of classes causes a false
    alarm.

    Examples
    --------
    >>> names = [f"node{i:03d}" for i in range(256)]
    >>> roles = check_roles(names, [9 if i % 32 == 0 else 1 for i in range(256)], n_nodes=256)
    >>> roles.value, roles.ratio, roles.p < 0.05
    ('0 mod 32', 9.0, True)
    """
    parts = _parts(names)
    failures = at_least_zero("counts", counts)
    if len(failures) != len(parts):
        raise InputError(f"counts must have {len(parts)} values, as names has, got {len(failures)}")
    numbered = parts[1].notna().to_numpy(dtype=bool)
    beginning, beginnings = pd.factorize(parts[0][numbered])
    kinds = _kind(pd.Series(beginnings)).to_numpy(dtype=object)[beginning]
    n_numbered = int(numbered.sum())
    if n_numbered < max(_FEWEST_NAMES, len(parts) / 2) or len(set(kinds)) > n_numbered / 2:
        return None
    rng = np.random.default_rng(seed)
    population = _numbered_nodes(
        beginning, kinds, parts[1][numbered].to_numpy(dtype=np.int64), failures[numbered], n_nodes
    )
    if len(population) > _MOST_NODES:
        population = population.iloc[rng.choice(len(population), _MOST_NODES, replace=False)]
    return _standing_out(population, rng)


def _parts(names: Any) -> pd.DataFrame:
    """Text before the last number of each name, and the number; for host names in the part before the first dot."""
    labels = pd.Series(np.asarray(names)).astype(str)
    if labels.str.contains(".", regex=False).any():
        labels = labels.str.replace(r"^([^.]*[A-Za-z][^.]*)\..*$", r"\1", regex=True)
    return labels.str.extract(r"^(|.*\D)(\d{1,9})\D*$")


def _kind(beginnings: pd.Series) -> pd.Series:
    """Beginnings of names without their numbers."""
    return beginnings.str.replace(r"\d+", "#", regex=True)


def _prefix(kind: str) -> str:
    """A kind as it is written in a sentence."""
    return kind.strip("-_# ")


def _numbered_nodes(
    beginning: np.ndarray, kind: np.ndarray, number: np.ndarray, failures: np.ndarray, n_nodes: int | None
) -> pd.DataFrame:
    """``kind``, ``number`` and ``n_events`` of all nodes, or of those that failed if healthy ones cannot be inferred.

    A healthy node is assumed to exist if its number lies in the range of the numbers with the same beginning. If a kind
    has several beginnings, such as racks, the number must also occur with one of them.
    """
    failed = pd.DataFrame({"beginning": beginning, "kind": kind, "number": number, "n_events": failures})
    spans = failed.groupby("beginning").agg(kind=("kind", "first"), lowest=("number", "min"), highest=("number", "max"))
    size = int((spans["highest"] - spans["lowest"] + 1).sum())
    if size > max(n_nodes or 0, 2 * len(failed)):
        return failed
    counts = failed.groupby(["beginning", "number"], as_index=False)["n_events"].sum()
    kinds = [_existing(span, failed.loc[failed["kind"] == kind, "number"]) for kind, span in spans.groupby("kind")]
    population = pd.concat(kinds, ignore_index=True)
    return population.merge(counts, "left", on=["beginning", "number"]).fillna({"n_events": 0})


def _existing(spans: pd.DataFrame, failed: pd.Series) -> pd.DataFrame:
    """``kind``, ``beginning`` and ``number`` of the nodes of one kind that are assumed to exist."""
    lowest, highest = spans["lowest"].to_numpy(), spans["highest"].to_numpy()
    numbers = np.unique(failed) if len(spans) > 1 else np.arange(lowest[0], highest[0] + 1)
    first, last = np.searchsorted(numbers, lowest), np.searchsorted(numbers, highest, side="right")
    n = last - first
    place = np.repeat(first - (np.cumsum(n) - n), n) + np.arange(n.sum())
    return pd.DataFrame(
        {"kind": spans["kind"].iloc[0], "beginning": np.repeat(spans.index.to_numpy(), n), "number": numbers[place]}
    )


def _standing_out(population: pd.DataFrame, rng: np.random.Generator) -> RoleCheck | None:
    """The class with the highest z, with its permutation p-value over all classes."""
    n = len(population)
    counts = population["n_events"].to_numpy(dtype=float)
    number = population["number"].to_numpy()
    labels: list[np.ndarray] = []
    meaning: list[tuple[str, str]] = []
    for modulus in MODULI:
        if n >= 4 * modulus:
            labels.append(number % modulus + len(meaning))
            meaning += [("number", f"{rest} mod {modulus}") for rest in range(modulus)]
    kind, kinds = pd.factorize(population["kind"])
    if len(kinds) > 1:
        labels.append(kind + len(meaning))
        meaning += [("prefix", _prefix(str(name))) for name in kinds]
    if not labels or counts.sum() == 0:
        return None
    classes = np.concatenate(labels)
    size = np.bincount(classes, minlength=len(meaning))
    usable = (size >= 2) & (size < n)
    if not usable.any():
        return None
    # z of each class: failures minus expected, over the binomial standard error
    expected = counts.sum() * size / n
    error = np.sqrt(np.where(usable, expected * (1 - size / n), 1.0))

    def stands_out(shuffled: np.ndarray) -> np.ndarray:
        total = np.bincount(classes, np.tile(shuffled, len(labels)), minlength=len(meaning))
        return np.where(usable, (total - expected) / error, -np.inf)

    z = stands_out(counts)
    highest = np.array([stands_out(rng.permutation(counts)).max() for _ in range(_DRAWS)])
    best = int(z.argmax())
    inside = float(np.bincount(classes, np.tile(counts, len(labels)), minlength=len(meaning))[best])
    outside = float(counts.sum()) - inside
    ratio = inside / outside * (n - size[best]) / size[best] if outside else float("inf")
    kind_name, value = meaning[best]
    return RoleCheck(
        kind=kind_name,
        value=value,
        ratio=float(ratio),
        p=monte_carlo_p(float(z[best]), highest),
        n_nodes=int(size[best]),
        share=float(size[best] / n),
    )
