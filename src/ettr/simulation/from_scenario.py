"""Translate a scenario into the numbers that the kernels read."""

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
from ettr.scenario.fleet import Repair
from ettr.scenario.long_run import long_run_rate
from ettr.simulation.repair_stages import IDLE, MOST_RETURNS
from ettr.simulation.rules import HIGH, LOW, MODE, MOST_TIERS, N_KINDS, POINTS, RULES, Rules

_MOST_PLACES = 1e15
"""Largest number of checkpoints that is counted without rounding."""
_AS_IN_HOURS = {field.name for field in fields(JobInHours)} & set(RULES.names or ())
"""Fields with the same name and value in the rules as in the job in hours, unless they are set below."""
_CHOICES = ("longest_idle", "random", "fewest_failures")


def rules_of(scenario: Scenario, horizon_h: float = math.inf) -> Rules:
    """Return the rules of a scenario, with the wall clock at which all runs end.

    Raises
    ------
    NotModelled
        More tiers or checkpoints than the kernels have room for, or mechanisms that they do not combine.
    """
    refuse(scenario, scenario.in_hours(), horizon_h)
    scenario = scenario.by_rack
    job = scenario.in_hours()
    failures, repair = scenario.failures, scenario.repair
    weights = scenario.mode_exposure() * float(failures.per_node_h(long_run_rate(scenario)))
    n_out = np.append(job.modes.n_out, [0, 1])
    through_nodes = np.zeros(weights.size + 2, dtype=bool)
    if has_clocks(scenario):
        through_nodes = np.array([mode.of_nodes for mode in failures.modes] + [True, False, False])
    rates = np.array([*weights, job.false_alarms_per_h, 0.0])
    of_time, of_nodes = np.where(through_nodes, 0.0, rates), np.where(through_nodes, rates, 0.0)
    modes = _modes(scenario, job, of_time, of_nodes)
    slow, elastic, maintenance = scenario.slow_nodes, scenario.elastic, scenario.maintenance
    run = np.zeros(1, RULES)  # a mechanism that is not in the scenario has rate 0, no nodes and no hours
    values = {
        **{name: getattr(job, name) for name in _AS_IN_HOURS},
        **_work(scenario, job),
        "queue": job.first_queue,
        **_burn_in(job),
        **_prediction(job, rates, modes),
        **_pool(scenario, job),
        **_tiers(scenario, job),
        **_nodes(scenario, float(of_nodes.sum())),
        "n_kept": scenario.checkpoint.n_kept or 0,
        "rate": of_time.sum(),
        "only_mode": int(np.argmax(rates)) if np.count_nonzero(rates) == 1 else -1,
        "mean_recovery": of_time @ modes["recovery"] / of_time.sum() if of_time.sum() > 0 else 0.0,
        "aged": has_clocks(scenario),
        "mixes": has_clocks(scenario) and bool((n_out[of_time > 0] > 0).any()),
        "tracked": failures.lemons is not None or bool(repair and repair.retire_after),
        "horizon": horizon_h,
        "request_rate": job.stops_per_h,
        "rolling": (maintenance.rolling_nodes or 0) if maintenance else 0,
    }
    if elastic:
        values |= {"n_replicas": elastic.n_replicas, "n_least": elastic.n_least}
    if slow:
        values |= {
            "slow_rate": slow.per_1000_node_days / 1000 / H_PER_DAY * scenario.n_nodes,
            "slow_loss": slow.loss,
            "found_rate": 1 / slow.detection_h,
        }
    for name, value in values.items():
        run[name] = value
    return Rules(run[0], modes)


