"""Plans from a fitted failure log, with a backtest of their predictions."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ettr import budget
from ettr.budget.intervals import best_interval_min
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.probability import count_quantile
from ettr.core.report import Answer, Headline, Note, Report, plain_values, without_marks
from ettr.core.sentences import Finding, duration, joined_range, number, pct, points, span
from ettr.core.units import H_PER_DAY, MIN_PER_H, ROUNDING
from ettr.failures import Fit, words
from ettr.failures.dispersion import MIN_EVENTS
from ettr.failures.log_words import counted
from ettr.failures.rates import NODE_DAYS
from ettr.failures.recent import recent_past
from ettr.plan.answer import Plan, make
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.paths import RATE

if TYPE_CHECKING:
    from ettr.failures import Fit


PRODUCTIVE_H = 720.0
"""Work of a scenario from a log: thirty days of training (assumed). [h]"""

_HORIZON_D, _SPLITS = 30.0, 10
_MODES = 20


@dataclass(frozen=True, repr=False)
class FittedPlan(Answer):
    """A plan from a failure log, with a backtest on the log itself.

    Attributes
    ----------
    fit : Fit
        The fit behind the plan.
    plan : Plan
        Plan of :attr:`scenario`.
    ettr_low, ettr_high : float
        ETTR at the best interval, at the upper and the lower end of the forecast failure rate for the next 30 days (a
        sixth of a short window; below ten failures the ends of the rate's confidence interval).
    by_rule : DataFrame
        Sensitivity to the rule that merges failures into incidents: ``within_min`` [min], ``n_incidents``, ``rate``
        [1 / (1000 node-days)], ``interval_min`` [min], ``loss`` (ETTR lost by this interval at the logged rate) and
        ``inside_band``.
    splits : DataFrame
        Backtest: plans from the first part of the log, compared with the following days. ``until_d`` and
        ``horizon_d`` [d], ``past_rate``, ``next_rate`` [1 / (1000 node-days)], ``interval_min`` [min],
        ``interval_loss`` (ETTR lost by the interval from the past rate), ``predicted_ettr``, ``ettr`` (at the rate of
        the following days) and ``level_error``. Empty for logs too short to split.
    """

    fit: Fit
    plan: Plan
    ettr_low: float
    ettr_high: float
    by_rule: pd.DataFrame
    splits: pd.DataFrame

    @property
    def scenario(self) -> Scenario:
        """The scenario from the log, for further commands."""
        return self.plan.scenario

    def to_dict(self) -> dict[str, Any]:
        """Return the plan with its backtest for JSON."""
        return {
            **self.plan.to_dict(),
            "ettr_range": [self.ettr_low, self.ettr_high],
            "by_rule": plain_values(self.by_rule),
            "splits": plain_values(self.splits),
        }

    @property
    def headline(self) -> str:
        """The best interval, and the ETTR at it."""
        return self.plan.headline

    def report(self) -> Report:
        """Return the statistics of the log, the recommended interval, and its backtest."""
        source, _answer, *sections = self.fit.report()
        opening, *ending = (
            Note(without_marks(finding.text)) for finding in (advice(self), interval(self), trust(self))
        )
        return [source, opening, *sections, Headline("Plan", apart=True), *ending]


def from_fit(
    fit: Fit, n_gpus: int | None = None, gpus_per_node: int = 8, like: str | None = None, name: str = "fitted"
) -> FittedPlan:
    """Return the plan of a job on the cluster whose failure log was fitted.

    Parameters
    ----------
    fit : Fit
        From :func:`ettr.failures.fit`.
    n_gpus : int, optional
        GPUs of the job; all observed GPUs by default. [GPUs]
    gpus_per_node : int
        GPUs per node. [GPUs]
    like : str, optional
        Preset or scenario file with the checkpoint and recovery times to assume; by default those of ``ettr plan``.
    name : str
        Short name of the scenario.

    Returns
    -------
    FittedPlan
        The plan, and a backtest of plans from earlier parts of the log.

    Raises
    ------
    InputError
        ``n_gpus`` is no multiple of ``gpus_per_node``, or ``like`` is unknown.
    OutsideValidity
        The job would practically never end.

    Examples
    --------
    >>> from ettr import failures, logs
    >>> times = pd.date_range("2026-01-01", periods=60, freq="12h")
    >>> frame = pd.DataFrame({"start": times, "node": "n1"})
    >>> log = logs.from_frame(frame, n_nodes=256, window=("2026-01-01", times[-1]))
    >>> fitted = from_fit(failures.fit(log))
    >>> fitted.scenario.cluster.n_gpus, round(fitted.plan.job_mttf_h)
    (2048, 12)
    """
    scenario = scenario_of(fit, n_gpus, gpus_per_node, like, name)
    answer = make(scenario)
    low, high = _ends_of_forecast(fit, scenario)
    return FittedPlan(
        fit=fit,
        plan=answer,
        ettr_low=_ettr(scenario, high, answer.band.interval_min),
        ettr_high=_ettr(scenario, low, answer.band.interval_min),
        by_rule=_by_rule(fit, answer),
        splits=_splits(fit, scenario),
    )


def scenario_of(
    fit: Fit, n_gpus: int | None = None, gpus_per_node: int = 8, like: str | None = None, name: str = "fitted"
) -> Scenario:
    """Return the scenario of a fit: its failure rate with uncertainty, and its components as failure modes.

    Checkpoint and recovery times are assumed: those of the scenario ``like``, or the defaults. Without failures the
    rate is the mean of its posterior. Parameters as for :func:`from_fit`.

    Examples
    --------
    >>> from ettr import failures, logs
    >>> times = pd.date_range("2026-01-01", periods=60, freq="12h")
    >>> frame = pd.DataFrame({"start": times, "node": "n1"})
    >>> log = logs.from_frame(frame, n_nodes=256, window=("2026-01-01", times[-1]))
    >>> round(scenario_of(failures.fit(log)).failure_rate, 1)
    7.9
    """
    if gpus_per_node < 1:
        raise InputError(f"gpus_per_node must be >= 1, got {gpus_per_node}")
    if n_gpus is not None and n_gpus < 1:
        raise InputError(f"n_gpus must be >= 1, got {n_gpus}")
    rate = (fit.recent_rate or fit.rate).per_1000_node_days
    rate = rate or NODE_DAYS * fit.knowledge.shape / fit.knowledge.node_days
    part = f" the last {fit.forecast.past.window_h / H_PER_DAY:.0f} days of" if fit.recent_rate and fit.forecast else ""
    log = f"fitted from{part} {fit.log.source or 'a log'}"
    taken_over = _taken_over(Scenario.load(like)) if like else {"checkpoint": {}, "recovery": {}, "evidence": {}}
    values = {
        "name": name,
        "title": f"A job on {n_gpus or fit.log.n_nodes * gpus_per_node:,} GPUs, from a failure log",
        "cluster": {"n_gpus": n_gpus or fit.log.n_nodes * gpus_per_node, "gpus_per_node": gpus_per_node},
        "job": {"productive_h": PRODUCTIVE_H},
        "failures": {
            "rate_per_1000_node_days": rate,
            "rate_gamma": {"shape": fit.knowledge.shape, "node_days": fit.knowledge.node_days},
            "modes": _modes(fit),
        },
        "checkpoint": taken_over["checkpoint"],
        "recovery": taken_over["recovery"],
        "evidence": {
            "cluster.gpus_per_node": {"status": "assumed", "note": "given with the fit"},
            "job.productive_h": {"status": "assumed", "note": "thirty days of training"},
            RATE: {"status": "derived", "note": _allowed(log)},
            "failures.rate_gamma.shape": {"status": "derived", "note": "widened by the index of dispersion"},
            "failures.rate_gamma.node_days": {"status": "derived", "note": "widened by the index of dispersion"},
            "failures.rate_clock": {"status": "assumed", "note": "nodes were observed whether or not a job ran"},
            **taken_over["evidence"],
        },
    }
    return Scenario.of(values, f"scenario from {fit.log.source or 'a log'}")


def _taken_over(reference: Scenario) -> dict[str, Any]:
    """Return checkpoints and recovery of another scenario as assumptions: a failure log has neither."""
    assumed = {"status": "assumed", "note": f"as in {reference.name}; not in a failure log"}
    evidence = {
        path: assumed
        for path, value in reference.flat().items()
        if path.startswith(("checkpoint.", "recovery.")) and value is not None
    }
    tiers = {"checkpoint.tiers": assumed} if reference.checkpoint.tiers else {}
    return {
        "checkpoint": reference.checkpoint.model_dump(),
        "recovery": reference.recovery.model_dump(),
        "evidence": evidence | tiers,
    }


def _allowed(text: str) -> str:
    """Return a text with only the characters that titles and names may have."""
    kept = re.sub(r"[^\w .,;+&()/:'%#-]", " ", text, flags=re.ASCII)
    return " ".join(kept.split())[:100]


def _modes(fit: Fit) -> list[dict[str, Any]]:
    """Return components as failure modes by their share; rare and unnamed ones become the mode ``other``."""
    modes: dict[str, float] = {}
    for row in fit.components.head(_MODES).itertuples():
        name = _allowed(str(row.group))
        if name and name not in ("other", "(other)", "(unknown)"):
            modes[name] = modes.get(name, 0.0) + float(row.share)
    return [{"name": name, "category": name, "share": min(share, 1.0)} for name, share in modes.items()]


def _ends_of_forecast(fit: Fit, scenario: Scenario) -> tuple[float, float]:
    """Return the failure rates at the ends of the forecast for this job. [1 / (1000 node-days)]

    Failures of a part of the nodes scatter less than those of all: thinning a count to a share q of its mean gives
    an index of dispersion of 1 + q (index - 1).
    """
    forecast = fit.forecast
    if forecast is None:
        return fit.fair_rate.low, fit.fair_rate.high
    share = scenario.n_nodes / fit.log.n_nodes
    scatter = 1 + (forecast.past.index * (1 + forecast.horizon_d * H_PER_DAY / forecast.past.window_h) - 1) * share
    index, mean = max(scatter, 1 + ROUNDING), forecast.mean * share
    tails = (1 - forecast.level) / 2, (1 + forecast.level) / 2
    low, high = (count_quantile(p, mean, mean / (index - 1)) for p in tails)
    node_days = fit.log.node_days * forecast.horizon_d * H_PER_DAY / fit.log.window_h * share
    return NODE_DAYS * low / node_days, NODE_DAYS * high / node_days


def _at_rate(scenario: Scenario, rate: float) -> JobInHours:
    return replace(budget.accepted(scenario), rate=scenario.job_rate_at(rate))


def _ettr(scenario: Scenario, rate: float, interval_min: float) -> float:
    """Return the steady-state ETTR at a rate and an interval; 0 where the job would never end."""
    run = replace(_at_rate(scenario, rate), tau=interval_min / MIN_PER_H, include_start=False)
    try:
        return float(budget.exact(run).ettr)
    except OutsideValidity:
        return 0.0


def _by_rule(fit: Fit, answer: Plan) -> pd.DataFrame:
    scenario, band = answer.scenario, answer.band
    as_logged = scenario.failure_rate
    at_best = _ettr(scenario, as_logged, band.interval_min)
    rows = []
    for rule in fit.rules.itertuples():
        share = rule.n_incidents / fit.rules["n_incidents"][0] if rule.n_incidents else 1.0
        interval_min = best_interval_min(_at_rate(scenario, share * as_logged))
        rows.append(
            {
                "within_min": rule.within_min,
                "n_incidents": rule.n_incidents,
                "rate": rule.rate,
                "interval_min": interval_min,
                "loss": at_best - _ettr(scenario, as_logged, interval_min),
                "inside_band": bool(band.low_min <= interval_min <= band.high_min),
            }
        )
    return pd.DataFrame(rows)


def _splits(fit: Fit, scenario: Scenario) -> pd.DataFrame:
    """Return plans made at ten times from the first third of the log on, compared with the days that followed."""
    window_d = fit.log.window_h / H_PER_DAY
    horizon_d = min(_HORIZON_D, window_d / 6)
    start_h, nodes = fit.start_h, fit.log.node_days / window_d
    columns = ["until_d", "horizon_d", "past_rate", "next_rate", "interval_min", "interval_loss"]
    columns += ["predicted_ettr", "ettr", "level_error"]
    rows = []
    for until_d in np.linspace(window_d / 3, window_d - horizon_d, _SPLITS):
        until_h, horizon_h = until_d * H_PER_DAY, horizon_d * H_PER_DAY
        n_past, n_until = np.searchsorted(start_h, [until_h, until_h + horizon_h])
        if n_past < MIN_EVENTS:
            continue
        past = recent_past(start_h[:n_past], until_h, horizon_h, fit.level)
        past_rate = NODE_DAYS * past.n_events / (nodes * past.window_h / H_PER_DAY)
        next_rate = NODE_DAYS * float(n_until - n_past) / (nodes * horizon_d)
        from_past = best_interval_min(_at_rate(scenario, past_rate))
        from_next = best_interval_min(_at_rate(scenario, next_rate))  # as long as the job where nothing failed
        reached, predicted = _ettr(scenario, next_rate, from_past), _ettr(scenario, past_rate, from_past)
        loss = _ettr(scenario, next_rate, from_next) - reached
        made = (until_d, horizon_d, past_rate, next_rate, from_past, loss)
        rows.append((*made, predicted, reached, predicted - reached))
    return pd.DataFrame(rows, columns=columns)


def advice(fitted: FittedPlan) -> Finding:
    """Return the log in a paragraph: its failure rate, findings and recommendations."""
    log = words.answer(fitted.fit)
    job = (
        f"A job on {counted(fitted.scenario.cluster.n_gpus, 'GPU')} should checkpoint every "
        f"{duration(fitted.plan.band.interval_min / 60)}, with the checkpoint and recovery times assumed below."
    )
    return Finding(title=log.title, text=f"{log.text} {job}")


def _at_most(fraction: float) -> str:
    return f"at most {points(fraction)}" if abs(fraction) >= 0.0005 else "less than 0.1 points"


def interval(fitted: FittedPlan) -> Finding:
    """Return the best interval with its range, and the effect of the merge rules."""
    band, run, rules = fitted.plan.band, fitted.scenario, fitted.by_rule
    longest, shortest = rules["interval_min"].max(), rules["interval_min"].min()
    moved = (
        f" Other rules for merging failures into incidents give intervals of "
        f"{span((shortest / 60, longest / 60), float)}, which costs {_at_most(rules['loss'].max())} of ETTR."
        if longest > 1.005 * shortest
        else ""
    )
    recent, past = fitted.fit.recent_rate, fitted.fit.forecast
    since = (
        f"The failure rate changes, so the plan uses that of the last {duration(past.past.window_h)}, "
        f"{number(recent.per_1000_node_days)} per 1,000 node-days, instead of the "
        f"{number(fitted.fit.rate.per_1000_node_days)} of the entire log. "
        if recent and past
        else ""
    )
    recovery_min = run.recovery.detection_min + run.recovery.queue_min + run.recovery.restart_min
    return Finding(
        title=f"Checkpoint every {duration(band.interval_min / 60)}",
        text=(
            f"{since}On {counted(run.cluster.n_gpus, 'GPU')} a checkpoint every "
            f"{duration(band.interval_min / 60)} is best; any interval of "
            f"{span((band.low_min / 60, band.high_min / 60), float)} costs at most {points(band.points)} of "
            f"ETTR.{moved} Assumed, because a failure log does not contain them: a checkpoint stall of "
            f"{duration(run.checkpoint.stall_s / 3600)} and a recovery of {duration(recovery_min / 60)}."
        ),
    )


def trust(fitted: FittedPlan) -> Finding:
    """Return the backtest of the interval and of the ETTR, and the range of the ETTR."""
    splits, forecast = fitted.splits, fitted.fit.forecast
    basis = f"next {duration(24 * forecast.horizon_d)}" if forecast else "uncertainty of the failure rate"
    at_rate = "the entire log" if len(fitted.fit.start_h) else "half a failure in the entire log"
    if forecast and not forecast.past.is_whole:
        at_rate = f"the last {duration(forecast.past.window_h)}"
    level = (
        f"At the failure rate of {at_rate} the ETTR is {pct(fitted.plan.budget.ettr)} "
        f"({pct(fitted.fit.level, 0)} interval {joined_range(pct(fitted.ettr_low), pct(fitted.ettr_high))}, {basis})."
    )
    if len(splits) < 2:
        return Finding(
            title="Too few failures for a backtest",
            text=f"{level} The log has too few failures for a backtest of earlier plans.",
        )
    loss, error = splits["interval_loss"].max(), splits["level_error"].abs().max()
    return Finding(
        title="Trust the interval more than the ETTR" if error > loss else "The interval is no safer than the ETTR",
        text=(
            f"Backtest: {len(splits)} plans from earlier parts of this log, each compared with the following "
            f"{duration(24 * splits['horizon_d'].iloc[0])}. Their intervals cost {_at_most(loss)} of ETTR; their "
            f"predicted ETTR was off by {_at_most(error)}. {level}"
        ),
    )
