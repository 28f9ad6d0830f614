"""The fields of a scenario, and the sizes, speed and rates that follow from them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field

from ettr.core.errors import InputError
from ettr.core.units import H_PER_DAY, H_PER_YEAR
from ettr.scaling import Layout, calibration
from ettr.scaling.throughput import Throughput
from ettr.scenario.basics import Origin, Section, Text, Title
from ettr.scenario.checkpoints import Checkpoint, Store
from ettr.scenario.electricity import PART, Cost, Power
from ettr.scenario.failures import Failures
from ettr.scenario.fields import swept
from ettr.scenario.fleet import Elastic, Rack, Repair, SlowNodes, Spares
from ettr.scenario.gpu import Gpu
from ettr.scenario.heat import Heat
from ettr.scenario.heat_response import HeatResponse, heat_response, weather_cautions
from ettr.scenario.loader import stamp
from ettr.scenario.sections import Cluster, Job, Maintenance, Measured, Prediction, Recovery
from ettr.scenario.survival import survival_by_mode
from ettr.scenario.training import Interconnect, Model, Parallelism, StepModel, Synchronisation


class RunFields(Section):
    """The fields of a scenario, and the sizes, speed and rates that follow from them."""

    name: str = Field("mine", pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$", description="short name: a-z, 0-9, dot, dash")
    title: Title = Field("Our cluster", description="title for headings, one line")
    sources: tuple[Text, ...] = Field((), description="bibliography keys")
    cluster: Cluster = Field(description=Cluster.__doc__)
    job: Job = Field(default_factory=lambda: Job.model_validate({}), description=Job.__doc__)
    failures: Failures = Field(description=Failures.__doc__)
    checkpoint: Checkpoint = Field(
        default_factory=lambda: Checkpoint.model_validate({}), description=Checkpoint.__doc__
    )
    recovery: Recovery = Field(default_factory=lambda: Recovery.model_validate({}), description=Recovery.__doc__)
    measured: Measured | None = Field(None, description=Measured.__doc__)
    maintenance: Maintenance | None = Field(None, description=Maintenance.__doc__)
    prediction: Prediction | None = Field(None, description=Prediction.__doc__)
    rack: Rack | None = Field(None, description=Rack.__doc__)
    spares: Spares | None = Field(None, description=Spares.__doc__)
    repair: Repair | None = Field(None, description=Repair.__doc__)
    elastic: Elastic | None = Field(None, description=Elastic.__doc__)
    slow_nodes: SlowNodes | None = Field(None, description=SlowNodes.__doc__)
    heat: Heat | None = Field(None, description=Heat.__doc__)
    power: Power | None = Field(None, description=Power.__doc__)
    cost: Cost | None = Field(None, description=Cost.__doc__)
    model: Model | None = Field(None, description=Model.__doc__)
    layout: Parallelism | None = Field(None, description=Parallelism.__doc__)
    network: Interconnect | None = Field(None, description=Interconnect.__doc__)
    scaling: StepModel | None = Field(None, description=StepModel.__doc__)
    sync: Synchronisation | None = Field(None, description=Synchronisation.__doc__)
    evidence: dict[str, Origin] = Field(default_factory=dict, description="origin of each value, by dotted path")

    @property
    def prices(self) -> Cost:
        """Prices of the scenario, or the assumed ones."""
        return self.cost or Cost.model_validate({})

    @property
    def usd_per_h(self) -> float:
        """Cost per hour of the job: GPUs and fixed daily cost, without electricity. [USD/h]"""
        return self.cluster.n_gpus * self.prices.usd_per_gpu_h + self.prices.usd_per_day / H_PER_DAY

    @property
    def store(self) -> Store | None:
        """The section ``checkpoint.store``, with the parameters of ``model`` where it gives none."""
        store = self.checkpoint.store
        if store is None or store.n_parameters is not None or self.model is None:
            return store
        return store.model_copy(update={"n_parameters": self.model.n_parameters})

    @property
    def n_nodes(self) -> int:
        """Nodes of the job."""
        return self.cluster.n_nodes

    @property
    def rack_nodes(self) -> int:
        """Nodes of a rack that the job uses, which leave it together; 1 without ``rack``."""
        return min(self.rack.gpus_used // self.cluster.gpus_per_node, self.n_nodes) if self.rack else 1

    @property
    def rack_spares(self) -> int:
        """Spare nodes inside each rack."""
        return (self.rack.n_gpus - self.rack.gpus_used) // self.cluster.gpus_per_node if self.rack else 0

    @property
    def observed_nodes(self) -> int:
        """Nodes of the run on which failures and recovery were observed; by default those of the job.

        At another size the failures grow with the nodes, and each start by ``recovery.init_s_per_1000_gpus``.
        """
        return self.failures.observed_nodes or self.n_nodes

    @property
    def observed_gpus(self) -> int:
        """GPUs of the run on which failures and recovery were observed. [GPUs]"""
        return self.observed_nodes * self.cluster.gpus_per_node

    @property
    def gpus_beyond_observed(self) -> int:
        """GPUs of the job minus ``observed_gpus``. [GPUs]"""
        return self.cluster.n_gpus - self.observed_gpus

    @functools.cached_property
    def heat_response(self) -> HeatResponse | None:
        """Temperatures, clocks and speed over the hours of the weather; None without heat."""
        return heat_response(self.heat, self.cluster.n_gpus, self.productive_h) if self.heat else None

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences that belong before any result: weather that covers too little of the run."""
        return weather_cautions(self.heat, self.productive_h)

    @property
    def files(self) -> tuple[str, ...]:
        """Other files that the scenario reads: weather, and GPUs that are not presets."""
        weather = [self.heat.weather] if self.heat and self.heat.weather else []
        parts = [self.heat.part] if self.heat else []
        if self.job.tokens is not None:  # which need what the GPU can compute
            parts.append(self.part_name)
        return (*weather, *(part for part in dict.fromkeys(parts) if part.endswith((".yml", ".yaml"))))

    @functools.cached_property
    def throughput(self) -> Throughput | None:
        """Throughput model of the training job; None for a job with ``productive_h``."""
        if self.model is None or self.job.tokens is None:
            return None
        sections = (self.model, self.layout, self.network, self.scaling, self.sync)
        return _throughput(
            self.job.tokens, *sections, self.cluster.gpus_per_node, self.part_name, stamp(self.part_name)
        )

    @property
    def part(self) -> Gpu:
        """The GPU of the job: from ``power``, else from ``heat``, else an H100."""
        return Gpu.load(self.part_name)

    @property
    def part_name(self) -> str:
        """Name of the GPU, or its file."""
        part = self.power.part if self.power else None
        return part or (self.heat.part if self.heat else PART)

    @functools.cached_property
    def layout_of_job(self) -> Layout | None:
        """The fastest layout whose replicas divide the GPUs of the job; None for a job with ``productive_h``."""
        return _cut(self.throughput, self.cluster.n_gpus)[0] if self.throughput else None

    @property
    def ends(self) -> bool:
        """True if the job has an end; without one, all hours refer to one year of training."""
        return self.job.productive_h is not None or self.job.tokens is not None

    @property
    def starts(self) -> bool:
        """True if the first queue and start-up count, as for a job with an end."""
        return self.job.include_start and self.ends

    @functools.cached_property
    def productive_h(self) -> float:
        """Productive training that the job needs, on all its nodes at full speed. [h]"""
        if self.job.productive_h is not None:
            return self.job.productive_h
        return _cut(self.throughput, self.cluster.n_gpus)[1] if self.throughput else H_PER_YEAR

    def productive_h_on(self, n_gpus: Any) -> Any:
        """Return the productive hours on other numbers of GPUs, each with its fastest layout; NaN if none fits. [h]"""
        if self.throughput is None:
            return self.productive_h
        sizes, where = np.unique(np.asarray(n_gpus, dtype=float), return_inverse=True)
        return np.asarray(self.throughput.productive_h(sizes))[where].reshape(np.shape(n_gpus))

    @property
    def speed(self) -> float:
        """Training speed relative to full speed: throughput factor times the mean effect of heat."""
        return self.job.throughput_factor * (self.heat_response.speed if self.heat_response else 1.0)

    @property
    def work_h(self) -> float:
        """Training hours that the job needs at its actual speed, W. [h]"""
        return self.productive_h / self.speed

    @property
    def failure_rate(self) -> float:
        """Failures per 1,000 node-days on the clock of ``failures.rate_clock``. [1 / (1000 node-days)]"""
        return self.failures.rate_of(self.cluster.gpus_per_node, self.observed_nodes)

    @property
    def rate_observed_on_gpus(self) -> int | None:
        """GPUs on which a job's failures were observed, if the size differs; None for a rate per node. [GPUs]"""
        nodes = self.failures.observed_nodes
        elsewhere = nodes is not None and nodes != self.n_nodes and self.failures.of_a_job
        return nodes * self.cluster.gpus_per_node if nodes is not None and elsewhere else None

    @property
    def node_rate_per_h(self) -> float:
        """Failures per node and exposed hour, all modes at factor 1. [1/h]"""
        return float(self.failures.per_node_h(self.failure_rate))

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the modes; the last is ``other``, for the remaining failures."""
        return (*(mode.name for mode in self.failures.modes), "other")

    def mode_exposure(self, n_nodes: Any = None) -> np.ndarray:
        """Return the nodes at risk of each mode, weighted by its share, factor and heat.

        Times ``node_rate_per_h`` it is the rate of each mode.

        Parameters
        ----------
        n_nodes : float or ndarray, optional
            Size of the job instead of the scenario's. [nodes]

        Returns
        -------
        ndarray
            Shape of ``n_nodes`` and one more axis, over ``mode_names``. [nodes]
        """
        return self._exposure(n_nodes, self.heat_factors)

    def _exposure(self, n_nodes: Any, heat_factors: tuple[float, ...]) -> np.ndarray:
        modes, shares = self.failures.modes, self.failures.shares
        lemons = self.failures.lemons.rate_factor if self.failures.lemons else 1.0
        factors = [
            mode.factor * heat * (lemons if mode.of_nodes else 1.0)
            for mode, heat in zip(modes, heat_factors, strict=True)
        ]
        weights = np.array([*np.multiply(shares, factors), lemons * max(0.0, 1 - sum(shares))])
        nodes = np.asarray(self.n_nodes if n_nodes is None else n_nodes, dtype=float)
        return np.asarray(weights * nodes[..., None])

    @functools.cached_property
    def heat_factors(self) -> tuple[float, ...]:
        """Failure rate of each of ``failures.modes`` relative to where it was observed, due to heat."""
        if self.heat_response is None:
            return (1.0,) * len(self.failures.modes)
        return tuple(self.heat_response.factor(mode) for mode in self.failures.modes)

    @property
    def heat_rate_factor(self) -> float:
        """Failure rate of the job relative to the conditions where it was observed, due to heat."""
        without = float(self._exposure(None, (1.0,) * len(self.heat_factors)).sum())
        return float(self.mode_exposure().sum()) / without if without > 0 else 1.0

    @property
    def job_rate_per_h(self) -> float:
        """Failures of the job per exposed hour, λ. [1/h]"""
        return float(self.job_rate_at(self.failure_rate))

    def job_rate_at(self, rate_per_1000_node_days: Any) -> Any:
        """Return the failures of the job per exposed hour at other failure rates. [1/h]"""
        return self.failures.per_node_h(rate_per_1000_node_days) * float(self.mode_exposure().sum())

    @functools.cached_property
    def swept(self) -> tuple[str, ...]:
        """Fields for which ``at`` accepts arrays; see :func:`ettr.budget.swept`."""
        return swept(self)

    @property
    def job_mttf_h(self) -> float:
        """Mean time to failure of the job in exposed hours, M = 1/λ; infinite without failures. [h]"""
        rate = self.job_rate_per_h
        return 1 / rate if rate > 0 else math.inf

    @property
    def mode_weights(self) -> np.ndarray:
        """Probability that a failure belongs to each of ``mode_names``; the last one without failures."""
        exposure = self.mode_exposure()
        total = exposure.sum()
        return np.asarray(exposure / total) if total > 0 else np.eye(exposure.size)[-1]

    def survival(self, n_nodes: Any = None, replaced: Mapping[str, Any] | None = None) -> list[np.ndarray]:
        """Return the share of each mode's failures that each faster tier survives.

        Parameters
        ----------
        n_nodes : float or ndarray, optional
            Size of the job instead of the scenario's. [nodes]
        replaced : mapping, optional
            Tier's name to another share for all failures, float or ndarray.

        Returns
        -------
        list of ndarray
            One a tier, fastest first: ``mode_names`` on the first axis, the shape of the arguments on the others.

        Raises
        ------
        InputError
            A tier that survives less than a faster one, names an unknown kind of failure, or has more copies than
            the job has nodes.
        """
        nodes = self.n_nodes if n_nodes is None else n_nodes
        return survival_by_mode(self.checkpoint.tiers, self.failures.modes, nodes, replaced or {})


@functools.lru_cache(maxsize=64)
def _throughput(
    n_tokens: float,
    model: Model,
    layout: Parallelism | None,
    network: Interconnect | None,
    scaling: StepModel | None,
    sync: Synchronisation | None,
    gpus_per_node: int,
    part_name: str,
    _stamp: tuple[int, int],
) -> Throughput:
    """Return the throughput model; cached, because it evaluates every layout."""
    gpu = Gpu.load(part_name)
    if gpu.compute is None:
        raise InputError(
            f"GPU {gpu.name} has no compute figures, which tokens need, e.g. compute: {{peak_tflops: 989.4, "
            "memory_gb: 80, link_gb_s: 450}"
        )
    links = network or Interconnect.model_validate({})
    slowness = scaling or StepModel.model_validate({})
    loose = sync or Synchronisation.model_validate({})
    fixed = (layout or Parallelism.model_validate({})).fixed
    if loose.every_steps > 1 and fixed.sharded is None:
        # sharded weights are gathered in every step, which leaves no exchange to save
        fixed = replace(fixed, sharded=False)
    return Throughput(
        model=model.transformer,
        n_tokens=n_tokens,
        batch_tokens=model.batch_tokens,
        reference_batch_tokens=model.reference_batch_tokens,
        critical_batch_tokens=model.critical_batch_tokens,
        peak_tflops=gpu.compute.peak_tflops,
        gpu_memory_gb=gpu.compute.memory_gb,
        network=links.network(gpu.compute.link_gb_s, gpus_per_node),
        constants=slowness.over(calibration.fit(slowness.like).constants),
        sync=loose.sync,
        efficiency=loose.efficiency,
        fixed=fixed,
    )


@functools.lru_cache(maxsize=256)
def _cut(throughput: Throughput, n_gpus: int) -> tuple[Layout, float]:
    """Return the fastest layout whose replicas divide the GPUs, and the hours that the tokens take."""
    layout = throughput.fastest_dividing(n_gpus)
    return layout, float(throughput.productive_h(n_gpus, layout))
