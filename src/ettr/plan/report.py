"""The plan on one screen: interval, ETTR with its ranges, lost time, and recommended mitigations."""

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
    joined_range,
    limit,
    listed,
    number,
    pct,
    points,
    roughly,
    span,
    usd,
)
from ettr.core.units import H_PER_MONTH, ROUNDING, S_PER_H
from ettr.plan.calendar import Calendar
from ettr.plan.dates import how_to_simulate
from ettr.plan.details import no_answer, planned_at_mean, speed_lines, tiers_report, unused_prediction
from ettr.plan.losses import Losses
from ettr.plan.planned_run import HOPELESS, PlannedRun
from ettr.ranges.assumed import Assumptions, span_of_ettr
from ettr.ranges.inputs import rate_is_assumed
from ettr.scenario import Scenario
from ettr.scenario.fields import name_of
from ettr.scenario.to_hours import before_interval

_ETTR = "ETTR (Effective Training Time Ratio: productive time / wall-clock time)"

BOUND = 0.95
"""Without any observed failure the plan uses this upper confidence limit of the failure rate (assumed)."""


def plan_report(plan: PlannedRun, short: bool = False) -> Report:
    """Return the plan on one screen; ``short`` has only the interval, the ETTR and the assumed inputs."""
    sections: Report = [Headline(f"{plan.original.title}: {_often(plan)}")]
    if float(plan.budget.ettr) < HOPELESS:
        return [*sections, Note(hopeless(plan.scenario, plan.calendar))]
    if short:
        beyond = [Note(_beyond_formulas(plan))] if plan.left_out else []
        assumed = [Note(line, dim=True) for line in _assumed(plan)]
        due = plan.due.report() if plan.due else []
        due = due or ([Note(plan.without_dates)] if plan.calendar.deadline else [])
        lines = map(Note, (_interval(plan), *plan_warnings(plan), *_ettr(plan)))
        return [*sections, *beyond, *lines, *due, *assumed]
    sections += [Note(line) for line in _answer(plan)]
    sections += plan.due.report() if plan.due else []
    sections += [*tiers_report(plan), _lost(plan), Note(_bill(plan), dim=True)]
    if plan.recommendation:
        sections += plan.recommendation.report(plan.left_out if plan.simulation else ())
    return [*sections, *(Note(line, dim=True) for line in _assumed(plan))]


def hopeless(scenario: Scenario, calendar: Calendar | None = None) -> str:
    """Return why a job makes practically no progress, what would help, and that no deadline is met."""
    run = before_interval(scenario)
    due = " The probability of finishing by the deadline is 0." if calendar and calendar.deadline else ""
    slow, faster = f"a recovery takes {duration(float(run.recovery))}", "recovery"
    if run.stall > run.recovery:
        slow, faster = f"a checkpoint stalls it for {duration(float(run.stall))}", "checkpoint"
    return (
        f"This job practically never ends: it fails every {duration(scenario.job_mttf_h)}, and {slow}. "
        f"It needs fewer GPUs, fewer failures, or a faster {faster}.{due}"
    )


def _often(plan: PlannedRun) -> str:
    """Return the size of the job, unless its title has it, and its MTBF on the wall clock."""
    n_gpus = plan.original.cluster.n_gpus
    size = "" if f"{n_gpus:,}" in plan.original.title else f"{gpus(n_gpus)}, "
    if not math.isfinite(plan.job_mttf_h):
        return f"{size}no failures"
    by = ", analytical model" if plan.simulation else ""
    observed = plan.original.rate_observed_on_gpus
    at = f", failure rate observed on {gpus(observed)}" if observed else ""
    return f"{size}mean time between failures (MTBF) {roughly(plan.wall_mttf_h)} (wall clock{by}{at})"


