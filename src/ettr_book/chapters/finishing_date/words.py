"""Sentences on when a run is done, and on how sure that is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.core.finishing import Finishing
from ettr.core.sentences import Finding, about, count, duration, listed, number, pct, points, roughly, say
from ettr.core.units import H_PER_DAY, MIN_PER_H
from ettr.plan.report import fitted_words
from ettr_book.chapters.common.exercises import Exercise, exercises
from ettr_book.chapters.finishing_date.tables import (
    AS_GIVEN,
    COUNTED,
    ENDS,
    EXACT,
    KNOWN,
    Agreement,
    ByHand,
    FinishingDates,
    Open,
    own_count,
    quarter_of,
)

if TYPE_CHECKING:
    from ettr.plan import Plan
    from ettr.scenario import Scenario

_Z = 1.645
"""Standard deviations to either side that hold nine in ten of a normal distribution."""
_SURE = 3.0
"""Standard errors from which a difference is mentioned."""
_INSTANT_H = 1 / MIN_PER_H
"""Dates that differ by less are the same."""
_FEW = 10
_LONG_H = 72.0
"""Dates from here on are days."""
_MUCH = 1.05
"""Ranges whose widths differ by a smaller factor are alike."""


def answer(dates: FinishingDates, assumed: Open, plan: Plan) -> Finding:
    """When the run is done at the best interval, how far what is assumed moves that, and how far chance does."""
    low_h, _, high_h = dates.ends_h
    run, wide_h = dates.scenario, high_h - low_h
    middle_h, sure_h = (float(dates.reported.quantile(level)) for level in (0.5, 0.9))
    done = f"[{_after(wide_h, middle_h)}]{{#q-done-after}}" if math.isfinite(middle_h) else "no date that is sure"
    by_90 = f", 90% after [{_after(wide_h, sure_h)}]{{#q-done-by-90}}" if math.isfinite(sure_h) else ""
    work = "" if run.ends else f" It names no work: these are the dates of {duration(run.work_h)} of training."
    texts = [
        f"**At the best checkpoint interval, {roughly(run.interval_h)}, half of such runs are done after "
        f"{done}{by_90}.**{work}{_own_interval(dates, plan)}",
        _assumed(assumed, bool(plan.left_out)),
        _chance(dates),
        _source(dates),
        fitted_words(run),
    ]
    return Finding(
        title=say(
            "Done after {middle}; {ends} over what is assumed",
            "Done after {middle}",
            middle=_after(wide_h, middle_h),
            ends=_after(_open_h(assumed), assumed.low_h, assumed.high_h) if _open_h(assumed) > _INSTANT_H else None,
        ),
        text=" ".join(filter(None, texts)),
    )


def _own_interval(dates: FinishingDates, plan: Plan) -> str:
    """What the run's own interval does to the mean date, where it has one with an answer."""
    own = plan.budget_as_given
    if not plan.has_own_interval or own is None or dates.left_out:
        return ""
    late_h = plan.scenario.work_h * (1 / float(own.ettr) - 1 / float(plan.budget.ettr))
    if late_h < _INSTANT_H:
        return ""
    return f" At the run's own interval, {roughly(plan.scenario.interval_h)}, the mean date is {roughly(late_h)} later."


def _open_h(of: Open) -> float:
    return of.high_h - of.low_h


def _assumed(of: Open, without: bool) -> str:
    if not of.leading:
        return "Nothing is assumed."
    if not math.isfinite(of.high_h):
        return f"For what is assumed, first {of.leading}, no range of the date can be given."
    given = f", given {of.condition}" if of.condition else ""
    how = " and without what the exact form does not follow" if without else ""
    dates = _after(_open_h(of), of.low_h, of.high_h)
    contradicted = "" if of.agrees else " The values as they are assumed contradict that."
    return f"Over what is assumed, mostly {of.leading}, it may be {dates}{how}{given}.{contradicted}"


def _chance(dates: FinishingDates) -> str:
    low_h, _, high_h = dates.ends_h
    if high_h - low_h <= _INSTANT_H:
        return "Chance moves nothing."
    text = f"By chance nine in ten end after {_after(high_h - low_h, low_h, high_h)}"
    known = dates.followed.failures.posterior
    if dates.left_out or dates.counted is None or known is None:
        return f"{text}, the failure rate taken as known."
    return say(
        "{text}, over {exactly:roughly} if the failure rate is known and over {wide:roughly} if it is known as well as "
        "{n} failures tell.",
        "{text}, the failure rate taken as known: as well as {n} failures tell it, the run may never end.",
        text=text,
        exactly=high_h - low_h,
        wide=_range_h(dates.counted),
        n=count(own_count(dates) or 0),
    )


