"""All statistics of a failure log, in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import UnknownName
from ettr.core.report import Answer, Report, plain_values
from ettr.core.results import LOG_COLUMNS, FailureLog
from ettr.core.sentences import number
from ettr.failures import (
    dispersion,
    gaps,
    groups,
    lemons,
    lifetimes,
    prediction,
    repairs,
    repeats,
    roles,
    trend,
    verdicts,
    words,
)
from ettr.failures.lemons import Lemons
from ettr.failures.outages import Outages, find_outages
from ettr.failures.prediction import Forecast, ForecastScore
from ettr.failures.rates import FailureRate, failure_rate, rates_of
from ettr.failures.verdicts import Verdict

DEDUPLICATE_H = 24.0
"""A failure this soon after the repair of the last one kept of its node is taken as the same fault."""


@dataclass(frozen=True)
class NodeStatistics:
    """What the names of nodes tell.

    Attributes
    ----------
    as_logged, deduplicated : Lemons
        Unevenness between nodes, and whether it persists, before and after repeats are taken out.
    n_repeats : int
        Failures taken out: those within ``DEDUPLICATE_H`` of the end of their node's last failure that was kept.
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

    as_logged: Lemons
    deduplicated: Lemons
    n_repeats: int
    hazard: pd.DataFrame
    risk: repeats.RepeatRisk | None
    role: roles.RoleCheck | None
    survival: pd.DataFrame
    lifetime: lifetimes.LifetimeFit | None


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Answer):
    """A failure log in numbers.

    Attributes
    ----------
    log : FailureLog
        What was fitted. Planned events are left out of every number here.
    level : float
        Coverage of the intervals. Verdicts are taken at 5% whatever it is.
    rate : FailureRate
        Failures per 1000 node-days with the exact Poisson interval.
    fair_rate : FailureRate
        The same with an interval widened by how unevenly failures came.
    knowledge : Gamma
        What is known of the rate, as a gamma distribution that a scenario can carry.
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
    knowledge: dispersion.Gamma
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

    def to_dict(self) -> dict[str, Any]:
        """Everything but the events as plain values, for JSON; what is missing or infinite is None."""
        parts = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "log"}
        return {"log": self.log.to_dict(), **plain_values(parts)}

    @property
    def headline(self) -> str:
        """The log, and its rate."""
        return f"{self.log.source}: {number(self.rate.per_1000_node_days)} failures per 1000 node-days"

    def report(self) -> Report:
        """What was read, the rate, each verdict, repairs and a forecast."""
        return words.report(self)

    def verdict(self, question: str) -> Verdict:
        """The verdict on one question: ``memoryless``, ``trend``, ``nodes`` or ``cohorts``."""
        for verdict in self.verdicts:
            if verdict.question == question:
                return verdict
        raise UnknownName("question", question, [verdict.question for verdict in self.verdicts])


def fit(
    log: FailureLog,
    *,
    split: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Fit:
    """Fit rates, shapes, trend, nodes and repairs of a log, and draw the conclusions.

    Parameters
    ----------
    log : FailureLog
        From :func:`ettr.logs.read` or :func:`ettr.logs.from_frame`.
    split : str, optional
        Column of the log to compare cohorts by.
    level : float
        Coverage of all intervals.
    seed : int
        Of the bootstrap and of samples of very long logs.
    progress : callable, optional
        Called with what is done next, in a few words.

    Returns
    -------
    Fit
        A log without failures gives a rate with its upper bound and no shapes.

    Raises
    ------
    InputError
        An unknown column to split by, or a level outside (0, 1).
    """
    columns = [column for column in log.events.columns if column not in LOG_COLUMNS]
    if split is not None and split not in (*columns, "component", "cause"):
        raise UnknownName("column to split by", split, [*columns, "component", "cause"])
    report = progress or (lambda step: None)
    failures, start_h = log.failures, log.hours("start")
    n_events = len(failures)

    report("rates")
    scatter = dispersion.over_dispersion(start_h, log.window_h) if n_events >= dispersion.MIN_EVENTS else None
    allowed = {"index": scatter.index, "dof": scatter.dof} if scatter else {}
    known = dispersion.rate_gamma(n_events, log.node_days, level=level, **allowed)
    fair = dispersion.over_dispersed_rate(n_events, log.node_days, level=level, **allowed)

    report("times between failures")
    fits = tuple(
        gaps.fit_gaps(start_h, log.window_h, within_min, log.resolution_h, seed, level=level)
        for within_min in gaps.MERGE_RULES_MIN
    )
    report("trend")
    moved = trend.find_trend(start_h, log.window_h, log.node_days * 24 / log.window_h, level=level)
    cohorts, cohort_test = _cohorts(log, failures, split, moved.dispersion, level)
    sized = cohorts is not None and bool(cohorts["known_exposure"].sum() > 1)
    apart = verdicts.separate(cohort_test, split, sized)
    report("nodes")
    end_h, of_all = log.hours("end"), (log.window_h, log.n_nodes)
    out = find_outages(start_h, end_h, failures["node"], *of_all)
    nodes = _nodes(failures, start_h, out, end_h, seed, level)
    # where some failures name no node, those that do say little of the ends that are missing
    lasted = find_outages(start_h, end_h, None, *of_all) if failures["node"].isna().any() else out
    report("forecasts")
    forecast, score = _forecast(start_h, log.window_h, level)
    return Fit(
        log=log,
        level=level,
        rate=failure_rate(n_events, log.node_days, level),
        fair_rate=fair,
        knowledge=known,
        dispersion=scatter,
        gaps=fits,
        rules=_rules(fits, log.node_days, level),
        trend=moved,
        components=groups.rates_by(failures["component"], log.node_days, level),
        split=split,
        cohorts=cohorts,
        cohort_test=cohort_test,
        nodes=nodes,
        repairs=repairs.repair_times(lasted, failures["component"], level),
        forecast=forecast,
        score=score,
        verdicts=(
            verdicts.memoryless(fits),
            verdicts.trending(moved, n_events),
            verdicts.replace_or_retest(
                nodes.deduplicated if nodes else None,
                nodes.risk if nodes else None,
                nodes.role if nodes else None,
                apart,
                n_events,
            ),
            apart,
        ),
    )


def _rules(fits: tuple[gaps.GapFit, ...], node_days: float, level: float) -> pd.DataFrame:
    """The merge rules side by side."""

    def known(name: str) -> list[Any]:
        return [None if one.too_coarse else getattr(one, name) for one in fits]

    n_incidents = [one.n_incidents for one in fits]
    return pd.DataFrame(
        {
            "rule": [f"within {one.within_min:g} min" if one.within_min else "as logged" for one in fits],
            "within_min": [one.within_min for one in fits],
            "n_incidents": n_incidents,
            **rates_of(n_incidents, node_days, level),
            "weibull_shape": known("weibull_shape"),
            "shape_low": known("weibull_low"),
            "shape_high": known("weibull_high"),
            "best": known("best"),
            "memoryless_p": known("memoryless_p"),
        }
    )


def _cohorts(
    log: FailureLog, failures: pd.DataFrame, split: str | None, scatter: dispersion.Dispersion | None, level: float
) -> tuple[pd.DataFrame | None, groups.CohortTest | None]:
    """Rates by cohort, and the test of their equality where the nodes of every cohort are known."""
    if split is None:
        return None, None
    days = log.node_days / log.n_nodes
    sizes = {name: n_nodes * days for name, n_nodes in log.cohort_nodes.get(split, {}).items()}
    of_every_node = split in verdicts.OF_EVERY_NODE
    table = groups.rates_by(failures[split], log.node_days, level, None if of_every_node else sizes)
    known = table[table["known_exposure"] & table["group"].isin(sizes)]
    if len(known) < 2:
        return table, None
    node = failures["node"].cat.codes.to_numpy()
    between = groups.within_cohorts(node, failures[split].to_numpy(), log.cohort_nodes[split])
    over_time = (scatter.index, scatter.dof) if scatter else (1.0, None)
    index, dof = max(over_time, (between.index, between.dof), key=lambda spread: spread[0])
    return table, groups.cohorts_differ(
        known["n_events"].to_numpy(), known["node_days"].to_numpy(), known["group"].tolist(), index, dof, level
    )


def _nodes(
    failures: pd.DataFrame, start_h: np.ndarray, out: Outages, end_h: np.ndarray, seed: int, level: float
) -> NodeStatistics | None:
    if failures["node"].isna().all():
        return None
    node, names = failures["node"].cat.codes.to_numpy(), failures["node"].cat.categories.to_numpy()
    kept = repeats.deduplicate(start_h, node, DEDUPLICATE_H, end_h)
    lives = lifetimes.node_lifetimes(out)
    counts = np.bincount(node[node >= 0], minlength=len(names))
    columns = lives["duration_h"], lives["observed"]
    return NodeStatistics(
        as_logged=lemons.find_lemons(start_h, node, out.window_h, out.n_nodes, names, seed),
        deduplicated=lemons.find_lemons(start_h[kept], node[kept], out.window_h, out.n_nodes, names, seed),
        n_repeats=int((~kept).sum()),
        hazard=repeats.hazard_after_repair(out, level=level),
        risk=repeats.repeat_risk(out, level=level),
        role=roles.check_roles(names, counts, out.n_nodes, seed),
        survival=lifetimes.kaplan_meier(*columns, level=level),
        lifetime=lifetimes.fit_lifetimes(*columns, level=level),
    )


def _forecast(start_h: np.ndarray, window_h: float, level: float) -> tuple[Forecast | None, ForecastScore | None]:
    if len(start_h) < dispersion.MIN_EVENTS:
        return None, None
    score = prediction.score_forecasts(start_h, window_h, level=level)
    return prediction.predict_count(start_h, window_h, score.horizon_d, level), score
