"""The report on a failure log: its rate, its verdicts and a forecast, each with its uncertainty."""

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
    "trend": "Is the failure rate rising or falling?",
    "nodes": "Which nodes to replace, and which to test after repair?",
    "cohorts": "Do the cohorts fail at different rates?",
}

_FEWEST_FOR_P90 = 10
"""Repairs with a known length below which their 90th percentile is not reported."""


def answer(fit: LogStatistics) -> Finding:
    """Return the log in a paragraph: its rate and its verdicts."""
    n = len(fit.start_h)
    estimate = f"{number(fit.rate.per_1000_node_days)} failures per 1,000 node-days"
    counts = f": {failures(n)} in {duration(fit.log.window_h)}" if n else ""
    mtbf = f", a cluster MTBF of {duration(fit.log.window_h / n)}" if n > 1 else ""
    if not n:
        estimate = (
            f"no failures in {node_days(fit.log.node_days)}, so at most {number(fit.rate.high)} per 1,000 node-days"
        )
    sentences = "".join(f" {words}." for words in (_short(fit, verdict) for verdict in fit.verdicts) if words)
    name = named(Path(fit.log.source).name or "The log")
    cautions = "".join(f" Caution: {marked(doubt)}{'' if doubt.endswith('?') else '.'}" for doubt in fit.log.doubts)
    days = f" Exposure: {node_days(fit.log.node_days)} ({fit.log.exposure})." if fit.log.exposure else ""
    return Finding(title=capital(estimate), text=f"**{name} has {estimate}{counts}{mtbf}.{cautions}**{days}{sentences}")


def _short(fit: LogStatistics, verdict: Verdict) -> str:
    """A verdict in one sentence without its full stop; empty where the other verdicts already cover it."""
    if verdict.answer == "bunched" and verdicts.rate_moves(fit):
        return ""
    if verdict.question == "memoryless" and verdict.answer == "yes" and verdicts.against_memoryless(fit):
        return ""
    bad = fit.node_statistics.bad if fit.node_statistics else None
    replace, watch = (bad.advised(advice) if bad else [] for advice in ("replace", "watch"))
    return _SHORT[verdict.question][verdict.answer].format(
        replace=f"{counted(len(replace), 'node')} {were(len(replace), 'fails', 'fail')} too often: replace "
        f"{node_verdict.listed_nodes(replace)}",
        watch=f"{counted(len(watch), 'node')} {were(len(watch), 'fails', 'fail')} more often than chance explains: "
        f"watch {node_verdict.listed_nodes(watch)}",
    )


_SHORT = {
    "memoryless": {
        "yes": "Failures look memoryless",
        "bunched": "Failures come in bursts",
        "regular": "Failures are more regular than random ones",
        "depends on the rule": "Whether failures look memoryless depends on which ones are merged into one incident",
        "alike": "Failures come at equal intervals",
        "too few": "There are too few failures for verdicts on trend and distribution",
        "too coarse": "The time stamps are too coarse to fit a distribution",
    },
    "trend": {
        "rising": "The failure rate is rising",
        "falling": "The failure rate is falling",
        "steady": "The failure rate has no trend",
        "not monotone": "The failure rate goes up and down",
        "too few": "",
    },
    "nodes": {
        "replace": "{replace}",
        "re-test": "Failures cluster after repairs: test nodes before returning them to service",
        "both": "{replace}. Failures also cluster after repairs: test nodes before returning them to service",
        "watch": "{watch}",
        "look first": "Some nodes keep failing more than others as a group: look for what they share",
        "nothing": "No node stands out",
        "too few": "",
        "no nodes": "",
    },
    "cohorts": {
        "separate": "The cohorts fail at different rates",
        "pool": "The cohorts may share one failure rate",
        "exposure unknown": "The cohorts cannot be compared without the number of nodes in each",
        "too few": "",
        "not asked": "",
    },
}


def reading(fit: LogStatistics) -> Finding:
    """Return the finding on the input: what was read, what was left out and why, and the assumptions."""
    log, n_planned = fit.log, int(fit.log.events["planned"].sum())
    failed = failures(len(fit.start_h))
    exposure = f"{counted(log.n_nodes, 'node')} for {duration(log.window_h)}, {node_days(log.node_days)}"
    planned = (
        f" {counted(n_planned, 'more event')} {were(n_planned, 'is', 'are')} planned work, left out of every number."
        if n_planned
        else ""
    )
    left_out = [
        f"{count(row.n)} {were(row.n)} {row.action} "
        f"({marked(row.reason)}{f'; first: {marked(row.example)}' if row.example else ''})"
        for row in log.ledger.itertuples()
    ]
    omitted = f" Of {counted(log.n_records, 'record')}, {listed(left_out)}." if left_out else ""
    notes = f" {' '.join(_sentence(note) for note in log.notes)}" if log.notes else ""
    return Finding(
        title=f"{capital(failed)} in {node_days(log.node_days)}",
        text=f"{capital(failed)} on {exposure}.{planned}{omitted}{notes}",
    )


