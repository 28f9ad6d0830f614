"""How many hot spares are cheapest for a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettr.core.errors import InputError, NoProgress, OutsideValidity
from ettr.scenario import Scenario

if TYPE_CHECKING:
    from ettr.spares import Pool


def cheapest_pool(run: Scenario) -> Pool | None:
    """The cheapest pool of hot spares by the closed form, for what the nodes of a run ask of it.

    None for a run that says nothing of spares, loses no node, goes on without some, or has other nodes to take.
    """
    held = run.spares
    if held is None or run.repair is None or run.elastic or held.n_preemptible:
        return None
    from ettr import spares  # loads the simulator, which most plans do without

    try:
        asked = spares.demand(run)
        return spares.cheapest_pool(asked.in_repair, run.n_nodes, asked.own_crew) if asked.in_repair > 0 else None
    except (InputError, NoProgress, OutsideValidity):
        return None
