"""A papermill engine whose kernel is a forked copy of a process that has done the imports.

Starting a kernel and importing the libraries takes longer than most notebooks. Here both are done once: every
notebook gets a fresh copy of the prepared process, with a namespace, a working folder, an environment and random
numbers of its own, and its copy ends with it. Papermill finds the engine by the name ``ettr``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ettr.core.errors import EttrError
from ettr.notebook.copies import MOST_OUTPUT_BYTES, UNDRAWN, Copy, Died, TooMuchOutput, forked, prepared

NAME = "ettr"
TOOK_TOO_LONG, DIED, TOO_MUCH = "CellTimeoutError", "DeadKernelError", "OutputTooLarge"
WRITTEN = "ettr_written"  # the key of the notebook's metadata for the files that it wrote
OURS = (TOOK_TOO_LONG, DIED, TOO_MUCH, UNDRAWN)
"""Names of the errors that come from here, and not from a cell."""


def works_here() -> bool:
    """Whether this system can fork a prepared process safely: Linux can."""
    return sys.platform == "linux"


def prepare() -> None:
    """Start the process that forks, where it can be used, so that no run has to wait for it."""
    if works_here():
        prepared()


class ForkingEngine:
    """Runs each notebook in a forked copy of a prepared process.

    It has the methods of ``papermill.engines.Engine`` without being one: papermill loads it while it is itself being
    loaded.
    """

    @classmethod
    def execute_notebook(
        cls,
        nb: Any,
        kernel_name: str,
        output_path: str | None = None,
        progress_bar: bool = True,
        log_output: bool = False,
        autosave_cell_every: int = 30,
        **options: Any,
    ) -> Any:
        """Run a notebook and report its state to papermill; the arguments are those of papermill's engines."""
        from papermill.engines import NotebookExecutionManager

        state = NotebookExecutionManager(nb, output_path, log_output, progress_bar, autosave_cell_every)
        state.notebook_start()
        try:
            cls.execute_managed_notebook(state, kernel_name, **options)
        finally:
            state.cleanup_pbar()
            state.notebook_complete()
        return state.nb

    @classmethod
    def nb_kernel_name(cls, nb: Any, name: str | None = None) -> str:
        """The kernel that the notebook asks for."""
        from papermill.utils import nb_kernel_name

        return str(nb_kernel_name(nb, name))

    @classmethod
    def nb_language(cls, nb: Any, language: str | None = None) -> str:
        """The language that the notebook is in."""
        from papermill.utils import nb_language

        return str(nb_language(nb, language))

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: Any,
        kernel_name: str,
        *,
        execution_timeout: float | None = None,
        resources: Any = None,
        kept_out: str = "",
        **_: Any,
    ) -> None:
        """Run the cells in order and stop at the first error.

        Parameters
        ----------
        nb_man : papermill.engines.NotebookExecutionManager
            The notebook with its state.
        kernel_name : str
            Taken as given: the kernel is always this interpreter.
        execution_timeout : float, optional
            Longest time that the whole notebook may take. [s]
        resources : dict, optional
            ``{"metadata": {"path": ...}}`` for a working folder, as nbclient has it.
        kept_out : str
            A folder in which the notebook may change nothing; empty for none.
        """
        from nbclient import NotebookClient

        from ettr.notebook.drawing import Drawing  # papermill loads this module at every start

        cwd = ((resources or {}).get("metadata") or {}).get("path") or os.getcwd()
        deadline = time.monotonic() + execution_timeout if execution_timeout else None
        reader = NotebookClient(nb_man.nb)
        reader.reset_execution_trackers()
        with forked(cwd, kept_out) as run, Drawing(nb_man.nb) as drawing:
            for index, cell in enumerate(nb_man.nb.cells):
                try:
                    nb_man.cell_start(cell, index)
                    stopped = False
                    if cell.cell_type == "code" and cell.source.strip():
                        stopped = _execute(run, reader, cell, index, deadline, execution_timeout)
                        drawing.take(cell)
                    if stopped:
                        nb_man.cell_exception(cell, cell_index=index)
                        break
                finally:
                    nb_man.cell_complete(cell, cell_index=index)
            nb_man.nb.metadata[WRITTEN] = list(run.written)


def _execute(run: Copy, reader: Any, cell: Any, index: int, deadline: float | None, limit_s: float | None) -> bool:
    """Run one cell into its outputs; whether the notebook ends here."""
    reader.clear_before_next_output = False
    try:
        for message in _joined(run.execute(cell.source, deadline)):
            _put(reader, message, cell, index)
    except TimeoutError:
        return _stopped(reader, cell, index, TOOK_TOO_LONG, f"it took longer than {limit_s:g} s")
    except Died:
        return _stopped(reader, cell, index, DIED, "its kernel died")
    except TooMuchOutput:
        return _stopped(reader, cell, index, TOO_MUCH, f"it put out more than {MOST_OUTPUT_BYTES / 1e6:g} MB")
    failed = any(output.output_type == "error" for output in cell.outputs)
    if run.error and not failed:  # the notebook does not let its errors be shown
        failed = _stopped(reader, cell, index, *run.error)
    return failed and "raises-exception" not in cell.metadata.get("tags", [])


def _stopped(reader: Any, cell: Any, index: int, name: str, text: str) -> bool:
    """Say in the cell's outputs why it did not come to its end."""
    _put(reader, {"msg_type": "error", "content": {"ename": name, "evalue": text, "traceback": [text]}}, cell, index)
    return True


def _joined(messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages, with what one stream wrote in pieces as one, up to an error too."""
    name, pieces = "", list[str]()

    def whole() -> Iterator[dict[str, Any]]:
        if pieces:
            yield {"msg_type": "stream", "content": {"name": name, "text": "".join(pieces)}}
            pieces.clear()

    try:
        for message in messages:
            is_stream, content = message["msg_type"] == "stream", message["content"]
            if not is_stream or content["name"] != name:
                yield from whole()
            if is_stream:
                name = content["name"]
                pieces.append(content["text"])
            else:
                yield message
    except (TimeoutError, EttrError):
        yield from whole()
        raise
    yield from whole()


def _put(reader: Any, message: dict[str, Any], cell: Any, index: int) -> None:
    """Let nbclient turn a message into an output, and join one stream's outputs."""
    header = {"msg_type": message["msg_type"]}
    reader.process_message({**message, "header": header, "parent_header": {}}, cell, index)
    if message["msg_type"] == "stream" and len(cell.outputs) > 1:
        before, last = cell.outputs[-2:]
        if before.output_type == last.output_type == "stream" and before.name == last.name:
            before.text += last.text
            cell.outputs.pop()
