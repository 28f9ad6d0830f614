"""Still pictures of charts, drawn beside notebooks.

Vega runs inside a process and lets nothing else go on there meanwhile. So it has one of its own, a forked copy of
the prepared process, which goes from one notebook to the next.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from nbformat.v4 import new_output

from ettr.charts import render
from ettr.errors import EttrError
from ettr.notebook.copies import DRAW, UNDRAWN_TYPE, prepared
from ettr.notebook.engine import UNDRAWN


class CannotDraw(EttrError):
    """Vega cannot draw a chart."""


class Drawer:
    """A process that draws one chart after another."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            prepared().fork(theirs, DRAW)
        self._pipe = Connection(ours.detach())

    def draw(self, spec: dict[str, Any]) -> dict[str, Any]:
        """The forms of a chart by MIME type, as :func:`ettr.charts.render.mime_bundle` has them."""
        try:
            self._pipe.send_bytes(json.dumps(spec).encode())
            answer: dict[str, Any] = json.loads(self._pipe.recv_bytes())
        except (EOFError, OSError) as error:
            raise CannotDraw("the process that draws it died") from error
        if "error" in answer:
            raise CannotDraw(answer["error"])
        return answer

    def is_alive(self) -> bool:
        return not self._pipe.poll()  # it says nothing of itself, so this is its end

    def close(self) -> None:
        self._pipe.close()


class Drawing:
    """Draws the charts of one notebook while it goes on."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._drawer: Drawer | None = None
        self._drawn: list[tuple[Any, Any, Future[dict[str, Any]]]] = []

    def __enter__(self) -> Drawing:
        return self

    def take(self, cell: Any) -> None:
        """Begin with the charts that a cell has shown."""
        for output in cell.outputs:
            spec = output.get("data", {}).pop(UNDRAWN_TYPE, None)
            if spec is not None:
                self._drawer = self._drawer or _at_hand()
                self._drawn.append((cell, output, self._pool.submit(self._drawer.draw, spec)))

    def __exit__(self, *_: object) -> None:
        for cell, output, bundle in self._drawn:
            try:
                output.data.update(bundle.result())
            except CannotDraw as error:
                told = f"a chart cannot be drawn: {error}"
                at = next(number for number, other in enumerate(cell.outputs) if other is output)
                cell.outputs[at] = new_output("error", ename=UNDRAWN, evalue=told, traceback=[told])
        self._pool.shutdown()
        if self._drawer:
            prepared().idle_drawers.append(self._drawer)


def _at_hand() -> Drawer:
    idle = prepared().idle_drawers
    with contextlib.suppress(IndexError):
        while True:
            drawer: Drawer = idle.pop()
            if drawer.is_alive():
                return drawer
            drawer.close()
    return Drawer()


def serve(pipe: Connection) -> None:
    """Draw what comes over the pipe until it is closed; never returns."""
    from ettr.notebook.child import leave

    leave()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    try:
        for spec in _specifications(pipe):
            try:
                answer = render.mime_bundle(spec)
            except Exception as error:
                answer = {"error": _in_a_line(error)}
            pipe.send_bytes(json.dumps(answer).encode())
    finally:
        os._exit(0)


def _in_a_line(error: Exception) -> str:
    """What went wrong, without the places in Vega's own code."""
    return " ".join(str(error).partition("\n    at ")[0].split())[:500]


def _specifications(pipe: Connection) -> Iterator[dict[str, Any]]:
    with contextlib.suppress(EOFError, OSError):
        while True:
            yield json.loads(pipe.recv_bytes())
