"""From a fitted log to a plan, and how far each part of it can be trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy

from ettr import budget
from ettr.budget.intervals import best_interval_min
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.report import Answer, Headline, Note, Report, plain_values, without_marks
from ettr.core.sentences import Finding, duration, number, pct, points
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
"""Work of a fitted scenario: thirty days of training, assumed."""

_HORIZON_D, _SPLITS = 30.0, 10
_MODES = 20


@dataclass(frozen=True, repr=False)
class FittedPlan(Answer):
    """A plan from a log, with what the log itself says about trusting it.

    Attributes
    ----------
    fit : Fit
        The fit that it rests on.
    plan : Plan
        Interval, band and time budget of :attr:`scenario`.
    ettr_low, ettr_high : float
        ETTR at the best interval if the job fails as often as at the upper and the lower end of its forecast for the
        next 30 days (a sixth of a short window; below ten failures: at the ends of the rate's interval).
    by_rule : DataFrame
        What the choice of merging moves: ``within_min`` [min], ``n_incidents``, ``rate`` [1 / (1000 node-days)],
        ``interval_min`` [min], ``loss`` (ETTR that this interval costs at the rate as logged), ``inside_band``.
    splits : DataFrame
        The plan made from the first part of the log and judged by what came next: ``until_d`` and ``horizon_d`` [d],
        ``past_rate``, ``next_rate`` [1 / (1000 node-days)], ``interval_min`` [min], ``interval_loss`` (ETTR lost to an
        interval from the past rate), ``predicted_ettr``, ``ettr`` (at the rate that came), ``level_error``. Empty for
        logs too short to split.
    """

    fit: Fit
    plan: Plan
    ettr_low: float
    ettr_high: float
    by_rule: pd.DataFrame
    splits: pd.DataFrame

    @property
    def scenario(self) -> Scenario:
        """The scenario that the log gives, to go on with."""
        return self.plan.scenario

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain numbers, for JSON."""
        return {
            **self.plan.to_dict(),
            "ettr_range": [self.ettr_low, self.ettr_high],
            "by_rule": plain_values(self.by_rule),
            "splits": plain_values(self.splits),
        }

    @property
    def headline(self) -> str:
        """The best interval, and the ETTR there."""
        return self.plan.headline

    def report(self) -> Report:
        """What the log says, what to do about it, and how far to trust that."""
        source, _answer, *sections = self.fit.report()
        opening, *ending = (
            Note(without_marks(finding.text)) for finding in (advice(self), interval(self), trust(self))
        )
        return [source, opening, *sections, Headline("Plan", apart=True), *ending]


def from_fit(
    fit: Fit, n_gpus: int | None = None, gpus_per_node: int = 8, like: str | None = None, name: str = "fitted"
) -> FittedPlan:
    """Plan a job on the cluster whose log was fitted.

    Parameters
    ----------
    fit : Fit
        From :func:`ettr.failures.fit`.
    n_gpus : int, optional
        GPUs of the job; all that were watched if not given. [GPUs]
    gpus_per_node : int
        GPUs of a node. [GPUs]
    like : str, optional
        Preset or scenario file whose checkpoint and recovery times are assumed; those of any scenario that does not
        say, as in ``ettr plan``, if not given.
    name : str
        Short name of the scenario.

    Returns
    -------
    FittedPlan
        The interval with its band, and how well plans from this log's past did in what followed.

    Raises
    ------
    InputError
        ``n_gpus`` is no multiple of ``gpus_per_node``, or ``like`` is unknown.
    OutsideValidity
        The job would practically never end.
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
    """The scenario that a fit gives: its rate with what is known of it, its components as modes.

    Checkpoint and recovery are assumed: those of the scenario ``like``, else those of any scenario that does not say.
    Without failures the rate is the mean of its posterior. Parameters as for :func:`from_fit`.
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
            RATE: {"status": "derived", "note": _plain(log)},
            "failures.rate_gamma.shape": {"status": "derived", "note": "widened by the index of dispersion"},
            "failures.rate_gamma.node_days": {"status": "derived", "note": "widened by the index of dispersion"},
            "failures.rate_clock": {"status": "assumed", "note": "nodes were watched whatever the job did"},
            **taken_over["evidence"],
        },
    }
    return Scenario.of(values, f"scenario from {fit.log.source or 'a log'}")


def _taken_over(reference: Scenario) -> dict[str, Any]:
    """Return checkpoints and recovery of another scenario, as assumptions: a log of failures holds neither."""
    assumed = {"status": "assumed", "note": f"as in {reference.name}; a log of failures does not hold it"}
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


def _plain(text: str) -> str:
    """Text as titles and names may hold it."""
    kept = re.sub(r"[^\w .,;+&()/:'%#-]", " ", text, flags=re.ASCII)
    return " ".join(kept.split())[:100]


def _modes(fit: Fit) -> list[dict[str, Any]]:
    """Components by their share, each a category too; many become the mode ``other``, as do those without a name."""
    modes: dict[str, float] = {}
    for row in fit.components.head(_MODES).itertuples():
        name = _plain(str(row.group))
        if name and name not in ("other", "(other)", "(unknown)"):
            modes[name] = modes.get(name, 0.0) + float(row.share)
    return [{"name": name, "category": name, "share": min(share, 1.0)} for name, share in modes.items()]


