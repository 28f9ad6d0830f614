"""A job on a cluster: read from YAML, checked, overridden, and turned into hours.

Fields keep the units that people say; the properties of :class:`Scenario` give the hours that
formulas need. That conversion happens here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from pydantic import Field, ValidationError, model_validator

from ettr import evidence
from ettr.errors import InputError, UnknownName
from ettr.scenario import paths, writing
from ettr.scenario.explain import explain
from ettr.scenario.loader import StrictLoader
from ettr.scenario.sections import (
    ALL,
    H_PER_DAY,
    MIN_PER_H,
    S_PER_H,
    Checkpoint,
    Cluster,
    Failures,
    Job,
    Maintenance,
    Origin,
    Prediction,
    Recovery,
    Section,
    Text,
)
from ettr.scenario.survival import survival_by_mode

_REPLACES = {
    "failures.rate_per_1000_node_days": ("n_events", "node_days", "rate_gamma"),
    "failures.n_events": ("rate_per_1000_node_days", "rate_gamma", "exposed_share"),
    "failures.node_days": ("rate_per_1000_node_days", "rate_gamma", "exposed_share"),
    "failures.rate_clock": ("exposed_share",),
}
"""Fields of ``failures`` that a new value makes void.

A rate replaces a count. A new count or clock is a new observation, whose conversion is computed anew; a new rate keeps
the conversion, so that a rate can be swept.
"""


_ROUNDING = 1e-12
"""Two ways to the same number may differ by this, relative."""


class Scenario(Section):
    """A job on a cluster.

    Examples
    --------
    >>> from ettr import Scenario
    >>> scenario = Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000})
    >>> scenario.n_nodes
    12500
    >>> round(scenario.job_mttf_h, 2)
    0.5
    """

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
    evidence: dict[str, Origin] = Field(default_factory=dict, description="origin of each value, by dotted path")

    @model_validator(mode="before")
    @classmethod
    def _fill_exposed_share(cls, raw: Any) -> Any:
        """Fix the conversion of a wall-clock rate once, from the scenario as it was written."""
        if not isinstance(raw, dict) or not isinstance(raw.get("failures"), dict):
            return raw
        failures = raw["failures"]
        if failures.get("rate_clock") != "wall" or failures.get("exposed_share") is not None:
            return raw
        try:
            draft = cls.model_validate({**raw, "failures": {**failures, "rate_clock": "exposed"}})
        except ValidationError:
            return raw  # the same faults are reported when the whole is checked
        dead = draft._dead_share_as_observed()
        if dead >= 1:
            raise ValueError(
                f"failures.rate_clock: wall leaves no time in which failures can strike: detection, queue and "
                f"maintenance take {dead:.3g} of each hour"
            )
        origins = raw["evidence"] if isinstance(raw.get("evidence"), dict) else {}
        computed = {"status": "derived", "note": "computed from the scenario as first written"}
        return {
            **raw,
            "failures": {
                **failures,
                "exposed_share": 1 - dead,
                "observed_nodes": draft.failures.observed_nodes or draft.n_nodes,
            },
            "evidence": {"failures.exposed_share": computed, "failures.observed_nodes": computed} | origins,
        }

    @model_validator(mode="after")
    def _origins_name_fields(self) -> Scenario:
        values = self.flat()
        for path in self.evidence:
            if path not in values and path not in paths.LISTS:
                if self._names_an_item(path):
                    continue
                raise UnknownName("field in evidence", path, values)
        return self

    @model_validator(mode="after")
    def _no_interval_shorter_than_what_it_holds(self) -> Scenario:
        interval_min, tiers = self.checkpoint.interval_min, self.checkpoint.tiers
        if interval_min < self.least_interval_min * (1 - _ROUNDING):
            raise ValueError(
                f"checkpoint.interval_min must be >= {self.least_interval_min:g} min, the training done during the "
                f"background write of {self._write_in_words}, got {interval_min:g}"
            )
        if tiers and interval_min * 60 < tiers[-1].interval_s * (1 - _ROUNDING):
            raise ValueError(
                f"checkpoint.interval_min must be >= {tiers[-1].interval_s / 60:g} min, the interval of the faster "
                f"tier {tiers[-1].name!r}, got {interval_min:g}"
            )
        if tiers and self.persist_h * S_PER_H < tiers[-1].write_s * (1 - _ROUNDING):
            raise ValueError(
                f"checkpoint{': the write that follows from store' if self.checkpoint.store else '.persist_s'} must be "
                f">= {tiers[-1].write_s:g} s, the write of the faster tier {tiers[-1].name!r}, "
                f"got {self.persist_h * S_PER_H:g}"
            )
        return self

    @property
    def _write_in_words(self) -> str:
        write_s = f"{self.persist_h * S_PER_H:g} s"
        return f"{write_s} that follows from checkpoint.store" if self.checkpoint.store else f"persist_s = {write_s}"

    @model_validator(mode="after")
    def _tiers_survive_in_order(self) -> Scenario:
        self.survival()
        return self

    def _names_an_item(self, path: str) -> bool:
        """Whether a path leads to a field of one mode or tier, or of all."""
        listed = paths.list_of(path)
        if not listed:
            return False
        paths.field_at(path, type(self))
        name = path.removeprefix(f"{listed}.").rpartition(".")[0]
        items = self.failures.modes if listed == "failures.modes" else self.checkpoint.tiers
        if name and name not in {item.name for item in items}:
            raise UnknownName(paths.LISTS[listed], name, {item.name for item in items}, path)
        return True

    @classmethod
    def load(cls, name_or_path: str | Path) -> Scenario:
        """Read a preset by name, or a YAML file by path.

        Parameters
        ----------
        name_or_path : str or Path
            A preset (``ettr.evidence.scenario_names()``), or a file ending in .yml or .yaml.

        Raises
        ------
        InputError
            Unknown preset, unreadable file, broken YAML (line and column), or a value that breaks a rule.
        """
        given = str(name_or_path)
        if given.endswith((".yml", ".yaml")):
            try:
                text = Path(given).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
                raise InputError(f"cannot read scenario {given}: {reason}") from error
            return cls.parse(text, given)
        if given not in evidence.scenario_names():
            raise UnknownName("scenario", given, evidence.scenario_names(), "or give a file ending in .yml")
        return cls.parse(evidence.scenario_text(given), f"{given}.yml")

    @classmethod
    def parse(cls, text: str, place: str = "scenario") -> Scenario:
        """Read YAML text; ``place`` names it in errors."""
        try:
            raw = yaml.load(text, Loader=StrictLoader)
        except RecursionError as error:
            raise InputError(f"{place}: broken YAML, nested too deeply") from error
        except ValueError as error:  # a date or a number that cannot be one
            raise InputError(f"{place}: broken YAML, {str(error).partition(';')[0]}") from error
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
            raise InputError(f"{place}{':' if where else ''}{where}: broken YAML, {problem}") from error
        if not isinstance(raw, dict):
            raise InputError(f"{place}: a scenario is a mapping of sections, got {type(raw).__name__}")
        return cls._checked(raw, place)

    @classmethod
    def of(cls, values: Mapping[str, Any], place: str = "scenario") -> Scenario:
        """Make a scenario from nested values, as they would stand in a file; ``place`` names them in errors."""
        return cls._checked(dict(values), place)

    @classmethod
    def _checked(cls, raw: dict[str, Any], place: str) -> Scenario:
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            raise InputError(explain(error, cls, place)) from error

    def override(self, values: Mapping[str, Any]) -> Scenario:
        """Return a copy with other values.

        Parameters
        ----------
        values : mapping
            Dotted path to value, e.g. ``{"checkpoint.interval_min": 5}``. A mode is found by its name:
            ``failures.modes.Faulty GPU.factor``. A rate replaces a count and the other way round.

        Raises
        ------
        InputError
            Unknown path (with the nearest), or a value that breaks a rule.
        """
        raw = self.model_dump()
        changed = set(values)
        for path in values:
            for field in _REPLACES.get(path, ()):
                raw["failures"][field] = None
                changed.add(f"failures.{field}")
        if "failures.rate_per_1000_node_days" in values:
            for mode, share in zip(raw["failures"]["modes"], self.failures.shares, strict=True):
                mode.update(n_events=None, share=share)
        raw["evidence"] = {
            field: origin
            for field, origin in raw["evidence"].items()
            if not any(field == path or field.startswith(f"{path}.") for path in changed)
        }
        for path, value in values.items():
            paths.assign(raw, path, value, type(self))
        return self._checked(raw, ", ".join(f"{path}={str(value)[:60]}" for path, value in values.items()))

    def to_yaml(self) -> str:
        """The scenario as a file that :meth:`load` reads back: a line a section, a line a mode and an origin.

        Examples
        --------
        >>> from ettr import Scenario
        >>> Scenario.parse(Scenario.load("rsc-1").to_yaml()) == Scenario.load("rsc-1")
        True
        """
        sections = self.model_dump(exclude_none=True, exclude_defaults=True)
        return writing.as_yaml({**sections, "cluster": self.cluster.model_dump()})

    def flat(self) -> dict[str, Any]:
        """Every single value by its dotted path, modes left out."""
        sections = self.model_dump(exclude={"evidence", "name", "title", "sources"})
        return dict(paths.leaves(sections))

    @classmethod
    def check_values(cls, path: str, values: Any) -> np.ndarray:
        """Check an array of values for the field at ``path``, and return it as float64."""
        return paths.check_values(path, values, cls)

    @classmethod
    def dictionary(cls) -> pd.DataFrame:
        """The data dictionary: ``field``, ``unit``, ``rule``, ``default``, ``meaning``."""
        return paths.dictionary(cls)

    def to_frame(self) -> pd.DataFrame:
        """Every value in force with its origin.

        Returns
        -------
        DataFrame
            A row a number or name, without switches and what has no effect: ``field``, ``value``, ``unit``,
            ``status`` (primary, secondary, derived, assumed, or given for a value without a recorded origin),
            ``source``, ``note``.
        """
        rows = []
        idle = {"checkpoint.load_s"} if self.checkpoint.load_s == 0 else set()
        if self.persist_h == 0:
            idle.add("checkpoint.persist_slowdown")
        if self.checkpoint.store:
            idle.add("checkpoint.persist_s")
        for shown, path, value in self._all_values():
            if value is None or isinstance(value, bool) or path in idle:
                continue
            origin = self.evidence.get(path) or self.evidence.get(paths.list_of(path))
            default = paths.field_at(path, type(self)).default == value
            rows.append(
                {
                    "field": shown,
                    "value": value,
                    "unit": paths.unit_of(path),
                    "status": origin.status if origin else "assumed" if default else "given",
                    "source": (origin.source if origin else None) or "",
                    "note": (origin.note if origin else None) or ("default" if default and not origin else ""),
                }
            )
        return pd.DataFrame(rows)

    def _all_values(self) -> Iterator[tuple[str, str, Any]]:
        """Name to show, path of the field, and value of everything, the tiers included."""
        for path, value in self.flat().items():
            yield path, path, value
        for tier in self.checkpoint.tiers:
            for field, value in tier.model_dump(exclude={"name"}).items():
                path = f"checkpoint.tiers.{tier.name}.{field}"
                if isinstance(value, dict):
                    yield from (
                        (path if kind == ALL else f"{path}.{kind}", path, share) for kind, share in value.items()
                    )
                elif field != "placement" or tier.copies:
                    yield path, path, value

    # hours, for the formulas

    @property
    def n_nodes(self) -> int:
        """Nodes of the job."""
        return self.cluster.n_gpus // self.cluster.gpus_per_node

    @property
    def node_rate_per_h(self) -> float:
        """Failures per node and exposed hour, all modes at factor 1. [1/h]"""
        return float(self.failures.per_node_h(self.failures.rate))

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the modes; the last is ``other``, which holds what the named ones leave over."""
        return (*(mode.name for mode in self.failures.modes), "other")

    def mode_exposure(self, n_nodes: Any = None) -> np.ndarray:
        """Nodes at risk of each mode, weighted by its share and factor.

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
        modes, shares = self.failures.modes, self.failures.shares
        weights = np.array([s * m.factor for m, s in zip(modes, shares, strict=True)] + [max(0.0, 1 - sum(shares))])
        of_job = np.array([mode.scales_with == "job" for mode in modes] + [False])
        nodes = np.asarray(self.n_nodes if n_nodes is None else n_nodes, dtype=float)[..., None]
        return weights * np.where(of_job, self.failures.observed_nodes or 0, nodes)

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

    @property
    def least_interval_min(self) -> float:
        """Training done during a background write: no interval can be shorter. [min]"""
        return (1 - self.checkpoint.persist_slowdown) * self.persist_h * MIN_PER_H

    @property
    def recovery_h(self) -> float:
        """Mean time from a failure to the next training if none strikes meanwhile, d + q + r over modes. [h]"""
        return self.detection_h + self.queue_h + self._mean_over_modes("restart_min") + self.load_h

    @property
    def detection_h(self) -> float:
        """Mean detection time of a failure, over modes. [h]"""
        return self._mean_over_modes("detection_min")

    @property
    def queue_h(self) -> float:
        """Mean queue time after a failure, over modes. [h]"""
        return self._mean_over_modes("queue_min")

    @property
    def restart_h(self) -> float:
        """Restart time of a planned start, r. [h]"""
        return self.recovery.restart_min / MIN_PER_H

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
        exposure = self.mode_exposure()
        return exposure / exposure.sum() if exposure.sum() > 0 else np.append(np.zeros(exposure.size - 1), 1.0)

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
        enters.
        """
        shares = np.append(self.failures.shares, max(0.0, 1 - sum(self.failures.shares)))
        by_mode_h = self._by_mode_h("detection_min") + self._by_mode_h("queue_min")
        # a silent failure strikes while what is computed counts: not while another is hidden, nor in a restart
        restart_h = self._by_mode_h("restart_min") + self.load_h
        for i, mode in enumerate(self.failures.modes):
            by_mode_h[i] += 0.0 if mode.latency_h is None else mode.latency_h + restart_h[i]
        dead_h = float(shares @ by_mode_h)
        observed_nodes = self.failures.observed_nodes or self.n_nodes
        return self.node_rate_per_h * observed_nodes * dead_h + self.maintenance_rate_per_h * self.maintenance_h