def _source(dates: FinishingDates) -> str:
    if not dates.left_out:
        return "Given the inputs, the dates are calculated exactly, not simulated."
    return (
        f"The dates are those of {count(dates.runs.n_runs)} simulated runs, because the exact form does not follow "
        f"{listed(list(dates.left_out))}."
    )


def by_hand(sums: ByHand, dates: FinishingDates) -> Finding:
    """Mean and spread of the date in three lines."""
    mean_h, sd_h, exact = sums.mean_h, sums.sd_h, dates.exact
    half_h = _Z * sd_h
    costs = [
        (sums.n_failures, sums.spread_h, f"{_failures(sums.n_failures)} cost"),
        (sums.n_stops, sums.stop_h, f"{number(sums.n_stops)} stops for maintenance take"),
    ]
    costs = [(n, each_h, words) for n, each_h, words in costs if n > 0 and each_h > 0]
    spread = "Nothing strikes, and nothing spreads the date"
    off = exact.sd_h > 1.1 * sd_h
    if costs:
        each = listed([f"{words} {duration(each_h)} each" for _, each_h, words in costs])
        root = " + ".join(f"{number(n)} × ({duration(each_h)})²" for n, each_h, _ in costs)
        spread = f"{each}, as the root of the mean square: √({root}) = {duration(sd_h)}"
    return Finding(
        title=f"By hand: {duration(mean_h)}, give or take {duration(half_h)}",
        text="\n".join(
            (
                f"1. Mean: {duration(sums.work_h)} of training at an ETTR of {pct(sums.ettr)} take "
                f"{_after(2 * half_h, mean_h)}; exactly {_after(2 * half_h, exact.mean_h)}.",
                f"2. Spread: {spread}; exactly {duration(exact.sd_h)}.",
                f"3. Nine in ten lie within {_Z} of that: {_after(2 * half_h, mean_h - half_h, mean_h + half_h)}; "
                f"exactly {_ends(exact)}.",
                *(["", "The longer a run takes, the more failures it meets: that widens the range."] if off else []),
                *(["", f"All of this goes {_without(dates)}."] if dates.left_out else []),
            )
        ),
    )


def _without(dates: FinishingDates) -> str:
    """What the exact form goes without, and that its interval is another one without tiers."""
    moved = dates.followed.interval_min != dates.scenario.interval_min
    return f"without {listed(list(dates.left_out))}{', at the best interval without them' if moved else ''}"


def agreement(of: Agreement, dates: FinishingDates) -> Finding:
    """How far the simulated runs are from the exact distribution."""
    within = of.distance <= of.by_chance
    verdict = "which is no more than" if within else "which is more than"
    without = f" Both go {_without(dates)}." if dates.left_out else ""
    if dates.exact.smoothed_h:
        without += f" Steps in the dates are smoothed by {duration(dates.exact.smoothed_h)} in both."
    quiet = (
        f" In {pct(dates.exact.atom)} of runs nothing strikes at all, and they end after "
        f"{duration(dates.exact.atom_h)}."
        if dates.exact.atom > 1e-3
        else ""
    )
    return Finding(
        title=f"{count(of.n_runs)} simulated runs {'agree with' if within else 'differ from'} the exact distribution",
        text=(
            f"The two distributions are at most {points(of.distance)} of probability apart, {verdict} the "
            f"{points(of.by_chance)} that a sample of {count(of.n_runs)} exceeds by chance once in twenty times.{quiet}"
            f"{without} The two share the rules of a run and no code. That proves both against slips, not against the "
            f"world."
        ),
    )


def rate(frame: pd.DataFrame, dates: FinishingDates) -> Finding:
    """What not knowing the rate adds to chance; ``frame`` as from ``tables.range_by_count``."""
    known = float(frame.loc[frame["case"] == KNOWN, "range_days"].iloc[0])
    counted = frame[frame["case"] == COUNTED]
    alone = f"With the rate known, nine dates in ten lie within {_width(known)}"
    if counted.empty or known * H_PER_DAY <= _INSTANT_H:
        title = "The failure rate adds nothing to show"
        return Finding(title, f"{alone}; no count of failures adds a range to that.")
    own_n, few = own_count(dates), counted.iloc[0]
    own = counted[counted["n_events"] == own_n]
    of_few, few_times = _failures(few["n_events"]), few["range_days"] / known
    texts = [f"{alone}. A rate from {of_few} makes that {_width(few['range_days'])}, {_times(few_times)}."]
    title = f"A rate counted from {of_few} makes the range {_times(few_times)}"
    if len(own):
        own_days, n = float(own["range_days"].iloc[0]), _failures(own_n or 0)
        texts.append(f"The scenario's own {n} leave {_width(own_days)}, {_times(own_days / known)}.")
        if few_times > _MUCH and own_n != few["n_events"]:
            title += f", one from {n} {_times(own_days / known)}"
    else:
        texts.append("From how many failures the scenario's rate was counted does not follow from it.")
    texts.append(
        "Chance falls with the failures that a run meets, and doubt of the rate with those that were counted: a log "
        "much longer than the run leaves hardly any."
    )
    return Finding(title=title, text=" ".join(texts))