def _sentence(note: str) -> str:
    """A note with a capital, unless it begins with the name of a file, and a full stop."""
    text = note.strip().rstrip(".")
    first = text.partition(" ")[0].rstrip(":,;")
    return f"{marked(capital(text) if first.isalpha() else text)}."


def rate(fit: LogStatistics) -> Finding:
    """Return the finding on the overall rate, with its Poisson interval and the one widened by overdispersion."""
    exact, fair, scatter, level = fit.rate, fit.fair_rate, fit.dispersion, coverage(fit.level)
    counts = f"the counts of {scatter.n_blocks} equal periods" if scatter else ""
    nodes = fit.node_statistics
    if scatter and nodes and nodes.dispersion.paid(fit.level) > scatter.paid(fit.level):
        scatter = nodes.dispersion
        counts = f"the counts of {counted(scatter.n_blocks, 'node')}"
    if len(fit.start_h) == 0:
        return Finding(
            title="No failures",
            text=f"No failures in {node_days(fit.log.node_days)}: the {level} confidence interval of the rate is 0 to "
            f"{number(exact.high)} per 1,000 node-days.",
        )
    wide = " There are too few failures to measure overdispersion."
    if scatter is not None and scatter.p < 1 - fit.level and scatter.measured > 1.05:
        wide = (
            f" They are overdispersed: the variance of {counts} is {number(scatter.measured)} times that of "
            f"independent failures, which widens the interval to {between(fair.low, fair.high)}."
        )
    elif scatter is not None:
        same = between(fair.low, fair.high) == between(exact.low, exact.high)
        widened = (
            "" if same else f"; allowing for the variation measured, the interval is {between(fair.low, fair.high)}"
        )
        wide = f" {capital(counts)} vary no more than chance explains{widened}."
    estimate = f"{number(exact.per_1000_node_days)} failures per 1,000 node-days"
    recent = fit.recent_rate
    if recent is not None and fit.forecast is not None:
        wide += (
            f" Over the last {duration(fit.forecast.past.window_h)} the rate is {number(recent.per_1000_node_days)} "
            f"({level} CI {between(recent.low, recent.high)}); the forecast and the plan use this recent rate."
        )
    independent = f"If failures are independent, the {level} CI is {between(exact.low, exact.high)}."
    return Finding(title=estimate, text=f"{estimate}. {independent}{wide}")


def components(fit: LogStatistics) -> Finding:
    """Return the finding on the components that fail most."""
    n, table = len(fit.start_h), fit.components
    if n == 0:
        return Finding(title="Nothing failed", text="Nothing failed, so no component stands out.")
    n_unknown = int(table.loc[table["group"] == UNKNOWN, "n_events"].sum())
    ranked = list(table[~table["group"].isin([UNKNOWN, OTHER])].itertuples())
    if not ranked:
        return Finding(title="No components in the log", text="The log has no component names.")
    first = ranked[0]
    others = [f"{named(row.group)} {pct(row.share)}" for row in ranked[1:4]]
    then = f", then {listed(others)}" if others else ""
    without = f" {capital(failures(n_unknown))} {were(n_unknown, 'has', 'have')} no component." if n_unknown else ""
    return Finding(
        title=f"{shortened(first.group)} accounts for {pct(first.share)} of the failures",
        text=f"{named(first.group)} accounts for {count(first.n_events)} of {failures(n)} "
        f"({pct(first.share)}){then}.{without}",
    )


def verdict_findings(fit: LogStatistics) -> list[Finding]:
    """Return a finding per verdict: the question as title, the answer with its evidence as text.

    Questions without an answer, such as on cohorts where no column was named, are left out.
    """
    words = {
        "memoryless": verdicts.shape,
        "trend": verdicts.trend,
        "nodes": node_verdict.nodes,
        "cohorts": verdicts.cohorts,
    }
    answered = [verdict for verdict in fit.verdicts if verdict.answer != "not asked"]
    return [Finding(title=_QUESTIONS[verdict.question], text=words[verdict.question](fit).text) for verdict in answered]


