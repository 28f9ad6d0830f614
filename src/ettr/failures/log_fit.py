"""Fitting a failure log: all statistics in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import UnknownName
from ettr.core.report import Answer, Report, plain_values
from ettr.core.results import LOG_COLUMNS, OF_EVERY_NODE, FailureLog
from ettr.core.seeds import Seed, seed_of
from ettr.core.sentences import number
from ettr.failures import (
    bad_nodes,
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
from ettr.failures.lemons import LemonTest
from ettr.failures.log_statistics import LogStatistics, NodeStatistics
from ettr.failures.node_verdict import replace_or_retest
from ettr.failures.outages import Outages, find_outages, seen_nodes
from ettr.failures.prediction import Forecast, ForecastScore
from ettr.failures.rates import NODE_DAYS, failure_rate, rates_of
from ettr.failures.window import SIGNIFICANT


@dataclass(frozen=True, eq=False, repr=False)
class Fit(LogStatistics, Answer):
    """The fit of a failure log: the statistics of :class:`LogStatistics`, with a report and an answer as JSON.

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import failures, logs
    >>> table = pd.DataFrame({"start": ["2024-01-02", "2024-01-09"], "node": ["a", "b"]})
    >>> fit = failures.fit(logs.from_frame(table, n_nodes=10, window=("2024-01-01", "2024-01-31")))
    >>> fit.nodes[["node", "n_failures", "first_failure_h"]].to_numpy().tolist()
    [['a', 1, 24.0], ['b', 1, 192.0]]
    """

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the events as plain values, for JSON; missing and infinite values are None."""
        parts = plain_values({field.name: getattr(self, field.name) for field in fields(self) if field.name != "log"})
        if self.node_statistics is not None:
            parts["node_statistics"]["bad"]["table"] = plain_values(self.node_statistics.bad.worst)
        renamed = {"nodes" if name == "node_statistics" else name: value for name, value in parts.items()}
        return {"log": self.log.to_dict(), **renamed}

    @property
    def headline(self) -> str:
        """The name of the log and its failure rate."""
        return f"{self.log.source}: {number(self.rate.per_1000_node_days)} failures per 1,000 node-days"

    def report(self) -> Report:
        """Return the report: the data, the rate, each verdict, repairs and a forecast."""
        return words.report(self)


def fit(
    log: FailureLog,
    *,
    split: str | None = None,
    level: float = 0.95,
    seed: Seed = 0,
    progress: Callable[[str], None] | None = None,
) -> Fit:
    """Fit failure rate, distributions, trend, nodes and repairs of a log, with verdicts.

    Parameters
    ----------
    log : FailureLog
        From :func:`ettr.logs.read` or :func:`ettr.logs.from_frame`.
    split : str, optional
        Column whose values are compared as cohorts.
    level : float
        Coverage of all intervals.
    seed : int or numpy.random.Generator
        Seed of the bootstrap, and of samples from very long logs.
    progress : callable, optional
        Called with the name of each step.

    Returns
    -------
    Fit
        For a log without failures, the upper bound of the rate, and no distributions.

    Raises
    ------
    InputError
        If the column to split by is unknown, or the level is outside (0, 1).

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import failures, logs
    >>> table = pd.DataFrame({"start": pd.date_range("2024-01-02", periods=12, freq="60h")})
    >>> fit = failures.fit(logs.from_frame(table, n_nodes=40, window=("2024-01-01", "2024-01-30")))
    >>> fit.rate.per_1000_node_days, fit.verdict("trend").answer
    (10.0, 'too few')
    """
    columns = [column for column in log.events.columns if column not in LOG_COLUMNS]
    if split is not None and split not in (*columns, "component", "cause"):
        raise UnknownName("column to split by", split, [*columns, "component", "cause"])
    report, seed = progress or (lambda step: None), seed_of(seed)
    failures, start_h = log.failures, log.hours("start")
    n_events = len(failures)

    report("rates")
    scatter = dispersion.over_dispersion(start_h, log.window_h) if n_events >= dispersion.MIN_EVENTS else None

    report("times between failures")
    fits = tuple(
        gaps.fit_gaps(start_h, log.window_h, within_min, log.resolution_h, seed, level=level)
        for within_min in gaps.MERGE_RULES_MIN
    )
    report("trend")
    rate_trend = trend.find_trend(start_h, log.window_h, log.node_days * 24 / log.window_h, level=level)
    cohorts, cohort_test = _cohorts(log, failures, split, rate_trend.dispersion, level)
    has_exposure = cohorts is not None and bool(cohorts["known_exposure"].sum() > 1)
    cohort_verdict = verdicts.separate(cohort_test, split, has_exposure)
    report("nodes")
    end_h, watched = log.hours("end"), (log.window_h, log.n_nodes, log.stays)
    outages = find_outages(start_h, end_h, failures["node"], *watched)
    by_cohort = cohorts if cohort_verdict.answer == "separate" else None
    nodes = _nodes(failures, outages, seed, level, _Expected(log, failures, split, by_cohort))
    # if some failures name no node, missing ends cannot be judged by later failures of the same node
    repaired = find_outages(start_h, end_h, None, *watched) if failures["node"].isna().any() else outages
    between_nodes = nodes.dispersion.paid(level) if nodes and scatter else 1.0
    over_time = scatter.paid(level) if scatter else 1.0
    report("forecasts")
    forecast, score = _forecast(start_h, log.window_h, level)
    past = forecast.past if forecast else None
    changed = past is not None and not past.is_whole
    n_past, past_days = n_events, log.node_days
    if past is not None and changed:
        n_past, past_days = past.n_events, log.node_days * past.share
    # dispersion between nodes can only grow with the length of the window, so that of the whole log is an upper bound
    index = max(past.index, between_nodes) if past else 1.0
    return Fit(
        log=log,
        level=level,
        rate=failure_rate(n_events, log.node_days, level),
        fair_rate=dispersion.over_dispersed_rate(n_events, log.node_days, max(over_time, between_nodes), level),
        recent_rate=dispersion.over_dispersed_rate(n_past, past_days, index, level) if changed else None,
        knowledge=dispersion.rate_gamma(n_past, past_days, index),
        dispersion=scatter,
        gaps=fits,
        rules=_rules(fits, log.node_days, level),
        trend=rate_trend,
        components=groups.rates_by(failures["component"], log.node_days, level),
        split=split,
        cohorts=cohorts,
        cohort_test=cohort_test,
        node_statistics=nodes,
        repairs=repairs.repair_times(repaired, failures["component"]),
        forecast=forecast,
        score=score,
        verdicts=(
            verdicts.memoryless(fits),
            verdicts.trending(rate_trend, n_events),
            replace_or_retest(
                nodes.apart if nodes else None,
                nodes.bad if nodes else None,
                nodes.risk if nodes else None,
                nodes.role if nodes else None,
                cohort_verdict,
                n_events,
            ),
            cohort_verdict,
        ),
    )