def forecasts(frame: pd.DataFrame) -> Finding:
    """What was predicted of published runs and what came; ``frame`` as from ``run_tables.published_forecasts``."""
    late = frame["came_days"] - frame["middle_days"]
    inside = frame["came_days"].between(frame["low_days"], frame["high_days"])
    texts = [_forecast(row) for _, row in frame.iterrows()]
    ends = [f"{name} by {days:.1f} days" for name, days in zip(_names(frame), late, strict=True) if days > 0]
    of = f"{count(int(inside.sum()))} of {count(len(frame))}"
    title = f"{of} published runs ended within the predicted range"
    if not inside.any() and (late > 0).all():
        title = f"Published runs ended later than predicted: {listed(ends)}"
    lost, other = frame["lost_days"].sum(), frame["other_days"].sum()
    return Finding(
        title=title,
        text=(
            f"{' '.join(texts)} A range over failures holds no other cause, and {pct(other / lost, 0)} of the days "
            f"that these runs lost went to what no model of failures has a term for: loss spikes, experiments, hung "
            f"software. A forecast needs the run's measured ETTR as well."
        ),
    )


def _forecast(row: pd.Series) -> str:
    name, after = _name(row["run"]), f"{row['day']:.0f} days"
    return say(
        "{name} after {after}: {middle:.0f} more days were predicted ({low:.0f} to {high:.0f}, from {n}), and "
        "{came:.0f} came.",
        "{name} after {after}: no failure was there to count, so nothing is predicted; {came:.0f} more days came.",
        name=name,
        after=after,
        n=_failures(row["n_events"]),
        middle=row["middle_days"],
        low=row["low_days"],
        high=row["high_days"],
        came=row["came_days"],
    )


def _names(frame: pd.DataFrame) -> list[str]:
    return [_name(title) for title in frame["run"]]


def _name(title: str) -> str:
    return title.partition(" on ")[0]


def beyond(frame: pd.DataFrame) -> Finding:
    """How far the exact form is off where only simulation follows; ``frame`` as from ``tables.beyond_exact``."""
    exact, others = frame[frame["cause"] == EXACT].iloc[0], frame[frame["cause"] != EXACT].set_index("cause")
    start = f"The exact form says half of the runs are done after {_after(_wide_h(exact), exact['p50_h'])}"
    if others.empty:
        text = f"{start}; nothing that it does not follow can be simulated with this run."
        return Finding(title="Nothing to compare the exact form with", text=text)
    late_h = others["p50_h"] - exact["p50_h"]
    sure = late_h.abs() > np.maximum(_SURE * others["error_h"], _INSTANT_H)
    names = {name: f"*{_small(name)}*" for name in others.index}
    moved = [
        f"{names[name]} {roughly(abs(late_h[name]))} {_way(late_h[name])} ({_between(others.loc[name])})"
        for name in late_h[sure].abs().sort_values(ascending=False).index
    ]
    same = [names[name] for name in late_h[~sure].index]
    texts = [f"{start} ({_between(exact)})."]
    if moved:
        texts.append(f"Simulated, that day and the range move: {listed(moved)}.")
    if same:
        texts.append(f"The day does not move measurably with {listed(same)}.")
    if any(name.startswith("Settled") for name in late_h[~sure].index):
        texts.append("Many nodes in the middle of their lives fail as if without memory.")
    but_own = " but those of the scenario" if AS_GIVEN in others.index else ""
    texts.append(f"All settings{but_own} are assumed.")
    title = "Nothing of this moves the date measurably"
    if moved:
        worst = late_h[sure].abs().idxmax()
        title = f"{worst}: {roughly(abs(late_h[worst]))} {_way(late_h[worst])} than the exact form says"
    return Finding(title=title, text=" ".join(texts))


def _way(late_h: float) -> str:
    return "later" if late_h > 0 else "earlier"


def _small(name: str) -> str:
    return name[0].lower() + name[1:]


def _between(row: pd.Series) -> str:
    return f"nine in ten after {_after(_wide_h(row), row['p5_h'], row['p95_h'])}"


