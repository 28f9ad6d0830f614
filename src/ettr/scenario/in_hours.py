"""A scenario in hours, for the formulas.

Fields keep the units that people say; that they become hours happens here and nowhere else.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field

from ettr.core import moved
from ettr.core.errors import InputError
from ettr.scaling import Layout, calibration
from ettr.scaling.throughput import Throughput
from ettr.scenario.basics import H_PER_DAY, MIN_PER_H, S_PER_H, Origin, Section, Text
from ettr.scenario.electricity import PART, Cost, Power
from ettr.scenario.fleet import Elastic, Repair, SlowNodes, Spares
from ettr.scenario.gpu import Gpu
from ettr.scenario.heat import Heat
from ettr.scenario.heat_response import HeatResponse, heat_response
from ettr.scenario.loader import stamp
from ettr.scenario.sections import (
    Checkpoint,
    Cluster,
    Failures,
    Job,
    Maintenance,
    Prediction,
    Recovery,
)
from ettr.scenario.survival import survival_by_mode
from ettr.scenario.training import Interconnect, Model, Parallelism, StepModel, Synchronisation


class InHours(Section):
    """The fields of a scenario, and what formulas need of them in hours."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$", description="short name: a-z, 0-9, dot, dash")
    title: Text = Field(description="one line for headings")
    sources: tuple[Text, ...] = Field((), description="bibliography keys")
    cluster: Cluster = Field(description=Cluster.__doc__)
    job: Job = Field(description=Job.__doc__)
    failures: Failures = Field(description=Failures.__doc__)
    checkpoint: Checkpoint = Field(description=Checkpoint.__doc__)
    recovery: Recovery = Field(description=Recovery.__doc__)
    maintenance: Maintenance | None = Field(None, description=Maintenance.__doc__)
    prediction: Prediction | None = Field(None, description=Prediction.__doc__)
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
        """Prices in force: the scenario's, or the assumed ones."""
        return self.cost or Cost.model_validate({})

    @property
    def n_nodes(self) -> int:
        """Nodes of the job."""
        return self.cluster.n_gpus // self.cluster.gpus_per_node

    @functools.cached_property
    def heat_response(self) -> HeatResponse | None:
        """Temperatures, clocks and speed over the hours of the weather; None without heat."""
        return heat_response(self.heat, self.cluster.n_gpus, self.productive_h) if self.heat else None

    warmth = moved.attribute("heat_response", "warmth")

    @property
    def files(self) -> tuple[str, ...]:
        """Files beside its own that the scenario reads: weather, and GPUs that are no preset."""
        weather = [self.heat.weather] if self.heat and self.heat.weather else []
        parts = [self.heat.part] if self.heat else []
        if self.job.tokens is not None:  # which need what the GPU can compute
            parts.append(self.part_name)
        return (*weather, *(part for part in dict.fromkeys(parts) if part.endswith((".yml", ".yaml"))))

    @functools.cached_property
    def throughput(self) -> Throughput | None:
        """How fast the job trains on so many GPUs; None where it is given by its hours."""
        if self.model is None or self.job.tokens is None:
            return None
        sections = (self.model, self.layout, self.network, self.scaling, self.sync)
        return _throughput(
            self.job.tokens, *sections, self.cluster.gpus_per_node, self.part_name, stamp(self.part_name)
        )

    @property
    def part(self) -> Gpu:
        """The GPU of the job: that of ``power``, else of ``heat``, else an H100."""
        return Gpu.load(self.part_name)

    @property
    def part_name(self) -> str:
        """Its name, or the file that describes it."""
        given = self.power.part if self.power else None
        return given or (self.heat.part if self.heat else PART)

    @functools.cached_property
    def layout_of_job(self) -> Layout | None:
        """The fastest layout whose replicas divide the job's GPUs; None where it is given by its hours."""
        return _cut(self.throughput, self.cluster.n_gpus)[0] if self.throughput else None

    @functools.cached_property
    def productive_h(self) -> float:
        """Useful training that the job needs, on all its nodes at full speed. [h]"""
        if self.job.productive_h is not None:
            return self.job.productive_h
        assert self.throughput is not None
        return _cut(self.throughput, self.cluster.n_gpus)[1]

    def productive_h_on(self, n_gpus: Any) -> Any:
        """The same on other numbers of GPUs, each with its fastest layout; NaN where none fits. [h]"""
        if self.throughput is None:
            return self.job.productive_h
        sizes, where = np.unique(np.asarray(n_gpus, dtype=float), return_inverse=True)
        return np.asarray(self.throughput.productive_h(sizes))[where].reshape(np.shape(n_gpus))

    @property
    def speed(self) -> float:
        """Speed of training over full speed: its throughput factor, and the mean over the hours of its heat."""
        return self.job.throughput_factor * (self.heat_response.speed if self.heat_response else 1.0)

    @property
    def work_h(self) -> float:
        """Hours of training that the job needs at its own speed, W. [h]"""
        return self.productive_h / self.speed

    @property
    def node_rate_per_h(self) -> float:
        """Failures per node and exposed hour, all modes at factor 1. [1/h]"""
        return float(self.failures.per_node_h(self.failures.rate))

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the modes; the last is ``other``, which holds what the named ones leave over."""
        return (*(mode.name for mode in self.failures.modes), "other")

    def mode_exposure(self, n_nodes: Any = None) -> np.ndarray:
        """Nodes at risk of each mode, weighted by its share and factor, and by what heat makes of it.

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
        of_job = np.array([mode.scales_with == "job" for mode in modes] + [False])
        nodes = np.asarray(self.n_nodes if n_nodes is None else n_nodes, dtype=float)[..., None]
        return weights * np.where(of_job, self.failures.observed_nodes or 0, nodes)

    @functools.cached_property
    def heat_factors(self) -> tuple[float, ...]:
        """Failure rate of each of ``failures.modes`` over that where it was observed, by heat."""
        if self.heat_response is None:
            return (1.0,) * len(self.failures.modes)
        return tuple(self.heat_response.factor(mode) for mode in self.failures.modes)

    @property
    def heat_rate_factor(self) -> float:
        """Failure rate of the job over what it would be where its rates were observed."""
        without = float(self._exposure(None, (1.0,) * len(self.heat_factors)).sum())
        return float(self.mode_exposure().sum()) / without if without > 0 else 1.0

    @property
    def job_rate_per_h(self) -> float:
        """Failures of the job per exposed hour, λ. [1/h]"""
        return self.node_rate_per_h * float(self.mode_exposure().sum())

    @property
    def job_mttf_h(self) -> float:
        """Mean time to failure of the job in exposed hours, M = 1/λ; infinite without failures. [h]"""
        rate = self.job_rate_per_h
        return 1 / rate if rate > 0 else math.inf

    @property
    def interval_h(self) -> float:
        """Productive hours between checkpoints, τ. [h]"""
        return self.checkpoint.interval_min / MIN_PER_H

    @property
    def stall_h(self) -> float:
        """Stall of one checkpoint, w. [h]"""
        return self.checkpoint.stall_s / S_PER_H

    @property
    def persist_h(self) -> float:
        """Background write of one checkpoint to the store, p. [h]"""
        store = self.checkpoint.store
        return float(store.write_h(self.n_nodes)) if store else self.checkpoint.persist_s / S_PER_H

    @property
    def load_h(self) -> float:
        """Loading from the store, on top of the restart. [h]"""
        store = self.checkpoint.store
        return float(store.load_h(self.n_nodes)) if store and store.read_gb_s else self.checkpoint.load_s / S_PER_H

    def init_h(self, n_gpus: Any = None) -> Any:
        """What each start takes for the number of GPUs, on top of the restart and of loading. [h]"""
        size = self.cluster.n_gpus if n_gpus is None else n_gpus
        return self.recovery.init_s_per_1000_gpus * size / (1000 * S_PER_H)

    @property
    def least_interval_min(self) -> float:
        """Training done during a background write: no interval can be shorter. [min]"""
        return (1 - self.checkpoint.persist_slowdown) * self.persist_h * MIN_PER_H

    @property
    def recovery_h(self) -> float:
        """Mean time from a failure to the next training if none strikes meanwhile, d + q + r over modes. [h]"""
        restart_h = self._mean_over_modes("restart_min") + self.load_h + float(self.init_h())
        return self.detection_h + self.queue_h + restart_h

    @property
    def detection_h(self) -> float:
        """Mean detection time of a failure, over modes. [h]"""
        return self._mean_over_modes("detection_min")

    @property
    def queue_h(self) -> float:
        """Mean queue time after a failure, over modes, with the wait for a person. [h]"""
        return self._mean_over_modes("queue_min") + self.person_h

    @property
    def person_h(self) -> float:
        """Mean wait for a person, over all recoveries. [h]"""
        return self.recovery.person_share * self.recovery.person_min / MIN_PER_H

    @property
    def restart_h(self) -> float:
        """Restart time of a planned start without loading, r. [h]"""
        return self.recovery.restart_min / MIN_PER_H + float(self.init_h())

    @property
    def first_queue_h(self) -> float:
        """Wait between submission and first start, q₀. [h]"""
        given = self.job.first_queue_min
        return (self.recovery.queue_min if given is None else given) / MIN_PER_H

    @property
    def maintenance_rate_per_h(self) -> float:
        """Requests for maintenance per wall-clock hour, μ. [1/h]"""
        return self.maintenance.per_day / H_PER_DAY if self.maintenance else 0.0

    @property
    def maintenance_h(self) -> float:
        """Length of one maintenance stop. [h]"""
        return self.maintenance.duration_min / MIN_PER_H if self.maintenance else 0.0

    @property
    def latencies_h(self) -> tuple[float, ...]:
        """Latencies of the silent modes that occur, each once. [h]"""
        modes = zip(self.failures.modes, self.mode_weights[:-1], strict=True)
        return tuple(sorted({mode.latency_h for mode, weight in modes if weight > 0 and mode.latency_h is not None}))

    @property
    def mode_weights(self) -> np.ndarray:
        """Probability that a failure is of each of ``mode_names``."""
        return np.array(self._mode_weights)

    @property
    def repair_h_by_mode(self) -> np.ndarray:
        """Hours of repair that a failure of each of ``mode_names`` asks for, over the nodes that it takes out. [h]"""
        mean_h = self.repair.mean_h if self.repair else 0.0
        own = [mode.n_out_nodes * (mean_h if mode.repair_h is None else mode.repair_h) for mode in self.failures.modes]
        return np.array([*own, mean_h])

    @property
    def nodes_in_repair(self) -> float:
        """Nodes in repair on average if the job never stood still, waiting for a crew aside. [nodes]"""
        return self.job_rate_per_h * float(self.mode_weights @ self.repair_h_by_mode)

    @functools.cached_property
    def _mode_weights(self) -> tuple[float, ...]:
        exposure = self.mode_exposure()
        weights = exposure / exposure.sum() if exposure.sum() > 0 else np.append(np.zeros(exposure.size - 1), 1.0)
        return tuple(weights.tolist())

    def survival(self, n_nodes: Any = None, given: Mapping[str, Any] | None = None) -> list[np.ndarray]:
        """Share of each mode's failures that each faster tier survives.

        Parameters
        ----------
        n_nodes : float or ndarray, optional
            Size of the job instead of the scenario's. [nodes]
        given : mapping, optional
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
        return survival_by_mode(self.checkpoint.tiers, self.failures.modes, nodes, given or {})

    def own_h(self, field: str) -> np.ndarray:
        """A recovery time where a mode has its own, NaN where the general one holds. [h]"""
        own = [getattr(mode, field) for mode in self.failures.modes]
        return np.array([math.nan if value is None else value for value in [*own, None]], dtype=float) / MIN_PER_H

    def _mean_over_modes(self, field: str) -> float:
        return float(self.mode_weights @ self._by_mode_h(field))

    def _by_mode_h(self, field: str) -> np.ndarray:
        """A recovery time of every mode, its own or the general one. [h]"""
        own = self.own_h(field)
        return np.where(np.isnan(own), getattr(self.recovery, field) / MIN_PER_H, own)

    def _dead_share_as_observed(self) -> float:
        """Share of the observed wall clock in which no failure could strike, taking the rate as per wall clock.

        The count was made on the observed nodes and before any ``factor``, so neither the job's size nor a factor
        enters. Waits for nodes are not known before the run, and not counted.
        """
        shares = np.append(self.failures.shares, max(0.0, 1 - sum(self.failures.shares)))
        by_mode_h = self._by_mode_h("detection_min") + self._by_mode_h("queue_min")
        # a silent failure strikes while what is computed counts: not while another is hidden, nor in a restart
        observed_nodes = self.failures.observed_nodes or self.n_nodes
        init_h = self.init_h(observed_nodes * self.cluster.gpus_per_node)
        restart_h = self._by_mode_h("restart_min") + self.load_h + init_h
        for i, mode in enumerate(self.failures.modes):
            by_mode_h[i] += 0.0 if mode.latency_h is None else mode.latency_h + restart_h[i]
        dead_h = float(shares @ by_mode_h) + self.person_h
        rolling = self.maintenance is not None and self.maintenance.rolling_nodes is not None
        stopped = 0.0 if rolling else self.maintenance_rate_per_h * self.maintenance_h
        of_clock = self.node_rate_per_h * observed_nodes * dead_h + stopped
        # time-outs strike in exposed hours only
        alarm_h = self.recovery.queue_min / MIN_PER_H + self.person_h
        of_exposed = self.recovery.false_alarms_per_day / H_PER_DAY * alarm_h
        return (of_clock + of_exposed) / (1 + of_exposed)


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
    """Of a model with its links; made once for all scenarios that share them, as it looks at every layout."""
    gpu = Gpu.load(part_name)
    if gpu.compute is None:
        raise InputError(
            f"GPU {gpu.name} has no compute figures, which tokens need, e.g. compute: {{peak_tflops: 989.4, "
            "memory_gb: 80, link_gb_s: 450}"
        )
    links = network or Interconnect.model_validate({})
    slowness = scaling or StepModel.model_validate({})
    loose = sync or Synchronisation.model_validate({})
    given = (layout or Parallelism.model_validate({})).given
    if loose.every_steps > 1 and given.sharded is None:
        # sharded weights are gathered in every step, which leaves no exchange to save
        given = replace(given, sharded=False)
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
        given=given,
    )


@functools.lru_cache(maxsize=256)
def _cut(throughput: Throughput, n_gpus: int) -> tuple[Layout, float]:
    """The fastest layout whose replicas divide the GPUs, and the hours that the tokens take with it."""
    layout = throughput.dividing(n_gpus)
    return layout, float(throughput.productive_h(n_gpus, layout))
