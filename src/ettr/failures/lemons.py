"""Lemon test: whether some nodes fail more than others, and whether they stay bad."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import InputError
from ettr.core.probability import chi2_tail
from ettr.core.validity import above_zero
from ettr.failures.outages import seen_nodes, starts_in_window

TOP_SHARE = 0.05
"""Share of nodes in the worst group."""
DRAWS = 999
"""Random permutations behind a Monte Carlo p-value."""
_DENSE, _MOST_DRAWN, _MOST_PLACED, _BLOCK = 5.0, 10_000, 5_000, 1_000_000
_SIGNIFICANT = 0.05


@dataclass(frozen=True)
class LemonTest:
    """Test of equal failure rates of nodes, and of whether the same nodes stay bad.

    Attributes
    ----------
    n_events, n_unknown : int
        Failures of named nodes, which are tested, and failures without a node. [count]
    n_nodes : int
        Nodes watched. [count]
    dispersion_index : float
        Variance over mean of the failures per node; 1 for independent failures at one rate.
    dispersion_p : float
        P-value of the index.
    rank_correlation : float or None
        Spearman's rank correlation, over all nodes, between failures in the first and in the second half of the window;
        None if a half has no failures, or all nodes have the same number.
    rank_p : float
        P-value of the correlation, for independent halves.
    n_worst : int
        Worst nodes of the first half: 5% of all, at least one. [count]
    worst_share : float or None
        Share of these nodes in the failures of the second half; None if a half has no failures.
    chance_share : float
        Expected share for independent halves: ``n_worst / n_nodes``.
    worst_p : float
        P-value of the share, for independent halves.
    """

    n_events: int
    n_unknown: int
    n_nodes: int
    dispersion_index: float
    dispersion_p: float
    rank_correlation: float | None
    rank_p: float
    n_worst: int
    worst_share: float | None
    chance_share: float
    worst_p: float

    @property
    def overdispersed(self) -> bool:
        """Whether failures concentrate on some nodes more than chance explains (at 5%)."""
        return self.dispersion_p < _SIGNIFICANT

    @property
    def persistent(self) -> bool:
        """Whether bad nodes stay bad: either test of the halves, at a family-wise 5%."""
        return min(self.rank_p, self.worst_p) < _SIGNIFICANT / 2


def no_comparison(n_unknown: int, n_nodes: int) -> LemonTest:
    """Return the test for a log without failures of nodes that can be compared: no dispersion, p-values of 1."""
    return LemonTest(0, n_unknown, n_nodes, 1.0, 1.0, None, 1.0, 1, None, 0.0, 1.0)


def find_lemons(start_h: Any, node: Any, window_h: float, n_nodes: int, seed: int = 0) -> LemonTest:
    r"""Test whether nodes have equal failure rates, and whether bad nodes stay bad.

    Remove repeats first (`repeats.deduplicate`): repeats soon after a repair raise the dispersion of any log.

    Parameters
    ----------
    start_h : array
        Starts of failures since the window's start. [h]
    node : array of int or str, or categorical
        Node of each failure; failures without a node are counted separately.
    window_h : float
        Length of the window. [h]
    n_nodes : int
        Nodes watched, including healthy ones. [count]
    seed : int
        Seed of the Monte Carlo p-values.

    Returns
    -------
    LemonTest

    Raises
    ------
    InputError
        A start outside the window, more nodes in the log than watched, or no failure of a named node.

    Notes
    -----
    :math:`(N-1)` times the index is compared with :math:`\chi^2_{N-1}` if at least 5 failures per node are expected or
    there are more than 10,000; else with 999 random allocations of the failures to the nodes.

    The p-values of the halves come from 999 random permutations of the first half's counts over the nodes, which keep
    the ties and clusters of either half; with over 5,000 failed nodes in each half, from the normal limit. Nodes tied
    at the edge of the worst 5% share the places left, so that their order does not matter.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> node = np.append(rng.integers(0, 100, 200), rng.integers(0, 5, 100))
    >>> lemons = find_lemons(rng.uniform(0, 1000, 300), node, 1000, 100)
    >>> round(lemons.dispersion_index, 1), lemons.overdispersed, lemons.persistent
    (7.7, True, True)
    """
    start = starts_in_window(start_h, window_h, node=node)
    n_watched = int(above_zero("n_nodes", n_nodes))
    numbered = seen_nodes(node, n_watched)
    named = numbered.codes >= 0
    if not named.any():
        raise InputError(
            "node must be given for at least one failure: name the column of nodes, or leave the lemon test out"
        )
    first, second = (
        np.bincount(numbered.codes[named & half], minlength=len(numbered.names))
        for half in (start < window_h / 2, start >= window_h / 2)
    )
    rng = np.random.default_rng(seed)
    counts = first + second
    n_events = int(counts.sum())
    index, p = _dispersion(counts, n_watched, rng)
    n_worst = max(1, round(TOP_SHARE * n_watched))
    correlation = share = None
    rank_p = worst_p = 1.0
    if first.any() and second.any():
        correlation = _correlation(_ranks(first, n_watched), _ranks(second, n_watched), n_watched)
        rank_p = _p_value(_ranks(first, n_watched), _ranks(second, n_watched), n_watched, rng)
        weight, share_of_others = _weights(first, n_watched, n_worst)
        share = float((weight * second).sum()) / float(second.sum())
        worst_p = _p_value(weight - share_of_others, second.astype(float), n_watched, rng)
    return LemonTest(
        n_events=n_events,
        n_unknown=int((~named).sum()),
        n_nodes=n_watched,
        dispersion_index=index,
        dispersion_p=p,
        rank_correlation=correlation,
        rank_p=rank_p,
        n_worst=n_worst,
        worst_share=share,
        chance_share=n_worst / n_watched,
        worst_p=worst_p,
    )


def _dispersion(counts: np.ndarray, n_nodes: int, rng: np.random.Generator) -> tuple[float, float]:
    """Index of dispersion (sum n_i^2 - n m) / ((N - 1) m) with m = n / N, and its p-value."""
    n_events = int(counts.sum())
    mean = n_events / n_nodes
    if n_nodes == 1:
        return 1.0, 1.0

    def index(squares: Any) -> Any:
        return (squares - n_events * mean) / (n_nodes - 1) / mean

    observed = float(index(float((counts.astype(float) ** 2).sum())))
    if mean >= _DENSE or n_events > _MOST_DRAWN:
        return observed, float(chi2_tail((n_nodes - 1) * observed, n_nodes - 1))
    return observed, monte_carlo_p(observed, index(_drawn_squares(n_events, n_nodes, rng)))


def _drawn_squares(n_events: int, n_nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Sums of squared failures per node, for failures allocated to nodes at random."""
    squares = []
    for draws in np.array_split(np.arange(DRAWS), max(1, DRAWS * n_events // _BLOCK)):
        places = rng.integers(0, n_nodes, (len(draws), n_events)) + n_nodes * np.arange(len(draws))[:, None]
        struck, counts = np.unique(places, return_counts=True)
        squares.append(np.bincount(struck // n_nodes, counts.astype(float) ** 2, minlength=len(draws)))
    return np.concatenate(squares)


def monte_carlo_p(observed: float, drawn: np.ndarray) -> float:
    """Return the Monte Carlo p-value: the share of values at least as high as the observed one, itself included.

    Examples
    --------
    >>> monte_carlo_p(3.0, np.array([1.0, 2.0, 3.0]))
    0.5
    """
    rounding = 1e-9 * max(1.0, abs(observed))
    return float((1 + (drawn >= observed - rounding).sum()) / (1 + len(drawn)))


def _weights(first: np.ndarray, n_nodes: int, n_worst: int) -> tuple[np.ndarray, float]:
    """Share of each failed node in the ``n_worst`` places (ties share them), and that of a node without a failure."""
    ranked = np.sort(np.append(first, np.zeros(max(n_worst - len(first), 0), dtype=first.dtype)))[::-1]
    edge = ranked[n_worst - 1]
    above = int((first > edge).sum())
    tied = n_nodes - int((first > 0).sum()) if edge == 0 else int((first == edge).sum())
    part = (n_worst - above) / tied
    return np.where(first > edge, 1.0, np.where(first == edge, part, 0.0)), part if edge == 0 else 0.0


def _ranks(half: np.ndarray, n_nodes: int) -> np.ndarray:
    """Ranks of failed nodes among all nodes, minus the shared rank of the nodes without a failure in this half."""
    others = n_nodes - int((half > 0).sum())
    ranks = np.zeros(len(half))
    ranks[half > 0] = pd.Series(half[half > 0]).rank().to_numpy() + (others - 1) / 2
    return ranks


def _comoment(first: np.ndarray, second: np.ndarray, n_nodes: int) -> float:
    """Sum over all nodes of the product of two values minus their means; nodes not listed have values of 0."""
    mean_first, mean_second = first.sum() / n_nodes, second.sum() / n_nodes
    listed = ((first - mean_first) * (second - mean_second)).sum()
    return float(listed + (n_nodes - len(first)) * mean_first * mean_second)


def _correlation(first: np.ndarray, second: np.ndarray, n_nodes: int) -> float | None:
    """Pearson's correlation over all nodes; None if one of the values is constant."""
    spread = float(np.sqrt(_comoment(first, first, n_nodes) * _comoment(second, second, n_nodes)))
    return _comoment(first, second, n_nodes) / spread if spread > 1e-9 else None


def _p_value(first: np.ndarray, second: np.ndarray, n_nodes: int, rng: np.random.Generator) -> float:
    """P-value of the sum of products for independent halves, by permutation."""
    correlation = _correlation(first, second, n_nodes)
    if correlation is None:
        return 1.0
    # only nonzero values change the sum, so only the fewer of them need a random node
    few, many = sorted((first[first != 0], second[second != 0]), key=len)
    if len(few) > _MOST_PLACED:
        return float(scipy.special.ndtr(-correlation * np.sqrt(n_nodes - 1)))
    drawn = np.empty(DRAWS)
    for draw in range(DRAWS):
        place = rng.choice(n_nodes, len(few), replace=False)
        both = place < len(many)
        drawn[draw] = (few[both] * many[place[both]]).sum()
    return monte_carlo_p(float((first * second).sum()), drawn)