def _wide_h(row: pd.Series) -> float:
    return float(row["p95_h"] - row["p5_h"])


def _ends(dates: Finishing) -> str:
    return _after(_range_h(dates), *(float(dates.quantile(p)) for p in (ENDS[0], ENDS[-1])))


def _range_h(dates: Finishing) -> float:
    return float(dates.quantile(ENDS[-1]) - dates.quantile(ENDS[0]))


def _failures(n: float) -> str:
    return f"{number(n) if n < _FEW else count(n)} failure{'' if n == 1 else 's'}"


def _times(ratio: float) -> str:
    return f"{number(about(ratio))} times as wide" if ratio > _MUCH else "hardly wider"


def _width(days: float) -> str:
    return roughly(days * H_PER_DAY)


def _after(wide_h: float, *hours: float) -> str:
    """Dates since submission, with the digits that a range of this width carries."""
    unit_h, unit = (H_PER_DAY, "days") if max(hours) >= _LONG_H else (1.0, "h")
    wide = wide_h / unit_h
    digits = 0 if wide >= 10 else 1 if wide >= 0.2 else 2
    return f"{' to '.join(f'{one / unit_h:,.{digits}f}' for one in hours)} {unit}"


def asked(dates: FinishingDates, answer: Plan) -> Finding:
    """Two exercises."""
    sums_h = dates.exact.sd_h
    short = {"job.productive_h": dates.followed.work_h / 4}
    quarter = quarter_of(dates)
    best = answer.dates.finishing if answer.dates else None
    return exercises(
        Exercise(
            "A job of a quarter of the work: is its range of dates a quarter as wide?",
            say(
                "No, half: variances add up, so the spread grows with the root of the work. It is {quarter:roughly} "
                "instead of {whole:roughly} (standard deviation).",
                "The range has no width here: nothing strikes.",
                quarter=quarter if sums_h else None,
                whole=sums_h,
            ),
            {} if dates.left_out else short,
        ),
        Exercise(
            "Which day can you promise with nine chances in ten?",
            say(
                "Day {day:.1f}, as far as chance goes. What is assumed moves that by more.",
                "No day can be told here.",
                day=float(best.quantile(0.9)) / H_PER_DAY if best else None,
            ),
        ),
    )


_SEEN = 0.0005
"""Share of the days that a tenth of a per cent shows."""
_DOWN = ("detection", "queue", "restart", "maintenance")


def days(frame: pd.DataFrame, scenario: Scenario) -> Finding:
    """How ragged one run is; ``frame`` as from ``run_tables.days_of_run``."""
    first, last = int(frame["day"].iloc[0]), int(frame["day"].iloc[-1])
    when = f"days {first} to {last}" if last > first else f"day {first}"
    up_h, n_stops = _stretches(frame)
    stall_h = scenario.stall_h
    unseen = (
        f" Stalls of {duration(stall_h)} for checkpoints are too short to be seen here and count as training."
        if 0 < stall_h < 1 / MIN_PER_H
        else ""
    )
    if not n_stops or not up_h:
        text = f"In {when} this run is never stopped: such stretches are chance where failures are rare.{unseen}"
        return Finding(title=f"No stop in {when} of this run", text=text)
    stops = f"{count(n_stops)} stop{'' if n_stops == 1 else 's'}"
    longest = f"the longest stretch without one lasts {roughly(max(up_h))}"
    share = frame.groupby("state")["lasts_min"].sum() / frame["lasts_min"].sum()
    lost = [f"{pct(share[state])} to {state}" for state in ("rework", *_DOWN) if share.get(state, 0) >= _SEEN]
    went = f"These days lost {listed(lost)}. " if lost else ""
    return Finding(
        title=f"{stops} in {when}; {longest}",
        text=(
            f"The middle stretch without a stop lasts {roughly(float(np.median(up_h)))}. {went}"
            f"Independent failures come in clusters like these by chance; stretches of even length "
            f"would mean that something else sets them.{unseen}"
        ),
    )


def _stretches(frame: pd.DataFrame) -> tuple[list[float], int]:
    """Hours of the stretches without a stop, and the number of stops."""
    down = frame["state"].isin(_DOWN).to_numpy()
    changes = np.flatnonzero(down[1:] != down[:-1]) + 1
    hours = [float(part.sum()) for part in np.split(frame["lasts_min"].to_numpy() / MIN_PER_H, changes)]
    is_down = down[np.append(0, changes)]
    up_h = [lasts_h for lasts_h, stopped in zip(hours, is_down, strict=True) if not stopped]
    return up_h, int(is_down.sum())
