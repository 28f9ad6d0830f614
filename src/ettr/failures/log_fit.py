"""All statistics of a failure log, in one pass."""

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
    """A failure log in numbers, with its report; the attributes are those of :class:`LogStatistics`."""

    def to_dict(self) -> dict[str, Any]:
        """Everything but the events as plain values, for JSON; what is missing or infinite is None."""
        parts = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "log"}
        return {"log": self.log.to_dict(), **plain_values(parts)}

    @property
    def headline(self) -> str:
        """The log, and its rate."""
        return f"{self.log.source}: {number(self.rate.per_1000_node_days)} failures per 1,000 node-days"

    def report(self) -> Report:
        """What was read, the rate, each verdict, repairs and a forecast."""
        return words.report(self)


def fit(
    log: FailureLog,
    *,
    split: str | None = None,
    level: float = 0.95,
    seed: Seed = 0,
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
    seed : int or numpy.random.Generator
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
    moved = trend.find_trend(start_h, log.window_h, log.node_days * 24 / log.window_h, level=level)
    cohorts, cohort_test = _cohorts(log, failures, split, moved.dispersion, level)
    sized = cohorts is not None and bool(cohorts["known_exposure"].sum() > 1)
    apart = verdicts.separate(cohort_test, split, sized)
    report("nodes")
    end_h, of_all = log.hours("end"), (log.window_h, log.n_nodes, log.stays)
    out = find_outages(start_h, end_h, failures["node"], *of_all)
    by_cohort = cohorts if apart.answer == "separate" else None
    nodes = _nodes(failures, out, seed, level, _Expected(log, failures, split, by_cohort))
    # where some failures name no node, those that do say little of the ends that are missing
    lasted = find_outages(start_h, end_h, None, *of_all) if failures["node"].isna().any() else out
    between_nodes = nodes.dispersion.paid(level) if nodes and scatter else 1.0
    over_time = scatter.paid(level) if scatter else 1.0
    report("forecasts")
    forecast, score = _forecast(start_h, log.window_h, level)
    past = forecast.past if forecast else None
    changed = past is not None and not past.is_whole
    n_past, past_days = n_events, log.node_days
    if past is not None and changed:
        n_past, past_days = past.n_events, log.node_days * past.share
    # the scatter between nodes over the whole window is at least that over a part of it
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
        trend=moved,
        components=groups.rates_by(failures["component"], log.node_days, level),
        split=split,
        cohorts=cohorts,
        cohort_test=cohort_test,
        nodes=nodes,
        repairs=repairs.repair_times(lasted, failures["component"]),
        forecast=forecast,
        score=score,
        verdicts=(
            verdicts.memoryless(fits),
            verdicts.trending(moved, n_events),
            replace_or_retest(
                nodes.apart if nodes else None,
                nodes.bad if nodes else None,
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
        return [None if gap_fit.too_coarse else getattr(gap_fit, name) for gap_fit in fits]

    n_incidents = [gap_fit.n_incidents for gap_fit in fits]
    return pd.DataFrame(
        {
            "rule": [f"within {gap_fit.within_min:g} min" if gap_fit.within_min else "as logged" for gap_fit in fits],
            "within_min": [gap_fit.within_min for gap_fit in fits],
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


_ALWAYS = 0.99
"""A node that was there for this share of the window counts as watched all the time."""


@dataclass(frozen=True)
class _Expected:
    """How often each node should fail, by what explains a part of it."""

    log: FailureLog
    failures: pd.DataFrame
    split: str | None
    by_cohort: pd.DataFrame | None

    def weights(self, names: np.ndarray, role: roles.RoleCheck | None) -> tuple[np.ndarray, float]:
        """Weights of the nodes that failed, 1 for an ordinary one, and their sum over all nodes."""
        by_kind, total = self._by_kind(names, role)
        if self.log.stays is None:
            return by_kind, total
        hours = (self.log.stays["out_h"] - self.log.stays["in_h"]).groupby(self.log.stays["node"]).sum()
        return by_kind * np.maximum(hours.reindex(names).fillna(hours.mean()) / hours.mean(), 1e-9), total

    def _by_kind(self, names: np.ndarray, role: roles.RoleCheck | None) -> tuple[np.ndarray, float]:
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


def _nodes(failures: pd.DataFrame, out: Outages, seed: int, level: float, expected: _Expected) -> NodeStatistics | None:
    if failures["node"].isna().all():
        return None
    seen, rows = seen_nodes(failures["node"]), out.failures
    apart = bad_nodes.failures_apart(out)
    apart = apart[apart["apart"]]
    role = roles.check_roles(seen.names, np.bincount(apart["node"], minlength=len(seen.names)), out.n_nodes, seed)
    lives = lifetimes.node_lifetimes(out)
    columns = lives["duration_h"], lives["observed"]
    weights, total = expected.weights(seen.names, role)
    bad = bad_nodes.find_bad_nodes(out, seen.names, weights, total)
    is_bad = np.isin(seen.names, bad.table.loc[bad.table["p"] < SIGNIFICANT, "node"])
    counts = np.bincount(rows["node"][rows["node"] >= 0], minlength=len(seen.names))
    return NodeStatistics(
        as_logged=_lemons(rows, out, expected.log.stays, seed),
        apart=_lemons(apart, out, expected.log.stays, seed),
        n_repeats=int((rows["node"] >= 0).sum()) - len(apart),
        bad=bad,
        dispersion=dispersion.node_dispersion(
            counts[~is_bad],
            out.n_nodes - int(is_bad.sum()),
            out.window_h,
            weights[~is_bad],
            total - float(weights[is_bad].sum()),
        ),
        hazard=repeats.hazard_after_repair(out, level=level),
        risk=repeats.repeat_risk(out, level=level),
        role=role,
        survival=lifetimes.kaplan_meier(*columns, level=level),
        lifetime=lifetimes.fit_lifetimes(*columns, level=level),
    )


def _lemons(rows: pd.DataFrame, out: Outages, stays: pd.DataFrame | None, seed: int) -> LemonTest:
    """Unevenness between the nodes that were watched all the time, of which there are as many as the halves need."""
    n_nodes = out.n_nodes
    if stays is not None:
        throughout = stays.groupby("node").agg(from_h=("in_h", "min"), until_h=("out_h", "max"), n=("in_h", "size"))
        always = (throughout["n"] == 1) & (throughout["until_h"] - throughout["from_h"] > _ALWAYS * out.window_h)
        here = (out.seen_h["until_h"] - out.seen_h["from_h"] > _ALWAYS * out.window_h).to_numpy()
        rows = rows[(rows["node"] < 0) | here[rows["node"]]]
        n_nodes = max(int(always.sum()), int((rows["node"] >= 0).any()))
    if not (rows["node"] >= 0).any():
        return lemons.nothing_known(len(rows), n_nodes)
    return lemons.find_lemons(rows["start_h"], rows["node"], out.window_h, max(n_nodes, rows["node"].nunique()), seed)


def _forecast(start_h: np.ndarray, window_h: float, level: float) -> tuple[Forecast | None, ForecastScore | None]:
    if len(start_h) < dispersion.MIN_EVENTS:
        return None, None
    score = prediction.score_forecasts(start_h, window_h, level=level)
    return prediction.predict_count(start_h, window_h, score.horizon_d, level), score
