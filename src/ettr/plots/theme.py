"""The look of every chart: fonts, grid, colours that keep their meaning, and what each chart must carry.

The colours have a contrast of at least 3:1 against a white and against a dark page, and stay apart for
readers with any of the three kinds of colour-blindness (the tests compute both). Marks take them from here;
text and rules take theirs from the theme, which the page swaps when the reader chooses the dark one. A line
that would be told apart by colour alone gets a dash, a shape or a direct label as well.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from ettr import evidence
from ettr.core.errors import WrongChart
from ettr.core.sentences import listed, say
from ettr.notebook import rendering

if TYPE_CHECKING:
    from ettr.scenario import Scenario

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', Arial, sans-serif"
INK, FAINT_INK, GRID = "#2f3437", "#5b6266", "#e4e6e8"
LABEL_PX, TITLE_PX = 12, 13
PANEL_WIDTH = 240  # of a panel before the page fits the panels to its own width
PANEL_HEIGHT = 180

BLUE, AZURE, ORANGE, GREEN, DARK_GREEN, PURPLE = "#1f95ec", "#2a8ff5", "#e46d09", "#289561", "#2a7057", "#8d48b3"
VIOLET, OCHRE, RUST, PINK, GREY, PALE_GREY = "#8449bc", "#a27505", "#a8480a", "#ca6dc1", "#636562", "#8a8d8c"
BRICK, TEAL, STEEL, GOLD = "#ad470c", "#297064", "#2f6d8f", "#bf8312"
"""What several palettes share."""

CATEGORY_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "GPU": BRICK,
        "Dependency": TEAL,
        "Network": BLUE,
        "Unplanned Maintenance": GOLD,
        "Host": VIOLET,
        "Unknown": PALE_GREY,
    }
)
"""Colours of the categories of interruptions.

:meta hide-value:
"""

PART_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "productive": GREEN,
        "checkpoint": AZURE,
        "slowdown": STEEL,
        "degraded": "#825bd7",
        "rework": RUST,
        "detection": "#ee6088",
        "queue": OCHRE,
        "restart": PINK,
        "maintenance": GREY,
    }
)
"""Colours of the parts of a time budget.

:meta hide-value:
"""

MODEL_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "exact": BLUE,
        "first_order": ORANGE,
        "rsc": DARK_GREEN,
        "simulated": PURPLE,
        "published": "#9b8d90",
    }
)
"""Colours of the ways in which a number was reached.

