"""What goes down with a GPU, a node, or the switch of a rack, and who waits."""

from __future__ import annotations

from ettr.plots.theme import PART_COLOURS
from ettr_book.pictures.drawing import NARROW, WIDE, Drawing, Picture

_NODES, _GPUS = 4, 8
_CASES = (
    ("A GPU fails", "GPU, its memory or link", "its node leaves the job"),
    ("A node fails", "host, power supply or network card", "all GPUs of the node go down"),
    ("A rack fails", "switch, power or cooling", "all nodes of the rack go down"),
)
_WAITS = "The whole job stops in each case: every step needs every GPU"
_COUPLED = "In a tightly coupled rack, a failed GPU is replaced inside the rack, or together with the whole rack"
_KEY = (("broken", 1.0), ("down with it, or in repair", 0.35), ("healthy, but waiting", 0.0))
_TITLE = "The larger the part that fails, the more goes down with it; the job always stops"
_DESCRIPTION = (
    "Three racks with a switch, power, and nodes of several GPUs each. In the first rack one GPU is broken: its node "
    "leaves the job for repair. In the second, the host, power supply or network card of a node is broken: all GPUs of "
    "the node go down. In the third, the switch, the power or the cooling of the rack is broken: all nodes of the rack "
    "go down at once. In each case the whole job stops, because every step needs every GPU. If the GPUs of a rack are "
    "tightly coupled, a failed GPU is replaced inside its rack, or together with the whole rack."
)
_HEALTHY, _BROKEN = PART_COLOURS["productive"], PART_COLOURS["rework"]


def rack() -> Picture:
    """Return the picture of what goes down with a GPU, a node and a rack."""
    return Picture("rack", _TITLE, _DESCRIPTION, _wide(), _narrow())


def _wide() -> Drawing:
    drawing = Drawing(WIDE, 360)
    for case, (title, causes, effect) in enumerate(_CASES):
        x = 4 + 238 * case
        drawing.text(x + 108, 12, title, bold=True)
        drawing.text(x + 108, 32, causes, muted=True, size=13, chars=34)
        _rack(drawing, x, 46, 216, case)
        drawing.text(x + 108, 234, effect)
    middle, y = drawing.bracket((4, 252), (WIDE - 4, 252), 8)
    drawing.text(middle, y + 16, _WAITS, bold=True)
    drawing.text(middle, y + 42, _COUPLED, muted=True, chars=90)
    _key(drawing, 70, y + 78, (0, 130, 380))
    return drawing


def _narrow() -> Drawing:
    drawing = Drawing(NARROW, 640, 13)
    for case, (title, causes, effect) in enumerate(_CASES):
        y = 4 + 160 * case
        _rack(drawing, 2, y, 170, case)
        for dy, text, bold in ((26, title, True), (66, causes, False), (112, effect, False)):
            drawing.text(184, y + dy, text, "start", bold=bold, muted=text == causes, chars=20)
    drawing.text(NARROW / 2, 492, _WAITS, bold=True, chars=38)
    drawing.text(NARROW / 2, 540, _COUPLED, muted=True, chars=44)
    for i in range(3):
        _key(drawing, 20, 580 + 22 * i, (0,), i)
    return drawing


def _rack(drawing: Drawing, x: float, y: float, width: float, case: int) -> None:
    """Draw a rack with its switch, nodes and GPUs in one of the cases."""
    height = 24 if drawing.width == WIDE else 19
    drawing.box(x, y, width, 58 + _NODES * (height + 5), colour=_BROKEN if case == 2 else "")
    for top, name in ((y + 6, "switch"), (y + 32 + _NODES * (height + 5), "power, cooling")):
        drawing.box(x + 8, top, width - 16, 20, colour=_BROKEN if case == 2 and name == "switch" else "")
        drawing.text(x + width / 2, top + 10, name, size=12.5)
    for node in range(_NODES):
        top = y + 31 + node * (height + 5)
        fails = (case, node) in {(0, 1), (1, 1)} or case == 2
        drawing.box(x + 8, top, width - 16, height, colour=_BROKEN if fails else "")
        step = (width - 24) / _GPUS
        for gpu in range(_GPUS):
            share = 0.0 if not fails else 1.0 if (case == 0 and gpu == 3) else 0.35
            _gpu(drawing, x + 12 + gpu * step + 2, top + 4, step - 4, height - 8, share)


def _gpu(drawing: Drawing, x: float, y: float, width: float, height: float, share: float) -> None:
    if share:
        drawing.block(x, y, width, height, _BROKEN, share)
    else:
        drawing.box(x, y, width, height, colour=_HEALTHY)


def _key(drawing: Drawing, x: float, y: float, columns: tuple[float, ...], first: int = 0) -> None:
    for dx, (meaning, share) in zip(columns, _KEY[first:], strict=False):
        _gpu(drawing, x + dx, y - 7, 16, 14, share)
        drawing.text(x + dx + 24, y, meaning, "start")
