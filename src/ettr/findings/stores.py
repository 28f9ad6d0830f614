"""What the chapter on tiers says of the store's bandwidth."""

from __future__ import annotations

import pandas as pd

from ettr.findings.words import Finding, count, duration, gpus, listed, number
from ettr.scenario import Scenario


def by_bandwidth(scenario: Scenario, crossings: pd.DataFrame, published: pd.DataFrame, n_bytes: float) -> Finding:
    """When the write to the store sets the interval.

    Parameters
    ----------
    scenario : Scenario
        The run.
    crossings : DataFrame
        As from :func:`ettr.curves.bandwidth_crossings`.
    published : DataFrame
        As from :func:`ettr.curves.published_stores`.
    n_bytes : float
        Size of a checkpoint. [B]
    """
    at = published.itertuples()
    times = [f"{duration(row.write_s / 3600)} ({row.store}, {count(row.write_gb_s)} GB/s)" for row in at]
    written = f"A checkpoint of {number(n_bytes / 1e12)} TB is written in {listed(times)}."
    if scenario.job_rate_per_h == 0:
        return Finding(title="Without failures no store sets the interval", text=f"{written} There are no failures.")
    own, short = (crossings[crossings["stall"] == stall] for stall in ("own", "published"))
    first = own.iloc[0]
    above = f"the stall of {number(first['stall_s'])} s does" if first["stall_s"] > 0 else "nothing does"
    return Finding(
        title=f"Below {number(first['crossing_gb_s'])} GB/s the store sets the interval",
        text=(
            f"{written} The write sets the best interval below {_bends(own)}; above, {above}, at "
            f"{duration(first['interval_min'] / 60)} on {gpus(first['n_gpus'])}. With a stall of "
            f"{number(short['stall_s'].iloc[0])} s, as published for 405 billion parameters, the bend is at "
            f"{_bends(short)}: the better the stall is hidden, the more bandwidth it takes to gain from it. What the "
            f"job gets of a shared store counts, not what the store can do."
        ),
    )


def _bends(crossings: pd.DataFrame) -> str:
    return listed([f"{number(row.crossing_gb_s)} GB/s on {gpus(row.n_gpus)}" for row in crossings.itertuples()])
