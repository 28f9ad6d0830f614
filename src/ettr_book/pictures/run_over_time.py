"""The timeline of a run: what happens between two checkpoints and after a failure, and the ETTR."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from ettr.plots.theme import PART_COLOURS
from ettr_book.pictures.drawing import NARROW, WIDE, Drawing, Picture


class _Stretch(NamedTuple):
    """A part of the time budget, its length in both drawings, and a label beside its middle."""

    part: str
    wide: float
    narrow: float
    label: str = ""


_STRETCHES = (
    _Stretch("productive", 94, 46, "training"),
    _Stretch("checkpoint", 20, 16),
    _Stretch("productive", 122, 104),
    _Stretch("checkpoint", 20, 16),
    _Stretch("rework", 92, 64, "lost work"),
    _Stretch("detection", 78, 34, "detection"),
    _Stretch("queue", 62, 30, "queue"),
    _Stretch("restart", 70, 34, "restart"),
    _Stretch("productive", 92, 64),
    _Stretch("productive", 42, 46),
)
_STALL, _INTERVAL, _LOST, _DOWN, _AGAIN = 1, 2, 4, 5, 8
"""Positions of stretches: a stall, the interval after it, lost work, downtime, and the lost work recomputed."""
_WRITE, _SLOWER = 40, 0.22
"""Length of a background write, which follows a stall, and the share of the speed that it takes."""
_BRACKETS = ((_INTERVAL, _INTERVAL + 1, "one checkpoint interval"), (_DOWN, _AGAIN, "downtime"))
_AXIS = "wall-clock time (not to scale)"


def timeline() -> Picture:
    """Return the picture of how a run spends its time, with the colours of all charts."""
    return Picture(
        "timeline",
        "ETTR is the share of wall-clock time that is useful training",
        "Timeline of a training run, not to scale. The run trains, stops briefly for a checkpoint (checkpoint stall), "
        "and trains on, a little slower while the checkpoint is written in the background. Training between two "
        "checkpoints is one checkpoint interval. A failure destroys all work since the last checkpoint (lost work, or "
        "rework). Failure detection, a queue for a replacement, and a restart follow: the downtime. The lost work is "
        "recomputed after the restart, and training goes on. ETTR is useful training, whose result is kept, divided "
        "by wall-clock time.",
        _wide(),
        _narrow(),
    )


def _wide() -> Drawing:
    """Draw time from left to right."""
    drawing, top, height = Drawing(WIDE, 342, 14), 68, 40
    x = [*accumulate((stretch.wide for stretch in _STRETCHES), initial=4)]
    for stretch, left in zip(_STRETCHES, x, strict=False):
        drawing.block((left, top, stretch.wide, height), PART_COLOURS[stretch.part])
        drawing.text((left + stretch.wide / 2, top - 14), stretch.label)
    for start in (x[_INTERVAL], x[_LOST]):
        drawing.block((start, top, _WRITE, height * _SLOWER), PART_COLOURS["slowdown"])
    stall, write, below = x[_STALL] + 8, x[_INTERVAL] + 32, top + height + 5
    for at, anchor, edge, label in ((stall, "end", 8, "checkpoint stall"), (write, "start", -10, "background write")):
        drawing.line((at, top), (at, 28))
        drawing.text((at + edge, 16), label, anchor)
    drawing.text(((write + x[_INTERVAL + 1]) / 2 + 4, top - 14), "training")
    drawing.text(((x[_AGAIN] + x[-1]) / 2, top - 14), "training again")
    drawing.line((x[_DOWN], 28), (x[_DOWN], below + 2), thick=3)
    drawing.text((x[_DOWN], 16), "failure", bold=True)
    for first, last, label in _BRACKETS:
        middle, y = drawing.bracket((x[first] + 3, below), (x[last], below), 7)
        drawing.text((middle, y + 14), label)
    lost, y = drawing.bracket((x[_LOST], below), (x[_DOWN] - 4, below), 7)
    again, _ = drawing.bracket((x[_AGAIN] + 4, below), (x[_AGAIN + 1], below), 7)
    drawing.arrow((lost, y), (lost, y + 34), (again, y + 34), (again, y))
    drawing.text(((lost + again) / 2, y + 47), "recomputed after the restart")
    drawing.arrow((4, 194), (WIDE - 4, 194))
    drawing.text((WIDE - 4, 208), _AXIS, "end", muted=True)
    _ettr(drawing, 100, 250, 0.86)
    return drawing


def _narrow() -> Drawing:
    """Draw time from top to bottom."""
    drawing, left, width = Drawing(NARROW, 616), 150, 36
    y = [*accumulate((stretch.narrow for stretch in _STRETCHES), initial=26)]
    right, beside = left + width, left + width + 10
    for stretch, top in zip(_STRETCHES, y, strict=False):
        drawing.block((left, top, width, stretch.narrow), PART_COLOURS[stretch.part])
        drawing.text((beside, top + stretch.narrow / 2), stretch.label, "start")
    for start in (y[_INTERVAL], y[_LOST]):
        drawing.block((right - width * _SLOWER, start, width * _SLOWER, _WRITE), PART_COLOURS["slowdown"])
    for at, label in (
        (y[_STALL] + 6, "checkpoint stall"),
        (y[_INTERVAL] + 16, "background write"),
        (y[_INTERVAL] + 66, "training"),
        (y[_AGAIN] + 32, "recomputed after the restart"),
        (y[-1] - 23, "training again"),
    ):
        drawing.text((beside, at), label, "start", chars=16)
    drawing.line((left - 10, y[_DOWN]), (right + 6, y[_DOWN]), thick=3)
    drawing.text((beside, y[_DOWN]), "failure", "start", bold=True)
    for first, last, label in _BRACKETS:
        x, middle = drawing.bracket((left - 5, y[first] + 3), (left - 5, y[last]), -7)
        drawing.text((x - 8, middle), label, "end", chars=14)
    x, lost = drawing.bracket((left - 5, y[_LOST]), (left - 5, y[_DOWN] - 4), -7)
    _, again = drawing.bracket((left - 5, y[_AGAIN] + 4), (left - 5, y[_AGAIN + 1]), -7)
    drawing.arrow((x, lost), (50, lost), (50, again), (x, again))
    drawing.arrow((16, y[0]), (16, y[-1]))
    drawing.text((4, 12), _AXIS, "start", muted=True)
    _ettr(drawing, 66, y[-1] + 46, 0.405)
    return drawing


def _ettr(drawing: Drawing, x: float, y: float, scale: float) -> None:
    """Draw ETTR as a fraction of two bars: useful training over wall-clock time."""
    lengths = dict.fromkeys(PART_COLOURS, 0.0)
    for stretch in _STRETCHES:
        lengths[stretch.part] += stretch.wide * scale
    lengths["slowdown"] = _WRITE * _SLOWER * scale  # of the write whose training is kept
    lengths["productive"] -= lengths["slowdown"]
    total = sum(lengths.values())
    drawing.text((x - 12, y + 28), "ETTR =", "end", bold=True)
    for label, length, top, depth in (
        ("useful training", lengths["productive"], y - 4, -6),
        ("wall-clock time", total, y + 60, 6),
    ):
        middle, back = drawing.bracket((x, top), (x + length, top), depth)
        drawing.text((middle, back + 2 * depth), label)
    drawing.block((x, y, lengths["productive"], 18), PART_COLOURS["productive"])
    drawing.line((x, y + 28), (x + total, y + 28), thick=2)
    for part, length in lengths.items():
        drawing.block((x, y + 38, length, 18), PART_COLOURS[part])
        x += length
