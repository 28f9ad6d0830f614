"""Workers of a sweep: a Dask cluster on this machine or an existing one, and the distribution of tasks."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

from ettr.core import durable, extras
from ettr.core.compiled import can_cache
from ettr.core.errors import EttrError, InputError

CONNECT_TIMEOUT_S = 10
LOOKED_AFTER_EVERY_S = 1.0
_ADDRESS = re.compile(r"inproc://\S+|((tcp|tls|ws|wss|ucx)://)?(\[[0-9a-fA-F:.]+\]|[^\s/:]+):\d{1,5}")
_LOST = "the connection to the scheduler was lost; finished points are kept, and the same command resumes the sweep"
AHEAD = 2
"""Queued tasks per thread: enough to keep it busy, and few to lose with the scheduler."""
LOCAL_CLUSTER = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.deploy.lost-worker-timeout": "365 days",
}
"""Dask's settings for workers on this machine: no dashboard, and no timeout for restarting a dead worker, which may
take minutes on a busy machine."""


class SchedulerLost(EttrError):
    """The connection to the scheduler was lost; finished points are kept."""


def check(workers: int | None, scheduler: str | None) -> None:
    """Raise for invalid workers before anything starts."""
    if scheduler is not None and workers is not None:
        raise InputError("workers conflicts with scheduler, which has its own workers; use one of them")
    if workers is not None and workers < 1:
        raise InputError(f"workers must be >= 1, got {workers}")


@contextlib.contextmanager
def connected(workers: int | None, scheduler: str | None, most: int) -> Iterator[Any]:
    """Yield a Dask client, of a new cluster on this machine unless there is a scheduler.

    Dask runs any code that it receives. A new cluster requires a certificate that only this process and its workers
    have in memory. Anyone who can reach a scheduler without certificates can run code on it.

    Parameters
    ----------
    workers : int, optional
        Processes on this machine; by default one per core.
    scheduler : str, optional
        Address of a running scheduler, e.g. ``tcp://10.0.0.1:8786`` or ``tls://...``, or its scheduler file.
    most : int
        Largest useful number of processes.

    Raises
    ------
    InputError
        If there is no scheduler at that address.
    """
    with extras.needed("sweep"):
        import cryptography  # noqa: F401  (Dask makes its certificates with it)
        import dask
        from distributed import Client, LocalCluster, Security
    with _silent(), contextlib.ExitStack() as stack:
        if scheduler is None:
            # Dask imports modules from this folder, so nobody else may have write access
            folder = str(stack.enter_context(durable.temporary_folder()))
            settings = {**LOCAL_CLUSTER, "temporary-directory": folder, **_compiled_in(folder)}
            stack.enter_context(dask.config.set(settings))
            try:
                cluster = LocalCluster(
                    n_workers=min(workers or os.cpu_count() or 1, most),
                    threads_per_worker=1,
                    security=True,
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,  # notebooks run in separate processes
                    silence_logs=logging.CRITICAL,
                )
            except (RuntimeError, OSError) as error:
                raise EttrError(
                    f"the workers did not start: {' '.join(str(error).split())[:200]}. In a script, call this under "
                    f'`if __name__ == "__main__":`; also check for a file in this folder with the name of a module'
                ) from error
            yield stack.enter_context(Client(stack.enter_context(cluster)))
            return
        by_file = Path(scheduler).suffix == ".json"
        if not by_file and not _ADDRESS.fullmatch(scheduler):
            raise InputError(f"scheduler must be an address such as tcp://10.0.0.1:8786 or a file, got {scheduler!r}")
        if by_file and not Path(scheduler).is_file():
            raise InputError(f"scheduler file {scheduler} does not exist")
        if scheduler.startswith("tls:") and not Security().get_connection_args("client").get("ssl_context"):
            raise InputError(
                f"{scheduler} needs certificates: set them in Dask's configuration, e.g. in the environment as "
                f"DASK_DISTRIBUTED__COMM__TLS__CA_FILE, and with __CLIENT__CERT and __CLIENT__KEY instead of __CA_FILE"
            )
        try:
            options = {"scheduler_file": scheduler} if by_file else {"address": scheduler}
            client = Client(**options, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError, KeyError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(f"no scheduler responds at {scheduler} within {CONNECT_TIMEOUT_S} s: {reason}") from error
        yield stack.enter_context(client)


def _compiled_in(folder: str) -> dict[str, str]:
    """Return Dask's setting of a cache for compiled code in a folder, if there is no other."""
    return {} if can_cache() else {"distributed.nanny.environ.NUMBA_CACHE_DIR": os.path.join(folder, "compiled")}


def stream(
    client: Any,
    work: Callable[[Any], Any],
    waiting: deque[Any],
    piece: Callable[[Any], Any],
    look: Callable[[int], None],
) -> Iterator[tuple[Hashable, Any]]:
    """Yield futures of ``work(piece(key))`` for all waiting keys, each with its key, in order of completion.

    Only a few tasks per thread are submitted at a time, so that workers can join and leave, and little is lost in a
    failure. The task of a dead worker is repeated by another one.

    Parameters
    ----------
    client : distributed.Client
        Client from :func:`connected`.
    work : callable
        Function of an importable module.
    waiting : deque
        Keys, taken from the left. More may be added meanwhile.
    piece : callable
        Function from a key to the argument for the worker.
    look : callable
        Called with the number of threads after every second without a result.

    Yields
    ------
    key, distributed.Future
        The error of a future is that of the work, or ``KilledWorker`` if its worker died repeatedly.

    Raises
    ------
    SchedulerLost
        If the connection to the scheduler is lost.
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
    """Number of tasks that the workers can run in parallel."""
    if client.status != "running":
        raise SchedulerLost(_LOST)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return sum(worker["nthreads"] for worker in workers)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Silence Dask's log messages of lost connections, which are reported as a single error instead."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "distributed.core", "tornado")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