def _answer(plan: PlannedRun) -> Iterator[str]:
    if plan.unexplained:
        yield plan.unexplained.words
    if plan.is_bound:
        yield (
            f"No failure was observed in {number(plan.original.failures.node_days or 0)} node-days. This plan uses "
            f"the {pct(BOUND, 0)} upper limit of the failure rate."
        )
    if plan.left_out:
        yield _beyond_formulas(plan)
    if pool := spares.cheapest_pool_for(plan.original):
        now = plan.original.spares.n_nodes if plan.original.spares else 0
        pools = joined_range(count(pool.low), count(pool.high))
        near = f" Pools of {pools} cost about the same." if pool.low < pool.high else ""
        nodes = f"{count(pool.n_spares)} spare node{'' if pool.n_spares == 1 else 's'}"
        yield f"Hold {nodes} (now: {count(now)}).{near}"
    yield from _rack_lines(plan)
    yield _interval(plan)
    if plan.storage:
        yield plan.storage.words
    yield from plan_warnings(plan)
    yield from _ettr(plan)
    if plan.dates:
        yield plan.dates.words
    elif plan.without_dates:
        yield plan.without_dates
    if plan.has_fixed_interval and plan.budget_at_current is None:
        yield capital(no_answer(plan))
    yield from speed_lines(plan)[:1]
    yield from unused_prediction(plan.best)
    if plan.changing:
        yield planned_at_mean(plan)
    if plan.checkpoints_to_keep:
        yield (
            f"Keep the newest {count(plan.checkpoints_to_keep)} checkpoints: a silent failure corrupts all checkpoints "
            "until it is detected."
        )


def _rack_lines(plan: PlannedRun) -> Iterator[str]:
    """Yield the MTBF of a rack, and what the spare nodes inside it change; nothing without ``rack`` or failures."""
    run = plan.original
    if run.rack is None or not math.isfinite(plan.job_mttf_h):
        return
    mtbf = roughly(plan.wall_mttf_h * run.n_nodes / run.rack_nodes)
    of_rack = f"The {count(run.rack_nodes * run.cluster.gpus_per_node)} GPUs of a rack in use have an MTBF of {mtbf}"
    if run.repair is None:
        yield f"{of_rack}. Set spares and repair to see how many racks leave the job."
        return
    yield f"{of_rack} (wall clock); {_racks_out(run)}."
    if run.rack_spares:
        needed, bare = spares.demand(run), run.override({"rack.n_used": None})
        served = pct(1 - needed.leaves_per_h / needed.failures_per_h)
        inside = math.ceil(run.n_nodes / run.rack_nodes) * run.rack_spares
        yield (
            f"The {count(inside)} spare nodes inside racks, {count(run.rack_spares)} in each, serve {served} of all "
            f"failures. Without them, {_racks_out(bare)}."
        )


def _racks_out(run: Scenario) -> str:
    """Return the racks that leave the job per month, and the cheapest pool, as a clause."""
    per_month = spares.demand(run).leaves_per_h * H_PER_MONTH
    pool = spares.cheapest_pool_for(run)
    least = f" and the cheapest pool has {count(pool.n_spares)} spare nodes" if pool else ""
    return f"{number(about(per_month))} racks leave the job per month{least}"


def _interval(plan: PlannedRun) -> str:
    if not math.isfinite(plan.job_mttf_h):
        return "The job does not fail, so checkpoints gain nothing."
    band = plan.band
    where = " to the store" if plan.scenario.checkpoint.tiers else ""
    good = f"of {span((band.low_min / 60, band.high_min / 60))}"
    if band.ends_job:
        good = f"from {roughly(band.low_min / 60)} on"
    every = f"Checkpoint{where} every {roughly(band.interval_min / 60)}"
    if plan.scenario.ends and (n := float(plan.budget.n_failures)) < 1:
        every += f". The job expects only {number(about(n))} failures, so the interval hardly matters"
    return f"{every}. Any interval {good} costs at most {points(band.points)} of ETTR."


def plan_warnings(plan: PlannedRun) -> Iterator[str]:
    """Yield the risks that the best ETTR does not show, a sentence each."""
    yield from plan.original.cautions
    if (
        plan.scenario.checkpoint.tiers
        and plan.budget.n_failures > 0
        and plan.band.interval_min / 60 >= plan.scenario.work_h * (1 - ROUNDING)
    ):
        during = "during the job" if plan.scenario.ends else "in a year of training"
        yield (
            f"With this interval no checkpoint reaches the store {during}: one failure that the faster tiers do not "
            "survive, such as a software fault that corrupts the state or the loss of a rack, loses everything. "
            f"Writing to the store every {roughly(plan.band.low_min / 60)} costs at most {points(plan.band.points)} "
            "of ETTR."
        )


