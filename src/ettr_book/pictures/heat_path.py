"""The path from weather and load to the speed and the ETTR of a job, with the evidence for each step."""

from __future__ import annotations

from ettr.plots.theme import PART_COLOURS
from ettr_book.pictures.drawing import NARROW, WIDE, Area, Drawing, Picture, Point

_DIE, _RESULT = "Die temperature", "Effective throughput"
_BOXES: dict[str, tuple[str, str, tuple[Area, Area]]] = {
    # detail, part of the time budget, and centre with size in the wide and in the narrow drawing
    "Weather": ("", "", ((54, 76, 100, 44), (84, 26, 130, 44))),
    "Load": ("", "", ((54, 196, 100, 44), (266, 26, 130, 44))),
    "Air or water to the GPU": ("", "", ((204, 76, 112, 56), (84, 120, 130, 48))),
    "Power of the GPU": ("", "", ((204, 196, 112, 56), (266, 120, 130, 48))),
    _DIE: ("", "", ((358, 136, 112, 72), (175, 220, 150, 48))),
    "Clock of the hottest GPU": ("leakage, throttling", "slowdown", ((512, 46, 114, 80), (84, 332, 130, 80))),
    "Failure rate": ("", "rework", ((512, 226, 114, 56), (266, 332, 130, 80))),
    "Speed of the job": ("", "slowdown", ((649, 46, 96, 56), (84, 430, 130, 44))),
    "ETTR": ("", "productive", ((649, 226, 96, 56), (266, 430, 130, 44))),
    _RESULT: ("", "productive", ((649, 136, 96, 50), (175, 522, 150, 44))),
}
_KNOWN, _FITTED, _ASSUMED = "", "7 4", "2 4"
"""Dashes by the evidence for a link."""
_LINKS = (
    ("Weather", "Air or water to the GPU", "+", _FITTED),
    ("Load", "Power of the GPU", "+", _KNOWN),
    ("Air or water to the GPU", _DIE, "+", _KNOWN),
    ("Power of the GPU", _DIE, "+", _FITTED),
    (_DIE, "Clock of the hottest GPU", "−", _FITTED),
    (_DIE, "Failure rate", "+", _ASSUMED),
    ("Clock of the hottest GPU", "Speed of the job", "+", _FITTED),
    ("Failure rate", "ETTR", "−", _KNOWN),
    ("Speed of the job", _RESULT, "+", _KNOWN),
    ("ETTR", _RESULT, "+", _KNOWN),
)
_KEY = (
    (_KNOWN, "published or calculated"),
    (_FITTED, "assumed here, measurable on your GPUs"),
    (_ASSUMED, "assumed: nobody has measured it"),
)


def heat() -> Picture:
    """Return the picture of the path from heat to slower steps and more failures."""
    return Picture(
        "heat",
        "Heat slows a job; how much it raises failures has not been measured",
        "Warmer weather raises the temperature of the air or water that reaches the GPU, and more load raises its "
        "power. Both raise the die temperature, from which two paths lead on. A hotter die lowers the clock of the "
        "hottest GPU by leakage and throttling, and with it the speed of the synchronous job. A hotter die also "
        "raises the failure rate, which lowers ETTR. Effective throughput is speed times ETTR. The effects of weather, "
        "power and clock are assumed here but measurable on your GPUs; nobody has measured the effect of die "
        "temperature on failures in training.",
        _drawn(0, WIDE, 322, ((4, 284), (330, 284), (4, 306), (378, 306))),
        _drawn(1, NARROW, 646, ((4, 566), (4, 588), (4, 610), (52, 632))),
    )


def _drawn(variant: int, width: float, height: float, key: tuple[Point, ...]) -> Drawing:
    """Draw boxes and links, across in the wide drawing and down in the narrow one."""
    drawing = Drawing(width, height)
    places = {name: areas[variant] for name, (_, _, areas) in _BOXES.items()}
    for name, (detail, part, *_) in _BOXES.items():
        x, y, w, h = places[name]
        colour = PART_COLOURS[part] if part else ""
        drawing.box((x - w / 2, y - h / 2, w, h), name, detail, colour=colour, chars=13 if w > 100 else 11)
    for start, end, sign, dash in _LINKS:
        across = width == WIDE and places[start][0] != places[end][0]
        points = _route(places[start], places[end], across=across, from_die=start == _DIE)
        drawing.arrow(*points, dash=dash, thick=2)
        middle = points[len(points) // 2 - 1 : len(points) // 2 + 1]
        x, y = (sum(place) / 2 for place in zip(*middle, strict=True))
        upright = middle[0][0] == middle[1][0]
        drawing.text((x + 12, y) if upright else (x, y - 12), sign, bold=True)
    for (left, top), (dash, meaning) in zip(key, _KEY, strict=False):
        drawing.line((left, top), (left + 38, top), dash=dash, thick=2)
        drawing.text((left + 48, top), meaning, "start")
    drawing.text(key[-1], "+ raises, − lowers", "start")
    return drawing


def _route(start: Area, end: Area, *, across: bool, from_die: bool) -> list[Point]:
    """Return the points of a link between two boxes; links that meet at one side of a box do so side by side."""
    (x0, y0, w0, _), (x, y, w, _) = ((a if across else (a[1], a[0], a[3], a[2])) for a in (start, end))
    side = 1 if x > x0 else -1
    leaves, arrives = x0 + side * w0 / 2, x - side * w / 2
    turn, shift = (leaves + arrives) / 2, 16 * ((y0 > y) - (y0 < y))
    y0, y = (y0 - shift, y) if from_die else (y0, y + shift)
    points = [(leaves, y0), (turn, y0), (turn, y), (arrives, y)] if shift else [(leaves, y), (arrives, y)]
    return points if across else [(b, a) for a, b in points]
