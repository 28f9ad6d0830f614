"""When a run is done: the distribution of its hours, exactly, from the transform of its rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ettr.budget.changing import exposed_h_of, over_time
from ettr.budget.closed_forms import out_of_order, quiet_budget
from ettr.budget.refusals import accepted
from ettr.budget.transforms import alarms, changing, silent, stages, tiers
from ettr.budget.transforms.inversion import MOST_TERMS, inverted
from ettr.budget.transforms.recoveries import Exposure, kinds_of
from ettr.budget.transforms.stages import Quiet
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.finishing import Finishing
from ettr.core.units import LAST_DIGITS
from ettr.core.validity import ENDS, plain, warn_outside
from ettr.scenario import JobInHours, Scenario

_LARGEST_EXPONENT = 300.0
"""Failures in what has to be trained in one go, beyond which a run practically never ends."""
_TINY = 1e-150
"""A step so small that the transform is straight, over the hours."""
_FADED = 1e-6
_SPACING, _ROUGH, _FEWEST_RATES, _MOST_RATES = 0.8, 49, 16, 400
"""Distance of the rates of a posterior in standard deviations of the finishing date; how many are looked at for that,
and how many there may be."""
_KINDS = 3
"""Kinds of failures, and tiers, whose recoveries are looked at as hours that are always the same."""
_COARSE = 128
"""Terms of a distribution of which only a probability or the moments are looked at."""
_BEYOND = 1e-9
"""Probability of the rates that are left out on each side."""


def finishing(
    scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None, *, rate_known: bool = True, done: float = 0.0
) -> Finishing:
    r"""Distribution of the hours from submission to the end of a run, exact under the rules of a run.

    Parameters
    ----------
    scenario : Scenario or JobInHours
        The run; in hours it is taken as one that :func:`accepted` gave for ``"finishing"``.
    at : mapping, optional
        Dotted path (one of :func:`swept`) to an array in the field's unit, as in :func:`exact`.
    rate_known : bool
        False for a failure rate that is known from a count only: the distribution is mixed over its posterior.
    done : float
        Share of the work that is done; the hours then begin now, at a checkpoint, without queue and start.

    Returns
    -------
    Finishing
        Its ``cdf``, ``quantile`` and ``pdf`` take arrays; with ``at`` it is one distribution a point.

    Raises
    ------
    InputError
        A path that cannot be swept, a share outside [0, 1), or a rate of which no failure was seen, or nothing known.
    NotModelled
        What has no transform: spares that run out, nodes with a memory, latencies that vary or differ, and others,
        which ``ettr.simulate`` follows.
    OutsideValidity
        The run would practically never end, or meets so few failures that its alarms cannot be told from its intervals.

    Notes
    -----
    Each try of a stage ends with a failure or with a durable checkpoint, and what follows begins anew; so the transform
    of the whole is a product, with tiers and maintenance of matrices. Kulkarni, Nicola and Trivedi (1987). Requests for
    maintenance that wait for one checkpoint are served together. With alarms the interval that the end cuts short
    counts as the others, and a rate that changes is followed to the spread of the exposed hours around their mean. The
    mean is that of :func:`exact`, but for what that has to first order or in whole intervals only.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("llama3-405b").override({"maintenance": None, "spares": None, "repair": None})
    >>> finish = budget.finishing(run)
    >>> round(finish.quantile(0.9), 1), round(finish.cdf(1272), 3)
    (1272.6, 0.875)
    """
    share = _share(done)
    run = accepted(scenario, at, "finishing")
    if rate_known:
        return _of(_rest(run, share), starts=not share)
    if isinstance(scenario, JobInHours) or run.shape:
        raise InputError("rate_known=False needs a scenario, which knows its posterior, and no arrays")
    rates = posterior_rates(Scenario.of(scenario), run, share)
    at_rates = replace(_rest(run, share), rate=run.rate * rates.relative)
    return _of(at_rates, not share, warns=False).mixed(rates.weights)


def _rest(run: JobInHours, done: float) -> JobInHours:
    """A run with the work that is left."""
    return replace(run, work=run.work * (1 - done)) if done else run


def _share(done: Any) -> float:
    """The share of the work that is done, checked."""
    share = float(done) if isinstance(done, Real) else math.nan
    if not 0 <= share < 1:
        raise InputError(f"done, the share of the work that is done, must be at least 0 and below 1, got {done!r}")
    return share


@dataclass(frozen=True)
class Rates:
    """Failure rates that a run may have.

    Attributes
    ----------
    relative : ndarray of shape (n,)
        Over the rate that the scenario gives.
    weights : ndarray of shape (n,)
        Probability of each.
    """

    relative: np.ndarray
    weights: np.ndarray


def posterior_rates(scenario: Scenario, run: JobInHours, done: float = 0.0, spacing: float = _SPACING) -> Rates:
    """Failure rates from what is known of them, as dense as the finishing date asks for.

    Parameters
    ----------
    scenario : Scenario
        The run, with a count of failures or a gamma distribution of its rate.
    run : JobInHours
        The same in hours, with what :func:`finishing` takes.
    done : float
        Share of the work that is done, as in :func:`finishing`.
    spacing : float
        Distance of neighbours in standard deviations of the finishing date.

    Raises
    ------
    InputError
        Nothing is known of the rate, or no failure was seen.
    OutsideValidity
        The run would practically never end at any of them.
    """
    known = scenario.failures.posterior
    if known is None:
        raise InputError(
            "how well the failure rate is known does not follow from the scenario: give a count (failures.n_events and "
            "failures.node_days) or failures.rate_gamma"
        )
    if scenario.failures.n_events == 0 or known.shape < 1:
        raise InputError(
            "no failure was seen, so the failure rate has no lower end and the run no finishing date to predict: plan "
            "with the most that fits with that, as `ettr plan` does, or with rate_known=True"
        )
    from scipy.special import gammainccinv, gammaincinv, gammaln  # 0.1 s to load, and needed here alone

    low, high = (math.log(of(known.shape, _BEYOND)) for of in (gammaincinv, gammainccinv))
    grid = np.linspace(low, high, _ROUGH)
    mean = math.log(scenario.failure_rate * known.node_days / 1000)
    at_grid = replace(_rest(run, done), rate=run.rate * np.exp(grid - mean))
    rough = _of(at_grid, not done, warns=False, terms=_COARSE)
    ends_at = np.isfinite(rough.mean_h) & (rough.sd_h > 0)
    if not ends_at.any():
        raise OutsideValidity(f"budget.finishing holds only for {ENDS}")
    steps = np.where(ends_at[1:], np.abs(np.diff(rough.mean_h)) / (spacing * rough.sd_h[1:]), 1.0)
    passed = np.append(0.0, np.cumsum(np.maximum(np.nan_to_num(steps, nan=1.0), 1e-3)))
    n = int(np.clip(np.ceil(passed[-1]), _FEWEST_RATES, _MOST_RATES))
    middle = (np.arange(n) + 0.5) / n * passed[-1]
    log_rate = np.interp(middle, passed, grid)
    width = np.interp(middle, (passed[1:] + passed[:-1]) / 2, np.diff(grid) / np.diff(passed))
    weights = np.exp(known.shape * log_rate - np.exp(log_rate) - gammaln(known.shape)) * width
    return Rates(np.exp(log_rate - mean), weights / weights.sum())


def chance(run: JobInHours, by_h: float, rates: Rates | None = None, done: float = 0.0) -> Any:
    """Probability of being done by some hours, at each point of a run; 0 where it would practically never end.

    Parameters
    ----------
    run : JobInHours
        One that :func:`accepted` gave for ``"finishing"``.
    by_h : float
        Hours since the clock started. [h]
    rates : Rates, optional
        Rates to mix over, as of :func:`posterior_rates`; that of the run alone without.
    done : float
        Share of the work that is done, as in :func:`finishing`.

    Returns
    -------
    float or ndarray
        In [0, 1], to two or three digits where a run meets few failures.
    """
    run = _rest(run, done)
    each = [(1.0, 1.0)] if rates is None else zip(rates.relative, rates.weights, strict=True)
    total: Any = 0.0
    for relative, weight in each:
        try:
            finish = _of(replace(run, rate=run.rate * relative), not done, warns=False, terms=_COARSE)
        except OutsideValidity:
            continue
        total = total + weight * np.nan_to_num(finish.cdf(by_h))
    return plain(np.broadcast_to(total, run.shape))


def _of(run: JobInHours, starts: bool, warns: bool = True, terms: int = MOST_TERMS) -> Finishing:
    """The distribution at each point of a run."""
    shape = run.shape
    outside = {rule: np.broadcast_to(mask, shape) for rule, mask in _limits(run).items()}
    broken = [rule for rule, mask in outside.items() if np.any(mask)]
    if not shape:
        if broken:
            raise OutsideValidity(f"budget.finishing holds only for {broken[0]}")
        return _inverted(run, starts, terms)
    bad = np.logical_or.reduce(list(outside.values())) if outside else np.zeros(shape, dtype=bool)
    if not bad.any():
        return _inverted(run, starts, terms)
    if warns:
        warn_outside("budget.finishing", " and ".join(broken), int(bad.sum()), bad.size)
    if bad.all():
        nothing, table = np.full(shape, np.nan), np.full((*shape, 2), np.nan)
        return Finishing(nothing, nothing, nothing, nothing, table, table, nothing)
    return _inverted(run.at_points(np.nonzero(~bad)), starts, terms).scattered(~bad)


def _limits(run: JobInHours) -> dict[str, Any]:
    """What must hold, in words, and where it does not."""
    with np.errstate(all="ignore"):
        most = run.rate * (1.0 if run.ageing is None else max(1.0, changing.relative(run, 0.0)))
        limits = {
            "intervals no shorter than the training during the background write": run.head * (1 - LAST_DIGITS)
            > run.tau,
            ENDS: np.logical_not(most * (_in_one_go_h(run) + run.restart_after) <= _LARGEST_EXPONENT)
            | _hardly_trains(run),
        }
        if run.tiers:
            limits["tiers whose intervals do not fall, and none shorter than its write"] = out_of_order(run)
        if run.prediction is not None:
            limits["runs in which some sixteen failures or more come without warning"] = _alarms_blur(run)
    return limits


def _hardly_trains(run: JobInHours) -> Any:
    """Where the expected hours have no answer, as the run trains for too small a share of them; maintenance aside."""
    hours = quiet_budget(replace(run, tau=np.atleast_1d(run.tau), stops_per_h=0.0))
    never = np.isnan(hours.total_h) & np.logical_not(run.head * (1 - LAST_DIGITS) > run.tau)
    return never if run.shape else bool(never[0])


def _in_one_go_h(run: JobInHours) -> Any:
    """What has to be trained without a failure: of a tier, without one that no faster tier survives. [h]"""
    hours = sum(run.stalls) + run.persist
    for tier, tau in enumerate(run.taus):
        struck = sum(kind.share * (1 - kind.survives[tier - 1]) for kind in kinds_of(run, 0)) if tier else 1.0
        hours = hours + struck * np.minimum(tau, run.work)
    return hours


def _alarms_blur(run: JobInHours) -> Any:
    """Where a run with alarms has so few failures that it matters where its intervals end."""
    turn = np.pi / np.asarray(run.cycle, dtype=float)
    s = 1j * turn[..., None]
    blurred = alarms.whole(run, False)(Exposure(_wide(run.rate), s, s))
    return np.logical_not(np.abs(blurred[..., 0]) <= _FADED)


def _inverted(run: JobInHours, starts: bool, terms: int) -> Finishing:
    of = (
        tiers
        if run.tiers
        else alarms
        if run.prediction is not None
        else silent
        if np.any(np.asarray(run.silent) > 0)
        else stages
    )
    starts = starts and run.include_start
    quiet: Quiet = of.quiet(run, starts)
    about_h = None
    if run.ageing is not None and run.ageing.factor != 1:
        about_h, end_h = _over_time_h(run)
        whole = changing.whole(run, starts, end_h, of.whole, of.log_cycle)
        quiet = changing.quiet(run, quiet)
    else:
        whole = of.whole(run, starts)
    rate = _wide(run.rate)

    def transform(s: Any) -> Any:
        return whole(Exposure(rate, s, s))

    with np.errstate(under="ignore"):
        about_h = _about_h(run, transform, quiet) if about_h is None else about_h
        return inverted(transform, about_h, run.shape, quiet.probability, quiet.hours, _alike_h(run), terms)


def _alike_h(run: JobInHours) -> list[Any]:
    """Hours that may be lost many times over, always the same. [h]"""
    kinds = sorted(kinds_of(run, 0), key=lambda kind: -np.mean(kind.share))[:_KINDS]
    each_h = [np.mean(kind.detection_h) + np.mean(run.first_queue) + np.mean(kind.restart_h) for kind in kinds]
    hours = [of + load for of in each_h for load in run.loads[:_KINDS]]
    return [*hours, run.stop + run.start] if np.any(run.stops_per_h) else hours


def _about_h(run: JobInHours, transform: Callable[[Any], Any], quiet: Quiet) -> Any:
    """Mean hours, roughly. [h]"""
    if run.prediction is not None:  # whose transform is a root, and loses digits where s is tiny
        return quiet_budget(replace(run, stops_per_h=0.0)).total_h
    step = _TINY / np.broadcast_to(quiet.hours, run.shape)[..., None]
    return (-np.angle(transform(1j * step)) / step)[..., 0]


def _over_time_h(run: JobInHours) -> tuple[Any, Any]:
    """Mean hours of a run whose rate changes, and those exposed, at each point, maintenance aside. [h, h]"""
    unasked = replace(run, stops_per_h=0.0)
    each = [over_time(unasked.at_points(point)) for point in np.ndindex(run.shape)]
    hours = np.array([(float(one.total_h), float(exposed_h_of(one))) for one in each])
    return hours[:, 0].reshape(run.shape), plain(hours[:, 1].reshape(run.shape))


def _wide(values: Any) -> Any:
    return np.asarray(values, dtype=float)[..., None]
