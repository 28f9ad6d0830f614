"""Checkpoint tiers: where the copies are, what each costs, and which failures each survives."""

from __future__ import annotations

from ettr.plots.theme import PART_COLOURS
from ettr_book.pictures.drawing import NARROW, WIDE, Drawing, Picture

_FAILURES = ("process", "node", "rack", "cluster")
_TIERS = (
    ("Host memory", "fastest: at every step, in the node's own memory", (1, 0, 0, 0)),
    ("Peer memory", "fast: over the network, takes a second node's memory", (1, 1, 0.5, 0)),
    ("Local SSDs", "slower: in the background, with a copy on the next node", (1, 1, 0.5, 0.5)),
    ("Remote store", "slowest: shared by all nodes, so written least often", (1, 1, 1, 1)),
)
_MARKS = ((1, "survives"), (0.5, "depends on where the copies are"), (0, "lost"))
_TITLE = "A checkpoint survives a failure if one copy lies outside of what fails"
_DESCRIPTION = (
    "Checkpoint tiers from fast to safe. The training process copies its state to host memory on its own node, from "
    "there to the memory of a peer in another rack, to SSDs of its own and of the next node, and to a remote store "
    "outside the cluster. Host memory is fastest and survives the crash of the process only. Peer memory also survives "
    "the failure of a node, and that of a rack if the peer is in another one. Local SSDs with a copy on the next node "
    "survive a node; after a failure of the rack or the cluster the state returns with the disks, if they do. The "
    "remote store is slowest and survives every failure."
)
_STATE, _STORE = PART_COLOURS["productive"], PART_COLOURS["checkpoint"]


def tiers() -> Picture:
    """Return the picture of checkpoint tiers, their costs and the failures that they survive."""
    return Picture("tiers", _TITLE, _DESCRIPTION, _wide(), _narrow())


def _wide() -> Drawing:
    drawing = Drawing(WIDE, 470)
    _domain(drawing, 4, 6, 536, 186, "cluster")
    _domain(drawing, 16, 30, 314, 150, "rack")
    _domain(drawing, 346, 30, 182, 150, "next rack")
    _domain(drawing, 28, 54, 290, 116, "node")
    _domain(drawing, 358, 54, 158, 116, "next node")
    drawing.box(40, 84, 106, 74, "training process", colour=_STATE, chars=9)
    for x, width in ((198, 108), (370, 134)):
        drawing.box(x, 80, width, 34, "Host memory" if x < 300 else "Peer memory", colour=_STORE)
        drawing.box(x, 126, width, 34, "Local SSDs", colour=_STORE)
    drawing.box(576, 84, 118, 74, "Remote store", colour=_STORE)
    drawing.arrow((146, 97), (198, 97))
    for y in (97, 143):
        drawing.arrow((306, y), (370, y))
    drawing.line((172, 97), (172, 143), (172, 143))
    drawing.arrow((172, 143), (198, 143))
    drawing.arrow((93, 158), (93, 164), (548, 164), (548, 121), (576, 121))
    drawing.text(404, 214, "does it survive a failure of the ...", "start", muted=True)
    _table(drawing, 4, 238, 404, 73, 21)
    return drawing


def _narrow() -> Drawing:
    drawing = Drawing(NARROW, 706, 13)
    _domain(drawing, 2, 2, 346, 288, "cluster")
    _domain(drawing, 12, 26, 326, 134, "rack")
    _domain(drawing, 12, 168, 326, 112, "next rack")
    _domain(drawing, 22, 50, 306, 100, "node")
    _domain(drawing, 22, 192, 306, 80, "next node")
    drawing.box(30, 76, 86, 66, "training process", colour=_STATE, chars=9)
    for x, peer in ((136, "Peer memory"), (240, "")):
        drawing.box(x, 90, 88, 38, "Host memory" if peer else "Local SSDs", colour=_STORE, chars=8)
        drawing.box(x, 218, 88, 38, peer or "Local SSDs", colour=_STORE, chars=8)
        drawing.arrow((x + 44, 128), (x + 44, 218))
    drawing.arrow((116, 109), (136, 109))
    drawing.arrow((224, 109), (240, 109))
    drawing.box(40, 312, 120, 36, "Remote store", colour=_STORE)
    drawing.arrow((60, 142), (60, 312))
    drawing.text(348, 376, "does it survive a failure of the ...", "end", muted=True)
    _table(drawing, 2, 398, 122, 60, 20)
    return drawing


def _domain(drawing: Drawing, x: float, y: float, width: float, height: float, name: str) -> None:
    """Draw something that fails as a whole, with its name in the corner."""
    drawing.box(x, y, width, height, dash="4 3")
    drawing.text(x + 8, y + 12, name, "start", muted=True)


def _table(drawing: Drawing, left: float, y: float, first: float, step: float, leading: float) -> None:
    """Draw a row per tier with a mark for each kind of failure, and a key of the marks."""
    columns = [first + step * (i + 0.5) for i in range(len(_FAILURES))]
    for x, failure in zip(columns, _FAILURES, strict=True):
        drawing.text(x, y, failure, bold=True)
    for name, cost, survived in _TIERS:
        y += leading
        drawing.line((left, y - 5), (drawing.width - left, y - 5), thick=0.5)
        y += leading / 2
        drawing.text(left, y, name, "start", bold=True)
        for x, share in zip(columns, survived, strict=True):
            drawing.circle(x, y + (leading / 2 if drawing.width == WIDE else 0), 7, _STATE, share)
        y += leading * 0.9
        drawing.text(left, y, cost, "start", muted=True, size=drawing.size - 1)
        y -= leading * 0.3
    y += 2.2 * leading
    for x, (share, meaning) in zip(_key(drawing), _MARKS, strict=True):
        drawing.circle(x + 8, y, 7, _STATE, share)
        drawing.text(x + 22, y, meaning, "start", muted=True)


def _key(drawing: Drawing) -> tuple[float, ...]:
    return (180, 290, 580) if drawing.width == WIDE else (0, 86, 296)