def repairs(fit: LogStatistics) -> Finding:
    """Return the finding on repair times."""
    overall = fit.repairs.overall
    ended = int(overall["n_events"] - overall["n_open"] - overall["n_unknown"])
    if ended < 1 or not math.isfinite(overall["median_h"]):
        return Finding(
            title="Repair times are not in the log",
            text="Too few failures in the log have an end time to estimate repair times.",
        )
    median = duration(overall["median_h"])
    title = text = f"The median repair takes {median}"
    if ended == 1:
        title = text = f"The only repair with a known end took {median}"
    elif overall["n_zero"] > ended / 2:
        title = "Repair times are not in the log"
        return Finding(title=title, text="Most failures in the log end when they start, so repair times are not known.")
    elif ended >= _FEWEST_FOR_P90 and math.isfinite(overall["p90_h"]) and overall["p90_h"] > overall["median_h"]:
        text += f"; 10% take longer than {duration(overall['p90_h'])}"
    availability = fit.repairs.availability
    most = "at most " if overall["n_unknown"] else ""
    in_service = f" Nodes were in service {most}{pct(availability)} of the time." if availability is not None else ""
    rest = "".join(
        f" {capital(failures(n))} {words}."
        for n, words in (
            (overall["n_open"], f"{were(overall['n_open'])} still open at the end of the window"),
            (overall["n_unknown"], f"{were(overall['n_unknown'], 'has', 'have')} no known end"),
        )
        if n
    )
    return Finding(title=title, text=f"{text}.{in_service}{rest}")


def forecast(fit: LogStatistics) -> Finding:
    """Return the forecast of the coming days, and how such forecasts did in a backtest."""
    prediction, score = fit.forecast, fit.score
    if prediction is None or score is None:
        few = too_few("A forecast", len(fit.start_h), MIN_EVENTS)
        return Finding(title="Too few failures for a forecast", text=few)
    mean = failures(round(prediction.mean)) if prediction.mean >= 10 else f"{number(prediction.mean)} failures"
    covered, poisson_covered = pct(score.over_dispersed_coverage, 0), pct(score.poisson_coverage, 0)
    level = coverage(score.level)
    return Finding(
        title=f"Forecasts that allow for bursts covered {covered} of outcomes, Poisson forecasts {poisson_covered}",
        text=(
            f"Expect {mean} in the next {duration(24 * prediction.horizon_d)} ({level} prediction interval "
            f"{between(prediction.low, prediction.high)}).{_basis(fit)} In a backtest of "
            f"{counted(score.n_forecasts, 'forecast')} on this log, these {level} intervals covered {covered} of "
            f"outcomes ({poisson_covered} if failures are treated as independent). The forecasts overlap, so they are "
            f"worth about {count(score.n_independent)} independent {were(score.n_independent, 'one', 'ones')}."
        ),
    )


def _basis(fit: LogStatistics) -> str:
    """The part of the log behind the forecast, where that is not all of the log."""
    if fit.forecast is None or fit.forecast.past.is_whole:
        return ""
    past = fit.forecast.past
    return (
        f" The forecast uses the last {duration(past.window_h)} of {duration(fit.log.window_h)}: the rate changes, and "
        "forecasts from this part of the log did best."
    )


def horizon_d(fit: LogStatistics) -> float:
    """Return the length of the forecast, in days."""
    return fit.forecast.horizon_d if fit.forecast else 30.0


def report(fit: LogStatistics) -> Report:
    """Return the report on a log: what was read, the rate, each verdict, repairs and a forecast."""
    sections: Report = [
        Headline(f"{fit.log.source} ({fit.log.format})"),
        _note(answer(fit)),
        *_section("Data", reading(fit)),
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
    """Return a table of groups of failures with their rates: the first ``n_rows``, and the others in one row."""
    rows = []
    for row in groups.head(n_rows).itertuples():
        share = pct(row.share) if math.isfinite(row.share) else ""
        cells = [" ".join(str(row.group).split()), count(row.n_events), share, "unknown", ""]
        if math.isfinite(row.rate):
            cells[3:] = _cell(row.rate), f"{_cell(row.low)} to {_cell(row.high)}"
        rows.append(cells)
    if len(groups) > n_rows:
        rest = groups.iloc[n_rows:]
        rows.append([f"({len(rest)} more)", count(rest["n_events"].sum()), pct(rest["share"].sum()), "", ""])
    return Table((name, "failures", "share", "per 1,000 node-days", "95% CI if independent"), rows)


def _cell(rate: float) -> str:
    if rate >= 100:
        return count(rate)
    return f"{rate:.2f}" if rate >= 0.095 or rate == 0 else number(rate)


def rule_table(fit: LogStatistics) -> Table:
    """Return a table that compares the merge rules."""
    rows = []
    for row, gap_fit in zip(fit.rules.itertuples(), fit.gaps, strict=True):
        cells = ["too coarse" if gap_fit.too_coarse else "too few", "", ""]
        if gap_fit.best and not gap_fit.too_coarse:
            shape = f"{gap_fit.weibull_shape:.2f} ({gap_fit.weibull_low:.2f} to {gap_fit.weibull_high:.2f})"
            best = "none fits" if verdicts.none_fits(gap_fit) else verdicts.distribution(gap_fit.best)
            cells = [shape, best, probability(gap_fit.memoryless_p or 0.0)]
        rows.append([str(row.rule), count(row.n_incidents), _cell(row.rate), *cells])
    return Table(("merged", "incidents", "per 1,000 node-days", "Weibull shape", "best fit", "exponential test"), rows)
