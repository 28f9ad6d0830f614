"""Where a spare node waits, and the time that each replacement takes."""

from __future__ import annotations

from ettr.plots.theme import PART_COLOURS
from ettr_book.pictures.drawing import NARROW, WIDE, Drawing, Picture

_JOB = ("Running job", "needs all its nodes at once")
_PLACES = (
    ("Warm spare", "process ready; costs an idle node and its power"),
    ("Cold spare", "in the pool; costs an idle node"),
    ("Repair", "costs a node for as long as it takes"),
)
_WARM, _COLD, _WAIT, _FAIL = "short restart", "full restart", "queue: pool empty, all nodes wait", "detection, then out"
_BACK, _READY = "repair time", "start process"
_TITLE = "A spare trades an idle node for a shorter stop of the whole job"
_DESCRIPTION = (
    "A running job needs all its nodes at once. A node that fails leaves for repair once the failure is detected. A "
    "warm (hot) spare, whose process is ready, takes its place after a short restart; it costs an idle node and its "
    "power. A cold spare from the pool needs a full restart; it costs an idle node. If the pool is empty, all nodes of "
    "the job wait in the queue until a node returns from repair. Repaired nodes return to the pool; starting a process "
    "on a cold spare makes it warm."
)
_RESTART, _QUEUE, _DETECTION = (PART_COLOURS[part] for part in ("restart", "queue", "detection"))


def spares() -> Picture:
    """Return the picture of where a spare waits and what each replacement costs."""
    return Picture("spares", _TITLE, _DESCRIPTION, _wide(), _narrow())


def _wide() -> Drawing:
    drawing = Drawing(WIDE, 310)
    drawing.box(4, 6, WIDE - 8, 56, *_JOB[:1], detail=_JOB[1], colour=PART_COLOURS["productive"])
    for x, (name, cost) in zip((4, 244, 484), _PLACES, strict=True):
        drawing.box(x, 196, 212, 84, name, detail=cost, chars=27)
    for x, y, text, colour in ((110, 128, _WARM, _RESTART), (350, 128, _COLD, _RESTART), (530, 128, _WAIT, _QUEUE)):
        drawing.arrow((x, 196), (x, 62), colour=colour, thick=4)
        drawing.text(x + 10, y, text, "start", chars=12)
    drawing.arrow((650, 62), (650, 196), colour=_DETECTION, thick=4)
    drawing.text(640, 100, _FAIL, "end", chars=10)
    drawing.arrow((484, 238), (456, 238))
    drawing.arrow((244, 238), (216, 238))
    drawing.text(470, 296, _BACK)
    drawing.text(230, 296, _READY)
    return drawing


def _narrow() -> Drawing:
    drawing = Drawing(NARROW, 560, 13)
    drawing.box(2, 4, 76, 500, *_JOB[:1], detail=_JOB[1], colour=PART_COLOURS["productive"], chars=9)
    for y, (name, cost) in zip((4, 194, 404), _PLACES, strict=True):
        drawing.box(190, y, 158, 100, name, detail=cost, chars=20)
    for y, text, colour in ((64, _WARM, _RESTART), (254, _COLD, _RESTART), (420, _WAIT, _QUEUE)):
        drawing.arrow((190, y), (78, y), colour=colour, thick=4)
        drawing.text(134, y - (38 if text == _WAIT else 24), text, chars=13)
    drawing.arrow((78, 480), (190, 480), colour=_DETECTION, thick=4)
    drawing.text(134, 502, _FAIL, chars=13)
    drawing.arrow((269, 404), (269, 294))
    drawing.arrow((269, 194), (269, 104))
    drawing.text(279, 349, _BACK, "start")
    drawing.text(279, 149, _READY, "start")
    return drawing
