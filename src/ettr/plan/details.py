"""Details of a plan: confidence intervals, time budgets, tiers, throughput and failure prediction."""

from __future__ import annotations

import math

from ettr.budget import changes
from ettr.checkpoint import heed_threshold_h
from ettr.core.report import Headline, Note, Report, Table
from ettr.core.results import PART_WORDS
from ettr.core.sentences import capital, duration, joined_range, limit, number, pct
from ettr.plan.planned_run import PlannedRun
from ettr.ranges import TAILS
from ettr.ranges.assumed import span_of_ettr
from ettr.scenario import Scenario

_QUANTITIES = {
    "job_mttf_h": "MTTF of the job (exposed hours)",
    "best_interval_min": "best interval",
    "ettr_at_best": "ETTR at the best interval",
    "ettr_as_given": "ETTR at the current interval",
    "failures_per_day": "failures per day",
}
"""Names of the quantities in a table."""

_HOURS = {"h": 1.0, "min": 1 / 60, "s": 1 / 3600}
"""Units of time in hours; numbers in these are shown as durations."""


def plan_details(plan: PlannedRun) -> Report:
    """Return the time budgets, confidence intervals, assumed inputs and break-even shares of a plan."""
    sections: Report = [Headline("Details", apart=True), *map(Note, speed_lines(plan)[1:])]
    sections += [_hours(plan), *(plan.storage.report() if plan.storage else ())]
    sections += [*_bands(plan), *plan.assumptions.report()[1:], *_clusters(plan)]
    return [*sections, *(plan.recommendation.details() if plan.recommendation else ())]


def _clusters(plan: PlannedRun) -> Report:
    """Return the range across published clusters; nothing for a run with a failure rate of its own."""
    clusters = plan.across_clusters
    if clusters is None or clusters.range is None:
        return []
    rate = next(assumed for assumed in clusters.inputs if assumed.quantiles)
    low, high = (pct(tail, 0) for tail in TAILS)
    rates = f"{joined_range(limit(rate.low), limit(rate.high))} {rate.unit}"
    return [
        Note(
            f"{capital(clusters.label)}: ETTR {span_of_ettr(*clusters.range)} ({low} to {high} quantile), with node "
            f"failure rates of {rates} ({rate.reason}; equal weights; {rate.source})."
        )
    ]


def _hours(plan: PlannedRun) -> Table:
    """Return the time budget at the best interval, and at the current one."""
    budgets = {f"best interval, {duration(plan.best.interval_h)}": plan.hours_at_best}
    if plan.hours_at_current:
        budgets[f"current interval, {duration(plan.scenario.interval_h)}"] = plan.hours_at_current
    rows = []
    for part, words in PART_WORDS.items():
        in_budgets = [(float(getattr(hours, part)), float(hours.total_h)) for hours in budgets.values()]
        if any(hours > 0 for hours, _ in in_budgets):
            cells = [cell for hours, total_h in in_budgets for cell in (f"{hours:,.1f} h", f"{hours / total_h:.1%}")]
            rows.append([words, *cells])
    total = [cell for hours in budgets.values() for cell in (f"{hours.total_h:,.1f} h", "100.0%")]
    columns = ["part", *(cell for name in budgets for cell in (name, ""))]
    title = "Time budget (simulated)" if plan.simulation else "Time budget"
    return Table(columns, [*rows, ["total", *total]], title=title, total=True)


def tiers_report(plan: PlannedRun) -> Report:
    """Return the current and the best intervals of all tiers; nothing without tiers."""
    if plan.budget_of_tiers is None:
        return []
    rows = [
        (tier.name, f"{tier.survives:.1%}", duration(tier.interval_s / 3600), duration(tier.best_interval_s / 3600))
        for tier in plan.tiers
    ]
    return [
        Table(("tier", "survives this share of failures", "current interval", "best interval (joint)"), rows),
        Note(f"With the jointly optimised intervals the ETTR is {plan.budget_of_tiers.ettr:.1%}."),
    ]


def _bands(plan: PlannedRun) -> Report:
    """Return the confidence intervals of the plan's quantities, or why there are none."""
    if not plan.bands.rows:
        return [Note(f"Uncertainty of the failure rate: {plan.bands.source}.")]
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
        Headline("Uncertainty of the failure rate"),
        Table(("quantity", "value", "50% CI", "95% CI"), rows),
        Note(f"The confidence intervals (CI) come {plan.bands.source}.", dim=True),
    ]


def between(low: float, high: float, unit: str) -> str:
    """Return a range of quantities in words; a single one where both ends round alike."""
    return joined_range(amount(low, unit), amount(high, unit))


def amount(value: float, unit: str) -> str:
    """Return a quantity in words: a duration, a percentage, or a number."""
    if unit in _HOURS:
        return duration(value * _HOURS[unit]) if math.isfinite(value) else "infinite"
    return f"{value:.1%}" if unit == "" else number(value)


def no_answer(plan: PlannedRun) -> str:
    """Return why a plan has no time budget for the scenario's current interval."""
    current = duration(plan.scenario.interval_h)
    return f"there is no result for the current interval of {current}: {plan.no_budget_reason}."


def speed_lines(plan: PlannedRun) -> list[str]:
    """Return the effective throughput where the job does not run at full speed, and the effect of heat."""
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
    """Return why failure prediction gains nothing, where it does not."""
    prediction = run.prediction
    if prediction is None:
        return []
    if prediction.lead_s < prediction.action_s:
        return [
            f"Failure prediction does not help: the warning comes {prediction.lead_s:g} s ahead, the action takes "
            f"{prediction.action_s:g} s (prediction.lead_s, prediction.action_s)."
        ]
    at_risk_h = heed_threshold_h(prediction.action_s / 3600, prediction.precision)
    if at_risk_h > run.interval_h:
        return [
            f"Failure prediction does not help: acting on a warning pays only with {duration(at_risk_h)} of training "
            "at risk, longer than the checkpoint interval."
        ]
    return []


def planned_at_mean(plan: PlannedRun) -> str:
    """Return which failure rate a plan uses where the rate changes."""
    assert plan.changing is not None
    assert plan.budget_over_time is not None
    mean, settled = plan.scenario.failure_rate, plan.changing.failure_rate
    if not changes(plan.changing):
        return (
            "The failure rate of a node depends on its age. This plan uses the long-run rate of many such nodes and "
            "treats failures as independent; only the simulator covers the dependence."
        )
    return (
        f"The failure rate changes during the run. This plan uses its mean, {number(mean)} per 1,000 node-days "
        f"(long-run rate {number(settled)}). Integrated over the run, the ETTR at the best interval is "
        f"{pct(plan.budget_over_time.ettr)}."
    )
