"""The GPUs to order so that a job trains like a number of GPUs that never fail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scipy

from ettr import budget
from ettr.budget.intervals import at_best
from ettr.core.errors import InputError
from ettr.core.report import Answer, Headline, Note, Report, plain_values
from ettr.core.sentences import about, count, duration, number, pct, usd
from ettr.core.units import H_PER_DAY, H_PER_MONTH
from ettr.core.validity import above_zero
from ettr.mitigation import with_assumptions
from ettr.scenario import Scenario
from ettr.scenario.fields import is_written
from ettr.scenario.paths import GPU_PRICE, INTERVAL, N_GPUS, OBSERVED, SPARES
from ettr.spares import Pool, cheapest_pool_for, demand

_MOST_NODES = 100_000_000
"""Largest job that is tried. [nodes]"""


@dataclass(frozen=True, repr=False)
class Order(Answer):
    """The GPUs to order so that a job trains like a number of GPUs that never fail.

    Attributes
    ----------
    wanted_gpus : float
        GPUs that never fail, which the order is to equal. [GPUs]
    scenario : Scenario
        The run at the size of the order.
    ettr : float
        ETTR at its best interval.
    n_spares : int
        Hot spares of the cheapest pool, which contain the nodes in repair. [nodes]
    waiting_share : float
        Share of the wall clock that the job waits for a node.
    in_repair, repair_h : float
        Mean number of nodes in repair, and mean repair time. [nodes], [h]
    repair_assumed : tuple of str
        Paths of the fields of spares and repair that are assumed.

    Examples
    --------
    >>> answer = order("llama3-405b", 20_000)
    >>> answer.n_gpus, answer.n_spares, answer.n_ordered
    (22520, 18, 22664)
    """

    wanted_gpus: float
    scenario: Scenario
    ettr: float
    n_spares: int
    waiting_share: float
    in_repair: float
    repair_h: float
    repair_assumed: tuple[str, ...]

    @property
    def n_gpus(self) -> int:
        """GPUs of the job. [GPUs]"""
        return self.scenario.cluster.n_gpus

    @property
    def n_ordered(self) -> int:
        """GPUs of the job and of the spares; with ``rack``, all GPUs of their racks. [GPUs]"""
        if rack := self.scenario.rack:
            n_racks = math.ceil(self.n_gpus / rack.gpus_used) + math.ceil(self.n_spares / self.scenario.rack_nodes)
            return n_racks * rack.n_gpus
        return self.n_gpus + self.n_spares * self.scenario.cluster.gpus_per_node

    @property
    def effective_gpus(self) -> float:
        """GPUs that never fail and train like the order. [GPUs]"""
        return self.n_gpus * self.ettr * (1 - self.waiting_share)

    @property
    def usd_per_month(self) -> float:
        """Cost of the job and its spares per month, without electricity. [USD]"""
        prices = self.scenario.prices
        return (self.n_ordered * prices.usd_per_gpu_h + prices.usd_per_day / H_PER_DAY) * H_PER_MONTH

    @property
    def headline(self) -> str:
        """The number of GPUs to order."""
        return f"Order {count(self.n_ordered)} GPUs to train like {count(self.wanted_gpus)} GPUs that never fail"

    def to_dict(self) -> dict[str, Any]:
        """Return the order for JSON."""
        record = {name: value for name, value in vars(self).items() if name != "scenario"}
        names = ("n_gpus", "n_ordered", "effective_gpus", "usd_per_month")
        return dict(plain_values({**record, **{name: getattr(self, name) for name in names}}))

    def report(self) -> Report:
        """Return the order with its spares, its price and its plausible range."""
        assumed = "" if is_written(self.scenario, GPU_PRICE) else " (assumed price)"
        nodes = f"{count(self.n_spares)} spare node{'' if self.n_spares == 1 else 's'}"
        nodes += f", in whole racks of {self.scenario.rack.n_gpus} GPUs" if self.scenario.rack else ""
        lines = [
            f"{count(self.n_gpus)} GPUs in the job (ETTR {pct(self.ettr)}) and {nodes}, for "
            f"{usd(about(self.usd_per_month))} per month{assumed}."
        ]
        if self.in_repair > 0:
            how = " (assumed)" if self.repair_assumed else ""
            lines.append(
                f"The spares contain the nodes in repair, on average {number(self.in_repair)} for "
                f"{duration(self.repair_h)}{how}. The job waits for a node {pct(self.waiting_share, 2)} of the time."
            )
        return [Headline(self.headline), *map(Note, lines)]


def order(scenario: Scenario | str | Path, effective_gpus: float, observed_anywhere: bool = False) -> Order:
    """Return the smallest job, in whole nodes, that trains like a number of GPUs that never fail, and its spares.

    Parameters
    ----------
    scenario : Scenario, or its name or file
        The run, whose failure rate per node is kept. Missing fields of ``spares`` and ``repair`` are assumed.
    effective_gpus : float
        GPUs that never fail, which the order is to equal. [GPUs]
    observed_anywhere : bool
        Whether the failure rate and the starts hold at every size as if they had been observed there; by default they
        were observed on the GPUs of the scenario.

    Raises
    ------
    InputError
        More than the run can reach at any size, a number that is not above 0, a job given by its tokens, an elastic
        job, or pre-emptible spares.

    Notes
    -----
    Smallest n with :math:`n \\cdot \\mathrm{ETTR}(n)\\,(1 - B) \\ge N`, at the best interval of each size, where B is
    the share of the time that the job waits for a node with the cheapest pool of spares
    (:func:`ettr.spares.cheapest_pool_for`). The job fails in proportion to its nodes, so the left side has a maximum.
    """
    scenario, wanted = Scenario.of(scenario), float(above_zero("effective_gpus", effective_gpus, unit="GPUs"))
    if scenario.job.tokens is not None or scenario.elastic or (scenario.spares and scenario.spares.n_preemptible):
        raise InputError(
            "effective_gpus needs a job given by job.productive_h or without an end, because layouts limit the sizes "
            "of a job given by its tokens, and neither elastic nor spares.n_preemptible, which replace spares"
        )
    completed = with_assumptions(scenario, acting_on=["repair"])
    sizes = _Sizes(completed.scenario, observed_anywhere)
    largest = sizes.fastest_nodes()
    most = sizes.effective(largest)
    if most < wanted:
        raise InputError(
            f"effective_gpus must be <= {count(most)}, the most that any size reaches (a job of "
            f"{count(largest * sizes.per_node)} GPUs), got {count(wanted)}; more needs fewer failures"
        )
    short, enough = 0, largest
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (short, middle) if sizes.effective(middle) >= wanted else (middle, enough)
    run, ettr, pool = sizes.at(enough)
    ordered = sizes.of(scenario, enough)
    if ordered.spares and pool:  # the plan of the order has its pool
        ordered = ordered.override({SPARES: pool.n_spares})
    n_spares, waiting_share = (pool.n_spares, pool.waiting_share) if pool else (0, 0.0)
    needed = demand(run)
    in_repair, repair_h = needed.in_repair, needed.repair_h
    return Order(wanted, ordered, ettr, n_spares, waiting_share, in_repair, repair_h, completed.fields)


class _Sizes:
    """A run, with spares and repair, at other numbers of nodes."""

    def __init__(self, scenario: Scenario, observed_anywhere: bool) -> None:
        self.scenario = scenario
        self.per_node = scenario.cluster.gpus_per_node
        self.observed_here = {OBSERVED: None, "failures.exposed_share": None} if observed_anywhere else {}

    def fastest_nodes(self) -> int:
        """Return the number of nodes that trains fastest."""
        found = scipy.optimize.minimize_scalar(
            lambda log_n: -self.effective(round(math.exp(log_n))), bounds=(0.0, math.log(_MOST_NODES)), method="bounded"
        )
        return round(math.exp(found.x))

    def of(self, scenario: Scenario, n_nodes: int) -> Scenario:
        """Return a run at a size."""
        return scenario.override({N_GPUS: n_nodes * self.per_node, **self.observed_here})

    def at(self, n_nodes: int) -> tuple[Scenario, float, Pool | None]:
        """Return the run at a size with its best interval, the ETTR, and its cheapest pool; 0 if it cannot run."""
        run = self.of(self.scenario, n_nodes)
        best = at_best(budget.simplified(run).scenario)
        if best.ettr == 0:
            return run, 0.0, None
        run = run.override({INTERVAL: float(best.interval_min)})
        return run, float(best.ettr), cheapest_pool_for(run)

    def effective(self, n_nodes: int) -> float:
        """Return the GPUs that never fail and train like the job and its spares; 0 for a refused size. [GPUs]"""
        try:
            _, ettr, pool = self.at(n_nodes)
        except InputError:
            return 0.0
        return n_nodes * self.per_node * ettr * (1 - (pool.waiting_share if pool else 0.0))