def _ettr(plan: PlannedRun) -> Iterator[str]:
    """Yield the ETTR with its plausible range, and then the prediction interval of a single run."""
    best = float(plan.budget.ettr)
    assumed = f" ({_ranges(plan)})" if plan.ranges else ""
    current = None if plan.simulation else plan.hours_at_current
    name = f"Analytical model, without {mechanisms(plan.left_out)}: ETTR" if plan.simulation else f"{_ETTR}:"
    yield f"{name} {pct(best, _digits(best, plan.assumptions))}{assumed}{_with_current(plan, current)}."
    if plan.published:
        yield f"{plan.published.words}."
    single = "" if plan.simulation else _single_run(plan)
    yield from filter(None, [single, fitted_words(plan.original), *_of_starts(plan.original)])


def _ranges(plan: PlannedRun) -> str:
    """Return the plausible ranges as a clause; with an assumed failure rate only the one across published clusters."""
    ranges = plan.ranges[1:] if rate_is_assumed(plan.original) else plan.ranges
    return "; ".join(plausible.short_words if i else plausible.words for i, plausible in enumerate(ranges))


def fitted_words(scenario: Scenario) -> str:
    """Return which inputs were fitted to a published ETTR, as a sentence; empty if none was."""
    names = [name_of(path, Scenario) for path, origin in scenario.evidence.items() if origin.fitted]
    if not names:
        return ""
    verb, measured = ("was" if len(names) == 1 else "were"), scenario.measured
    fitted = f"{capital(listed(names))} {verb} fitted to the published ETTR"
    if measured is None:  # the scenario was changed into another run
        return f"{fitted}."
    if measured.n_gpus not in (None, scenario.cluster.n_gpus):
        return f"{fitted} on {gpus(measured.n_gpus or 0)}."
    return f"{fitted}, so this is not an independent prediction."


def _of_starts(scenario: Scenario) -> Iterator[str]:
    """Yield how start times were scaled from another size, and how to narrow the range of the ETTR."""
    growth_s = scenario.start_growth_h * S_PER_H
    if abs(growth_s) >= 1:
        longer = "longer" if growth_s > 0 else "shorter"
        yield (
            f"Each start is {duration(abs(growth_s) / S_PER_H)} {longer} than on the {gpus(scenario.observed_gpus)} "
            "where starts were timed."
        )
    if rate_is_assumed(scenario):
        yield "Your own failure rate narrows the range: set its MTBF, or the failures counted in a number of days."


def _with_current(plan: PlannedRun, current: TimeBudget | None) -> str:
    """Return the ETTR with the scenario's current interval, as a clause; empty where it has none."""
    if current is None:
        return ""
    digits = _digits(float(current.ettr), plan.assumptions)
    return f"; {pct(float(current.ettr), digits)} with the current interval of {duration(plan.scenario.interval_h)}"


def _single_run(plan: PlannedRun) -> str:
    """Return the 95% prediction interval of a single run as a sentence; empty where there is none.

    For a job without an end whose interval was not simulated, return how to simulate it. With an end, the sentence on
    the finishing date has that.
    """
    interval = plan.prediction_interval
    if interval is None:
        lacks = plan.budget.n_failures > 0 and not plan.original.ends and not plan.simulation
        return f"Run-to-run variation needs the simulator: {how_to_simulate()}." if lacks else ""
    how = ", simulated" if interval.n_runs and not plan.simulation else ""
    if interval.counted:
        n = count(interval.counted)
        basis = f"estimated from {n} failures"
        if plan.original.failures.n_events is None:
            basis = f"as uncertain as if estimated from {n} independent failures"
        how += f", failure rate {basis}"
    per = f"per {interval.window}" if interval.window == "month" else f"in a {interval.window}"
    failures = f"no failure {per}, "
    if interval.n_low is None or interval.n_high is None:
        failures = ""
    elif interval.n_high:
        ends = joined_range(*(f"{about(n):,.0f}" for n in (interval.n_low, interval.n_high)))
        failures = f"{ends} failures {per}, "
    ettr = span_of_ettr(interval.low, interval.high)
    return f"Run-to-run variation (95% prediction interval{how}): {failures}ETTR {ettr}."


