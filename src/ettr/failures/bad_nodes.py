"""Nodes that fail more than chance explains: which, by how much, since when, and what to do with each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy

from ettr.core.units import H_PER_DAY
from ettr.core.validity import above_zero
from ettr.failures.dispersion import node_dispersion
from ettr.failures.lemons import monte_carlo_p
from ettr.failures.outages import SAME_WITHIN_H, Outages
from ettr.failures.rates import poisson_interval
from ettr.failures.repeats import RETEST_LIFT, deduplicate, expected_soon_of
from ettr.failures.window import SIGNIFICANT

Advice = Literal["replace", "re-test", "watch", ""]

REPLACE_LIFT = 2.0
"""A node whose rate is surely more than this many times that of the others is worth replacing."""
REPLACE_FEWEST = 4
"""Fewer failures than this, repeats aside, are watched before anything is replaced. [count]"""
WITHIN_D = 7.0
"""A failure this soon after the return of its node may be the old fault. [d]"""
_LEVEL = 0.95
_ROWS = 10
_DRAWS, _MOST_DRAWN = 199, 20_000
"""Random allocations of failures to nodes behind the test of memory, and failures that each deals out at most."""
_SHORT = 0.01
"""Failures of a node that all lie in one part of the window are told if that is less probable."""


def failures_apart(outages: Outages) -> pd.DataFrame:
    """Failures of known nodes, and which of them are no repeat of one just before.

    Returns
    -------
    DataFrame
        ``node`` (number), ``start_h``, ``end_h`` [h], ``n_events`` [count], and ``apart`` (bool): whether the node had
        been in service for ``WITHIN_D`` since its last failure that was apart, so that of a chain of repeats one in
        ``WITHIN_D`` is.
    """
    incidents = outages.incidents[outages.incidents["node"] >= 0].reset_index(drop=True)
    start, node, end = (incidents[name].to_numpy() for name in ("start_h", "node", "end_h"))
    return incidents.assign(apart=deduplicate(start, node, WITHIN_D * H_PER_DAY, end))


@dataclass(frozen=True)
class BadNodes:
    """The nodes with the most failures, and those beyond chance.

    Attributes
    ----------
    table : DataFrame
        The worst first, every node beyond chance among them: ``node``, ``n_failures`` (outages), ``expected`` (if it
        failed as the nodes that are not beyond chance do) [count], ``lift`` (how many times as many), ``low``, ``high``
        (ends of its exact 95% interval), ``p`` (of as many by chance, by Holm over all nodes), ``beyond`` (bool: by
        ``p``, or to be tested again),
        ``first_h``, ``last_h`` (its first and last failure) [h], ``n_returns`` (returns to service that were watched
        for ``within_d``, or ended in a failure before), ``n_soon`` (failures within ``within_d`` of one) [count],
        ``soon_expected`` (as many if its failures fell at any time alike), ``n_apart`` (failures that are no repeats)
        [count], ``remark`` (``late``, ``over`` or nothing: all its failures lie improbably near to the window's
        end, or stopped improbably early) and ``advice``.
    within_d : float
        What "soon" means. [d]
    n_beyond : int
        Nodes beyond chance. [count]
    memory_p : float
        Probability of times between failures of a node as short as these, if failures fell on the nodes at random.
    index : float
        Index of dispersion of the counts of ordinary nodes that ``p`` allows for; 1 where no memory was found.
    """

    table: pd.DataFrame
    within_d: float
    n_beyond: int
    memory_p: float
    index: float

    @property
    def has_memory(self) -> bool:
        """Whether a failure makes the next one of the same node more likely, at 5%."""
        return self.memory_p < SIGNIFICANT

    def advised(self, advice: Advice) -> list[Any]:
        """Names of the nodes with one advice, the worst first."""
        return [*self.table.loc[self.table["advice"] == advice, "node"]]


def find_bad_nodes(outages: Outages, names: Any = None, weight: Any = None, total: float | None = None) -> BadNodes:
    r"""Name the nodes that fail more than chance explains, and say what to do with each.

    Parameters
    ----------
    outages : Outages
        From `find_outages`; a failure is an outage, so that what is logged several times counts once.
    names : sequence, optional
        Name of each number of a node.
    weight : array of float, optional
        How often each failed node should fail, by how long it was watched and by what it is; alike if not given.
    total : float, optional
        Sum of the weights of all nodes, the healthy ones included; their number if not given.

    Returns
    -------
    BadNodes

    Notes
    -----
    Given the failures of some nodes together, those of one of them are binomial if all are alike. From the worst node
    on each is compared with those not named yet, so that no bad node hides another, and its p-value is multiplied by
    their number (Holm 1979): the probability of naming any node where all are alike is below 5%.

    If a failure makes the next one of the same node more likely, counts of identical nodes vary more than binomial
    ones. Memory is therefore tested first: the mean logarithm of the times between failures of a node, against 199
    random allocations of all failures to the same nodes with the same counts. Unequal rates alone do not make these
    times shorter. With memory (5%) a node's count is compared with a negative binomial whose index of dispersion is
    that of the nodes that did not stand out; so is its count without repeats, and the smaller ``p`` is taken.

    ``replace``: without repeats the node is still beyond chance, by ``REPLACE_FEWEST`` failures at least, and the low
    end of its lift is at least ``REPLACE_LIFT``. What begins within ``within_d`` of its return is a repeat of what was
    before; but where a node fails so often by itself that as many come so soon by chance, one in ``within_d`` counts.
    ``re-test``: if not, and failures soon after its returns are more than its own rate explains, at 5% over all nodes
    named, the low end of that lift being at least ``RETEST_LIFT``. ``watch``: all others, and those that have stopped
    failing.

    A node whose n failures apart from each other come at any time alike has none in the last, or in the first, share t
    of the window with the probability :math:`(1-t)^n`; below 1% that is remarked.

    Examples
    --------
    >>> from ettr.failures.outages import find_outages
    >>> start = np.arange(60) * 100.0 + 1
    >>> node = np.where(np.arange(60) % 5, np.arange(60), 0)
    >>> bad = find_bad_nodes(find_outages(start, start + 1, node, 6000.0, 400))
    >>> bad.table[["node", "n_failures", "beyond", "advice"]].head(2).to_numpy().tolist()
    [[0, 12, True, 'replace'], [1, 1, False, '']]
    """
    n_nodes = int(above_zero("n_nodes", outages.n_nodes))
    table = _courses(failures_apart(outages), outages.window_h)
    counts, by_itself = table["n_failures"].to_numpy(), table["n_apart"].to_numpy()
    weights = np.ones(len(counts)) if weight is None else np.asarray(weight, dtype=float)
    in_all = float(n_nodes if total is None else total)
    p, alone_p = (_by_chance(n, weights, in_all, n_nodes) for n in (counts, by_itself))
    stands_out, index, memory_p = p < SIGNIFICANT, 1.0, _memory_p(outages)
    if memory_p < SIGNIFICANT:
        ordinary = ~stands_out
        n_ordinary, left = n_nodes - int(stands_out.sum()), in_all - float(weights[stands_out].sum())

        def clustered(n: np.ndarray) -> tuple[np.ndarray, float]:
            scatter = node_dispersion(n[ordinary], n_ordinary, outages.window_h, weights[ordinary], left)
            return _by_chance(n, weights, in_all, n_nodes, scatter.index), scatter.index

        (all_p, index), (apart_p, _) = clustered(counts), clustered(by_itself)
        alone_p = np.where(all_p < SIGNIFICANT, alone_p, np.maximum(alone_p, apart_p))
        p = np.maximum(p, np.minimum(all_p, apart_p))
    beyond = p < SIGNIFICANT
    alone_low = _lift(by_itself, weights, in_all, stands_out)["low"]
    is_bad = beyond & (alone_p < SIGNIFICANT) & (alone_low >= REPLACE_LIFT) & (by_itself >= REPLACE_FEWEST)
    comes_back = stands_out & _comes_back(table, int(stands_out.sum())) & ~is_bad
    beyond |= comes_back
    table = table.assign(p=p, beyond=beyond, **_lift(counts, weights, in_all, beyond))
    table["remark"] = _remarks(table, outages.seen_h)
    advice = np.where(is_bad, "replace", np.where(comes_back, "re-test", "watch"))
    table["advice"] = np.where(beyond, np.where(table["remark"] == "over", "watch", advice), "")
    table.insert(0, "node", np.arange(len(table)) if names is None else np.asarray(names))
    worst = table.sort_values(["p", "n_failures"], ascending=[True, False], kind="stable", ignore_index=True)
    worst = worst.sort_values("beyond", ascending=False, kind="stable", ignore_index=True)
    return BadNodes(worst.head(max(int(beyond.sum()), _ROWS)), WITHIN_D, int(beyond.sum()), memory_p, index)


def _courses(failures: pd.DataFrame, window_h: float) -> pd.DataFrame:
    """A row a node: how often it failed, when, and how soon after it had returned."""
    failures = failures.sort_values(["node", "start_h"], kind="stable")
    code, start, end, apart = (failures[name].to_numpy() for name in ("node", "start_h", "end_h", "apart"))
    within_h = WITHIN_D * H_PER_DAY
    soon = np.append((code[1:] == code[:-1]) & (start[1:] - end[:-1] <= within_h), False)
    n = np.bincount(code)
    first, n_soon = np.cumsum(n) - n, np.bincount(code, soon).astype(int)
    soon_expected = expected_soon_of(n, within_h, window_h)
    hang_together = scipy.stats.poisson.sf(n_soon - 1, soon_expected) < SIGNIFICANT
    return pd.DataFrame(
        {
            "n_failures": n,
            "first_h": start[first],
            "last_h": start[first + n - 1],
            "n_returns": np.bincount(code, soon | (window_h - end >= within_h)).astype(int),
            "n_soon": n_soon,
            "soon_expected": soon_expected,
            # of repeats a whole chain is one failure; of a node that just fails often, one a week is left
            "n_apart": np.where(hang_together, n - n_soon, np.bincount(code, apart)).astype(int),
        }
    )


def _by_chance(counts: np.ndarray, weight: np.ndarray, total: float, n_nodes: int, index: float = 1.0) -> np.ndarray:
    """P-values by Holm, each against the nodes that are not named yet: binomial, negative binomial with an index."""
    alone = scipy.stats.binom.sf(counts - 1, counts.sum(), np.minimum(weight / total, 1.0))
    order = np.lexsort((-counts, alone))
    n_left = counts.sum() - (np.cumsum(counts[order]) - counts[order])
    left = np.maximum(total - (np.cumsum(weight[order]) - weight[order]), weight[order])
    share = weight[order] / left
    if index > 1:
        p = scipy.stats.nbinom.sf(counts[order] - 1, n_left * share / (index - 1), 1 / index)
    else:
        p = scipy.stats.binom.sf(counts[order] - 1, n_left, share)
    adjusted = np.minimum(np.maximum.accumulate(p * np.maximum(n_nodes - np.arange(len(order)), 1)), 1.0)
    values = np.empty(len(order))
    values[order] = adjusted
    return values


def _memory_p(outages: Outages) -> float:
    """Probability of times between a node's failures as short as these, if failures fell on the nodes at random."""
    incidents = outages.incidents[outages.incidents["node"] >= 0].sort_values("start_h", kind="stable")
    start, node = incidents["start_h"].to_numpy(), incidents["node"].to_numpy()
    rng = np.random.default_rng(0)
    if len(node) > _MOST_DRAWN:  # all failures of some of the nodes
        some = rng.uniform(size=int(node.max()) + 1) < _MOST_DRAWN / len(node)
        start, node = start[some[node]], node[some[node]]
    if len(np.unique(node)) == len(node):
        return 1.0

    def shortness(of_node: np.ndarray) -> float:
        order = np.argsort(of_node, kind="stable")
        gaps = np.diff(start[order])[np.diff(of_node[order]) == 0]
        return -float(np.log(np.maximum(gaps, SAME_WITHIN_H)).sum())

    drawn = np.array([shortness(rng.permutation(node)) for _ in range(_DRAWS)])
    return monte_carlo_p(shortness(node), drawn)


