"""What a plan says on request: bands, hours of both intervals, and what the run has of its own."""

from __future__ import annotations

import math

from ettr.budget import changes
from ettr.checkpoint import heed_threshold_h
from ettr.core.report import Headline, Note, Report, Table
from ettr.core.results import PARTS
from ettr.core.sentences import capital, duration, limit, number, pct
from ettr.plan.planned_run import PlannedRun
from ettr.ranges import TAILS
from ettr.ranges.assumed import span
from ettr.scenario import Scenario

_QUANTITIES = {
    "job_mttf_h": "MTTF of the job, exposed hours",
    "best_interval_min": "best interval",
    "ettr_at_best": "ETTR at the best interval",
    "ettr_as_given": "ETTR as given",
    "failures_per_day": "failures a day",
}
"""Rows of the bands, as people call them."""

_HOURS = {"h": 1.0, "min": 1 / 60, "s": 1 / 3600}
"""Units of time that a number is shown as a duration for, in hours."""


def plan_details(plan: PlannedRun) -> Report:
    """Bands and budgets, each remedy and assumption, and what the run has of its own."""
    sections: Report = [Headline("Details", apart=True), *map(Note, speed_lines(plan)[1:])]
    sections += [_hours(plan), *_bands(plan), *plan.assumptions.report()[1:], *_clusters(plan)]
    return [*sections, *(plan.recommendation.details() if plan.recommendation else ())]


def _clusters(plan: PlannedRun) -> Report:
    """The rates of published clusters between which the second range is drawn; nothing for a rate of the run's own."""
    clusters = plan.across_clusters
    if clusters is None or clusters.range is None:
        return []
    rate = next(assumed for assumed in clusters.inputs if assumed.quantiles)
    low, high = (pct(tail, 0) for tail in TAILS)
    ends = f"{limit(rate.low)} to {limit(rate.high)} {rate.unit}"
    return [
        Note(
            f"{capital(clusters.label)}: {span(*clusters.range)} between the {low} and {high} quantiles, "
            f"with node failure rates of {ends} ({rate.reason}, each once: {rate.source})."
        )
    ]


def _hours(plan: PlannedRun) -> Table:
    budgets = {f"best interval, {duration(plan.best.interval_h)}": plan.hours_at_best}
    if plan.hours_as_given:
        budgets[f"current interval, {duration(plan.scenario.interval_h)}"] = plan.hours_as_given
    rows = []
    for part in PARTS:
        each = [(float(getattr(hours, part)), float(hours.total_h)) for hours in budgets.values()]
        if any(hours > 0 for hours, _ in each):
            cells = [cell for hours, total_h in each for cell in (f"{hours:,.1f} h", f"{hours / total_h:.1%}")]
            rows.append([part.removesuffix("_h"), *cells])
    total = [cell for hours in budgets.values() for cell in (f"{hours.total_h:,.1f} h", "")]
    columns = ["part", *(cell for name in budgets for cell in (name, ""))]
    title = "Time budget (simulated)" if plan.simulation else "Time budget"
    return Table(columns, [*rows, ["total", *total]], title=title, total=True)


def tiers_report(plan: PlannedRun) -> Report:
    if plan.budget_of_tiers is None:
        return []
    rows = [
        (tier.name, f"{tier.survives:.1%}", duration(tier.interval_s / 3600), duration(tier.best_interval_s / 3600))
        for tier in plan.tiers
    ]
    return [
        Table(("tier", "survives", "interval", "best of all together"), rows),
        Note(f"With the best of all together the ETTR is {plan.budget_of_tiers.ettr:.1%}."),
    ]


def _bands(plan: PlannedRun) -> Report:
    if not plan.bands.rows:
        return [Note(f"How sure: {plan.bands.source}.")]
    rows = [
        (
            _QUANTITIES[row["quantity"]],
            amount(row["value"], row["unit"]),
            between(row["low_50"], row["high_50"], row["unit"]),
            between(row["low_95"], row["high_95"], row["unit"]),
        )
        for row in plan.bands.rows
    ]
    return [
        Headline("How sure"),
        Table(("", "value", "50%", "95%"), rows),
        Note(f"The bands come {plan.bands.source}.", dim=True),
    ]


def between(low: float, high: float, unit: str) -> str:
    """A range as people read it; one value where both ends read alike."""
    ends = [amount(low, unit), amount(high, unit)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def amount(value: float, unit: str) -> str:
    """A quantity as people read it: a duration, a percentage, or a number."""
    if unit in _HOURS:
        return duration(value * _HOURS[unit]) if math.isfinite(value) else "endless"
    return f"{value:.1%}" if unit == "" else number(value)


def no_answer(plan: PlannedRun) -> str:
    """Why a plan has no time budget for the scenario's own interval."""
    own = duration(plan.scenario.interval_h)
    return f"for the scenario's own interval of {own} there is no answer, since {plan.no_budget_as_given}."


def speed_lines(plan: PlannedRun) -> list[str]:
    """Throughput, where the job does not run at full speed, and what heat has to do with it."""
    run, heat = plan.scenario, plan.scenario.heat_response
    if run.speed == 1 and heat is None:
        return []
    speed = (
        f"Effective throughput: {pct(plan.effective_throughput)} at the best interval, training at {pct(run.speed)} of "
        "full speed"
    )
    if heat is None:
        return [speed]
    table, on_rate = heat.hours, run.heat_rate_factor
    failing = f"failures at {on_rate:.2f} times the observed rate" if run.failures.modes else ""
    if failing and abs(on_rate - 1) < 5e-3:
        failing = "failures at about the observed rate"
    assert run.heat is not None
    warm = (
        f"Heat: inlet {table['inlet_c'].min():.1f} to {table['inlet_c'].max():.1f} °C "
        f"({run.heat.reference_inlet_c:.1f} °C at full speed)"
    )
    heat_line = "; ".join(filter(None, [f"{warm}, hottest die {table['hottest_c'].max():.1f} °C", failing]))
    return [speed, heat_line, *([f"Weather: {'; '.join(heat.notes)}"] if heat.notes else [])]


def unused_prediction(run: Scenario) -> list[str]:
    """Why announcements gain nothing, where they do not."""
    ahead = run.prediction
    if ahead is None:
        return []
    if ahead.lead_s < ahead.action_s:
        return [
            f"Announcements are of no use: lead_s = {ahead.lead_s:g} s is shorter than action_s = {ahead.action_s:g} s"
        ]
    at_risk_h = heed_threshold_h(ahead.action_s / 3600, ahead.precision)
    if at_risk_h > run.interval_h:
        return [
            f"Announcements are of no use: an answer pays from {duration(at_risk_h)} of training at risk on, longer "
            f"than the interval"
        ]
    return []


def planned_at_mean(plan: PlannedRun) -> str:
    """What a plan for a changing rate rests on."""
    assert plan.changing is not None
    assert plan.budget_over_time is not None
    mean, settled = plan.scenario.failure_rate, plan.changing.failure_rate
    if not changes(plan.changing):
        return (
            "Nodes have a memory: this plans for the steady rate of many such nodes, and leaves out that their "
            "failures are not independent. Only simulation would hold that."
        )
    return (
        f"The failure rate changes during the run: this plans for its mean, {number(mean)} per 1,000 node-days, where "
        f"{number(settled)} was given. Integrated over the run, the ETTR at the best interval is "
        f"{pct(plan.budget_over_time.ettr)}."
    )
