"""Does a node's place in the numbering, or its kind, explain who fails?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.validity import at_least_zero
from ettr.failures.lemons import monte_carlo_p

MODULI = (2, 4, 8, 16, 18, 32, 36, 64, 72)
"""Sizes of groups (trays, racks, switches) in which a node's number is looked at."""
_FEWEST_NAMES, _DRAWS, _MOST_NODES = 10, 499, 20_000


@dataclass(frozen=True)
class RoleCheck:
    """The position or kind of node, read from its name, whose nodes fail more than the others.

    Attributes
    ----------
    kind : str
        ``"number"``, the remainder of the name's last number, or ``"prefix"``, what stands before it.
    value : str
        E.g. ``"0 mod 32"`` or ``"login"``.
    ratio : float
        Failures per node there over those per node elsewhere.
    p : float
        Probability of a class that stands out as much among all that were tried, if names had nothing to do with
        failures.
    n_nodes : int
        Nodes there, of those that the check could use. [count]
    share : float
        The same as a share of them.
    """

    kind: str
    value: str
    ratio: float
    p: float
    n_nodes: int
    share: float

    def holds(self, names: Any) -> np.ndarray:
        """Which of some nodes are of this position or kind. Shape (n,), bool."""
        parts = _parts(names)
        if self.kind == "prefix":
            of_kind: np.ndarray = (_kind(parts[0]).map(_shown, na_action="ignore") == self.value).to_numpy(dtype=bool)
            return of_kind
        rest, modulus = map(int, self.value.split(" mod "))
        numbers = parts[1].astype(float).to_numpy()
        there: np.ndarray = numbers % modulus == rest
        return there


def check_roles(names: Any, counts: Any, n_nodes: int | None = None, seed: int = 0) -> RoleCheck | None:
    """Does a node's place in the numbering, or the kind in its name, explain who fails?

    The last number in a name (of a host name: of its part before the first dot) is looked at modulo 2, 4, 8, 16, 18,
    32, 36, 64 and 72, as far as there are four nodes a class, and what stands before it as a kind (``login``, ``gpu``).

    Parameters
    ----------
    names : sequence of str or int
        Names of the nodes that failed, each once.
    counts : array of int
        Failures of each. [count]
    n_nodes : int, optional
        Nodes watched, the healthy ones included. [count]
    seed : int
        Of the random redistribution.

    Returns
    -------
    RoleCheck or None
        The class that stands out most, significant or not. None if names hold no numbering: fewer than half of them
        carry a number, or most have a beginning of their own, as random identifiers do, or fewer than ten nodes failed.

    Raises
    ------
    InputError
        Counts that are negative, or not one for each name.

    Notes
    -----
    Healthy nodes are not in a log. If the numbers seen span no more nodes than were watched, or were seen for half of
    that span or more, the gaps in each numbering are taken as healthy nodes; else only nodes that failed are compared,
    which finds less. At most 20,000 of them, at random. A class stands out by :math:`z` of its failures against its
    share of the nodes. The p-value is the share of 499 permutations of the counts over the names with as high a
    :math:`z` in any class, so neither a single bad node nor the number of classes tried makes a role.

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
    """What stands before the last number of each name, and the number; of a host name before its first dot."""
    labels = pd.Series(np.asarray(names)).astype(str)
    if labels.str.contains(".", regex=False).any():
        labels = labels.str.replace(r"^([^.]*[A-Za-z][^.]*)\..*$", r"\1", regex=True)
    return labels.str.extract(r"^(|.*\D)(\d{1,9})\D*$")


def _kind(beginnings: pd.Series) -> pd.Series:
    """Beginnings of names without their numbers."""
    return beginnings.str.replace(r"\d+", "#", regex=True)


def _shown(kind: str) -> str:
    return kind.strip("-_# ")


def _numbered_nodes(
    beginning: np.ndarray, kind: np.ndarray, number: np.ndarray, failures: np.ndarray, n_nodes: int | None
) -> pd.DataFrame:
    """``kind``, ``number``, ``n_events`` of all nodes of the numbering, or of those that failed.

    A node that never failed is taken to exist where its number lies among those of its beginning. Of several beginnings
    of a kind, such as racks, it must also be a number that one of them is known to have.
    """
    seen = pd.DataFrame({"beginning": beginning, "kind": kind, "number": number, "n_events": failures})
    spans = seen.groupby("beginning").agg(kind=("kind", "first"), lowest=("number", "min"), highest=("number", "max"))
    size = int((spans["highest"] - spans["lowest"] + 1).sum())
    if size > max(n_nodes or 0, 2 * len(seen)):
        return seen
    counts = seen.groupby(["beginning", "number"], as_index=False)["n_events"].sum()
    found = [_existing(span, seen.loc[seen["kind"] == kind, "number"]) for kind, span in spans.groupby("kind")]
    everyone = pd.concat(found, ignore_index=True)
    return everyone.merge(counts, "left", on=["beginning", "number"]).fillna({"n_events": 0})


def _existing(spans: pd.DataFrame, seen: pd.Series) -> pd.DataFrame:
    """``kind``, ``beginning`` and ``number`` of the nodes of one kind that are taken to exist."""
    lowest, highest = spans["lowest"].to_numpy(), spans["highest"].to_numpy()
    numbers = np.unique(seen) if len(spans) > 1 else np.arange(lowest[0], highest[0] + 1)
    first, last = np.searchsorted(numbers, lowest), np.searchsorted(numbers, highest, side="right")
    n = last - first
    place = np.repeat(first - (np.cumsum(n) - n), n) + np.arange(n.sum())
    return pd.DataFrame(
        {"kind": spans["kind"].iloc[0], "beginning": np.repeat(spans.index.to_numpy(), n), "number": numbers[place]}
    )


def _standing_out(population: pd.DataFrame, rng: np.random.Generator) -> RoleCheck | None:
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
        meaning += [("prefix", _shown(str(name))) for name in kinds]
    if not labels or counts.sum() == 0:
        return None
    classes = np.concatenate(labels)
    size = np.bincount(classes, minlength=len(meaning))
    usable = (size >= 2) & (size < n)
    if not usable.any():
        return None
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
