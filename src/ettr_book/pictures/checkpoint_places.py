"""Checkpoint tiers: where the copies are, what each costs, and which failures each survives."""

from __future__ import annotations

from ettr.plots.theme import PART_COLOURS
from ettr_book.pictures.drawing import NARROW, WIDE, Area, Drawing, Picture, Point

_FAILURES = ("process", "node", "rack", "cluster")
_TIERS = (
    ("Host memory", "fastest: at every step, in the node's own memory", (1, 0, 0, 0)),
    ("Peer memory", "fast: over the network, in a second node's memory", (1, 1, 0.5, 0)),
    ("Local SSDs", "slower: in the background, also on the next node", (1, 1, 0.5, 0.5)),
    ("Remote store", "slowest: shared by all nodes, so written least often", (1, 1, 1, 1)),
)
_KEY = ((1, "survives"), (0, "lost"), (0.5, "depends: a copy elsewhere, or intact disks"))
_ROW = 44
"""Height of a row of the table. [px]"""
_STATE, _COPY = PART_COLOURS["productive"], PART_COLOURS["checkpoint"]


def tiers() -> Picture:
    """Return the picture of checkpoint tiers, their costs and the failures that they survive."""
    return Picture(
        "tiers",
        "A checkpoint survives if one copy lies outside the part that fails",
        "Checkpoint tiers from fast to safe. The training process copies its state to host memory on its own node, "
        "from there to the memory of a peer in the next rack and to SSDs of its own and of the next node, and it "
        "writes to a remote store outside the cluster. Host memory is fastest and survives only a crash of the "
        "process. Peer memory also survives the failure of a node, and that of a rack if the peer is in another one. "
        "Local SSDs with a copy on the next node survive the failure of a node; after that of a rack or the cluster, "
        "the state returns if a copy lies elsewhere or the disks are intact. The remote store is slowest and survives "
        "every failure.",
        _wide(),
        _narrow(),
    )


def _wide() -> Drawing:
    """Draw the next rack beside the first, and the store beside the cluster."""
    drawing = Drawing(WIDE, 462)
    _domain(drawing, (4, 6, 546, 184), "cluster")
    _domain(drawing, (16, 30, 326, 150), "rack")
    _domain(drawing, (358, 30, 180, 150), "next rack")
    _domain(drawing, (28, 54, 302, 116), "node")
    _domain(drawing, (370, 54, 156, 116), "next node")
    drawing.box((40, 78, 96, 66), "Training process", colour=_STATE, chars=9)
    for area, name in (
        ((196, 76, 122, 30), "Host memory"),
        ((196, 126, 122, 30), "Local SSDs"),
        ((382, 76, 132, 30), "Peer memory"),
        ((382, 126, 132, 30), "Local SSDs"),
        ((582, 78, 114, 66), "Remote store"),
    ):
        drawing.box(area, name, colour=_COPY)
    drawing.arrow((136, 91), (196, 91))
    drawing.arrow((257, 106), (257, 126))
    for y in (91, 141):
        drawing.arrow((318, y), (382, y))
    drawing.arrow((88, 144), (88, 163), (566, 163), (566, 111), (582, 111))
    drawing.text((WIDE - 4, 212), "Does it survive a failure of the ...", "end", muted=True)
    _table(drawing, 234, 412, 73, 22, ((90, 446), (200, 446), (276, 446)))
    return drawing


def _narrow() -> Drawing:
    """Draw the next rack below the first, and the store below the cluster."""
    drawing = Drawing(NARROW, 648)
    _domain(drawing, (2, 2, 346, 286), "cluster")
    _domain(drawing, (12, 26, 326, 134), "rack")
    _domain(drawing, (12, 168, 326, 110), "next rack")
    _domain(drawing, (22, 50, 306, 100), "node")
    _domain(drawing, (22, 192, 306, 78), "next node")
    drawing.box((32, 78, 84, 62), "Training process", colour=_STATE, chars=9)
    for area, name in (
        ((136, 90, 82, 38), "Host memory"),
        ((238, 90, 80, 38), "Local SSDs"),
        ((136, 220, 82, 38), "Peer memory"),
        ((238, 220, 80, 38), "Local SSDs"),
        ((48, 312, 122, 34), "Remote store"),
    ):
        drawing.box(area, name, colour=_COPY, chars=12 if name == "Remote store" else 8)
    drawing.arrow((116, 109), (136, 109))
    drawing.arrow((218, 109), (238, 109))
    for x in (177, 278):
        drawing.arrow((x, 128), (x, 220))
    drawing.arrow((109, 140), (109, 312))
    drawing.text((NARROW - 4, 372), "Does it survive a failure of the ...", "end", muted=True)
    _table(drawing, 394, 124, 55, 13, ((2, 610), (112, 610), (2, 634)))
    return drawing


def _domain(drawing: Drawing, area: Area, name: str) -> None:
    """Draw something that fails as a whole, with its name in the corner."""
    drawing.box(area, dash="4 3")
    drawing.text((area[0] + 8, area[1] + 12), name, "start", muted=True)


def _table(drawing: Drawing, y: float, first: float, step: float, mark: float, key: tuple[Point, ...]) -> None:
    """Draw a row per tier with a mark for each kind of failure, ``mark`` below its top, and a key of the marks."""
    columns = [first + step * (i + 0.5) for i in range(len(_FAILURES))]
    for x, failure in zip(columns, _FAILURES, strict=True):
        drawing.text((x, y), failure, bold=True)
    for i, (name, cost, survived) in enumerate(_TIERS):
        top = y + 14 + _ROW * i
        drawing.line((2, top), (drawing.width - 2, top), thick=0.6)
        drawing.text((2, top + 14), name, "start", bold=True)
        drawing.text((2, top + 31), cost, "start", muted=True)
        for x, share in zip(columns, survived, strict=True):
            drawing.circle((x, top + mark), 6.5, _STATE, share)
    for (x, top), (share, meaning) in zip(key, _KEY, strict=True):
        drawing.circle((x + 8, top), 6.5, _STATE, share)
        drawing.text((x + 22, top), meaning, "start", muted=True)
