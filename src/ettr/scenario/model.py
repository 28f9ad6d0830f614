"""A job on a cluster: read from YAML, checked, overridden, and written."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError, model_validator

from ettr import evidence
from ettr.core.errors import InputError, UnknownName
from ettr.scenario import paths, writing
from ettr.scenario.basics import ALL, S_PER_H
from ettr.scenario.explain import explain
from ettr.scenario.in_hours import InHours
from ettr.scenario.loader import beside, mapping_of, text_of

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


_IDLE = {
    "job.throughput_factor": 1.0,
    "failures.lemons.left": 1.0,
    "checkpoint.load_s": 0.0,
    "recovery.init_s_per_1000_gpus": 0.0,
    "recovery.detection_cv": 0.0,
    "recovery.restart_cv": 0.0,
    "recovery.person_share": 0.0,
    "recovery.false_alarms_per_day": 0.0,
    "spares.n_preemptible": 0,
    "spares.n_cold": 0,
    "repair.automatic_success": 1.0,
    "repair.manual_success": 1.0,
    "repair.cv": 0.0,
    "repair.misdiagnosed": 0.0,
    "repair.retire_after": None,
    "heat.swing_k": 0.0,
    "power.floor_share": 0.0,
    "cost.usd_per_day": 0.0,
    "sync.every_steps": 1.0,
    "sync.compression_ratio": 1.0,
    "sync.compression_share": 0.0,
    "sync.efficiency": 1.0,
    "network.oversubscription": 1.0,
    "network.failed_share": 0.0,
}
"""Values with which a field does nothing."""

_IDLE_WITH = {
    "recovery.person_min": "recovery.person_share",
    "spares.preempt_min": "spares.n_preemptible",
    "spares.fetch_min": "spares.n_cold",
    "repair.recurrence_h": "repair.misdiagnosed",
    "repair.retire_window_days": "repair.retire_after",
    "heat.hottest_hour": "heat.swing_k",
    "network.placement": "network.oversubscription",
    "network.routing": "network.failed_share",
}
"""Fields that do nothing where another does not."""

_OF_TOKENS = ("model", "layout", "network", "scaling", "sync")
"""Sections that say how fast tokens are trained on."""

_INSTEAD = {"job.productive_h": ("job.tokens", *_OF_TOKENS), "job.tokens": ("job.productive_h",)}
"""Two ways to say one thing: a value for one makes the other void, with what only the other needs."""

_NAMES_A_FILE = (("heat", "weather"), ("heat", "part"), ("power", "part"))
"""Fields that may name a file, which is looked for beside the scenario's own first."""

_ROUNDING = 1e-12
"""Two ways to the same number may differ by this, relative."""