def refuse(scenario: Scenario, job: JobInHours, horizon_h: float = math.inf) -> None:
    """Refuse, by name, combinations and sizes that the kernels do not support."""
    tiers, repair = scenario.checkpoint.tiers, scenario.repair
    if len(tiers) >= MOST_TIERS:
        raise NotModelled(f"ettr.simulate takes at most {MOST_TIERS - 1} checkpoint.tiers, got {len(tiers)}")
    if repair and repair.retire_window_days is not None and (repair.retire_after or 0) > MOST_RETURNS:
        raise NotModelled(
            f"ettr.simulate takes repair.retire_after <= {MOST_RETURNS} together with repair.retire_window_days, "
            f"got {repair.retire_after}"
        )
    shortest_h, longest_h = min(job.taus), max(job.work, job.tau)
    if longest_h > _MOST_PLACES * shortest_h:
        raise NotModelled(
            f"ettr.simulate takes at most {_MOST_PLACES:g} checkpoints per run, got one every {shortest_h:.3g} h in "
            f"{longest_h:.3g} h"
        )
    if tiers and job.slowdown * job.persist > 0:
        raise NotModelled("ettr.simulate does not model checkpoint.tiers together with checkpoint.persist_slowdown")
    # with exponential lifetimes it does not matter which nodes are idle: all clocks slow down alike. Missing nodes have
    # no clocks, so the rate is too low by their share of the job, a few nodes in thousands
    lifetime, lemons = scenario.failures.lifetime, scenario.failures.lemons
    if scenario.elastic and lifetime and lifetime.shape != 1:
        raise NotModelled(
            "ettr.simulate does not model elastic together with failures.lifetime: the clocks of idle nodes would have "
            "to stop"
        )
    cured = lemons and (lemons.cured_automatic or lemons.cured_manual)
    history = cured or (lifetime and lifetime.shape != 1) or (repair and repair.retire_after)
    if history and scenario.by_rack is not scenario:
        raise NotModelled(
            "ettr.simulate does not model rack together with failures.lifetime, repair.retire_after or lemons that "
            "repair cures: inside a rack, nodes have no history"
        )
    if not job.include_start and horizon_h < math.inf:
        raise NotModelled("ettr.simulate does not model horizon_h together with job.include_start: false")


def has_clocks(scenario: Scenario) -> bool:
    """Whether nodes have individual lifetimes."""
    failures = scenario.failures
    counted = scenario.repair and scenario.repair.retire_after
    return bool(failures.lifetime or failures.lemons or counted)


def is_straight(rules: Rules) -> bool:
    """Whether the kernel for the core mechanisms covers the rules."""
    run, modes = rules.run, rules.modes
    simple_pool = not run["pooled"] or (
        run["stock"][IDLE:].sum() == run["n_crew"] == run["unreplaced"] == 0 and run["idle_rate"] == 0.0
    )
    no_other = (
        run["n_tiers"] == 1
        and np.isnan(modes["latency"]).all()
        and modes["announced"].max() == 0.0
        and run["burn_in"] == 0.0
        and run["n_replicas"] == 0
        and run["slow_rate"] == 0.0
        and run["rolling"] == 0
        and run["horizon"] == math.inf
        and not run["tracked"]
        and not run["mixes"]
    )
    return bool(simple_pool and no_other)


def _pool(scenario: Scenario, job: JobInHours) -> dict[str, Any]:
    spares, repair = scenario.spares, scenario.repair
    if spares is None or repair is None:
        no_stage = dict.fromkeys(("automatic", "manual", "replacement"), math.nan)
        return {"automatic_success": 1.0, **no_stage}
    return {
        "pooled": True,
        "stock": [spares.n_nodes, spares.n_idle, spares.n_preemptible],  # in the order of RANKS
        "spare_wait": [0.0, job.select, job.preempt],
        "choice": _CHOICES.index(spares.choose),
        "idle_rate": spares.per_1000_node_days / 1000 / H_PER_DAY,
        "cured_automatic": scenario.failures.lemons.cured_automatic if scenario.failures.lemons else 0.0,
        "cured_manual": scenario.failures.lemons.cured_manual if scenario.failures.lemons else 0.0,
        "unreplaced": not repair.replaced,
        **_repair_times(repair),
        "automatic": _or_nan(repair.automatic_h),
        "automatic_success": repair.automatic_success,
        "manual": _or_nan(repair.manual_h),
        "replacement": _or_nan(repair.replacement_h),
        "n_crew": repair.n_crew or 0,
        "retire_after": repair.retire_after or 0,
    }


def _work(scenario: Scenario, job: JobInHours) -> dict[str, Any]:
    tau, work, steady = job.tau, job.work, not job.include_start
    n_segments = max(1, math.ceil(work / tau - ROUNDING))
    rest = tau if steady else work - (n_segments - 1) * tau
    return {
        "work": n_segments * tau if steady else work,
        "n_segments": n_segments,
        "rest": rest,
        "steady": steady,
        "unexposed": not scenario.recovery.exposed,
    }


