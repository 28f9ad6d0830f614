"""Silent failures, which are detected long after they struck."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.budget.intervals import best_interval_min
from ettr.checkpoint import checkpoints_to_keep
from ettr.core.errors import OutsideValidity
from ettr.core.sentences import say
from ettr.core.units import H_PER_DAY
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import with_marks
from ettr.plots.theme import BLUE, NoChart, finish, touchable
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL
from ettr_book.chapters.checkpoint_tiers.bandwidth import with_free_store
from ettr_book.chapters.checkpoint_tiers.tiers import store_only

_LATENCIES_H = (0.1, 720.0)
_SILENT = "Silent"


def silent_share(scenario: Scenario, mode: str) -> tuple[float, str]:
    """Return the share of silent failures and the source of that share.

    Parameters
    ----------
    scenario : Scenario
        Its modes with a latency count as silent, else its mode named `mode`; without either, the mode of that name in
        the published table of Llama 3.
    mode : str
        Name of the mode.

    Examples
    --------
    >>> share, whose = silent_share(Scenario.load("rsc-1"), "Silent Data Corruption")
    >>> round(share, 4), whose
    (0.0143, 'Llama 3')
    """
    modes = scenario.failures.modes
    names = [candidate.name for candidate in modes if candidate.latency_h is not None] or [
        candidate.name for candidate in modes if candidate.name == mode
    ]
    if names:
        weights = dict(zip(scenario.mode_names, scenario.mode_weights, strict=True))
        return float(sum(weights[name] for name in names)), "the scenario"
    table = evidence.table("llama3_interruptions").set_index("component")["n_events"]
    return float(table.get(mode, 0.0) / table.sum()), "Llama 3"


def found_late(scenario: Scenario, share: float, latency_h: float, n_points: int = 25) -> pd.DataFrame:
    """Return the ETTR lost to silent failures over their latency, to first order.

    Parameters
    ----------
    scenario : Scenario
        The run; computed with its store alone, checkpoints durable at once, and the best interval for failures that are
        detected at once.
    share : float
        Share of all failures that are silent.
    latency_h : float
        A latency to include. [h]
    n_points : int
        Latencies, from six minutes to thirty days.

    Returns
    -------
    DataFrame
        ``latency_h`` [h], ``ettr``, ``lost_points`` (against a latency of zero, in hundredths); points without an
        answer are left out.
    """
    run = with_free_store(scenario)
    run = run.override({INTERVAL: best_interval_min(run)})
    among = np.append(np.geomspace(*_LATENCIES_H, n_points), [latency_h, H_PER_DAY])
    latencies = np.append(0.0, np.unique(among))
    ettr = np.array([_ettr(_with_silent(run, share, float(latency))) for latency in latencies])
    points = pd.DataFrame({"latency_h": latencies, "ettr": ettr, "lost_points": 100 * (ettr[0] - ettr)})
    return points[points["latency_h"] > 0].dropna(ignore_index=True)


def checkpoints_to_hold(scenario: Scenario, latency_h: float) -> int:
    """Return how many old checkpoints to keep so that one is clean after a given latency. [count]

    Examples
    --------
    >>> checkpoints_to_hold(Scenario.load("llama3-405b"), 1.0)
    9
    """
    run = store_only(scenario)
    between_h = float(best_interval_min(run)) / 60 + run.stall_h
    return int(checkpoints_to_keep(latency_h, between_h))


def _with_silent(run: Scenario, share: float, latency_h: float) -> Scenario:
    """Return the run with one kind of silent failure; its other values are the means over the modes."""
    means = {
        "detection_min": run.detection_h * 60,
        "restart_min": max(0.0, run.recovery_h - run.detection_h - run.queue_h - run.load_h) * 60,
    }
    rate_h = run.node_rate_per_h * run.n_nodes
    factor = run.job_rate_per_h / rate_h if rate_h > 0 else 1.0
    shares = {_SILENT: share, "Noticed": 1 - share}
    modes = [
        {"name": name, "share": of, "latency_h": latency_h if name == _SILENT else None, "factor": factor, **means}
        for name, of in shares.items()
        if of > 0
    ]
    return run.override({"failures.modes": modes})


def _ettr(run: Scenario) -> float:
    try:
        return float(budget.first_order(run).ettr)
    except OutsideValidity:
        return float("nan")


def late(scenario: Scenario, mode: str, latency_h: float) -> Any:
    """Draw the ETTR lost to silent failures over their latency.

    Parameters
    ----------
    scenario : Scenario
        The run.
    mode : str
        Name of the silent mode, as for :func:`silent_share`.
    latency_h : float
        The latency of the title. [h]
    """
    share, whose = silent_share(scenario, mode)
    frame = found_late(scenario, share, latency_h)
    if frame.empty:
        return NoChart("to first order this run never ends.")
    across, up = builders.across("latency_h", ticks=5), builders.up("lost_points", domainMin=0)
    line = alt.Chart(frame).mark_line(color=BLUE)
    return finish(
        touchable(line.encode(x=across, y=up, tooltip=tooltips("latency_h", "lost_points", "ettr"))),
        title=say(
            "Corruption found after {latency:roughly} costs {lost:points}",
            "Corruption found after {latency:roughly} costs more than the first-order formula covers",
            latency=latency_h,
            lost=frame.set_index("latency_h")["lost_points"].div(100).get(latency_h),
        ),
        subtitle=with_marks(scenario.title, f"{share:.1%} of failures are silent, from {whose}"),
        description=f"A rising curve of the ETTR lost over the mean latency of silent failures, on a logarithmic axis. "
        f"At most, in points: {frame['lost_points'].max():.1f}.",
        height=260,
    )