:meta hide-value:
"""

SERIES_COLOURS = (GREEN, BLUE, ORANGE, PURPLE, OCHRE)
"""Colours of lines by their place, where their names have none."""
LINE_DASHES = ([1, 0], [8, 2], [6, 3], [2, 3], [8, 2, 2, 2])
"""Dashes of lines by their place, so that they are told apart by more than colour."""
LEVEL_COLOURS = ("#7f2a0a", "#bb5319", "#e39a4a", "#e8cf8b", "#8cc5a1", "#1d7f4f")
"""Shades of a map, from the worst to the best."""
SIGNED_COLOURS = ("#123f73", "#3f7fc0", "#a3cbea", "#f1ede2", "#f2b774", "#c9681c", "#7a3306")
"""Shades of a map of signed differences, from far too little by nothing to far too much."""
MAP_INK = "#16324a"
"""Of lines on a map."""


def enable(run: Scenario | None = None, source: str = "") -> None:
    """Show charts as the book does, from here to the end of the notebook.

    Parameters
    ----------
    run : Scenario, optional
        What charts rest on that name no source.
    source : str
        The same in words, where it is no scenario.
    """
    rendering.enable(config, provenance(run) if run else f"Source: {source}." if source else "")


def provenance(run: Scenario) -> str:
    """What a chart that is computed from a scenario says of its source."""
    n_assumed = int((run.to_frame()["status"] == "assumed").sum())
    return say(
        "Source: computed here from {title}; {n:count} of its values are assumed.",
        "Source: computed here from {title}.",
        title=cited(run),
        n=n_assumed or None,
    )


def cited(run: Scenario) -> str:
    """The title of a scenario with the sources of its values.

    Examples
    --------
    >>> from ettr import Scenario
    >>> cited(Scenario.load("rsc-2"))
    'RSC-2, one job on all 8,000 A100, Kokolis et al. (2025)'
    """
    return ", ".join([run.title, *evidence.cited(run.sources)])


def config() -> dict[str, Any]:
    """The Vega-Lite configuration of the theme, on a light page."""
    labels = {"labelFont": FONT, "labelFontSize": LABEL_PX, "labelColor": FAINT_INK}
    titles = {"titleFont": FONT, "titleFontSize": TITLE_PX, "titleColor": INK, "titleFontWeight": "normal"}
    return {
        "font": FONT,
        "background": "transparent",
        "view": {"stroke": None},
        "axis": {
            **labels,
            **titles,
            "grid": True,
            "gridColor": GRID,
            "domainColor": FAINT_INK,
            "tickColor": FAINT_INK,
            "titlePadding": 8,
            "labelLimit": 220,
            "labelOverlap": "parity",
            "labelSeparation": 6,
            "labelFlush": False,
        },
        "axisBand": {"grid": False, "ticks": False, "labelOverlap": False},
        "axisX": {"gridOpacity": 0.6},
        "header": {**labels, **titles, "labelFontSize": TITLE_PX, "labelColor": INK, "title": None},
        "legend": {
            **labels,
            **titles,
            "orient": "top",
            "direction": "horizontal",
            "columns": 3,
            "symbolType": "circle",
            "symbolSize": 90,
            "labelLimit": 260,
        },
        "title": {
            "font": FONT,
            "fontSize": 15,
            "fontWeight": 600,
            "color": INK,
            "subtitleFont": FONT,
            "subtitleFontSize": LABEL_PX,
            "subtitleColor": FAINT_INK,
            "subtitlePadding": 4,
            "anchor": "start",
            "frame": "group",
            "offset": 12,
        },
        "bar": {"discreteBandSize": {"band": 0.72}, "cornerRadiusEnd": 1},
        "line": {"strokeWidth": 2.25},
        "point": {"filled": True, "size": 60},
        "area": {"opacity": 0.25},
        "mark": {"color": MODEL_COLOURS["exact"]},
        "rule": {"color": FAINT_INK},
        "text": {"font": FONT, "fontSize": LABEL_PX, "color": INK},
        "range": {"category": list(CATEGORY_COLOURS.values())},
    }


@functools.cache
def _config() -> Any:
    """The configuration as Altair writes it, checked once."""
    return alt.Config.from_dict(config()).to_dict()


def need(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The frame itself, if it has the columns that a chart reads; Altair would draw a missing one as a blank.

    Raises
    ------
    WrongChart
        If a column is missing; the message names all that are, and those there.

    Examples
    --------
    >>> need(pd.DataFrame({"n_gpus": [8], "ettr": [0.9]}), "n_gpus", "ettr").shape
    (1, 2)
    """
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        there = ", ".join(map(str, frame.columns)) or "none"
        raise WrongChart(f"the chart needs column{'s' * (len(missing) > 1)} {', '.join(missing)}; there are: {there}")
    return frame


