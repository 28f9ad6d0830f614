"""Going on with fewer replicas against waiting for a node."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from ettr.core.units import ROUNDING
from ettr.scenario import Scenario
from ettr.spares.demand import repair_of
from ettr.spares.simulated import check_runs, half_width, nodes_ratio, ratio_parts, runs_of, whole_sizes

WAITS, SHRINKS = "waits for a node", "goes on with fewer replicas"


def elastic_by_pool(
    scenario: Scenario, sizes: Iterable[int], n_replicas: int, n_least: int, n_runs: int = 200, seed: int = 0
) -> pd.DataFrame:
    """ETTR over the number of hot spares of a job that waits for nodes, and of one that goes on with fewer replicas.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``; an ``elastic`` of its own gives way to the one here.
    sizes : iterable of int
        Numbers of hot spares. [nodes]
    n_replicas, n_least : int
        Replicas of the elastic job, and those that it needs to go on. [count]
    n_runs, seed : int
        As for :func:`by_pool_size`.

    Returns
    -------
    DataFrame
        A row a size: ``n_spares`` [nodes], ``n_runs``; ``ettr_waits``, ``ettr_shrinks`` with ``_low``, ``_high``;
        ``more`` (the second less the first) with ``more_low``, ``more_high``, 95%, paired run by run; ``cost_waits``,
        ``cost_shrinks`` (nodes paid for over those of the job, over the ETTR); ``degraded_h``, ``waiting_h`` of the
        elastic job and ``waited_h`` of the other, means of a run [h].

    Raises
    ------
    InputError
        A scenario without repair, more replicas than nodes, or fewer than two runs.
    NotModelled, NoProgress
        As of :func:`ettr.simulate`.

    Notes
    -----
    ETTR counts training at full speed: the shortfall while replicas are out is not productive. A replica is out whole
    if one of its nodes is missing. What the elastic job saves of waiting it pays in restarts, one for each time that
    nodes come back, and in the pace of the replicas that are left.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    >>> table = elastic_by_pool(run, [4], n_replicas=128, n_least=116, n_runs=40)
    >>> table[["ettr_waits", "ettr_shrinks"]].round(2).to_numpy().tolist()
    [[0.59, 0.89]]
    """
    repair_of(scenario)
    check_runs(n_runs)
    waits = scenario.override({"elastic": None})
    shrinks = scenario.override({"elastic": {"n_replicas": n_replicas, "n_least": n_least}})
    return pd.DataFrame([_row(waits, shrinks, size, n_runs, seed) for size in whole_sizes(sizes)])


def _row(waits: Scenario, shrinks: Scenario, size: int, n_runs: int, seed: int) -> dict[str, float]:
    still, going = (runs_of(run, size, n_runs, seed) for run in (waits, shrinks))
    (first, moves), (second, other_moves) = ratio_parts(still), ratio_parts(going)
    wide, first_wide, second_wide = (half_width(one) for one in (other_moves - moves, moves, other_moves))
    more, paid = second - first, nodes_ratio(waits, size)
    if abs(more) + wide < ROUNDING:  # the same runs, whose hours are added up in another order
        more = wide = 0.0
    return {
        "n_spares": size,
        "n_runs": n_runs,
        "ettr_waits": first,
        "ettr_waits_low": first - first_wide,
        "ettr_waits_high": first + first_wide,
        "ettr_shrinks": second,
        "ettr_shrinks_low": second - second_wide,
        "ettr_shrinks_high": second + second_wide,
        "more": more,
        "more_low": more - wide,
        "more_high": more + wide,
        "cost_waits": paid / first,
        "cost_shrinks": paid / second,
        "degraded_h": float(going.runs["degraded_h"].mean()),
        "waiting_h": float(going.runs["waiting_h"].mean()),
        "waited_h": float(still.runs["waiting_h"].mean()),
    }


def crossing(frame: pd.DataFrame) -> int | None:
    """Fewest spares from which on going on with fewer replicas is no longer surely better; None if it always is.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`elastic_by_pool`.

    Returns
    -------
    int or None
        The least size of those in the frame from which on no 95% interval of ``more`` lies above 0. [nodes]

    Examples
    --------
    >>> frame = pd.DataFrame({"n_spares": [4, 8, 16], "more_low": [0.2, 0.01, -0.001]})
    >>> crossing(frame)
    16
    """
    ordered = frame.sort_values("n_spares")
    better = (ordered["more_low"] > 0).to_numpy()
    if better.all():
        return None
    after = len(better) - int(better[::-1].argmax()) if better.any() else 0
    return int(ordered["n_spares"].iloc[after]) if after < len(better) else None