def _digits(ettr: float, assumptions: Assumptions) -> int:
    """Return the decimals of the ETTR: none where assumptions move it by half a point or more."""
    spread = assumptions.range
    return 1 if ettr > 0.985 or (spread and spread[1] - spread[0] < 0.005) or not assumptions.inputs else 0


def _beyond_formulas(plan: PlannedRun) -> str:
    """Return the simulated ETTR of a run that the analytical model does not cover."""
    beyond = mechanisms(plan.left_out)
    runs = plan.simulation
    if runs is None:
        return f"The analytical model does not cover {beyond}; `ettr simulate` does."
    text = (
        f"{_ETTR}: {pct(runs.ettr, 0)}{_with_current(plan, plan.hours_at_current)}, simulated in "
        f"{count(runs.n_runs)} runs because the analytical model does not cover {beyond}."
    )
    current = plan.budget_at_current if plan.has_fixed_interval and plan.hours_at_current is None else None
    if current is not None:
        text += (
            f" With the current interval of {duration(plan.scenario.interval_h)} the job makes too little progress to "
            f"simulate; the analytical model gives {pct(float(current.ettr))}."
        )
    return " ".join(filter(None, [text, _single_run(plan)]))


def _lost(plan: PlannedRun) -> Table:
    """Return the table of lost time per month, with the current interval and with the best one."""
    best = plan.losses_at_best
    by_interval = {f"checkpoint every {roughly(plan.best.interval_h)}": best}
    if plan.hours_at_current:
        by_interval = {f"every {duration(plan.scenario.interval_h)} (current)": plan.losses}
        by_interval[f"every {roughly(plan.best.interval_h)} (best)"] = best
    parts = {loss.part: loss.words for losses in by_interval.values() for loss in (*losses.parts, losses.total)}
    total = parts.pop("total")
    rows = [(words, *_cells(part, by_interval.values())) for part, words in parts.items()]
    rows.append((total, *_cells("total", by_interval.values())))
    how = " (simulated)" if plan.simulation else ""
    columns = [f"lost per month{how}", *(title for heading in by_interval for title in (heading, ""))]
    return Table(columns, rows, total=True, bars=_bars([*parts], best))


def _bars(parts: list[str], of: Losses) -> tuple[float, ...]:
    """Return each part relative to the largest, and 0 for the total."""
    shares = {loss.part: loss.share for loss in of.parts}
    largest = max(shares.values(), default=1.0)
    return (*(shares.get(part, 0.0) / largest for part in parts), 0.0)


def _cells(part: str, all_losses: Iterable[Losses]) -> Iterator[str]:
    for losses in all_losses:
        loss = next((loss for loss in (*losses.parts, losses.total) if loss.part == part), None)
        yield f"{number(about(loss.h_per_month))} h" if loss else ""
        yield usd(about(loss.usd_per_month)) if loss else ""


def _bill(plan: PlannedRun) -> str:
    """Return the cost of the job per month; for a job with an end also the total cost and the lost part."""
    losses = plan.losses
    assumed = " (assumed price)" if losses.price_is_assumed else ""
    text = (
        f"The job costs {usd(about(losses.bill_usd_per_month))} per month at {losses.scenario.prices.usd_per_gpu_h:g} "
        f"USD per GPU-hour{assumed}, excluding electricity."
    )
    if (of_run := losses.total.usd_per_run) is not None:
        now = " with the current interval" if plan.hours_at_current else ""
        total_h = float(losses.budget.total_h)
        text += (
            f" The whole run takes {roughly(total_h)}{now} and costs {usd(about(losses.usd_per_h * total_h))}, "
            f"of which {usd(about(of_run))} is lost."
        )
    return text


def _assumed(plan: PlannedRun) -> Iterator[str]:
    """Yield the assumed inputs with their values."""
    inputs = plan.assumptions.inputs
    if inputs:
        named = [(assumed, assumed.name.removeprefix("the ")) for assumed in inputs]
        values = [f"{name} {limit(assumed.value)} {assumed.unit}".strip() for assumed, name in named if assumed.value]
        absent = [name for assumed, name in named if not assumed.value]
        lines = [f"Assumed: {', '.join(values)}."] if values else []
        lines += [f"Assumed zero: {listed(absent)}."] if absent else []
        yield f"{' '.join(lines)} See `details()` for ranges and sources, `ettr fields` for how to set each."
