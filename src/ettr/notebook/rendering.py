"""How a chart gets from a notebook onto a page.

:func:`enable` registers the renderer ``book``. Its output has two forms of one chart:

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
"""In the ``usermeta`` of a specification: what on the page makes its rows of the reader's numbers, its source, and
that of what stands beside."""
STILL_WIDTH = 680
TITLE_PX, SUBTITLE_PX = 15, 12
_CLIP = re.compile(r"\bclip\d+\b")
"""Names that count on from one picture to the next, so that a picture would depend on those before it."""


def enable(config: Callable[[], dict[str, Any]], source: str = "") -> None:
    """Show charts in this look, as the book does, from here to the end of the notebook.

    Parameters
    ----------
    config : callable
        Gives the Vega-Lite configuration.
    source : str
        Of the charts that name none.
    """
    with extras.needed("sweep"):
        import altair as alt
    global _source  # noqa: PLW0603  (of a notebook, which is a process)
    _source = source
    alt.theme.register("ettr", enable=True)(lambda: cast(alt.theme.ThemeConfig, {"config": config()}))
    alt.renderers.register("book", mime_bundle)
    alt.renderers.enable("book")


def mime_bundle(spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The two forms of a chart, by MIME type.

    Parameters
    ----------
    spec : dict
        A Vega-Lite specification with a ``description``.

    Raises
    ------
    InputError
        If there is no description: the chart did not go through :func:`ettr.plots.theme.finish`.
    """
    return {"text/html": figure(spec), "text/plain": _description(spec)}


def figure(spec: dict[str, Any]) -> str:
    """The chart as an HTML figure: caption, still picture, specification.

    One whose ``usermeta`` names what makes it follow inputs stands in a place that the script of the pages finds.
    """
    title, subtitle = _heading(spec)
    description = html.escape(_description(spec), quote=True)
    picture = base64.b64encode(svg(spec, titled=False).encode()).decode()
    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    below = f'<span class="book-chart-subtitle">{html.escape(subtitle)}</span>' if subtitle else ""
    known = spec.get("usermeta", {})
    source = " ".join(filter(None, (known.get(SOURCE, _source), known.get(BESIDE))))
    cited = f'<p class="book-chart-source">{html.escape(source)}</p>' if source else ""
    drawn = (
        '<figure class="book-chart">'
        f'<figcaption><span class="book-chart-title">{html.escape(title)}</span>{below}</figcaption>'
        '<div class="book-chart-target"></div>'
        f'<img class="book-chart-still" alt="{description}" src="data:image/svg+xml;base64,{picture}"'
        ' style="max-width:100%;background:#fff">'
        f'<script type="{SPEC_TYPE}">{text}</script>{cited}'
        "</figure>"
    )
    names = {f"data-{key}": str(value) for key, value in known.items() if key.startswith(INPUTS)}
    attributes = "".join(f' {key}="{html.escape(value, quote=True)}"' for key, value in names.items())
    return f"<div{attributes}>{drawn}</div>" if names else drawn


def svg(spec: dict[str, Any], *, titled: bool = True) -> str:
    """The chart as an SVG picture, with or without its title in it."""
    with extras.needed("sweep"):
        import vl_convert
    try:
        drawn = vl_convert.vegalite_to_svg(json.dumps(_still(spec, titled)))
    except ValueError as error:
        reason = " ".join(str(error).partition("\n    at ")[0].split())  # without the places in Vega's own code
        raise InputError(f"a chart cannot be drawn: {reason[:500]}") from None
    names = {name: f"clip{number}" for number, name in enumerate(dict.fromkeys(_CLIP.findall(drawn)), 1)}
    return _CLIP.sub(lambda match: names[match[0]], drawn)


def wrapped(text: str | list[str], width_px: int, font_px: int) -> list[str]:
    """A title as lines that fit a width, for pictures; pages wrap it themselves."""
    text = " ".join(text) if isinstance(text, list) else text
    return textwrap.wrap(text, max(12, int(width_px / (0.52 * font_px)))) or [""]


def _description(spec: dict[str, Any]) -> str:
    description = str(spec.get("description", ""))
    if not description:
        raise InputError("a chart needs a description; charts.finish(chart, title=..., description=...) gives it one")
    return description


def _heading(spec: dict[str, Any]) -> tuple[str, str]:
    title = spec.get("title") or ""
    title = title if isinstance(title, dict) else {"text": title}
    texts = (title.get("text") or "", title.get("subtitle") or "")
    first, second = (" ".join(text) if isinstance(text, list) else str(text) for text in texts)
    return first, second


def _still(spec: dict[str, Any], titled: bool) -> dict[str, Any]:
    """The specification with a width of its own and a title in lines that fit it, or none."""
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
    """The specification without the layers that only answer a pointer: a picture has none."""
    for key in ("layer", "concat", "hconcat", "vconcat"):
        if key in part:
            seen = [child for child in part[key] if child.get("encoding", {}).get("opacity") != {"value": 0}]
            part[key] = [_without_unseen(child) for child in seen]
    return part


_source = ""