def _rules(fits: tuple[gaps.GapFit, ...], node_days: float, level: float) -> pd.DataFrame:
    """One row per merge rule: its rate and its fits."""

    def of_fits(name: str) -> list[Any]:
        return [None if gap_fit.too_coarse else getattr(gap_fit, name) for gap_fit in fits]

    n_incidents = [gap_fit.n_incidents for gap_fit in fits]
    return pd.DataFrame(
        {
            "rule": [f"within {gap_fit.within_min:g} min" if gap_fit.within_min else "as logged" for gap_fit in fits],
            "within_min": [gap_fit.within_min for gap_fit in fits],
            "n_incidents": n_incidents,
            **rates_of(n_incidents, node_days, level),
            "weibull_shape": of_fits("weibull_shape"),
            "shape_low": of_fits("weibull_low"),
            "shape_high": of_fits("weibull_high"),
            "best": of_fits("best"),
            "memoryless_p": of_fits("memoryless_p"),
        }
    )


def _cohorts(
    log: FailureLog, failures: pd.DataFrame, split: str | None, scatter: dispersion.Dispersion | None, level: float
) -> tuple[pd.DataFrame | None, groups.CohortTest | None]:
    """Rates by cohort, and the test of equal rates if the number of nodes is known for at least two cohorts."""
    if split is None:
        return None, None
    days = log.node_days / log.n_nodes
    sizes = {name: n_nodes * days for name, n_nodes in log.cohort_nodes.get(split, {}).items()}
    of_every_node = split in OF_EVERY_NODE
    table = groups.rates_by(failures[split], log.node_days, level, None if of_every_node else sizes)
    sized = table[table["known_exposure"] & table["group"].isin(sizes)]
    if len(sized) < 2:
        return table, None
    node = failures["node"].cat.codes.to_numpy()
    between = groups.within_cohorts(node, failures[split].to_numpy(), log.cohort_nodes[split])
    over_time = (scatter.index, scatter.dof) if scatter else (1.0, None)
    index, dof = max(over_time, (between.index, between.dof), key=lambda spread: spread[0])
    return table, groups.cohorts_differ(
        sized["n_events"].to_numpy(), sized["node_days"].to_numpy(), sized["group"].tolist(), index, dof, level
    )


_THROUGHOUT = 0.99
"""A node in service for at least this share of the window counts as watched throughout."""


