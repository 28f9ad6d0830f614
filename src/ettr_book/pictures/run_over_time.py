"""The timeline of a run: what happens between two checkpoints and after a failure, and the ETTR."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from ettr.plots.theme import PART_COLOURS
from ettr_book.pictures.drawing import NARROW, WIDE, Drawing, Picture


class _Stretch(NamedTuple):
    part: str
    wide: float
    narrow: float
    label: str = ""


_STRETCHES = (
    _Stretch("productive", 66, 46, "training"),
    _Stretch("checkpoint", 20, 16),
    _Stretch("productive", 122, 104, "training"),
    _Stretch("checkpoint", 20, 16),
    _Stretch("rework", 92, 64, "lost work"),
    _Stretch("detection", 78, 34, "detection"),
    _Stretch("queue", 62, 30, "queue"),
    _Stretch("restart", 70, 34, "restart"),
    _Stretch("productive", 92, 64),
    _Stretch("productive", 70, 46, "training again"),
)
_WRITE, _SLOWER = 40, 0.22
"""Length of a background write, which follows a stall, and the share of the speed that it takes."""
_TITLE = "ETTR is the share of wall-clock time that is useful training"
_DESCRIPTION = (
    "Timeline of a training run, not to scale. The run trains, stops briefly for a checkpoint (checkpoint stall), and "
    "trains on, a little slower while the checkpoint is written in the background. Training between two checkpoints is "
    "one checkpoint interval. A failure destroys all work since the last checkpoint (lost work). Then come failure "
    "detection, a queue for a replacement, and a restart: the downtime. The lost work is recomputed after the restart, "
    "and training goes on. ETTR is useful training, whose result is kept, divided by wall-clock time."
)


def timeline() -> Picture:
    """Return the picture of how a run spends its time, with the colours of all charts."""
    return Picture("timeline", _TITLE, _DESCRIPTION, _wide(), _narrow())


def _wide() -> Drawing:
    """Draw time from left to right."""
    drawing, top, height = Drawing(WIDE, 324), 66, 40
    x = [4, *accumulate((stretch.wide for stretch in _STRETCHES), initial=4)][1:]
    for stretch, left in zip(_STRETCHES, x, strict=False):
        drawing.block(left, top, stretch.wide, height, PART_COLOURS[stretch.part])
        if stretch.label != "training again":
            drawing.text(left + stretch.wide / 2, top - 13, stretch.label)
    drawing.text((x[8] + x[10]) / 2, top - 13, "training again")
    for stall in (1, 3):
        drawing.block(x[stall + 1], top, _WRITE, height * _SLOWER, PART_COLOURS["slowdown"])
    bottom = top + height
    drawing.line((x[1] + 10, top), (x[1] + 10, 28))
    drawing.text(4, 14, "checkpoint stall", "start")
    drawing.line((x[2] + 12, top), (x[2] + 12, 14), (x[2] + 40, 14))
    drawing.text(x[2] + 46, 14, "background write", "start")
    drawing.line((x[5], 26), (x[5], bottom + 6), thick=3)
    drawing.text(x[5], 14, "failure", bold=True)
    for first, last, label in ((2, 3, "one checkpoint interval"), (5, 8, "downtime")):
        middle, y = drawing.bracket((x[first], bottom + 5), (x[last], bottom + 5), 7)
        drawing.text(middle, y + 13, label)
    lost, y = drawing.bracket((x[4], bottom + 5), (x[5] - 4, bottom + 5), 7)
    again, _ = drawing.bracket((x[8] + 4, bottom + 5), (x[9], bottom + 5), 7)
    drawing.arrow((lost, y), (lost, y + 34), (again, y + 34), (again, y + 2))
    drawing.text((lost + again) / 2, y + 46, "recomputed after the restart")
    drawing.arrow((4, 194), (WIDE - 4, 194))
    drawing.text(WIDE - 4, 207, "wall-clock time (not to scale)", "end", muted=True)
    _ettr(drawing, 100, 240, 0.86)
    return drawing


def _narrow() -> Drawing:
    """Draw time from top to bottom."""
    drawing, left, width = Drawing(NARROW, 640, 13), 150, 36
    y = [*accumulate((stretch.narrow for stretch in _STRETCHES), initial=24)]
    right = left + width
    for stretch, top in zip(_STRETCHES, y, strict=False):
        drawing.block(left, top, width, stretch.narrow, PART_COLOURS[stretch.part])
        drawing.text(right + 10, top + stretch.narrow / 2, stretch.label, "start")
    for stall in (1, 3):
        drawing.block(right - width * _SLOWER, y[stall + 1], width * _SLOWER, _WRITE, PART_COLOURS["slowdown"])
    drawing.text(right + 10, y[1] + 6, "checkpoint stall", "start")
    drawing.text(right + 10, y[2] + 14, "background write", "start")
    drawing.text(right + 10, y[8] + 32, "recomputed after the restart", "start", chars=16)
    drawing.line((left - 10, y[5]), (right + 6, y[5]), thick=3)
    drawing.text(right + 10, y[5], "failure", "start", bold=True)
    for first, last, label in ((2, 3, "one checkpoint interval"), (5, 8, "downtime")):
        x, middle = drawing.bracket((left - 5, y[first] + 3), (left - 5, y[last]), -7)
        drawing.text(x - 8, middle, label, "end", chars=14)
    x, lost = drawing.bracket((left - 5, y[4]), (left - 5, y[5] - 4), -7)
    _, again = drawing.bracket((left - 5, y[8] + 4), (left - 5, y[9]), -7)
    drawing.arrow((x, lost), (50, lost), (50, again), (x, again))
    drawing.arrow((16, 24), (16, y[-1]))
    drawing.text(4, 10, "wall-clock time (not to scale)", "start", muted=True)
    _ettr(drawing, 66, y[-1] + 40, 0.41)
    return drawing


def _ettr(drawing: Drawing, x: float, y: float, scale: float) -> None:
    """Draw the fraction of useful training and wall-clock time, both as bars."""
    lengths = dict.fromkeys(PART_COLOURS, 0.0)
    for stretch in _STRETCHES:
        lengths[stretch.part] += stretch.wide * scale
    lengths["slowdown"] = _WRITE * _SLOWER * scale  # of the write whose training is kept
    lengths["productive"] -= lengths["slowdown"]
    drawing.text(x - 12, y + 28, "ETTR  =", "end", bold=True)
    drawing.text(x, y - 10, "useful training", "start")
    drawing.block(x, y, lengths["productive"], 18, PART_COLOURS["productive"])
    drawing.line((x, y + 28), (x + sum(lengths.values()), y + 28), thick=2)
    for part, length in lengths.items():
        drawing.block(x, y + 38, length, 18, PART_COLOURS[part])
        x += length
    drawing.text(x - sum(lengths.values()), y + 67, "wall-clock time", "start")
