"""How often should a run checkpoint, and how much does a wrong choice cost?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget
from ettr.budget.intervals import best_interval_min, job_mttf_h
from ettr.checkpoint import (
    availability_interval,
    daly_first_order_interval,
    daly_interval,
    exact_interval,
    young_interval,
)
from ettr.core.errors import EttrError
from ettr.core.sentences import Finding, literal, points, say
from ettr.core.units import MIN_PER_H
from ettr.plan.details import no_answer
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import but_size, rounded
from ettr.plots.theme import BLUE, DARK_GREEN, GREEN, ORANGE, PURPLE, NoChart, finish, layered
from ettr.scenario import Scenario
from ettr.scenario.job_in_hours import SHORTEST_MIN
from ettr.scenario.paths import INTERVAL, N_GPUS, PERSIST
from ettr_book.chapters.common.steady_state import (
    ettr_at,
    part_shares,
    quietly,
    sizes_of_curve,
    valid_points,
    without_start,
)
from ettr_book.validation.comparing import steady

if TYPE_CHECKING:
    from ettr.plan import Plan

_POINTS = 120
_MOST_TIMES = 20.0
"""Ratio of the shortest and longest interval drawn to the best one."""
_RULES = {
    "Young": (BLUE, [1, 0]),
    "Daly, first order": (ORANGE, [6, 3]),
    "Daly, higher order": (DARK_GREEN, [2, 2]),
    "Availability": (PURPLE, [8, 2, 2, 2]),
}
_BASES = {"assumed": ORANGE, "counted, 95% CI": BLUE}


def answer(plan: Plan) -> Finding:
    """Return the best checkpoint interval, and whether the run's own is as good."""
    run, band = plan.scenario, plan.band
    if math.isinf(plan.job_mttf_h):
        none = f"**{literal(run.title)} has no failures: a checkpoint gains nothing.**"
        return Finding("No failures, no checkpoints", none)
    values = {
        "best_interval": band.interval_min / 60,
        "flat": (band.low_min / 60, None if band.ends_job else band.high_min / 60),
    }
    text = say(
        "**Checkpoint every {#best_interval:roughly}; anything from {#flat:span} costs at most half a point of ETTR.**",
        "**Checkpoint every {#best_interval:roughly}; even a single checkpoint at the end costs at most half a point "
        "of ETTR.**",
        **values,
    )
    title = say(
        "Checkpoint every {best_interval:roughly}; {flat:span} costs half a point at most",
        "Checkpoint every {best_interval:roughly}; anything longer costs half a point at most",
        **values,
    )
    return Finding(title, f"{text} {_current(plan)}")


def _current(plan: Plan) -> str:
    run, band = plan.scenario, plan.band
    if plan.budget_at_current is None:
        return no_answer(plan).capitalize()
    if not plan.has_fixed_interval:
        return ""
    if band.low_min <= run.interval_min <= band.high_min:
        return say("The current interval of {current:roughly} is inside that range.", current=run.interval_h)
    cost = points(plan.budget.ettr - plan.budget_at_current.ettr)
    return say(
        "The current interval of {current:roughly} is outside and costs {cost}.", current=run.interval_h, cost=cost
    )


