"""The path from weather and load to the speed and the ETTR of a job, with the evidence for each step."""

from __future__ import annotations

from ettr.plots.theme import PART_COLOURS
from ettr_book.pictures.drawing import NARROW, WIDE, Drawing, Picture, Point

_PUBLISHED, _FITTED, _ASSUMED = "", "7 4", "2 4"
_KEY = (
    (_PUBLISHED, "calculated from published values"),
    (_FITTED, "assumed, but your telemetry can measure it"),
    (_ASSUMED, "assumed: nobody has measured it"),
)
_COLOURS = {
    "Clock of the hottest GPU": PART_COLOURS["slowdown"],
    "Speed of the job": PART_COLOURS["slowdown"],
    "Failure rate": PART_COLOURS["rework"],
    "ETTR": PART_COLOURS["productive"],
    "Effective throughput": PART_COLOURS["productive"],
}
_BOXES = {  # centre and size in the wide drawing, then in the narrow one
    "Weather": ((56, 62, 104, 44), (84, 26, 120, 44)),
    "Air or water to the GPU": ((212, 62, 112, 62), (84, 122, 120, 48)),
    "Load": ((56, 178, 104, 44), (266, 26, 120, 44)),
    "Power of the GPU": ((212, 178, 112, 62), (266, 122, 120, 48)),
    "Die temperature": ((366, 120, 112, 62), (175, 222, 130, 48)),
    "Clock of the hottest GPU": ((500, 36, 112, 62), (84, 322, 130, 48)),
    "Speed of the job": ((638, 36, 104, 62), (84, 418, 130, 48)),
    "Failure rate": ((500, 204, 112, 62), (266, 322, 130, 48)),
    "ETTR": ((638, 204, 104, 62), (266, 418, 130, 48)),
    "Effective throughput": ((638, 120, 104, 50), (175, 512, 150, 40)),
}
_LINKS = (
    ("Weather", "Air or water to the GPU", "+", _FITTED),
    ("Load", "Power of the GPU", "+", _PUBLISHED),
    ("Air or water to the GPU", "Die temperature", "+", _PUBLISHED),
    ("Power of the GPU", "Die temperature", "+", _FITTED),
    ("Die temperature", "Clock of the hottest GPU", "−", _FITTED),
    ("Die temperature", "Failure rate", "+", _ASSUMED),
    ("Clock of the hottest GPU", "Speed of the job", "+", _FITTED),
    ("Failure rate", "ETTR", "−", _PUBLISHED),
    ("Speed of the job", "Effective throughput", "+", _PUBLISHED),
    ("ETTR", "Effective throughput", "+", _PUBLISHED),
)
_SIGNS = "+ raises, − lowers"
_TITLE = "Heat slows a job, and probably makes it fail more often"
_DESCRIPTION = (
    "From left to right: warmer weather raises the temperature of the air or water that reaches the GPU; more load "
    "raises its power; both raise the die temperature. From there are two paths. A hotter die lowers the clock of the "
    "hottest GPU, and with it the speed of the synchronous job. A hotter die raises the failure rate, which lowers "
    "ETTR. Effective throughput is speed times ETTR. The effects of weather, power and clock are assumed here but can "
    "be measured with telemetry; nobody has measured the effect of die temperature on failures of GPUs in training."
)


def heat() -> Picture:
    """Return the picture of the path from heat to slower steps and more failures."""
    return Picture("heat", _TITLE, _DESCRIPTION, _draw(0), _draw(1))


def _draw(variant: int) -> Drawing:
    drawing = Drawing((WIDE, NARROW)[variant], (300, 630)[variant], (14, 13)[variant])
    places = {name: place[variant] for name, place in _BOXES.items()}
    for name, (x, y, width, height) in places.items():
        chars = 13 if width > 104 else 11
        drawing.box(x - width / 2, y - height / 2, width, height, name, colour=_COLOURS.get(name, ""), chars=chars)
    for start, end, sign, dash in _LINKS:
        a, b = _ends(places[start], places[end])
        drawing.arrow(a, b, dash=dash, thick=2)
        drawing.text((a[0] + b[0]) / 2 + 10, (a[1] + b[1]) / 2 - 11, sign, bold=True, size=16)
    for i, (dash, meaning) in enumerate(_KEY):
        x, y = ((0, 262), (290, 262), (0, 286))[i] if not variant else (4, 556 + 20 * i)
        drawing.line((x + 4, y), (x + 40, y), dash=dash, thick=2)
        drawing.text(x + 48, y, meaning, "start")
    drawing.text(*((338, 286) if not variant else (52, 616)), _SIGNS, "start")
    return drawing


def _ends(start: tuple[float, ...], end: tuple[float, ...]) -> tuple[Point, Point]:
    """Return where an arrow leaves one box and meets the next."""
    (x0, y0, w0, h0), (x, y, w, h) = start, end
    if abs(x - x0) > (w + w0) / 2:
        side = 1 if x > x0 else -1
        return (x0 + side * w0 / 2, y0), (x - side * w / 2, y)
    side = 1 if y > y0 else -1
    return (x0, y0 + side * h0 / 2), (x, y - side * h / 2)
