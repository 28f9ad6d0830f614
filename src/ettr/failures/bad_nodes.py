"""Nodes that fail significantly more than the others: by how much, since when, and the advice for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy

from ettr.core.probability import binomial_from, negative_binomial_from, poisson_from
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
"""A node is replaced if the low end of its failure ratio to the other nodes is at least this."""
REPLACE_FEWEST = 4
"""Failures without repeats below which a node is watched rather than replaced. [count]"""
WITHIN_D = 7.0
"""A failure within this time of its node's return to service may be the old fault: a repeat. [d]"""
_LEVEL = 0.95
_ROWS = 10
_DRAWS, _MOST_DRAWN = 199, 20_000
"""Random allocations of failures to nodes in the test of memory, and the most failures in each."""
_SHORT = 0.01
"""Probability below which it is remarked that all failures of a node lie in one part of the window."""


def failures_apart(outages: Outages) -> pd.DataFrame:
    """Return the failures of named nodes, each marked as distinct or as a repeat of an earlier one.

    Parameters
    ----------
    outages : Outages
        From `find_outages`.

    Returns
    -------
    DataFrame
        ``node`` (number), ``start_h``, ``end_h`` [h], ``n_events`` [count], and ``apart`` (bool): true for a distinct
        failure, that is one more than ``WITHIN_D`` after the return from the node's last distinct failure. A chain of
        repeats therefore counts once per ``WITHIN_D``.

    Examples
    --------
    >>> from ettr.failures.outages import find_outages
    >>> outages = find_outages([0.0, 48.0, 480.0], [1.0, 49.0, 481.0], ["a", "a", "a"], 1000.0, 5)
    >>> failures_apart(outages)["apart"].tolist()
    [True, False, True]
    """
    incidents = outages.incidents[outages.incidents["node"] >= 0].reset_index(drop=True)
    start, node, end = (incidents[name].to_numpy() for name in ("start_h", "node", "end_h"))
    return incidents.assign(apart=deduplicate(start, node, WITHIN_D * H_PER_DAY, end))


@dataclass(frozen=True)
class BadNodes:
    """The nodes that failed, compared with each other.

    Attributes
    ----------
    table : DataFrame
        One row per node that failed, worst first: ``node``, ``n_failures`` (outages), ``expected`` (at the rate of the
        nodes that do not stand out) [count], ``lift`` (ratio of the two) with its exact 95% interval ``low`` to
        ``high``, ``p`` (Holm-adjusted over all nodes), ``beyond`` (bool: the node stands out, by ``p`` or by failures
        soon after its returns), ``first_h``, ``last_h`` (first and last failure) [h], ``n_returns`` (returns to service
        that were watched for ``within_d``, or ended earlier in a failure), ``n_soon`` (failures within ``within_d`` of
        a return), ``soon_expected`` (of these, expected for failures at random times), ``n_apart`` (failures without
        repeats) [count], ``remark`` (``late``: all failures lie improbably near to the window's end; ``over``: they
        stopped improbably early; else empty) and ``advice``.
    within_d : float
        Longest time from a return to a failure that counts as a repeat. [d]
    n_beyond : int
        Nodes that stand out. [count]
    memory_p : float
        P-value of the test of memory: the probability of such short times between failures of a node if failures fell
        on the nodes at random.
    index : float
        Index of dispersion of the counts of ordinary nodes that ``p`` allows for; 1 if no memory was detected.
    """

    table: pd.DataFrame
    within_d: float
    n_beyond: int
    memory_p: float
    index: float

    @property
    def has_memory(self) -> bool:
        """Whether a failure makes the next failure of the same node more likely (at 5%)."""
        return self.memory_p < SIGNIFICANT

    @property
    def worst(self) -> pd.DataFrame:
        """The rows of the nodes that stand out, or of the worst ten if those are fewer."""
        return self.table.head(max(self.n_beyond, _ROWS))

    def advised(self, advice: Advice) -> list[Any]:
        """Return the names of the nodes with this advice, worst first."""
        return [*self.table.loc[self.table["advice"] == advice, "node"]]