def parts_by_interval(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Return the shares of wall-clock time over the checkpoint interval, exact, in the steady state.

    Returns
    -------
    DataFrame
        ``interval_min`` [min], ``part``, ``share`` in [0, 1]; parts that are zero everywhere are left out.
    """
    run = without_start(scenario)
    best, current = best_interval_min(run), run.interval_min
    shortest_possible, work_min = run.least_interval_min * (1 + 1e-9), run.work_h * MIN_PER_H
    shortest = max(best / _MOST_TIMES, SHORTEST_MIN)
    low, high = max(min(shortest, current), shortest_possible), min(max(best * _MOST_TIMES, current), work_min)
    intervals = np.geomspace(low, max(high, 2 * low), n_points)
    return part_shares(quietly(budget.exact, run, {INTERVAL: intervals}), run, interval_min=intervals)


def losses_of_rules(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Return the ETTR lost by each published interval rule against the best interval, over job size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``rule``, ``interval_min`` [min], from a second to all work, ``loss_points``: ETTR
        lost against the best interval, in hundredths. Background write, faster tiers, predictions, silent failures and
        maintenance are left out: the rules do not cover them.
    """
    run = steady(scenario).override({PERSIST: 0, "checkpoint.store": None})
    n_gpus = sizes_of_curve(run, n_points)
    mttf_h = job_mttf_h(run, n_gpus)
    ends_h = SHORTEST_MIN / MIN_PER_H, run.work_h
    rules_h = {
        "Young": young_interval(run.stall_h, mttf_h),
        "Daly, first order": quietly(daly_first_order_interval, run.stall_h, mttf_h, run.recovery_h),
        "Daly, higher order": daly_interval(run.stall_h, mttf_h),
        "Availability": availability_interval(run.stall_h, mttf_h, run.recovery_h),
    }
    at_best = _ettr(run, n_gpus, np.clip(exact_interval(run.stall_h, mttf_h), *ends_h))
    frames = [
        pd.DataFrame(
            {
                "n_gpus": n_gpus,
                "rule": name,
                "interval_min": np.clip(interval_h, *ends_h) * MIN_PER_H,
                "loss_points": 100 * (at_best - _ettr(run, n_gpus, np.clip(interval_h, *ends_h))),
            }
        )
        for name, interval_h in rules_h.items()
    ]
    return valid_points(frames, run)


def _ettr(scenario: Scenario, n_gpus: np.ndarray, interval_h: np.ndarray) -> np.ndarray:
    at = {N_GPUS: n_gpus, INTERVAL: np.nan_to_num(interval_h, nan=1.0) * MIN_PER_H}
    return np.where(np.isnan(interval_h), np.nan, ettr_at(scenario, at))


def rules(run: Scenario) -> Any:
    """Draw the ETTR lost by each published interval rule against the best interval, over job size."""
    frame = losses_of_rules(run)
    worst = frame.groupby("rule")["loss_points"].max()
    largest = ", ".join(f"{rule} {loss:.2g}" for rule, loss in worst.items())
    tips = tooltips("rule", "n_gpus", "interval_min", "loss_points")
    across, up = builders.across("n_gpus"), builders.up("loss_points", domainMin=0)
    return finish(
        builders.lines(frame, across, up, "rule", _RULES, tips, "Rule", clip=True),
        title=say(
            "No rule costs more than {worst:points} up to {size:gpus2}",
            worst=worst.max() / 100,
            size=frame["n_gpus"].max(),
        ),
        subtitle=but_size(run.title),
        description=f"Curves of the ETTR that four rules lose against the best interval, over the job size. Largest "
        f"losses in points: {largest}.",
        height=260,
    )


def best_by_input(plan: Plan) -> pd.DataFrame:
    """Return the best interval over the range of each assumed input and over the interval of the failure rate.

    Returns
    -------
    DataFrame
        ``input``, ``basis`` (``"assumed"`` or ``"counted, 95% CI"``), ``low_value``, ``high_value`` and ``unit`` of
        the input, ``low_min``, ``high_min``: the best interval at its ends. [min] Empty if no input moves it.
    """
    run = plan.scenario
    rows = [
        _row(
            assumed.name,
            "assumed",
            (assumed.low, assumed.high),
            assumed.unit,
            _best_over(run, assumed.field, assumed.low, assumed.high),
        )
        for assumed in plan.assumptions.inputs
        if assumed.field.startswith("checkpoint.") and assumed.field != INTERVAL
    ]
    rate, interval = (plan.bands[name] for name in ("job_mttf_h", "best_interval_min"))
    if rate and interval:
        ends = (rate["low_95"], rate["high_95"])
        rows.append(_row("MTTF", "counted, 95% CI", ends, "h", (interval["low_95"], interval["high_95"])))
    columns = ["input", "basis", "low_value", "high_value", "unit", "low_min", "high_min"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame[frame["high_min"] > frame["low_min"] * (1 + 1e-6)].sort_values("high_min", ascending=False)


def _row(name: str, basis: str, values: tuple[float, float], unit: str, ends: tuple[float, float]) -> dict[str, Any]:
    low, high = sorted(ends)
    return {
        "input": name.removeprefix("the "),
        "basis": basis,
        "low_value": values[0],
        "high_value": values[1],
        "unit": unit,
        "low_min": low,
        "high_min": high,
    }


def _best_over(run: Scenario, field: str, *values: float) -> tuple[float, float]:
    """Return the best interval at both ends of a field; where an end has none, the current best. [min]"""
    best_min = []
    for value in values:
        try:
            best_min.append(float(best_interval_min(run.override({field: value}))))
        except EttrError:
            best_min.append(float(best_interval_min(run)))
    return best_min[0], best_min[1]


def sensitivity(plan: Plan) -> Any:
    """Draw the best interval over the range of each uncertain input, with the range of intervals that are as good."""
    frame, band = best_by_input(plan), plan.band
    if frame.empty:
        return NoChart("no uncertain input moves the best interval.")
    drawn = rounded(frame)
    drawn["named"] = [
        f"{row.input}, {row.low_value:.3g} to {row.high_value:.3g} {row.unit}" for row in frame.itertuples()
    ]
    widest = frame.loc[(frame["high_min"] / frame["low_min"]).idxmax(), "input"]
    y = alt.Y("named:N", sort=None, title=None, axis=alt.Axis(labelLimit=300))
    x = builders.across("low_min", title="Best interval [min]", padding=12)
    flat = pd.DataFrame({"low_min": [band.low_min], "high_min": [band.high_min], "what": "costs at most half a point"})
    area = alt.Chart(flat).mark_rect(color=GREEN, opacity=0.16).encode(x=x, x2="high_min:Q", tooltip=tooltips("what"))
    tips = tooltips("input", "basis", "low_min", "high_min", low_min="Best from", high_min="to")
    colour = builders.colours(
        "basis", builders.present(_BASES, frame["basis"]), "Basis of the range", symbolType="square"
    )
    bars = alt.Chart(drawn).mark_bar(size=14).encode(x=x, x2="high_min:Q", y=y, color=colour, tooltip=tips)
    spans = "; ".join(f"{row.input} from {row.low_min:.2g} to {row.high_min:.2g}" for row in frame.itertuples())
    return finish(
        layered(area, bars, builders.rule(alt.X("low_min:Q"), band.interval_min, strokeDash=[3, 3])),
        title=say("Measure the {widest} first", widest=widest),
        subtitle=plan.scenario.title,
        description=f"Bars of the best interval in minutes over the range of each input: {spans}. A shaded range of "
        f"intervals costs at most half a point.",
        height=34 * len(frame) + 30,
    )
