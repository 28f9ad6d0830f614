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
"""How many times smaller or larger a value may be for whose range there is no source (assumed)."""
_NOT_ASSUMED = (N_GPUS, "job.productive_h", RATE)
"""Size and work are what is planned for; an assumed failure rate has a range of its own, :func:`across_clusters`."""
_NODE_GPUS = 8
"""GPUs of the nodes that published rates refer to."""


@dataclass(frozen=True)
class Assumed:
    """One assumed input.

    Attributes
    ----------
    field : str
        Dotted path, by which it is set.
    name : str
        What a sentence calls it.
    value, low, high : float
        What is assumed, and how far it may be from that, in the unit of the field.
    unit : str
        Its unit; empty for a fraction.
    source : str
        Bibliography key of who prints such values; empty where the range is assumed too.
    reason : str
        How the range follows.
    quantiles : tuple of float
        Values between which the range runs evenly, in order, where it is that of so many equally likely values.
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
        """Values at points of the unit interval: log-uniform, or uniform for shares and from zero on."""
        if self.quantiles:
            steps = np.linspace(0.0, 1.0, len(self.quantiles))
            return np.asarray(np.exp(np.interp(u, steps, np.log(self.quantiles))))
        if self.low > 0 and self.unit:
            return np.asarray(self.low * (self.high / self.low) ** u)
        return np.asarray(self.low + (self.high - self.low) * u)


def assumed_inputs(scenario: Scenario) -> Iterator[Assumed]:
    """Inputs of the closed forms that no source gives, with their ranges."""
    assumed = {row["field"] for row in scenario.in_force() if row["status"] == "assumed"}
    left_out = barred(scenario).union(_NOT_ASSUMED)
    for path in scenario.swept:
        value = given_at(scenario, path)
        if path in left_out or list_of(path) or not isinstance(value, (int, float)):
            continue
        silent = value == 0 and not is_written(scenario, path) and path not in scenario.evidence
        if path not in assumed and not silent:
            continue
        idle = meta_at(path, Scenario).idle
        if isinstance(idle, WhereZero) and getattr(scenario, idle.quantity) == 0:
            continue
        if (ends := plausible(path, float(value), silent)) is not None:
            name = amount_of(path, Scenario)
            yield Assumed(path, name, float(value), ends.low, ends.high, unit_of(path), ends.source, ends.reason)


def rate_across_clusters(scenario: Scenario) -> Assumed:
    """The node failure rate as it differs between published clusters, each of them as likely as another.

    Between two clusters the logarithm is interpolated. Rates refer to nodes of eight GPUs, and are taken in proportion
    for others.

    Examples
    --------
    >>> rate = rate_across_clusters(Scenario.load("llama3-405b"))
    >>> round(rate.low, 1), round(float(rate.at(0.5)), 1), round(rate.high, 1)
    (1.6, 2.3, 13.9)
    """
    clusters = evidence.cluster_rates()
    rates = tuple((clusters["rate"] * scenario.cluster.gpus_per_node / _NODE_GPUS).tolist())
    sources = ", ".join(dict.fromkeys(clusters["source"]))
    reason = f"{clusters['title'].iloc[0]} to {clusters['title'].iloc[-1]}, of {len(rates)} published clusters"
    name, unit = amount_of(RATE, Scenario), unit_of(RATE)
    return Assumed(RATE, name, scenario.failure_rate, rates[0], rates[-1], unit, sources, reason, rates)


def median_rate(gpus_per_node: float = _NODE_GPUS) -> tuple[float, int]:
    """The median failure rate of published clusters [1/(1000 node-days)], and how many these are."""
    rates = evidence.cluster_rates()["rate"]
    return float(f"{float(rates.median()) * gpus_per_node / _NODE_GPUS:.3g}"), len(rates)


def rate_is_from_elsewhere(scenario: Scenario) -> bool:
    """Whether the failure rate is that of another cluster: a published one used at another size, or an assumed one."""
    origin = _origin_of_rate(scenario)
    published = origin is not None and origin.source is not None
    return rate_is_assumed(scenario) or (published and scenario.n_nodes != scenario.observed_nodes)


def rate_is_assumed(scenario: Scenario) -> bool:
    """Whether nothing is known of the failure rate."""
    origin = _origin_of_rate(scenario)
    return origin is not None and origin.status == "assumed"


def _origin_of_rate(scenario: Scenario) -> Origin | None:
    way = scenario.failures.ways[0].partition(" ")[0]
    return scenario.evidence.get(f"failures.{way}")


def plausible(path: str, value: float, silent: bool = False) -> Plausible | None:
    """The range of an assumed value; None of a zero that nothing is known to lift.

    A zero that nobody wrote, below what is plausible, says that the run does without.
    """
    known = meta_at(path, Scenario).plausible
    if known is not None and (known.low <= value <= known.high or (value == 0 and not silent)):
        return replace(known, low=min(known.low, value))
    if value <= 0:
        return None
    low, high = around(path, value)
    return Plausible(low, high, "", "half to double")


def around(path: str, value: float) -> tuple[float, float]:
    """Half and twice a value, as far as the rule of its field allows."""
    rules = dict(bounds_at(path, Scenario))
    most = min(rules.get("<=", np.inf), rules.get("<", np.inf) * (1 - LAST_DIGITS))
    least = max(rules.get(">=", 0.0), rules.get(">", 0.0))
    return max(value / _AROUND, least), min(value * _AROUND, most)
