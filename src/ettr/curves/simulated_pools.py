"""Tables on simulated pools of spares: as they are, with racks that fail whole, and with few repair crews."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from ettr import budget, spares
from ettr.curves.mechanisms import assumed_mechanisms
from ettr.curves.simulating import affordable_runs
from ettr.curves.spares import PooledRun, crews_of, sizes_around
from ettr.errors import NoProgress, NotModelled
from ettr.scenario import Scenario

ONE_BY_ONE, RACKS, CREWS = "nodes fail one by one", "racks fail too", "few repair crews"
"""Simulated pools."""

_FAILURES_A_SIZE, _FAILURES_A_RUN = 60_000, 10_000
_MOST_SIZES = 11
_DEAR = 6.0


def simulated_pools(
    run: PooledRun,
    rack_nodes: int = 9,
    crew_factor: float = 1.3,
    n_runs: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Cost, ETTR, waits and money over the number of hot spares, simulated: as it is, with racks, and with few crews.

    Parameters
    ----------
    run : PooledRun
        The run.
    rack_nodes : int
        Nodes of a rack; 2% of failures take one out. [nodes]
    crew_factor : float
        Nodes that are repaired at a time, over those in repair on average.
    n_runs, seed : int
        Runs of a size, fewer where they meet many failures, and their luck.

    Returns
    -------
    DataFrame
        ``pool`` (how nodes fail and are repaired), ``extra``, ``extra_low``, ``extra_high`` (cost less 1, 95%), and the
        columns of :func:`ettr.spares.by_pool_size`. Pools with which the job hardly gets on are left out. Of a run that
        meets more than 10,000 failures a part is simulated, and its hours and money are told for the whole.
    """
    n_crew = crews_of(run, crew_factor)
    expected = budget.exact(budget.simplified(run.scenario).scenario)
    part = min(1.0, _FAILURES_A_RUN / max(float(expected.n_failures), 1.0))
    n = affordable_runs(replace(expected, n_failures=part * expected.n_failures), n_runs, _FAILURES_A_SIZE)
    scenario, plain = (shortened(one, part) for one in (run.scenario, run.plain))
    sizes = some_sizes(*sizes_around(run), run.best.n_spares)
    frames = [_simulated(ONE_BY_ONE, scenario, sizes, n, seed)]
    if not run.own and run.scenario.n_nodes > 1:
        rack = {one.name: one for one in assumed_mechanisms(run.plain, run.asked.repair_h, rack_nodes)}
        modes = {"failures.modes": rack["Racks fail at once"].changes["failures.modes"]}
        frames.append(_simulated(RACKS, plain.override(modes), _wider(sizes, rack_nodes), n, seed))
        if run.in_repair > 0:
            limited = plain.override({"repair.n_crew": n_crew, "repair.cv": 1.0})
            frames.append(_simulated(CREWS, limited, _wider(sizes, math.ceil(run.in_repair / 2)), n, seed))
    found = pd.concat(frames, ignore_index=True)
    whole = {name: found[name] / part for name in found.columns if name.endswith(("_h", "_usd"))}
    return found.assign(**whole, **{f"extra{end}": found[f"cost{end}"] - 1 for end in ("", "_low", "_high")})


def paid_by_pool(simulated: pd.DataFrame) -> pd.DataFrame:
    """What is paid for spares and for waits, of nodes that fail one by one, where it is not far above the least.

    Parameters
    ----------
    simulated : DataFrame
        As from :func:`simulated_pools`.

    Returns
    -------
    DataFrame
        Rows whose ``held_usd`` and ``waited_usd`` together are at most six times the least of them; ``is_least``.
    """
    single = simulated[simulated["pool"] == ONE_BY_ONE]
    paid = single["held_usd"] + single["waited_usd"]
    near = single[paid <= _DEAR * paid.min()]
    return near.assign(is_least=paid.loc[near.index] == paid.min()).reset_index(drop=True)


def shortened(scenario: Scenario, part: float) -> Scenario:
    """The run with a part of its work."""
    return scenario.override({"job.productive_h": part * scenario.productive_h}) if part < 1 else scenario


def some_sizes(least: int, most: int, best: int) -> list[int]:
    """Not too many sizes from one to another, the best among them."""
    return sorted({*np.unique(np.round(np.linspace(least, most, _MOST_SIZES))).astype(int).tolist(), best})


def _simulated(pool: str, scenario: Scenario, sizes: Iterable[int], n_runs: int, seed: int) -> pd.DataFrame:
    """A kind of pool at the sizes with which the job gets on."""
    possible = list(sizes)
    while possible:
        try:
            return spares.by_pool_size(scenario, possible, max(2, n_runs), seed).assign(pool=pool)
        except NoProgress:
            possible = possible[1:]
        except NotModelled:
            break
    return pd.DataFrame()


def _wider(sizes: list[int], more: int) -> list[int]:
    """As far as one more block of nodes."""
    return sorted({*sizes, *(sizes[-1] + math.ceil(more * part) for part in (0.5, 1.0, 1.5))})
