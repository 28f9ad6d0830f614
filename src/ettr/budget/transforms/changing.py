r"""A run whose failure rate changes with its exposed hours u, by Wald's identity.

In hours of exposure what happens before and after is independent, whatever was lost. With :math:`\omega(u)` such that
:math:`E\,e^{-sT_1 - \omega U_1 + \kappa\tau} = 1` for one checkpoint cycle of :math:`T_1` hours, :math:`U_1` of them
exposed, at the rate of that moment, :math:`E\,e^{-sT + \kappa W - \int_0^U \omega\,du} = 1`. With κ taken at the rate
at the end ω vanishes there, and U may be replaced by its mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ettr.budget.transforms.recoveries import Exposure, Kind, kinds_of, loss, planned_restart, widened
from ettr.budget.transforms.stages import Of, Quiet
from ettr.checkpoint import growth
from ettr.scenario import JobInHours

LogCycle = Callable[[JobInHours, list[Kind], Exposure], Any]
Whole = Callable[[JobInHours, bool], Of]

_NODES = 24
_AT_ONCE = 1 << 15
"""Roots that are looked for together: as many as a core keeps near it, and the next ones may take fewer steps."""
_STEPS, _TINY = 12, 1e-300
_ENOUGH, _FADED = 1e-9, 1e-20
"""Change of the transform's logarithm at which a root is found, and size at which none is looked for."""


def whole(run: JobInHours, starts: bool, end_h: Any, steady: Whole, log_cycle: LogCycle) -> Of:
    """Transform of a run that burns in.

    Parameters
    ----------
    run : JobInHours
        The run, at the settled rate.
    starts : bool
        Whether the first queue and restart count.
    end_h : float or ndarray
        Exposed hours at the end, about. [h]
    steady, log_cycle : callable
        Transform of the whole run, and logarithm of that of a cycle, where the rate does not change.
    """
    at_end = replace(run, rate=run.rate * relative(run, end_h), ageing=None)
    settled = steady(at_end, starts)
    first_rate = run.rate * relative(run, 0.0)
    begin_h = growth(first_rate, run.start) if starts else 0.0  # mean exposed hours of the first restart
    moment_h, width_h = _moments(run, np.asarray(begin_h, dtype=float), np.asarray(end_h, dtype=float))
    kinds, inner, wide = kinds_of(run, 2), widened(replace(at_end, rate=0.0), 2), widened(at_end)
    rates = (np.asarray(run.rate)[..., None] * relative(run, moment_h))[..., None]
    end_rate = np.asarray(at_end.rate, dtype=float)[..., None, None]
    first_kinds = kinds_of(run)
    # more failures than at the end leave less of a transform, fewer leave more
    only_more = bool(run.ageing is not None and run.ageing.factor >= 1)

    def of(at: Exposure) -> Any:
        s, down = at.s[..., None, :], at.down[..., None, :]

        def cycle(rate: Any, omega: Any) -> Any:
            return log_cycle(replace(inner, rate=rate), kinds, Exposure(rate, s + omega, down))

        as_settled = settled(at)
        size = np.abs(as_settled)
        faded = (size <= _FADED)[..., None, :] & only_more
        target = cycle(end_rate, 0.0)
        before, was = np.zeros(np.broadcast_shapes(rates.shape, s.shape), dtype=complex), cycle(rates, 0.0) - target
        now = was / inner.cycle
        for _ in range(_STEPS):
            value = cycle(rates, now) - target
            rise = value - was
            step = np.where(rise == 0, 0.0, value * (now - before) / np.where(rise == 0, 1.0, rise))
            # a cycle is exposed for its length at the least, so that much the logarithm falls with ω
            longest = np.abs(value) / inner.cycle
            step = step * np.where(np.abs(step) > longest, longest / np.maximum(np.abs(step), _TINY), 1.0)
            before, was, now = now, value, now - step
            if np.all((np.abs(step) * width_h[..., None] <= _ENOUGH) | faded):
                break
        excess = (now * width_h[..., None]).sum(axis=-2)
        # no transform exceeds 1 in size, but where it has faded to nothing its root may be found anywhere
        most = -np.log(np.where(size > 0, size, 1.0))
        value = as_settled * np.exp(np.minimum(excess.real, most) + 1j * excess.imag)
        if not starts:
            return value
        begun = [
            planned_restart(wide, loss(wide, first_kinds, each), each)
            for each in (Exposure(np.asarray(first_rate)[..., None], at.s, at.down), at)
        ]
        return value * begun[0] / begun[1]

    settled_rate = np.asarray(at_end.rate, dtype=float)[..., None]
    n = max(1, _AT_ONCE // rates.size)

    def in_blocks(at: Exposure) -> Any:
        blocks = (slice(first, first + n) for first in range(0, at.s.shape[-1], n))
        return np.concatenate([of(Exposure(settled_rate, at.s[..., some], at.down[..., some])) for some in blocks], -1)

    return in_blocks


def quiet(run: JobInHours, plain: Quiet) -> Quiet:
    """A run in which nothing strikes at a rate that changes, from one at the settled rate."""
    ageing = run.ageing
    assert ageing is not None
    excess = (ageing.factor - 1) * np.exp(-ageing.age / ageing.decay)
    more = run.rate * excess * ageing.decay * -np.expm1(-plain.exposed_h / ageing.decay)
    return replace(plain, probability=plain.probability * np.exp(-more))


def relative(run: JobInHours, exposed_h: Any) -> Any:
    """Failure rate at some exposed hours over the settled one."""
    ageing = run.ageing
    assert ageing is not None
    return 1 + (ageing.factor - 1) * np.exp(-(exposed_h + ageing.age) / ageing.decay)


def _moments(run: JobInHours, begin_h: Any, end_h: Any) -> tuple[Any, Any]:
    """Exposed hours at which the rate is looked at, and how many each stands for; denser while it changes. [h]"""
    assert run.ageing is not None
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    span_h = (end_h - begin_h)[..., None]
    scale_h = np.minimum(4 * run.ageing.decay, span_h)
    most = np.log1p(span_h / scale_h)
    y = most * (x + 1) / 2
    return begin_h[..., None] + scale_h * np.expm1(y), weight * most / 2 * scale_h * np.exp(y)
