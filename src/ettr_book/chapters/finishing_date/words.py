"""Text on the finishing date and its uncertainty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.finishing import Finishing
from ettr.core.sentences import Finding, about, count, duration, listed, number, pct, roughly, say
from ettr.core.units import H_PER_DAY, MIN_PER_H
from ettr.plan.report import fitted_words
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.finishing_date.tables import (
    COUNTED_RATE,
    ENDS,
    KNOWN_RATE,
    ByHand,
    FinishingDates,
    own_count,
    quarter_of,
)

if TYPE_CHECKING:
    from ettr.plan import Plan

_Z = 1.645
"""Half-width of the central 90% of a normal distribution, in standard deviations."""
_INSTANT_H = 1 / MIN_PER_H
"""Smaller differences between dates are ignored."""
_LONG_H = 72.0
"""Durations from here on are stated in days."""
_DOWN = ("detection", "queue", "restart", "maintenance")


def answer(dates: FinishingDates, plan: Plan) -> Finding:
    """Return the finishing date at the best interval, its plausible range, and its run-to-run variation."""
    low_h, _, high_h = dates.ends_h
    run, wide_h = dates.scenario, high_h - low_h
    middle_h, p90_h = (float(dates.reported.quantile(level)) for level in (0.5, 0.9))
    done = f"[{_after(wide_h, middle_h)}]{{#q-done-after}}" if math.isfinite(middle_h) else "no certain date"
    by_90 = f", 90% after [{_after(wide_h, p90_h)}]{{#q-done-by-90}}" if math.isfinite(p90_h) else ""
    work = "" if run.ends else f"It states no work: these are the dates for {duration(run.work_h)} of training."
    texts = [
        f"**At the best checkpoint interval, {roughly(run.interval_h)}, half of such runs are done after "
        f"{done}{by_90}.**",
        work,
        _assumed(plan),
        _random(dates),
        f"These are dates of simulated runs: the exact model leaves out {listed(list(dates.left_out))}."
        if dates.left_out
        else "",
        fitted_words(run),
    ]
    return Finding(f"Done after {_after(wide_h, middle_h)}", " ".join(filter(None, texts)))


def _assumed(plan: Plan) -> str:
    """Return the mean date over the plausible range of the assumed inputs."""
    assumptions = plan.assumptions
    if assumptions.range is None or assumptions.leading is None or assumptions.range[0] <= 0:
        return ""
    low_h, high_h = (plan.scenario.work_h / ettr for ettr in reversed(assumptions.range))
    condition = f", if {assumptions.condition}" if assumptions.condition else ""
    return (
        f"Across the plausible range of the assumed inputs, mostly {assumptions.leading.name}, the mean date is "
        f"{_after(high_h - low_h, low_h, high_h)}{condition}."
    )


def _random(dates: FinishingDates) -> str:
    """Return the spread from random failures and from the uncertainty of their rate."""
    low_h, _, high_h = dates.ends_h
    alone = (
        f"Random failures alone spread the finish over {roughly(high_h - low_h)} (90% of runs, "
        f"{_after(high_h - low_h, low_h, high_h)})."
    )
    wide_h = math.nan if dates.left_out or dates.counted is None else _range_h(dates.counted)
    return alone + say(" Uncertainty in the failure rate widens that to {wide:roughly}.", wide=wide_h)


def by_hand(sums: ByHand, dates: FinishingDates) -> Finding:
    """Return mean and spread of the date in three lines of arithmetic."""
    mean_h, sd_h, exact = sums.mean_h, sums.sd_h, dates.exact
    half_h = _Z * sd_h
    stops = f" + {number(sums.n_stops)} stops × ({duration(sums.stop_h)})²" if sums.n_stops else ""
    without = f"\n\nAll of this is without {listed(list(dates.left_out))}." if dates.left_out else ""
    return Finding(
        title=f"By hand: {duration(mean_h)}, give or take {duration(half_h)}",
        text=(
            f"1. Mean: {duration(sums.work_h)} of training at an ETTR of {pct(sums.ettr)} take "
            f"{_after(2 * half_h, mean_h)}; exactly {_after(2 * half_h, exact.mean_h)}.\n"
            f"2. Spread: a failure costs {duration(sums.spread_h)} (root mean square): "
            f"√({number(sums.n_failures)} × ({duration(sums.spread_h)})²{stops}) = {duration(sd_h)}; exactly "
            f"{duration(exact.sd_h)}.\n"
            f"3. 90% of runs lie within {_Z} standard deviations: "
            f"{_after(2 * half_h, mean_h - half_h, mean_h + half_h)}; "
            f"exactly {_after(_range_h(exact), *(float(exact.quantile(p)) for p in (ENDS[0], ENDS[-1])))}.{without}"
        ),
    )


def rate(frame: pd.DataFrame, dates: FinishingDates) -> Finding:
    """Return the part of the spread from the uncertain rate; ``frame`` as from ``tables.range_by_count``."""
    known_days = float(frame.loc[frame["case"] == KNOWN_RATE, "range_days"].iloc[0])
    counted = frame[frame["case"] == COUNTED_RATE]
    alone = f"With the rate known, 90% of the dates lie within {roughly(known_days * H_PER_DAY)}"
    if counted.empty or known_days * H_PER_DAY <= _INSTANT_H:
        return Finding("The failure rate adds no uncertainty", f"{alone}; no count of failures widens that.")
    few = counted.iloc[0]
    at_own_count = counted.loc[counted["n_events"] == own_count(dates), ["n_events", "range_days"]]
    wider = _times(few["range_days"] / known_days)
    title = f"A rate from {count(few['n_events'])} failures makes the range {wider} as wide"
    return Finding(
        title=title,
        text=f"{alone}. {title}."
        + say(
            " The scenario's own {n:count} make it {times} as wide.",
            n=at_own_count["n_events"].iloc[0] if len(at_own_count) else None,
            times=_times(at_own_count["range_days"].iloc[0] / known_days) if len(at_own_count) else None,
        )
        + " A log much longer than the run adds hardly anything.",
    )


def _times(ratio: float) -> str:
    return f"{number(about(ratio))} times"


def forecasts(frame: pd.DataFrame) -> Finding:
    """Return forecasts and outcomes of published runs; ``frame`` as from ``run_tables.published_forecasts``."""
    inside = frame["came_days"].between(frame["low_days"], frame["high_days"])
    lost, other = frame["lost_days"].sum(), frame["other_days"].sum()
    texts = [
        say(
            "{name} after {day:.0f} days (failures counted: {n}): predicted {middle:.0f} more days ({low:.0f} to "
            "{high:.0f}), actual {came:.0f}.",
            "{name} after {day:.0f} days: no prediction without a failure; actual {came:.0f} more days.",
            name=row.run.partition(" on ")[0],
            day=row.day,
            n=row.n_events,
            middle=row.middle_days,
            low=row.low_days,
            high=row.high_days,
            came=row.came_days,
        )
        for row in frame.itertuples()
    ]
    return Finding(
        title=f"{int(inside.sum())} of {len(frame)} published runs ended within the predicted range",
        text=(
            f"{' '.join(texts)} These intervals cover hardware failures only, but {pct(other / lost, 0)} of the days "
            f"that these runs lost had other causes: loss spikes, experiments, hung software. A forecast needs the "
            f"run's measured ETTR as well."
        ),
    )


def days(frame: pd.DataFrame) -> Finding:
    """Return the variation within one run; ``frame`` as from ``run_tables.days_of_run``."""
    down = frame["state"].isin(_DOWN)
    stops = int((down & ~down.shift(fill_value=False)).sum())
    when = f"the first {roughly(frame['lasts_min'].sum() / MIN_PER_H)}"
    up = 1 - frame.loc[down, "lasts_min"].sum() / frame["lasts_min"].sum()
    return Finding(
        title=f"{count(stops)} stops in {when} of one run",
        text=(
            f"This run is up for {pct(up)} of {when}. Independent failures cluster like this; evenly spaced stops "
            f"would point to another cause."
        ),
    )


def exercises(dates: FinishingDates, answer: Plan) -> Finding:
    """Return two exercises."""
    best = answer.dates.finishing if answer.dates else None
    return numbered_exercises(
        Exercise(
            "A job has a quarter of the work. Is its range of dates a quarter as wide?",
            say(
                "No, half: variances add up, so the spread grows with the root of the work. It is {quarter:roughly} "
                "instead of {whole:roughly} (standard deviation).",
                quarter=quarter_of(dates),
                whole=dates.exact.sd_h,
            ),
            {} if dates.left_out else {"job.productive_h": dates.followed.work_h / 4},
        ),
        Exercise(
            "Which day can you promise with a probability of 90%?",
            say(
                "Day {day:.1f}, for random failures alone. The assumed inputs move that by more.",
                "No such day exists here.",
                day=float(best.quantile(0.9)) / H_PER_DAY if best else None,
            ),
        ),
    )


def _range_h(dates: Finishing) -> float:
    return float(dates.quantile(ENDS[-1]) - dates.quantile(ENDS[0]))


def _after(wide_h: float, *hours: float) -> str:
    """Return dates since submission, with digits that suit their range."""
    unit_h, unit = (H_PER_DAY, "days") if max(hours) >= _LONG_H else (1.0, "h")
    wide = wide_h / unit_h
    digits = 0 if wide >= 10 else 1 if wide >= 0.2 else 2
    return f"{' to '.join(f'{value / unit_h:,.{digits}f}' for value in hours)} {unit}"