def finish(
    chart: Any,
    *,
    title: str,
    subtitle: str = "",
    description: str,
    height: int = 320,
    width: Any = "container",
    sources: Sequence[str] = (),
    beside: Sequence[str] = (),
) -> Any:
    """Give a chart its title, its description and its size: the last call of every chart function.

    A single or layered chart fills the width of its column. Vega-Lite cannot do that for panels (facets, rows
    and columns of charts), so those get a width here, and the page refits them: it shows as many columns of
    panels as have room, side by side on a screen, one below the other on a phone.

    Parameters
    ----------
    chart : altair chart
        Single, layered, concatenated, or faceted by ``.facet(..., columns=n)``.
    title : str
        What the chart shows, as a statement.
    subtitle : str
        The scenario and what holds the chart together; may be empty.
    description : str
        What a reader who cannot see the chart needs to know: the axes, the shape, the numbers that matter.
    height : int
        Height of the plot, or of each panel that has none of its own. [px]
    width : int or "container"
        Width of the plot; leave it for panels. [px]
    sources : sequence of str
        Keys of the bibliography, if what is drawn was published; a page names its scenario below other charts.
    beside : sequence of str
        Keys of what was published and stands beside what the scenario gives.

    Returns
    -------
    altair chart
        A copy that carries the theme itself, so that it looks the same wherever it is shown.

    Raises
    ------
    WrongChart
        If the title or the description is empty.
    """
    for name, text in (("title", title), ("description", description)):
        if not str(text).strip():
            raise WrongChart(f"a chart's {name} must not be empty")
    chart = chart.copy(deep=not isinstance(chart, alt.Chart | alt.LayerChart))  # of panels, each one gets a size
    _sized(chart, height, width)
    chart.title = alt.TitleParams(title, subtitle=subtitle) if subtitle else alt.TitleParams(title)
    chart.description = " ".join(str(description).split())
    chart.config = _config()
    cited = {
        rendering.SOURCE: f"Source: {listed(evidence.cited(sources))}." if sources else "",
        rendering.BESIDE: f"Beside it: {listed(evidence.cited(beside))}." if beside else "",
    }
    if any(cited.values()):
        chart.usermeta = {key: text for key, text in cited.items() if text}
    return chart


@dataclass(frozen=True)
class NoChart:
    """What stands in the place of a chart that has nothing to show.

    Attributes
    ----------
    reason : str
        Why there is none, in a sentence.
    """

    reason: str

    def _repr_markdown_(self) -> str:
        return f"*No chart: {self.reason}*"


def layered(*charts: Any) -> Any:
    """Charts on each other, as :func:`altair.layer` lays them.

    Altair copies layers many times, each with all that it leaves open; these hold only what they say.
    """
    data = charts[0].data if all(chart.data is charts[0].data for chart in charts) else alt.Undefined
    return alt.LayerChart(data=data, layer=[_bare(chart, data) for chart in charts])


def _bare(chart: Any, shared: Any) -> Any:
    """A copy of a chart of one mark with only what it says, and without the data that it shares."""
    if not isinstance(chart, alt.Chart):
        return chart
    bare = chart.copy(deep=False)
    bare.data = alt.Undefined if chart.data is shared else chart.data
    try:
        bare.encoding = alt.FacetedEncoding(**chart.encoding.to_dict(validate=False))
    except ValueError:  # types that follow from the data
        return chart
    bare.mark = chart.mark if isinstance(chart.mark, str) else chart.mark.to_dict(validate=False)
    return bare


def touchable(line: alt.Chart, touched: pd.DataFrame | None = None) -> Any:
    """A line chart that tells the values of each of its points.

    A line by itself shows the tooltip of its first point wherever it is touched. Here unseen points on it answer.

    Parameters
    ----------
    line : altair chart
        A chart of lines with a tooltip.
    touched : DataFrame, optional
        The points that answer, if not all: those that a clipped line shows.
    """
    points = line.mark_point(size=180).encode(opacity=alt.value(0))
    if touched is not None:
        points = points.properties(data=touched)
    encoding = points.encoding
    for channel in ("strokeDash", "strokeWidth"):
        encoding[channel] = alt.Undefined
    return layered(line.encode(tooltip=alt.value(None)), points)


def _sized(chart: Any, height: int, width: Any) -> None:
    """Set the size where Vega-Lite has a place for it, in place."""
    if isinstance(chart, alt.Chart | alt.LayerChart):
        chart.width, chart.height = width, height
    elif isinstance(chart, alt.FacetChart):
        _panel(chart.spec, height if height != 320 else PANEL_HEIGHT)
    else:
        for name in ("concat", "hconcat", "vconcat"):
            for child in getattr(chart, name, None) or []:
                _panel(child, height if height != 320 else PANEL_HEIGHT)


def _panel(chart: Any, height: int) -> None:
    if isinstance(chart, alt.Chart | alt.LayerChart):
        chart.width = PANEL_WIDTH if chart.width in (alt.Undefined, "container") else chart.width
        chart.height = height if chart.height is alt.Undefined else chart.height
