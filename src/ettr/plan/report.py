"""What a plan says on one screen: how often, what is lost, what first, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ettr import spares
from ettr.budget.simplify import mechanisms
from ettr.core.report import Headline, Note, Report, Table
from ettr.core.results import TimeBudget
from ettr.core.sentences import (
    about,
    capital,
    count,
    duration,
    gpus,
    limit,
    listed,
    number,
    pct,
    roughly,
    usd,
)
from ettr.core.units import ROUNDING, S_PER_H
from ettr.plan.calendar import Calendar
from ettr.plan.dates import how_to_simulate
from ettr.plan.details import no_answer, planned_at_mean, speed_lines, tiers_report, unused_prediction
from ettr.plan.losses import Losses
from ettr.plan.planned_run import HOPELESS, PlannedRun
from ettr.ranges.assumed import Assumptions, span
from ettr.ranges.inputs import rate_is_assumed
from ettr.scenario import Scenario
from ettr.scenario.fields import name_of
from ettr.scenario.to_hours import before_interval

BOUND = 0.95
"""A rate of which no failure was seen is taken as the most that fits with that, exceeded with the rest (assumed)."""


def plan_report(plan: PlannedRun, short: bool = False) -> Report:
    """The answer on one screen; or, where another question was asked, the interval, the ETTR and what is assumed."""
    sections: Report = [Headline(f"{plan.original.title}: {_often(plan)}")]
    if float(plan.budget.ettr) < HOPELESS:
        return [*sections, Note(hopeless(plan.scenario, plan.calendar))]
    if short:
        beyond = [Note(_beyond_formulas(plan))] if plan.left_out else []
        assumed = [Note(line, dim=True) for line in _assumed(plan)]
        due = plan.due.report() if plan.due else []
        due = due or ([Note(plan.without_dates)] if plan.calendar.deadline else [])
        interval = map(Note, (_interval(plan), *plan_warnings(plan)))
        return [*sections, *beyond, *interval, Note(_ettr(plan)), *due, *assumed]
    sections += [Note(line) for line in _answer(plan)]
    sections += plan.due.report() if plan.due else []
    sections += [*tiers_report(plan), _lost(plan), Note(_bill(plan), dim=True)]
    if plan.recommendation:
        sections += plan.recommendation.report(plan.left_out if plan.simulation else ())
    return [*sections, *(Note(line, dim=True) for line in _assumed(plan))]


def hopeless(scenario: Scenario, calendar: Calendar | None = None) -> str:
    """Why a job has no plan, what would give it one, and that no deadline is kept."""
    run = before_interval(scenario)
    due = " The probability of being done by the deadline is 0." if calendar and calendar.deadline else ""
    slow, faster = f"a recovery takes {duration(float(run.recovery))}", "recovery"
    if run.stall > run.recovery:
        slow, faster = f"a checkpoint stalls it for {duration(float(run.stall))}", "checkpoint"
    return (
        f"This job practically never ends: it fails every {duration(scenario.job_mttf_h)}, and {slow}; it takes fewer "
        f"GPUs, fewer failures, or a faster {faster}.{due}"
    )


def _often(plan: PlannedRun) -> str:
    """Size of the job, where its title does not hold it, how often it fails by the wall clock, and how one knows."""
    n_gpus = plan.original.cluster.n_gpus
    size = "" if f"{n_gpus:,}" in plan.original.title else f"{gpus(n_gpus)}, "
    if not math.isfinite(plan.job_mttf_h):
        return f"{size}no failures"
    by = "wall clock, by the analytical model" if plan.simulation else "wall clock"
    observed = plan.original.rate_observed_on_gpus
    at = f", failure rate observed on {gpus(observed)}" if observed else ""
    return f"{size}MTBF {roughly(plan.wall_mttf_h)} ({by}{at})"


def _answer(plan: PlannedRun) -> Iterator[str]:
    if plan.unexplained:
        yield plan.unexplained.words
    if plan.is_bound:
        yield (
            f"No failure was seen in {number(plan.original.failures.node_days or 0)} node-days: this plans for the "
            f"most that fits with that, a rate which is exceeded with {pct(1 - BOUND, 0)}."
        )
    if plan.left_out:
        yield _beyond_formulas(plan)
    if pool := spares.cheapest_pool_for(plan.original):
        held = plan.original.spares.n_nodes if plan.original.spares else 0
        near = f"; {count(pool.low)} to {count(pool.high)} cost hardly more" if pool.low < pool.high else ""
        nodes = f"{count(pool.n_spares)} spare node{'' if pool.n_spares == 1 else 's'}"
        yield f"Hold {nodes} (you hold {count(held)}){near}."
    yield _interval(plan)
    yield from plan_warnings(plan)
    yield _ettr(plan)
    if plan.dates:
        yield plan.dates.words
    elif plan.without_dates:
        yield plan.without_dates
    if plan.has_own_interval and plan.budget_as_given is None:
        yield capital(no_answer(plan))
    yield from speed_lines(plan)[:1]
    yield from unused_prediction(plan.best)
    if plan.changing:
        yield planned_at_mean(plan)
    if plan.checkpoints_to_keep:
        yield f"Keep the newest {count(plan.checkpoints_to_keep)} checkpoints: silent failures spoil all after them."


def _interval(plan: PlannedRun) -> str:
    if not math.isfinite(plan.job_mttf_h):
        return "The job does not fail: a checkpoint gains nothing."
    band = plan.band
    where = " to the store" if plan.scenario.checkpoint.tiers else ""
    ends = f"to {roughly(band.high_min / 60)}" if not band.ends_job else "on"
    range_ = f"anything from {roughly(band.low_min / 60)} {ends} costs at most {pct(band.points)} of the time more"
    every = f"Checkpoint{where} every {roughly(band.interval_min / 60)}"
    if plan.scenario.ends and (n := float(plan.budget.n_failures)) < 1:
        return f"{every}. The job expects only {number(about(n))} failures, so the interval hardly matters: {range_}."
    return f"{every}; {range_}."


def plan_warnings(plan: PlannedRun) -> Iterator[str]:
    """Risks that the best ETTR does not show, a sentence each."""
    if (
        plan.scenario.checkpoint.tiers
        and plan.budget.n_failures > 0
        and plan.band.interval_min / 60 >= plan.scenario.work_h * (1 - ROUNDING)
    ):
        during = "during the job" if plan.scenario.ends else "in a year of training"
        yield (
            f"With this interval no checkpoint reaches the store {during}: one failure that the faster tiers do not "
            "survive, such as a software fault that corrupts the state or the loss of a rack, loses everything. "
            f"Writing to the store every {roughly(plan.band.low_min / 60)} costs at most {pct(plan.band.points)} of "
            "the time more."
        )


def _ettr(plan: PlannedRun) -> str:
    """ETTR with its plausible range, and then the prediction interval of a single run."""
    best = float(plan.budget.ettr)
    assumed = f" ({_ranges(plan)})" if plan.ranges else ""
    own = None if plan.simulation else plan.hours_as_given
    what = f"Without {mechanisms(plan.left_out)}, by the analytical model" if plan.simulation else "Useful time (ETTR)"
    text = f"{what}: {pct(best, _digits(best, plan.assumptions))}{assumed}{_as_given(plan, own)}."
    single = "" if plan.simulation else _single_run(plan)
    published = f"{plan.published.words}." if plan.published else ""
    return " ".join(filter(None, [text, published, single, fitted_words(plan.original), *_of_starts(plan.original)]))


def _ranges(plan: PlannedRun) -> str:
    """The ranges as a clause; where nothing is known of the failure rate, only that across published clusters."""
    ranges = plan.ranges[1:] if rate_is_assumed(plan.original) else plan.ranges
    return "; ".join(plausible.short_words if i else plausible.words for i, plausible in enumerate(ranges))


def fitted_words(scenario: Scenario) -> str:
    """Which values were chosen so that the ETTR agrees with what was published; empty if none was."""
    names = [name_of(path, Scenario) for path, origin in scenario.evidence.items() if origin.fitted]
    if not names:
        return ""
    verb, measured = ("was" if len(names) == 1 else "were"), scenario.measured
    chosen = f"{capital(listed(names))} {verb} chosen to agree with what was published"
    if measured is None:  # another run by now
        return f"{chosen}."
    if measured.n_gpus not in (None, scenario.cluster.n_gpus):
        return f"{chosen} of {gpus(measured.n_gpus or 0)}."
    return f"{chosen}: this is a fit, no forecast."


def _of_starts(scenario: Scenario) -> Iterator[str]:
    """By how much starts are longer or shorter than where they were observed, and how to narrow the range."""
    growth_s = scenario.start_growth_h * S_PER_H
    if abs(growth_s) >= 1:
        longer = "longer" if growth_s > 0 else "shorter"
        yield (
            f"Each start is {duration(abs(growth_s) / S_PER_H)} {longer} than on the {gpus(scenario.observed_gpus)} "
            "where it was observed."
        )
    if rate_is_assumed(scenario):
        yield "Your own failure rate narrows the range: --mtbf-h, or --failures with --in-days."


def _as_given(plan: PlannedRun, own: TimeBudget | None) -> str:
    """The ETTR with the interval that the scenario gives, as a clause; empty where it gives none."""
    if own is None:
        return ""
    digits = _digits(float(own.ettr), plan.assumptions)
    return f"; {pct(float(own.ettr), digits)} with the current interval of {duration(plan.scenario.interval_h)}"


def _single_run(plan: PlannedRun) -> str:
    """The 95% prediction interval of a single run as a sentence; empty where there is none.

    Of a job without an end that was not simulated, how it would be: else that stands with the dates.
    """
    interval = plan.prediction_interval
    if interval is None:
        lacks = plan.budget.n_failures > 0 and not plan.original.ends and not plan.simulation
        return f"Run-to-run variation is simulated: {how_to_simulate()}." if lacks else ""
    how = ", simulated" if interval.n_runs and not plan.simulation else ""
    if interval.counted:
        n = count(interval.counted)
        known = f"estimated from {n} failures"
        if plan.original.failures.n_events is None:
            known = f"as uncertain as if {n} independent failures had been counted"
        how += f", with a failure rate {known}"
    per = f"per {interval.window}" if interval.window == "month" else f"in a {interval.window}"
    failures = f"no failure {per}, "
    if interval.n_low is None or interval.n_high is None:
        failures = ""
    elif interval.n_high:
        failures = f"{about(interval.n_low):,.0f} to {about(interval.n_high):,.0f} failures {per}, "
    return f"Run-to-run variation (95% prediction interval{how}): {failures}ETTR {span(interval.low, interval.high)}."


def _digits(ettr: float, assumptions: Assumptions) -> int:
    """Whole points where assumptions move the ETTR by one, or where it is far from 1."""
    spread = assumptions.range
    return 1 if ettr > 0.985 or (spread and spread[1] - spread[0] < 0.005) or not assumptions.inputs else 0


def _beyond_formulas(plan: PlannedRun) -> str:
    """The simulated ETTR of a run that the analytical model does not cover."""
    what = mechanisms(plan.left_out)
    runs = plan.simulation
    if runs is None:
        return f"No formula follows {what}: `ettr simulate` does."
    text = (
        f"Useful time (ETTR): {pct(runs.ettr, 0)}{_as_given(plan, plan.hours_as_given)}, simulated in "
        f"{count(runs.n_runs)} runs because the analytical model does not cover {what}."
    )
    own = plan.budget_as_given if plan.has_own_interval and plan.hours_as_given is None else None
    if own is not None:
        text += (
            f" With the current interval of {duration(plan.scenario.interval_h)} it trains for too little of its time "
            f"to be simulated: {pct(float(own.ettr))} by the analytical model."
        )
    return " ".join(filter(None, [text, _single_run(plan)]))


def _lost(plan: PlannedRun) -> Table:
    """What is lost per month by part, now and at the best interval."""
    best = plan.losses_at_best
    named = {f"every {roughly(plan.best.interval_h)}": best}
    if plan.hours_as_given:
        named = {f"every {duration(plan.scenario.interval_h)}, current": plan.losses, **named}
    parts = {loss.part: loss.words for losses in named.values() for loss in (*losses.parts, losses.total)}
    total = parts.pop("total")
    rows = [(words, *_cells(part, named.values())) for part, words in parts.items()]
    rows.append((total, *_cells("total", named.values())))
    how = " (simulated)" if plan.simulation else ""
    columns = [f"lost per month{how}, a checkpoint", *(title for name in named for title in (name, ""))]
    return Table(columns, rows, total=True, bars=_bars([*parts], best))


def _bars(parts: list[str], of: Losses) -> tuple[float, ...]:
    """Each part over the largest, and nothing for their sum."""
    shares = {loss.part: loss.share for loss in of.parts}
    most = max(shares.values(), default=1.0)
    return (*(shares.get(part, 0.0) / most for part in parts), 0.0)


def _cells(part: str, each: Iterable[Losses]) -> Iterator[str]:
    for losses in each:
        loss = next((loss for loss in (*losses.parts, losses.total) if loss.part == part), None)
        yield f"{number(about(loss.h_per_month))} h" if loss else ""
        yield usd(about(loss.usd_per_month)) if loss else ""


def _bill(plan: PlannedRun) -> str:
    """The cost of the job per month; for a job with an end also its total cost, and the part of it that is lost."""
    losses = plan.losses
    assumed = ", which is assumed" if losses.price_is_assumed else ""
    text = (
        f"The job costs {usd(about(losses.bill_usd_per_month))} per month at {losses.scenario.prices.usd_per_gpu_h:g} "
        f"USD per GPU-hour{assumed}, without electricity."
    )
    if (of_run := losses.total.usd_per_run) is not None:
        now = " with the current interval" if plan.hours_as_given else ""
        total_h = float(losses.budget.total_h)
        text += (
            f" The whole run takes {roughly(total_h)}{now} and costs {usd(about(losses.usd_per_h * total_h))}, "
            f"{usd(about(of_run))} of it lost."
        )
    return text


def _assumed(plan: PlannedRun) -> Iterator[str]:
    """What is assumed, with its values."""
    inputs = plan.assumptions.inputs
    if inputs:
        named = [(assumed, assumed.name.removeprefix("the ")) for assumed in inputs]
        values = [f"{name} {limit(assumed.value)} {assumed.unit}".strip() for assumed, name in named if assumed.value]
        absent = [name for assumed, name in named if not assumed.value]
        zero = f"taken as zero: {listed(absent)}" if absent else ""
        text = "; ".join(filter(None, [", ".join(values), zero]))
        yield f"Assumed: {text}. `--details` has their ranges and sources, `ettr fields` how to set each."
