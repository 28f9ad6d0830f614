"""How do failure rates compare between clusters, and how does MTTF fall with scale?

Rates of different clusters count different events. The column ``counted`` has the kind, so that nobody compares
memory errors with job interruptions by mistake.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr import evidence
from ettr.core.sentences import Finding, about, number, say
from ettr.failures import FailureRate, failure_rate, gamma_interval, job_mttf_h, rate_intervals
from ettr.scenario import Scenario

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


def answer(run: Scenario, n_gpus: float) -> Finding:
    """Return the published rates of job-stopping failures, the run's own, and the MTTF of a large job at them."""
    frame, published = rates(run), evidence.cluster_rates()["rate"].astype(float)
    row = frame[frame["counted"] == THIS_SCENARIO]
    low, high = published.quantile([0.25, 0.75])
    ends = job_mttf_h(np.array([published.max(), published.min()]), n_gpus, 8.0)
    values = {"n": len(published), "least": published.min(), "most": published.max(), "low": low, "high": high}
    return Finding(
        say(
            "{least:about} to {most:about} failures per 1,000 node-days, half of them {low:about} to {high:about}",
            **values,
        ),
        say(
            "**On published clusters jobs failed {least:about} to {most:about} times per 1,000 node-days; the "
            "middle half of {n} rates is {#rate_low:about} to {#rate_high:about}.** {own} At the published rates a job "
            "on {n_gpus:gpus} fails every {times:span}. Clusters differ by far more than sampling error, so the "
            "question is which one yours resembles.",
            rate_low=low,
            rate_high=high,
            own=_own(row),
            n_gpus=n_gpus,
            times=tuple(float(end) for end in ends),
            **values,
        ),
    )


def _own(own: pd.DataFrame) -> str:
    """Return a sentence on the run's own rate, if it has one."""
    if own.empty:
        return "The run of this book has no failures."
    row = own.iloc[0]
    interval = ", with no interval"
    if row["low"] < row["high"]:
        interval = f" (95% CI {number(about(row['low']))} to {number(about(row['high']))})"
    return say("The run of this book has {#rate:about}{interval}.", rate=row["rate"], interval=interval)
