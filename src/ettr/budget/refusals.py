"""What the closed forms have no term for, and refuse by name."""

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

SILENT, NOTICED = "silent failures (latency_h)", "failures that are noticed"
WRITE = "a background write (checkpoint.persist_s or checkpoint.store)"
SIMULATE = "use ettr.simulate (ettr simulate on the command line)"


@dataclass(frozen=True)
class Extra:
    """Something that only simulation follows.

    Attributes
    ----------
    words : str
        What it is, in a few words.
    found_at : callable
        From a scenario to the paths of its fields; empty where the scenario does without it.
    """

    words: str
    found_at: Callable[[Scenario], tuple[str, ...]]


def _if(path: str, occurs: Callable[[Scenario], Any]) -> Callable[[Scenario], tuple[str, ...]]:
    return lambda scenario: (path,) if occurs(scenario) else ()


def _of_modes(scenario: Scenario, field: str, occurs: Callable[[Any], Any]) -> Iterable[str]:
    """Paths of a field of the modes that occur."""
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
    """Paths of the silent modes that occur, up to their field."""
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
    Extra("jobs that go on without some replicas", _if("elastic", lambda run: run.elastic)),
    Extra(
        "stops for maintenance of a few nodes at a time",
        _if("maintenance.rolling_nodes", lambda run: run.maintenance and run.maintenance.rolling_nodes),
    ),
    Extra("restarts in which nothing fails", _if("recovery.exposed", lambda run: not run.recovery.exposed)),
    Extra("copies that are corrupt", _corrupt_copies),
    Extra("lemons that are cured", _cured_lemons),
    Extra("spares that run out", lambda run: ("spares", "repair") if run.spares else ()),
)
"""In the order in which they are named."""


def refuse_extras(formula: str, scenario: Scenario) -> None:
    """Refuse a scenario with something that only simulation follows."""
    for extra in EXTRAS:
        if paths := extra.found_at(scenario):
            raise NotModelled(
                f"{formula} has no term for {extra.words} ({', '.join(paths)}): {SIMULATE}, or leave them out with "
                "budget.simplified"
            )


def refuse_what_changes(formula: str, scenario: Scenario) -> None:
    """Refuse rates that change and nodes with a memory."""
    failures, instead = scenario.failures, "budget.over_time"
    if failures.burn_in and failures.burn_in.factor != 1:
        raise NotModelled(f"{formula} has no form for failures.burn_in, a rate that changes: use {instead}")
    if failures.lifetime and failures.lifetime.shape != 1:
        if failures.lifetime.start == "new":
            raise NotModelled(f"{formula} has no form for failures.lifetime, a rate that changes: use {instead}")
        raise NotModelled(
            f"{formula} has no form for failures.lifetime, nodes with a memory: {SIMULATE}; {instead} takes the rate "
            "of many such nodes, which is steady"
        )


def refuse_without_transform(scenario: Scenario, run: JobInHours) -> None:
    """Refuse what the distribution of the finishing date is simulated for, though its mean may have a form."""
    burn_in, lifetime = scenario.failures.burn_in, scenario.failures.lifetime
    named = {
        "failures.burn_in, a rate that changes": burn_in and burn_in.factor != 1,
        "failures.lifetime, nodes with a memory": lifetime and lifetime.shape != 1,
        f"faster tiers ({TIERS})": run.tiers,
        f"warnings of failures ({PREDICTION})": run.prediction,
        SILENT: np.any(np.asarray(run.silent) > 0),
    }
    for words, there in named.items():
        if there:
            raise NotModelled(f"budget.finishing has no form for {words}: {SIMULATE}")


def together(run: JobInHours) -> list[str]:
    """Names of mechanisms in a run that no closed form holds for together; none or one name if it holds."""
    quiet = run.silent > 0
    names = [
        name
        for name, there in {TIERS: bool(run.tiers), PREDICTION: run.prediction is not None, SILENT: quiet}.items()
        if there
    ]
    if run.tiers and np.any(np.asarray(run.slowdown) * np.asarray(run.persist) > 0):
        names.append(SLOWDOWN)
    if quiet and run.silent < 1 - LAST_DIGITS:
        names.append(NOTICED)
    if quiet and np.any(np.asarray(run.persist) > 0):
        names.append(WRITE)
    return names


def refuse_together(run: JobInHours) -> None:
    """Refuse mechanisms that no closed form holds for together."""
    names = together(run)
    if len(names) < 2:
        return
    instead = "leave one out, or let budget.first_order add up what each costs"
    if SLOWDOWN in names:  # nor does the simulator hold for it
        raise NotModelled(f"budget.exact has no form for {TIERS} together with {SLOWDOWN}: {instead}")
    raise NotModelled(f"budget.exact has no form for {' together with '.join(names[:2])}: {SIMULATE}, {instead}")


def refuse_other_latencies(run: JobInHours) -> None:
    """With one latency the failure that struck first is found first, which the form rests on."""
    latencies_h = run.modes.latencies
    if len(latencies_h) > 1:
        raise NotModelled(
            f"budget.exact has no form for silent failures of different latency_h ({min(latencies_h):g} and "
            f"{max(latencies_h):g} h): {SIMULATE}; budget.first_order adds up what each costs"
        )


def refuse_ageing(scenario: Scenario) -> None:
    """Refuse what the form of rates that change does not hold for."""
    failures = scenario.failures
    lifetime, new = failures.lifetime, starts_new(scenario)
    if failures.burn_in and lifetime and lifetime.shape != 1:
        raise NotModelled(
            f"budget.over_time has no form for failures.burn_in together with failures.lifetime: {SIMULATE}"
        )
    if new and failures.lemons and failures.lemons.factor > 1:
        raise NotModelled(
            f"budget.over_time has no form for failures.lifetime together with failures.lemons: {SIMULATE}"
        )


def refuse(scenario: Scenario, run: JobInHours, formula: str = "exact") -> None:
    """Refuse a scenario, and what it is in hours, that a form has no answer for."""
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
    """A run in hours that a form holds for: all forms take it in place of the scenario, which is not asked again.

    Parameters
    ----------
    scenario, at
        As in :func:`exact`. A run that is in hours already comes back as it is.
    formula : str
        ``"exact"``, ``"first_order"``, ``"rsc"``, ``"over_time"`` or ``"finishing"``.

    Returns
    -------
    JobInHours
        For ``dataclasses.replace`` to change: what follows from its fields follows.

    Raises
    ------
    InputError, NotModelled
        As the form itself.

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
    """Fields that no closed form holds for beside something else that the scenario has."""
    slowed = {SLOWDOWN} if scenario.checkpoint.tiers else set()
    return slowed | ({PERSIST} if scenario.latencies_h else set())
