"""Power of a run over a typical day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import power
from ettr.core.sentences import count, duration, listed, say
from ettr.core.units import H_PER_DAY, S_PER_H
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import BLUE, DARK_GREEN, PART_COLOURS, finish, layered, touchable
from ettr.scenario import Scenario

_DOWN, _WORKING = ("detection", "queue", "restart"), ("training", "rework", "checkpoint")
_ROWS, _BINS_A_PHASE, _MOST_BINS = 360, 5, 5_000_000
_RESOLVED_ROWS = 6
"""Rows that an interval between checkpoints must span to be drawn as single stalls."""
_STOPS = {"failure": PART_COLOURS["rework"], "maintenance": PART_COLOURS["maintenance"]}
_NAMES = {"failure": "failure", "maintenance": "planned stop"}


@dataclass(frozen=True, eq=False)
class Day:
    """A day of a simulated run, or the whole run if it is shorter.

    Attributes
    ----------
    timeline : DataFrame
        Timeline of the full run.
    start_h, end_h : float
        Start and end since submission. [h]
    failure_h : float or None
        Time of the first failure inside, if any. [h]
    """

    timeline: pd.DataFrame
    start_h: float
    end_h: float
    failure_h: float | None = None

    @property
    def stops(self) -> pd.DataFrame:
        """Stops of the day: ``hour`` since its beginning [h], ``what`` (``failure`` or ``maintenance``), in order."""
        rows = stops_of(self.timeline)
        inside = rows[(rows["hour"] >= self.start_h) & (rows["hour"] < self.end_h)]
        return inside.assign(hour=inside["hour"] - self.start_h).sort_values("hour", ignore_index=True)


def stops_of(timeline: pd.DataFrame) -> pd.DataFrame:
    """Return the stops of a run: ``hour`` since submission [h], and ``what``: ``failure`` or ``maintenance``."""
    state = timeline["state"].astype(str)
    failed = state.isin(_DOWN) & state.shift().isin(_WORKING)
    stopped = {"failure": failed, "maintenance": state == "maintenance"}
    frames = [pd.DataFrame({"hour": timeline.loc[at, "start_h"], "what": what}) for what, at in stopped.items()]
    return pd.concat(frames, ignore_index=True)


def typical_day(timeline: pd.DataFrame) -> Day:
    """Return the day with a failure whose stops are nearest to the daily mean; of less than two days, the whole run.

    Parameters
    ----------
    timeline : DataFrame
        Timeline of one run, as from ``simulate(..., timeline=[0]).timeline``.
    """
    end_h, stops = float(timeline["end_h"].iloc[-1]), stops_of(timeline)
    failures_h = np.sort(stops.loc[stops["what"] == "failure", "hour"].to_numpy(dtype=float))
    start_h = 0.0
    if end_h >= 2 * H_PER_DAY:
        days = np.arange(1, int(end_h // H_PER_DAY))
        day_of_stop = (stops["hour"] // H_PER_DAY).astype(int)
        counts = {
            what: np.bincount(day_of_stop[stops["what"] == what], minlength=days[-1] + 1)[days] for what in _STOPS
        }
        off = sum(np.abs(counted - counted.mean()) for counted in counts.values())
        has_failure = (counts["failure"] > 0) | (counts["failure"].max() == 0)
        start_h = float(days[np.argmin(np.where(has_failure, off, np.inf))] * H_PER_DAY)
        end_h = start_h + H_PER_DAY
    inside = failures_h[(failures_h >= start_h) & (failures_h > 0) & (failures_h < end_h)]
    return Day(timeline, start_h, end_h, float(inside[0]) if inside.size else None)


def power_day(answer: power.Drawn, *, title: str = "", subtitle: str = "") -> Any:
    """Draw a typical day at the grid's meter: range and mean every few minutes, with the stops of the run.

    Parameters
    ----------
    answer : Drawn
        As from :func:`ettr.power.drawn`.
    title : str
        Finding of the chart; by default the stops of the day and the swing of its power.
    subtitle : str
        Whose numbers these are; by default the title of the run and its GPU.

    Notes
    -----
    The range is taken from bins that resolve the phases of a training step. Longer bins would mix two phases, by an
    amount that differs from one training segment to the next. Where checkpoints are frequent, each row of the chart
    spans whole checkpoint intervals, so that all rows have as many stalls.

    Examples
    --------
    >>> import ettr
    >>> run = ettr.Scenario.load("llama3-405b")
    >>> timeline = ettr.simulate(run, 1, seed=0, timeline=[0]).timeline
    >>> chart = power_day(ettr.power.drawn(run, 0, ettr.power.profile(run), timeline, None))
    >>> chart.title.subtitle
    'Llama 3 405B on 16,384 H100, NVIDIA H100 SXM'
    """
    day, wave = typical_day(answer.timeline), answer.profile.waveform
    span_h = day.end_h - day.start_h
    step_s = max(min(wave.shortest_s / _BINS_A_PHASE, 1.0), span_h * S_PER_H / _MOST_BINS)
    series = power.series(answer.timeline, answer.profile, step_s, day.start_h, day.end_h)
    frame = series.aggregate(_n_rows(span_h, answer.run)).rename(columns={"mean_mw": "power_mw"})
    frame.insert(0, "hour", frame.pop("time_h") - series.start_h)
    low, high = frame["low_mw"].min(), frame["high_mw"].max()
    x = builders.along("hour", domain=[0, max(1.0, float(np.ceil(span_h)))], nice=False)
    low_y, y = (
        alt.Y(f"{name}:Q", title="Power at the grid [MW]", scale=alt.Scale(zero=True))
        for name in ("low_mw", "power_mw")
    )
    base = alt.Chart(rounded(frame)).encode(x=x)
    area = base.mark_area(opacity=0.3, color=BLUE, clip=True).encode(y=low_y, y2=alt.Y2("high_mw:Q"))
    tips = tooltips("hour", "low_mw", "power_mw", "high_mw", power_mw="Mean", low_mw="Lowest", high_mw="Highest")
    line = base.mark_line(color=DARK_GREEN, clip=True).encode(y=y, tooltip=tips)
    stops = day.stops
    counted = [(_NAMES[what], int((stops["what"] == what).sum())) for what in _STOPS]
    stopped = listed([f"{count(n)} {what}{'' if n == 1 else 's'}" for what, n in counted if n] or ["no stop"])
    return finish(
        layered(area, touchable(line), *([_ticks(stops, x)] if len(stops) else [])),
        title=title
        or say(
            "In {hours}: {stops}, and a swing of {swing:mw}",
            hours=duration(series.duration_h),
            stops=stopped,
            swing=high - low,
        ),
        subtitle=subtitle or f"{answer.run.title}, {answer.profile.title}",
        description=(
            f"Power at the grid over {span_h:.3g} hours: a band from the lowest to the highest value in every few "
            f"minutes, and a line of the mean. The mean is {series.mean_mw:.3g} MW, the lowest value {low:.3g} MW and "
            f"the highest {high:.3g} MW. Ticks below mark stops: {stopped}."
        ),
        height=300,
    )


def _n_rows(span_h: float, run: Scenario) -> int:
    """Return the number of rows of the chart, each of whole checkpoint intervals if these are not much longer."""
    row_h, period_h = span_h / _ROWS, run.interval_h + run.stall_h
    if period_h < _RESOLVED_ROWS * row_h:
        row_h = max(1, round(row_h / period_h)) * period_h
    return max(1, int(span_h / row_h))


def _ticks(stops: pd.DataFrame, x: alt.X) -> Any:
    """Draw the stops of the run along the bottom of the chart."""
    colour = builders.squares("what", builders.present(_STOPS, stops["what"]), symbolOpacity=1)
    ticks = alt.Chart(rounded(stops)).mark_tick(thickness=2, size=12, yOffset=-6)
    tips = tooltips("what", "hour", what="Stopped by", hour="At hour")
    return ticks.encode(x=x, y=alt.value("height"), color=colour, tooltip=tips)
