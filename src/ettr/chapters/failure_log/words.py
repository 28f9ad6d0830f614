"""What one failure log says, and how far to believe it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ettr.chapters.common.sentences import Finding, count, duration, listed, number, pct, points
from ettr.chapters.failure_log import verdict_words
from ettr.chapters.failure_log.log_words import (
    between,
    capital,
    counted,
    coverage,
    failures,
    marked,
    named,
    node_days,
    probability,
    shortened,
    too_few,
    were,
)
from ettr.chapters.failure_log.tables import MIN_EVENTS, OTHER, UNKNOWN

if TYPE_CHECKING:
    from ettr.failures import Fit, Verdict
    from ettr.plan import FittedPlan

_QUESTIONS = {
    "memoryless": "Are failures memoryless?",
    "trend": "Do failures become more or fewer?",
    "nodes": "Replace nodes, or test them after repair?",
    "cohorts": "Do parts of the cluster need rates of their own?",
}


_FEWEST_FOR_TENTH = 10
"""Fewer known repairs say nothing of the longest tenth."""


def answer(fit: Fit, fitted: FittedPlan) -> Finding:
    """The log in a paragraph: rate, what it shows, and what to do about it."""
    n, run = len(fit.start_h), fitted.scenario
    often = f"{number(fit.rate.per_1000_node_days)} failures per 1000 node-days"
    seen = f": {count(n)} in {duration(fit.log.window_h)}" if n else ""
    each = f", one every {duration(fit.log.window_h / n)}" if n > 1 else ""
    if not n:
        often = f"no failures in {node_days(fit.log.node_days)}, so at most {number(fit.rate.high)} per 1000"
    answers = "; ".join(words for words in (_short(fit, verdict) for verdict in fit.verdicts) if words)
    advice = (
        f"A job on {counted(run.cluster.n_gpus, 'GPU')} should checkpoint every "
        f"{duration(fitted.plan.band.interval_min / 60)}, if checkpoints and recoveries take as long as assumed."
    )
    name = named(Path(fit.log.source).name or "The log")
    return Finding(title=capital(often), text=f"**{name} shows {often}{seen}{each}.** {capital(answers)}. {advice}")


def _short(fit: Fit, verdict: Verdict) -> str:
    """A verdict in a few words; empty where the others say enough."""
    if verdict.answer == "bunched" and verdict_words.rate_moves(fit):
        return ""
    return _SHORT[verdict.question][verdict.answer]


_SHORT = {
    "memoryless": {
        "yes": "failures are memoryless",
        "bunched": "failures come in bunches",
        "regular": "failures come more evenly than chance",
        "depends on the rule": "whether failures are memoryless depends on what counts as one incident",
        "alike": "failures come at equal distances",
        "too few": "the log holds too few failures for a shape",
        "too coarse": "the time stamps are too coarse for a shape",
    },
    "trend": {
        "rising": "they become more",
        "falling": "they become fewer",
        "steady": "the rate has no trend",
        "not monotone": "the rate goes up and down",
        "too few": "",
    },
    "nodes": {
        "replace": "the worst nodes stay the worst and should be replaced",
        "re-test": "nodes fail again soon after a repair, so repairs should be tested",
        "both": "some nodes should be replaced, and repairs should be tested",
        "look first": "some nodes stay bad as a group, so look at what they share",
        "nothing": "no node stands out in a way that lasts",
        "too few": "",
        "no nodes": "",
    },
    "cohorts": {
        "separate": "cohorts need rates of their own",
        "pool": "cohorts may share one rate",
        "exposure unknown": "cohorts cannot be compared without the number of their nodes",
        "too few": "",
        "not asked": "",
    },
}


def reading(fit: Fit) -> Finding:
    """What was read, what was left out and why, and what was assumed."""
    log, n_planned = fit.log, int(fit.log.events["planned"].sum())
    seen = failures(len(fit.start_h))
    watched = f"{counted(log.n_nodes, 'node')} watched for {duration(log.window_h)}, {node_days(log.node_days)}"
    planned = (
        f" {counted(n_planned, 'more event')} {were(n_planned, 'is', 'are')} planned work, and left out of every "
        f"number."
        if n_planned
        else ""
    )
    left = [
        f"{count(row.n)} {were(row.n)} {row.action} "
        f"({marked(row.reason)}{f'; first: {marked(row.example)}' if row.example else ''})"
        for row in log.ledger.itertuples()
    ]
    became = f" Of {counted(log.n_records, 'record')}, {listed(left)}." if left else ""
    assumed = f" {' '.join(_sentence(note) for note in log.notes)}" if log.notes else ""
    return Finding(
        title=f"{capital(seen)} in {node_days(log.node_days)}",
        text=f"{watched}: {seen}.{planned}{became}{assumed}",
    )


def _sentence(note: str) -> str:
    """A note with a capital, unless it begins with the name of a file, and a full stop."""
    text = note.strip().rstrip(".")
    first = text.partition(" ")[0].rstrip(":,;")
    return f"{marked(capital(text) if first.isalpha() else text)}."


def rate(fit: Fit) -> Finding:
    """The overall rate with both intervals."""
    exact, fair, scatter, sure = fit.rate, fit.fair_rate, fit.dispersion, coverage(fit.level)
    if len(fit.start_h) == 0:
        return Finding(
            title="No failures",
            text=f"No failures in {node_days(fit.log.node_days)}: the {sure} interval of the rate is 0 to "
            f"{number(exact.high)} per 1000 node-days.",
        )
    wide = " There are too few failures to see how unevenly they come."
    if scatter is not None and scatter.p < 1 - fit.level and scatter.measured > 1.05:
        wide = (
            f" They come more unevenly: counts in {scatter.n_blocks} equal stretches vary {number(scatter.measured)} "
            f"times as much as independent ones would, and with this the interval is {between(fair.low, fair.high)}."
        )
    elif scatter is not None:
        wide = (
            f" Counts in {scatter.n_blocks} equal stretches vary no more than chance explains; with what so few "
            f"stretches leave uncertain, the interval is {between(fair.low, fair.high)}."
        )
    often = f"{number(exact.per_1000_node_days)} failures per 1000 node-days"
    independent = f"If failures are independent, the {sure} interval is {between(exact.low, exact.high)}."
    return Finding(title=often, text=f"{often}. {independent}{wide}")


def components(fit: Fit) -> Finding:
    """What fails most."""
    n, table = len(fit.start_h), fit.components
    if n == 0:
        return Finding(title="Nothing failed", text="Nothing failed, so no component stands out.")
    silent = int(table.loc[table["group"] == UNKNOWN, "n_events"].sum())
    ranked = list(table[~table["group"].isin([UNKNOWN, OTHER])].itertuples())
    if not ranked:
        return Finding(title="The log names no components", text="The log names no components.")
    first = ranked[0]
    others = [f"{named(row.group)} {pct(row.share)}" for row in ranked[1:4]]
    then = f", then {listed(others)}" if others else ""
    without = f" For {failures(silent)} the log names no component." if silent else ""
    return Finding(
        title=f"{shortened(first.group)} accounts for {pct(first.share)} of the failures",
        text=f"{named(first.group)} accounts for {count(first.n_events)} of {failures(n)} "
        f"({pct(first.share)}){then}.{without}",
    )


def verdicts(fit: Fit) -> list[Finding]:
    """Every verdict: the question as title, the answer with its evidence as text. What was not asked is left out."""
    words = {
        "memoryless": verdict_words.shape,
        "trend": verdict_words.trend,
        "nodes": verdict_words.nodes,
        "cohorts": verdict_words.cohorts,
    }
    asked = [verdict for verdict in fit.verdicts if verdict.answer != "not asked"]
    return [Finding(title=_QUESTIONS[verdict.question], text=words[verdict.question](fit).text) for verdict in asked]


def repairs(fit: Fit) -> Finding:
    """How long failures last."""
    all_ = fit.repairs.overall
    ended = int(all_["n_events"] - all_["n_open"] - all_["n_unknown"])
    if ended < 1 or not math.isfinite(all_["median_h"]):
        return Finding(
            title="The log does not say how long failures last",
            text="Too few failures in the log have an end, so nothing is known of repair times.",
        )
    median = duration(all_["median_h"])
    title, lasted = f"Half of the repairs take longer than {median}", f"Half of the failures last longer than {median}"
    if ended == 1:
        title, lasted = f"The one known repair took {median}", f"The one failure with a known end lasted {median}"
    elif all_["n_zero"] > ended / 2:
        title = "The log does not say how long failures last"
        return Finding(title=title, text="Most failures in the log end when they start, so their lengths are not kept.")
    elif ended >= _FEWEST_FOR_TENTH and math.isfinite(all_["p90_h"]) and all_["p90_h"] > all_["median_h"]:
        lasted += f", and one in ten lasts longer than {duration(all_['p90_h'])}"
    up = fit.repairs.availability
    most = "at most " if all_["n_unknown"] else ""
    served = f" Nodes were in service {most}{pct(up)} of the time." if up is not None else ""
    rest = "".join(
        f" {count(n)} {words}."
        for n, words in (
            (all_["n_open"], f"{were(all_['n_open'])} still open at the end"),
            (all_["n_unknown"], f"{were(all_['n_unknown'], 'has', 'have')} no known end"),
        )
        if n
    )
    return Finding(title=title, text=f"{lasted}.{served}{rest}")


def forecast(fit: Fit) -> Finding:
    """The coming days, and how often such forecasts held."""
    ahead, score = fit.forecast, fit.score
    if ahead is None or score is None:
        return Finding(title="Too few failures for a forecast", text=too_few(fit, "to forecast from", MIN_EVENTS))
    mean = failures(round(ahead.mean)) if ahead.mean >= 10 else f"{number(ahead.mean)} failures"
    expected = f"{mean}, between {count(ahead.low)} and {count(ahead.high)}"
    held, poisson_held = pct(score.over_dispersed_coverage, 0), pct(score.poisson_coverage, 0)
    return Finding(
        title=f"Forecasts that allow for bursts held in {held} of the cases, Poisson's in {poisson_held}",
        text=(
            f"In the next {duration(24 * ahead.horizon_d)} expect {expected}. Made again at "
            f"{counted(score.n_forecasts, 'moment')} of this log, from the past alone, such {coverage(score.level)} "
            f"intervals held in {held} of the cases; those that take failures as independent held in {poisson_held}. "
            f"The forecasts overlap, and are worth about {count(score.n_independent)} independent ones."
        ),
    )


def horizon_d(fit: Fit) -> float:
    """Days that the forecasts of a fit cover. [d]"""
    return fit.forecast.horizon_d if fit.forecast else 30.0


def _at_most(fraction: float) -> str:
    return f"at most {points(fraction)}" if abs(fraction) >= 0.0005 else "less than 0.1 points"


def plan(fitted: FittedPlan) -> Finding:
    """The interval with its band, and what the merge rules would change."""
    band, run, rules = fitted.plan.band, fitted.scenario, fitted.by_rule
    longest, shortest = rules["interval_min"].max(), rules["interval_min"].min()
    moved = (
        f" By merge rule it moves between {duration(shortest / 60)} and {duration(longest / 60)}, which costs "
        f"{_at_most(rules['loss'].max())}."
        if longest > 1.005 * shortest
        else ""
    )
    recovery_min = run.recovery.detection_min + run.recovery.queue_min + run.recovery.restart_min
    return Finding(
        title=f"Checkpoint every {duration(band.interval_min / 60)}",
        text=(
            f"On {counted(run.cluster.n_gpus, 'GPU')} a checkpoint every {duration(band.interval_min / 60)} is best; "
            f"anything between {duration(band.low_min / 60)} and {duration(band.high_min / 60)} costs at most "
            f"{points(band.points)} of ETTR.{moved} Assumed, because a log of failures does not hold it: a checkpoint "
            f"stalls training for {duration(run.checkpoint.stall_s / 3600)}, and a recovery takes "
            f"{duration(recovery_min / 60)}."
        ),
    )


def trust(fitted: FittedPlan) -> Finding:
    """How far to trust the interval, and how far the ETTR."""
    splits, ahead = fitted.splits, fitted.fit.forecast
    span = f"in the next {duration(24 * ahead.horizon_d)}" if ahead else "with what is known of the rate"
    at_rate = "at the rate of the whole log" if len(fitted.fit.start_h) else "at half a failure in the whole log"
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


def rate_rows(table: pd.DataFrame, n_rows: int = 12) -> list[dict[str, str]]:
    """Rows of a table of groups as text: ``name``, ``n_events``, ``share``, ``rate``, ``interval``."""
    rows = []
    for row in table.head(n_rows).itertuples():
        known = math.isfinite(row.rate)
        rows.append(
            {
                "name": " ".join(str(row.group).split()),
                "n_events": count(row.n_events),
                "share": pct(row.share) if math.isfinite(row.share) else "",
                "rate": _cell(row.rate) if known else "not known",
                "interval": f"{_cell(row.low)} to {_cell(row.high)}" if known else "",
            }
        )
    if len(table) > n_rows:
        rest = table.iloc[n_rows:]
        more = {
            "n_events": count(rest["n_events"].sum()),
            "share": pct(rest["share"].sum()),
            "rate": "",
            "interval": "",
        }
        rows.append({"name": f"({len(rest)} more)", **more})
    return rows


def _cell(rate: float) -> str:
    if rate >= 100:
        return count(rate)
    return f"{rate:.2f}" if rate >= 0.095 or rate == 0 else number(rate)


def rule_rows(fit: Fit) -> list[dict[str, str]]:
    """Rows of the merge rules as text: ``name``, ``n_incidents``, ``rate``, ``shape``, ``best``, ``p``."""
    rows = []
    for row, one in zip(fit.rules.itertuples(), fit.gaps, strict=True):
        cells = {"shape": "too coarse" if one.too_coarse else "too few", "best": "", "p": ""}
        if one.best and not one.too_coarse:
            cells["shape"] = f"{one.weibull_shape:.2f} [{one.weibull_low:.2f}, {one.weibull_high:.2f}]"
            cells |= {"best": verdict_words.distribution(one.best), "p": probability(one.memoryless_p or 0.0)}
        rows.append({"name": row.rule, "n_incidents": count(row.n_incidents), "rate": _cell(row.rate)} | cells)
    return rows


def question(verdict: Verdict) -> str:
    """The question that a verdict answers, as people ask it."""
    return _QUESTIONS[verdict.question]
