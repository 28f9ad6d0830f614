"""The finishing date: the exact distribution of a run's hours, from its Laplace transform."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ettr.budget.blocks import as_product
from ettr.budget.closed_forms import quiet_budget
from ettr.budget.refusals import accepted
from ettr.budget.transforms import stages
from ettr.budget.transforms.inversion import MOST_TERMS, inverted
from ettr.budget.transforms.recoveries import Exposure, kinds_of
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.finishing import Finishing
from ettr.core.units import LAST_DIGITS
from ettr.core.validity import ENDS, plain, warn_outside
from ettr.scenario import JobInHours, Scenario

_LARGEST_EXPONENT = 300.0
"""Expected failures within one stage, above which a run practically never ends."""
_TINY = 1e-150
"""Step of s times the hours, so small that the transform is linear."""
_SPACING, _ROUGH, _FEWEST_RATES, _MOST_RATES = 0.8, 49, 16, 400
"""Distance of neighbouring rates of a posterior, in standard deviations of the finishing date; the number of rates that
are tried to find it; and the least and the largest number of rates."""
_KINDS = 3
"""Number of kinds of failures, the most frequent ones, whose recovery hours are passed on as constant."""
_COARSE = 128
"""Fourier terms where only a probability or the moments are needed."""
_BEYOND = 1e-9
"""Posterior probability of the rates that are cut off at each end."""


def finishing(
    scenario: Scenario | JobInHours,
    at: Mapping[str, Any] | None = None,
    *,
    rate_known: bool = True,
    done: float = 0.0,
    product: bool = False,
) -> Finishing:
    r"""Return the exact distribution of the hours from submission to the end of a run.

    Parameters
    ----------
    scenario : Scenario or JobInHours
        The run. A run in hours must come from :func:`accepted` for ``"finishing"``.
    at : mapping, optional
        Dotted path (one of :func:`swept`) to an array in the field's unit, as in :func:`exact`.
    rate_known : bool
        False if the failure rate is only known from a count: the distribution is then mixed over its posterior.
    done : float
        Share of the work that is already done; the hours then begin now, at a checkpoint, without queue and start.
    product : bool
        True for every combination of the arrays, as in :func:`exact`.

    Returns
    -------
    Finishing
        Its ``cdf``, ``quantile`` and ``pdf`` take arrays; with ``at`` there is one distribution per point.

    Raises
    ------
    InputError
        A path that cannot be swept, ``done`` outside [0, 1), or ``rate_known=False`` without a count of failures or
        with a count of zero.
    NotModelled
        Faster tiers, predicted failures, silent failures, changing rates, and the mechanisms that :func:`exact`
        refuses: use ``ettr.simulate``.
    OutsideValidity
        The run would practically never end.

    Notes
    -----
    Each attempt of a stage ends with a failure or with a durable checkpoint, after which the process starts afresh.
    The transform of the run is therefore a product over stages; with maintenance, a product of matrices. Kulkarni,
    Nicola and Trivedi (1987). Requests for maintenance that wait for the same checkpoint are served together. The mean
    equals that of :func:`exact`, except for maintenance, which that has to first order only.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("llama3-405b").override({"maintenance": None, "spares": None, "repair": None})
    >>> finish = budget.finishing(run)
    >>> round(finish.quantile(0.9), 1), round(finish.cdf(1272), 3)
    (1272.6, 0.875)
    """
    share = _share(done)
    run = accepted(scenario, as_product(at) if product else at, "finishing")
    if rate_known:
        return _of(_rest(run, share), starts=not share)
    if isinstance(scenario, JobInHours) or run.shape:
        raise InputError("rate_known=False needs a Scenario, for its count of failures, and no arrays in at")
    rates = posterior_rates(Scenario.of(scenario), run, share)
    at_rates = replace(_rest(run, share), rate=run.rate * rates.relative)
    return _of(at_rates, not share, warns=False).mixed(rates.weights)


def _rest(run: JobInHours, done: float) -> JobInHours:
    """Run with the remaining work."""
    return replace(run, work=run.work * (1 - done)) if done else run


def _share(done: Any) -> float:
    """Checked share of the work that is done."""
    share = float(done) if isinstance(done, Real) else math.nan
    if not 0 <= share < 1:
        raise InputError(f"done, the share of the work that is already done, must be >= 0 and < 1, got {done!r}")
    return share


@dataclass(frozen=True)
class Rates:
    """Failure rates drawn from a posterior, with their probabilities.

    Attributes
    ----------
    relative : ndarray of shape (n,)
        Rates, relative to that of the scenario.
    weights : ndarray of shape (n,)
        Probability of each rate.
    """

    relative: np.ndarray
    weights: np.ndarray


def posterior_rates(scenario: Scenario, run: JobInHours, done: float = 0.0, spacing: float = _SPACING) -> Rates:
    """Return the failure rates of a posterior, spaced as densely as the finishing date requires.

    Parameters
    ----------
    scenario : Scenario
        The run, with a count of failures or a gamma distribution of its rate.
    run : JobInHours
        The same run in hours, from :func:`accepted` for ``"finishing"``.
    done : float
        Share of the work that is already done, as in :func:`finishing`.
    spacing : float
        Distance of neighbouring rates, in standard deviations of the finishing date.

    Raises
    ------
    InputError
        The scenario has no count of failures, or a count of zero.
    OutsideValidity
        The run would practically never end at any of the rates.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("llama3-405b")
    >>> rates = budget.posterior_rates(run, budget.accepted(run, formula="finishing"))
    >>> rates.relative.size, round(float(rates.relative @ rates.weights), 3)
    (16, 1.001)
    """
    posterior = scenario.failures.posterior
    if posterior is None:
        raise InputError(
            "rate_known=False needs a count of failures in the scenario (failures.n_events and failures.node_days), or "
            "failures.rate_gamma"
        )
    if scenario.failures.n_events == 0 or posterior.shape < 1:
        raise InputError(
            "failures.n_events is 0, so the failure rate has no lower bound and no distribution: use "
            "ettr.make_plan, which plans with the upper bound of the rate, or rate_known=True"
        )
    from scipy.special import gammainccinv, gammaincinv, gammaln  # 0.1 s to load, and needed only here

    # the rate times the node-days is gamma distributed; work in x, the logarithm of a gamma variate of scale 1
    low, high = (math.log(quantile_of(posterior.shape, _BEYOND)) for quantile_of in (gammaincinv, gammainccinv))
    grid = np.linspace(low, high, _ROUGH)
    mean = math.log(scenario.failure_rate * posterior.node_days / 1000)
    at_grid = replace(_rest(run, done), rate=run.rate * np.exp(grid - mean))
    rough = _of(at_grid, not done, warns=False, terms=_COARSE)
    ends_at = np.isfinite(rough.mean_h) & (rough.sd_h > 0)
    if not ends_at.any():
        raise OutsideValidity(f"budget.finishing holds only for {ENDS}")
    # arc length along the grid, in units of the spacing, so that its even steps are even steps of that date
    steps = np.where(ends_at[1:], np.abs(np.diff(rough.mean_h)) / (spacing * rough.sd_h[1:]), 1.0)
    passed = np.append(0.0, np.cumsum(np.maximum(np.nan_to_num(steps, nan=1.0), 1e-3)))
    # midpoints of n even steps, each weighted by the gamma density in x times the width of its step
    n = int(np.clip(np.ceil(passed[-1]), _FEWEST_RATES, _MOST_RATES))
    middle = (np.arange(n) + 0.5) / n * passed[-1]
    log_rate = np.interp(middle, passed, grid)
    width = np.interp(middle, (passed[1:] + passed[:-1]) / 2, np.diff(grid) / np.diff(passed))
    weights = np.exp(posterior.shape * log_rate - np.exp(log_rate) - gammaln(posterior.shape)) * width
    return Rates(np.exp(log_rate - mean), weights / weights.sum())


def chance(run: JobInHours, by_h: float, rates: Rates | None = None, done: float = 0.0) -> Any:
    """Return the probability that a run is done by some hours, at each of its points; 0 if it practically never ends.

    Parameters
    ----------
    run : JobInHours
        From :func:`accepted` for ``"finishing"``.
    by_h : float
        Hours since the clock started. [h]
    rates : Rates, optional
        Rates to mix over, from :func:`posterior_rates`; the rate of the run if not given.
    done : float
        Share of the work that is already done, as in :func:`finishing`.

    Returns
    -------
    float or ndarray
        Probability in [0, 1], correct to two or three digits where a run meets few failures.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = budget.accepted(Scenario.load("llama3-405b"), formula="finishing")
    >>> round(budget.chance(run, 1290), 2)
    0.91
    """
    run = _rest(run, done)
    weighted = [(1.0, 1.0)] if rates is None else zip(rates.relative, rates.weights, strict=True)
    total: Any = 0.0
    for relative, weight in weighted:
        try:
            finish = _of(replace(run, rate=run.rate * relative), not done, warns=False, terms=_COARSE)
        except OutsideValidity:
            continue
        total = total + weight * np.nan_to_num(finish.cdf(by_h))
    return plain(np.broadcast_to(total, run.shape))


def _of(run: JobInHours, starts: bool, warns: bool = True, terms: int = MOST_TERMS) -> Finishing:
    """Distribution at each point of a run; NaN at points outside the model's validity."""
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
        missing, table = np.full(shape, np.nan), np.full((*shape, 2), np.nan)
        return Finishing(missing, missing, missing, missing, table, table, missing)
    return _inverted(run.at_points(np.nonzero(~bad)), starts, terms).scattered(~bad)


