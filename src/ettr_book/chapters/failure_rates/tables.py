"""Clusters side by side: failure rates, MTTF over job size, and the effect of age.

Rates of different clusters count different events. The column ``counted`` has the kind, so that nobody compares
memory errors with job interruptions by mistake.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ettr import budget, evidence, plan
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.core.units import H_PER_DAY
from ettr.core.validity import above_zero
from ettr.failures import FailureRate, failure_rate, gamma_interval, job_mttf_h, rate_intervals
from ettr.failures.rates import NODE_DAYS
from ettr.failures.renewal import renewal_count
from ettr.scenario import Scenario
from ettr_book.chapters.common import steady_state
from ettr_book.chapters.common.runs import followed, in_hours

STOPS, HARDWARE, MEMORY, OTHER, THIS_SCENARIO = (
    "stops of a job",
    "hardware failures",
    "memory errors only",
    "premise or unknown",
    "this scenario",
)
"""Kinds of counted events, in display order."""

COUNTED = {
    "interruptions of one job that nobody planned": STOPS,
    "interruptions of one job, planned ones included": STOPS,
    "resolved incidents of one job, manual restarts included": STOPS,
    "resolved incidents of one job, manual restarts left out": STOPS,
    "interruptions of jobs, by a fit to their lives": STOPS,
    "restarts of one job": STOPS,
    "restarts by hand and, as the paper estimates, automatic ones": STOPS,
    "restarts by hand after hardware failures": HARDWARE,
    "node failures, and failed jobs with a critical health check, among jobs of more than 128 GPUs": HARDWARE,
    "GPU failures of one job": HARDWARE,
    "stops of one job put down to a node or the network": HARDWARE,
    "GPU failures that left an Xid": HARDWARE,
    "machines that break": HARDWARE,
    "uncorrectable memory errors only": MEMORY,
    "GPU failures": OTHER,
    "failures, definition not known": OTHER,
}
"""Kind of counted event by scope in the table ``failure_rates``."""

SHAPES = (0.7, 1.0, 1.5)
"""Weibull shapes of the chart: infant mortality, constant hazard, and wear-out. All are assumed."""

_RSC = {"rsc-1": "RSC-1", "rsc-2": "RSC-2"}


def rates(scenario: Scenario) -> pd.DataFrame:
    """Return the published failure rates and the scenario's, with intervals.

    Parameters
    ----------
    scenario : Scenario
        Scenario whose rate becomes the last row, unless it is 0.

    Returns
    -------
    DataFrame
        ``cluster_id`` (``scenario`` for the last row), ``title``, ``rate``, ``low``, ``high`` [1 / (1000 node-days)],
        ``counted``, ``scope``, ``n_events``, ``node_days`` (missing without a count), ``at_least``, ``gpus_per_node``,
        ``status``, ``source``. The ends are those of :func:`ettr.failures.rate_intervals`, equal without an interval.

    Examples
    --------
    >>> frame = rates(Scenario.load("rsc-1")).set_index("cluster_id")
    >>> round(float(frame.loc["llama3-unexpected", "low"]), 2), float(frame.loc["scenario", "rate"])
    (3.43, 6.5)
    """
    published = rate_intervals(evidence.published_rates())
    published["counted"] = published["scope"].map(COUNTED)
    columns = "cluster_id title rate low high counted scope n_events node_days at_least gpus_per_node status source"
    published = published[columns.split()]
    if scenario.failure_rate == 0:
        return published
    rate, failures, interval = scenario.failure_rate, scenario.failures, _interval(scenario)
    scenario_row = {
        "cluster_id": "scenario",
        "title": f"This scenario: {scenario.title}",
        "rate": rate,
        "low": interval.low if interval else rate,
        "high": interval.high if interval else rate,
        "counted": THIS_SCENARIO,
        "scope": "failures of the scenario",
        "n_events": failures.n_events,
        "node_days": failures.node_days,
        "at_least": False,
        "gpus_per_node": scenario.cluster.gpus_per_node,
        "status": "as in the scenario",
        "source": ", ".join(scenario.sources),
    }
    dtypes = {"n_events": "float64"}  # a scenario may count a fraction of an event
    row = pd.DataFrame([scenario_row]).astype(published.astype(dtypes).dtypes.to_dict())
    return pd.concat([published.astype(dtypes), row], ignore_index=True)


def _interval(scenario: Scenario) -> FailureRate | None:
    """Return the uncertainty of the scenario's rate: exact for a count, else from its gamma distribution."""
    failures = scenario.failures
    if failures.n_events is not None and failures.node_days is not None:
        return failure_rate(failures.n_events, failures.node_days)
    if failures.posterior is None:
        return None
    return gamma_interval(failures.posterior.shape, failures.posterior.node_days)


