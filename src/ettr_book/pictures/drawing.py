"""A small drawing kit for schematics: boxes, arrows, labels and brackets as inline SVG.

Lines and text use ``currentColor``, so a picture follows the theme of the page around it. Sizes are in pixels of a
drawing that is shown at about its own width. Every picture has two drawings, a wide one and one for phones;
``book.css`` shows the one that fits, and without it (in Jupyter) only the wide one is visible.
"""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass
from typing import Any

from ettr.plots.theme import FONT

WIDE, NARROW = 700, 350
"""Widths of the two drawings of a picture. [px]"""
_LEADING = 1.25
"""Distance of baselines, relative to the size of the text."""
_HEAD = 8
"""Length of an arrow's head. [px]"""

Point = tuple[float, float]


class Drawing:
    """Marks and labels on a canvas.

    Parameters
    ----------
    width, height : float
        Size of the canvas. [px]
    size : float
        Size of the text. [px]
    """

    def __init__(self, width: float, height: float, size: float = 14) -> None:
        self.width, self.height, self.size = width, height, size
        self._marks: list[str] = []

    def block(self, x: float, y: float, width: float, height: float, colour: str, opacity: float = 1) -> None:
        """Draw a filled rectangle."""
        self._mark("rect", x=x, y=y, width=width, height=height, fill=colour, fill_opacity=opacity)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        text: str = "",
        *,
        detail: str = "",
        colour: str = "",
        dash: str = "",
        chars: int = 60,
    ) -> None:
        """Draw a frame, tinted if it has a colour, with a text and a muted detail in its middle."""
        tint = {"fill": colour, "fill_opacity": 0.16, "stroke": colour} if colour else _outline(0.5)
        self._mark("rect", x=x, y=y, width=width, height=height, rx=4, stroke_dasharray=dash, stroke_width=1.5, **tint)
        lines, details = (textwrap.wrap(part, chars) for part in (text, detail))
        step = self.size * _LEADING
        middle = y + height / 2
        self.text(x + width / 2, middle - step * len(details) / 2, text, chars=chars, bold=True)
        self.text(x + width / 2, middle + step * len(lines) / 2, detail, chars=chars, muted=True)

    def line(self, *points: Point, colour: str = "", dash: str = "", thick: float = 1.5) -> None:
        """Draw a line through points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        stroke = {"stroke": colour, "fill": "none"} if colour else _outline(0.75)
        self._mark("polyline", points=path, stroke_dasharray=dash, stroke_width=thick, **stroke)

    def arrow(self, *points: Point, colour: str = "", dash: str = "", thick: float = 1.5) -> None:
        """Draw a line through points with a head at the last one."""
        (x0, y0), (x, y) = points[-2:]
        length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
        dx, dy = _HEAD * (x - x0) / length, _HEAD * (y - y0) / length
        self.line(*points[:-1], (x - dx, y - dy), colour=colour, dash=dash, thick=thick)
        head = [(x, y), (x - dx - dy / 2, y - dy + dx / 2), (x - dx + dy / 2, y - dy - dx / 2)]
        fill = {"fill": colour or "currentColor", "fill_opacity": 1 if colour else 0.75}
        self._mark("polygon", points=" ".join(f"{a:g},{b:g}" for a, b in head), **fill)

    def bracket(self, start: Point, end: Point, depth: float) -> Point:
        """Draw a bracket below (or above, or beside) a stretch, and return the middle of its back."""
        (x0, y0), (x, y) = start, end
        dx, dy = (0.0, depth) if y0 == y else (depth, 0.0)
        self.line(start, (x0 + dx, y0 + dy), (x + dx, y + dy), end)
        return (x0 + x) / 2 + dx, (y0 + y) / 2 + dy

    def circle(self, x: float, y: float, radius: float, colour: str, share: float = 1) -> None:
        """Draw a circle that is filled, half filled or empty."""
        self._mark("circle", cx=x, cy=y, r=radius, fill=colour if share == 1 else "none", stroke=colour, stroke_width=2)
        if 0 < share < 1:
            self._mark("path", d=f"M{x:g},{y - radius:g}a{radius:g},{radius:g} 0 0 0 0,{2 * radius:g}z", fill=colour)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        anchor: str = "middle",
        *,
        bold: bool = False,
        muted: bool = False,
        chars: int = 80,
        size: float = 0,
    ) -> None:
        """Write lines of at most ``chars`` characters, centred on ``y``."""
        lines = textwrap.wrap(text, chars)
        size = size or self.size
        first = y + 0.36 * size - (len(lines) - 1) * _LEADING * size / 2
        spans = "".join(
            f'<tspan x="{x:g}" y="{first + i * _LEADING * size:g}">{html.escape(line)}</tspan>'
            for i, line in enumerate(lines)
        )
        weight, opacity = ("600" if bold else ""), (0.8 if muted else "")
        style = _attributes(text_anchor=anchor, font_size=size, font_weight=weight, fill_opacity=opacity)
        if lines:
            self._marks.append(f"<text{style}>{spans}</text>")

    def svg(self, name: str, title: str, description: str, **style: str) -> str:
        """Return the drawing as an SVG element with a title and a description."""
        frame = _attributes(viewBox=f"0 0 {self.width:g} {self.height:g}", font_family=FONT, fill="currentColor")
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" role="img" aria-labelledby="{name}-title '
            f'{name}-description"{frame}{_attributes(**style)}><title id="{name}-title">{html.escape(title)}</title>'
            f'<desc id="{name}-description">{html.escape(description)}</desc>{"".join(self._marks)}</svg>'
        )

    def _mark(self, tag: str, **attributes: Any) -> None:
        self._marks.append(f"<{tag}{_attributes(**attributes)}/>")


def _outline(opacity: float) -> dict[str, Any]:
    """Return the attributes of a line in the colour of the text."""
    return {"stroke": "currentColor", "stroke_opacity": opacity, "fill": "none"}


def _attributes(**values: Any) -> str:
    """Return the attributes that have a value, for a tag."""
    known = {key: f"{value:g}" if isinstance(value, int | float) else value for key, value in values.items()}
    names = {key: key if key == "viewBox" else key.replace("_", "-") for key in known}
    return "".join(f' {names[key]}="{html.escape(value)}"' for key, value in known.items() if value)


@dataclass(frozen=True, eq=False)
class Picture:
    """A schematic in two layouts, shown by a notebook.

    Attributes
    ----------
    name : str
        Word for the ids of its elements.
    title, description : str
        Its statement, and the picture in words.
    wide, narrow : Drawing
        The same labels, arranged for a screen and for a phone.
    """

    name: str
    title: str
    description: str
    wide: Drawing
    narrow: Drawing

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        about = f"picture-{self.name}"
        words = self.title, self.description
        wide = self.wide.svg(f"{about}-wide", *words, width="100%", style=f"max-width:{WIDE + 60}px")
        narrow = self.narrow.svg(f"{about}-narrow", *words, width="100%", display="none")
        caption = f'<figcaption style="font-weight:600">{html.escape(self.title)}</figcaption>'
        return {
            "text/html": f'<figure class="book-picture" style="margin:1em 0">{caption}{wide}{narrow}</figure>',
            "text/plain": self.description,
        }
