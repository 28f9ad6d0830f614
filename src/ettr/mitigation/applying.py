"""Apply mitigations to scenarios: their changes, the fields that they need, and defaults for missing fields."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ettr.core.errors import InputError
from ettr.core.units import ROUNDING
from ettr.mitigation.catalogue import Catalogue, catalogue
from ettr.mitigation.entries import ALL_ITEMS, Assumption, Change, Mitigation, kinds_of
from ettr.scenario import Gpu, Scenario
from ettr.scenario.paths import TIERS, field_at, list_of, model_of
from ettr.scenario.pools import enough_spares

_ORDER = ("set", "scale", "add", "cap", "floor")
_TOGETHER = (
    ("spares", "repair", "elastic", "maintenance.rolling_nodes", "failures.modes.*.n_out_nodes", "rack"),
    ("recovery.person_share", "recovery.person_min"),
    ("heat", "failures.modes.*.heat_share"),
)
"""Groups of fields that have an effect only together."""
_NODES_A_REPLICA = 16
"""Nodes per replica of a job without a layout (assumed: as in Llama 3 405B)."""


@dataclass(frozen=True)
class WithAssumptions:
    """A scenario completed with assumed values.

    Attributes
    ----------
    scenario : Scenario
        The scenario with the assumed values.
    assumptions : tuple of Assumption
        The assumptions that were needed.
    """

    scenario: Scenario
    assumptions: tuple[Assumption, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Paths that were missing, or had a value without effect."""
        return tuple(assumption.path for assumption in self.assumptions)


def with_assumptions(
    scenario: Scenario, of: Catalogue | None = None, acting_on: Iterable[str] | None = None
) -> WithAssumptions:
    """Return a scenario with assumed values for the missing fields that mitigations act on.

    Parameters
    ----------
    scenario : Scenario
        The run.
    of : Catalogue, optional
        Catalogue with the assumptions; the built-in one by default.
    acting_on : iterable of str, optional
        Only assumptions about these fields, their sections, and fields that have an effect only together with them;
        all by default.

    Returns
    -------
    WithAssumptions
        The completed scenario and the assumptions used.

    Examples
    --------
    >>> completed = with_assumptions(Scenario.load("llama3-405b"))
    >>> completed.scenario.failures.lemons is not None, "failures.lemons" in completed.fields
    (True, True)
    >>> with_assumptions(Scenario.load("llama3-405b"), acting_on=["failures.lemons.left"]).fields
    ('failures.lemons',)
    """
    assumptions: list[Assumption] = []
    values: dict[str, Any] = {}
    origins: dict[str, Any] = {}
    available = (of or catalogue()).assumptions
    for assumption in available if acting_on is None else _needed_by(scenario, available, acting_on):
        paths = [path for path in _targets(scenario, assumption) if _is_silent(scenario, path)]
        if not paths or not _holds(scenario, assumption):
            continue
        assumptions.append(assumption)
        for path in paths:
            value = values[path] = _value(scenario, assumption)
            leaves = [f"{path}.{field}" for field in value] if isinstance(value, dict) else [path]
            origins |= dict.fromkeys(leaves, assumption.model_dump(include={"status", "source", "note"}))
    if not values:
        return WithAssumptions(scenario, ())
    written = {path: origin.model_dump() for path, origin in scenario.evidence.items()}
    # the measured ETTR still holds
    completed = scenario.override({**values, "evidence": {**written, **origins}, "measured": scenario.measured})
    # the pool depends on the repair time, which may be assumed too
    pools = {assumption.path: _value(completed, assumption) for assumption in assumptions if assumption.of == "pool"}
    if pools:
        written = {path: origin.model_dump() for path, origin in completed.evidence.items()}
        completed = completed.override({**pools, "evidence": {**written, **origins}, "measured": scenario.measured})
    return WithAssumptions(completed, tuple(assumptions))


def _needed_by(scenario: Scenario, available: Iterable[Assumption], acting_on: Iterable[str]) -> list[Assumption]:
    """Return the assumptions related to some fields."""
    wanted = {*acting_on}
    for together in _TOGETHER:
        if any(_leads(field, member) for field in wanted for member in together):
            wanted |= {*together}
    paths = [path for field in wanted for path in _of_items(scenario, field)]
    return [
        assumption
        for assumption in available
        if any(_leads(target, path) for target in _of_items(scenario, assumption.path) for path in paths)
    ]


def _leads(path: str, other: str) -> bool:
    """Return whether one path is equal to the other, or contains it."""
    pairs = zip(path.split("."), other.split("."), strict=False)
    return all(part == other_part or ALL_ITEMS in (part, other_part) for part, other_part in pairs)


def pool(run: Scenario, level: float) -> int:
    """Return the number of spares that is sufficient for a share of the time.

    Parameters
    ----------
    run : Scenario
        The run; without ``repair`` it needs no spares.
    level : float
        Fraction of time.

    Notes
    -----
    The number of nodes in repair is Poisson distributed. Failures are counted as if the job never stopped, so the pool
    is slightly too large. With ``rack``, the pool consists of whole racks.

    Examples
    --------
    >>> pool(Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}}), 0.999)
    15
    """
    if run.repair is None:
        return 0
    return int(enough_spares(run.nodes_in_repair / run.rack_nodes, level)) * run.rack_nodes


