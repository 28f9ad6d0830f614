"""A small drawing kit for schematics: boxes, arrows, labels and brackets as inline SVG.

Lines and text use ``currentColor``, so a picture follows the theme of the page around it. Every picture has two
drawings, a wide one and one for phones; ``book.css`` shows the one that fits. Without it, as in Jupyter, only the
wide one is visible.
"""

from __future__ import annotations

import html
import math
import textwrap
from dataclasses import dataclass
from typing import Any

from ettr.plots.theme import FONT

WIDE, NARROW = 700, 350
"""Widths of the two drawings of a picture. [px]"""
_LEADING = 1.25
"""Distance between lines of text, relative to their size."""
_MIDDLE = 0.36
"""Half the height of a capital letter, relative to the size of the text."""
_HEAD = 8
"""Length of an arrow's head. [px]"""
_MUTED, _LINE, _TINT = 0.8, 0.7, 0.16
"""Opacities: of muted text, of lines in the colour of the text, and of the inside of a coloured box."""

Point = tuple[float, float]
Area = tuple[float, float, float, float]
"""Left, top, width and height."""


class Drawing:
    """Marks and labels on a canvas.

    Parameters
    ----------
    width, height : float
        Size of the canvas. [px]
    size : float
        Size of the text. [px]
    """

    def __init__(self, width: float, height: float, size: float = 13) -> None:
        self.width, self.height, self.size = width, height, size
        self._marks: list[str] = []

    def block(self, area: Area, colour: str, opacity: float = 1) -> None:
        """Draw a filled rectangle with sharp edges."""
        self._rectangle(area, fill=colour, fill_opacity=opacity, shape_rendering="crispEdges")

    def box(
        self, area: Area, text: str = "", detail: str = "", *, colour: str = "", dash: str = "", chars: int = 60
    ) -> None:
        """Draw a frame, tinted if it has a colour, with a bold text and a muted detail in its middle."""
        inside = {"fill": colour or "none", "fill_opacity": _TINT}
        self._rectangle(area, rx=3, stroke_dasharray=dash, stroke_width=1.5, **_stroke(colour), **inside)
        x, y = area[0] + area[2] / 2, area[1] + area[3] / 2
        n_lines, n_details = (len(textwrap.wrap(part, chars)) for part in (text, detail))
        step = self.size * _LEADING / 2
        self.text((x, y - step * n_details), text, chars=chars, bold=True)
        self.text((x, y + step * n_lines), detail, chars=chars, muted=True)

    def line(self, *points: Point, colour: str = "", dash: str = "", thick: float = 1.5) -> None:
        """Draw a line through points."""
        self._mark("polyline", points=_path(points), fill="none", stroke_dasharray=dash, stroke_width=thick,
                   **_stroke(colour))  # fmt: skip

    def arrow(self, *points: Point, colour: str = "", dash: str = "", thick: float = 1.5) -> None:
        """Draw a line through points with a head at the last one."""
        (x0, y0), (x, y) = points[-2:]
        length = math.hypot(x - x0, y - y0)
        dx, dy = _HEAD * (x - x0) / length, _HEAD * (y - y0) / length
        self.line(*points[:-1], (x - dx, y - dy), colour=colour, dash=dash, thick=thick)
        wings = (x - dx - dy / 1.6, y - dy + dx / 1.6), (x - dx + dy / 1.6, y - dy - dx / 1.6)
        fill = {"fill": colour or "currentColor", "fill_opacity": 1 if colour else _LINE}
        self._mark("polygon", points=_path(((x, y), *wings)), **fill)

    def bracket(self, start: Point, end: Point, depth: float) -> Point:
        """Draw a bracket beside a horizontal or vertical stretch, and return the middle of its back."""
        dx, dy = (0.0, depth) if start[1] == end[1] else (depth, 0.0)
        self.line(start, (start[0] + dx, start[1] + dy), (end[0] + dx, end[1] + dy), end)
        return (start[0] + end[0]) / 2 + dx, (start[1] + end[1]) / 2 + dy

    def circle(self, at: Point, radius: float, colour: str, share: float) -> None:
        """Draw a circle that is full (1), half full or empty (0)."""
        x, y = at
        self._mark("circle", cx=x, cy=y, r=radius, fill=colour if share == 1 else "none", stroke=colour, stroke_width=2)
        if 0 < share < 1:
            self._mark("path", d=f"M{x:g},{y - radius:g}a{radius},{radius} 0 0 0 0,{2 * radius}z", fill=colour)

    def text(
        self, at: Point, text: str, anchor: str = "middle", *, bold: bool = False, muted: bool = False, chars: int = 99
    ) -> None:
        """Write lines of at most ``chars`` characters, centred vertically on a point."""
        lines, step = textwrap.wrap(text, chars), _LEADING * self.size
        first = at[1] + _MIDDLE * self.size - (len(lines) - 1) * step / 2
        spans = "".join(
            f"<tspan{_attributes(x=at[0], y=first + i * step)}>{html.escape(line)}</tspan>"
            for i, line in enumerate(lines)
        )
        look = {"font_weight": "600" if bold else "", "fill_opacity": _MUTED if muted else ""}
        if lines:
            self._marks.append(f"<text{_attributes(text_anchor=anchor, font_size=self.size, **look)}>{spans}</text>")

    def svg(self, name: str, title: str, description: str, **attributes: str) -> str:
        """Return the drawing as an SVG element with a title and a description."""
        frame = {"viewBox": f"0 0 {self.width:g} {self.height:g}", "font_family": FONT, "fill": "currentColor"}
        about = {"role": "img", "aria_labelledby": f"{name}-title {name}-description", "class": name}
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg"{_attributes(**about, **frame, **attributes)}>'
            f'<title id="{name}-title">{html.escape(title)}</title>'
            f'<desc id="{name}-description">{html.escape(description)}</desc>{"".join(self._marks)}</svg>'
        )

    def _rectangle(self, area: Area, **attributes: Any) -> None:
        self._mark("rect", **dict(zip(("x", "y", "width", "height"), area, strict=True)), **attributes)

    def _mark(self, tag: str, **attributes: Any) -> None:
        self._marks.append(f"<{tag}{_attributes(**attributes)}/>")


def _stroke(colour: str) -> dict[str, Any]:
    return {"stroke": colour or "currentColor", "stroke_opacity": 1 if colour else _LINE}


def _path(points: tuple[Point, ...]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _attributes(**values: Any) -> str:
    """Return the attributes of a tag, without empty ones."""
    texts = {key: value if isinstance(value, str) else f"{value:.5g}" for key, value in values.items()}
    return "".join(f' {key.replace("_", "-")}="{html.escape(text)}"' for key, text in texts.items() if text)


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
        name, words = f"book-picture-{self.name}", (self.title, self.description)
        wide = self.wide.svg(f"{name}-wide", *words, width="100%", style=f"max-width: {WIDE + 60}px")
        narrow = self.narrow.svg(f"{name}-narrow", *words, width="100%", display="none")
        caption = f'<figcaption style="font-weight: 600">{html.escape(self.title)}</figcaption>'
        return {
            "text/html": f'<figure class="book-picture">{caption}{wide}{narrow}</figure>',
            "text/plain": self.description,
        }