class Scenario(InHours):
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
        values = self.flat() if self.evidence else {}
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

    @model_validator(mode="after")
    def _tokens_have_what_they_need(self) -> Scenario:  # before heat, whose speed asks for the hours of the job
        if self.job.tokens is not None and self.model is None:
            raise ValueError("job.tokens needs model: what is trained, e.g. model: {n_parameters: 405e9}")
        for name in _OF_TOKENS:
            if self.job.tokens is None and getattr(self, name) is not None:
                raise ValueError(f"{name} needs job.tokens instead of job.productive_h: without it nothing follows")
        loose = self.sync is not None and self.sync.every_steps > 1
        if loose and self.layout is not None and self.layout.sharded:
            raise ValueError(
                "sync.every_steps must be 1 with layout.sharded: weights that are spread over replicas are gathered "
                "in every step"
            )
        if self.layout and self.model:
            self.layout.check(self.model.transformer.n_layers)
        self.layout_of_job  # noqa: B018 (chosen here, so that what does not fit is said here)
        return self

    @model_validator(mode="after")
    def _heat_has_what_it_needs(self) -> Scenario:
        for mode in self.failures.modes:
            for name in ("heat_share", "cycle_share"):
                if getattr(mode, name) and not self.heat:
                    raise ValueError(
                        f"failures.modes.{mode.name}.{name} needs heat: without it no temperature is known, e.g. "
                        "heat: {mean_c: 20}"
                    )
        self.heat_factors  # noqa: B018 (GPUs and weather are read here, so that what is wrong with them is said here)
        return self

    @model_validator(mode="after")
    def _nodes_that_leave_come_back(self) -> Scenario:
        if self.spares and not self.repair:
            raise ValueError("spares needs repair: nodes that leave the job come back, e.g. repair: {manual_h: 24}")
        if self.repair and not self.spares:
            raise ValueError("repair needs spares: without them nothing is tracked, e.g. spares: {n_nodes: 0}")
        rolling = self.maintenance.rolling_nodes if self.maintenance else None
        for name, given in {"elastic": self.elastic, "maintenance.rolling_nodes": rolling}.items():
            if given is not None and not self.spares:
                raise ValueError(f"{name} needs spares and repair: without them no node is ever missing")
        return self

    @model_validator(mode="after")
    def _no_more_nodes_than_the_job_has(self) -> Scenario:
        if self.elastic and self.elastic.n_replicas > self.n_nodes:
            raise ValueError(
                f"elastic.n_replicas must be <= {self.n_nodes}, the nodes of the job, got {self.elastic.n_replicas}"
            )
        rolling = (self.maintenance.rolling_nodes if self.maintenance else None) or 0
        if rolling > self.n_nodes:
            raise ValueError(
                f"maintenance.rolling_nodes must be <= {self.n_nodes}, the nodes of the job, got {rolling}"
            )
        for mode in self.failures.modes:
            if mode.n_out_nodes > self.n_nodes:
                raise ValueError(
                    f"failures.modes.{mode.name}.n_out_nodes must be <= {self.n_nodes}, the nodes of the job, "
                    f"got {mode.n_out_nodes}"
                )
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
            return cls._read(text_of(given, "scenario"), given, str(Path(given).parent))
        if given not in evidence.scenario_names():
            evidence.refuse_unlisted("scenarios", given)
            raise UnknownName("scenario", given, evidence.scenario_names(), "or give a file ending in .yml")
        return cls.parse(evidence.scenario_text(given), f"{given}.yml")

    @classmethod
    def parse(cls, text: str, place: str = "scenario") -> Scenario:
        """Read YAML text; ``place`` names it in errors."""
        return cls._read(text, place, "")

    @classmethod
    def _read(cls, text: str, place: str, folder: str) -> Scenario:
        known = cls._read_once(text, place, folder)
        # files may have changed since: what they say is read again
        return cls._read_now(text, place, folder) if known.files else known

    @classmethod
    @functools.lru_cache(maxsize=64)  # reading YAML takes longest
    def _read_once(cls, text: str, place: str, folder: str) -> Scenario:
        return cls._read_now(text, place, folder)

    @classmethod
    def _read_now(cls, text: str, place: str, folder: str) -> Scenario:
        raw = mapping_of(text, place, "scenario")
        for section, field in _NAMES_A_FILE if folder else ():
            if isinstance(raw.get(section), dict) and isinstance(raw[section].get(field), str):
                raw[section][field] = beside(raw[section][field], folder)
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
        # sections that stay as they are have been checked
        voids = [void for path in values for void in _INSTEAD.get(path, ())]
        stays = set(type(self).model_fields) - {path.partition(".")[0] for path in (*values, *voids)}
        raw = {**self.model_dump(exclude=stays, exclude_unset=True), **{name: getattr(self, name) for name in stays}}
        changed = set(values)
        for path in values:
            for field in _REPLACES.get(path, ()):
                raw["failures"][field] = None
                changed.add(f"failures.{field}")
        for path in values:
            for void in _INSTEAD.get(path, ()) if values[path] is not None else ():
                if not any(other == void or other.startswith(f"{void}.") for other in values):
                    paths.assign(raw, void, None, type(self))
                    changed.add(void)
        if "failures.rate_per_1000_node_days" in values:
            for mode, share in zip(raw["failures"].get("modes", ()), self.failures.shares, strict=True):
                mode.update(n_events=None, share=share)
        raw["evidence"] = {
            field: origin
            for field, origin in raw.get("evidence", {}).items()
            if not any(field == path or field.startswith(f"{path}.") for path in changed)
        }
        for path, value in values.items():
            # a copy: a later path may lead into it
            paths.assign(raw, path, copy.deepcopy(value), type(self))
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
        idle = self._idle()
        for field, path, value in self._all_values():
            if value is None or isinstance(value, bool) or path in idle:
                continue
            origin = self.evidence.get(path) or self.evidence.get(paths.list_of(path))
            rows.append(paths.row_of(field, path, value, origin, type(self)))
        return pd.DataFrame(rows)

    def _idle(self) -> set[str]:
        """Paths of fields whose values have no effect."""
        values = self.flat()
        idle = {path for path, value in _IDLE.items() if values.get(path) == value}
        idle |= {path for path, switch in _IDLE_WITH.items() if switch in idle}
        if self.persist_h == 0:
            idle.add("checkpoint.persist_slowdown")
        if self.checkpoint.store:
            idle.add("checkpoint.persist_s")
        return idle

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