def _is_silent(scenario: Scenario, path: str) -> bool:
    """Return whether a field is missing, or at a default that was not written explicitly."""
    place, last = _place(scenario, path)
    if place is None or getattr(place, last) is None:
        return True
    return getattr(place, last) == field_at(path, Scenario).default and last not in place.model_fields_set


def missing(scenario: Scenario, mitigation: Mitigation) -> tuple[str, ...]:
    """Return the paths that a mitigation acts on and a scenario lacks, in the order of its changes.

    Examples
    --------
    >>> missing(Scenario.load("llama3-405b"), catalogue()["lemon-removal"])
    ('failures.lemons',)
    """
    absent: list[str] = []
    made = _made(mitigation)
    for change in mitigation.changes:
        if _holds(scenario, change):
            absent += [path for path in _missing(scenario, change) if path not in made]
    return tuple(dict.fromkeys(absent))


def _made(mitigation: Mitigation) -> set[str]:
    """Return the sections that the mitigation creates, by setting all their required fields."""
    set_paths = {change.path for change in mitigation.changes if change.op == "set"}
    sections = {path.rpartition(".")[0] for path in set_paths} - {""}
    return set_paths | {section for section in sections if (needed := _needed(section)) and needed <= set_paths}


def _needed(section: str) -> set[str]:
    """Return the paths of the required fields of a section."""
    if list_of(section):
        return set()
    model = model_of(field_at(section, Scenario).annotation)
    fields = model.model_fields if model else {}
    return {f"{section}.{name}" for name, field in fields.items() if field.is_required()}


def _missing(scenario: Scenario, change: Change) -> Iterator[str]:
    listed = list_of(change.path)
    if listed and change.path != listed:
        if not _targets(scenario, change) and ALL_ITEMS not in change.path:
            yield change.path
        return
    parts = change.path.split(".")
    for end in range(1, len(parts)):
        if _at(scenario, ".".join(parts[:end])) is None:
            yield ".".join(parts[:end])
            return
    if change.op in ("scale", "add") and not isinstance(change.value, dict) and _at(scenario, change.path) is None:
        yield change.path


def apply(
    scenario: Scenario,
    ids: str | Iterable[str],
    of: Catalogue | None = None,
    strengths: Mapping[str, float] | None = None,
) -> Scenario:
    """Return a scenario with mitigations applied; their order does not matter.

    Parameters
    ----------
    scenario : Scenario
        The run.
    ids : str or iterable of str
        Ids, titles or aliases of mitigations.
    of : Catalogue, optional
        Catalogue of the mitigations; the built-in one by default.
    strengths : mapping, optional
        Id to the fraction of the effect on numbers, 1 by default; other changes, such as a tier, are always applied.

    Returns
    -------
    Scenario
        The scenario with all changes: values are set first, then scaled, added to, capped, and raised to floors.

    Raises
    ------
    InputError
        Unknown mitigation (with the nearest), two that conflict, one that needs fields missing from the scenario, one
        that is not modelled, or a change that breaks a rule of the scenario.

    Examples
    --------
    >>> from ettr import Scenario, mitigation
    >>> run = mitigation.apply(Scenario.load("llama3-405b"), "peer-checkpoint")
    >>> [tier.name for tier in run.checkpoint.tiers]
    ['peer memory']
    """
    entries = of or catalogue()
    names = tuple(dict.fromkeys(entries[name].id for name in ([ids] if isinstance(ids, str) else ids)))
    chosen = [entries[name] for name in names]
    entries.check_together(names)
    for entry in chosen:
        if entry.unmodelled:
            raise InputError(f"{entry.id} is not modelled: {entry.unmodelled}")
        if absent := missing(scenario, entry):
            raise InputError(f"{entry.id} needs {', '.join(absent)}, which {scenario.name} does not have")
    strength_of = strengths or {}
    changes = [(change, strength_of.get(entry.id, 1.0)) for entry in chosen for change in entry.changes]
    return changed(scenario, changes, ", ".join(names))


def without(scenario: Scenario, mitigation: Mitigation) -> Scenario | None:
    """Return a scenario without a mitigation that is already in place; None if the catalogue has no values for that.

    Examples
    --------
    >>> run = Scenario.load("llama3-405b")
    >>> run.checkpoint.stall_s, without(run, catalogue()["async-checkpoint"]).checkpoint.stall_s
    (10.0, 70.0)
    """
    changes = [change for change in mitigation.before if _holds(scenario, change)]
    return changed(scenario, [(change, 1.0) for change in changes], mitigation.id) if changes else None


