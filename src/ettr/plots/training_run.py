"""ETTR of a run over time, from its training log."""

from __future__ import annotations

from typing import Any

import altair as alt

from ettr.core.sentences import pct
from ettr.logs.training.runs import TrainingRun
from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.theme import MODEL_COLOURS, finish

_BARS, _LINE = MODEL_COLOURS["exact"], MODEL_COLOURS["first_order"]
_WINDOWS_H = {"hour": 6.0, "day": 24.0, "week": 168.0}
"""Rolling window beside each period. [h]"""
_DATES = {"hour": "%d %b %H:%M", "day": "%d %b", "week": "%d %b"}


def goodput(run: TrainingRun, by: str = "day", window_h: float | None = None, *, title: str = "") -> Any:
    """Draw the ETTR of a run in each hour, day or week, and in a rolling window.

    Parameters
    ----------
    run : TrainingRun
        From :func:`ettr.logs.read_training`.
    by : str
        ``"hour"``, ``"day"`` or ``"week"``, in UTC.
    window_h : float or None
        Length of the rolling window; by default 6 h, a day or a week, or a quarter of a shorter run. [h]
    title : str
        Finding of the chart; by default the worst period.

    Raises
    ------
    UnknownName
        ``by`` is no such period.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ettr import logs
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.csv"
    >>> rows = [f"2025-06-{1 + i // 4:02d} {6 * (i % 4):02d}:00,{400 * i},54" for i in range(9)]
    >>> rows = ["time,step,step_s", *rows, "2025-06-03 12:00,3200,54", "2025-06-04 00:00,4000,54"]
    >>> _ = path.write_text("\\n".join(rows))
    >>> goodput(logs.read_training(path, zone="UTC")).title.text
    'The worst day was 02 Jun, with an ETTR of 75%'
    """
    periods = run.goodput(by)
    window = float(f"{min(_WINDOWS_H[by], run.wall_h / 4):.2g}") if window_h is None else window_h
    rolling = run.rolling_goodput(window)
    whole = periods[periods["wall_h"] >= periods["wall_h"].max() / 2]
    worst = whole.loc[whole["ettr"].idxmin()]
    when = f"{worst['start']:{_DATES[by]}}"
    y = alt.Y("ettr:Q", title="ETTR [%]", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%"))
    dates = alt.Axis(format=_DATES[by], labelOverlap=True, tickCount=8)
    x = alt.X("start:T", title="Time (UTC)", scale=alt.Scale(type="utc"), axis=dates)
    stamps = [
        alt.Tooltip(f"{name}:T", title=heading, format="%Y-%m-%d %H:%M")
        for name, heading in (("start", "From"), ("end", "To"))
    ]
    columns = {"wall_h": Column("Wall clock [h]", format=",.1f"), "n_stops": Column("Stops", format=",.0f")}
    bars = (
        alt.Chart(periods.assign(zero=0.0))
        .mark_bar(color=_BARS, opacity=0.6, stroke="white", strokeWidth=1)
        .encode(x=x, x2="end:T", y=y, y2="zero:Q", tooltip=[*stamps, *tooltips("ettr", *columns, **columns)])
    )
    line = alt.Chart(rolling).mark_line(color=_LINE, strokeWidth=2).encode(x="time:T", y=y)
    mean = builders.rule(y, run.ettr, color="#767676", strokeDash=[6, 4], strokeWidth=2)
    return finish(
        bars + line + mean,
        title=title or f"The worst {by} was {when}, with an ETTR of {pct(worst['ettr'], 0)}",
        subtitle=f"{run.source}; line: last {window:g} h, dashed: whole run, {pct(run.ettr, 0)}",
        description=(
            f"Bars of the ETTR in each {by}, from {pct(whole['ettr'].min(), 0)} to "
            f"{pct(whole['ettr'].max(), 0)}, with a line of the ETTR in the last {window:g} h at each time; the ETTR "
            f"of the whole run is {pct(run.ettr, 0)}."
        ),
    )