@dataclass(frozen=True)
class _Expected:
    """Expected failures of each node, relative to an ordinary node, from its cohort or role and its time in service."""

    log: FailureLog
    failures: pd.DataFrame
    split: str | None
    by_cohort: pd.DataFrame | None

    def weights(self, names: np.ndarray, role: roles.RoleCheck | None) -> tuple[np.ndarray, float]:
        """Return the weight of each node that failed (1 is an ordinary node) and the sum of weights over all nodes."""
        by_group, total = self._by_group(names, role)
        if self.log.stays is None:
            return by_group, total
        hours = (self.log.stays["out_h"] - self.log.stays["in_h"]).groupby(self.log.stays["node"]).sum()
        return by_group * np.maximum(hours.reindex(names).fillna(hours.mean()) / hours.mean(), 1e-9), total

    def _by_group(self, names: np.ndarray, role: roles.RoleCheck | None) -> tuple[np.ndarray, float]:
        n_nodes = self.log.n_nodes
        if self.by_cohort is not None:
            rates = self.by_cohort.set_index("group")["rate"] / (NODE_DAYS * len(self.failures) / self.log.node_days)
            cohort = self.failures.groupby("node", observed=True)[self.split].first()
            weight = cohort.reindex(names).astype(object).map(rates).fillna(1.0).to_numpy(dtype=float)
            sizes = self.log.cohort_nodes[str(self.split)]
            others = n_nodes - sum(sizes.values())
            return np.maximum(weight, 1e-9), others + sum(n * rates.get(name, 1.0) for name, n in sizes.items())
        if role is not None and role.p < SIGNIFICANT and math.isfinite(role.ratio):
            weight = np.where(role.holds(names), role.ratio, 1.0)
            return weight, n_nodes * (1 + role.share * (role.ratio - 1))
        return np.ones(len(names)), float(n_nodes)


def _nodes(
    failures: pd.DataFrame, outages: Outages, seed: int, level: float, expected: _Expected
) -> NodeStatistics | None:
    """All statistics by node; None if the log names no nodes."""
    if failures["node"].isna().all():
        return None
    names, rows = seen_nodes(failures["node"]).names, outages.failures
    distinct = bad_nodes.failures_apart(outages)
    distinct = distinct[distinct["apart"]]
    role = roles.check_roles(names, np.bincount(distinct["node"], minlength=len(names)), outages.n_nodes, seed)
    lives = lifetimes.node_lifetimes(outages)
    columns = lives["duration_h"], lives["observed"]
    weights, total = expected.weights(names, role)
    bad = bad_nodes.find_bad_nodes(outages, names, weights, total)
    is_bad = np.isin(names, bad.table.loc[bad.table["p"] < SIGNIFICANT, "node"])
    counts = np.bincount(rows["node"][rows["node"] >= 0], minlength=len(names))
    return NodeStatistics(
        as_logged=_lemons(rows, outages, expected.log.stays, seed),
        apart=_lemons(distinct, outages, expected.log.stays, seed),
        n_repeats=int((rows["node"] >= 0).sum()) - len(distinct),
        bad=bad,
        dispersion=dispersion.node_dispersion(
            counts[~is_bad],
            outages.n_nodes - int(is_bad.sum()),
            outages.window_h,
            weights[~is_bad],
            total - float(weights[is_bad].sum()),
        ),
        hazard=repeats.hazard_after_repair(outages, level=level),
        risk=repeats.repeat_risk(outages, level=level),
        role=role,
        survival=lifetimes.kaplan_meier(*columns, level=level),
        lifetime=lifetimes.fit_lifetimes(*columns, level=level),
    )


def _lemons(rows: pd.DataFrame, outages: Outages, stays: pd.DataFrame | None, seed: int) -> LemonTest:
    """Lemon test of the nodes watched throughout: only they can be compared between the halves of the log."""
    n_nodes = outages.n_nodes
    if stays is not None:
        throughout = stays.groupby("node").agg(from_h=("in_h", "min"), until_h=("out_h", "max"), n=("in_h", "size"))
        least_h = _THROUGHOUT * outages.window_h
        is_watched = (throughout["n"] == 1) & (throughout["until_h"] - throughout["from_h"] > least_h)
        by_number = (outages.seen_h["until_h"] - outages.seen_h["from_h"] > least_h).to_numpy()
        rows = rows[(rows["node"] < 0) | by_number[rows["node"]]]
        n_nodes = max(int(is_watched.sum()), int((rows["node"] >= 0).any()))
    if not (rows["node"] >= 0).any():
        return lemons.no_comparison(len(rows), n_nodes)
    n_nodes = max(n_nodes, rows["node"].nunique())
    return lemons.find_lemons(rows["start_h"], rows["node"], outages.window_h, n_nodes, seed)


def _forecast(start_h: np.ndarray, window_h: float, level: float) -> tuple[Forecast | None, ForecastScore | None]:
    """The forecast and its backtest; None for both if there are too few failures."""
    if len(start_h) < dispersion.MIN_EVENTS:
        return None, None
    score = prediction.score_forecasts(start_h, window_h, level=level)
    return prediction.predict_count(start_h, window_h, score.horizon_d, level), score