def find_bad_nodes(outages: Outages, names: Any = None, weight: Any = None, total: float | None = None) -> BadNodes:
    r"""Compare the nodes that failed, and find those that fail significantly more than the others.

    Parameters
    ----------
    outages : Outages
        From `find_outages`; a failure is an outage, so failures that are logged several times count once.
    names : sequence, optional
        Name of each node, by its number.
    weight : array of float, optional
        Expected failures of each node that failed, relative to an ordinary node; equal if not given.
    total : float, optional
        Sum of the weights of all nodes, including healthy ones; the number of nodes if not given.

    Returns
    -------
    BadNodes

    Notes
    -----
    If all nodes have the same rate, the failures of one node are binomial given the failures of a group of nodes.
    Starting with the worst, each node is compared with the nodes not yet tested, so that no bad node hides another, and
    its p-value is multiplied by their number (Holm 1979). If all nodes are equal, the probability that any stands out
    is below 5%.

    If a failure makes the next failure of the same node more likely, counts of equal nodes vary more than binomial
    ones. Memory is therefore tested first: the mean logarithm of the times between failures of a node, against 199
    random permutations of the failures over the nodes, which keep the count of each node. Unequal rates alone do not
    make these times shorter. With memory (at 5%), a node's count is compared with a negative binomial whose index of
    dispersion is that of the nodes that did not stand out; so is its count without repeats, and the smaller ``p``
    counts.

    ``replace``: the node is significant even without repeats, has at least ``REPLACE_FEWEST`` failures without repeats,
    and the low end of its lift is at least ``REPLACE_LIFT``. A failure within ``within_d`` of a return is a repeat; but
    if the node fails so often that chance alone gives as many, one failure per ``within_d`` counts as distinct.
    ``re-test``: not to be replaced, but failures soon after its returns are significantly more than its own rate
    explains (5%, Bonferroni), and the low end of their ratio is at least ``RETEST_LIFT``. ``watch``: the other nodes
    that stand out, and nodes that have stopped failing.

    If the n distinct failures of a node come at random times, none of them lies in the last (or first) share t of the
    window with probability :math:`(1-t)^n`; the ``remark`` is given below 1%.

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
    table = _histories(failures_apart(outages), outages.window_h)
    counts, distinct = table["n_failures"].to_numpy(), table["n_apart"].to_numpy()
    weights = np.ones(len(counts)) if weight is None else np.asarray(weight, dtype=float)
    total_weight = float(n_nodes if total is None else total)
    p, distinct_p = (_holm_p(n, weights, total_weight, n_nodes) for n in (counts, distinct))
    stands_out, index, memory_p = p < SIGNIFICANT, 1.0, _memory_p(outages)
    if memory_p < SIGNIFICANT:
        # with memory, test again against a negative binomial with the dispersion of the ordinary nodes
        ordinary = ~stands_out
        n_ordinary, ordinary_weight = n_nodes - int(stands_out.sum()), total_weight - float(weights[stands_out].sum())

        def clustered(n: np.ndarray) -> tuple[np.ndarray, float]:
            scatter = node_dispersion(n[ordinary], n_ordinary, outages.window_h, weights[ordinary], ordinary_weight)
            return _holm_p(n, weights, total_weight, n_nodes, scatter.index), scatter.index

        (clustered_p, index), (clustered_distinct_p, _) = clustered(counts), clustered(distinct)
        larger_p = np.maximum(distinct_p, clustered_distinct_p)
        distinct_p = np.where(clustered_p < SIGNIFICANT, distinct_p, larger_p)
        p = np.maximum(p, np.minimum(clustered_p, clustered_distinct_p))
    beyond = p < SIGNIFICANT
    distinct_low = _lift(distinct, weights, total_weight, stands_out)["low"]
    is_bad = beyond & (distinct_p < SIGNIFICANT) & (distinct_low >= REPLACE_LIFT) & (distinct >= REPLACE_FEWEST)
    comes_back = stands_out & _comes_back(table, int(stands_out.sum())) & ~is_bad
    beyond |= comes_back
    table = table.assign(p=p, beyond=beyond, **_lift(counts, weights, total_weight, beyond))
    table["remark"] = _remarks(table, outages.seen_h)
    advice = np.where(is_bad, "replace", np.where(comes_back, "re-test", "watch"))
    table["advice"] = np.where(beyond, np.where(table["remark"] == "over", "watch", advice), "")
    table.insert(0, "node", np.arange(len(table)) if names is None else np.asarray(names))
    worst = table.sort_values(["p", "n_failures"], ascending=[True, False], kind="stable", ignore_index=True)
    worst = worst.sort_values("beyond", ascending=False, kind="stable", ignore_index=True)
    return BadNodes(worst, WITHIN_D, int(beyond.sum()), memory_p, index)


def _histories(failures: pd.DataFrame, window_h: float) -> pd.DataFrame:
    """One row per node: its number of failures, the first and the last, and those soon after its returns."""
    failures = failures.sort_values(["node", "start_h"], kind="stable")
    code, start, end, apart = (failures[name].to_numpy() for name in ("node", "start_h", "end_h", "apart"))
    within_h = WITHIN_D * H_PER_DAY
    soon = np.append((code[1:] == code[:-1]) & (start[1:] - end[:-1] <= within_h), False)
    n = np.bincount(code)
    first, n_soon = np.cumsum(n) - n, np.bincount(code, soon).astype(int)
    soon_expected = expected_soon_of(n, within_h, window_h)
    is_chain = poisson_from(n_soon, soon_expected) < SIGNIFICANT
    return pd.DataFrame(
        {
            "n_failures": n,
            "first_h": start[first],
            "last_h": start[first + n - 1],
            "n_returns": np.bincount(code, soon | (window_h - end >= within_h)).astype(int),
            "n_soon": n_soon,
            "soon_expected": soon_expected,
            # a chain of repeats is one failure; of a node that simply fails often, one failure per week counts
            "n_apart": np.where(is_chain, n - n_soon, np.bincount(code, apart)).astype(int),
        }
    )


def _holm_p(counts: np.ndarray, weight: np.ndarray, total: float, n_nodes: int, index: float = 1.0) -> np.ndarray:
    """Step-down p-values (Holm 1979): binomial, or negative binomial with an index of dispersion above 1."""
    alone = binomial_from(counts, counts.sum(), np.minimum(weight / total, 1.0))
    order = np.lexsort((-counts, alone))
    # from the worst node on, each is tested against the failures and the weight of the nodes not yet tested
    n_left = counts.sum() - (np.cumsum(counts[order]) - counts[order])
    left = np.maximum(total - (np.cumsum(weight[order]) - weight[order]), weight[order])
    share = weight[order] / left
    if index > 1:
        p = negative_binomial_from(counts[order], n_left * share, index)
    else:
        p = binomial_from(counts[order], n_left, share)
    # Holm: times the nodes left, and never below the p-value of a worse node
    adjusted = np.minimum(np.maximum.accumulate(p * np.maximum(n_nodes - np.arange(len(order)), 1)), 1.0)
    values = np.empty(len(order))
    values[order] = adjusted
    return values


def _memory_p(outages: Outages) -> float:
    """P-value of memory: such short times between a node's failures, by random permutations of the nodes."""
    incidents = outages.incidents[outages.incidents["node"] >= 0].sort_values("start_h", kind="stable")
    start, node = incidents["start_h"].to_numpy(), incidents["node"].to_numpy()
    rng = np.random.default_rng(0)
    if len(node) > _MOST_DRAWN:  # sample nodes, and keep all failures of each
        sampled = rng.uniform(size=int(node.max()) + 1) < _MOST_DRAWN / len(node)
        start, node = start[sampled[node]], node[sampled[node]]
    if len(np.unique(node)) == len(node):
        return 1.0

    def shortness(nodes: np.ndarray) -> float:
        order = np.argsort(nodes, kind="stable")
        gaps = np.diff(start[order])[np.diff(nodes[order]) == 0]
        return -float(np.log(np.maximum(gaps, SAME_WITHIN_H)).sum())

    drawn = np.array([shortness(rng.permutation(node)) for _ in range(_DRAWS)])
    return monte_carlo_p(shortness(node), drawn)


