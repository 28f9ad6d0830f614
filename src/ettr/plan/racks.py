"""Racks in a plan: their MTBF, the failures that their own spare nodes serve, and the racks that leave the job."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ettr import spares
from ettr.core.sentences import about, count, number, pct, roughly
from ettr.core.units import H_PER_MONTH
from ettr.plan.planned_run import PlannedRun
from ettr.scenario import Scenario


def rack_lines(plan: PlannedRun) -> Iterator[str]:
    """Yield the MTBF of a rack, and what the spare nodes inside it change; nothing without ``rack`` or failures."""
    run = plan.original
    if run.rack is None or not math.isfinite(plan.job_mttf_h):
        return
    mtbf = roughly(plan.wall_mttf_h * run.n_nodes / run.rack_nodes)
    of_rack = f"The {count(run.rack_nodes * run.cluster.gpus_per_node)} GPUs of a rack in use have an MTBF of {mtbf}"
    if run.repair is None:
        yield f"{of_rack}. Set spares and repair to see how many racks leave the job."
        return
    yield f"{of_rack} (wall clock); {_racks_out(run)}."
    if run.rack_spares:
        needed, bare = spares.demand(run), run.override({"rack.n_used": None})
        served = pct(1 - needed.leaves_per_h / needed.failures_per_h)
        inside = f"{count(run.rack_spares)} spare node{'' if run.rack_spares == 1 else 's'} inside each rack"
        yield f"The {inside} serve {served} of all failures. Without them, {_racks_out(bare)}."


def _racks_out(run: Scenario) -> str:
    """Return the racks that leave the job per month, and the cheapest pool, as a clause."""
    per_month = spares.demand(run).leaves_per_h * H_PER_MONTH
    pool = spares.cheapest_pool_for(run)
    least = f" and the cheapest pool has {count(pool.n_spares)} spare nodes" if pool else ""
    return f"{number(about(per_month))} racks leave the job per month{least}"
