"""Charts on larger jobs: what moves the turning point, what very large sizes need, and other ways to train."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import tooltips
from ettr.chapters.common.encodings import but_size, rounded, with_marks
from ettr.chapters.common.theme import (
    AZURE,
    GREEN,
    GREY,
    MODEL_COLOURS,
    PINK,
    RUST,
    VIOLET,
    finish,
    layered,
    need,
)

_LEVERS = {
    "failure rate": (RUST, [1, 0]),
    "restart": (PINK, [8, 2]),
    "interval, if it stays": (AZURE, [6, 3]),
    "jitter": (GREY, [2, 3]),
    "bandwidth": (GREEN, [8, 2, 2, 2]),
}
_WAYS = [
    (GREY, [1, 0]),
    (VIOLET, [8, 2]),
    (GREEN, [8, 2, 2, 2]),
    (PINK, [6, 3]),
    (RUST, [2, 3]),
    (AZURE, [12, 3, 2, 3]),
]
_TOKENS = "Billion useful tokens a day"


def turning(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Where the next GPU stops paying, over a factor on one field at a time.

    Parameters
    ----------
    frame : DataFrame
        As from ``scaling_option_tables.turning_by_factor``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "what", "factor", "n_gpus", "tokens_per_day", "ends")
    set_by = ["the batch" if ends else "failures and waiting" for ends in frame["ends"]]
    points = rounded(frame.assign(set_by=set_by, tokens_per_day=frame["tokens_per_day"] / 1e9), 4)
    x = alt.X(
        "factor:Q",
        title="Times the scenario's value",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(values=sorted(set(points["factor"])), format="~g"),
    )
    y = builders.up("n_gpus", log=True, title="Turning point [GPUs]", ticks=6)
    tips = tooltips(
        "what",
        "factor",
        "n_gpus",
        "tokens_per_day",
        "set_by",
        what="Moved",
        factor="Times",
        n_gpus="Most tokens at [GPUs]",
        tokens_per_day=f"{_TOKENS} there",
    )
    lines = builders.lines(points, x, y, "what", _LEVERS, tips, point={"size": 30})
    ended = points[points["ends"]]
    rings = alt.Chart(ended).mark_point(size=140, filled=False, strokeWidth=1.6, opacity=1, color=GREY)
    spans = "; ".join(
        f"{what} {group['n_gpus'].iloc[0]:,.0f} to {group['n_gpus'].iloc[-1]:,.0f}"
        for what, group in frame.groupby("what", sort=False)
    )
    return finish(
        layered(lines, *([rings.encode(x=x, y=y, tooltip=tips)] if len(ended) else [])),
        title=title,
        subtitle=with_marks(subtitle, "rings: the batch ends there") if len(ended) else subtitle,
        description=(
            "Lines of the number of GPUs with the most useful tokens a day, over a factor on one field at a time, "
            f"both logarithmic, from {frame['factor'].min():g} to {frame['factor'].max():g} times: {spans}."
        ),
        height=340,
    )


def ways_out(frame: pd.DataFrame, simulated: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Useful tokens a day by size, a line a way to train, with the simulated points.

    Parameters
    ----------
    frame : DataFrame
        As from ``scaling_option_tables``.
    simulated : DataFrame
        As from ``scaling_option_tables.elastic_by_size``; may be empty.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "way", "n_gpus", "tokens_per_day")
    need(simulated, "way", "n_gpus", "tokens_per_day", "low", "high", "ettr", "n_spares")
    ways = list(dict.fromkeys(frame["way"]))
    frame = frame.assign(tokens_per_day=frame["tokens_per_day"] / 1e9)
    simulated = simulated.assign(**{name: simulated[name] / 1e9 for name in ("tokens_per_day", "low", "high")})
    x = builders.across("n_gpus")
    y = alt.Y("tokens_per_day:Q", title=_TOKENS, axis=alt.Axis(format=",.3~r", tickCount=6))
    looks = dict(zip(ways, _WAYS, strict=False))
    tips = tooltips("way", "n_gpus", "tokens_per_day", tokens_per_day=_TOKENS)
    lines = builders.lines(rounded(frame, 4), x, y, "way", looks, tips)
    best = frame.loc[frame.groupby("way", sort=False)["tokens_per_day"].idxmax()]
    most = "; ".join(f"{row.way} {row.tokens_per_day:,.0f} at {row.n_gpus:,.0f} GPUs" for row in best.itertuples())
    points = ", ".join(f"{row.way} {row.tokens_per_day:,.0f} on {row.n_gpus:,.0f}" for row in simulated.itertuples())
    return finish(
        layered(*(_simulated(simulated, x) if len(simulated) else []), lines),
        title=title,
        subtitle=but_size(subtitle),
        description=(
            f"Lines of billions of useful tokens a day over the number of GPUs, logarithmic; most of each: {most}. "
            + (f"Simulated points: {points}." if points else "Nothing is simulated.")
        ),
        height=360,
    )


def _simulated(frame: pd.DataFrame, x: alt.X) -> list[Any]:
    ways = list(dict.fromkeys(frame["way"]))
    points = rounded(frame, 4)
    bars = alt.Chart(points).mark_rule(strokeWidth=1.4).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    dots = (
        alt.Chart(points)
        .mark_point(size=90, opacity=1, color=MODEL_COLOURS["simulated"])
        .encode(
            x=x,
            y=alt.Y("tokens_per_day:Q"),
            shape=alt.Shape(
                "way:N",
                title=None,
                scale=alt.Scale(domain=ways, range=["circle", "diamond"][: len(ways)]),
                legend=alt.Legend(orient="bottom"),
            ),
            tooltip=tooltips("way", "n_gpus", "tokens_per_day", "ettr", "n_spares", tokens_per_day=_TOKENS),
        )
    )
    return [bars, dots]
