"""Where a spare node waits, and the time that each replacement takes."""

from __future__ import annotations

from ettr.plots.theme import PART_COLOURS
from ettr_book.pictures.drawing import NARROW, WIDE, Drawing, Picture, Point

_JOB, _NEEDS = "Running job", "needs all its nodes at once"
_PLACES = (
    ("Warm spare", "process ready; costs an idle node and power"),
    ("Cold spare", "in the pool; costs an idle node"),
    ("Repair", "the longer it takes, the more spares are needed"),
)
_REPLACEMENTS = (
    ("short restart", "restart"),
    ("full restart", "restart"),
    ("pool empty: the job waits (queue)", "queue"),
)
_LEAVES, _REPAIRED, _READY = "detection, then the node leaves", "repair time", "start process"
_NODE = 14
"""Size of a node of the job. [px]"""


def spares() -> Picture:
    """Return the picture of warm and cold spares, repair, and the time that each replacement takes."""
    return Picture(
        "spares",
        "A spare trades an idle node for a shorter stop of the whole job",
        "A running job needs all its nodes at once. Once a failure is detected, the failed node leaves for repair. A "
        "warm (hot) spare, whose process is ready, takes its place after a short restart; it costs an idle node and "
        "its power. A cold spare from the pool needs a full restart; it costs an idle node. If the pool is empty, the "
        "whole job waits in the queue until a node returns from repair. The longer a repair takes, the more spares are "
        "needed. Repaired nodes return to the pool; starting a process on a cold spare makes it warm.",
        _wide(),
        _narrow(),
    )


def _wide() -> Drawing:
    """Draw the job above the places of spares."""
    drawing = Drawing(WIDE, 312)
    drawing.box((4, 6, WIDE - 8, 78), colour=PART_COLOURS["productive"])
    drawing.text((WIDE / 2, 22), _JOB, bold=True)
    drawing.text((WIDE / 2, 39), _NEEDS, muted=True)
    _nodes(drawing, [(17 + 24 * i, 57) for i in range(28)], failed=26)
    for x, (name, cost) in zip((4, 260, 516), _PLACES, strict=True):
        drawing.box((x, 220, 180, 86), name, cost, chars=22)
    for x, y, (label, part) in zip((94, 350, 534), (152, 152, 178), _REPLACEMENTS, strict=True):
        drawing.arrow((x, 220), (x, 84), colour=PART_COLOURS[part], thick=4)
        drawing.text((x + 10, y), label, "start", chars=13)
    drawing.arrow((648, 71), (648, 220), colour=PART_COLOURS["detection"], thick=4)
    drawing.text((638, 113), _LEAVES, "end", chars=11)
    for x, label in ((478, _REPAIRED), (222, _READY)):
        drawing.arrow((x + 38, 263), (x - 38, 263))
        drawing.text((x, 240), label, chars=7)
    return drawing


def _narrow() -> Drawing:
    """Draw the job beside the places of spares."""
    drawing = Drawing(NARROW, 530)
    drawing.box((2, 4, 84, 510), colour=PART_COLOURS["productive"])
    drawing.text((44, 28), _JOB, bold=True, chars=9)
    drawing.text((44, 74), _NEEDS, muted=True, chars=9)
    _nodes(drawing, [(15 + 22 * (i % 3), 112 + 22 * (i // 3)) for i in range(54)], failed=50)
    for y, (name, cost) in zip((4, 190, 414), _PLACES, strict=True):
        drawing.box((198, y, 150, 100), name, cost, chars=18)
    for y, up, (label, part) in zip((60, 246, 432), (20, 20, 36), _REPLACEMENTS, strict=True):
        drawing.arrow((198, y), (86, y), colour=PART_COLOURS[part], thick=4)
        drawing.text((142, y - up), label, chars=13)
    drawing.arrow((73, 471), (198, 471), colour=PART_COLOURS["detection"], thick=4)
    drawing.text((142, 503), _LEAVES, chars=11)
    for y, half, label in ((352, 62, _REPAIRED), (147, 43, _READY)):
        drawing.arrow((273, y + half), (273, y - half))
        drawing.text((283, y), label, "start", chars=7)
    return drawing


def _nodes(drawing: Drawing, corners: list[Point], failed: int) -> None:
    """Draw the nodes of the job, one of which has failed."""
    for i, (x, y) in enumerate(corners):
        drawing.block((x, y, _NODE, _NODE), PART_COLOURS["detection" if i == failed else "productive"])