def changed(scenario: Scenario, changes: Iterable[tuple[Change, float]], called: str) -> Scenario:
    """Return a scenario with changes, each with its strength, in the order of operations."""
    changes, run = list(changes), scenario
    for stage in (_ORDER[:1], _ORDER[1:]):  # a set value may be a section that other changes refer to
        values: dict[str, Any] = {}
        holding = [(change, strength) for change, strength in changes if _holds(run, change)]
        for op in stage:
            for change, strength in holding:
                for path in _targets(run, change) if change.op == op else ():
                    current = values.get(path, _at(run, path))
                    values[path] = _changed(run, change, path, current, strength)
        values = {path: value for path, value in values.items() if value != _at(run, path)}
        try:
            run = run.override(values) if values else run
        except InputError as error:
            raise InputError(f"{called} cannot be applied to {scenario.name}: {'; '.join(error.args)}") from error
    return run


def _changed(run: Scenario, change: Change, path: str, current: Any, strength: float) -> Any:
    value = _value(run, change)
    if isinstance(value, dict) and change.op == "add":
        items = [item if isinstance(item, dict) else item.model_dump() for item in current]
        key = "interval_s" if path == TIERS else "name"
        return sorted([*items, value], key=lambda item: item[key])
    number = isinstance(current, (int, float)) and not isinstance(current, bool)
    if change.op == "set" or not number:  # there is no limit yet
        amount = value
    else:
        amounts = {"scale": current * value, "add": current + value}
        amounts |= {"cap": min(current, value), "floor": max(current, value)}
        amount = amounts[change.op]
    if strength != 1 and number and isinstance(amount, (int, float)):
        amount = current + strength * (amount - current)
    return math.ceil(amount - ROUNDING) if _is_count(path) and not isinstance(amount, dict) else amount


def _value(run: Scenario, change: Change) -> Any:
    if change.of is None:
        return copy.deepcopy(change.value)
    amount = pool(run, change.value) if change.of == "pool" else change.value * _QUANTITIES[change.of](run)
    return max(1, math.ceil(amount - ROUNDING)) if _is_count(change.path) else amount


def _rated_w(run: Scenario) -> float:
    """Return the rated power of the GPU. [W]"""
    return float((Gpu.load(run.heat.part) if run.heat else run.part).limits.power_w)


def n_replicas(run: Scenario) -> int:
    """Return the number of data-parallel replicas, at most the number of nodes.

    A job without a layout is assumed to have 16 nodes per replica.

    Examples
    --------
    >>> n_replicas(Scenario.load("llama3-405b"))
    128
    """
    layout = run.layout_of_job
    if layout is None:
        return max(1, run.n_nodes // _NODES_A_REPLICA)
    return max(1, min(run.n_nodes, int(run.cluster.n_gpus // layout.replica_gpus)))


_QUANTITIES: Mapping[str, Callable[[Scenario], float]] = MappingProxyType(
    {
        "nodes": lambda run: run.n_nodes,
        "replicas": n_replicas,
        "observed_gpus": lambda run: run.observed_gpus,
        "stall_s": lambda run: run.checkpoint.stall_s,
        "rated_w": _rated_w,
    }
)


def _is_count(path: str) -> bool:
    return int in kinds_of(path)


def _holds(scenario: Scenario, change: Change) -> bool:
    """Return whether the conditions of a change are met."""
    if change.when and not _at(scenario, change.when):
        return False
    return not any(_at(scenario, path) for path in change.unless)


def _targets(scenario: Scenario, change: Change) -> list[str]:
    """Return the fields that a change affects: of every item, of items with its name, or of a category."""
    paths = _of_items(scenario, change.path)
    listed = list_of(change.path)
    if not listed or change.path == listed or change.op == "set":
        return paths
    return [path for path in paths if _at(scenario, path) is not None]


def _of_items(scenario: Scenario, path: str) -> list[str]:
    """Return a path for each list item that it refers to, with the item's name."""
    listed = list_of(path)
    if not listed or path == listed:
        return [path]
    name, _, field = path.removeprefix(f"{listed}.").rpartition(".")
    items = _items(scenario, listed)
    chosen = [item for item in items if name in (ALL_ITEMS, item.name)]
    chosen = chosen or [item for item in items if getattr(item, "category", None) == name]
    return [f"{listed}.{item.name}.{field}" for item in chosen]


def _items(scenario: Scenario, listed: str) -> Any:
    return _at(scenario, listed) or ()


def _at(scenario: Scenario, path: str) -> Any:
    """Return the value of a field; None if it is missing."""
    place, last = _place(scenario, path)
    return None if place is None else getattr(place, last)


def _place(scenario: Scenario, path: str) -> tuple[Any, str]:
    """Return the section or item that contains a field, None if it is missing, and the name of the field."""
    listed = list_of(path)
    place: Any = scenario
    if listed and path != listed:
        name, _, path = path.removeprefix(f"{listed}.").rpartition(".")
        place = next((item for item in _items(scenario, listed) if item.name == name), None)
    *sections, last = path.split(".")
    for section in sections:
        place = None if place is None else getattr(place, section)
    return place, last