def mttf_by_size(scenario: Scenario, n_points: int = 60) -> pd.DataFrame:
    """Return the MTTF of a job over its size, at the rates of RSC-1, RSC-2 and the scenario.

    Returns
    -------
    DataFrame
        ``line`` (``RSC-1``, ``RSC-2``, and ``this scenario`` if it fails), ``n_gpus`` [GPUs], ``mttf_h``, ``low``,
        ``high`` [h]; the ends are equal without an interval.
    """
    n_gpus = np.unique(np.concatenate([np.geomspace(8, 1e6, n_points), [1e4, 1e5]]))
    frames = []
    for cluster, line in _RSC.items():
        rate = evidence.figure(f"{cluster.replace('-', '')}_rate_per_1000_node_days").value
        mttf_h = job_mttf_h(rate, n_gpus, evidence.figure("rsc_gpus_per_node").value)
        frames.append(pd.DataFrame({"line": line, "n_gpus": n_gpus, "mttf_h": mttf_h, "low": mttf_h, "high": mttf_h}))
    if scenario.job_rate_per_h > 0:
        mttf_h = budget.job_mttf_h(scenario, n_gpus)
        low, high = plan.mttf_interval_h(scenario) or (scenario.job_mttf_h, scenario.job_mttf_h)
        ends = {"low": mttf_h * low / scenario.job_mttf_h, "high": mttf_h * high / scenario.job_mttf_h}
        frames.append(pd.DataFrame({"line": THIS_SCENARIO, "n_gpus": n_gpus, "mttf_h": mttf_h, **ends}))
    return pd.concat(frames, ignore_index=True)


def mtbf_h(scenario: Scenario, n_gpus: float) -> float:
    """Return the scenario's wall-clock MTBF at another size; NaN where it has no answer. [h]"""
    try:
        run = in_hours(followed(scenario))
    except (NotModelled, OutsideValidity):
        return math.nan
    return steady_state.mtbf_h(run, n_gpus) if run.job_rate_per_h > 0 else math.nan


def rsc_points() -> pd.DataFrame:
    """Return the MTTFs that the RSC paper reports for single sizes, and the rates they imply.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``mttf_h``, ``low``, ``high`` [h] (ends: half a unit of the last printed digit), ``kind``
        (``observed`` or ``projected``), ``rate`` [1 / (1000 node-days)], ``times_rsc1`` (over the published rate of
        RSC-1), ``status``.

    Examples
    --------
    >>> rsc_points()["rate"].round(1).tolist()
    [21.0, 23.7, 4.7, 6.5, 6.4]
    """
    published = evidence.figure("rsc1_rate_per_1000_node_days").value
    per_node = evidence.figure("rsc_gpus_per_node").value
    rows = []
    for key, n_gpus, kind in (
        ("rsc_mttf_8_gpus_days", 8, "observed"),
        ("rsc_mttf_1024_gpus_h", 1024, "observed"),
        ("rsc_mttf_4096_gpus_h", 4096, "observed"),
        ("rsc_mttf_16384_gpus_h", 16_384, "projected"),
        ("rsc_mttf_131072_gpus_h", 131_072, "projected"),
    ):
        printed = evidence.figure(key)
        half = 0.5 * 10.0 ** -len(f"{printed.value:g}".partition(".")[2])
        unit_h = H_PER_DAY if printed.unit == "d" else 1.0
        rate = NODE_DAYS * H_PER_DAY * per_node / (printed.value * unit_h * n_gpus)
        rows.append(
            {
                "n_gpus": n_gpus,
                "mttf_h": printed.value * unit_h,
                "low": (printed.value - half) * unit_h,
                "high": (printed.value + half) * unit_h,
                "kind": kind,
                "rate": rate,
                "times_rsc1": rate / published,
                "status": printed.status,
            }
        )
    return pd.DataFrame(rows)


def comparable(frame: pd.DataFrame) -> pd.Series:
    """Return the published rates that count job stops or hardware failures; ``frame`` as from :func:`rates`."""
    return frame.loc[frame["counted"].isin((STOPS, HARDWARE)), "rate"]


def mttf_ends_h(frame: pd.DataFrame, n_gpus: float) -> tuple[float, float]:
    """Return the shortest and longest job MTTF at the rates of :func:`comparable`, eight GPUs per node. [h]"""
    published = comparable(frame)
    ends = job_mttf_h(np.array([published.max(), published.min()]), n_gpus, 8.0)
    return float(ends[0]), float(ends[1])


def first_failures(scenario: Scenario, days: float, shapes: Sequence[float] = SHAPES) -> pd.DataFrame:
    """Return the failures of a new fleet in its first days, by the Weibull shape of its lifetimes.

    Returns
    -------
    DataFrame
        ``shape``, ``n_failures``, and ``settled``: the failures in the same time at the long-run rate. [count]

    Examples
    --------
    >>> first_failures(Scenario.load("llama3-405b"), 54)["n_failures"].round().tolist()
    [846.0, 419.0, 160.0]
    """
    length_h = float(above_zero("days", days, unit="d")) * H_PER_DAY
    rate_per_h = scenario.failure_rate / (NODE_DAYS * H_PER_DAY)
    n_failures = [renewal_count(length_h, shape, 1 / rate_per_h) if rate_per_h else 0.0 for shape in shapes]
    nodes = scenario.n_nodes
    return pd.DataFrame(
        {
            "shape": list(shapes),
            "n_failures": [nodes * each for each in n_failures],
            "settled": nodes * rate_per_h * length_h,
        }
    )
