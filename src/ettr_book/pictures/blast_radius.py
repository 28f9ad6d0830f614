"""What goes down with a GPU, a node, or the switch of a rack, and who waits."""

from __future__ import annotations

from ettr.plots.theme import PART_COLOURS
from ettr_book.pictures.drawing import NARROW, WIDE, Area, Drawing, Picture, Point

_NODES, _GPUS, _FAILED_NODE, _FAILED_GPU = 4, 8, 1, 3
_CASES = (
    ("A GPU fails", "GPU, its memory or its links", "its node leaves the job"),
    ("A node fails", "host, power supply, network card", "all GPUs of the node go down"),
    ("A rack fails", "switch, power or cooling", "all nodes of the rack go down"),
)
_WAITS = "The whole job stops in each case: every step needs every GPU"
_COUPLED = "In a tightly coupled rack, a failed GPU is replaced inside the rack, or together with the whole rack"
_BROKEN, _DOWN, _HEALTHY = 1.0, 0.45, 0.0
"""States of a part, as the opacity of the colour of lost time."""
_LOST, _TRAINS = PART_COLOURS["rework"], PART_COLOURS["productive"]
_KEY = (
    (_BROKEN, _LOST, "broken"),
    (_DOWN, _LOST, "down with it"),
    (_HEALTHY, _TRAINS, "GPU, healthy but waiting"),
    (_HEALTHY, "", "host"),
)


def rack() -> Picture:
    """Return the picture of what goes down with a GPU, a node and a rack."""
    return Picture(
        "rack",
        "One broken part takes others down with it, and stops the whole job",
        "Three racks with a switch, power, cooling, and nodes of several GPUs each. In the first rack one GPU is "
        "broken: its node leaves the job for repair. In the second, the host, power supply or network card of a node "
        "is broken: all GPUs of the node go down. In the third, the switch, the power or the cooling is broken: all "
        "nodes of the rack go down at once. In each case the whole job stops, because every step needs every GPU. In "
        "a tightly coupled rack, a failed GPU is replaced inside the rack, or together with the whole rack.",
        _wide(),
        _narrow(),
    )


def _wide() -> Drawing:
    """Draw the racks side by side."""
    drawing = Drawing(WIDE, 356)
    for case, (title, causes, effect) in enumerate(_CASES):
        x = 4 + 238 * case
        _rack(drawing, (x, 46), 216, 24, case)
        for top, text in ((12, title), (31, causes), (236, effect)):
            drawing.text((x + 108, top), text, bold=text == title, muted=text == causes)
    middle, y = drawing.bracket((4, 252), (WIDE - 4, 252), 8)
    drawing.text((middle, y + 16), _WAITS, bold=True)
    drawing.text((middle, y + 44), _COUPLED, muted=True, chars=70)
    _key(drawing, ((60, 338), (172, 338), (320, 338), (560, 338)))
    return drawing


def _narrow() -> Drawing:
    """Draw the racks below each other."""
    drawing = Drawing(NARROW, 648)
    for case, (title, causes, effect) in enumerate(_CASES):
        top = 4 + 164 * case
        _rack(drawing, (2, top), 168, 19, case)
        for y, text in ((32, title), (69, causes), (113, effect)):
            drawing.text((182, top + y), text, "start", bold=text == title, muted=text == causes, chars=19)
    drawing.text((NARROW / 2, 514), _WAITS, bold=True, chars=38)
    drawing.text((NARROW / 2, 563), _COUPLED, muted=True, chars=40)
    _key(drawing, ((20, 608), (20, 632), (146, 608), (146, 632)))
    return drawing


def _rack(drawing: Drawing, corner: Point, width: float, height: float, case: int) -> None:
    """Draw a rack with nodes of a given height in one of the cases."""
    (x, y), step = corner, height + 5
    everything = case == len(_CASES) - 1
    drawing.box((x, y, width, 58 + _NODES * step), colour=_LOST if everything else "")
    for top, name in ((y + 6, "switch"), (y + 32 + _NODES * step, "power, cooling")):
        drawing.box((x + 8, top, width - 16, 20), colour=_LOST if everything else "")
        drawing.text((x + width / 2, top + 10), name)
        if everything and name == "switch":
            _part(drawing, (x + 14, top + 4, 12, 12), _BROKEN, _LOST)
    for node in range(_NODES):
        top, is_down = y + 31 + node * step, everything or node == _FAILED_NODE
        drawing.box((x + 8, top, width - 16, height), colour=_LOST if is_down else "")
        wide = (width - 26) / (_GPUS + 1)
        for part in range(_GPUS + 1):  # the host and its GPUs
            is_broken = is_down and (case, part) in {(0, 1 + _FAILED_GPU), (1, 0)}
            state = _BROKEN if is_broken else _DOWN if is_down else _HEALTHY
            area = (x + 13 + wide * part + 2, top + 4, wide - 4, height - 8)
            _part(drawing, area, state, _TRAINS if part else "")


def _part(drawing: Drawing, area: Area, state: float, colour: str) -> None:
    """Draw a part, filled unless it is healthy."""
    if state == _HEALTHY:
        drawing.box(area, colour=colour)
    else:
        drawing.block(area, _LOST, state)


def _key(drawing: Drawing, places: tuple[Point, ...]) -> None:
    for (x, y), (state, colour, meaning) in zip(places, _KEY, strict=True):
        _part(drawing, (x, y - 7, 16, 14), state, colour)
        drawing.text((x + 24, y), meaning, "start")
