"""Workers: a Dask cluster on this machine or one that is already there, and work handed to it piece by piece."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import re
import tempfile
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

from ettr.core import extras
from ettr.core.errors import EttrError, InputError

CONNECT_TIMEOUT_S = 10
LOOKED_AFTER_EVERY_S = 1.0
_ADDRESS = re.compile(r"inproc://\S+|((tcp|tls|ws|wss|ucx)://)?(\[[0-9a-fA-F:.]+\]|[^\s/:]+):\d{1,5}")
_LOST = "the scheduler went away; what was finished is kept, and the same command goes on from there"
AHEAD = 2
"""Pieces that wait for each thread: enough to keep it busy, and few that a lost scheduler takes along."""
OWN_CLUSTER = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.deploy.lost-worker-timeout": "365 days",
}
"""Dask's settings for workers on this machine: no page of what runs is served, and a worker that ended is started again
however long that takes, which on a busy machine may be minutes."""


class SchedulerLost(EttrError):
    """The connection to the scheduler broke; what was finished is kept."""


def check(workers: int | None, scheduler: str | None) -> None:
    """Refuse workers that cannot be, before anything is begun."""
    if scheduler is not None and workers is not None:
        raise InputError("workers are those of the scheduler: give either of the two")
    if workers is not None and workers < 1:
        raise InputError(f"workers must be >= 1, got {workers}")


@contextlib.contextmanager
def connected(workers: int | None, scheduler: str | None, most: int) -> Iterator[Any]:
    """A Dask client, with a cluster of its own on this machine unless a scheduler is named.

    Dask runs what anybody sends. A cluster of its own asks for a certificate that only this process and its workers
    hold, in memory. Who reaches a scheduler that asks for none runs code there.

    Parameters
    ----------
    workers : int, optional
        Processes on this machine; as many as it has cores if not given.
    scheduler : str, optional
        Address of a running scheduler, e.g. ``tcp://10.0.0.1:8786`` or ``tls://...``, or its scheduler file.
    most : int
        Processes that there is work for; no more of them are started.

    Raises
    ------
    InputError
        If nothing answers at that address.
    """
    with extras.needed("sweep"):
        import cryptography  # noqa: F401  (Dask makes its certificates with it)
        import dask
        from distributed import Client, LocalCluster, Security
    with _silent(), contextlib.ExitStack() as stack:
        if scheduler is None:
            # Dask imports modules from this folder, so it is none that others may write to
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ettr-", ignore_cleanup_errors=True))
            stack.enter_context(dask.config.set(OWN_CLUSTER))
            try:
                cluster = LocalCluster(
                    n_workers=min(workers or os.cpu_count() or 1, most),
                    threads_per_worker=1,
                    security=True,
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,  # notebooks run in processes of their own
                    local_directory=folder,
                    silence_logs=logging.CRITICAL,
                )
            except (RuntimeError, OSError) as error:
                raise EttrError(
                    f"the workers did not start: {' '.join(str(error).split())[:200]}. In a script, call this below "
                    f'`if __name__ == "__main__":`; a file in this folder may also hide a module of Python'
                ) from error
            yield stack.enter_context(Client(stack.enter_context(cluster)))
            return
        by_file = Path(scheduler).suffix == ".json"
        if not by_file and not _ADDRESS.fullmatch(scheduler):
            raise InputError(f"a scheduler has an address such as tcp://10.0.0.1:8786, or a file; got {scheduler!r}")
        if by_file and not Path(scheduler).is_file():
            raise InputError(f"there is no scheduler file {scheduler}")
        if scheduler.startswith("tls:") and not Security().get_connection_args("client").get("ssl_context"):
            raise InputError(
                f"{scheduler} needs certificates: name them in Dask's configuration, e.g. in the environment as "
                f"DASK_DISTRIBUTED__COMM__TLS__CA_FILE, and __CLIENT__CERT and __CLIENT__KEY in place of __CA_FILE"
            )
        try:
            options = {"scheduler_file": scheduler} if by_file else {"address": scheduler}
            client = Client(**options, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError, KeyError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(f"no scheduler answers at {scheduler} within {CONNECT_TIMEOUT_S} s: {reason}") from error
        yield stack.enter_context(client)


def stream(
    client: Any,
    work: Callable[[Any], Any],
    waiting: deque[Any],
    piece: Callable[[Any], Any],
    look: Callable[[int], None],
) -> Iterator[tuple[Hashable, Any]]:
    """Futures of ``work(piece(key))`` for all keys that wait, each with its key as soon as it is there.

    Only a few pieces a thread are handed out at a time, so that workers may come and go, and little is on its way when
    something breaks. What a dead worker was at is done again by another one.

    Parameters
    ----------
    client : distributed.Client
        From :func:`connected`.
    work : callable
        A function of an importable module.
    waiting : deque
        Keys, taken from the left. More may be added while results come.
    piece : callable
        From a key to what is sent to the worker.
    look : callable
        Told every second in which nothing is done how many threads there are.

    Yields
    ------
    key, distributed.Future
        Its error is what the work raised, or ``KilledWorker`` for a piece whose worker died again and again.

    Raises
    ------
    SchedulerLost
        If the scheduler goes away.
    """
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    keys: dict[Any, Hashable] = {}
    try:
        while True:
            while waiting and len(keys) < AHEAD * max(1, _threads(client)):
                key = waiting.popleft()
                future = client.submit(work, piece(key), pure=False)
                keys[future] = key
                future.add_done_callback(done.put)
            if not keys:
                return
            try:
                future = done.get(timeout=LOOKED_AFTER_EVERY_S)
            except queue.Empty:
                look(_threads(client))
                continue
            if future.status in ("cancelled", "lost"):
                raise SchedulerLost(_LOST)
            yield keys.pop(future), future
            future.release()
    finally:
        for future in keys:
            with contextlib.suppress(Exception):
                future.cancel(force=True)


def _threads(client: Any) -> int:
    """How many pieces the workers can do side by side."""
    if client.status != "running":
        raise SchedulerLost(_LOST)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return sum(worker["nthreads"] for worker in workers)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep Dask's own reports of lost connections off the screen: what they mean is said as one error."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "distributed.core", "tornado")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