def _lift(counts: np.ndarray, weight: np.ndarray, total: float, beyond: np.ndarray) -> dict[str, np.ndarray]:
    """Failures of each node against those expected from the nodes that are not beyond chance."""
    n_others = float(counts[~beyond].sum())
    others = max(total - float(weight[beyond].sum()), float(weight.min(initial=1.0)))
    expected = n_others / others * weight
    # given both counts together the node's is binomial, and the others' rate is known no better than that
    tail = (1 - _LEVEL) / 2
    share_low = np.where(counts > 0, scipy.stats.beta.ppf(tail, np.maximum(counts, 1), n_others + 1), 0.0)
    share_high = scipy.stats.beta.isf(tail, counts + 1, n_others) if n_others else np.ones(len(counts))
    with np.errstate(divide="ignore"):
        low, high = (share / (1 - share) * others / weight for share in (share_low, share_high))
        return {"expected": expected, "lift": counts / expected, "low": low, "high": high}


def _remarks(table: pd.DataFrame, seen_h: pd.DataFrame) -> np.ndarray:
    """Whether the failures of a node, of which those that hang together count once, stop early or begin late."""
    began, until = seen_h["from_h"].to_numpy(), seen_h["until_h"].to_numpy()
    there_h = np.maximum(until - began, 1e-9)
    last, first = ((table[name].to_numpy() - began) / there_h for name in ("last_h", "first_h"))
    over, late = (np.clip(share, 0, 1) ** table["n_apart"].to_numpy() < _SHORT for share in (last, 1 - first))
    return np.where(over, "over", np.where(late, "late", ""))


def _comes_back(table: pd.DataFrame, n_named: int) -> np.ndarray:
    """Whether a node fails soon after its returns more often than its own rate explains."""
    soon, expected = table["n_soon"].to_numpy(dtype=float), table["soon_expected"].to_numpy()
    by_chance = scipy.stats.poisson.sf(soon - 1, expected) * max(n_named, 1)
    return np.asarray((by_chance < SIGNIFICANT) & (poisson_interval(soon, _LEVEL)[0] >= RETEST_LIFT * expected))
