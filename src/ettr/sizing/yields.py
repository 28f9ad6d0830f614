"""What a job of any size yields: useful tokens a day, and what it costs to finish."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr.budget import accepted
from ettr.budget.closed_forms import quiet_budget
from ettr.budget.intervals import at_best
from ettr.core.errors import InputError
from ettr.core.results import PARTS
from ettr.core.units import H_PER_DAY, MIN_PER_H, S_PER_H, W_PER_MW
from ettr.power import Profile, profile
from ettr.power.bills import state_of
from ettr.scaling import Constants, Layout
from ettr.scaling.throughput import Throughput
from ettr.scenario import Scenario
from ettr.scenario.electricity import carbon_t
from ettr.scenario.heat import Heat
from ettr.scenario.heat_response import heat_response
from ettr.scenario.loader import stamp
from ettr.scenario.paths import N_GPUS, RATE

_S_PER_DAY = S_PER_H * H_PER_DAY


@dataclass(frozen=True)
class Yields:
    """Arrays of one shape, a place a size; zero tokens and infinite costs where a job would never end or does not fit.

    Attributes
    ----------
    n_gpus : ndarray
        Sizes. [GPUs]
    tokens_per_day : ndarray
        Throughput at full speed, without failures. [tokens/d]
    speed, ettr : ndarray
        Speed in the heat, and ETTR of the steady state.
    useful_tokens_per_day : ndarray
        The product of the three, over what loose exchange and the batch ask on top: tokens that count. [tokens/d]
    days : ndarray
        Until all tokens are trained on, the start included. [d]
    gpu_h : ndarray
        GPU-hours of the job. [GPU h]
    mwh : ndarray
        Energy of the facility. [MWh]
    usd : ndarray
        GPUs, electricity and days. [USD]
    t_co2 : ndarray
        Carbon of the electricity. [t]
    power_mw : ndarray
        Power of the facility while it trains. [MW]
    mfu, waiting_share : ndarray
        Model FLOPs utilisation, and the share of a step in which GPUs wait for others; 0 where nothing runs.
    interval_min : ndarray
        Checkpoint interval. [min]
    """

    n_gpus: np.ndarray
    tokens_per_day: np.ndarray
    speed: np.ndarray
    ettr: np.ndarray
    useful_tokens_per_day: np.ndarray
    days: np.ndarray
    gpu_h: np.ndarray
    mwh: np.ndarray
    usd: np.ndarray
    t_co2: np.ndarray
    power_mw: np.ndarray
    mfu: np.ndarray
    waiting_share: np.ndarray
    interval_min: np.ndarray

    def each(self, change: Callable[[np.ndarray], Any]) -> Yields:
        """All of them changed alike, such as to one place or to a quantile."""
        return Yields(**{name: change(np.asarray(values)) for name, values in vars(self).items()})


def throughput_of(scenario: Scenario) -> Throughput:
    """How fast a scenario's job trains.

    Raises
    ------
    InputError
        The job is given by its hours, which say nothing about other sizes.
    """
    if scenario.throughput is None:
        raise InputError(
            "sizing needs the job as tokens and parameters: job.tokens instead of job.productive_h, and model, e.g. "
            "--set job.tokens=15.6e12 --set model.n_parameters=405e9"
        )
    return scenario.throughput


def yields(
    scenario: Scenario,
    n_gpus: Any,
    layout: Layout | None = None,
    constants: Constants | None = None,
    rate_per_1000_node_days: Any = None,
) -> Yields:
    """Throughput x ETTR x heat x price at any sizes, taken as continuous, at the best checkpoint interval of each.

    Parameters
    ----------
    scenario : Scenario
        A job given by its tokens; its own size does not enter.
    n_gpus : float or ndarray
        Sizes, of any shape. [GPUs]
    layout : Layout, optional
        Arrays that broadcast against the sizes; the fastest of each size by default (sizes of one axis then).
    constants : Constants, optional
        Instead of those in force; arrays that broadcast.
    rate_per_1000_node_days : float or ndarray, optional
        Failure rate instead of the scenario's. [1/(1000 node-days)]

    Returns
    -------
    Yields
        Broadcast shape.

    Raises
    ------
    InputError
        The job is given by its hours, or a size below one node.
    NotModelled
        Mechanisms that no closed form of the ETTR holds for.

    Notes
    -----
    The ETTR is that of the steady state, which has no last segment to be cut off: neighbouring sizes differ by what one
    GPU does, and not by where a run happens to end. The start comes on top of the days.
    """
    through = throughput_of(scenario)
    sizes = np.asarray(n_gpus, dtype=float)
    node = scenario.cluster.gpus_per_node
    small = ~((sizes >= node) & np.isfinite(sizes))
    if small.any():
        raise InputError(f"n_gpus must be >= {node} GPUs, one node, and finite, got {sizes[small][0]:g}")
    chosen = through.fastest(sizes) if layout is None else layout
    fits = np.asarray(chosen.tensor) > 0
    chosen = replace(chosen, tensor=np.where(fits, chosen.tensor, 1))
    step = through.step(sizes, chosen, constants)
    per_s = np.where(fits & np.isfinite(step.total_s), through.batch_tokens / step.total_s, 0.0)
    sizes = np.broadcast_to(sizes, np.broadcast_shapes(per_s.shape, np.shape(rate_per_1000_node_days)))
    per_s = np.broadcast_to(per_s, sizes.shape)
    runs = per_s > 0
    # sizes that no layout fits are left out below, whatever their hours
    productive_h = np.where(runs, through.tokens_needed / np.where(runs, per_s, 1.0) / S_PER_H, 1.0)
    speed = _speed(scenario, through, sizes)
    at = {N_GPUS: sizes, "job.productive_h": productive_h * scenario.speed / speed}
    if rate_per_1000_node_days is not None:
        at[RATE] = np.broadcast_to(np.asarray(rate_per_1000_node_days, dtype=float), sizes.shape)
    run = accepted(scenario.override({"job.include_start": False}), at)
    interval_min = at_best(run).interval_min
    hours = quiet_budget(replace(run, tau=interval_min / MIN_PER_H))
    ends = runs & np.isfinite(hours.total_h)
    start_h = run.first_queue + run.start if scenario.starts else 0.0
    total_h = np.where(ends, hours.total_h, np.inf) + start_h
    ettr = np.where(ends, hours.ettr, 0.0)
    waiting = np.where(runs, np.broadcast_to(step.waiting_share, sizes.shape), 0.0)
    power = profile(scenario)
    it_wh, training_w = _watts(power, hours, waiting)
    starting_wh = start_h * (power.gpu_w("restart") + power.other_w)
    mwh = np.where(ends, it_wh + starting_wh, np.inf) * sizes * power.pue / W_PER_MW
    gpu_h, days = sizes * total_h, total_h / H_PER_DAY
    return Yields(
        n_gpus=sizes,
        tokens_per_day=per_s * _S_PER_DAY,
        speed=speed,
        ettr=ettr,
        useful_tokens_per_day=per_s * _S_PER_DAY * speed * ettr * through.n_tokens / through.tokens_needed,
        days=days,
        gpu_h=gpu_h,
        mwh=mwh,
        usd=scenario.prices.total_usd(gpu_h, mwh, days),
        t_co2=carbon_t(mwh, power.g_per_kwh),
        power_mw=sizes * training_w * power.pue / W_PER_MW,
        mfu=np.where(runs, np.broadcast_to(step.mfu, sizes.shape), 0.0),
        waiting_share=waiting,
        interval_min=np.broadcast_to(interval_min, sizes.shape),
    )


def _speed(scenario: Scenario, through: Throughput, sizes: np.ndarray) -> np.ndarray:
    """Speed of training over full speed at each size: the hottest of more GPUs is hotter.

    Heat is computed at powers of two, for as long as the job lasts there, and interpolated over the logarithm of the
    size.
    """
    factor = scenario.job.throughput_factor
    if scenario.heat is None or sizes.size == 0:
        return np.full(sizes.shape, factor)
    logs = np.arange(np.floor(np.log2(sizes.min())), np.ceil(np.log2(sizes.max())) + 1)
    hours = np.asarray(through.productive_h(2.0**logs))
    hours = np.where(np.isnan(hours), scenario.productive_h * scenario.cluster.n_gpus / 2.0**logs, hours)
    seen = tuple(stamp(path) for path in scenario.files)
    speeds = [_speed_of(scenario.heat, 2 ** int(log), float(h), seen) for log, h in zip(logs, hours, strict=True)]
    return np.asarray(factor * np.interp(np.log2(sizes), logs, speeds))


@functools.lru_cache(maxsize=4096)
def _speed_of(heat: Heat, n_gpus: int, work_h: float, _seen: tuple[tuple[int, int], ...]) -> float:
    return heat_response(heat, n_gpus, work_h).speed


def _watts(power: Profile, hours: Any, waiting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Energy of the computers for each GPU over the run [Wh], and their power while it trains [W]."""
    compute, communication = power.waveform.phases
    training = compute.gpu_w * (1 - waiting) + communication.gpu_w * waiting + power.other_w
    energy = np.zeros(waiting.shape)
    for part in PARTS:
        state = state_of(part)
        watts = training if state in ("training", "rework") else power.gpu_w(state) + power.other_w
        energy = energy + np.asarray(getattr(hours, part)) * watts
    return energy, training
