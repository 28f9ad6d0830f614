"""When a run is done: the distribution of its hours, exactly, from the transform of its rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

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
"""Failures in what has to be trained in one go, beyond which a run practically never ends."""
_TINY = 1e-150
"""A step so small that the transform is straight, over the hours."""
_SPACING, _ROUGH, _FEWEST_RATES, _MOST_RATES = 0.8, 49, 16, 400
"""Distance of the rates of a posterior in standard deviations of the finishing date; how many are looked at for that,
and how many there may be."""
_KINDS = 3
"""Kinds of failures whose recoveries are looked at as hours that are always the same."""
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
        Faster tiers, warnings of failures, silent failures, rates that change, and what :func:`exact` refuses:
        ``ettr.simulate`` follows them.
    OutsideValidity
        The run would practically never end.

    Notes
    -----
    Each try of a stage ends with a failure or with a durable checkpoint, and what follows begins anew; so the transform
    of the whole is a product, with maintenance of matrices. Kulkarni, Nicola and Trivedi (1987). Requests for
    maintenance that wait for one checkpoint are served together. The mean is that of :func:`exact`, but for maintenance
    that it has to first order only.

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
        in_one_go_h = run.stall + run.persist + np.minimum(run.tau, run.work)
        return {
            "intervals no shorter than the training during the background write": run.head * (1 - LAST_DIGITS)
            > run.tau,
            ENDS: np.logical_not(run.rate * (in_one_go_h + run.restart_after) <= _LARGEST_EXPONENT)
            | _hardly_trains(run),
        }


def _hardly_trains(run: JobInHours) -> Any:
    """Where the expected hours have no answer, as the run trains for too small a share of them; maintenance aside."""
    hours = quiet_budget(replace(run, tau=np.atleast_1d(run.tau), stops_per_h=0.0))
    never = np.isnan(hours.total_h) & np.logical_not(run.head * (1 - LAST_DIGITS) > run.tau)
    return never if run.shape else bool(never[0])


def _inverted(run: JobInHours, starts: bool, terms: int) -> Finishing:
    starts = starts and run.include_start
    quiet, whole = stages.quiet(run, starts), stages.whole(run, starts)
    rate = np.asarray(run.rate, dtype=float)[..., None]

    def transform(s: Any) -> Any:
        return whole(Exposure(rate, s))

    with np.errstate(under="ignore"):
        step = _TINY / np.broadcast_to(quiet.hours, run.shape)[..., None]
        about_h = (-np.angle(transform(1j * step)) / step)[..., 0]
        return inverted(transform, about_h, run.shape, quiet.probability, quiet.hours, _alike_h(run), terms)


def _alike_h(run: JobInHours) -> list[Any]:
    """Hours that may be lost many times over, always the same. [h]"""
    kinds = sorted(kinds_of(run), key=lambda kind: -np.mean(kind.share))[:_KINDS]
    queue_h = np.mean(run.first_queue)
    hours = [np.mean(kind.detection_h) + queue_h + np.mean(kind.restart_h) + run.load for kind in kinds]
    return [*hours, run.stop + run.start] if np.any(run.stops_per_h) else hours
