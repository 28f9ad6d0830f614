"""The assumed inputs of a run, each with its plausible range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ettr import evidence
from ettr.budget.refusals import barred
from ettr.core.units import LAST_DIGITS, unit_of
from ettr.scenario import Scenario
from ettr.scenario.basics import Origin, Plausible, WhereZero
from ettr.scenario.fields import amount_of, given_at, is_written, meta_at
from ettr.scenario.paths import N_GPUS, RATE, bounds_at, list_of

_AROUND = 2.0
"""Factor by which a value without a published range may be smaller or larger (assumed)."""
_NOT_ASSUMED = (N_GPUS, "job.productive_h", RATE)
"""Size and work define the question; an assumed failure rate has a range of its own, :func:`across_clusters`."""
_NODE_GPUS = 8
"""GPUs per node that published rates refer to."""


@dataclass(frozen=True)
class Assumed:
    """One assumed input with its plausible range.

    Attributes
    ----------
    field : str
        Dotted path of the field.
    name : str
        Its name in sentences.
    value, low, high : float
        The assumed value and the ends of its plausible range, in the unit of the field.
    unit : str
        Its unit; empty for a fraction.
    source : str
        Bibliography keys of the range; empty where the range is assumed too.
    reason : str
        Derivation of the range.
    quantiles : tuple of float
        Equally likely values in ascending order, where the range is an empirical distribution; empty otherwise.

    Examples
    --------
    >>> detection = Assumed("recovery.detection_min", "the detection time", 5.0, 1.0, 16.0, "min", "", "example")
    >>> float(detection.at(0.5))
    4.0
    """

    field: str
    name: str
    value: float
    low: float
    high: float
    unit: str
    source: str
    reason: str
    quantiles: tuple[float, ...] = ()

    def at(self, u: np.ndarray) -> np.ndarray:
        """Return values at points of the unit interval: log-uniform, or uniform for shares and ranges from zero."""
        if self.quantiles:
            steps = np.linspace(0.0, 1.0, len(self.quantiles))
            return np.asarray(np.exp(np.interp(u, steps, np.log(self.quantiles))))
        if self.low > 0 and self.unit:
            return np.asarray(self.low * (self.high / self.low) ** u)
        return np.asarray(self.low + (self.high - self.low) * u)


def assumed_inputs(scenario: Scenario) -> Iterator[Assumed]:
    """Yield the assumed inputs of the analytical model, with their plausible ranges.

    Examples
    --------
    >>> [(assumed.field, assumed.high) for assumed in assumed_inputs(Scenario.load("rsc-1"))]
    [('recovery.queue_min', 3.0), ('recovery.person_share', 0.1), ('recovery.person_min', 116.0)]
    """
    assumed = {row["field"] for row in scenario.in_force() if row["status"] == "assumed"}
    left_out = barred(scenario).union(_NOT_ASSUMED)
    for path in scenario.swept:
        value = given_at(scenario, path)
        if path in left_out or list_of(path) or not isinstance(value, (int, float)):
            continue
        is_default_zero = value == 0 and not is_written(scenario, path) and path not in scenario.evidence
        if path not in assumed and not is_default_zero:
            continue
        idle = meta_at(path, Scenario).idle
        if isinstance(idle, WhereZero) and getattr(scenario, idle.quantity) == 0:
            continue
        if (ends := plausible(path, float(value), is_default_zero)) is not None:
            name = amount_of(path, Scenario)
            yield Assumed(path, name, float(value), ends.low, ends.high, unit_of(path), ends.source, ends.reason)


def rate_across_clusters(scenario: Scenario) -> Assumed:
    """Return the node failure rate with its range across published clusters, each equally likely.

    Between two clusters the logarithm is interpolated. Rates refer to nodes of eight GPUs and are scaled in proportion
    to the GPUs per node.

    Examples
    --------
    >>> rate = rate_across_clusters(Scenario.load("llama3-405b"))
    >>> round(rate.low, 1), round(float(rate.at(0.5)), 1), round(rate.high, 1)
    (1.6, 2.3, 13.9)
    """
    clusters = evidence.cluster_rate_columns()
    rates = tuple((clusters["rate"] * scenario.cluster.gpus_per_node / _NODE_GPUS).tolist())
    sources = ", ".join(dict.fromkeys(clusters["source"].tolist()))
    reason = f"{clusters['title'][0]} to {clusters['title'][-1]}, of {len(rates)} published clusters"
    name, unit = amount_of(RATE, Scenario), unit_of(RATE)
    return Assumed(RATE, name, scenario.failure_rate, rates[0], rates[-1], unit, sources, reason, rates)


def median_rate(gpus_per_node: float = _NODE_GPUS) -> tuple[float, int]:
    """Return the median failure rate of published clusters [1/(1000 node-days)], and the number of clusters.

    Examples
    --------
    >>> median_rate(), median_rate(gpus_per_node=4)
    ((2.33, 10), (1.17, 10))
    """
    rates = evidence.cluster_rate_columns()["rate"]
    return float(f"{float(np.median(rates)) * gpus_per_node / _NODE_GPUS:.3g}"), len(rates)


def rate_is_from_elsewhere(scenario: Scenario) -> bool:
    """Return whether the failure rate is that of another cluster: published for another size, or assumed.

    Examples
    --------
    >>> run = Scenario.load("llama3-405b")
    >>> rate_is_from_elsewhere(run), rate_is_from_elsewhere(run.override({N_GPUS: 65536}))
    (False, True)
    """
    origin = _origin_of_rate(scenario)
    published = origin is not None and origin.source is not None
    return rate_is_assumed(scenario) or (published and scenario.n_nodes != scenario.observed_nodes)


def rate_is_assumed(scenario: Scenario) -> bool:
    """Return whether the failure rate is assumed.

    Examples
    --------
    >>> rate_is_assumed(Scenario.load("llama3-405b"))
    False
    """
    origin = _origin_of_rate(scenario)
    return origin is not None and origin.status == "assumed"


def _origin_of_rate(scenario: Scenario) -> Origin | None:
    way = scenario.failures.ways[0].partition(" ")[0]
    return scenario.evidence.get(f"failures.{way}")


def plausible(path: str, value: float, is_default_zero: bool = False) -> Plausible | None:
    """Return the plausible range of an assumed value; None for a zero without one.

    A default of zero below the published range means that the run does not have the mechanism.
    """
    published = meta_at(path, Scenario).plausible
    if published is not None and (published.low <= value <= published.high or (value == 0 and not is_default_zero)):
        return replace(published, low=min(published.low, value))
    if value <= 0:
        return None
    low, high = around(path, value)
    return Plausible(low, high, "", "half to double")


def around(path: str, value: float) -> tuple[float, float]:
    """Return half and twice a value, within the bounds of its field."""
    rules = dict(bounds_at(path, Scenario))
    upper = min(rules.get("<=", np.inf), rules.get("<", np.inf) * (1 - LAST_DIGITS))
    lower = max(rules.get(">=", 0.0), rules.get(">", 0.0))
    return max(value / _AROUND, lower), min(value * _AROUND, upper)
