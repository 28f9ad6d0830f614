"""Savings of single mitigations with their ranges, and charts with one row per mitigation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from ettr.core.sentences import count
from ettr.mitigation import ASSUMED, PARTLY, PUBLISHED
from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.theme import BLUE, GREEN, ORANGE, RUST, NoChart, finish, layered

if TYPE_CHECKING:
    from ettr.recommendation import Comparison

EFFECTS = {PUBLISHED: GREEN, PARTLY: BLUE, ASSUMED: RUST}
"""Colours by how much of an effect's size is published."""
_UNITS = {
    "usd": ("Net saving per run", "million USD", 1e-6),
    "days": ("Time saved per run", "days", 1.0),
    "ettr": ("ETTR gained", "points", 100.0),
    "gpu_h": ("GPU time saved per run", "million GPU-hours", 1e-6),
    "mwh": ("Energy saved per run", "MWh", 1.0),
}
"""Quantity, unit and factor of the gain in each measure."""
_PUBLISHED, _ASSUMED = 8, 5
"""Number of rows with published (at least in part) and with assumed effects."""
_ROW_PX, _BAR_PX = 27, 14


def ranking_data(comparison: Comparison) -> pd.DataFrame:
    """Return the mitigations that save most, with their plausible ranges; if none saves money, those that save time.

    Returns
    -------
    DataFrame
        Best first: ``id``, ``title``, ``effect`` (``published``, ``published in part`` or ``assumed``), ``gain`` (in
        the measure of the comparison; money in million USD) with ``low`` and ``high``, its plausible range; ``days``
        (saved per run) [d], ``price_usd`` [USD].
    """
    gain, factor = f"{comparison.measure}_gain", _UNITS[comparison.measure][2]
    rows = pd.concat([comparison.published.head(_PUBLISHED), comparison.assumed.head(_ASSUMED)], ignore_index=True)
    rows = rows.merge(comparison.ranges[["id", "low", "high"]], on="id")
    rows = rows[rows[gain] > 0] if (rows[gain] > 0).any() else rows[rows["days_low"] > 0]
    scaled = {"gain": factor * rows[gain], "low": factor * rows["low"], "high": factor * rows["high"]}
    frame = rows.assign(**scaled, days=rows["days_gain"], price_usd=rows["own_usd"])
    columns = ["id", "title", "effect", "gain", "low", "high", "days", "price_usd"]
    return frame[columns].sort_values("gain", ascending=False, kind="stable", ignore_index=True)


def mitigations(comparison: Comparison, *, title: str = "", subtitle: str = "") -> Any:
    """Draw the savings of single mitigations with their plausible ranges, the largest first.

    Parameters
    ----------
    comparison : Comparison
        As from :func:`ettr.recommendation.mitigations`.
    title : str
        Finding of the chart; by default how certain the first place is.
    subtitle : str
        Whose numbers these are; by default the title of the run.

    Returns
    -------
    altair chart or NoChart
        The reason alone where no mitigation saves anything.

    Examples
    --------
    >>> from ettr import Scenario, plots, recommendation
    >>> run, ids = Scenario.load("llama3-405b"), ["peer-checkpoint", "lemon-removal"]
    >>> plots.mitigations(recommendation.mitigations(run, ids, n_runs=20)).title.text
    'Largest saving: In-memory peer checkpoints; one other may be as good'
    """
    frame = ranking_data(comparison)
    if frame.empty:
        return NoChart("no mitigation saves time here.")
    quantity, unit, _ = _UNITS[comparison.measure]
    named: dict[str, str | Column] = {
        "title": "Mitigation",
        "gain": Column("With the values used here", unit, ".3~g"),
        "low": Column("Plausible range from", unit, ".3~g"),
        "high": Column("to", unit, ".3~g"),
        "effect": "Effect size",
    }
    tips = tooltips("title", "gain", "low", "high", "days", "effect", "price_usd", **named)
    x = alt.X("low:Q", title=f"{quantity} [{unit}]", axis=alt.Axis(tickCount=6))
    return rows_chart(
        bars(frame, x, "high", effect_colours(frame["effect"]), tips, tick="gain"),
        len(frame),
        title=title or _finding(frame),
        subtitle=with_marks(subtitle or comparison.study.scenario.title, "bars: plausible range; ticks: values used"),
        description=f"Plausible ranges of the {quantity.lower()} in {unit}, one row per mitigation",
        rows=(f"{row.title} {row.gain:.2g}, {row.low:.2g} to {row.high:.2g}" for row in frame.itertuples()),
    )


def _finding(frame: pd.DataFrame) -> str:
    """Return the first mitigation, and how many others may be as good."""
    first, others = frame.iloc[0], frame.iloc[1:]
    if first["gain"] <= 0:
        return "No mitigation pays for itself in one such run"
    overlap = int((others["high"] > first["low"]).sum())
    others_are = f"{count(overlap)} others" if overlap > 1 else "one other"
    rest = f"{others_are} may be as good" if overlap else "none other comes near it"
    return f"Largest saving: {first['title']}; {rest}"


def names(titles: Iterable[str]) -> alt.Y:
    """Return an axis of mitigations, in this order."""
    return builders.rows("title", titles, labelLimit=310, labelPadding=6)


def effect_colours(effects: Iterable[str]) -> alt.Color:
    """Return colours by the evidence for the size of an effect."""
    return builders.squares("effect", builders.present(EFFECTS, effects), "Effect size", symbolOpacity=1)


def bars(
    rows: pd.DataFrame, x: alt.X, end: str, colour: Any, tips: list[alt.Tooltip], y: alt.Y | None = None, tick: str = ""
) -> list[Any]:
    """Draw one bar per row, with an optional tick and a label.

    Parameters
    ----------
    rows : DataFrame
        In the order of the axis; ``label`` and ``right`` are text beside the bars and its place.
    x : axis
        Of the column at which bars begin.
    end : str
        Column at which they end; empty for bars from zero.
    colour : altair channel or value
        Of the bars.
    tips : list
        As from :func:`~ettr.plots.columns.tooltips`.
    y : axis, optional
        Of the rows' names, if those are not mitigations.
    tick : str
        Column to mark with a tick.
    """
    base = alt.Chart(rounded(rows)).encode(y=names(rows["title"]) if y is None else y, tooltip=tips)
    ends = {"x2": alt.X2(f"{end}:Q")} if end else {}
    layers = [base.mark_bar(size=_BAR_PX, opacity=0.85).encode(x=x, color=colour, **ends)]
    if tick:
        layers.append(base.mark_tick(thickness=3, size=20, color=ORANGE, opacity=1).encode(x=alt.X(f"{tick}:Q")))
    if "label" in rows:
        text = base.mark_text(align="left", dx=8, fontSize=11)
        layers.append(text.encode(x=alt.X("right:Q"), text=alt.Text("label:N")))
    return layers


def rows_chart(
    layers: Iterable[Any], n_rows: int, *, title: str, subtitle: str, description: str, rows: Iterable[str]
) -> Any:
    """Layer marks into a chart with the height of its rows; ``rows`` are added to the description."""
    return finish(
        layered(*layers),
        title=title,
        subtitle=subtitle,
        description=f"{description}: {'; '.join(rows)}.",
        height=_ROW_PX * n_rows + 20,
    )
