"""Process that draws the charts of all notebooks of a prepared process.

The library that draws takes half a second to start, and a process in which it runs cannot be forked safely. Run this
file as a script with the descriptor of a socket. Each message on it brings the descriptor of a pipe, on which a
specification is answered by a picture. When the socket is closed, the process ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection

PR_SET_PDEATHSIG = 1
"""Option of prctl(2) for the signal that a process receives when its parent ends."""
DRAWN_WITHIN_S = 60
"""Longest time for a chart, after which the process is killed; its notebooks then draw their charts themselves."""


class ChartProcess:
    """The process, from the side of the prepared process and its forks."""

    def __init__(self) -> None:
        self._control, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with child_end:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(child_end.fileno())],  # without loading the package
                pass_fds=[child_end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def svg_of(self, specification: str) -> str:
        """Return the picture of a chart; drawn here if the process has ended.

        Raises
        ------
        ValueError
            The chart cannot be drawn.
        """
        try:
            mine, other = socket.socketpair()
            with Connection(mine.detach()) as pipe:
                with other:
                    socket.send_fds(self._control, [b"draw"], [other.fileno()])
                pipe.send_bytes(specification.encode())
                drawn, answer = pipe.recv_bytes() == b"drawn", pipe.recv_bytes().decode()
        except (EOFError, OSError):
            from ettr.notebook.rendering import svg_of

            return svg_of(specification)
        if not drawn:
            raise ValueError(answer)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._control.close()


def main() -> None:
    """Draw until the socket is closed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks for runs handles Ctrl-C
    control = socket.socket(fileno=int(sys.argv[1]))
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 16, 1)
        if not message:
            break
        signal.alarm(DRAWN_WITHIN_S)  # by default the end of the process, even while the library draws
        _answer(Connection(descriptors[0]))
        signal.alarm(0)


def _answer(pipe: Connection) -> None:
    """Draw one chart; a notebook that ended meanwhile needs no answer."""
    from vl_convert import vegalite_to_svg

    with pipe, contextlib.suppress(EOFError, OSError):
        try:
            answer = b"drawn", vegalite_to_svg(pipe.recv_bytes().decode())
        except ValueError as error:
            answer = b"not drawn", str(error)
        pipe.send_bytes(answer[0])
        pipe.send_bytes(answer[1].encode())


if __name__ == "__main__":
    main()
