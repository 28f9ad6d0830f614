"""Charts whose data the page replaces: named datasets, and no axis end that depends on the book's run."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt

from ettr import budget, plots
from ettr.core.errors import EttrError
from ettr.core.sentences import Finding, listed, literal
from ettr.notebook import rendering
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.named import chart
from ettr.plots.theme import BLUE, GREEN, MODEL_COLOURS, ORANGE, RUST, finish, layered
from ettr.scenario import Scenario
from ettr_book.chapters.what_if import tables
from ettr_book.chapters.what_if.tables import FORMULAS, WAYS, rate_sources

_RATE_TICKS = [step * 10.0**power for power in range(-4, 6) for step in (1, 2, 5)]


def failure_rates(run: Scenario, *, subtitle: str) -> Any:
    """Draw a counted failure rate with its interval, and published ones."""
    rows = tables.failure_rates(run)
    published = rows["published"]
    both = ["yours", *published["who"]]
    y = alt.Y("who:N", sort=both, title=None, axis=alt.Axis(labelLimit=300))
    x = alt.X("rate:Q", title="Failures per 1,000 node-days", scale=alt.Scale(type="log", nice=False, padding=12))
    x = x.axis(values=_RATE_TICKS, format="~g", labelOverlap=True)
    kinds = list(dict.fromkeys(published["counted"]))
    looks = builders.series(kinds, (BLUE, GREEN))
    colour = builders.colours("counted", looks, "Published rates of", symbolType="circle")
    theirs = chart(rows, "published")
    ends = theirs.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour)
    tips = tooltips("who", "rate", "low", "high", "counted", who="Run")
    dots = theirs.mark_point(size=80, filled=True, opacity=1).encode(x=x, y=y, color=colour, tooltip=tips)
    counted_rate = chart(rows, "yours")
    tips = [alt.Tooltip(f"{name}:Q", format=".3~g") for name in ("rate", "low", "high")]
    line = counted_rate.mark_rule(strokeWidth=3, color=ORANGE).encode(x=alt.X("low:Q"), x2="high:Q", y=y, tooltip=tips)
    dot = counted_rate.mark_point(size=150, filled=True, color=ORANGE, opacity=1).encode(x="rate:Q", y=y, tooltip=tips)
    return finish(
        layered(ends, dots, line, dot),
        title="Your failure rate and published rates",
        subtitle=subtitle,
        description=(
            "Failures per 1,000 node-days on a logarithmic axis: of your count, with its exact 95% CI, and of other "
            "clusters, with the interval of their count or their published range."
        ),
        height=32 * (len(both) + 1),
        beside=rate_sources(),
    )


def portfolio(run: Scenario, *, subtitle: str) -> Any:
    """Draw hours lost per month, without mitigations and with each step on top of those above it."""
    rows = tables.portfolio(run)
    bar = chart(rows, "steps").mark_bar(color=RUST)
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
            "above it."
        ),
        height=190,
    )


def calculators(run: Scenario, *, subtitle: str) -> Any:
    """Draw the result of each formula for the run, and the exact ETTR."""
    rows = tables.calculators(run)
    looks = dict(zip(WAYS, ((BLUE, "triangle-left"), (GREEN, "circle"), (ORANGE, "triangle-right")), strict=True))
    y = builders.rows("what", FORMULAS, labelLimit=200, grid=True)
    x = alt.X(
        "ettr:Q", title="ETTR [%]", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False, nice=False, padding=12)
    )
    tips = [alt.Tooltip("what:N", title="Formula"), *tooltips("ettr"), alt.Tooltip("points:Q", format="+.1f")]
    dots = chart(rows, "results").mark_point(size=120, filled=True, opacity=1)
    shape = alt.Scale(domain=[*looks], range=[look[1] for look in looks.values()])
    dots = dots.encode(
        x=x,
        y=y,
        color=builders.colours("way", looks, "Result"),
        shape=alt.Shape("way:N", title="Result", scale=shape),
        tooltip=tips,
    )
    line = chart(rows, "exact").mark_rule(strokeWidth=2, color=MODEL_COLOURS["exact"])
    line = line.encode(x="ettr:Q", tooltip=tooltips("ettr", ettr="Exact ETTR"))
    return finish(
        layered(line, dots),
        title="ETTR of this run by each formula",
        subtitle=subtitle,
        description=(
            "ETTR of the steady state by each formula, one per row; the line is the exact ETTR. Triangles point in the "
            "direction of errors above a point. A row without a mark has no answer."
        ),
        height=24 * len(FORMULAS) + 10,
    )


ALL: Mapping[str, Callable[..., Any]] = {
    "scale": plots.ettr_by_size,
    "checkpoint_interval": plots.ettr_by_interval,
    "finishing_date": plots.finishing_date,
    "spares": plots.spare_pool,
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
        One of those of :data:`ettr_book.chapters.what_if.charts.ALL`.
    run : Scenario
        The run of the book.

    Returns
    -------
    altair chart or Finding
        A sentence if no formula covers the run, or a run without an end has no date.
    """
    try:
        simpler = budget.simplified(run)
        without = f", without {listed(list(simpler.left_out))}" if simpler.left_out else ""
        drawn = ALL[name](simpler.scenario, subtitle=f"{run.title}{without}")
    except EttrError as error:
        return Finding("", f"No formula covers {literal(run.title)} here: {error}.")
    drawn.description += " The sentence below the chart has the numbers."  # of the reader, which change
    kept = drawn.usermeta if isinstance(drawn.usermeta, dict) else {}
    drawn.usermeta = kept | {rendering.INPUTS: name, f"{rendering.INPUTS}-start": run.name}
    return drawn


def calculator() -> Place:
    """Return the calculator of the first page."""
    return Place("calculator", address="your_cluster/what_if.html")


def whole_scenario() -> Place:
    """Return the page with all inputs of a scenario."""
    return Place("what_if")
