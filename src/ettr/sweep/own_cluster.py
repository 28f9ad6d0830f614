"""A Dask cluster on this machine that nobody reaches but the process that starts it.

Dask runs what anybody sends. So all that listens here asks for a certificate that only this process and its workers
hold, in memory, and that Dask makes. ``LocalCluster(security=True)`` makes the same ones, but its scheduler and its
workers serve HTTP to anybody as well, which no setting of theirs turns off. Modules are imported from no folder that
others may write to.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import tempfile
from collections.abc import Iterator
from typing import Any

import dask
from distributed import Nanny, Scheduler, Security, SpecCluster, Worker

from ettr.notebook.forking import when_parent_ends

_HOST = "127.0.0.1"
_GONE_FOR_GOOD = "365 days"
"""How long Dask waits for a worker that is started anew, before it gives up the place. A busy machine takes minutes."""


class OwnScheduler(Scheduler):
    """A scheduler without an HTTP server."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start none: it would show anybody what runs."""


class OwnWorker(Worker):
    """A worker without an HTTP server, which ends with its cluster even if it is stopped by then.

    What it writes for a while lies in `scratch`, which goes with the cluster, however the worker ended.
    """

    def __init__(self, *arguments: Any, scratch: str, **options: Any) -> None:
        when_parent_ends(signal.SIGCONT)
        tempfile.tempdir = scratch
        super().__init__(*arguments, **options)

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start none: it would show anybody what runs."""


@contextlib.contextmanager
def started(n_workers: int) -> Iterator[SpecCluster]:
    """A cluster of so many workers of one thread each.

    Raises
    ------
    RuntimeError, OSError
        If they do not start.
    """
    security = Security.temporary()
    with (
        tempfile.TemporaryDirectory(prefix="ettr-", ignore_cleanup_errors=True) as folder,
        dask.config.set({"distributed.deploy.lost-worker-timeout": _GONE_FOR_GOOD}),
    ):
        common = {"host": _HOST, "protocol": "tls://", "security": security, "local_directory": folder}
        worker = {
            **common,
            "nthreads": 1,
            "memory_limit": 0,  # notebooks run in processes of their own
            "worker_class": OwnWorker,
            "scratch": folder,
            "silence_logs": logging.CRITICAL,
        }
        with SpecCluster(
            workers={number: {"cls": Nanny, "options": worker} for number in range(n_workers)},
            scheduler={"cls": OwnScheduler, "options": {**common, "dashboard": False}},
            security=security,
            silence_logs=logging.CRITICAL,
        ) as cluster:
            yield cluster