def _ends_of_forecast(fit: Fit, scenario: Scenario) -> tuple[float, float]:
    """Rates at which the job would fail as often as at the ends of a forecast of its own. [1 / (1000 node-days)]

    Failures of a part of the nodes scatter less than those of all: thinning a count to a share q of its mean leaves
    an index of dispersion of 1 + q (index - 1).
    """
    ahead = fit.forecast
    if ahead is None:
        return fit.fair_rate.low, fit.fair_rate.high
    share = scenario.n_nodes / fit.log.n_nodes
    scatter = 1 + (ahead.past.index * (1 + ahead.horizon_d * H_PER_DAY / ahead.past.window_h) - 1) * share
    index, mean = max(scatter, 1 + ROUNDING), ahead.mean * share
    tails = (1 - ahead.level) / 2, (1 + ahead.level) / 2
    low, high = scipy.stats.nbinom.ppf(tails, mean / (index - 1), 1 / index)
    node_days = fit.log.node_days * ahead.horizon_d * H_PER_DAY / fit.log.window_h * share
    return NODE_DAYS * float(low) / node_days, NODE_DAYS * float(high) / node_days


def _at_rate(scenario: Scenario, rate: float) -> JobInHours:
    return replace(budget.accepted(scenario), rate=scenario.job_rate_at(rate))


def _ettr(scenario: Scenario, rate: float, interval_min: float) -> float:
    """Steady-state ETTR at a rate and an interval; 0 where the job would never end."""
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
    """Plans from the first third on, each judged by the days that followed."""
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
        from_next = best_interval_min(_at_rate(scenario, next_rate))  # the whole work where nothing failed
        reached, predicted = _ettr(scenario, next_rate, from_past), _ettr(scenario, past_rate, from_past)
        loss = _ettr(scenario, next_rate, from_next) - reached
        made = (until_d, horizon_d, past_rate, next_rate, from_past, loss)
        rows.append((*made, predicted, reached, predicted - reached))
    return pd.DataFrame(rows, columns=columns)


def advice(fitted: FittedPlan) -> Finding:
    """The log in a paragraph: rate, what it shows, and what to do about it."""
    log = words.answer(fitted.fit)
    job = (
        f"A job on {counted(fitted.scenario.cluster.n_gpus, 'GPU')} should checkpoint every "
        f"{duration(fitted.plan.band.interval_min / 60)}, if checkpoints and recoveries take as long as assumed."
    )
    return Finding(title=log.title, text=f"{log.text} {job}")


def _at_most(fraction: float) -> str:
    return f"at most {points(fraction)}" if abs(fraction) >= 0.0005 else "less than 0.1 points"


def interval(fitted: FittedPlan) -> Finding:
    """The interval with its band, and what the merge rules would change."""
    band, run, rules = fitted.plan.band, fitted.scenario, fitted.by_rule
    longest, shortest = rules["interval_min"].max(), rules["interval_min"].min()
    moved = (
        f" By merge rule it moves between {duration(shortest / 60)} and {duration(longest / 60)}, which costs "
        f"{_at_most(rules['loss'].max())}."
        if longest > 1.005 * shortest
        else ""
    )
    recent, past = fitted.fit.recent_rate, fitted.fit.forecast
    since = (
        f"The rate changes, so the plan takes that of the last {duration(past.past.window_h)}, "
        f"{number(recent.per_1000_node_days)} per 1,000 node-days, not the "
        f"{number(fitted.fit.rate.per_1000_node_days)} "
        "of the whole log. "
        if recent and past
        else ""
    )
    recovery_min = run.recovery.detection_min + run.recovery.queue_min + run.recovery.restart_min
    return Finding(
        title=f"Checkpoint every {duration(band.interval_min / 60)}",
        text=(
            f"{since}On {counted(run.cluster.n_gpus, 'GPU')} a checkpoint every "
            f"{duration(band.interval_min / 60)} is best; anything between {duration(band.low_min / 60)} and "
            f"{duration(band.high_min / 60)} costs at most {points(band.points)} of ETTR.{moved} Assumed, because a "
            f"log of failures does not hold it: a checkpoint stalls training for "
            f"{duration(run.checkpoint.stall_s / 3600)}, and a recovery takes {duration(recovery_min / 60)}."
        ),
    )


def trust(fitted: FittedPlan) -> Finding:
    """How far to trust the interval, and how far the ETTR."""
    splits, ahead = fitted.splits, fitted.fit.forecast
    span = f"in the next {duration(24 * ahead.horizon_d)}" if ahead else "with what is known of the rate"
    at_rate = "at the rate of the whole log" if len(fitted.fit.start_h) else "at half a failure in the whole log"
    if ahead and not ahead.past.is_whole:
        at_rate = f"at the rate of the last {duration(ahead.past.window_h)}"
    level = (
        f"The ETTR is {pct(fitted.plan.budget.ettr)} {at_rate}; {span} it may be anything from "
        f"{pct(fitted.ettr_low)} to {pct(fitted.ettr_high)}."
    )
    if len(splits) < 2:
        return Finding(
            title="Too few failures to test the plans of the past",
            text=f"{level} The log holds too few failures to test how plans from its past did.",
        )
    loss, error = splits["interval_loss"].max(), splits["level_error"].abs().max()
    return Finding(
        title="Trust the interval more than the ETTR" if error > loss else "The interval held no better than the ETTR",
        text=(
            f"Planned {len(splits)} times from the past of this log, and judged by the "
            f"{duration(24 * splits['horizon_d'].iloc[0])} that followed, the interval cost {_at_most(loss)} of ETTR; "
            f"the ETTR that was promised was off by {_at_most(error)}. {level}"
        ),
    )
