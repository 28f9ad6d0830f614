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

from ettr.core.errors import EttrError
from ettr.notebook import rendering
from ettr.notebook.copies import DRAW, UNDRAWN, UNDRAWN_TYPE, Died, prepared

_DIED = "the process that draws it died"


class CannotDraw(EttrError):
    """Vega cannot draw a chart."""


class Drawer:
    """A process that draws one chart after another."""

    def __init__(self) -> None:
        self._home = prepared()
        ours, theirs = socket.socketpair()
        with theirs:
            self._home.fork(theirs, DRAW)
        self._pipe = Connection(ours.detach())

    @classmethod
    def at_hand(cls) -> Drawer:
        """One that has nothing to do, or a new one."""
        idle = prepared().idle_drawers
        with contextlib.suppress(IndexError):
            while True:
                drawer: Drawer = idle.pop()
                if drawer.is_alive():
                    return drawer
                drawer.close()
        return cls()

    def draw(self, spec: str) -> dict[str, Any]:
        """The forms of a chart by MIME type, as :func:`ettr.notebook.rendering.mime_bundle` has them, from its JSON."""
        try:
            self._pipe.send_bytes(spec.encode())
            answer: dict[str, Any] = json.loads(self._pipe.recv_bytes())
        except (EOFError, OSError) as error:
            raise CannotDraw(_DIED) from error
        if "error" in answer:
            raise CannotDraw(answer["error"])
        return answer

    def is_alive(self) -> bool:
        return not self._pipe.poll()  # it says nothing of itself, so this is its end

    def rest(self) -> None:
        """Wait for the next notebook."""
        self._home.idle_drawers.append(self)

    def close(self) -> None:
        self._pipe.close()


class Drawing:
    """Draws the charts of one notebook while it goes on; they are in its outputs when the block ends.

    A chart that cannot be drawn is then an error of its cell.
    """

    def __init__(self, document: Any) -> None:
        self._document = document
        self._pool = ThreadPoolExecutor(1)
        self._drawer: Drawer | None = None
        self._drawn: dict[str, Future[dict[str, Any]]] = {}

    def __enter__(self) -> Drawing:
        return self

    def take(self, cell: Any) -> None:
        """Begin with the charts among the outputs of a cell."""
        for output in cell.get("outputs", []):
            if UNDRAWN_TYPE in output.get("data", {}):
                self._begin(output.data[UNDRAWN_TYPE])

    def __exit__(self, *_: object) -> None:
        for cell in self._document.cells:
            self.take(cell)  # a later cell may have put another chart in an earlier one's place
            for at, output in enumerate(cell.get("outputs", [])):
                spec = output.get("data", {}).pop(UNDRAWN_TYPE, None)
                if spec is None:
                    continue
                try:
                    output.data.update(self._begin(spec).result())
                except CannotDraw as error:
                    text = f"a chart cannot be drawn: {error}"
                    cell.outputs[at] = new_output("error", ename=UNDRAWN, evalue=text, traceback=[text])
        self._pool.shutdown()
        if self._drawer:
            self._drawer.rest()

    def _begin(self, spec: Any) -> Future[dict[str, Any]]:
        text = json.dumps(spec)
        if text not in self._drawn:
            self._drawn[text] = self._pool.submit(self._draw, text)
        return self._drawn[text]

    def _draw(self, spec: str) -> dict[str, Any]:
        try:
            self._drawer = self._drawer or Drawer.at_hand()
        except Died as error:
            raise CannotDraw(_DIED) from error
        return self._drawer.draw(spec)


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
                answer = rendering.mime_bundle(spec)
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
