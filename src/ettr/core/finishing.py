"""The distribution of the finishing time of a run, as a table with monotone cubic interpolation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import count, duration, pct, span
from ettr.core.validity import numbers, plain

PERCENTILES = (5, 50, 90, 95, 99)
"""Percentiles of the finishing time in an answer."""
_BISECTIONS = 52
_POINTS = 1024
"""Entries of a table that is made from simulated runs."""
_SECTIONS, _ROUNDS = 32, 12
"""Sections per round, and rounds, in the search for a quantile of a mixture: enough for all digits of a float."""
_LITTLE = 1e-9
"""Probabilities below this are ignored."""


@dataclass(frozen=True, repr=False, eq=False)
class Finishing(Answer):
    """The distribution of the hours that a run takes, or one distribution per point of an array.

    Numbers are floats, or arrays with the shape of the points; tables have one more axis.

    Attributes
    ----------
    mean_h, sd_h : float or ndarray
        Mean and standard deviation; NaN at points outside the validity of the model. [h]
    first_h, step_h : float or ndarray
        First entry of the table, and the spacing of its entries. [h]
    below : ndarray
        Probability of having finished by each entry, without ``atom``; increasing.
    density : ndarray
        Slope of ``below`` at each entry, limited so that the cubic between entries increases too. [1/h]
    tail_per_h : float or ndarray
        Hazard beyond the table, where the tail is exponential. [1/h]
    atom, atom_h : float or ndarray
        Probability that no failure occurs, and the hours that the run then takes, its minimum. [1, h]
    never : float or ndarray
        Probability that the run practically never ends.
    smoothed_h : float or ndarray
        Standard deviation of the normal distribution that was added where constant times give more steps than the
        table resolves; 0 otherwise. [h]

    Examples
    --------
    >>> finishing = of_runs(np.array([10.0, 11.0, 12.0, 13.0]))
    >>> finishing.mean_h, round(float(finishing.quantile(0.5)), 1)
    (11.5, 11.0)
    """

    mean_h: Any
    sd_h: Any
    first_h: Any
    step_h: Any
    below: np.ndarray
    density: np.ndarray
    tail_per_h: Any
    atom: Any = 0.0
    atom_h: Any = 0.0
    never: Any = 0.0
    smoothed_h: Any = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the points; () for a single distribution."""
        return self.below.shape[:-1]

    def cdf(self, at_h: Any) -> Any:
        """Return the probability of having finished by some hours, in [0, 1].

        Parameters
        ----------
        at_h : float or ndarray
            Hours since the clock started; broadcast against the points. [h]

        Returns
        -------
        float or ndarray
            Broadcast shape.

        Raises
        ------
        InputError
            Hours that are not a number.
        """
        return self._read(at_h, self._cdf)

    def pdf(self, at_h: Any) -> Any:
        """Return the density of the finishing time without ``atom``; parameters and shape as for :meth:`cdf`. [1/h]"""
        return self._read(at_h, self._pdf)

    def quantile(self, p: Any) -> Any:
        """Return the hours by which the run finishes with a probability. [h]

        Parameters
        ----------
        p : float or ndarray
            Probability, between 0 and 1; broadcast against the points.

        Returns
        -------
        float or ndarray
            Broadcast shape; infinite where the run never ends with that probability. [h]

        Raises
        ------
        InputError
            A probability outside (0, 1).
        """
        levels = _numbers("p, a probability,", p)
        if not np.all((levels > 0) & (levels < 1)):
            bad = levels[~((levels > 0) & (levels < 1))].flat[0]
            raise InputError(f"p, a probability, must be above 0 and below 1, got {bad:g}: e.g. 0.9 for 90%")
        shape = np.broadcast_shapes(self.shape, levels.shape)
        rows, at = self._rows(shape), np.broadcast_to(levels, shape).ravel()
        return plain(self._quantile(rows, at).reshape(shape))

    def mixed(self, weights: Any) -> Finishing:
        """Return the mixture of the distributions at all points.

        Parameters
        ----------
        weights : ndarray of shape ``shape``
            Probability of each point; points outside the validity of the model count as never ending.
        """
        share = np.broadcast_to(np.asarray(weights, dtype=float), self.shape)
        ends = np.isfinite(np.broadcast_to(self.mean_h, self.shape))
        parts, weight = self.at(ends & (share > 0)), share[ends & (share > 0)]
        total = weight.sum()
        never = float(share[~ends].sum() + weight @ parts.never)
        mean_h = float(weight @ parts.mean_h / total)
        # law of total variance
        sd_h = math.sqrt(float(weight @ (parts.sd_h**2 + (parts.mean_h - mean_h) ** 2) / total))
        finite = never < _LITTLE
        return Mixture(
            mean_h=mean_h if finite else math.inf,
            sd_h=sd_h if finite else math.inf,
            first_h=parts.first_h,
            step_h=parts.step_h,
            below=parts.below,
            density=parts.density,
            tail_per_h=parts.tail_per_h,
            atom=float(weight @ parts.atom),
            atom_h=float(np.max(parts.atom_h)),
            never=never,
            smoothed_h=float(np.max(parts.smoothed_h[weight > _LITTLE / weight.size])),
            parts=parts,
            weights=weight,
        )

    def at(self, index: Any) -> Finishing:
        """Return the distribution at some of the points, by an index into arrays of :attr:`shape`."""
        named = {name: np.broadcast_to(getattr(self, name), self.shape)[index] for name in _OF_POINTS}
        return Finishing(
            below=self.below[index],
            density=self.density[index],
            **{name: plain(value) for name, value in named.items()},
        )

    def scattered(self, where: np.ndarray) -> Finishing:
        """Return distributions at the points of a larger array: these where a mask is true, NaN elsewhere."""

        def placed(values: Any, *axes: int) -> np.ndarray:
            array = np.full((*where.shape, *axes), np.nan)
            array[where] = values
            return array

        n = self.below.shape[-1]
        named = {name: placed(getattr(self, name)) for name in _OF_POINTS}
        return Finishing(below=placed(self.below, n), density=placed(self.density, n), **named)

    @property
    def headline(self) -> str:
        """The median and the range of 90% of runs; of arrays the range of the means."""
        if self.shape:
            ends = float(np.nanmin(self.mean_h)), float(np.nanmax(self.mean_h))
            return f"mean finishing time {span(ends, float)} at {count(np.size(self.mean_h))} points"
        if self.never >= 0.5:
            return "practically never finishes"
        low, median, high = self.quantile([0.05, 0.5, 0.95]).tolist()
        spread = f" (90% of runs: {span((low, high), float)})" if math.isfinite(high) else ""
        return f"finishes after {duration(median)}{spread}"

    def to_dict(self) -> dict[str, Any]:
        """Return mean, standard deviation and percentiles for JSON; infinite values become None."""
        record = {
            "mean_h": self.mean_h,
            "sd_h": self.sd_h,
            "percentiles_h": {str(p): hours for p, hours in zip(PERCENTILES, self._percentiles_h(), strict=True)},
            "atom": self.atom,
            "atom_h": self.atom_h,
            "never": self.never,
            "smoothed_h": self.smoothed_h,
        }
        return dict(plain_values(record))

    def report(self) -> Report:
        """Return a table of finishing times by share of runs."""
        if self.shape:
            return [Headline("Finishing time"), Note(f"{self.headline}.")]
        rows = [
            (f"{p}%", duration(hours) if math.isfinite(hours) else "never")
            for p, hours in zip(PERCENTILES, self._percentiles_h(), strict=True)
        ]
        notes = (
            [Note(f"Without any failure ({pct(self.atom)} of runs) it takes {duration(self.atom_h)}.")]
            if self.atom > 1e-4
            else []
        )
        return [Headline("Finishing time"), Table(("share of runs finished", "after"), rows), *notes]

    def _percentiles_h(self) -> Any:
        levels = np.array(PERCENTILES) / 100
        return self.quantile(levels.reshape(-1, *(1 for _ in self.shape))).tolist()

    def _flat(self, values: Any) -> np.ndarray:
        return np.broadcast_to(np.asarray(values, dtype=float), self.shape).ravel()

    def _rows(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the point that each element of a broadcast shape belongs to."""
        points = np.arange(math.prod(self.shape)).reshape(self.shape)
        return np.broadcast_to(points, shape).ravel()

    def _read(self, at_h: Any, function: Any) -> Any:
        hours = _numbers("hours", at_h)
        shape = np.broadcast_shapes(self.shape, hours.shape)
        return plain(function(self._rows(shape), np.broadcast_to(hours, shape).ravel()).reshape(shape))

    def _cells(self, rows: np.ndarray, at_h: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the cell of the table at some hours: its ends, its slopes, the position in it, and if past the end."""
        n = self.below.shape[-1]
        below, density = self.below.reshape(-1, n), self.density.reshape(-1, n)
        step_h = self._flat(self.step_h)[rows]
        where = (at_h - self._flat(self.first_h)[rows]) / step_h
        cell = np.clip(np.nan_to_num(np.floor(where), nan=0.0, posinf=n, neginf=0.0), 0, n - 2).astype(int)
        ends = below[rows, cell], below[rows, cell + 1]
        slopes = density[rows, cell] * step_h, density[rows, cell + 1] * step_h
        return *ends, *slopes, where - cell, where > n - 1

    def _cdf(self, rows: np.ndarray, at_h: np.ndarray) -> np.ndarray:
        low, high, slope, next_slope, x, beyond = self._cells(rows, at_h)
        inside = np.clip(_cubic(low, high, slope, next_slope, np.clip(x, 0.0, 1.0)), low, high)
        atom, least_h = self._flat(self.atom)[rows], self._flat(self.atom_h)[rows]
        ending = 1.0 - atom - self._flat(self.never)[rows]
        past_h = np.where(beyond, (x - 1.0) * self._flat(self.step_h)[rows], 0.0)
        with np.errstate(invalid="ignore"):
            tail = ending - (ending - high) * np.exp(-self._flat(self.tail_per_h)[rows] * past_h)
        smooth = np.where(beyond, tail, np.where(x < 0, 0.0, inside))
        done = np.where(at_h < 0, 0.0, np.clip(smooth + np.where(at_h >= least_h, atom, 0.0), 0.0, 1.0))
        return np.where(np.isnan(self._flat(self.first_h)[rows]), np.nan, done)

    def _pdf(self, rows: np.ndarray, at_h: np.ndarray) -> np.ndarray:
        low, high, slope, next_slope, x, beyond = self._cells(rows, at_h)
        step_h, rate = self._flat(self.step_h)[rows], self._flat(self.tail_per_h)[rows]
        inside = np.maximum(_cubic_slope(low, high, slope, next_slope, np.clip(x, 0.0, 1.0)), 0.0) / step_h
        left = np.maximum(1.0 - self._flat(self.atom)[rows] - self._flat(self.never)[rows] - high, 0.0)
        past_h = np.where(beyond, (x - 1.0) * step_h, 0.0)
        falls = np.isfinite(rate) & (left > 0)
        tail = np.where(falls, rate, 0.0) * left * np.exp(-np.where(falls, rate, 0.0) * past_h)
        return np.where(beyond, tail, np.where(x < 0, 0.0, inside))

    def _quantile(self, rows: np.ndarray, levels: np.ndarray) -> np.ndarray:
        n = self.below.shape[-1]
        atom, never = self._flat(self.atom)[rows], self._flat(self.never)[rows]
        first_h, step_h = self._flat(self.first_h)[rows], self._flat(self.step_h)[rows]
        rest = levels - atom
        table_of = self.below.reshape(-1, n)
        if len(table_of) == 1:
            cell = np.searchsorted(table_of[0], rest, side="left") - 1
        else:
            cell = np.array([np.searchsorted(table_of[i], r, side="left") - 1 for i, r in zip(rows, rest, strict=True)])
        cell = np.clip(cell.astype(int), 0, n - 2)
        density = self.density.reshape(-1, n)
        ends = table_of[rows, cell], table_of[rows, cell + 1]
        slopes = density[rows, cell] * step_h, density[rows, cell + 1] * step_h
        low, high = np.zeros(rest.size), np.ones(rest.size)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            short = _cubic(*ends, *slopes, middle) < rest
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        hours = first_h + (cell + high) * step_h
        left, last = 1.0 - atom - never - table_of[rows, -1], 1.0 - never - levels
        with np.errstate(divide="ignore", invalid="ignore"):
            tail_h = first_h + (n - 1) * step_h + np.log(left / last) / self._flat(self.tail_per_h)[rows]
        hours = np.where(rest > table_of[rows, -1], np.where(last > 0, tail_h, np.inf), hours)
        hours = np.where(rest <= 0, self._flat(self.atom_h)[rows], hours)
        return np.where(np.isnan(first_h), np.nan, hours)


_OF_POINTS = ("mean_h", "sd_h", "first_h", "step_h", "tail_per_h", "atom", "atom_h", "never", "smoothed_h")


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Mixture(Finishing):
    """A mixture of distributions, with its own moments and the tables of its parts.

    It is evaluated from the parts, because a single table could not resolve narrow parts next to others that take a
    million times longer.

    Attributes
    ----------
    parts : Finishing of shape (n,)
        The distributions, each of which ends.
    weights : ndarray of shape (n,)
        Probability of each; the rest never ends.
    """

    parts: Finishing
    weights: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """(), a single distribution."""
        return ()

    def _cdf(self, rows: np.ndarray, at_h: np.ndarray) -> np.ndarray:
        return np.asarray(np.minimum(self.parts.cdf(at_h[:, None]) @ self.weights, 1.0))

    def _pdf(self, rows: np.ndarray, at_h: np.ndarray) -> np.ndarray:
        return np.asarray(self.parts.pdf(at_h[:, None]) @ self.weights)

    def _quantile(self, rows: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Return quantiles by a search between the sorted quantiles of the parts."""
        ends = levels < 1.0 - self.never
        of_those = np.where(ends, levels / (1.0 - self.never), 0.5)[:, None]
        each_h = np.sort(self.parts.quantile(of_those * (1.0 - np.asarray(self.parts.never))), axis=-1)
        each_h = np.append(each_h, each_h[:, -1:], axis=-1)
        low, high = np.zeros((levels.size, 1)), np.full((levels.size, 1), self.weights.size - 1.0)
        for _ in range(_ROUNDS):
            place = low + (high - low) * np.linspace(0.0, 1.0, _SECTIONS + 1)
            part = place.astype(int)
            from_h, to_h = (np.take_along_axis(each_h, index, -1) for index in (part, part + 1))
            hours = from_h + (place - part) * (to_h - from_h)
            short = self._cdf(rows, hours.ravel()).reshape(hours.shape) < levels[:, None]
            n = short.sum(axis=-1, keepdims=True)
            low, high = (np.take_along_axis(place, np.clip(n - i, 0, _SECTIONS), -1) for i in (1, 0))
        quantile_h = np.take_along_axis(hours, np.minimum(n, _SECTIONS), -1)
        return np.where(ends, quantile_h[:, 0], np.inf)


def _cubic(low: Any, high: Any, slope: Any, next_slope: Any, x: Any) -> Any:
    """Return the cubic Hermite polynomial between two entries, at a fraction x of the cell."""
    rise = high - low
    return low + x * (slope + x * (3 * rise - 2 * slope - next_slope + x * (slope + next_slope - 2 * rise)))


def _cubic_slope(low: Any, high: Any, slope: Any, next_slope: Any, x: Any) -> Any:
    rise = high - low
    return slope + x * (2 * (3 * rise - 2 * slope - next_slope) + 3 * x * (slope + next_slope - 2 * rise))


def _numbers(name: str, values: Any) -> np.ndarray:
    array = numbers(name, values)
    if np.isnan(array).any():
        raise InputError(f"{name} must be a number or an array of numbers, got {values!r}")
    return array


# --------------------------------------------------------------------------- made


def table(below: np.ndarray, density: np.ndarray, *, atom: Any = 0.0, never: Any = 0.0, **named: Any) -> Finishing:
    """Return a distribution from a table, made monotone against rounding errors, with an exponential tail.

    Parameters
    ----------
    below, density : ndarray
        Probabilities without ``atom``, with the hours on the last axis, and their slopes. [1, 1/h]
    **named
        The other attributes of :class:`Finishing`, except ``tail_per_h``.
    """
    total = 1.0 - np.asarray(atom, dtype=float)[..., None] - np.asarray(never, dtype=float)[..., None]
    rising = np.maximum.accumulate(np.clip(below, 0.0, total), axis=-1)
    step_h = np.asarray(named["step_h"], dtype=float)[..., None]
    secant = np.diff(rising, axis=-1) / step_h
    smaller = np.minimum(
        np.concatenate([secant[..., :1], secant], axis=-1), np.concatenate([secant, secant[..., -1:]], axis=-1)
    )
    # a cubic is monotone if its slopes are at most three times the secants: Fritsch and Carlson (1980)
    slopes = np.clip(density, 0.0, 3.0 * smaller)
    return Finishing(
        below=rising,
        density=slopes,
        tail_per_h=plain(_tail(rising, density, total)),
        atom=atom,
        never=never,
        **named,
    )


def _tail(below: np.ndarray, density: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the hazard where a probability of one millionth is left, which every table resolves. [1/h]"""
    left = total - below
    place = np.maximum((left > 1e-6).sum(axis=-1, keepdims=True) - 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        hazard = np.take_along_axis(density, place, -1) / np.take_along_axis(left, place, -1)
    return np.asarray(np.where(hazard > 0, hazard, np.inf)[..., 0])


def of_runs(total_h: np.ndarray) -> Finishing:
    """Return the distribution of simulated runs.

    Parameters
    ----------
    total_h : ndarray of shape (runs,)
        Hours of each run. [h]

    Examples
    --------
    >>> finishing = of_runs(np.array([10.0, 11.0, 12.0, 13.0]))
    >>> round(finishing.cdf(11.5), 3), round(finishing.quantile(0.5), 1)
    (0.5, 11.0)
    """
    hours = np.sort(np.asarray(total_h, dtype=float))
    low_h, high_h = float(hours[0]), float(hours[-1])
    if low_h == high_h:
        return constant(low_h)
    step_h = (high_h - low_h) / (_POINTS - 3)
    at_h = low_h + step_h * (np.arange(_POINTS) - 1)
    below = np.searchsorted(hours, at_h, side="right") / hours.size
    density = np.gradient(below, step_h)
    return table(
        below, density, first_h=float(at_h[0]), step_h=step_h, mean_h=float(hours.mean()), sd_h=float(hours.std(ddof=1))
    )


def constant(hours: Any) -> Finishing:
    """Return the distribution of a run that always takes the same hours, or one per point."""
    shape = np.shape(hours)
    nothing = np.zeros((*shape, 2))
    ones, zeros = plain(np.ones(shape)), plain(np.zeros(shape))
    return Finishing(
        hours, zeros, hours, ones, nothing, nothing, plain(np.full(shape, np.inf)), atom=ones, atom_h=hours
    )
