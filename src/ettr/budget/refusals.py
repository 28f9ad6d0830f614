"""Mechanisms that the analytical models do not cover, refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.core.errors import NotModelled
from ettr.core.units import LAST_DIGITS
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.long_run import starts_new
from ettr.scenario.paths import PERSIST, PREDICTION, SLOWDOWN, TIERS

SILENT, NOTICED = "silent failures (latency_h)", "failures that are detected at once"
WRITE = "a background write (checkpoint.persist_s or checkpoint.store)"
SIMULATE = "use ettr.simulate"


@dataclass(frozen=True)
class Extra:
    """A mechanism that only the simulator covers.

    Attributes
    ----------
    words : str
        Its name, in a few words.
    found_at : callable
        Takes a scenario, returns the paths of the fields that set it; empty if the scenario does not have it.
    """

    words: str
    found_at: Callable[[Scenario], tuple[str, ...]]


def _if(path: str, occurs: Callable[[Scenario], Any]) -> Callable[[Scenario], tuple[str, ...]]:
    return lambda scenario: (path,) if occurs(scenario) else ()


def _of_modes(scenario: Scenario, field: str, occurs: Callable[[Any], Any]) -> Iterable[str]:
    """Paths of a field in the modes that occur and have the mechanism."""
    for mode, weight in zip(scenario.failures.modes, scenario.mode_weights[:-1], strict=True):
        if weight > 0 and occurs(mode):
            yield f"failures.modes.{mode.name}.{field}"


def _varying_latencies(scenario: Scenario) -> tuple[str, ...]:
    return tuple(_of_modes(scenario, "latency_cv", lambda mode: mode.latency_h and mode.latency_cv))


def _corrupt_copies(scenario: Scenario) -> tuple[str, ...]:
    return tuple(f"checkpoint.tiers.{tier.name}.corrupt" for tier in scenario.checkpoint.tiers if tier.corrupt > 0)


def _cured_lemons(scenario: Scenario) -> tuple[str, ...]:
    lemons = scenario.failures.lemons
    names = ("cured_automatic", "cured_manual") if lemons else ()
    return tuple(f"failures.lemons.{name}" for name in names if getattr(lemons, name) > 0)


def silent_modes(scenario: Scenario) -> tuple[str, ...]:
    """Paths of the silent modes that occur."""
    paths = _of_modes(scenario, "latency_h", lambda mode: mode.latency_h is not None)
    return tuple(path.removesuffix(".latency_h") for path in paths)


EXTRAS = (
    Extra("latencies that vary", _varying_latencies),
    Extra(
        "time-outs that kill a healthy job",
        _if("recovery.false_alarms_per_day", lambda run: run.recovery.false_alarms_per_day > 0),
    ),
    Extra(
        "checkpoints that are not kept",
        _if("checkpoint.n_kept", lambda run: run.checkpoint.n_kept is not None and silent_modes(run)),
    ),
    Extra("slow nodes", _if("slow_nodes", lambda run: run.slow_nodes and run.slow_nodes.per_1000_node_days > 0)),
    Extra("jobs that continue without some replicas", _if("elastic", lambda run: run.elastic)),
    Extra(
        "stops for maintenance of a few nodes at a time",
        _if("maintenance.rolling_nodes", lambda run: run.maintenance and run.maintenance.rolling_nodes),
    ),
    Extra("restarts without failures", _if("recovery.exposed", lambda run: not run.recovery.exposed)),
    Extra("corrupt copies", _corrupt_copies),
    Extra("lemons that are cured", _cured_lemons),
    Extra("spares that run out", lambda run: ("spares", "repair") if run.spares else ()),
)
"""Mechanisms of the simulator only, in the order in which refusals name them."""


def refuse_extras(formula: str, scenario: Scenario) -> None:
    """Refuse a scenario with a mechanism that only the simulator covers."""
    for extra in EXTRAS:
        if paths := extra.found_at(scenario):
            raise NotModelled(
                f"{formula} has no term for {extra.words} ({', '.join(paths)}): {SIMULATE}, or leave them out with "
                "budget.simplified"
            )


def refuse_what_changes(formula: str, scenario: Scenario) -> None:
    """Refuse changing rates, and lifetimes of nodes that are not exponential."""
    failures, instead = scenario.failures, "budget.over_time"
    if failures.burn_in and failures.burn_in.factor != 1:
        raise NotModelled(f"{formula} does not cover failures.burn_in, a changing failure rate: use {instead}")
    if failures.lifetime and failures.lifetime.shape != 1:
        if failures.lifetime.start == "new":
            raise NotModelled(
                f"{formula} does not cover failures.lifetime with new nodes, a changing failure rate: use {instead}"
            )
        raise NotModelled(
            f"{formula} does not cover failures.lifetime, nodes whose failure rate depends on age: {SIMULATE}, or "
            f"{instead}, which takes the steady rate of many such nodes"
        )


def refuse_without_transform(scenario: Scenario, run: JobInHours) -> None:
    """Refuse mechanisms without a transform of the finishing date, even if there is a model of its mean."""
    burn_in, lifetime = scenario.failures.burn_in, scenario.failures.lifetime
    named = {
        "failures.burn_in, a changing failure rate": burn_in and burn_in.factor != 1,
        "failures.lifetime, nodes whose failure rate depends on age": lifetime and lifetime.shape != 1,
        f"faster tiers ({TIERS})": run.tiers,
        f"predicted failures ({PREDICTION})": run.prediction,
        SILENT: np.any(np.asarray(run.silent) > 0),
    }
    for words, is_present in named.items():
        if is_present:
            raise NotModelled(f"budget.finishing does not cover {words}: {SIMULATE}")


def together(run: JobInHours) -> list[str]:
    """Names of mechanisms in a run that the exact model does not cover together; none or one name if it does."""
    has_silent = run.silent > 0
    present = {TIERS: bool(run.tiers), PREDICTION: run.prediction is not None, SILENT: has_silent}
    names = [name for name, is_present in present.items() if is_present]
    if run.tiers and np.any(np.asarray(run.slowdown) * np.asarray(run.persist) > 0):
        names.append(SLOWDOWN)
    if has_silent and run.silent < 1 - LAST_DIGITS:
        names.append(NOTICED)
    if has_silent and np.any(np.asarray(run.persist) > 0):
        names.append(WRITE)
    return names


def refuse_together(run: JobInHours) -> None:
    """Refuse mechanisms that the exact model does not cover together."""
    names = together(run)
    if len(names) < 2:
        return
    instead = "leave one out, or use budget.first_order, which adds up their costs"
    if SLOWDOWN in names:  # which the simulator does not cover either
        raise NotModelled(f"budget.exact does not cover {TIERS} together with {SLOWDOWN}: {instead}")
    raise NotModelled(f"budget.exact does not cover {' together with '.join(names[:2])}: {SIMULATE}, {instead}")


def refuse_other_latencies(run: JobInHours) -> None:
    """Refuse different latencies: the model assumes that the failure which struck first is detected first."""
    latencies_h = run.modes.latencies
    if len(latencies_h) > 1:
        raise NotModelled(
            f"budget.exact does not cover silent failures of different latency_h ({min(latencies_h):g} and "
            f"{max(latencies_h):g} h): {SIMULATE}, or budget.first_order, which adds up their costs"
        )


def refuse_ageing(scenario: Scenario) -> None:
    """Refuse combinations that :func:`ettr.budget.over_time` does not cover."""
    failures = scenario.failures
    lifetime, new = failures.lifetime, starts_new(scenario)
    if failures.burn_in and lifetime and lifetime.shape != 1:
        raise NotModelled(
            f"budget.over_time does not cover failures.burn_in together with failures.lifetime: {SIMULATE}"
        )
    if new and failures.lemons and failures.lemons.factor > 1:
        raise NotModelled(
            f"budget.over_time does not cover failures.lifetime together with failures.lemons: {SIMULATE}"
        )


def refuse(scenario: Scenario, run: JobInHours, formula: str = "exact") -> None:
    """Refuse a scenario, or its run in hours, that a model does not cover."""
    refuse_extras(f"budget.{formula}", scenario)
    if formula == "over_time":
        refuse_ageing(scenario)
    elif formula == "finishing":
        refuse_without_transform(scenario, run)
    else:
        refuse_what_changes(f"budget.{formula}", scenario)
    if formula in ("exact", "over_time"):
        refuse_together(run)
        refuse_other_latencies(run)


def accepted(
    scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None, formula: str = "exact"
) -> JobInHours:
    """Return a run in hours that a model covers; all models take it in place of the scenario, without another check.

    Parameters
    ----------
    scenario, at
        As in :func:`exact`. A run in hours is returned unchanged.
    formula : str
        ``"exact"``, ``"first_order"``, ``"rsc"``, ``"over_time"`` or ``"finishing"``.

    Returns
    -------
    JobInHours
        Change it with ``dataclasses.replace``; derived quantities follow its fields.

    Raises
    ------
    InputError, NotModelled
        As by the model itself.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from ettr import Scenario, budget
    >>> run = budget.accepted(Scenario.load("llama3-405b"))
    >>> round(budget.exact(replace(run, rate=2 * run.rate)).ettr, 3)
    0.85
    """
    if isinstance(scenario, JobInHours):
        return scenario
    scenario = Scenario.of(scenario)
    run = scenario.in_hours(at)
    refuse(scenario, run, formula)
    return run


def barred(scenario: Scenario) -> set[str]:
    """Fields that the exact model does not cover together with another mechanism of the scenario."""
    slowed = {SLOWDOWN} if scenario.checkpoint.tiers else set()
    return slowed | ({PERSIST} if scenario.latencies_h else set())
