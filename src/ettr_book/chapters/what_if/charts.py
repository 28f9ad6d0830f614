"""Charts whose data the page replaces: named datasets, and no axis end that depends on the book's run."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from ettr import budget
from ettr.core.errors import EttrError
from ettr.core.sentences import Finding, count, listed, literal
from ettr.notebook import rendering
from ettr.plots.encodings import shared_names
from ettr.plots.theme import BLUE, GREEN, LINE_DASHES, MODEL_COLOURS, ORANGE, RUST, finish, layered
from ettr.scenario import Scenario
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import tooltips
from ettr_book.chapters.what_if import tables
from ettr_book.chapters.what_if.tables import FORMULAS, VALUE, WAYS, Datasets, ettr_sources, rate_sources


def _chart(rows: Datasets, name: str) -> Any:
    """Return a chart of one of the datasets, by its name."""
    values = rows[name].to_dict("records")
    return alt.Chart(alt.InlineData(values=values, name=name))


def _goal(rows: Datasets, name: str) -> Any:
    column = rows[name].columns[0]
    return _chart(rows, name).mark_rule(strokeDash=[6, 4], strokeWidth=1.5).encode(y=alt.Y(f"{column}:Q"))


def _intervals(column: str, colours: list[str], dashes: list[list[int]]) -> dict[str, Any]:
    """Return colour and dash of the best and the current interval.

    The scales have no domain, so the legend lists only intervals that occur; ``best`` always does, and comes first in
    the alphabet.
    """
    return {
        "color": alt.Color(f"{column}:N", title="Interval", scale=alt.Scale(range=colours)),
        "strokeDash": alt.StrokeDash(f"{column}:N", title="Interval", scale=alt.Scale(range=dashes)),
    }


def _touched(chart: alt.Chart, tips: list[Any]) -> list[alt.Chart]:
    """Return a line with invisible points for its tooltips."""
    visible = chart.encode(tooltip=alt.value(None))
    return [visible, chart.mark_point(size=160).encode(opacity=alt.value(0), tooltip=tips)]


def scale(rows: Datasets, subtitle: str) -> Any:
    """Draw ETTR over job size, with the job itself and a target."""
    look = _intervals("interval", [BLUE, ORANGE], [*LINE_DASHES[:2]])
    line = _chart(rows, "lines").mark_line().encode(x=builders.across("n_gpus"), y=_ettr(), **look)
    unseen = line.mark_point(size=160).encode(
        opacity=alt.value(0),
        strokeDash=alt.Undefined,
        tooltip=[alt.Tooltip("interval:N", title="Interval"), *tooltips("n_gpus", "ettr")],
    )
    here = _chart(rows, "here").mark_point(size=140, color=MODEL_COLOURS["exact"], filled=True, opacity=1)
    here = here.encode(x="n_gpus:Q", y="ettr:Q", tooltip=tooltips("n_gpus", "ettr"))
    assumed = _chart(rows, "here").mark_rule(strokeWidth=5, opacity=0.45, color=MODEL_COLOURS["exact"])
    assumed = assumed.encode(x="n_gpus:Q", y=alt.Y("low:Q"), y2="high:Q")
    published = rows["published"]
    names = shared_names(published, np.log10(published["n_gpus"]), published["ettr"] / _NAME_ETTR, "run")
    rows = rows | {"published": published.assign(names=names)}
    bounds = alt.Scale(domain=["more than", "up to", VALUE], range=["triangle-up", "triangle-down", "square"])
    reported = _chart(rows, "published").mark_point(size=90, color=MODEL_COLOURS["published"], filled=True, opacity=1)
    reported = reported.encode(
        x="n_gpus:Q",
        y="ettr:Q",
        shape=alt.Shape("bound:N", title="Reported", scale=bounds),
        tooltip=tooltips("run", "bound", "n_gpus", "ettr"),
    )
    named = _chart(rows, "published").mark_text(align="right", dx=-8, dy=2, fontSize=11, lineBreak="\n")
    named = named.encode(x="n_gpus:Q", y="ettr:Q", text="names:N").properties(name="names")
    return finish(
        layered(_goal(rows, "target"), line.encode(tooltip=alt.value(None)), unseen, reported, named, assumed, here),
        title="ETTR at other job sizes",
        subtitle=subtitle,
        description=(
            "ETTR over the number of GPUs on a logarithmic axis, at the best and the current interval. The dot is the "
            "job itself, with its plausible range, the dashed line the target; triangles and squares are reported by "
            "other runs. The sentence below the chart has the numbers."
        ),
        beside=ettr_sources(),
    )


_NAME_ETTR = 0.05
"""Difference in ETTR below which two names would overlap, if their sizes differ by less than a factor of ten."""


def checkpoint_interval(rows: Datasets, subtitle: str) -> Any:
    """Draw ETTR over the interval, with the range that costs half a point."""
    band = _chart(rows, "band").mark_rect(color=GREEN, opacity=0.18)
    band = band.encode(x=alt.X("low_min:Q"), x2="high_min:Q", tooltip=tooltips("low_min", "high_min"))
    line = _chart(rows, "lines").mark_line(color=MODEL_COLOURS["exact"])
    line = line.encode(x=builders.across("interval_min"), y=_ettr())
    marks = _chart(rows, "marks").mark_rule(strokeWidth=2)
    marks = marks.encode(
        x=alt.X("interval_min:Q"),
        tooltip=[alt.Tooltip("what:N", title="Interval"), *tooltips("interval_min")],
        **_intervals("what", [GREEN, ORANGE], [[1, 0], [6, 3]]),
    )
    return finish(
        layered(band, *_touched(line, tooltips("interval_min", "ettr")), marks),
        title="ETTR by checkpoint interval",
        subtitle=subtitle,
        description=(
            "ETTR of the steady state with planned maintenance over the checkpoint interval on a logarithmic axis; "
            "lines mark the best and the current interval, the shaded range costs at most half a point. The sentence "
            "below has the numbers."
        ),
    )


def finishing_date(rows: Datasets, subtitle: str) -> Any:
    """Draw the probability of being done over the days since submission."""
    tips = [alt.Tooltip("days:Q", title="Days", format=",.2f"), alt.Tooltip("chance:Q", title="Done", format=".1%")]
    line = _chart(rows, "lines").mark_line(color=MODEL_COLOURS["exact"])
    x = builders.along("days", title="Time since submission [days]", zero=False, nice=False)
    line = line.encode(x=x, y=_chance("Probability of being done [%]"))
    points = _chart(rows, "points").mark_point(size=90, filled=True, color=MODEL_COLOURS["exact"], opacity=1)
    points = points.encode(x="days:Q", y="chance:Q", tooltip=tips)
    by = _chart(rows, "by").mark_point(size=170, filled=True, shape="diamond", color=ORANGE, opacity=1)
    by = by.encode(x="days:Q", y="chance:Q", tooltip=tips)
    runs = f", {count(rows['simulated']['n_runs'].iloc[0])} simulated runs" if "simulated" in rows else ""
    return finish(
        layered(*_touched(line, tips), points, by),
        title="Probability of being done by a day",
        subtitle=f"{subtitle}{runs}",
        description=(
            "Probability of being done over the days since submission; dots mark 50%, 90% and 99% of runs, the "
            "diamond the day in the input. The sentence below the chart has the numbers."
        ),
    )


def spares(rows: Datasets, subtitle: str) -> Any:
    """Draw the probability that no node is missing over the spares held."""
    tips = [alt.Tooltip("n_spares:Q", title="Spare nodes"), alt.Tooltip("chance:Q", title="Enough", format=".2%")]
    line = _chart(rows, "lines").mark_line(color=MODEL_COLOURS["exact"], interpolate="step-after")
    line = line.encode(
        x=builders.along("n_spares", title="Spare nodes [count]"), y=_chance("Probability that no node is missing [%]")
    )
    need = _chart(rows, "need").mark_point(size=150, filled=True, color=ORANGE, opacity=1)
    need = need.encode(x="n_spares:Q", y="chance:Q", tooltip=tips)
    return finish(
        layered(_goal(rows, "level"), *_touched(line, tips), need),
        title="Probability that a spare pool is large enough",
        subtitle=subtitle,
        description=(
            "Probability that no node is missing at a random moment over the number of spares; the dashed line is the "
            "service level, the dot the smallest pool that reaches it. The sentence below has the numbers."
        ),
    )


def failure_rates(rows: Datasets, subtitle: str) -> Any:
    """Draw a counted failure rate with its interval, and published ones."""
    published = rows["published"]
    both = ["yours", *published["who"]]
    y = alt.Y("who:N", sort=both, title=None, axis=alt.Axis(labelLimit=300))
    x = alt.X("rate:Q", title="Failures per 1,000 node-days", scale=alt.Scale(type="log", nice=False, padding=12))
    kinds = list(dict.fromkeys(published["counted"]))
    looks = builders.series(kinds, (BLUE, GREEN))
    colour = builders.colours("counted", looks, "Published rates of", symbolType="circle")
    theirs = _chart(rows, "published")
    ends = theirs.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour)
    tips = tooltips("who", "rate", "low", "high", "counted", who="Run")
    dots = theirs.mark_point(size=80, filled=True, opacity=1).encode(x=x, y=y, color=colour, tooltip=tips)
    counted_rate = _chart(rows, "yours")
    tips = [alt.Tooltip(f"{name}:Q", format=".3~g") for name in ("rate", "low", "high")]
    line = counted_rate.mark_rule(strokeWidth=3, color=ORANGE).encode(x=alt.X("low:Q"), x2="high:Q", y=y, tooltip=tips)
    dot = counted_rate.mark_point(size=150, filled=True, color=ORANGE, opacity=1).encode(x="rate:Q", y=y, tooltip=tips)
    return finish(
        layered(ends, dots, line, dot),
        title="Your failure rate and published rates",
        subtitle=subtitle,
        description=(
            "Failures per 1,000 node-days on a logarithmic axis: of your count, with its exact 95% CI, and of other "
            "clusters, with the interval of their count or their published range. The sentence below the chart has "
            "your numbers."
        ),
        height=24 * (len(both) + 1),
        beside=rate_sources(),
    )


def portfolio(rows: Datasets, subtitle: str) -> Any:
    """Draw hours lost per month, without mitigations and with each step on top of those above it."""
    bar = _chart(rows, "steps").mark_bar(color=RUST)
    bar = bar.encode(
        x=alt.X("lost:Q", title="Lost time [h per month]"),
        y=alt.Y("what:N", sort=alt.EncodingSortField("order"), title=None, axis=alt.Axis(labelLimit=260)),
        tooltip=[
            alt.Tooltip("what:N", title="With"),
            alt.Tooltip("lost:Q", title="Lost [h]", format=",.0f"),
            *tooltips("ettr"),
        ],
    )
    return finish(
        bar,
        title="Lost hours with each mitigation on top of those above it",
        subtitle=subtitle,
        description=(
            "Bars of the hours lost per month: without mitigations, and with each of the chosen ones on top of those "
            "above it. The sentence below the chart has their total saving and price."
        ),
        height=190,
    )


def calculators(rows: Datasets, subtitle: str) -> Any:
    """Draw the result of each formula for the run, and the exact ETTR."""
    looks = dict(zip(WAYS, ((BLUE, "triangle-left"), (GREEN, "circle"), (ORANGE, "triangle-right")), strict=True))
    y = builders.rows("what", FORMULAS, labelLimit=200, grid=True)
    x = alt.X(
        "ettr:Q", title="ETTR [%]", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False, nice=False, padding=12)
    )
    tips = [alt.Tooltip("what:N", title="Formula"), *tooltips("ettr"), alt.Tooltip("points:Q", format="+.1f")]
    dots = _chart(rows, "results").mark_point(size=120, filled=True, opacity=1)
    shape = alt.Scale(domain=[*looks], range=[look[1] for look in looks.values()])
    dots = dots.encode(
        x=x,
        y=y,
        color=builders.colours("way", looks, "Result"),
        shape=alt.Shape("way:N", title="Result", scale=shape),
        tooltip=tips,
    )
    line = _chart(rows, "exact").mark_rule(strokeWidth=2, color=MODEL_COLOURS["exact"])
    line = line.encode(x="ettr:Q", tooltip=tooltips("ettr", ettr="Exact ETTR"))
    return finish(
        layered(line, dots),
        title="ETTR of this run by each formula",
        subtitle=subtitle,
        description=(
            "ETTR of the steady state by each formula, one per row; the line is the exact ETTR. Triangles point in the "
            "direction of errors above a point. A row without a mark has no answer. The sentence below has the "
            "smallest and the largest error."
        ),
        height=24 * len(FORMULAS) + 10,
    )


def _ettr() -> alt.Y:
    return builders.up("ettr", zero=False)


def _chance(title: str) -> alt.Y:
    return alt.Y("chance:Q", title=title, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))


ALL: Mapping[str, Callable[[Datasets, str], Any]] = {
    "scale": scale,
    "checkpoint_interval": checkpoint_interval,
    "finishing_date": finishing_date,
    "spares": spares,
    "failure_rates": failure_rates,
    "portfolio": portfolio,
    "calculators": calculators,
}


@dataclass(frozen=True)
class Place:
    """A place on the page for results from the reader's numbers; empty without the script of the pages.

    Attributes
    ----------
    name : str
        Name of the widget in the script of the pages.
    address : str
        Page to link to.
    """

    name: str
    address: str = ""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        link = f' data-more="{html.escape(self.address, quote=True)}"' if self.address else ""
        return {"text/html": f'<div data-ettr="{self.name}"{link} hidden></div>', "text/plain": self.name}


def show(name: str, run: Scenario) -> Any:
    """Return a chart with inputs that starts with a run.

    Parameters
    ----------
    name : str
        One of those of :data:`ettr_book.chapters.what_if.tables.ALL`.
    run : Scenario
        The run of the book.

    Returns
    -------
    altair chart or Finding
        A sentence if no formula covers the run, or a run without an end has no date.
    """
    try:
        simpler = budget.simplified(run)
        rows = tables.ALL[name](simpler.scenario)
    except EttrError as error:
        return Finding("", f"No formula covers {literal(run.title)} here: {error}.")
    without = f", without {listed(list(simpler.left_out))}" if simpler.left_out else ""
    chart = ALL[name](rows, f"{run.title}{without}")
    kept = chart.usermeta if isinstance(chart.usermeta, dict) else {}
    chart.usermeta = kept | {rendering.INPUTS: name, f"{rendering.INPUTS}-start": run.name}
    return chart


def calculator() -> Place:
    """Return the calculator of the first page."""
    return Place("calculator", address="your_cluster/what_if.html")


def whole_scenario() -> Place:
    """Return the page with all inputs of a scenario."""
    return Place("what_if")
