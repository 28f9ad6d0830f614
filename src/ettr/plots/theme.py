"""Theme of all charts: fonts, grid, colours with a fixed meaning, and required titles and descriptions.

The colours have a contrast of at least 3:1 against a white and a dark page, and remain distinct with all three kinds
of colour blindness (both are tested). Marks use these colours; text and rules use those of the theme, which the page
swaps for the dark one. A line that differs only in colour also gets a dash, a shape or a direct label.
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
PANEL_WIDTH = 240  # width of a panel before the page refits it
PANEL_HEIGHT = 180

BLUE, AZURE, ORANGE, GREEN, DARK_GREEN, PURPLE = "#1f95ec", "#2a8ff5", "#e46d09", "#289561", "#2a7057", "#8d48b3"
VIOLET, OCHRE, RUST, PINK, GREY, PALE_GREY = "#8449bc", "#a27505", "#a8480a", "#ca6dc1", "#636562", "#8a8d8c"
BRICK, TEAL, STEEL, GOLD = "#ad470c", "#297064", "#2f6d8f", "#bf8312"
"""Colours used by several palettes."""

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
"""Colours of the categories of failures.

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
"""Colours of models and of published values.

:meta hide-value:
"""

SERIES_COLOURS = (GREEN, BLUE, ORANGE, PURPLE, OCHRE)
"""Colours of lines by position, for names without a fixed colour."""
LINE_DASHES = ([1, 0], [8, 2], [6, 3], [2, 3], [8, 2, 2, 2])
"""Dashes of lines by position, so that lines differ by more than colour."""
SIGNED_COLOURS = ("#123f73", "#3f7fc0", "#a3cbea", "#f1ede2", "#f2b774", "#c9681c", "#7a3306")
"""Shades of a map of signed differences, from far too low over zero to far too high."""
MAP_INK = "#16324a"
"""Colour of lines on a map."""


def enable(run: Scenario | None = None, source: str = "") -> None:
    """Show charts with the theme of the book, until the end of the notebook.

    Parameters
    ----------
    run : Scenario, optional
        Scenario to cite as the source of charts without one.
    source : str
        Source in words, if it is no scenario.
    """
    rendering.enable(config, provenance(run) if run else f"Source: {source}." if source else "")


def provenance(run: Scenario) -> str:
    """Return the source line of a chart computed from a scenario."""
    n_assumed = int((run.to_frame()["status"] == "assumed").sum())
    return say(
        "Source: computed here from {title}; {n:count} of its values are assumed.",
        "Source: computed here from {title}.",
        title=cited(run),
        n=n_assumed or None,
    )


def cited(run: Scenario) -> str:
    """Return the title of a scenario with the sources of its values.

    Examples
    --------
    >>> from ettr import Scenario
    >>> cited(Scenario.load("rsc-2"))
    'RSC-2, one job on all 8,000 A100, Kokolis et al. (2025)'
    """
    return ", ".join([run.title, *evidence.cited(run.sources)])


def config() -> dict[str, Any]:
    """Return the Vega-Lite configuration of the theme for a light page."""
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
    """Configuration in Altair's form, validated once."""
    return alt.Config.from_dict(config()).to_dict()


