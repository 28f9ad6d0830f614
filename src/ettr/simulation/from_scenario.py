"""A scenario as the plain numbers that kernels take."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from ettr.checkpoint import heed_threshold_h
from ettr.core.errors import NotModelled
from ettr.core.units import H_PER_DAY, ROUNDING
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.long_run import long_run_rate
from ettr.simulation.repair_stages import MOST_RETURNS
from ettr.simulation.rules import HIGH, LOW, MODE, MOST_TIERS, POINTS, RULES, Rules

_MOST_PLACES = 1e15
"""Checkpoints that can be counted without rounding."""
_AS_IN_HOURS = {field.name for field in fields(JobInHours)} & set(RULES.names or ())
"""What kernels know by the name, and as the number, that it has in a job in hours, unless they are told otherwise."""
FALSE_ALARM, REPEAT = "false alarm", "repeat of a bad node"
"""What strikes beside the modes of a scenario."""


def rules_of(scenario: Scenario) -> Rules:
    """Turn a scenario into tables.

    Raises
    ------
    NotModelled
        More than the kernels have room for, or two mechanisms that have no rule together.
    """
    job = scenario.in_hours()
    refuse(scenario, job)
    failures, repair = scenario.failures, scenario.repair
    weights = scenario.mode_exposure() * float(failures.per_node_h(long_run_rate(scenario)))
    n_out = np.append(job.modes.n_out, [0, 1])
    through_nodes = np.zeros(weights.size + 2, dtype=bool)
    if has_clocks(scenario):
        through_nodes = np.array([mode.of_nodes for mode in failures.modes] + [True, False, False])
    rates = np.array([*weights, job.false_alarms_per_h, 0.0])
    of_time, of_nodes = np.where(through_nodes, 0.0, rates), np.where(through_nodes, rates, 0.0)
    shape, scale = _scales(scenario, float(of_nodes.sum()))
    first = _first_failure(shape, failures.lifetime.start if failures.lifetime else "new")
    modes = _modes(scenario, job, of_time, of_nodes)
    slow, elastic, maintenance = scenario.slow_nodes, scenario.elastic, scenario.maintenance
    run = np.zeros(1, RULES)  # what is not there has no rate, no nodes and no hours
    values = {
        **{name: getattr(job, name) for name in _AS_IN_HOURS},
        **_work(scenario, job),
        **_burn_in(job),
        **_prediction(job, rates, modes),
        **_pool(scenario),
        **_tiers(scenario, job),
        "n_kept": scenario.checkpoint.n_kept or 0,
        "rate": of_time.sum(),
        "only_mode": int(np.argmax(rates)) if np.count_nonzero(rates) == 1 else -1,
        "mean_recovery": of_time @ modes["recovery"] / of_time.sum() if of_time.sum() > 0 else 0.0,
        "aged": has_clocks(scenario),
        "mixes": has_clocks(scenario) and bool((n_out[of_time > 0] > 0).any()),
        "tracked": failures.lemons is not None or bool(repair and repair.retire_after),
        "shape": shape,
        "first_log": first[0],
        "first_slope": first[1],
        "scale_0": scale[0],
        "scale_1": scale[1],
        "lemon_share": failures.lemons.share * failures.lemons.left if failures.lemons else 0.0,
        "request_rate": job.stops_per_h,
        "rolling": (maintenance.rolling_nodes or 0) if maintenance else 0,
    }
    if elastic:
        values |= {"n_replicas": elastic.n_replicas, "n_least": elastic.n_least}
    if slow:
        values |= {
            "slow_rate": slow.per_1000_node_days / 1000 / H_PER_DAY * scenario.n_nodes,
            "slow_loss": slow.loss,
            "found_rate": _inverse(slow.detection_h),
            "passed_rate": _inverse(slow.lasts_h),
        }
    for name, value in values.items():
        run[name] = value
    return Rules(run[0], modes)


def refuse(scenario: Scenario, job: JobInHours) -> None:
    """Refuse, by name, what there is no rule for."""
    tiers, repair = scenario.checkpoint.tiers, scenario.repair
    if len(tiers) >= MOST_TIERS:
        raise NotModelled(f"ettr.simulate knows up to {MOST_TIERS - 1} checkpoint.tiers, got {len(tiers)}")
    if repair and (repair.retire_after or 0) > MOST_RETURNS:
        raise NotModelled(f"ettr.simulate knows repair.retire_after up to {MOST_RETURNS}, got {repair.retire_after}")
    shortest_h, longest_h = min(job.taus), max(job.work, job.tau)
    if longest_h > _MOST_PLACES * shortest_h:
        raise NotModelled(
            f"ettr.simulate knows up to {_MOST_PLACES:g} checkpoints a run, and one every {shortest_h:.3g} h in "
            f"{longest_h:.3g} h are more"
        )
    if tiers and job.slowdown * job.persist > 0:
        raise NotModelled("ettr.simulate has no rule for checkpoint.tiers together with checkpoint.persist_slowdown")
    # of nodes without a memory it does not matter which are idle: all clocks slow down alike; those of missing nodes
    # are not there, so that the rate is too low by their share of the job, a few nodes in thousands
    if scenario.elastic and scenario.failures.lifetime and scenario.failures.lifetime.shape != 1:
        raise NotModelled(
            "ettr.simulate has no rule for elastic together with failures.lifetime: the clocks of idle nodes would "
            "have to stop"
        )


def has_clocks(scenario: Scenario) -> bool:
    """Whether every node has a lifetime of its own."""
    failures = scenario.failures
    return bool(failures.lifetime or failures.lemons or (scenario.repair and scenario.repair.retire_after))


def is_straight(rules: Rules) -> bool:
    """Whether the kernel that skips whole cycles knows all that is in the rules."""
    run, modes = rules.run, rules.modes
    simple_pool = not run["pooled"] or (
        run["preemptible"] == run["cold"] == run["n_crew"] == 0 and run["misdiagnosed"] == 0.0
    )
    plain = (
        run["n_tiers"] == 1
        and np.isnan(modes["latency"]).all()
        and modes["announced"].max() == 0.0
        and run["burn_in"] == 0.0
        and run["n_replicas"] == 0
        and run["slow_rate"] == 0.0
        and run["rolling"] == 0
        and not run["tracked"]
        and not run["mixes"]
    )
    return bool(simple_pool and plain)


def _pool(scenario: Scenario) -> dict[str, float]:
    spares, repair = scenario.spares, scenario.repair
    if spares is None or repair is None:
        no_stage = dict.fromkeys(("automatic", "manual", "replacement"), math.nan)
        return {"automatic_success": 1.0, "manual_success": 1.0, **no_stage}
    return {
        "pooled": True,
        "hot": spares.n_nodes,
        "preemptible": spares.n_preemptible,
        "cold": spares.n_cold,
        "automatic": _or_nan(repair.automatic_h),
        "automatic_success": repair.automatic_success,
        "manual": _or_nan(repair.manual_h),
        "manual_success": repair.manual_success,
        "replacement": _or_nan(repair.replacement_h),
        "repair_sigma": float(_sigma(repair.cv)),
        "n_crew": repair.n_crew or 0,
        "misdiagnosed": repair.misdiagnosed,
        "recurrence_rate": _inverse(repair.recurrence_h),
        "retire_after": repair.retire_after or 0,
    }


def _work(scenario: Scenario, job: JobInHours) -> dict[str, float]:
    tau, work, steady = job.tau, job.work, not job.include_start
    n_segments = max(1, math.ceil(work / tau - ROUNDING))
    rest = tau if steady else work - (n_segments - 1) * tau
    return {
        "work": n_segments * tau if steady else work,
        "n_segments": n_segments,
        "rest": rest,
        "steady": steady,
        "restart": job.restart + job.init,
        "restart_sigma": float(_sigma(scenario.recovery.restart_cv)),
    }


def _tiers(scenario: Scenario, job: JobInHours) -> dict[str, Any]:
    intervals = job.taus
    every = np.array([round(interval / intervals[0]) for interval in intervals])
    names = [*(tier.name for tier in scenario.checkpoint.tiers), "store"]
    for level in range(1, len(intervals)):
        ratio = intervals[level] / intervals[level - 1]
        if abs(ratio - round(ratio)) > 1e-6 * ratio:
            raise NotModelled(
                f"ettr.simulate needs each interval to be a whole part of the next: that of {names[level]!r} is "
                f"{ratio:.6g} times that of {names[level - 1]!r}"
            )

    def padded(values: Iterable[float]) -> np.ndarray:
        return np.array([*values, *[0.0] * MOST_TIERS][:MOST_TIERS])

    return {
        "n_tiers": len(intervals),
        "step": job.tau / every[-1],
        "every": padded(every),
        "tier_stall": padded(job.stalls),
        "tier_write": padded(job.writes),
        "tier_load": padded(job.loads),
    }


def _survival(scenario: Scenario) -> np.ndarray:
    """Share of failures that each tier survives; of a healthy job that was killed, the fastest keeps all."""
    n_modes = len(scenario.failures.modes) + 1
    shares = np.column_stack([*scenario.survival(), np.ones(n_modes)])
    survival = np.ones((n_modes + 2, MOST_TIERS))
    survival[:n_modes, : shares.shape[1]] = shares
    survival[-1] = survival[n_modes - 1]
    return survival


def _modes(scenario: Scenario, job: JobInHours, of_time: np.ndarray, of_nodes: np.ndarray) -> np.ndarray:
    """One row a mode, then ``other``, false alarms and repeats of a bad node, which take the general times."""

    def padded(values: np.ndarray) -> np.ndarray:
        """With the rows of ``other`` for false alarms and repeats."""
        return np.pad(values, (0, 2), mode="edge")

    table = np.zeros(of_time.size, MODE)
    for name in ("detection", "queue", "restart", "repair", "latency"):
        table[name] = padded(getattr(job.modes, name))
    table["detection"][-2] = 0.0  # the time-out itself
    table["restart"] += job.init
    table["recovery"] = table["detection"] + table["queue"] + table["restart"]
    table["detection_sigma"] = _sigma(padded(job.modes.detection_cv))
    table["restart_sigma"] = _sigma(padded(job.modes.restart_cv))
    table["latency_sigma"] = _sigma(np.array([*(mode.latency_cv for mode in scenario.failures.modes), 0.0, 0.0, 0.0]))
    table["n_out"] = np.append(job.modes.n_out, [0, 1])
    table["survival"] = _survival(scenario)
    table["keep_of_time"], table["else_of_time"] = _alias(of_time)
    table["keep_of_nodes"], table["else_of_nodes"] = _alias(of_nodes)
    return table


def _prediction(job: JobInHours, rates: np.ndarray, modes: np.ndarray) -> dict[str, float]:
    """What alarms do; fills in which modes are announced."""
    ahead = job.prediction
    none = {"heeded_from": math.inf}
    if ahead is None or ahead.recall == 0:
        return none
    threshold = float(heed_threshold_h(ahead.action, ahead.precision))
    if threshold > job.tau:
        return none
    noticed = np.isnan(modes["latency"])
    noticed[-2] = False
    modes["announced"] = np.where(noticed, ahead.recall, 0.0)
    return {
        "alarm_rate": float(rates[noticed].sum()) * ahead.recall * (1 - ahead.precision) / ahead.precision,
        "heeded_from": threshold,
        "action": ahead.action,
    }


def _burn_in(job: JobInHours) -> dict[str, float]:
    ageing = job.ageing
    if ageing is None:
        return {"decay": 1.0}
    return {"burn_in": (ageing.factor - 1) * math.exp(-ageing.age / ageing.decay), "decay": ageing.decay}


def _scales(scenario: Scenario, rate: float) -> tuple[float, np.ndarray]:
    """Weibull shape, and the scale of ordinary nodes and of lemons in hours of the hazard clock."""
    failures = scenario.failures
    shape = failures.lifetime.shape if failures.lifetime else 1.0
    lemons = failures.lemons
    share, factor = (lemons.share * lemons.left, lemons.factor) if lemons else (0.0, 1.0)
    base = rate / scenario.n_nodes / (1 + share * (factor - 1))
    if base == 0:
        return shape, np.array([math.inf, math.inf])
    return shape, 1 / (np.array([base, base * factor]) * math.gamma(1 + 1 / shape))


@lru_cache(maxsize=8)
def _first_failure(shape: float, start: str) -> np.ndarray:
    """Logarithm of the first failure's time, for scale 1, and its slope a step, by that of its cumulative hazard.

    A node in the middle of its life has the residual lifetime of a renewal process in equilibrium, whose survivor
    function is that of a gamma distribution of shape 1/k at the time to the power k.
    """
    log_hazard = np.linspace(LOW, HIGH, POINTS)
    width = log_hazard[1] - log_hazard[0]
    if start == "new" or shape == 1:
        return np.stack((log_hazard / shape, np.full(POINTS, width / shape)))
    gone = -np.expm1(-np.exp(log_hazard))
    left = np.exp(-np.exp(log_hazard))
    early = gone < 0.5
    grown = np.where(early, scipy.special.gammaincinv(1 / shape, gone), scipy.special.gammainccinv(1 / shape, left))
    log_time = np.log(grown) / shape
    # d ln t / d ln x = x S / (t f), with the residual density f = e^{-t^k} / Γ(1 + 1/k)
    log_density = -grown - math.lgamma(1 + 1 / shape)
    slope = np.exp(log_hazard - np.exp(log_hazard) - log_time - log_density) * width
    return np.stack((log_time, slope))


def _alias(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Alias table: draw a row evenly, keep it with this probability, else take the other (Walker 1977)."""
    if weights.sum() == 0:
        return np.ones(weights.size), np.arange(weights.size)
    scaled = weights * weights.size / weights.sum()
    keep, other = np.ones(weights.size), np.arange(weights.size)
    small, large = list(np.flatnonzero(scaled < 1)), list(np.flatnonzero(scaled >= 1))
    while small and large:
        low, high = small.pop(), large.pop()
        keep[low], other[low] = scaled[low], high
        scaled[high] -= 1 - scaled[low]
        (small if scaled[high] < 1 else large).append(high)
    for low in small:  # rounding only, unless nothing of it exists
        if weights[low] == 0:
            keep[low], other[low] = 0.0, int(weights.argmax())
    return keep, other


def _sigma(cv: float | np.ndarray) -> np.ndarray:
    """Standard deviation of the logarithm of a log-normal number with this coefficient of variation."""
    return np.asarray(np.sqrt(np.log1p(np.square(np.asarray(cv, dtype=float)))))


def _inverse(hours: float | None) -> float:
    return 1 / hours if hours else 0.0


def _or_nan(hours: float | None) -> float:
    return math.nan if hours is None else hours
