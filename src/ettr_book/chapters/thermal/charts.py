"""Charts on heat: temperatures over a day, cooling, and ETTR by temperature."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import BLUE, BRICK, GREEN, GREY, ORANGE, TEAL, VIOLET, finish, layered

_TEMPERATURES = {
    "outdoors": (BLUE, [1, 0]),
    "inlet": (TEAL, [8, 2]),
    "die, mean GPU": (ORANGE, [6, 3]),
    "die, hottest GPU": (VIOLET, [2, 2]),
}
_COOLING = {
    "outdoor air": (BLUE, [1, 0]),
    "chilled air": (VIOLET, [8, 2]),
    "cold plates": (GREEN, [6, 3]),
    "immersion": (BRICK, [2, 3]),
}
_CASES = ((GREY, [2, 3]), (BLUE, [1, 0]), (ORANGE, [8, 2]), (VIOLET, [6, 3]))
_HOURS = alt.X(
    "hour:Q",
    title="Hour of the day [h]",
    scale=alt.Scale(domain=[0, 24], nice=False),
    axis=alt.Axis(values=list(range(0, 25, 3))),
)


def afternoon(frame: pd.DataFrame, limits: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the temperatures over the hottest day, with the limits of the GPU.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.afternoon``.
    limits : DataFrame
        As from ``tables.limits_of``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    tips = tooltips("what", "hour", "temperature_c", what="Temperature of")
    up = builders.up("temperature_c")
    lines = builders.lines(rounded(frame, 4), _HOURS, up, "what", _TEMPERATURES, tips)
    limit = alt.Chart(limits).encode(y=alt.Y("temperature_c:Q"))
    label = limit.mark_text(align="left", baseline="bottom", dx=4, dy=-2).encode(x=alt.value(0), text="limit:N")
    ranges = "; ".join(
        f"{what} {group['temperature_c'].min():.1f} to {group['temperature_c'].max():.1f}"
        for what, group in frame.groupby("what", sort=False)
    )
    limited = ", ".join(f"{row.limit} {row.temperature_c:g}" for row in limits.itertuples())
    return finish(
        layered(limit.mark_rule(strokeDash=[3, 3]), lines, label),
        title=title,
        subtitle=subtitle,
        description=(
            f"Lines of temperature in degrees Celsius over the hours of a day: {ranges}. Dashed rules: {limited}."
        ),
        height=340,
    )


def by_climate(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw effective throughput over the outdoor temperature, one line per kind of cooling.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.by_climate``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    tips = tooltips("plant", "mean_c", "hottest_c", "speed", "rate_factor", "ettr", "effective")
    across = alt.X("mean_c:Q", title="Mean outdoor temperature [°C]")
    by_plant = "; ".join(
        f"{name} {group['effective'].iloc[0]:.1%} at {group['mean_c'].iloc[0]:.0f} degrees, "
        f"{group['effective'].iloc[-1]:.1%} at {group['mean_c'].iloc[-1]:.0f}"
        for name, group in frame.groupby("plant", sort=False)
    )
    return finish(
        builders.lines(rounded(frame), across, builders.up("effective", zero=False), "plant", _COOLING, tips),
        title=title,
        subtitle=subtitle,
        description=f"Lines of effective throughput over the mean outdoor temperature, the axis cut: {by_plant}.",
        height=320,
    )


def by_warming(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw ETTR at the best interval over the warming of all dies, one line per assumed activation energy.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.by_warming``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    looks = dict(zip(dict.fromkeys(frame["case"]), _CASES, strict=False))
    tips = tooltips("case", "warming_k", "rate_factor", "ettr", case="Activated by heat")
    across = alt.X("warming_k:Q", title="Warming of the dies [K]")
    up = builders.up("ettr", title="ETTR at the best interval [%]", zero=False)
    ettrs = "; ".join(
        f"{case}: {group['ettr'].iloc[0]:.1%} to {group['ettr'].iloc[-1]:.1%}"
        for case, group in frame.groupby("case", sort=False)
    )
    ends = frame["warming_k"].min(), frame["warming_k"].max()
    return finish(
        builders.lines(rounded(frame), across, up, "case", looks, tips, "Activated by heat"),
        title=title,
        subtitle=subtitle,
        description=f"Lines of ETTR over a warming of {ends[0]:+.0f} to {ends[1]:+.0f} K, the axis cut. {ettrs}.",
        height=320,
    )
