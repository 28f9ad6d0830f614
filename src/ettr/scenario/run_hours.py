"""Scenario quantities for formulas and the simulator, with all times in hours."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ettr.core.units import MIN_PER_H
from ettr.scenario.job_in_hours import JobInHours
from ettr.scenario.racks import split_by_rack
from ettr.scenario.run_fields import RunFields
from ettr.scenario.to_hours import Values, before_interval, job_in_hours


class RunHours(RunFields):
    """A scenario with its times in hours."""

    def in_hours(self, at: Mapping[str, Any] | None = None) -> JobInHours:
        """Return the quantities for formulas and the simulator, with all times in hours.

        Parameters
        ----------
        at : mapping, optional
            Dotted path (one of :func:`ettr.budget.swept`) to an array in the field's unit; arrays broadcast against
            each other. GPU counts need not be whole nodes here.

        Returns
        -------
        JobInHours
            Floats, and arrays where a field of ``at`` matters.

        Raises
        ------
        InputError
            A path that cannot be swept, or a value that breaks the field's rule.
        """
        return job_in_hours(self, at) if at else self._hours

    @functools.cached_property
    def _hours(self) -> JobInHours:
        return job_in_hours(self)

    @property
    def interval_h(self) -> float:
        """Productive hours between checkpoints, τ. [h]"""
        return float(self.in_hours().tau)

    @property
    def interval_min(self) -> float:
        """Productive time between checkpoints, as written or by its rule. [min]"""
        interval = self.checkpoint.interval_min
        return self.interval_h * MIN_PER_H if isinstance(interval, str) else interval

    @property
    def stall_h(self) -> float:
        """Stall of one checkpoint, w. [h]"""
        return float(before_interval(self).stall)

    @property
    def persist_h(self) -> float:
        """Background write of one checkpoint to the store, p. [h]"""
        return float(Values(self).persist_h)

    @property
    def load_h(self) -> float:
        """Time to load from the store, in addition to the restart. [h]"""
        return float(before_interval(self).load)

    @property
    def least_interval_min(self) -> float:
        """Training done during a background write, the minimum interval. [min]"""
        return (1 - self.checkpoint.persist_slowdown) * self.persist_h * MIN_PER_H

    @property
    def recovery_h(self) -> float:
        """Mean time from a failure to resumed training without another failure, d + q + r over modes. [h]"""
        return float(before_interval(self).recovery)

    @property
    def detection_h(self) -> float:
        """Mean detection time of a failure, over modes. [h]"""
        return float(before_interval(self).detection)

    @property
    def queue_h(self) -> float:
        """Mean queue time after a failure, over modes, including the wait for a person. [h]"""
        return float(before_interval(self).queue)

    @property
    def restart_h(self) -> float:
        """Restart time of a planned start without loading, r. [h]"""
        return float(before_interval(self).restart)

    @property
    def start_growth_h(self) -> float:
        """Additional time of each start relative to where it was observed, for more GPUs; negative for fewer. [h]"""
        return float(Values(self).growth_h)

    @property
    def first_queue_h(self) -> float:
        """Wait for the scheduler, at the start and after each failure. [h]"""
        return float(before_interval(self).first_queue)

    @property
    def maintenance_rate_per_h(self) -> float:
        """Maintenance requests per wall-clock hour, μ. [1/h]"""
        return float(before_interval(self).stops_per_h)

    @property
    def maintenance_h(self) -> float:
        """Duration of one maintenance stop. [h]"""
        return float(before_interval(self).stop)

    @property
    def latencies_h(self) -> tuple[float, ...]:
        """Distinct latencies of the silent modes that occur. [h]"""
        return tuple(before_interval(self).modes.latencies.tolist())

    @functools.cached_property
    def by_rack(self) -> Self:
        """The same run without ``rack``, with failures in and of racks as modes; itself if racks have no effect."""
        return split_by_rack(self)

    @property
    def repair_h_by_mode(self) -> np.ndarray:
        """Repair hours per failure of each of ``mode_names``, over the nodes that it removes. [h]"""
        modes, mean_h = before_interval(self).modes, self.repair.mean_h if self.repair else 0.0
        return modes.n_out * np.where(np.isnan(modes.repair), mean_h, modes.repair)

    @property
    def nodes_in_repair(self) -> float:
        """Mean number of nodes in repair if the job never stopped, without waiting for a crew. [nodes]"""
        return self.job_rate_per_h * float(self.by_rack.mode_weights @ self.by_rack.repair_h_by_mode)

    def _dead_share_as_observed(self) -> float:
        """Return the fraction of observed wall clock in which no failure could occur, with the rate per wall clock.

        The count was made on the observed nodes and before any ``factor``, so neither the job's size nor a factor
        enters. Waits for nodes are not known before the run, and not counted.
        """
        run, failures = before_interval(self), self.failures
        shares = np.append(failures.shares, max(0.0, 1 - sum(failures.shares)))
        observed_nodes = self.observed_nodes
        general_h = self.recovery.restart_min / MIN_PER_H
        own_h = [general_h if mode.restart_min is None else mode.restart_min / MIN_PER_H for mode in failures.modes]
        restart_h = np.array([*own_h, general_h])  # as observed, whatever the size of the job
        # a silent failure strikes while what is computed counts: not while another is hidden, nor in a restart
        hidden_h = np.where(np.isnan(run.modes.latency), 0.0, run.modes.latency + restart_h + run.load)
        person_h = run.person_share * run.person
        if not self.recovery.exposed:
            hidden_h = np.where(np.isnan(run.modes.latency), restart_h + run.load, hidden_h)
        dead_h = float(shares @ (run.modes.detection + hidden_h) + run.first_queue) + person_h
        rolling = self.maintenance is not None and self.maintenance.rolling_nodes is not None
        of_clock = self.node_rate_per_h * observed_nodes * dead_h + (0.0 if rolling else run.stops_per_h * run.stop)
        # time-outs strike in exposed hours only
        of_exposed = run.false_alarms_per_h * (self.first_queue_h + person_h)
        return (of_clock + of_exposed) / (1 + of_exposed)