def _tiers(scenario: Scenario, job: JobInHours) -> dict[str, Any]:
    intervals = job.taus
    every = np.array([round(interval / intervals[0]) for interval in intervals])
    names = [*(tier.name for tier in scenario.checkpoint.tiers), "store"]
    for level in range(1, len(intervals)):
        ratio = intervals[level] / intervals[level - 1]
        if abs(ratio - round(ratio)) > 1e-6 * ratio:
            raise NotModelled(
                f"ettr.simulate needs each tier's interval to be a multiple of the faster tier's: that of "
                f"{names[level]!r} is {ratio:.6g} times that of {names[level - 1]!r}"
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
        "tier_corrupt": padded(tier.corrupt for tier in scenario.checkpoint.tiers),
        "corrupts": any(tier.corrupt > 0 for tier in scenario.checkpoint.tiers),
    }


def _survival(scenario: Scenario) -> np.ndarray:
    """Share of failures that each tier survives; a false alarm kills a healthy job, so the fastest tier survives."""
    n_modes = len(scenario.failures.modes) + 1
    shares = np.column_stack([*scenario.survival(), np.ones(n_modes)])
    survival = np.ones((n_modes + 2, MOST_TIERS))
    survival[:n_modes, : shares.shape[1]] = shares
    survival[-1] = survival[n_modes - 1]
    return survival


def _modes(scenario: Scenario, job: JobInHours, of_time: np.ndarray, of_nodes: np.ndarray) -> np.ndarray:
    """A row per mode, then ``other``, false alarms and swaps of slow nodes, which have the times of ``other``."""

    def padded(values: np.ndarray) -> np.ndarray:
        """Repeat the row of ``other`` for false alarms and swaps."""
        return np.pad(values, (0, 2), mode="edge")

    table = np.zeros(of_time.size, MODE)
    for name in ("detection", "restart", "repair", "latency"):
        table[name] = padded(getattr(job.modes, name))
    table["detection"][-2] = 0.0  # the time-out of a false alarm is itself the detection
    table["recovery"] = table["detection"] + job.first_queue + table["restart"]
    table["latency_sigma"] = _sigma(np.array([*(mode.latency_cv for mode in scenario.failures.modes), 0.0, 0.0, 0.0]))
    table["n_out"] = np.append(job.modes.n_out, [0, 1])
    table["survival"] = _survival(scenario)
    table["together"] = [*(mode.repaired_together for mode in scenario.failures.modes), False, False, False]
    table["keep_of_time"], table["else_of_time"] = _alias(of_time)
    table["keep_of_nodes"], table["else_of_nodes"] = _alias(of_nodes)
    return table


def _prediction(job: JobInHours, rates: np.ndarray, modes: np.ndarray) -> dict[str, float]:
    """Rate of false alarms, and the answer to alarms; also sets which modes are announced."""
    prediction = job.prediction
    no_alarms = {"heeded_from": math.inf}
    if prediction is None or prediction.recall == 0:
        return no_alarms
    threshold = float(heed_threshold_h(prediction.action, prediction.precision))
    if threshold > job.tau:
        return no_alarms
    predictable = np.isnan(modes["latency"])  # neither silent failures nor false alarms of time-outs
    predictable[-2] = False
    modes["announced"] = np.where(predictable, prediction.recall, 0.0)
    recall, precision = prediction.recall, prediction.precision
    return {
        "alarm_rate": float(rates[predictable].sum()) * recall * (1 - precision) / precision,
        "heeded_from": threshold,
        "action": prediction.action,
    }


def _burn_in(job: JobInHours) -> dict[str, float]:
    ageing = job.ageing
    if ageing is None:
        return {"decay": 1.0}
    return {"burn_in": (ageing.factor - 1) * math.exp(-ageing.age / ageing.decay), "decay": ageing.decay}


