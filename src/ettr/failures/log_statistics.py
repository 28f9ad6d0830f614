"""The statistics of a failure log, and tables of them that charts and people read."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import UnknownName
from ettr.core.results import FailureLog
from ettr.failures import dispersion, gaps, groups, lifetimes, repairs, repeats, roles, trend
from ettr.failures.bad_nodes import BadNodes, failures_apart
from ettr.failures.lemons import LemonTest
from ettr.failures.outages import find_outages
from ettr.failures.prediction import Forecast, ForecastScore
from ettr.failures.rates import FailureRate

Question = Literal["memoryless", "trend", "nodes", "cohorts"]

_MOST_FAILURES = 10


@dataclass(frozen=True)
class Verdict:
    """An answer with its evidence.

    Attributes
    ----------
    question : str
        ``memoryless``, ``trend``, ``nodes`` or ``cohorts``.
    answer : str
        One of the answers of the function that gives it.
    evidence : dict
        The numbers that decided, by name.
    """

    question: Question
    answer: str
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeStatistics:
    """What the names of nodes tell.

    Attributes
    ----------
    as_logged, apart : LemonTest
        Unevenness between nodes, and whether it persists: of all rows, and of failures that are no repeats, see
        :func:`~ettr.failures.bad_nodes.failures_apart`.
    n_repeats : int
        Rows that are in the first only. [count]
    bad : BadNodes
        The nodes beyond chance, and what to do with each.
    dispersion : Dispersion
        How unevenly the rows fell on the nodes whose number of failures is not beyond chance.
    hazard : DataFrame
        Failure rate by time since a node's return to service, see :func:`~ettr.failures.repeats.hazard_after_repair`.
    risk : RepeatRisk
        The first days after a repair against later.
    role : RoleCheck or None
        Whether failures follow the position in the name; None if names have none.
    survival : DataFrame
        Kaplan-Meier estimate of a node's time from repair to next failure.
    lifetime : LifetimeFit
        Weibull fit of the same, censored lives included.
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
    """A failure log in numbers.

    Attributes
    ----------
    log : FailureLog
        What was fitted. Planned events are left out of every number here.
    level : float
        Coverage of the intervals. Verdicts are taken at 5% whatever it is.
    rate : FailureRate
        Failures per 1,000 node-days with the exact Poisson interval.
    fair_rate : FailureRate
        The same with an interval widened by how unevenly failures came, over time or between nodes, whichever is more.
        It is an interval of the expected failures per node-day of the window: for nodes that were in service long
        before it, the long-run rate.
    recent_rate : FailureRate or None
        The same of the last part of the log, where forecasts from it did better than from the whole; None where they
        did not. What is planned for fails at this rate.
    knowledge : RateGamma
        What is known of the rate to come, as a gamma distribution that a scenario can carry.
    dispersion : Dispersion or None
        How unevenly failures came; None for too few.
    gaps : tuple of GapFit
        Fits of the times between failures, one a merge rule.
    rules : DataFrame
        The merge rules side by side: ``within_min`` [min], ``n_incidents``, ``rate``, ``low``, ``high``
        [1 / (1000 node-days)], ``weibull_shape``, ``shape_low``, ``shape_high``, ``best``, ``memoryless_p`` (missing
        where gaps are too few or stamps too coarse).
    trend : Trend
        Trend tests, None in it for too few failures, and the rate over time.
    components : DataFrame
        Failures, share and rate of each component, see :func:`~ettr.failures.groups.rates_by`.
    split : str or None
        Column of the cohorts.
    cohorts : DataFrame or None
        The same by cohort.
    cohort_test : CohortTest or None
        Whether cohorts share one rate; None where their exposure is not known.
    nodes : NodeStatistics or None
        What the names of nodes tell; None where the log names none, or nothing failed.
    repairs : RepairTimes
        How long failures lasted.
    forecast : Forecast or None
        Failures of the next 30 days, or a sixth of a short window; None below ten failures.
    score : ForecastScore or None
        How often such forecasts held on this log; None below ten failures.
    verdicts : tuple of Verdict
        What to conclude.
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
    nodes: NodeStatistics | None
    repairs: repairs.RepairTimes
    forecast: Forecast | None
    score: ForecastScore | None
    verdicts: tuple[Verdict, ...]

    @cached_property
    def start_h(self) -> np.ndarray:
        """Times of the failures since the start of the window, sorted. [h]"""
        return self.log.hours("start")

    def verdict(self, question: str) -> Verdict:
        """The verdict on one question: ``memoryless``, ``trend``, ``nodes`` or ``cohorts``."""
        for verdict in self.verdicts:
            if verdict.question == question:
                return verdict
        raise UnknownName("question", question, [verdict.question for verdict in self.verdicts])


def node_counts(fit: LogStatistics) -> pd.DataFrame:
    """How many nodes failed how often, beside what equal nodes would show.

    Parameters
    ----------
    fit : LogStatistics
        Of a log that names nodes.

    Returns
    -------
    DataFrame
        ``log`` (``as logged`` or ``repeats taken out``), ``failures`` (label, the last one open-ended), ``order``,
        ``nodes`` [count], ``kind`` (``seen``, or ``equal nodes``: a Poisson count with the same mean). Empty where the
        log names no nodes.
    """
    columns = ["log", "failures", "order", "nodes", "kind"]
    if fit.nodes is None:
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
    seen = np.bincount(np.minimum(per_node, last), minlength=last + 1).astype(float)
    seen[0] = n_nodes - per_node.size
    order = np.arange(last + 1)
    expected = n_nodes * scipy.stats.poisson.pmf(order, per_node.sum() / n_nodes)
    expected[-1] = n_nodes * scipy.stats.poisson.sf(last - 1, per_node.sum() / n_nodes)
    labels = [str(n) for n in order[:-1]] + [f"{last}+"]
    rows: dict[str, Any] = {"failures": labels, "order": order}
    return pd.concat(
        [pd.DataFrame({**rows, "nodes": n, "kind": kind}) for kind, n in (("seen", seen), ("equal nodes", expected))],
        ignore_index=True,
    )


def since_repair(fit: LogStatistics) -> pd.DataFrame:
    """Failure rate by the time since a node's repair, with a label a row.

    Returns
    -------
    DataFrame
        The rows of ``fit.nodes.hazard`` that have exposure and a rate, with ``since`` (e.g. ``1 to 3``, or ``later``)
        and ``elsewhere`` (true for the last). Empty where the log names no nodes.
    """
    if fit.nodes is None:
        return pd.DataFrame(columns=["since", "elsewhere", "n_events", "node_days", "rate", "low", "high"])
    table = fit.nodes.hazard
    table = table[table["when"].isin(["after repair", "remaining"]) & (table["node_days"] > 0)].reset_index(drop=True)
    elsewhere = table["when"] == "remaining"
    spans = [f"{row.from_d:g} to {row.to_d:g}" for row in table.itertuples()]
    return table.assign(elsewhere=elsewhere, since=np.where(elsewhere, "later", spans))


def forecasts_made(fit: LogStatistics) -> pd.DataFrame:
    """The forecasts that were made again from the log's own past, in days.

    Returns
    -------
    DataFrame
        ``fit.score.table`` with ``origin_d`` [d] and ``inside`` (whether what came lay in the wide interval). Empty
        where the log is too short.
    """
    if fit.score is None:
        columns = ["origin_d", "n_events", "low", "high", "poisson_low", "poisson_high", "inside"]
        return pd.DataFrame(columns=columns)
    table = fit.score.table
    return table.assign(origin_d=table["origin_h"] / 24, inside=table["hit"])
