"""What one failure log says, and how far to believe it."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from ettr.core.report import Headline, Note, Report, Table, without_marks
from ettr.core.sentences import Finding, capital, count, duration, listed, number, pct
from ettr.failures import node_verdict, verdicts
from ettr.failures.dispersion import MIN_EVENTS
from ettr.failures.groups import OTHER, UNKNOWN
from ettr.failures.log_statistics import LogStatistics, Verdict
from ettr.failures.log_words import (
    between,
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

_QUESTIONS = {
    "memoryless": "Are failures memoryless?",
    "trend": "Do failures become more or fewer?",
    "nodes": "Replace nodes, or test them after repair?",
    "cohorts": "Do parts of the cluster need rates of their own?",
}


_FEWEST_FOR_TENTH = 10
"""Fewer known repairs say nothing of the longest tenth."""


def answer(fit: LogStatistics) -> Finding:
    """The log in a paragraph: its rate, and what it shows."""
    n = len(fit.start_h)
    often = f"{number(fit.rate.per_1000_node_days)} failures per 1,000 node-days"
    seen = f": {count(n)} in {duration(fit.log.window_h)}" if n else ""
    each = f", one every {duration(fit.log.window_h / n)}" if n > 1 else ""
    if not n:
        often = f"no failures in {node_days(fit.log.node_days)}, so at most {number(fit.rate.high)} per 1000"
    answers = "; ".join(words for words in (_short(fit, verdict) for verdict in fit.verdicts) if words)
    name = named(Path(fit.log.source).name or "The log")
    but = "".join(f" But {marked(doubt)}{'' if doubt.endswith('?') else '.'}" for doubt in fit.log.doubts)
    days = f" Exposure: {node_days(fit.log.node_days)} ({fit.log.exposure})." if fit.log.exposure else ""
    return Finding(title=capital(often), text=f"**{name} shows {often}{seen}{each}.{but}**{days} {capital(answers)}.")


def _short(fit: LogStatistics, verdict: Verdict) -> str:
    """A verdict in a few words; empty where the others say enough."""
    if verdict.answer == "bunched" and verdicts.rate_moves(fit):
        return ""
    if verdict.question == "memoryless" and verdict.answer == "yes" and verdicts.against_memoryless(fit):
        return "the gaps between failures look memoryless, but failures are not"
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
        "replace": "nodes that keep failing should be replaced",
        "re-test": "nodes fail again soon after a repair, so repairs should be tested",
        "both": "some nodes should be replaced, and repairs should be tested",
        "watch": "some nodes fail more than chance explains, and should be watched",
        "look first": "some nodes stay bad as a group, so look at what they share",
        "nothing": "no node stands out",
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


def reading(fit: LogStatistics) -> Finding:
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


def rate(fit: LogStatistics) -> Finding:
    """The overall rate with both intervals."""
    exact, fair, scatter, sure = fit.rate, fit.fair_rate, fit.dispersion, coverage(fit.level)
    blocks = f"in {scatter.n_blocks} equal stretches" if scatter else ""
    if scatter and fit.nodes and fit.nodes.dispersion.paid(fit.level) > scatter.paid(fit.level):
        scatter = fit.nodes.dispersion
        blocks = f"of {counted(scatter.n_blocks, 'node')}"
    if len(fit.start_h) == 0:
        return Finding(
            title="No failures",
            text=f"No failures in {node_days(fit.log.node_days)}: the {sure} interval of the rate is 0 to "
            f"{number(exact.high)} per 1,000 node-days.",
        )
    wide = " There are too few failures to see how unevenly they come."
    if scatter is not None and scatter.p < 1 - fit.level and scatter.measured > 1.05:
        wide = (
            f" They come more unevenly: counts {blocks} vary {number(scatter.measured)} times as much as independent "
            f"ones would, and with this the interval is {between(fair.low, fair.high)}."
        )
    elif scatter is not None:
        same = between(fair.low, fair.high) == between(exact.low, exact.high)
        allowed = "" if same else f"; with as much as they do vary, the interval is {between(fair.low, fair.high)}"
        wide = f" Counts {blocks} vary no more than chance explains{allowed}."
    often = f"{number(exact.per_1000_node_days)} failures per 1,000 node-days"
    recent = fit.recent_rate
    if recent is not None and fit.forecast is not None:
        wide += (
            f" In the last {duration(fit.forecast.past.window_h)} it is {number(recent.per_1000_node_days)} "
            f"({between(recent.low, recent.high)}), which forecast and plan take."
        )
    independent = f"If failures are independent, the {sure} interval is {between(exact.low, exact.high)}."
    return Finding(title=often, text=f"{often}. {independent}{wide}")


def components(fit: LogStatistics) -> Finding:
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


def verdict_findings(fit: LogStatistics) -> list[Finding]:
    """Every verdict: the question as title, the answer with its evidence as text. What was not asked is left out."""
    words = {
        "memoryless": verdicts.shape,
        "trend": verdicts.trend,
        "nodes": node_verdict.nodes,
        "cohorts": verdicts.cohorts,
    }
    answered = [verdict for verdict in fit.verdicts if verdict.answer != "not asked"]
    return [Finding(title=_QUESTIONS[verdict.question], text=words[verdict.question](fit).text) for verdict in answered]


def repairs(fit: LogStatistics) -> Finding:
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


def forecast(fit: LogStatistics) -> Finding:
    """The coming days, and how often such forecasts held."""
    ahead, score = fit.forecast, fit.score
    if ahead is None or score is None:
        few = too_few("to forecast from", len(fit.start_h), MIN_EVENTS)
        return Finding(title="Too few failures for a forecast", text=few)
    mean = failures(round(ahead.mean)) if ahead.mean >= 10 else f"{number(ahead.mean)} failures"
    expected = f"{mean}, between {count(ahead.low)} and {count(ahead.high)}"
    held, poisson_held = pct(score.over_dispersed_coverage, 0), pct(score.poisson_coverage, 0)
    return Finding(
        title=f"Forecasts that allow for bursts held in {held} of the cases, Poisson's in {poisson_held}",
        text=(
            f"In the next {duration(24 * ahead.horizon_d)} expect {expected}.{_rests_on(fit)} Made again at "
            f"{counted(score.n_forecasts, 'moment')} of this log, from the past alone, such {coverage(score.level)} "
            f"intervals held in {held} of the cases; those that take failures as independent held in {poisson_held}. "
            f"The forecasts overlap, and are worth about {count(score.n_independent)} independent ones."
        ),
    )


def _rests_on(fit: LogStatistics) -> str:
    """How much of the past the forecast rests on, where that is not all of it."""
    if fit.forecast is None or fit.forecast.past.is_whole:
        return ""
    past = fit.forecast.past
    return (
        f" This rests on the last {duration(past.window_h)} of {duration(fit.log.window_h)}, as forecasts from so much "
        "of the past did best on this log: its rate changes."
    )


def horizon_d(fit: LogStatistics) -> float:
    """Days that the forecasts of a fit cover. [d]"""
    return fit.forecast.horizon_d if fit.forecast else 30.0


def report(fit: LogStatistics) -> Report:
    """What was read, the rate, each verdict, repairs and a forecast."""
    sections: Report = [
        Headline(f"{fit.log.source} ({fit.log.format})"),
        _note(answer(fit)),
        *_section("What was read", reading(fit)),
        *_section("Failure rate", rate(fit)),
    ]
    for name, table in {"component": fit.components, fit.split: fit.cohorts}.items():
        if table is not None and len(table) > 1:
            sections.append(rate_table(str(name), table))
    sections += [*_section("Times between failures"), rule_table(fit)]
    for verdict in verdict_findings(fit):
        sections += _section(verdict.title, verdict)
        table = node_verdict.node_table(fit) if verdict.title == _QUESTIONS["nodes"] else None
        sections += [table] if table else []
    sections += _section("Repairs", repairs(fit), node_verdict.lives(fit))
    return [*sections, *_section(f"Next {duration(24 * horizon_d(fit))}", forecast(fit))]


def _section(title: str, *findings: Finding) -> Report:
    return [Headline(title, apart=True), *map(_note, findings)]


def _note(finding: Finding) -> Note:
    return Note(without_marks(finding.text))


def rate_table(name: str, groups: pd.DataFrame, n_rows: int = 12) -> Table:
    """Groups of failures with their rates; the first so many, and the rest in one row."""
    rows = []
    for row in groups.head(n_rows).itertuples():
        share = pct(row.share) if math.isfinite(row.share) else ""
        cells = [" ".join(str(row.group).split()), count(row.n_events), share, "not known", ""]
        if math.isfinite(row.rate):
            cells[3:] = _cell(row.rate), f"{_cell(row.low)} to {_cell(row.high)}"
        rows.append(cells)
    if len(groups) > n_rows:
        rest = groups.iloc[n_rows:]
        rows.append([f"({len(rest)} more)", count(rest["n_events"].sum()), pct(rest["share"].sum()), "", ""])
    return Table((name, "failures", "share", "per 1,000 node-days", "95% if independent"), rows)


def _cell(rate: float) -> str:
    if rate >= 100:
        return count(rate)
    return f"{rate:.2f}" if rate >= 0.095 or rate == 0 else number(rate)


def rule_table(fit: LogStatistics) -> Table:
    """The merge rules side by side."""
    rows = []
    for row, gap_fit in zip(fit.rules.itertuples(), fit.gaps, strict=True):
        cells = ["too coarse" if gap_fit.too_coarse else "too few", "", ""]
        if gap_fit.best and not gap_fit.too_coarse:
            shape = f"{gap_fit.weibull_shape:.2f} [{gap_fit.weibull_low:.2f}, {gap_fit.weibull_high:.2f}]"
            best = "none fits" if verdicts.none_fits(gap_fit) else verdicts.distribution(gap_fit.best)
            cells = [shape, best, probability(gap_fit.memoryless_p or 0.0)]
        rows.append([str(row.rule), count(row.n_incidents), _cell(row.rate), *cells])
    return Table(("merged", "incidents", "per 1,000 node-days", "Weibull shape", "best fit", "memoryless"), rows)
