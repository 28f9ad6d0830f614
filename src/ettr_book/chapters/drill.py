"""Drills

Recorded drills, compared with the model and its predictions.
"""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import pandas as pd

from ettr import evidence
from ettr.core.results import TimeBudget
from ettr.core.sentences import Finding, listed, say
from ettr.core.units import S_PER_H
from ettr.drill import DrillCalibration, Settings, Strike, band, replayed
from ettr.plots import builders
from ettr.plots.columns import axis_title, tooltips
from ettr.plots.encodings import with_marks
from ettr.plots.theme import GREEN, MODEL_COLOURS, PALE_GREY, PART_COLOURS, finish
from ettr_book.chapters.common.table import CaptionedTable, heads, named

NEAR_POINTS = 2.0
"""Largest difference between measured and predicted shares of a drill that counts as near. [points]"""
PARTS = {
    "productive_s": "productive_h",
    "checkpoint_s": "checkpoint_h",
    "slowdown_s": "slowdown_h",
    "rework_s": "rework_h",
    "detection_s": "detection_h",
    "queue_s": "queue_h",
    "restart_s": "restart_h",
}
"""Columns of a drill's seconds, and the parts of a time budget that they fill."""


def beside(recorded: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return measured and predicted times of each drill.

    Parameters
    ----------
    recorded : DataFrame, optional
        As ``data/drill.csv``, which is the default.

    Returns
    -------
    DataFrame
        One row per drill: ``setting_id``, ``title``, ``n_stops`` [count], ``took_s`` [s], ``ettr``, ``ettr_given``
        (predicted from the actual fault times), ``ettr_expected``; ``points``, measured minus predicted, and
        ``largest_points``, the largest difference of any part's share [points]; ``is_near``; ``low_s``, ``median_s``,
        ``high_s`` (95% prediction interval, fault times unknown) [s], ``way`` (of that interval), ``is_in_band``;
        ``is_same``, ``n_lost_steps``.
    """
    rows = evidence.table("drill") if recorded is None else recorded
    return pd.DataFrame([_beside(row) for row in rows.to_dict("records")])


def _beside(row: dict[str, object]) -> dict[str, object]:
    took, replay, n_stops = _budgets(row)
    inputs = _settings(row), _calibration(row)
    expected = band(*inputs)
    took_s = float(S_PER_H * took.total_h)
    largest = max(
        100 * abs(getattr(took, part) / took.total_h - getattr(replay, part) / replay.total_h)
        for part in PARTS.values()
    )
    return {
        "setting_id": row["setting_id"],
        "title": row["title"],
        "n_stops": n_stops,
        "took_s": took_s,
        "ettr": float(took.ettr),
        "ettr_given": float(replay.ettr),
        "ettr_expected": expected.ettr,
        "points": float(100 * (took.ettr - replay.ettr)),
        "largest_points": float(largest),
        "is_near": bool(largest <= NEAR_POINTS),
        "low_s": expected.low_s,
        "median_s": expected.median_s,
        "high_s": expected.high_s,
        "way": expected.way,
        "is_in_band": expected.holds(took_s),
        "is_same": bool(row["is_same"]),
        "n_lost_steps": int(str(row["n_lost_steps"])),
    }


def lost_parts(recorded: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the lost shares of wall-clock time of each drill, by part.

    Returns
    -------
    DataFrame
        ``title``, ``part``, ``share`` (measured), ``share_given`` (predicted from the actual fault times),
        ``points``, their difference [points]; without parts that are zero in both.
    """
    rows = evidence.table("drill") if recorded is None else recorded
    shares = []
    for row in rows.to_dict("records"):
        took, replay, _ = _budgets(row)
        for part in PARTS.values():
            share, share_given = (float(getattr(hours, part) / hours.total_h) for hours in (took, replay))
            if part != "productive_h" and share + share_given > 0:
                shares.append((row["title"], part.removesuffix("_h"), share, share_given, 100 * (share - share_given)))
    return pd.DataFrame(shares, columns=["title", "part", "share", "share_given", "points"])


def _settings(row: dict[str, object]) -> Settings:
    return Settings.of(json.loads(str(row["settings"])))


def _calibration(row: dict[str, object]) -> DrillCalibration:
    return DrillCalibration(**json.loads(str(row["calibration"])))


def _budgets(row: dict[str, object]) -> tuple[TimeBudget, TimeBudget, int]:
    """Return the measured time budget, the predicted one for the actual fault times, and the predicted stops. [h]"""
    took = TimeBudget(**{part: float(str(row[name])) / S_PER_H for name, part in PARTS.items()})
    calibration = _calibration(row)
    strikes = [Strike(*strike) for strike in json.loads(str(row["strikes"]))]
    account = replayed(_settings(row), calibration, strikes)
    return took, account.budget(calibration.step_s), account.n_stops


_ROW_PX = 24
"""Height of a drill's row. [px]"""


def finishing_chart(beside: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the finishing time of each drill and the interval predicted for it.

    Parameters
    ----------
    beside : DataFrame
        As from ``beside``.
    title, subtitle : str
        Finding of the chart, and its data.
    """
    y = builders.rows("title", beside["title"], grid=True)
    tips = tooltips("title", "took_s", "low_s", "median_s", "high_s", "way", title="Drill", way="Predicted by")
    base = alt.Chart(beside).encode(y=y, tooltip=tips)
    x = alt.X("low_s:Q", title=axis_title("took_s"), scale=alt.Scale(zero=False))
    band = base.mark_bar(height=10, color=PALE_GREY, opacity=0.55).encode(x=x, x2=alt.X2("high_s"))
    middle = base.mark_tick(thickness=2, size=12, color=MODEL_COLOURS["exact"]).encode(x="median_s:Q")
    took = base.mark_point(size=80, color=GREEN, filled=True, opacity=1).encode(x="took_s:Q")
    outside = beside.loc[~beside["is_in_band"], "title"]
    return finish(
        band + middle + took,
        title=title,
        subtitle=subtitle,
        description=f"For each of {len(beside)} drills the 95% prediction interval of the finishing time, its median, "
        f"and the measured time. Outside: {', '.join(outside) or 'none'}.",
        height=_ROW_PX * len(beside) + 20,
    )


def parts_chart(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw measured minus predicted lost shares of each drill.

    Parameters
    ----------
    frame : DataFrame
        As from ``lost_parts``.
    title, subtitle : str
        Finding of the chart, and its data.
    """
    drawn = builders.present(PART_COLOURS, frame["part"])
    tips = tooltips("title", "part", "share", "share_given", title="Drill", share="Measured")
    widest = frame.loc[frame["points"].abs().idxmax()]
    near = alt.Chart(pd.DataFrame({"low": [-NEAR_POINTS], "high": [NEAR_POINTS]})).mark_rect(color=GREEN, opacity=0.14)
    dots = alt.Chart(frame).mark_point(size=60, opacity=0.75)
    dots = dots.encode(
        x=alt.X("points:Q", title="Measured minus predicted share [points]"),
        y=builders.rows("part", drawn),
        color=builders.colours("part", drawn).legend(None),
        tooltip=tips,
    )
    return finish(
        near.encode(x=alt.X("low:Q"), x2="high:Q") + dots,
        title=title,
        subtitle=with_marks(subtitle, f"shaded: within {NEAR_POINTS:g} points"),
        description=f"Measured minus predicted share of each lost part, one dot per drill. Largest difference: "
        f"{widest['part']} of {widest['title']}, {widest['points']:+.1f} points.",
        height=_ROW_PX * len(drawn) + 20,
    )


def drills_table(beside: pd.DataFrame) -> CaptionedTable:
    """Return every drill; columns as from ``beside``."""
    cells = beside.assign(
        measured=[f"{value:.1%}" for value in beside["ettr"]],
        predicted=[f"{value:.1%}" for value in beside["ettr_given"]],
        expected=[f"{value:.1%}" for value in beside["ettr_expected"]],
        took=[f"{value:.1f} s" for value in beside["took_s"]],
        band=[f"{low:.0f} to {high:.0f} s" for low, high in zip(beside["low_s"], beside["high_s"], strict=True)],
    )
    names = heads(
        "title", "n_stops", "measured", "predicted", "expected", "took", "band", "way", title="Drill", n_stops="Stops"
    )
    names |= {"measured": "ETTR measured", "predicted": "predicted", "expected": "expected", "way": "Interval from"}
    return named(cells, names, f"{len(beside)} drills, measured and predicted")


def answer(beside: pd.DataFrame) -> Finding:
    """Return the overall result of the drills; columns as from ``beside``."""
    sound = bool(beside["is_same"].all()) and not beside["n_lost_steps"].any()
    ending = (
        "All ended with the parameters of an undisturbed run, bit for bit, and no restart lost a step from a durable "
        "checkpoint."
        if sound
        else "Not all ended with the parameters of an undisturbed run, or a restart lost a step from a durable "
        "checkpoint: this is a bug."
    )
    return Finding(
        title=say(
            "The model reproduces {n_near} of {n} training jobs that were really killed",
            n_near=int(beside["is_near"].sum()),
            n=len(beside),
        ),
        text=say(
            "**{n} training jobs were run on one machine and stopped {n_stops:count} times. Given the fault times, "
            "the model reproduces every loss category within {near:.0f} points in {n_near} jobs. Without the fault "
            "times, {n_in} jobs ended within the 95% prediction interval.** {ending}",
            n=len(beside),
            n_stops=int(beside["n_stops"].sum()),
            n_near=int(beside["is_near"].sum()),
            near=NEAR_POINTS,
            n_in=int(beside["is_in_band"].sum()),
            ending=ending,
        ),
    )


def finishing(beside: pd.DataFrame) -> Finding:
    """Return how many runs ended within their predicted interval."""
    outside = beside[~beside["is_in_band"]]
    width = float(((beside["high_s"] - beside["low_s"]) / beside["median_s"]).median())
    return Finding(
        title=say("{n} of {all} runs end within their interval", n=int(beside["is_in_band"].sum()), all=len(beside)),
        text=say(
            "The intervals are wide, {width:.0%} of the median, because each run has few failures. Outside: {titles}.",
            width=width,
            titles=listed(list(outside["title"].str.lower()) or ["none"]),
        ),
    )


def parts(frame: pd.DataFrame) -> Finding:
    """Return the part with the largest error; columns as from ``lost_parts``."""
    widest = frame.loc[frame["points"].abs().idxmax()]
    by_part = frame["points"].abs().groupby(frame["part"]).sum() / frame["title"].nunique()
    return Finding(
        title=say("{part} has the largest error", part=str(by_part.idxmax()).capitalize()),
        text=say(
            "On average {part} is off by {mean:.1f} points. The largest difference is {most:.1f} points of {which}: "
            "{title}.",
            part=str(by_part.idxmax()),
            mean=float(by_part.max()),
            most=float(abs(widest["points"])),
            which=str(widest["part"]),
            title=str(widest["title"]).lower(),
        ),
    )


def misses(beside: pd.DataFrame, frame: pd.DataFrame) -> Finding:
    """Return the drills that are off, each with its largest error.

    Parameters
    ----------
    beside, frame : DataFrame
        As from ``beside`` and ``lost_parts``.
    """
    lines = []
    for title in beside.loc[~beside["is_near"], "title"]:
        drill_parts = frame[frame["title"] == title]
        widest = drill_parts.loc[drill_parts["points"].abs().idxmax()]
        lines.append(
            say(
                "{title}: {part} {points:+.1f} points.",
                title=title,
                part=widest["part"],
                points=float(widest["points"]),
            )
        )
    return Finding(
        title="Where model and drills differ",
        text="\n".join(f"- {line}" for line in lines) or "All are near.",
    )
