"""The logs that the chapter reads."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ettr import evidence, logs
from ettr.core.results import FailureLog
from ettr.logs.training_logs import GROUPS, HARDWARE
from ettr_book.chapters.failure_log.made_log import made_log


def diary_log() -> FailureLog:
    """The stops that the diary of GLM-130B puts down to a node or the network, as a failure log.

    A node that was only suspected of being slow is left out, as in the scenario ``glm-130b``.

    Examples
    --------
    >>> log = diary_log()
    >>> len(log.failures), log.n_nodes
    (11, 96)
    """
    diary = evidence.table("glm130b_events")
    hardware = (diary["kind"].map(GROUPS) == HARDWARE) & (diary["kind"] != "suspect_slow_node")
    frame = pd.DataFrame({"start": diary["time"], "component": diary["kind"], "planned": ~hardware})
    n_nodes = evidence.figure("glm130b_n_gpus").value / evidence.figure("glm130b_gpus_per_node").value
    window = (diary["time"].iloc[0], diary["time"].iloc[-1])
    return logs.from_frame(frame, int(n_nodes), window, source="Diary of GLM-130B")


def failure_log(path: str = "", **given: Any) -> FailureLog:
    """The failure log of a file, or the made-up one where no path is given.

    Parameters
    ----------
    path : str
        As for :func:`ettr.logs.read`; empty for the made-up log.
    **given
        As for :func:`ettr.logs.read`. What is empty or 0 is taken as not given, as notebooks have it.
    """
    if not path:
        return made_log()
    return logs.read(path, **{name: value for name, value in given.items() if value})
