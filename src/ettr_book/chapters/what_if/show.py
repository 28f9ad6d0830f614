"""What a cell shows where the page has inputs: a chart as it was computed, or a place that the script finds."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from ettr import budget
from ettr.core.errors import EttrError
from ettr.core.sentences import Finding, listed, literal
from ettr.notebook import rendering
from ettr.scenario import Scenario
from ettr_book.chapters.what_if import charts, tables


@dataclass(frozen=True)
class Place:
    """A place on the page that answers the reader's numbers, and shows nothing without the script of the pages.

    Attributes
    ----------
    name : str
        Of what answers there.
    more : str
        An address that it leads on to.
    """

    name: str
    more: str = ""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        more = f' data-more="{html.escape(self.more, quote=True)}"' if self.more else ""
        return {"text/html": f'<div data-ettr="{self.name}"{more} hidden></div>', "text/plain": self.name}


def show(name: str, run: Scenario) -> Any:
    """A chart with inputs that begins with a run.

    Parameters
    ----------
    name : str
        One of those of :data:`ettr_book.chapters.what_if.tables.ALL`.
    run : Scenario
        The run of the book.

    Returns
    -------
    altair chart or Finding
        A sentence where no formula follows the run, or it has no end to ask about.
    """
    try:
        plain = budget.simplified(run)
        rows = tables.ALL[name](plain.scenario)
    except EttrError as error:
        return Finding("", f"No formula answers here for {literal(run.title)}: {error}.")
    without = f", without {listed(list(plain.left_out))}" if plain.left_out else ""
    chart = charts.ALL[name](rows, f"{run.title}{without}")
    kept = chart.usermeta if isinstance(chart.usermeta, dict) else {}
    chart.usermeta = kept | {rendering.INPUTS: name, f"{rendering.INPUTS}-start": run.name}
    return chart


def calculator() -> Place:
    """The calculator of the first page."""
    return Place("calculator", more="your_cluster/what_if.html")


def whole_scenario() -> Place:
    """The whole scenario on one page."""
    return Place("what_if")