def need(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the frame if it has the columns of a chart; Altair would draw a blank for a missing one.

    Raises
    ------
    WrongChart
        If a column is missing.

    Examples
    --------
    >>> need(pd.DataFrame({"n_gpus": [8], "ettr": [0.9]}), "n_gpus", "ettr").shape
    (1, 2)
    """
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        columns_text = ", ".join(map(str, frame.columns)) or "none"
        plural = "s" * (len(missing) > 1)
        raise WrongChart(f"the chart needs column{plural} {', '.join(missing)}; the frame has: {columns_text}")
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
    """Add title, description and size to a chart; the last call of every chart function.

    A single or layered chart fills the width of its column. Vega-Lite cannot do that for panels (facets, rows and
    columns of charts). They get a width here, and the page refits them: several columns on a screen, one on a phone.

    Parameters
    ----------
    chart : altair chart
        Single, layered, concatenated, or faceted by ``.facet(..., columns=n)``.
    title : str
        Finding of the chart, as a statement.
    subtitle : str
        Scenario and fixed values; may be empty.
    description : str
        Text for readers who cannot see the chart: axes, shape, and important numbers.
    height : int
        Height of the plot, or of each panel without one. [px]
    width : int or "container"
        Width of the plot; not for panels. [px]
    sources : sequence of str
        Bibliography keys of the data, if they are published; other charts cite the scenario.
    beside : sequence of str
        Bibliography keys of published values shown for comparison.

    Returns
    -------
    altair chart
        Copy that includes the theme, so that it looks the same everywhere.

    Raises
    ------
    WrongChart
        If the title or the description is empty.
    """
    for name, text in (("title", title), ("description", description)):
        if not str(text).strip():
            raise WrongChart(f"a chart's {name} must not be empty")
    chart = chart.copy(deep=not isinstance(chart, alt.Chart | alt.LayerChart))  # each panel gets a size below
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
    """Placeholder for a chart without data.

    Attributes
    ----------
    reason : str
        Reason, as a sentence.
    """

    reason: str

    def _repr_markdown_(self) -> str:
        return f"*No chart: {self.reason}*"


def layered(*charts: Any) -> Any:
    """Return layered charts, like :func:`altair.layer` but without its many copies of undefined properties."""
    data = charts[0].data if all(chart.data is charts[0].data for chart in charts) else alt.Undefined
    return alt.LayerChart(data=data, layer=[_bare(chart, data) for chart in charts])


def _bare(chart: Any, shared: Any) -> Any:
    """Copy of a single chart with its defined properties only, and without the shared data."""
    if not isinstance(chart, alt.Chart):
        return chart
    bare = chart.copy(deep=False)
    bare.data = alt.Undefined if chart.data is shared else chart.data
    try:
        bare.encoding = alt.FacetedEncoding(**chart.encoding.to_dict(validate=False))
    except ValueError:  # types inferred from the data
        return chart
    bare.mark = chart.mark if isinstance(chart.mark, str) else chart.mark.to_dict(validate=False)
    return bare


def touchable(line: alt.Chart, touched: pd.DataFrame | None = None) -> Any:
    """Return a line chart with a tooltip at each of its points.

    A line by itself shows the tooltip of its first point everywhere, so invisible points are added.

    Parameters
    ----------
    line : altair chart
        Chart of lines with a tooltip.
    touched : DataFrame, optional
        Points with a tooltip, if not all, such as the visible points of a clipped line.
    """
    points = line.mark_point(size=180).encode(opacity=alt.value(0))
    if touched is not None:
        points = points.properties(data=touched)
    encoding = points.encoding
    for channel in ("strokeDash", "strokeWidth"):
        encoding[channel] = alt.Undefined
    return layered(line.encode(tooltip=alt.value(None)), points)


def _sized(chart: Any, height: int, width: Any) -> None:
    """Set the size of a chart or of its panels, in place."""
    if isinstance(chart, alt.Chart | alt.LayerChart):
        chart.width, chart.height = width, height
    elif isinstance(chart, alt.FacetChart):
        _panel(chart.spec, height if height != 320 else PANEL_HEIGHT)
    else:
        for name in ("concat", "hconcat", "vconcat"):
            for child in getattr(chart, name, None) or []:
                _panel(child, height if height != 320 else PANEL_HEIGHT)


def _panel(chart: Any, height: int) -> None:
    """Set the size of a panel."""
    if isinstance(chart, alt.Chart | alt.LayerChart):
        chart.width = PANEL_WIDTH if chart.width in (alt.Undefined, "container") else chart.width
        chart.height = height if chart.height is alt.Undefined else chart.height
