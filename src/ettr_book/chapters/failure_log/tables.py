"""The failure logs of the chapter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ettr import evidence, failures, logs
from ettr.core.results import FailureLog
from ettr.core.units import H_PER_DAY
from ettr.logs.training_logs import GROUPS, HARDWARE


def diary_log() -> FailureLog:
    """Return the stops that GLM-130B's diary attributes to nodes or the network, as a failure log.

    A node merely suspected of being slow is left out, as in the scenario ``glm-130b``.

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


def failure_log(path: str = "", **options: Any) -> FailureLog:
    """Return the failure log in a file, or the synthetic one if no path is given.

    Parameters
    ----------
    path : str
        As for :func:`ettr.logs.read`; empty for the synthetic log.
    **options
        As for :func:`ettr.logs.read`. Empty or zero values count as missing, because notebook parameters need a value.
    """
    if not path:
        return synthetic_log()
    return logs.read(path, **{name: value for name, value in options.items() if value})


N_NODES, DAYS, FIRST_DAY = 256, 360, "2025-01-01"
RULES: dict[str, Any] = {
    "rate": 2.5,
    "later_rate": 5.0,
    "changes_d": 240,
    "bad_nodes": ["node017", "node101", "node203"],
    "bad_factor": 15.0,
    "again_share": 0.2,
    "again_h": 48.0,
    "repair_h": 24.0,
}
"""Rules of the synthetic log: failures of a good node per 1,000 node-days before and after a change, etc. (assumed)."""
_COMPONENTS = {"GPU": 0.45, "HBM": 0.2, "NIC": 0.15, "host": 0.12, "switch": 0.08}
_SEED, _SPREAD = 27, 1.0


def synthetic_log() -> FailureLog:
    """Return a synthetic year of 256 nodes, drawn from ``RULES``; identical at every call.

    Examples
    --------
    >>> log = synthetic_log()
    >>> log.n_nodes, len(log.failures) > 300
    (256, True)
    """
    rng, rules = np.random.default_rng(_SEED), RULES
    names = np.array([f"node{i:03d}" for i in range(N_NODES)])
    rates = np.where(np.isin(names, rules["bad_nodes"]), rules["bad_factor"], 1.0) / 1000
    changes = int(rules["changes_d"])
    parts = [(0, changes, rules["rate"]), (changes, DAYS, rules["later_rate"])]
    counts = [rng.poisson(rates * rate * (end - start)) for start, end, rate in parts]
    node = np.concatenate([np.repeat(names, n) for n in counts])
    start = np.concatenate(
        [rng.uniform(first, last, n.sum()) for (first, last, _), n in zip(parts, counts, strict=True)]
    )
    rows = [(node, start * H_PER_DAY, _repair_h(rng, node.size))]
    while rows[-1][0].size:
        node, start_h, repair_h = rows[-1]
        again = rng.uniform(size=node.size) < rules["again_share"]
        back = (start_h + repair_h)[again] + rng.uniform(0, rules["again_h"], int(again.sum()))
        rows.append((node[again], back, _repair_h(rng, back.size)))
    node, start_h, repair_h = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    day = pd.Timestamp(FIRST_DAY, tz="UTC")
    frame = pd.DataFrame(
        {
            "start": day + pd.to_timedelta(start_h, unit="h").round("s"),
            "end": day + pd.to_timedelta(start_h + repair_h, unit="h").round("s"),
            "node": node,
            "component": rng.choice(list(_COMPONENTS), node.size, p=list(_COMPONENTS.values())),
        }
    )
    window = day, day + pd.Timedelta(days=DAYS)
    inside = frame[frame["start"] < window[1]].sort_values("start")
    return logs.from_frame(inside, N_NODES, window, source="Synthetic year of 256 nodes")


def _repair_h(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.lognormal(np.log(RULES["repair_h"]) - _SPREAD**2 / 2, _SPREAD, n)


def truth(fit: failures.Fit) -> pd.DataFrame:
    """Return the built-in parameters and their fitted values.

    Returns
    -------
    DataFrame
        ``what``; ``true``, ``found``, ``low``, ``high`` (numbers; the last two missing without an interval), or
        ``true`` and ``found`` as text for names.
    """
    rules, changes = RULES, RULES["changes_d"]
    bad, share = rules["bad_nodes"], rules["again_share"]
    times = (1 + len(bad) / N_NODES * (rules["bad_factor"] - 1)) / (1 - share)
    mean = times * (rules["rate"] * changes + rules["later_rate"] * (DAYS - changes)) / DAYS
    repairs, gpu = fit.repairs.overall, fit.components.set_index("group").loc["GPU"]
    rows = [_row("Failures per 1,000 node-days, in the year", mean, *_ends(fit.fair_rate))]
    latest = _ends(fit.recent_rate) if fit.recent_rate else ("not significantly different from the year's",)
    rows.append(_row("Failures per 1,000 node-days, at its end", times * rules["later_rate"], *latest))
    if fit.node_statistics is not None:
        named = ", ".join(map(str, sorted(fit.node_statistics.bad.advised("replace")))) or "none"
        rows.append(_row("Nodes to replace", ", ".join(bad), named))
        rows.append(_row("Share of failures that are repeats", share, fit.node_statistics.n_repeats / len(fit.start_h)))
    rows.append(_row("Mean repair [h]", rules["repair_h"], *(repairs[f"mean_{end}h"] for end in ("", "low_", "high_"))))
    rows.append(_row("Share of failures by GPUs", _COMPONENTS["GPU"], gpu["share"]))
    return pd.DataFrame(rows)


def _row(what: str, true: Any, fitted: Any, low: float = np.nan, high: float = np.nan) -> dict[str, Any]:
    return {"what": what, "true": true, "found": fitted, "low": low, "high": high}


def _ends(rate: failures.FailureRate) -> tuple[float, float, float]:
    return rate.per_1000_node_days, rate.low, rate.high
