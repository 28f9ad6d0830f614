"""The statistics of a failure log, and tables of these statistics for charts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from ettr.core.errors import UnknownName
from ettr.core.probability import log_poisson, poisson_from
from ettr.core.results import FailureLog
from ettr.failures import dispersion, gaps, groups, lifetimes, repairs, repeats, roles, trend
from ettr.failures.bad_nodes import BadNodes, failures_apart
from ettr.failures.lemons import LemonTest
from ettr.failures.outages import find_outages
from ettr.failures.prediction import Forecast, ForecastScore
from ettr.failures.rates import FailureRate

Question = Literal["memoryless", "trend", "nodes", "cohorts"]

_MOST_FAILURES = 10
"""Nodes with at least this many failures share the last row of a table. [count]"""
NODE_COLUMNS = {
    "node": "node",
    "n_failures": "n_failures",
    "expected": "n_expected",
    "lift": "ratio",
    "low": "ratio_low",
    "high": "ratio_high",
    "p": "p",
    "beyond": "stands_out",
    "first_h": "first_failure_h",
    "last_h": "last_failure_h",
    "n_returns": "n_returns",
    "n_soon": "n_repeats",
    "soon_expected": "n_repeats_expected",
    "n_apart": "n_distinct",
    "remark": "remark",
    "advice": "advice",
}
"""Columns of ``BadNodes.table``, whose names are keys of the JSON answer, to those of ``Fit.nodes``."""


@dataclass(frozen=True)
class Verdict:
    """A verdict on one question about a log, with its evidence.

    Attributes
    ----------
    question : str
        ``memoryless``, ``trend``, ``nodes`` or ``cohorts``.
    answer : str
        For ``memoryless``: ``yes``, ``bunched``, ``regular``, ``depends on the rule``, ``alike``, ``too few`` or ``too
        coarse``. For ``trend``: ``rising``, ``falling``, ``steady``, ``not monotone`` or ``too few``. For ``nodes``:
        ``replace``, ``re-test``, ``both``, ``watch``, ``look first``, ``nothing``, ``too few`` or ``no nodes``. For
        ``cohorts``: ``separate``, ``pool``, ``exposure unknown``, ``too few`` or ``not asked``.
    evidence : dict
        The statistics behind the answer, by name.

    Examples
    --------
    >>> Verdict("trend", "steady", {"laplace_p": 0.4}).answer
    'steady'
    """

    question: Question
    answer: str
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeStatistics:
    """Statistics of failures by node.

    Attributes
    ----------
    as_logged, apart : LemonTest
        Dispersion between nodes, and whether bad nodes stay bad: for all failures, and without repeats (see
        :func:`~ettr.failures.bad_nodes.failures_apart`).
    n_repeats : int
        Failures that are repeats. [count]
    bad : BadNodes
        The nodes that fail significantly more than the others, with the advice for each.
    dispersion : Dispersion
        Dispersion of the counts of the other nodes.
    hazard : DataFrame
        Failure rate by time since a node's return to service, see :func:`~ettr.failures.repeats.hazard_after_repair`.
    risk : RepeatRisk
        Failures in the first days after a repair, against those expected.
    role : RoleCheck or None
        Whether failures depend on a number or kind in the node's name; None if names have neither.
    survival : DataFrame
        Kaplan-Meier estimate of a node's time from repair to next failure.
    lifetime : LifetimeFit
        Weibull fit of the time from repair to next failure, with censoring.
    """

    as_logged: LemonTest
    apart: LemonTest
    n_repeats: int
    bad: BadNodes
    dispersion: dispersion.Dispersion
    hazard: pd.DataFrame
    risk: repeats.RepeatRisk | None
    role: roles.RoleCheck | None
    survival: pd.DataFrame
    lifetime: lifetimes.LifetimeFit | None


@dataclass(frozen=True, eq=False, repr=False)
class LogStatistics:
    """All statistics of a failure log.

    Attributes
    ----------
    log : FailureLog
        The log that was fitted. Planned events are left out of every statistic.
    level : float
        Coverage of the intervals. Verdicts use a significance level of 5% in any case.
    rate : FailureRate
        Failures per 1,000 node-days with the exact Poisson interval.
    fair_rate : FailureRate
        The same rate with an interval widened by overdispersion, over time or between nodes, whichever is larger. It
        covers the expected failures per node-day of the window, which for nodes that had been in service long before
        is the long-run rate.
    recent_rate : FailureRate or None
        Rate of the last part of the log, if forecasts from this part did better than from the whole log; else None.
        Plans use this rate if there is one.
    knowledge : RateGamma
        Gamma distribution of the future rate, in the form in which a scenario takes it.
    dispersion : Dispersion or None
        Dispersion of failure counts over time; None below ten failures.
    gaps : tuple of GapFit
        Fits of the times between failures, one per merge rule.
    rules : DataFrame
        One row per merge rule: ``within_min`` [min], ``n_incidents``, ``rate``, ``low``, ``high``
        [1 / (1000 node-days)], ``weibull_shape``, ``shape_low``, ``shape_high``, ``best``, ``memoryless_p`` (missing
        if there are too few gaps or the time stamps are too coarse).
    trend : Trend
        Trend tests (None if there are too few failures) and the rate over time.
    components : DataFrame
        Failures, share and rate of each component, see :func:`~ettr.failures.groups.rates_by`.
    split : str or None
        Column of the cohorts.
    cohorts : DataFrame or None
        Failures, share and rate of each cohort.
    cohort_test : CohortTest or None
        Test of equal rates of the cohorts; None if their exposure is not known.
    node_statistics : NodeStatistics or None
        Statistics by node; None if the log names no nodes, or nothing failed. ``to_dict`` has them under ``nodes``.
    repairs : RepairTimes
        Repair times.
    forecast : Forecast or None
        Failures in the next 30 days, or in a sixth of a short window; None below ten failures.
    score : ForecastScore or None
        Backtest of such forecasts on this log; None below ten failures.
    verdicts : tuple of Verdict
        The verdicts on ``memoryless``, ``trend``, ``nodes`` and ``cohorts``.
    """

    log: FailureLog
    level: float
    rate: FailureRate
    fair_rate: FailureRate
    recent_rate: FailureRate | None
    knowledge: dispersion.RateGamma
    dispersion: dispersion.Dispersion | None
    gaps: tuple[gaps.GapFit, ...]
    rules: pd.DataFrame
    trend: trend.Trend
    components: pd.DataFrame
    split: str | None
    cohorts: pd.DataFrame | None
    cohort_test: groups.CohortTest | None
    node_statistics: NodeStatistics | None
    repairs: repairs.RepairTimes
    forecast: Forecast | None
    score: ForecastScore | None
    verdicts: tuple[Verdict, ...]

    @cached_property
    def start_h(self) -> np.ndarray:
        """Start times of the failures since the start of the window, sorted. [h]"""
        return self.log.hours("start")

    @property
    def nodes(self) -> pd.DataFrame:
        """One row per node that failed, worst first; without rows if the log names no nodes.

        Columns: ``node`` (name), ``n_failures``, ``n_expected`` (at the rate of the nodes that do not stand out)
        [count], ``ratio`` of the two with its 95% interval ``ratio_low`` to ``ratio_high``, ``p`` (Holm-adjusted
        p-value), ``stands_out`` (bool), ``first_failure_h``, ``last_failure_h`` (since the start of the window) [h],
        ``n_returns`` (returns to service), ``n_repeats`` (failures within 7 days of a return), ``n_repeats_expected``,
        ``n_distinct`` (failures without repeats) [count], ``remark`` (``late``: all failures are near the end of the
        window; ``over``: they stopped early) and ``advice`` (``replace``, ``re-test``, ``watch`` or empty).
        """
        table = self.node_statistics.bad.table if self.node_statistics else pd.DataFrame(columns=[*NODE_COLUMNS])
        return table.rename(columns=NODE_COLUMNS)[[*NODE_COLUMNS.values()]]

    def verdict(self, question: str) -> Verdict:
        """Return the verdict on one question: ``memoryless``, ``trend``, ``nodes`` or ``cohorts``."""
        for verdict in self.verdicts:
            if verdict.question == question:
                return verdict
        raise UnknownName("question", question, [verdict.question for verdict in self.verdicts])


def node_counts(fit: LogStatistics) -> pd.DataFrame:
    """Return the number of nodes by number of failures, beside that expected if all nodes had the same rate.

    Parameters
    ----------
    fit : LogStatistics
        A fitted log, see :func:`ettr.failures.fit`.

    Returns
    -------
    DataFrame
        ``log`` (``as logged`` or ``repeats taken out``), ``failures`` (label, the last one open-ended), ``order``,
        ``nodes`` [count], ``kind`` (``seen``, or ``equal nodes``: Poisson counts with the same mean). Empty if the log
        names no nodes.

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import failures, logs
    >>> starts = pd.date_range("2024-01-02", periods=6, freq="5D")
    >>> table = pd.DataFrame({"start": starts, "node": ["a", "a", "a", "b", "b", "c"]})
    >>> fit = failures.fit(logs.from_frame(table, n_nodes=10, window=("2024-01-01", "2024-01-31")))
    >>> counts = failures.node_counts(fit)
    >>> counts.loc[(counts["log"] == "as logged") & (counts["kind"] == "seen"), "nodes"].tolist()
    [7.0, 1.0, 1.0, 1.0]
    """
    columns = ["log", "failures", "order", "nodes", "kind"]
    if fit.node_statistics is None:
        return pd.DataFrame(columns=columns)
    log = fit.log
    out = find_outages(fit.start_h, log.hours("end"), log.failures["node"], log.window_h, log.n_nodes)
    logged, apart = out.failures["node"].to_numpy(), failures_apart(out)
    counted = {"as logged": logged[logged >= 0], "repeats taken out": apart.loc[apart["apart"], "node"].to_numpy()}
    last = int(min(_MOST_FAILURES, max(np.bincount(counted["as logged"]).max(initial=0), 1)))
    tables = [_counts_of(node, log.n_nodes, last).assign(log=name) for name, node in counted.items()]
    return pd.concat(tables, ignore_index=True)[columns]


def _counts_of(node: np.ndarray, n_nodes: int, last: int) -> pd.DataFrame:
    per_node = np.bincount(node)
    per_node = per_node[per_node > 0]
    observed = np.bincount(np.minimum(per_node, last), minlength=last + 1).astype(float)
    observed[0] = n_nodes - per_node.size
    order = np.arange(last + 1)
    # nodes of one rate: N Poisson(k; n / N), with the upper tail in the last row
    mean = per_node.sum() / n_nodes
    expected = n_nodes * np.exp(log_poisson(order, mean))
    expected[-1] = n_nodes * poisson_from(last, mean)
    labels = [str(n) for n in order[:-1]] + [f"{last}+"]
    rows: dict[str, Any] = {"failures": labels, "order": order}
    return pd.concat(
        [
            pd.DataFrame({**rows, "nodes": n, "kind": kind})
            for kind, n in (("seen", observed), ("equal nodes", expected))
        ],
        ignore_index=True,
    )


def since_repair(fit: LogStatistics) -> pd.DataFrame:
    """Return the failure rate by time since a node's last repair, with a label per row.

    Parameters
    ----------
    fit : LogStatistics
        A fitted log, see :func:`ettr.failures.fit`.

    Returns
    -------
    DataFrame
        The rows of ``fit.node_statistics.hazard`` that have exposure and a rate, with ``since`` (days, e.g. ``1 to 3``,
        or ``later``) and ``elsewhere`` (true for the last row). Empty if the log names no nodes.

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import failures, logs
    >>> table = pd.DataFrame({"start": ["2024-01-02", "2024-01-04"], "node": ["a", "a"]})
    >>> table["end"] = ["2024-01-03", "2024-01-05"]
    >>> fit = failures.fit(logs.from_frame(table, n_nodes=10, window=("2024-01-01", "2024-01-31")))
    >>> failures.since_repair(fit)[["since", "n_events", "node_days"]].head(2).to_numpy().tolist()
    [['0 to 1', 0, 2.0], ['1 to 3', 1, 2.0]]
    """
    if fit.node_statistics is None:
        return pd.DataFrame(columns=["since", "elsewhere", "n_events", "node_days", "rate", "low", "high"])
    table = fit.node_statistics.hazard
    table = table[table["when"].isin(["after repair", "remaining"]) & (table["node_days"] > 0)].reset_index(drop=True)
    elsewhere = table["when"] == "remaining"
    spans = [f"{row.from_d:g} to {row.to_d:g}" for row in table.itertuples()]
    return table.assign(elsewhere=elsewhere, since=np.where(elsewhere, "later", spans))


def forecasts_made(fit: LogStatistics) -> pd.DataFrame:
    """Return the backtest of forecasts on the log, one row per forecast.

    Parameters
    ----------
    fit : LogStatistics
        A fitted log, see :func:`ettr.failures.fit`.

    Returns
    -------
    DataFrame
        ``fit.score.table`` with ``origin_d`` (day of the forecast) [d] and ``inside`` (whether the outcome lay in the
        interval that allows for overdispersion). Empty below ten failures.

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import failures, logs
    >>> table = pd.DataFrame({"start": pd.date_range("2024-01-02", periods=60, freq="2D")})
    >>> fit = failures.fit(logs.from_frame(table, n_nodes=10, window=("2024-01-01", "2024-05-01")))
    >>> forecasts = failures.forecasts_made(fit)
    >>> len(forecasts), forecasts["inside"].all()
    (52, np.True_)
    """
    if fit.score is None:
        columns = ["origin_d", "n_events", "low", "high", "poisson_low", "poisson_high", "inside"]
        return pd.DataFrame(columns=columns)
    table = fit.score.table
    return table.assign(origin_d=table["origin_h"] / 24, inside=table["hit"])
