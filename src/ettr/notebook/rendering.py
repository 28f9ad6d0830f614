"""Rendering of charts from notebooks onto pages.

:func:`enable` registers the renderer ``book``. Its output has two forms of a chart:

* HTML with the caption, a still picture (SVG), the chart's specification and its source. On a page of the book,
  ``charts.js`` draws the interactive chart from the specification and hides the picture; in Jupyter, in VS
  Code and in a browser without JavaScript the picture stays. Nothing is fetched from anywhere.
* the description, as plain text, for places that show no HTML.
"""

from __future__ import annotations

import base64
import copy
import html
import json
import re
import textwrap
from collections.abc import Callable
from typing import Any, cast

from ettr.core import extras
from ettr.core.errors import InputError

SPEC_TYPE = "application/vnd.vegalite.v6+json"
INPUTS, SOURCE, BESIDE = "ettr", "source", "beside"
"""Keys in the ``usermeta`` of a specification: inputs of the page that the chart follows, its source, and the source of
published values shown for comparison."""
STILL_WIDTH = 680
TITLE_PX, SUBTITLE_PX = 15, 12
_CLIP = re.compile(r"\bclip\d+\b")
"""Names with a counter that runs on between pictures; renumbered so that a picture does not depend on earlier ones."""


def enable(config: Callable[[], dict[str, Any]], source: str = "") -> None:
    """Show charts with a theme and the renderer of the book, until the end of the notebook.

    Parameters
    ----------
    config : callable
        Function that returns the Vega-Lite configuration.
    source : str
        Source of charts that have none.
    """
    with extras.needed("sweep"):
        import altair as alt
    global _source  # noqa: PLW0603  (a notebook is a process)
    _source = source
    alt.theme.register("ettr", enable=True)(lambda: cast(alt.theme.ThemeConfig, {"config": config()}))
    alt.renderers.register("book", mime_bundle)
    alt.renderers.enable("book")


def mime_bundle(spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Return the two forms of a chart by MIME type.

    Parameters
    ----------
    spec : dict
        Vega-Lite specification with a ``description``.

    Raises
    ------
    InputError
        If it has no description, because :func:`ettr.plots.theme.finish` was not called.
    """
    return {"text/html": figure(spec), "text/plain": _description(spec)}


def figure(spec: dict[str, Any]) -> str:
    """Return the chart as an HTML figure: caption, still picture and specification.

    A chart that follows inputs of the page is wrapped in an element with data attributes for the script of the page.
    """
    title, subtitle = _heading(spec)
    description = html.escape(_description(spec), quote=True)
    picture = base64.b64encode(svg(spec, titled=False).encode()).decode()
    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    below = f'<span class="book-chart-subtitle">{html.escape(subtitle)}</span>' if subtitle else ""
    metadata = spec.get("usermeta", {})
    source = " ".join(filter(None, (metadata.get(SOURCE, _source), metadata.get(BESIDE))))
    cited = f'<p class="book-chart-source">{html.escape(source)}</p>' if source else ""
    chart = (
        '<figure class="book-chart">'
        f'<figcaption><span class="book-chart-title">{html.escape(title)}</span>{below}</figcaption>'
        '<div class="book-chart-target"></div>'
        f'<img class="book-chart-still" alt="{description}" src="data:image/svg+xml;base64,{picture}"'
        ' style="max-width:100%;background:#fff">'
        f'<script type="{SPEC_TYPE}">{text}</script>{cited}'
        "</figure>"
    )
    names = {f"data-{key}": str(value) for key, value in metadata.items() if key.startswith(INPUTS)}
    attributes = "".join(f' {key}="{html.escape(value, quote=True)}"' for key, value in names.items())
    return f"<div{attributes}>{chart}</div>" if names else chart


def svg(spec: dict[str, Any], *, titled: bool = True) -> str:
    """Return the chart as an SVG picture, with or without its title."""
    try:
        picture = (_draw or svg_of)(json.dumps(_still(spec, titled)))
    except ValueError as error:
        reason = " ".join(str(error).partition("\n    at ")[0].split())  # without the stack trace of Vega
        raise InputError(f"the chart cannot be drawn: {reason[:500]}") from None
    names = {name: f"clip{number}" for number, name in enumerate(dict.fromkeys(_CLIP.findall(picture)), 1)}
    return _CLIP.sub(lambda match: names[match[0]], picture)


def svg_of(specification: str) -> str:
    """Return the SVG picture of a Vega-Lite specification, or raise ``ValueError``."""
    with extras.needed("sweep"):
        import vl_convert
    return str(vl_convert.vegalite_to_svg(specification))


def draw_by(function: Callable[[str], str]) -> None:
    """Draw all pictures of this process by another function than :func:`svg_of`."""
    global _draw  # noqa: PLW0603  (a notebook is a process)
    _draw = function


def wrapped(text: str | list[str], width_px: int, font_px: int) -> list[str]:
    """Return a title in lines that fit a width, for pictures; pages wrap titles themselves."""
    text = " ".join(text) if isinstance(text, list) else text
    return textwrap.wrap(text, max(12, int(width_px / (0.52 * font_px)))) or [""]


def _description(spec: dict[str, Any]) -> str:
    """Description of a chart, which it must have."""
    description = str(spec.get("description", ""))
    if not description:
        raise InputError("a chart needs a description: call finish(chart, title=..., description=...)")
    return description


def _heading(spec: dict[str, Any]) -> tuple[str, str]:
    """Title and subtitle of a chart."""
    title = spec.get("title") or ""
    title = title if isinstance(title, dict) else {"text": title}
    texts = (title.get("text") or "", title.get("subtitle") or "")
    first, second = (" ".join(text) if isinstance(text, list) else str(text) for text in texts)
    return first, second


def _still(spec: dict[str, Any], titled: bool) -> dict[str, Any]:
    """Specification of a still picture, with a fixed width and a wrapped title or none."""
    still = _without_unseen(copy.deepcopy(spec))
    if still.get("width") == "container":
        still["width"] = STILL_WIDTH - 80  # the axis and its title take the rest
    title, subtitle = _heading(still)
    still.pop("title", None)
    if titled and title:
        look = still.get("config", {}).get("title", {})
        still["title"] = {"text": wrapped(title, STILL_WIDTH, look.get("fontSize", TITLE_PX))}
        if subtitle:
            still["title"]["subtitle"] = wrapped(subtitle, STILL_WIDTH, look.get("subtitleFontSize", SUBTITLE_PX))
    still.setdefault("padding", {"left": 22, "right": 22, "top": 8, "bottom": 8})  # fonts differ in width
    return still


def _without_unseen(part: dict[str, Any]) -> dict[str, Any]:
    """Specification without invisible layers, which only serve tooltips."""
    for key in ("layer", "concat", "hconcat", "vconcat"):
        if key in part:
            visible = [child for child in part[key] if child.get("encoding", {}).get("opacity") != {"value": 0}]
            part[key] = [_without_unseen(child) for child in visible]
    return part


_source = ""
_draw: Callable[[str], str] | None = None
