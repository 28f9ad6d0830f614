"""What other tools document of their own runs, computed with the models of this package."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ettr import simulation
from ettr.checkpoint import daly_first_order_interval, daly_interval, young_interval
from ettr.core.units import H_PER_DAY
from ettr.failures import job_mttf_h
from ettr.scenario import Scenario

_NODE_CAUSES = (
    ("gpu lost", 0.25, 3.0, 1),
    ("gpu memory", 0.20, 3.0, 1),
    ("link", 0.15, None, 1),
    ("host", 0.10, 5.0, 1),
    ("hang", 0.30, None, 0),
)
_JOB_CAUSES = (("crash", 0.60, 1.0, 0), ("storage", 0.40, None, 0))
"""Causes of goodput-mtbi: name, share, detection [min] (None: by the watchdog), and whether the node leaves the job."""


def series_mttf_h(parts: Sequence[tuple[float, float]], n_nodes: float = 1) -> float:
    """Mean time to the first failure of any of the parts. [h]

    Parameters
    ----------
    parts : sequence of (n, mttf_h)
        How many of each kind, and the mean time to failure of one. [h]
    n_nodes : float
        Nodes that have all of them.
    """
    return 1 / (n_nodes * sum(n / mttf_h for n, mttf_h in parts))


def airesim(
    days: float,
    n_idle: int,
    bad_share: float,
    bad_factor: float,
    per_1000_node_days: float,
    recovery_min: float,
    repair: Mapping[str, Any],
    cured: tuple[float, float],
    choose: str = "random",
    n_runs: int = 100,
) -> simulation.Simulation:
    """A job on 4,096 servers by the rules of AIReSim: no checkpoints, and nothing fails in a recovery."""
    run = Scenario.of(
        {
            "name": "airesim",
            "cluster": {"n_gpus": 8 * 4096},
            "job": {"productive_h": 24 * days},
            "failures": {
                "rate_per_1000_node_days": per_1000_node_days * (1 + bad_share * (bad_factor - 1)),
                "lemons": {
                    "share": bad_share,
                    "factor": bad_factor,
                    "cured_automatic": cured[0],
                    "cured_manual": cured[1],
                },
            },
            "checkpoint": {"interval_min": 0.01, "stall_s": 0},
            "recovery": {"detection_min": 0, "restart_min": recovery_min, "exposed": False},
            "spares": {
                "n_nodes": 16,
                "n_idle": n_idle,
                "select_min": 3,
                "n_preemptible": 200,
                "preempt_min": 20,
                "choose": choose,
            },
            "repair": {"automatic_h": 2, "manual_h": 48, "distribution": "exponential", **repair},
        }
    )
    return simulation.simulate(run, n_runs)


def netcap(
    n_gpus: int,
    rate_per_1000_node_days: float,
    detection_s: float,
    restart_s: float,
    write_s: float,
    window_days: float,
    n_runs: int = 400,
) -> simulation.Simulation:
    """A job of about this window by the rules of netcap: Daly's first-order interval, nothing fails in a recovery."""
    mttf_h = job_mttf_h(rate_per_1000_node_days, n_gpus)
    run = Scenario.of(
        {
            "name": "netcap",
            "cluster": {"n_gpus": n_gpus},
            "job": {"productive_h": H_PER_DAY * window_days, "include_start": False},
            "failures": {"rate_per_1000_node_days": rate_per_1000_node_days, "rate_clock": "exposed"},
            "checkpoint": {
                "interval_min": 60 * daly_first_order_interval(write_s / 3600, mttf_h),
                "stall_s": write_s,
            },
            "recovery": {"detection_min": detection_s / 60, "restart_min": restart_s / 60, "exposed": False},
        }
    )
    return simulation.simulate(run, n_runs)


def _netcap_interruptions(window_days: float, **run: Any) -> float:
    mean = netcap(window_days=window_days, **run).budget
    return float(mean.n_failures / mean.total_h * H_PER_DAY * window_days)


def goodput_mtbi(
    groups: Sequence[tuple[float, float]],
    n_spares: int,
    interval_min: float | str,
    write_min: float,
    watchdog_min: float,
    days: float,
    n_runs: int = 200,
) -> simulation.Simulation:
    """The job on 128 nodes of goodput-mtbi, by its rules: no failure strikes in a recovery or a spare.

    Parameters
    ----------
    groups : sequence of (n, mttf_h)
        Nodes of the pool, and the mean time to failure of one; those of a second group are lemons. [h]
    n_spares : int
        Nodes of the pool that the job does not need.
    interval_min, write_min : float
        Training between two checkpoints, or "daly", and the time that it stands still for one. [min]
    watchdog_min : float
        Time until a hang is noticed. [min]
    days : float
        About how long a run is. [d]
    """
    n_pool = sum(n for n, _ in groups)
    node_rate, job_rate = 128 / n_pool / series_mttf_h(groups), 1 / 40
    rate = node_rate + job_rate
    causes = [(*cause, node_rate) for cause in _NODE_CAUSES] + [(*cause, job_rate) for cause in _JOB_CAUSES]
    (_, mttf_h), *bad = groups
    lemons = {"share": bad[0][0] / n_pool, "factor": mttf_h / bad[0][1]} if bad else None
    run = Scenario.of(
        {
            "name": "goodput-mtbi",
            "cluster": {"n_gpus": 8 * 128},
            "job": {"productive_h": H_PER_DAY * days, "include_start": False},
            "failures": {
                "job_mttf_h": 1 / rate,
                "rate_clock": "exposed",
                "modes": [
                    {
                        "name": name,
                        "share": share * part / rate,
                        "detection_min": watchdog_min if detection_min is None else detection_min,
                        "n_out_nodes": n_out,
                    }
                    for name, share, detection_min, n_out, part in causes
                ],
                "lemons": lemons,
            },
            "checkpoint": {"interval_min": interval_min, "stall_s": 60 * write_min},
            "recovery": {"detection_min": 0, "restart_min": 20, "exposed": False},
            "spares": {"n_nodes": n_spares},
            "repair": {"automatic_h": 48, "distribution": "exponential"},
        }
    )
    ettr = float(simulation.simulate(run, n_runs).budget.ettr)
    return simulation.simulate(run.override({"job.productive_h": H_PER_DAY * days * ettr}), n_runs)


MODELS: dict[str, Callable[..., float]] = {
    "airesim_h": lambda **run: float(airesim(**run).budget.total_h),
    "airesim_failures": lambda **run: float(airesim(**run).budget.n_failures),
    "netcap_ettr": lambda **run: float(netcap(**run).budget.ettr),
    "netcap_interruptions": _netcap_interruptions,
    "goodput_mtbi_ettr": lambda **run: float(goodput_mtbi(**run).budget.ettr),
    "series_mttf_h": series_mttf_h,
    "series_mttf_min": lambda **parts: 60 * series_mttf_h(**parts),
    "series_failure_chance": lambda duration_h, **parts: -math.expm1(-duration_h / series_mttf_h(**parts)),
    "series_young_min": lambda stall_s, **parts: 60 * young_interval(stall_s / 3600, series_mttf_h(**parts)),
    "series_daly_min": lambda stall_s, **parts: 60 * daly_interval(stall_s / 3600, series_mttf_h(**parts)),
    "daly_first_order_s": lambda stall_s, **rate: 3600 * daly_first_order_interval(stall_s / 3600, job_mttf_h(**rate)),
}
"""Computations that rows of ``data/validation.csv`` name for what other tools document."""
