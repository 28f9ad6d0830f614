"""A scenario with mitigations: what they change, what they need, and what a scenario without it is lent."""

from __future__ import annotations

import copy
import math
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ettr.errors import InputError
from ettr.mitigation.catalogue import Catalogue, catalogue
from ettr.mitigation.entries import ALL_ITEMS, Change, Loan, Mitigation
from ettr.scenario import Scenario
from ettr.scenario.paths import LISTS, field_at, list_of, model_of

_ORDER = ("set", "scale", "add", "cap", "floor")
_NODES_A_REPLICA = 16
"""Of a job that does not say how its model is cut (assumed: as in Llama 3 405B)."""


@dataclass(frozen=True)
class Lent:
    """A scenario with what it was lent.

    Attributes
    ----------
    scenario : Scenario
        With every loan.
    loans : tuple of Loan
        Those that were needed.
    """

    scenario: Scenario
    loans: tuple[Loan, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Paths that the scenario did not have, or had at a value with which they do nothing."""
        return tuple(loan.path for loan in self.loans)


def lend(scenario: Scenario, of: Catalogue | None = None) -> Lent:
    """Give a scenario what mitigations act on, wherever it says nothing of it.

    Parameters
    ----------
    scenario : Scenario
        The run.
    of : Catalogue, optional
        Whose loans; the project's own without.

    Returns
    -------
    Lent
        The scenario, and what it was lent.

    Examples
    --------
    >>> found = lend(Scenario.load("llama3-405b"))
    >>> found.scenario.failures.lemons is not None, "failures.lemons" in found.fields
    (True, True)
    """
    loans: list[Loan] = []
    values: dict[str, Any] = {}
    origins: dict[str, Any] = {}
    for loan in (of or catalogue()).lends:
        paths = [path for path in _targets(scenario, loan) if _is_silent(scenario, path)]
        if not paths or not _holds(scenario, loan):
            continue
        loans.append(loan)
        for path in paths:
            values[path] = _value(scenario, loan)
            origins |= dict.fromkeys(_leaves(path, values[path]), _origin(loan))
    if not values:
        return Lent(scenario, ())
    known = {path: origin.model_dump() for path, origin in scenario.evidence.items()}
    return Lent(scenario.override({**values, "evidence": {**known, **origins}}), tuple(loans))


def _leaves(path: str, value: Any) -> list[str]:
    return [f"{path}.{field}" for field in value] if isinstance(value, dict) else [path]


def _origin(loan: Loan) -> dict[str, Any]:
    return {"status": loan.status, "source": loan.source, "note": loan.note}


def _is_silent(scenario: Scenario, path: str) -> bool:
    """Whether the scenario says nothing of a field: it is not there, or at its default without an origin."""
    there, value = _at(scenario, path)
    return not there or value is None or (value == field_at(path, Scenario).default and path not in scenario.evidence)


def missing(scenario: Scenario, mitigation: Mitigation) -> tuple[str, ...]:
    """What a mitigation acts on and a scenario does not have: paths, in the order of its changes."""
    found: list[str] = []
    made = _made(mitigation)
    for change in mitigation.changes:
        if _holds(scenario, change):
            found += [path for path in _missing(scenario, change) if path not in made]
    return tuple(dict.fromkeys(found))


def _made(mitigation: Mitigation) -> set[str]:
    """Sections that the mitigation makes itself: it sets every field that they cannot do without."""
    given = {change.path for change in mitigation.changes if change.op == "set"}
    sections = {path.rpartition(".")[0] for path in given} - {""}
    return {section for section in sections if (needed := _needed(section)) and needed <= given}


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
        if _at(scenario, ".".join(parts[:end]))[1] is None:
            yield ".".join(parts[:end])
            return
    if change.op in ("scale", "add") and not isinstance(change.value, dict) and _at(scenario, change.path)[1] is None:
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
        Names of mitigations.
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
    found = of or catalogue()
    names = tuple(dict.fromkeys([ids] if isinstance(ids, str) else ids))
    chosen = [found[name] for name in names]
    found.check_together(names)
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
    holding = [(change, strength) for change, strength in changes if _holds(scenario, change)]
    run = scenario
    for stage in (_ORDER[:1], _ORDER[1:]):  # what is set may be a section, which others lead into
        values: dict[str, Any] = {}
        for op in stage:
            for change, strength in holding:
                for path in _targets(run, change) if change.op == op else ():
                    current = values.get(path, _at(run, path)[1])
                    values[path] = _changed(run, change, path, current, strength)
        values = {path: value for path, value in values.items() if value != _at(run, path)[1]}
        try:
            run = run.override(values) if values else run
        except InputError as error:
            raise InputError(f"{called} does not fit {scenario.name}: {error}") from error
    return run


def _changed(run: Scenario, change: Change, path: str, current: Any, strength: float) -> Any:
    value = _value(run, change)
    if isinstance(value, dict) and change.op == "add":
        items = [item if isinstance(item, dict) else item.model_dump() for item in current]
        key = "interval_s" if path == "checkpoint.tiers" else "name"
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
    return math.ceil(amount - 1e-9) if _is_count(path) and not isinstance(amount, dict) else amount


def _value(run: Scenario, change: Change) -> Any:
    if change.of is None:
        return copy.deepcopy(change.value)
    amount = change.value * (run.n_nodes if change.of == "nodes" else n_replicas(run))
    return max(1, math.ceil(amount - 1e-9)) if _is_count(change.path) else amount


def n_replicas(run: Scenario) -> int:
    """Data-parallel replicas of a job, no more than its nodes; of 16 nodes each where it does not say (assumed)."""
    layout = run.layout_of_job
    if layout is None:
        return max(1, run.n_nodes // _NODES_A_REPLICA)
    return max(1, min(run.n_nodes, int(run.cluster.n_gpus // layout.replica_gpus)))


def _is_count(path: str) -> bool:
    return any(kind is int for kind in _kinds(field_at(path, Scenario).annotation))


def _kinds(annotation: Any) -> Iterator[Any]:
    """What an annotation such as ``Count | None`` is made of."""
    yield annotation
    for part in typing.get_args(annotation):
        yield from _kinds(part)


def _holds(scenario: Scenario, change: Change) -> bool:
    """Whether the conditions of a change are met."""
    if change.when and not _at(scenario, change.when)[1]:
        return False
    return not (change.unless and _at(scenario, change.unless)[1])


def _targets(scenario: Scenario, change: Change) -> list[str]:
    """The fields that a change leads to: those of every item, of items of one name, or else of one category."""
    listed = list_of(change.path)
    if not listed or change.path == listed:
        return [change.path]
    name, _, field = change.path.removeprefix(f"{listed}.").rpartition(".")
    items = _items(scenario, listed)
    chosen = [item for item in items if name in (ALL_ITEMS, item.name)]
    chosen = chosen or [item for item in items if getattr(item, "category", None) == name]
    own = [item for item in chosen if change.op == "set" or getattr(item, field) is not None]
    return [f"{listed}.{item.name}.{field}" for item in own]


def _items(scenario: Scenario, listed: str) -> Any:
    return _at(scenario, listed)[1] or ()


def _at(scenario: Scenario, path: str) -> tuple[bool, Any]:
    """Whether there is a field at a path, and its value."""
    listed = list_of(path)
    found: Any = scenario
    if listed and path != listed and listed in LISTS:
        name, _, path = path.removeprefix(f"{listed}.").rpartition(".")
        found = next((item for item in _items(scenario, listed) if item.name == name), None)
    for part in path.split("."):
        if found is None:
            return False, None
        found = getattr(found, part)
    return True, found