def _lift(counts: np.ndarray, weight: np.ndarray, total: float, beyond: np.ndarray) -> dict[str, np.ndarray]:
    """Failures of each node against those expected at the rate of the nodes that do not stand out."""
    n_others = float(counts[~beyond].sum())
    others = max(total - float(weight[beyond].sum()), float(weight.min(initial=1.0)))
    expected = n_others / others * weight
    # given the sum of the node's and the others' failures, the node's are binomial: Clopper-Pearson for its share,
    # and share / (1 - share) is the ratio of counts
    tail = (1 - _LEVEL) / 2
    share_low = np.where(counts > 0, scipy.special.betaincinv(np.maximum(counts, 1), n_others + 1, tail), 0.0)
    share_high = scipy.special.betainccinv(counts + 1, n_others, tail) if n_others else np.ones(len(counts))
    with np.errstate(divide="ignore"):
        low, high = (share / (1 - share) * others / weight for share in (share_low, share_high))
        return {"expected": expected, "lift": counts / expected, "low": low, "high": high}


def _remarks(table: pd.DataFrame, seen_h: pd.DataFrame) -> np.ndarray:
    """``over`` or ``late`` for nodes whose n distinct failures all lie in a share t of their time with t^n < 1%."""
    began, until = seen_h["from_h"].to_numpy(), seen_h["until_h"].to_numpy()
    watched_h = np.maximum(until - began, 1e-9)
    last, first = ((table[name].to_numpy() - began) / watched_h for name in ("last_h", "first_h"))
    over, late = (np.clip(share, 0, 1) ** table["n_apart"].to_numpy() < _SHORT for share in (last, 1 - first))
    return np.where(over, "over", np.where(late, "late", ""))


def _comes_back(table: pd.DataFrame, n_tested: int) -> np.ndarray:
    """Whether a node fails soon after its returns more often than its own rate explains (Bonferroni)."""
    soon, expected = table["n_soon"].to_numpy(dtype=float), table["soon_expected"].to_numpy()
    p = poisson_from(soon, expected) * max(n_tested, 1)
    return np.asarray((p < SIGNIFICANT) & (poisson_interval(soon, _LEVEL)[0] >= RETEST_LIFT * expected))
