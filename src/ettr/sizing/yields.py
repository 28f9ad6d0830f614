"""Throughput, ETTR, duration and cost of a job at any size."""

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
    """Throughput and costs by size, as arrays of one shape.

    Where a job would never end or does not fit, tokens are 0 and costs infinite.

    Attributes
    ----------
    n_gpus : ndarray
        Sizes. [GPUs]
    tokens_per_day : ndarray
        Throughput at full speed, without failures. [tokens/d]
    speed, ettr : ndarray
        Speed relative to full speed (heat), and steady-state ETTR.
    useful_tokens_per_day : ndarray
        Product of the three, less the tokens that a larger batch or infrequent synchronisation needs on top. [tokens/d]
    days : ndarray
        Duration of the job, including the start. [d]
    gpu_h : ndarray
        GPU-hours of the job. [GPU h]
    mwh : ndarray
        Energy of the facility. [MWh]
    usd : ndarray
        Total cost of GPUs, electricity and days. [USD]
    t_co2 : ndarray
        CO2 emissions of the electricity. [t]
    power_mw : ndarray
        Power of the facility during training. [MW]
    mfu, waiting_share : ndarray
        Model FLOPs utilisation (MFU), and the share of a step in which GPUs wait for others; 0 where no job runs.
    interval_min : ndarray
        Best checkpoint interval. [min]

    Examples
    --------
    >>> at = yields(Scenario.load("llama3-405b-tokens"), np.array([8192.0, 16384.0]))
    >>> at.ettr.round(2).tolist()
    [0.94, 0.91]
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
        """Return all arrays with a function applied, such as a selection or a quantile."""
        return Yields(**{name: change(np.asarray(values)) for name, values in vars(self).items()})


def throughput_of(scenario: Scenario) -> Throughput:
    """Return the throughput model of a scenario.

    Raises
    ------
    InputError
        The job is defined by its hours, which do not determine other sizes.
    """
    if scenario.throughput is None:
        raise InputError(
            "sizing needs job.tokens instead of job.productive_h, and the section model, e.g. job.tokens = 15.6e12 and "
            "model.n_parameters = 405e9"
        )
    return scenario.throughput


def yields(
    scenario: Scenario,
    n_gpus: Any,
    layout: Layout | None = None,
    constants: Constants | None = None,
    rate_per_1000_node_days: Any = None,
) -> Yields:
    """Return throughput, ETTR and costs at any sizes, at the best checkpoint interval of each.

    Parameters
    ----------
    scenario : Scenario
        A job defined by its tokens; its size is not used.
    n_gpus : float or ndarray
        Sizes, of any shape, treated as continuous. [GPUs]
    layout : Layout, optional
        Arrays that broadcast against the sizes; by default the fastest for each size (sizes must have one axis).
    constants : Constants, optional
        Constants of scaling instead of those of the scenario; arrays that broadcast.
    rate_per_1000_node_days : float or ndarray, optional
        Failure rate instead of that of the scenario. [1/(1000 node-days)]

    Returns
    -------
    Yields
        Broadcast shape.

    Raises
    ------
    InputError
        The job is defined by its hours, or a size is below one node.
    NotModelled
        The analytical model does not cover the mechanisms of the run.

    Notes
    -----
    The ETTR is that of the steady state, so neighbouring sizes differ by the effect of one GPU and not by the length of
    the last checkpoint segment. The start is added to the days.

    Examples
    --------
    >>> at = yields(Scenario.load("llama3-405b-tokens"), [8192, 16384])
    >>> bool(at.days[0] > at.days[1])
    True
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
    """Return the speed relative to full speed at each size; the hottest of more GPUs is hotter.

    Heat is computed at powers of two, for the duration of the job at that size, and interpolated in the logarithm of
    the size.
    """
    factor = scenario.job.throughput_factor
    if scenario.heat is None or sizes.size == 0:
        return np.full(sizes.shape, factor)
    logs = np.arange(np.floor(np.log2(sizes.min())), np.ceil(np.log2(sizes.max())) + 1)
    hours = np.asarray(through.productive_h(2.0**logs))
    hours = np.where(np.isnan(hours), scenario.productive_h * scenario.cluster.n_gpus / 2.0**logs, hours)
    stamps = tuple(stamp(path) for path in scenario.files)  # so that a changed weather file is read again
    speeds = [_speed_of(scenario.heat, 2 ** int(log), float(h), stamps) for log, h in zip(logs, hours, strict=True)]
    return np.asarray(factor * np.interp(np.log2(sizes), logs, speeds))


@functools.lru_cache(maxsize=4096)
def _speed_of(heat: Heat, n_gpus: int, work_h: float, _stamps: tuple[tuple[int, int], ...]) -> float:
    return heat_response(heat, n_gpus, work_h).speed


def _watts(power: Profile, hours: Any, waiting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the IT energy per GPU over the run [Wh], and the IT power per GPU during training [W]."""
    compute, communication = power.waveform.phases
    training = compute.gpu_w * (1 - waiting) + communication.gpu_w * waiting + power.other_w
    energy = np.zeros(waiting.shape)
    for part in PARTS:
        state = state_of(part)
        watts = training if state in ("training", "rework") else power.gpu_w(state) + power.other_w
        energy = energy + np.asarray(getattr(hours, part)) * watts
    return energy, training