def _limits(run: JobInHours) -> dict[str, Any]:
    """Rules in words, each with the mask of the points that break it."""
    with np.errstate(all="ignore"):
        stage_h = run.stall + run.persist + np.minimum(run.tau, run.work)
        return {
            "intervals no shorter than the training during the background write": run.head * (1 - LAST_DIGITS)
            > run.tau,
            ENDS: np.logical_not(run.rate * (stage_h + run.restart_after) <= _LARGEST_EXPONENT) | _hardly_trains(run),
        }


def _hardly_trains(run: JobInHours) -> Any:
    """Mask of points where the run, without maintenance, trains for too small a share of its expected hours."""
    hours = quiet_budget(replace(run, tau=np.atleast_1d(run.tau), stops_per_h=0.0))
    never = np.isnan(hours.total_h) & np.logical_not(run.head * (1 - LAST_DIGITS) > run.tau)
    return never if run.shape else bool(never[0])


def _inverted(run: JobInHours, starts: bool, terms: int) -> Finishing:
    """Distribution of a run's hours, by numerical inversion of its transform."""
    starts = starts and run.include_start
    quiet, run_transform = stages.quiet(run, starts), stages.whole(run, starts)
    rate = np.asarray(run.rate, dtype=float)[..., None]

    def transform(s: Any) -> Any:
        return run_transform(Exposure(rate, s))

    with np.errstate(under="ignore"):
        # the mean is the slope of the phase at s = 0: φ(is) ≈ e^(-is·mean)
        step = _TINY / np.broadcast_to(quiet.hours, run.shape)[..., None]
        about_h = (-np.angle(transform(1j * step)) / step)[..., 0]
        return inverted(transform, about_h, run.shape, quiet.probability, quiet.hours, _alike_h(run), terms)


def _alike_h(run: JobInHours) -> list[Any]:
    """Constant hours that a run may lose repeatedly: recovery per kind of failure, and a maintenance stop. [h]"""
    kinds = sorted(kinds_of(run), key=lambda kind: -np.mean(kind.share))[:_KINDS]
    queue_h = np.mean(run.first_queue)
    hours = [np.mean(kind.detection_h) + queue_h + np.mean(kind.restart_h) + run.load for kind in kinds]
    return [*hours, run.stop + run.start] if np.any(run.stops_per_h) else hours
