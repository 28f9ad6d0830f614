"""Failure rates by component, cause and cohort, and a test of equal rates of cohorts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import InputError
from ettr.core.probability import chi2_tail
from ettr.core.validity import above_zero, at_least_zero
from ettr.failures.dispersion import widening
from ettr.failures.lemons import monte_carlo_p
from ettr.failures.rates import binomial_interval, rates_of
from ettr.failures.window import checked_level

UNKNOWN, OTHER = "(unknown)", "(other)"
MOST_GROUPS = 50
"""Groups listed by name; the others are summed. [count]"""
_DENSE, _DRAWS = 5.0, 9_999


@dataclass(frozen=True)
class CohortTest:
    """Test of equal failure rates of cohorts.

    Attributes
    ----------
    ratio, low, high : float
        Highest rate over lowest, and its interval, corrected for choosing the extremes; infinite if the cohort with the
        lowest rate had no failures.
    level : float
        Coverage of the interval.
    p : float
        P-value of equal rates.
    highest, lowest : str
        The two cohorts compared.
    """

    ratio: float
    low: float
    high: float
    level: float
    p: float
    highest: str
    lowest: str


@dataclass(frozen=True)
class Spread:
    """Dispersion of failure counts between nodes of the same cohort.

    Attributes
    ----------
    index : float
        Variance over mean of the counts, at least 1 (the value of nodes of equal rate); 1 if it cannot be estimated.
    dof : float or None
        Degrees of freedom of the index; None if it cannot be estimated.
    """

    index: float
    dof: float | None


def group_labels(values: Any, most: int = MOST_GROUPS) -> pd.Series:
    """Return the name of each event's group, with the smallest groups under one name.

    Parameters
    ----------
    values : array or categorical
        Group of each event; missing if unknown.
    most : int
        Number of groups to keep: those with the most events, ties in order of name. [count]

    Returns
    -------
    Series of str
        ``"(unknown)"`` where missing, and ``"(other)"`` for the smallest groups if there are more than ``most``.

    Examples
    --------
    >>> group_labels(["GPU", None, "NIC", "GPU", "CPU"], most=1).tolist()
    ['GPU', '(unknown)', '(other)', 'GPU', '(other)']
    """
    codes, names = pd.factorize(pd.Series(values).reset_index(drop=True))
    labels = np.array([*map(str, names), UNKNOWN], dtype=object)
    if len(names) > most:
        order = np.lexsort((labels[:-1].astype(str), -np.bincount(codes[codes >= 0], minlength=len(names))))
        labels[order[most:]] = OTHER
    return pd.Series(labels[codes], dtype="str")


def rates_by(
    values: Any,
    node_days: float,
    level: float = 0.95,
    exposure: Mapping[Any, float] | None = None,
) -> pd.DataFrame:
    """Return the failure rate of each group, with its exact interval.

    Parameters
    ----------
    values : array or categorical
        Group of each failure (component, cause, cohort); missing if unknown.
    node_days : float
        Exposure of the whole log. [node-days]
    level : float
        Coverage of the intervals.
    exposure : mapping, optional
        Exposure of each group, for cohorts of nodes; groups in it without a failure are listed too. If not given, every
        group has the exposure of the log, as for parts that every node has. [node-days]

    Returns
    -------
    DataFrame
        One row per group, most failures first: 50 groups by name, then ``(other)`` and ``(unknown)``. Columns:
        ``group`` (str), ``n_events`` [count], ``share`` of all failures, ``node_days``, ``rate``, ``low``, ``high``
        [1 / (1000 node-days)], ``known_exposure`` (if False, exposure and rates are NaN).

    Raises
    ------
    InputError
        Exposure that is not positive, or a level outside (0, 1).

    Examples
    --------
    >>> rates_by(["A", "B", "B"], 300.0, exposure={"A": 100, "C": 200})[["group", "rate"]].to_numpy().tolist()
    [['B', nan], ['A', 10.0], ['C', 0.0]]
    """
    checked_level(level)
    log_days = float(above_zero("node_days", node_days))
    days_of = {str(name): float(above_zero(f"exposure of {name}", days)) for name, days in (exposure or {}).items()}
    labels = group_labels(values, most=len(values) + 1)
    n_events = labels.value_counts()
    table = pd.DataFrame({"n_events": n_events.reindex(n_events.index.union(list(days_of)), fill_value=0)})
    table["node_days"] = [days_of.get(name, np.nan) if exposure is not None else log_days for name in table.index]
    table = _few_rows(table.rename_axis("group").reset_index(), shared=exposure is None)
    days = table["node_days"].to_numpy(dtype=float)
    counts = table["n_events"].to_numpy(dtype=float)
    return table.assign(
        share=counts / max(counts.sum(), 1),
        **rates_of(counts, days, level),
        known_exposure=~np.isnan(days),
    )[["group", "n_events", "share", "node_days", "rate", "low", "high", "known_exposure"]]


def _few_rows(table: pd.DataFrame, *, shared: bool) -> pd.DataFrame:
    """The largest groups, the sum of the others, and the unknown one."""
    unknown = table["group"] == UNKNOWN
    named = table[~unknown].sort_values(["n_events", "group"], ascending=[False, True])
    parts = [named.iloc[:MOST_GROUPS]]
    rest = named.iloc[MOST_GROUPS:]
    if len(rest):
        days = rest["node_days"].iloc[0] if shared else rest["node_days"].sum(skipna=False)
        parts.append(pd.DataFrame({"group": [OTHER], "n_events": [rest["n_events"].sum()], "node_days": [days]}))
    return pd.concat([*parts, table[unknown]], ignore_index=True)


def within_cohorts(node: Any, values: Any, sizes: Mapping[Any, int]) -> Spread:
    r"""Return the index of dispersion of failure counts between nodes of the same cohort.

    Parameters
    ----------
    node : array of int
        Number of each failure's node; -1 if unknown. Failures of unknown nodes are left out.
    values : array or categorical
        Cohort of each failure; failures are left out if it is missing or not in ``sizes``.
    sizes : mapping
        Nodes of each cohort, including healthy ones. [count]

    Returns
    -------
    Spread
        Index 1 without ``dof`` if no cohort of at least two nodes has a failure.

    Raises
    ------
    InputError
        Columns of different lengths, a cohort without nodes, or one with more failed nodes than nodes.

    Notes
    -----
    :math:`\sum_c \sum_{i \in c} (n_i - \bar n_c)^2 / \bar n_c` over its degrees of freedom, :math:`\sum_c (N_c - 1)`
    for the cohorts of :math:`N_c` nodes that have failures (Pearson's estimate). Unequal rates of nodes of one cohort
    raise it, and so do repeat failures.

    Examples
    --------
    >>> within_cohorts([0, 0, 0, 1, 7], ["a", "a", "a", "a", "b"], {"a": 4, "b": 3})
    Spread(index=1.6, dof=5.0)
    """
    codes, labels = np.asarray(node, dtype=np.int64), pd.Series(values).reset_index(drop=True)
    if len(labels) != len(codes):
        raise InputError(f"values must have {len(codes)} values, as node has, got {len(labels)}")
    nodes = {str(name): float(above_zero(f"nodes of {name}", n)) for name, n in sizes.items()}
    is_usable = labels.notna().to_numpy() & (codes >= 0)
    counts = pd.DataFrame({"cohort": labels[is_usable].astype(str), "node": codes[is_usable]}).value_counts()
    squares = dof = 0.0
    for cohort, of_node in counts.groupby("cohort"):
        if cohort not in nodes:
            continue
        size, n_events = nodes[cohort], of_node.sum()
        if len(of_node) > size:
            raise InputError(f"nodes of {cohort} must be >= {len(of_node)}, which failed, got {size:g}")
        # Pearson's sum with the square expanded; healthy nodes only enter by the size of the cohort
        squares += float((of_node**2).sum() * size / n_events - n_events)
        dof += size - 1
    return Spread(max(1.0, squares / dof), dof) if dof else Spread(1.0, None)


def cohorts_differ(
    n_events: Any,
    node_days: Any,
    names: Any = None,
    dispersion: float = 1.0,
    dof: float | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> CohortTest | None:
    r"""Test whether cohorts share one failure rate.

    Parameters
    ----------
    n_events : array of int
        Failures of each cohort. [count]
    node_days : array
        Exposure of each cohort. [node-days]
    names : sequence, optional
        Names of the cohorts; 0, 1, ... if not given.
    dispersion : float
        Index of dispersion, the larger of two: over time (:func:`~ettr.failures.dispersion.over_dispersion`), and
        between nodes of a cohort (:func:`within_cohorts`), since a cohort may have the higher rate because of a few
        nodes. Values below 1 count as 1.
    dof : float, optional
        Degrees of freedom of ``dispersion``; if not given, it is treated as exact.
    level : float
        Coverage of the ratio's interval.
    seed : int
        Seed of the Monte Carlo p-value.

    Returns
    -------
    CohortTest or None
        None with fewer than two cohorts, or without failures.

    Raises
    ------
    InputError
        Counts that are negative, exposure, dispersion or dof that is not positive, or columns of different lengths.

    Notes
    -----
    Given their sum, the counts are multinomial with the shares of exposure. Two cohorts: the exact binomial test. More:
    Pearson's :math:`X^2` with :math:`k - 1` degrees of freedom if at least 5 failures are expected in each cohort, else
    9,999 multinomial draws. With a dispersion :math:`\phi`, :math:`X^2 / (\phi (k-1))` is also compared with
    :math:`F_{k-1, d}` for :math:`d` degrees of freedom (:math:`\chi^2` without), and the larger p-value counts. The
    interval is that of Clopper and Pearson for counts divided by :math:`\phi\,(t/z)^2` (see
    :func:`~ettr.failures.dispersion.widening`) at a level corrected for all pairs (Bonferroni). For cohorts of equal
    rate whose nodes differ (index 2.5), the p-value is below 0.05 in 4 to 6% of logs with two or three cohorts (17 to
    30% without allowing for dispersion), and in 9% with ten cohorts of a dozen failures each.

    Examples
    --------
    >>> comparison = cohorts_differ([60, 5], [10_000, 9_000], names=["old", "new"])
    >>> round(comparison.ratio, 1), round(comparison.low, 1), round(comparison.high, 1), comparison.highest
    (10.8, 4.4, 34.5, 'old')
    """
    checked_level(level)
    counts, days = at_least_zero("n_events", n_events), above_zero("node_days", node_days)
    labels = [str(name) for name in (range(len(counts)) if names is None else names)]
    for name, length in (("node_days", len(days)), ("names", len(labels))):
        if length != len(counts):
            raise InputError(f"{name} must have {len(counts)} values, as n_events has, got {length}")
    if len(counts) < 2 or counts.sum() == 0:
        return None
    phi = max(1.0, float(above_zero("dispersion", dispersion)))
    order = np.lexsort((days, counts / days))  # of equal rates, the one with the most exposure
    highest = order[-1]
    lowest = np.lexsort((-days, counts / days))[0]
    if highest == lowest:  # all rates are equal
        lowest = order[-2]
    n_pairs = len(counts) * (len(counts) - 1) // 2
    pair_level = 1 - (1 - level) / n_pairs  # Bonferroni
    widened = phi * widening(dof, pair_level) ** 2
    # given both counts, that of the higher is binomial; share / (1 - share) times the exposures is the ratio of rates
    shares = binomial_interval(counts[highest] / widened, counts[lowest] / widened, pair_level)
    odds = [_over(share, 1 - share) for share in shares]
    scale = float(days[lowest] / days[highest])
    return CohortTest(
        ratio=_over(counts[highest], counts[lowest]) * scale,
        low=odds[0] * scale,
        high=odds[1] * scale,
        level=level,
        p=_equal_rates_p(counts, days, phi, dof, seed),
        highest=labels[highest],
        lowest=labels[lowest],
    )


def _equal_rates_p(counts: np.ndarray, days: np.ndarray, phi: float, dof: float | None, seed: int) -> float:
    """P-value of equal rates: exact, chi-square or Monte Carlo, and with dispersion the larger of it and the F test."""
    total, shares = counts.sum(), days / days.sum()
    expected = total * shares
    squares = float(((counts - expected) ** 2 / expected).sum())
    free = len(counts) - 1
    if free == 1:
        p = float(scipy.stats.binomtest(int(counts[0]), int(total), shares[0]).pvalue)
    elif expected.min() >= _DENSE:
        p = float(chi2_tail(squares, free))
    else:
        drawn = np.random.default_rng(seed).multinomial(int(total), shares, _DRAWS)
        p = monte_carlo_p(squares, ((drawn - expected) ** 2 / expected).sum(axis=1))
    if phi > 1 or dof is not None:
        scaled = squares / phi
        with_phi = chi2_tail(scaled, free) if dof is None else scipy.special.fdtrc(free, dof, scaled / free)
        return max(p, float(with_phi))
    return p


def _over(first: float, second: float) -> float:
    """Ratio of two numbers; infinite for a second of 0."""
    return float(first / second) if second else float("inf")
