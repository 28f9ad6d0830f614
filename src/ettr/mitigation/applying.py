"""A scenario with mitigations: what they change, what they need, and what is assumed where a scenario says nothing."""

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
    ("spares", "repair", "elastic", "maintenance.rolling_nodes", "failures.modes.*.n_out_nodes"),
    ("recovery.person_share", "recovery.person_min"),
    ("heat", "failures.modes.*.heat_share"),
)
"""Fields of which each does something beside the others only."""
_NODES_A_REPLICA = 16
"""Of a job that does not say how its model is cut (assumed: as in Llama 3 405B)."""


@dataclass(frozen=True)
class WithAssumptions:
    """A scenario with what is assumed where it says nothing.

    Attributes
    ----------
    scenario : Scenario
        The scenario, every assumption in its place.
    assumptions : tuple of Assumption
        Those that were needed.
    """

    scenario: Scenario
    assumptions: tuple[Assumption, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Paths that the scenario did not have, or had at a value with which they do nothing."""
        return tuple(assumption.path for assumption in self.assumptions)


def with_assumptions(
    scenario: Scenario, of: Catalogue | None = None, acting_on: Iterable[str] | None = None
) -> WithAssumptions:
    """Give a scenario what mitigations act on, wherever it says nothing of it.

    Parameters
    ----------
    scenario : Scenario
        The run.
    of : Catalogue, optional
        Whose assumptions; the project's own without.
    acting_on : iterable of str, optional
        Only what these fields are or lie in, and what does nothing without them or they without it; all if not given.

    Returns
    -------
    WithAssumptions
        The completed scenario, and what was assumed.

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
    known = (of or catalogue()).assumptions
    for assumption in known if acting_on is None else _needed_by(scenario, known, acting_on):
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
    given = {path: origin.model_dump() for path, origin in scenario.evidence.items()}
    # what was measured is known of the run all the same
    completed = scenario.override({**values, "evidence": {**given, **origins}, "measured": scenario.measured})
    # a pool is of the repair, which may be assumed too
    pools = {one.path: _value(completed, one) for one in assumptions if one.of == "pool"}
    if pools:
        given = {path: origin.model_dump() for path, origin in completed.evidence.items()}
        completed = completed.override({**pools, "evidence": {**given, **origins}, "measured": scenario.measured})
    return WithAssumptions(completed, tuple(assumptions))


def _needed_by(scenario: Scenario, known: Iterable[Assumption], acting_on: Iterable[str]) -> list[Assumption]:
    """The assumptions that have to do with fields."""
    wanted = {*acting_on}
    for together in _TOGETHER:
        if any(_leads(one, other) for one in wanted for other in together):
            wanted |= {*together}
    paths = [path for one in wanted for path in _of_items(scenario, one)]
    return [one for one in known if any(_leads(own, path) for own in _of_items(scenario, one.path) for path in paths)]


def _leads(path: str, other: str) -> bool:
    """Whether one of two paths is the other, or leads to a part of it."""
    pairs = zip(path.split("."), other.split("."), strict=False)
    return all(one == two or ALL_ITEMS in (one, two) for one, two in pairs)


def pool(run: Scenario, level: float) -> int:
    """Spares that are enough for a share of the time, if as many nodes are in repair as the job's failures send there.

    Parameters
    ----------
    run : Scenario
        The run; one without ``repair`` needs none.
    level : float
        Share of the time.

    Notes
    -----
    Nodes in repair are Poisson distributed (a flow of repairs). Failures are counted as if the job never stood still,
    so that the pool is a little large.

    Examples
    --------
    >>> pool(Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}}), 0.999)
    15
    """
    if run.repair is None:
        return 0
    return int(enough_spares(run.nodes_in_repair, level))


def _is_silent(scenario: Scenario, path: str) -> bool:
    """Whether the scenario says nothing of a field: it is not there, or at a default that nobody wrote down."""
    place, last = _place(scenario, path)
    if place is None or getattr(place, last) is None:
        return True
    return getattr(place, last) == field_at(path, Scenario).default and last not in place.model_fields_set


def missing(scenario: Scenario, mitigation: Mitigation) -> tuple[str, ...]:
    """What a mitigation acts on and a scenario does not have: paths, in the order of its changes."""
    absent: list[str] = []
    made = _made(mitigation)
    for change in mitigation.changes:
        if _holds(scenario, change):
            absent += [path for path in _missing(scenario, change) if path not in made]
    return tuple(dict.fromkeys(absent))


def _made(mitigation: Mitigation) -> set[str]:
    """Sections that the mitigation makes itself: it sets every field that they cannot do without."""
    given = {change.path for change in mitigation.changes if change.op == "set"}
    sections = {path.rpartition(".")[0] for path in given} - {""}
    return given | {section for section in sections if (needed := _needed(section)) and needed <= given}


def _needed(section: str) -> set[str]:
    """Paths of the fields that a section must have."""
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
    """A scenario with mitigations, whatever their order.

    Parameters
    ----------
    scenario : Scenario
        The run.
    ids : str or iterable of str
        Ids, titles or aliases of mitigations.
    of : Catalogue, optional
        Where they stand; the project's own without.
    strengths : mapping, optional
        Id to the part of the way that numbers go to where the mitigation would take them, 1 if not given; what is no
        number, such as a tier, is there or not.

    Returns
    -------
    Scenario
        With all their changes: values are set first, then scaled, added to, capped, and lifted to their floors.

    Raises
    ------
    InputError
        An unknown mitigation (with the nearest), two that do not go together, one that needs what the scenario does
        not have, one that is not modelled, or a change that breaks a rule of the scenario.

    Examples
    --------
    >>> from ettr import Scenario, mitigation
    >>> run = mitigation.apply(Scenario.load("llama3-405b"), "peer-checkpoint")
    >>> [tier.name for tier in run.checkpoint.tiers]
    ['peer memory']
    """
    known = of or catalogue()
    names = tuple(dict.fromkeys(known[name].id for name in ([ids] if isinstance(ids, str) else ids)))
    chosen = [known[name] for name in names]
    known.check_together(names)
    for one in chosen:
        if one.unmodelled:
            raise InputError(f"{one.id} has nothing to apply: {one.unmodelled}")
        if absent := missing(scenario, one):
            raise InputError(f"{one.id} needs {', '.join(absent)}, which {scenario.name} does not have")
    strong = strengths or {}
    changes = [(change, strong.get(one.id, 1.0)) for one in chosen for change in one.changes]
    return changed(scenario, changes, ", ".join(names))


def without(scenario: Scenario, mitigation: Mitigation) -> Scenario | None:
    """A scenario that has a mitigation in place, without it; None where the catalogue does not say how that is."""
    there = [change for change in mitigation.before if _holds(scenario, change)]
    return changed(scenario, [(change, 1.0) for change in there], mitigation.id) if there else None


def changed(scenario: Scenario, changes: Iterable[tuple[Change, float]], called: str) -> Scenario:
    """A scenario with changes, each of its strength, in the order of operations; ``called`` names them in errors."""
    changes, run = list(changes), scenario
    for stage in (_ORDER[:1], _ORDER[1:]):  # what is set may be a section, which others lead into
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
            raise InputError(f"{called} does not fit {scenario.name}: {'; '.join(error.args)}") from error
    return run


def _changed(run: Scenario, change: Change, path: str, current: Any, strength: float) -> Any:
    value = _value(run, change)
    if isinstance(value, dict) and change.op == "add":
        items = [item if isinstance(item, dict) else item.model_dump() for item in current]
        key = "interval_s" if path == TIERS else "name"
        return sorted([*items, value], key=lambda item: item[key])
    number = isinstance(current, (int, float)) and not isinstance(current, bool)
    if change.op == "set" or not number:  # a limit that is not there is none
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
    """Rated power of a GPU, that whose heat is followed. [W]"""
    return float((Gpu.load(run.heat.part) if run.heat else run.part).limits.power_w)


def n_replicas(run: Scenario) -> int:
    """Data-parallel replicas of a job, no more than its nodes; of 16 nodes each where it does not say (assumed)."""
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
    """Whether the conditions of a change are met."""
    if change.when and not _at(scenario, change.when):
        return False
    return not any(_at(scenario, path) for path in change.unless)


def _targets(scenario: Scenario, change: Change) -> list[str]:
    """The fields that a change leads to: those of every item, of items of one name, or else of one category."""
    paths = _of_items(scenario, change.path)
    listed = list_of(change.path)
    if not listed or change.path == listed or change.op == "set":
        return paths
    return [path for path in paths if _at(scenario, path) is not None]


def _of_items(scenario: Scenario, path: str) -> list[str]:
    """A path with the names of the items of a list that it leads to, of a list's items; else as it is."""
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
    """The value of a field; None where it is not there."""
    place, last = _place(scenario, path)
    return None if place is None else getattr(place, last)


def _place(scenario: Scenario, path: str) -> tuple[Any, str]:
    """The section or item that holds a field, None where it is not there, and the field's name."""
    listed = list_of(path)
    place: Any = scenario
    if listed and path != listed:
        name, _, path = path.removeprefix(f"{listed}.").rpartition(".")
        place = next((item for item in _items(scenario, listed) if item.name == name), None)
    *sections, last = path.split(".")
    for section in sections:
        place = None if place is None else getattr(place, section)
    return place, last
