"""A job on a cluster: read from YAML, validate, override and write."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError, model_validator

from ettr import evidence
from ettr.checkpoint.sizes import needed_gb_s
from ettr.core.errors import InputError, UnknownName
from ettr.core.report import Headline, Table, as_html, one_line
from ettr.core.sentences import fails, gpus, limit
from ettr.core.units import LAST_DIGITS, MIN_PER_H, S_PER_H
from ettr.core.yaml_files import inline, mapping_of, text_of
from ettr.scenario import field_list, fields, paths, writing
from ettr.scenario.basics import ALL
from ettr.scenario.explain import explain
from ettr.scenario.failures import MEANS
from ettr.scenario.loader import beside
from ettr.scenario.paths import JOB_MTTF, N_GPUS, OBSERVED, PER_NODE
from ettr.scenario.run_hours import RunHours
from ettr.scenario.sections import OF_TIME, OF_TOKENS, Cluster

if TYPE_CHECKING:
    import pandas as pd


_COMPUTED = {"status": "derived", "note": "computed from the scenario as first written"}
_RECORDED = {"status": "derived", "note": "the nodes of the job before its size was changed"}
_CLOCK = {"status": "assumed", "note": "an MTBF is assumed to be by the wall clock"}


def _noted(raw: dict[str, Any], origins: dict[str, Any]) -> dict[str, Any]:
    """Return values with the origins of computed ones, unless another origin is written."""
    written = raw["evidence"] if isinstance(raw.get("evidence"), dict) else {}
    return {**raw, "evidence": origins | written}


def _without_origins(evidence: dict[str, Any], of: Iterable[str]) -> dict[str, Any]:
    """Return origins without those of some paths and of everything below them."""
    return {
        field: origin
        for field, origin in evidence.items()
        if not any(field == path or field.startswith(f"{path}.") for path in of)
    }


class Scenario(RunHours):
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

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(*explain(error, type(self), "scenario")) from error

    # as BaseModel's own: else pydantic would call it for each scenario that it reads
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="before")
    @classmethod
    def _fix_where_it_was_measured(cls, raw: Any) -> Any:
        """Record the number of GPUs on which the ETTR was measured."""
        measured = raw.get("measured") if isinstance(raw, dict) else None
        if not isinstance(measured, dict) or measured.get("n_gpus") is not None:
            return raw
        try:
            n_gpus = Cluster.model_validate(raw.get("cluster")).n_gpus
        except ValidationError:
            return raw
        return _noted({**raw, "measured": {**measured, "n_gpus": n_gpus}}, {"measured.n_gpus": _COMPUTED})

    @model_validator(mode="before")
    @classmethod
    def _fix_what_was_observed(cls, raw: Any) -> Any:
        """Record the number of nodes and the clock on which the failure rate was observed."""
        if not isinstance(raw, dict) or not isinstance(raw.get("failures"), dict):
            return raw
        failures = dict(raw["failures"])
        recorded: dict[str, Any] = {}
        if any(failures.get(path.removeprefix("failures.")) for path in MEANS) and not failures.get("rate_clock"):
            recorded["rate_clock"] = "wall"
        wall = {**failures, **recorded}.get("rate_clock") == "wall" and failures.get("exposed_share") is None
        try:
            if failures.get("observed_nodes") is None and (wall or failures.get("job_mttf_h")):
                recorded["observed_nodes"] = Cluster.model_validate(raw.get("cluster")).n_nodes
            if wall:
                exposed = {**failures, **recorded, "rate_clock": "exposed", "exposed_share": None}
                dead = cls.model_validate({**raw, "failures": exposed})._dead_share_as_observed()
        except ValidationError:
            return raw  # the same faults are reported when the whole is checked
        if not recorded and not wall:
            return raw
        if wall and dead >= 1:
            raise ValueError(
                "failures are closer together than detection, queue and maintenance last (failures.rate_clock: wall), "
                "so the job could never train: lower the failure rate, or shorten these times"
            )
        recorded |= {"exposed_share": 1 - dead} if wall else {}
        origin = {f"failures.{name}": _CLOCK if name == "rate_clock" else _COMPUTED for name in recorded}
        return _noted({**raw, "failures": {**failures, **recorded}}, origin)

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
    def _the_size_of_a_checkpoint_is_known(self) -> Scenario:
        if self.store and self.store.n_parameters is None:
            raise ValueError(
                "checkpoint.store needs n_parameters, the parameters of the model, e.g. n_parameters: 405e9; only a "
                "scenario with model.n_parameters may leave them out"
            )
        return self

    @model_validator(mode="after")
    def _no_interval_shorter_than_what_it_holds(self) -> Scenario:
        interval_min, tiers = self.checkpoint.interval_min, self.checkpoint.tiers
        if isinstance(interval_min, str):  # a rule keeps within what it holds
            interval_min = math.inf
        if interval_min < self.least_interval_min * (1 - LAST_DIGITS):
            raise ValueError(
                f"checkpoint.interval_min must be >= {self.least_interval_min:g} min, the training done during the "
                f"background write of {self._write_in_words}, got {interval_min:g}{self._bandwidth_in_words}"
            )
        if tiers and interval_min * 60 < tiers[-1].interval_s * (1 - LAST_DIGITS):
            raise ValueError(
                f"checkpoint.interval_min must be >= {tiers[-1].interval_s / 60:g} min, the interval of the faster "
                f"tier {tiers[-1].name!r}, got {interval_min:g}"
            )
        if tiers and self.persist_h * S_PER_H < tiers[-1].write_s * (1 - LAST_DIGITS):
            raise ValueError(
                f"checkpoint{': the write that follows from store' if self._follows else '.persist_s'} must be "
                f">= {tiers[-1].write_s:g} s, the write of the faster tier {tiers[-1].name!r}, "
                f"got {self.persist_h * S_PER_H:g}"
            )
        return self

    @property
    def _write_in_words(self) -> str:
        write_s = f"{self.persist_h * S_PER_H:g} s"
        return f"{write_s} that follows from checkpoint.store" if self._follows else f"persist_s = {write_s}"

    @property
    def _follows(self) -> bool:
        """Whether the write time follows from the store."""
        return bool(self.store and self.store.write_gb_s)

    @property
    def _bandwidth_in_words(self) -> str:
        """The bandwidth that the interval needs, as a clause; empty if the size of a checkpoint is unknown."""
        if self.store is None or isinstance(self.checkpoint.interval_min, str):
            return ""
        needed = needed_gb_s(self.store.bytes_written(), self.checkpoint.interval_min / MIN_PER_H)
        return f", which needs a write bandwidth of {limit(needed, 'at least')} GB/s"

    @model_validator(mode="after")
    def _tiers_survive_in_order(self) -> Scenario:
        self.survival()
        return self

    @model_validator(mode="after")
    def _tokens_have_what_they_need(self) -> Scenario:  # before heat, whose speed asks for the hours of the job
        if self.job.tokens is not None and self.model is None:
            raise ValueError("job.tokens needs model, e.g. model: {n_parameters: 405e9}")
        for name in OF_TOKENS:
            if self.job.tokens is None and getattr(self, name) is not None:
                raise ValueError(
                    f"{name} needs job.tokens instead of job.productive_h; without tokens it has no effect"
                )
        loose = self.sync is not None and self.sync.every_steps > 1
        if loose and self.layout is not None and self.layout.sharded:
            raise ValueError(
                "sync.every_steps must be 1 with layout.sharded: weights that are spread over replicas are gathered "
                "in every step"
            )
        if self.layout and self.model:
            self.layout.check(self.model.transformer.n_layers)
        return self

    @model_validator(mode="after")
    def _a_layout_fits(self) -> Scenario:
        return self._can_compute("layout_of_job")

    def _can_compute(self, quantity: str) -> Scenario:
        """Compute a cached quantity, which raises if the values do not allow it."""
        getattr(self, quantity)
        return self

    @model_validator(mode="after")
    def _heat_has_what_it_needs(self) -> Scenario:
        for mode in self.failures.modes:
            if mode.heat_share and not self.heat:
                raise ValueError(
                    f"failures.modes.{mode.name}.heat_share needs heat: it has no temperature otherwise, e.g. "
                    "heat: {mean_c: 20}"
                )
        return self

    @model_validator(mode="after")
    def _gpus_and_weather_can_be_read(self) -> Scenario:
        return self._can_compute("heat_factors")

    @model_validator(mode="after")
    def _nodes_that_leave_come_back(self) -> Scenario:
        if self.spares and not self.repair:
            raise ValueError("spares needs repair, the time until failed nodes return, e.g. repair: {manual_h: 24}")
        if self.repair and not self.spares:
            raise ValueError("repair needs spares, e.g. spares: {n_nodes: 0}; without them it has no effect")
        for name in ("elastic", "maintenance.rolling_nodes"):
            if fields.given_at(self, name) is not None and not self.spares:
                raise ValueError(f"{name} needs spares and repair; without them no node is ever missing")
        return self

    @model_validator(mode="after")
    def _racks_of_whole_nodes(self) -> Scenario:
        per_node = self.cluster.gpus_per_node
        for name in ("rack.n_gpus", "rack.n_used"):
            n_gpus = fields.given_at(self, name)
            if n_gpus is not None and n_gpus % per_node:
                raise ValueError(f"{name} must be a multiple of {per_node}, the cluster.gpus_per_node, got {n_gpus}")
        return self

    @model_validator(mode="after")
    def _no_more_nodes_than_the_job_has(self) -> Scenario:
        at_once = {name: fields.given_at(self, name) for name in ("elastic.n_replicas", "maintenance.rolling_nodes")}
        at_once |= {f"failures.modes.{mode.name}.n_out_nodes": mode.n_out_nodes for mode in self.failures.modes}
        for path, n in at_once.items():
            if n is not None and n > self.n_nodes:
                raise ValueError(f"{path} must be <= {self.n_nodes}, the nodes of the job, got {n}")
        return self

    def _names_an_item(self, path: str) -> bool:
        """Return whether a path refers to a field of one mode or tier, or of all."""
        listed = paths.list_of(path)
        if not listed:
            return False
        paths.field_at(path, type(self))
        name = path.removeprefix(f"{listed}.").rpartition(".")[0]
        names = {item.name for item in fields.given_at(self, listed)}
        if name and name not in names:
            raise UnknownName(paths.LISTS[listed].short, name, names, path)
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
        name = str(name_or_path)
        if name.endswith((".yml", ".yaml")):
            return cls._read(text_of(name, "scenario"), name, str(Path(name).parent))
        evidence.check_scenario_name(name)
        return cls.parse(evidence.scenario_text(name), f"{name}.yml")

    @classmethod
    def parse(cls, text: str, place: str = "scenario") -> Scenario:
        """Read a scenario from YAML text; ``place`` names it in errors."""
        return cls._read(text, place, "")

    @classmethod
    def _read(cls, text: str, place: str, folder: str) -> Scenario:
        scenario = cls._read_once(text, place, folder)
        # files may have changed since: what they say is read again
        return cls._read_now(text, place, folder) if scenario.files else scenario

    @classmethod
    @functools.lru_cache(maxsize=64)  # reading YAML takes longest
    def _read_once(cls, text: str, place: str, folder: str) -> Scenario:
        return cls._read_now(text, place, folder)

    @classmethod
    def _read_now(cls, text: str, place: str, folder: str) -> Scenario:
        raw = mapping_of(text, place, "scenario")
        for path in fields.naming_files(cls) if folder else ():
            section, _, field = path.partition(".")
            if isinstance(raw.get(section), dict) and isinstance(raw[section].get(field), str):
                raw[section][field] = beside(raw[section][field], folder)
        return cls.of(raw, place)

    @classmethod
    def of(cls, values: Scenario | Mapping[str, Any] | str | Path, place: str = "scenario") -> Scenario:
        """Return a scenario from nested values as in a file; ``place`` names them in errors.

        A scenario is returned unchanged; a preset or a file is loaded by its name.
        """
        if isinstance(values, Scenario):
            return values
        if isinstance(values, (str, Path)):
            return cls.load(values)
        if not isinstance(values, Mapping):
            raise InputError(f"{place} must be a Scenario, a preset's name, a file or a mapping, got {values!r:.80}")
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise InputError(*explain(error, cls, place)) from error

    def override(self, values: Mapping[str, Any] | None = None, /, **by_name: Any) -> Scenario:
        """Return a copy with other values.

        Parameters
        ----------
        values : mapping
            Dotted path to value, e.g. ``{"checkpoint.interval_min": 5}``. A mode is found by its name:
            ``failures.modes.Faulty GPU.factor``. None unsets a field, which restores its default. A new failure rate
            replaces the old one in any form, and a measured ETTR is dropped if times or rates change. A change of size
            keeps the failure rate per node and records the previous size in ``failures.observed_nodes``.

        Raises
        ------
        InputError
            Unknown path (with the nearest), or a value that breaks a rule.

        Examples
        --------
        >>> from ettr import Scenario
        >>> Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000}).n_nodes
        12500
        """
        if by_name or not isinstance(values, Mapping):
            raise InputError(self._mapping_instead(values, by_name))
        voids = [
            void
            for path, value in values.items()
            if value is not None and paths.list_of(path) in ("", path)
            for void in fields.meta_at(path, type(self)).voids
            if not any(other == void or other.startswith(f"{void}.") for other in values)
        ]
        sections = {path.partition(".")[0] for path in values}
        if self.measured and OF_TIME & sections and "measured" not in sections:
            voids.append("measured")
        recorded = self._observed_before(values)
        changed = {*values, *voids, *recorded}
        # unchanged sections have been checked
        stays = set(type(self).model_fields) - {path.partition(".")[0] for path in changed}
        raw = {**self.model_dump(exclude=stays, exclude_unset=True), **{name: getattr(self, name) for name in stays}}
        for void in voids:
            paths.assign(raw, void, None, type(self))
        if any(path in values for path in (paths.RATE, *MEANS)):
            for mode, share in zip(raw["failures"].get("modes", ()), self.failures.shares, strict=True):
                mode.update(n_events=None, share=share)
        raw["evidence"] = _without_origins(raw.get("evidence", {}), changed)
        for path, value in values.items():
            # a copy: a later path may lead into it
            paths.assign(raw, path, copy.deepcopy(value), type(self))
        if isinstance(raw["evidence"], dict):  # else what follows says that it must be
            raw["evidence"] = _without_origins(raw["evidence"], voids)
        for path, n_nodes in recorded.items():
            paths.assign(raw, path, n_nodes, type(self))
            if n_nodes is not None and isinstance(raw["evidence"], dict):
                raw["evidence"] = {path: _RECORDED} | raw["evidence"]
        return self.of(raw, ", ".join(f"{path}={inline(value)[:60]}" for path, value in values.items()))

    def _mapping_instead(self, values: Any, by_name: Mapping[str, Any]) -> str:
        """Return the error for an override by keyword, or by something other than a mapping."""
        form, got = "{'cluster.n_gpus': 100_000}", f", got {values!r:.80}"
        if by_name:
            name, value = next(iter(by_name.items()))
            valid = paths.paths_of(type(self))
            path = next((path for path in valid if path.rpartition(".")[2] == name), None)
            form, got = (f"{{{path!r}: {value!r:.80}}}", "") if path else (form, f", got {name}={value!r:.80}")
        return f"override takes a mapping of dotted paths to values: override({form}){got}"

    def _observed_before(self, values: Mapping[str, Any]) -> dict[str, int | None]:
        """Return ``failures.observed_nodes`` after a change of size; empty if it stays the same.

        The values of failures and recovery describe the run before, so its size is recorded, unless they are set
        again. Back at that size the record is dropped, and the scenario equals the original.
        """
        cluster, failures, per_node = values.get("cluster"), self.failures, values.get(PER_NODE)
        size = cluster.get("n_gpus") if isinstance(cluster, Mapping) else getattr(cluster, "n_gpus", None)
        n_gpus = values.get(N_GPUS, self.cluster.n_gpus if size is None else size)
        given_anew = OBSERVED in values or any(values.get(path) is not None for path in ("failures", JOB_MTTF))
        if n_gpus == self.cluster.n_gpus or given_anew:
            return {}
        if failures.observed_nodes is None:
            if not isinstance(per_node, int) or per_node < 1:  # which the new size is refused for, unless it stays
                return {OBSERVED: self.n_nodes}
            return {OBSERVED: max(1, round(self.cluster.n_gpus / per_node))}
        origin = self.evidence.get(OBSERVED)
        is_record = origin is not None and origin.note == _RECORDED["note"]
        is_back = n_gpus == failures.observed_nodes * self.cluster.gpus_per_node
        return {OBSERVED: None} if is_back and is_record else {}

    def to_yaml(self, comments: bool = False) -> str:
        """Return the scenario as YAML text that :meth:`load` reads; one line per section, mode and origin.

        With ``comments``, one line per field with its meaning, and the assumed values of missing fields.

        Examples
        --------
        >>> from ettr import Scenario
        >>> Scenario.parse(Scenario.load("rsc-1").to_yaml()) == Scenario.load("rsc-1")
        True
        """
        if comments:
            return writing.commented(self._sections(exclude_unset=True), type(self))
        return writing.as_yaml(self.written())

    def written(self) -> dict[str, Any]:
        """Return the scenario as plain values without defaults, as in a file."""
        return {**self._sections(exclude_defaults=True, mode="json"), "cluster": self.cluster.model_dump()}

    def _sections(self, **kept: Any) -> dict[str, Any]:
        sections = self.model_dump(exclude_none=True, **kept)
        if self.failures.ways[0] in {path.removeprefix("failures.") for path in MEANS}:  # which assumes the other one
            sections["failures"]["rate_clock"] = self.failures.rate_clock
        return sections

    def flat(self) -> dict[str, Any]:
        """Return every value by its dotted path, without modes."""
        sections = self.model_dump(exclude={"evidence", "name", "title", "sources"})
        return dict(paths.leaves(sections))

    @classmethod
    def check_values(cls, path: str, values: Any) -> np.ndarray:
        """Check an array of values for the field at ``path``, and return it as float64."""
        return paths.check_values(path, values, cls)

    @classmethod
    def dictionary(cls) -> pd.DataFrame:
        """Return all fields as a table: ``field``, ``unit``, ``rule``, ``default``, ``meaning``, ``aliases``.

        Examples
        --------
        >>> from ettr import Scenario
        >>> Scenario.dictionary().set_index("field").loc["failures.job_mttf_h", "unit"]
        'h'
        """
        return field_list.dictionary(cls)

    def to_frame(self) -> pd.DataFrame:
        """Return every value in force with its origin.

        Returns
        -------
        DataFrame
            A row a number or name, without switches and what has no effect: ``field``, ``value``, ``unit``,
            ``status`` (primary, secondary, derived, assumed, or given for a value without a recorded origin),
            ``source``, ``note``.
        """
        import pandas as pd

        return pd.DataFrame(self.in_force())

    def in_force(self) -> list[dict[str, Any]]:
        """Return the rows of :meth:`to_frame`."""
        idle = fields.idle(self)
        rows = []
        for field, path, value in self._all_values():
            if value is None or isinstance(value, bool) or path in idle:
                continue
            origin = self.evidence.get(path) or self.evidence.get(paths.list_of(path))
            rows.append(paths.row_of(field, path, value, origin, fields.is_written(self, path), type(self)))
        return rows

    def __hash__(self) -> int:
        return hash((self.name, self.title, self.cluster))

    def __repr__(self) -> str:
        return one_line(self, f"{self.name}: {gpus(self.cluster.n_gpus)}, {fails(self.job_mttf_h)}")

    __str__ = __repr__

    def _repr_html_(self) -> str:
        columns = ["field", "value", "unit", "status"]
        rows = self.to_frame()[columns].astype(str).to_numpy().tolist()
        return as_html([Headline(self.title), Table(columns, rows, words=("unit", "status"))])

    def _all_values(self) -> Iterator[tuple[str, str, Any]]:
        """Yield display name, path and value of everything, including tiers."""
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


for _path, _section in paths.sections_of(Scenario):
    _section.section_path = _path