def _nodes(scenario: Scenario, rate: float) -> dict[str, Any]:
    """Nodes and spares, with the lifetimes of ordinary nodes and of lemons; ``rate`` is that of all nodes together."""
    lifetime, lemons, spares = scenario.failures.lifetime, scenario.failures.lemons, scenario.spares
    shape, start = (lifetime.shape, lifetime.start) if lifetime else (1.0, "stationary")
    share, factor = (lemons.share * lemons.left, lemons.factor) if lemons else (0.0, 1.0)
    base = rate / scenario.n_nodes / (1 + share * (factor - 1))
    scale = np.full(N_KINDS, math.inf)
    if base > 0:
        scale = 1 / (np.array([base, base * factor]) * math.gamma(1 + 1 / shape))
    log_time, slope = first_failure(shape, start)
    return {
        "n_spares": spares.n_nodes + spares.n_idle + spares.n_preemptible if spares else 0,
        "shape": shape,
        "scale": scale,
        "first_log": log_time,
        "first_slope": slope,
        "lemon_share": share,
    }


def _repair_times(repair: Repair) -> dict[str, Any]:
    """Distribution of repair times around their mean."""
    if repair.distribution == "lognormal" or (repair.distribution == "gamma" and repair.cv == 0):
        return {"repair_sigma": float(_sigma(repair.cv))}
    log_time, slope = gamma_times(1.0 if repair.distribution == "exponential" else 1 / repair.cv**2)
    return {"tabled": True, "repair_log": log_time, "repair_slope": slope}


def _alias(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Alias table (Walker 1977): draw a row uniformly, keep it with a probability, else take the other row."""
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
    for low in small:  # left over by rounding, unless its weight is 0
        if weights[low] == 0:
            keep[low], other[low] = 0.0, int(weights.argmax())
    return keep, other


def _sigma(cv: float | np.ndarray) -> np.ndarray:
    """Standard deviation of the logarithm of a log-normal variate with this coefficient of variation."""
    return np.asarray(np.sqrt(np.log1p(np.square(np.asarray(cv, dtype=float)))))


def _or_nan(hours: float | None) -> float:
    return math.nan if hours is None else hours


_LOG_HAZARD = np.linspace(LOW, HIGH, POINTS)
_WIDTH = _LOG_HAZARD[1] - _LOG_HAZARD[0]
_NEVER = 1e-300
"""Shorter than any time, but above 0, whose logarithm is infinite."""


@lru_cache(maxsize=8)
def gamma_times(shape: float) -> np.ndarray:
    """Table over the logarithm of the cumulative hazard: the logarithm of a gamma time of mean 1, and its slope."""
    grown = np.maximum(_inverse_gamma(shape), _NEVER)
    time = grown / shape
    log_density = shape * math.log(shape) + (shape - 1) * np.log(time) - grown - math.lgamma(shape)
    return _with_slope(np.log(time), log_density)


@lru_cache(maxsize=8)
def first_failure(shape: float, start: str) -> np.ndarray:
    """Table over the logarithm of the cumulative hazard: that of the first failure's time, for scale 1, and its slope.

    A node in the middle of its life has the residual lifetime of a renewal process in equilibrium, whose survivor
    function is that of a gamma distribution of shape 1/k at the time to the power k.
    """
    if start == "new" or shape == 1:
        return np.stack((_LOG_HAZARD / shape, np.full(POINTS, _WIDTH / shape)))
    grown = _inverse_gamma(1 / shape)
    # the residual density f = e^{-t^k} / Γ(1 + 1/k)
    return _with_slope(np.log(grown) / shape, -grown - math.lgamma(1 + 1 / shape))


def _with_slope(log_time: np.ndarray, log_density: np.ndarray) -> np.ndarray:
    """Logarithms of times, and their slope per step of the table, d ln t / d ln x = x S / (t f)."""
    slope = np.exp(_LOG_HAZARD - np.exp(_LOG_HAZARD) - log_time - log_density) * _WIDTH
    return np.stack((log_time, slope))


def _inverse_gamma(shape: float) -> np.ndarray:
    """Gamma variate of scale 1 at each cumulative hazard, accurate in both tails."""
    gone, left = -np.expm1(-np.exp(_LOG_HAZARD)), np.exp(-np.exp(_LOG_HAZARD))
    early, late = scipy.special.gammaincinv(shape, gone), scipy.special.gammainccinv(shape, left)
    return np.asarray(np.where(gone < 0.5, early, late))
