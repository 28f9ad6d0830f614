"""A distribution of finishing dates as a table: read between its entries, mixed, picked from, and said."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from ettr.core.finishing import Finishing, constant, of_runs, table
from refusals import refusal

SECOND = NormalDist(100, 10)
LEVELS = np.array([0.01, 0.2, 0.5, 0.9, 0.999])


def normal(mean_h: float, sd_h: float, *, atom: float = 0.0, never: float = 0.0, n: int = 1001) -> Finishing:
    """A normal distribution beside an atom at its lowest hour."""
    of = NormalDist(mean_h, sd_h)
    at_h = mean_h + sd_h * np.linspace(-6, 6, n)
    share = 1 - atom - never
    return table(
        share * np.array([of.cdf(hour) for hour in at_h]),
        share * np.array([of.pdf(hour) for hour in at_h]),
        first_h=at_h[0],
        step_h=at_h[1] - at_h[0],
        mean_h=mean_h,
        sd_h=sd_h,
        atom=atom,
        atom_h=at_h[0] if atom else 0.0,
        never=never,
    )


def test_a_table_is_read_between_its_entries():
    finish = normal(100, 10)
    for hour in (70.003, 88.217, 100, 117.771):
        assert finish.cdf(hour) == pytest.approx(SECOND.cdf(hour), abs=1e-9)
        assert finish.pdf(hour) == pytest.approx(SECOND.pdf(hour), rel=1e-5)
    expected = [SECOND.inv_cdf(level) for level in LEVELS]
    assert finish.quantile(LEVELS) == pytest.approx(expected, rel=1e-8)
    assert finish.cdf(finish.quantile(LEVELS)) == pytest.approx(LEVELS, rel=1e-12)
    assert (finish.cdf(39.0), finish.pdf(39.0)) == (0, 0)


def test_a_table_that_is_off_by_rounding_rises():
    """Steps back, what is below 0 or above 1, and slopes with which a cubic would swing."""
    finish = table(
        np.array([-1e-9, 0.2, 0.2 - 1e-9, 0.6, 1 + 1e-9, 1.0]),
        np.array([5.0, -0.1, 3.0, 0.4, 9.0, 0.0]),
        first_h=0.0,
        step_h=1.0,
        mean_h=2.0,
        sd_h=1.0,
    )
    assert finish.below.tolist() == [0, 0.2, 0.2, 0.6, 1, 1]
    assert finish.density.tolist() == pytest.approx([0.6, 0, 0, 0.4, 0, 0])
    done = finish.cdf(np.linspace(-0.5, 6, 4001))
    assert (np.diff(done) >= 0).all() and done[0] == 0 and done[-1] == 1
    assert (finish.pdf(np.linspace(-0.5, 6, 4001)) >= 0).all()


def test_the_tail_beyond_a_table_is_exponential():
    at_h = np.linspace(0, 16, 161)
    finish = table(-np.expm1(-at_h), np.exp(-at_h), first_h=0.0, step_h=at_h[1], mean_h=1.0, sd_h=1.0)
    assert finish.tail_per_h == pytest.approx(1, rel=1e-9)
    for hour in (17.0, 20.0, 24.0):
        assert 1 - finish.cdf(hour) == pytest.approx(math.exp(-hour), rel=1e-3)
        assert finish.pdf(hour) == pytest.approx(math.exp(-hour), rel=1e-3)
    assert finish.quantile(1 - math.exp(-20)) == pytest.approx(20, abs=1e-3)
    assert finish.cdf(math.inf) == 1


def test_an_atom_is_a_step():
    finish = normal(100, 10, atom=0.3)
    assert finish.cdf(40 - 1e-9) == 0 and finish.cdf(40) == pytest.approx(0.3, abs=1e-9)
    assert finish.quantile([0.01, 0.3]).tolist() == [40, 40] and finish.quantile(0.31) > 40
    assert finish.quantile(0.3 + 0.7 * 0.6) == pytest.approx(SECOND.inv_cdf(0.6), rel=1e-8)
    assert finish.cdf(math.inf) == pytest.approx(1, abs=1e-9)
    assert "(30.0% of runs)" in finish.report()[2].text


def test_what_never_ends_is_beyond_all_hours():
    finish = normal(100, 10, never=0.25)
    assert finish.cdf(1e9) == pytest.approx(0.75)
    assert finish.quantile(0.75 * 0.4) == pytest.approx(SECOND.inv_cdf(0.4), rel=1e-8)
    assert finish.quantile([0.76, 0.99]).tolist() == [math.inf, math.inf]
    assert finish.to_dict()["percentiles_h"]["90"] is None
    assert finish.report()[1].rows[-1] == ("99%", "never")
    assert "90%" not in finish.headline
    assert normal(100, 10, never=0.6).headline.startswith("practically never")


def two() -> Finishing:
    """Normal distributions at two points."""
    first, second = normal(100, 10), normal(200, 20)
    named = {
        name: np.array([getattr(first, name), getattr(second, name)])
        for name in ("mean_h", "sd_h", "first_h", "step_h", "tail_per_h", "below", "density")
    }
    return Finishing(**named)


def test_points_are_read_each_by_itself():
    finish = two()
    assert finish.shape == (2,)
    assert finish.cdf([100.0, 200.0]) == pytest.approx([0.5, 0.5])
    assert finish.quantile(LEVELS[:, None]).shape == (5, 2)
    for i, single in enumerate((normal(100, 10), normal(200, 20))):
        assert finish.quantile(LEVELS[:, None])[:, i].tolist() == single.quantile(LEVELS).tolist()
        assert finish.at(i).cdf(111.0) == single.cdf(111.0) == finish.cdf(111.0)[i]
        assert isinstance(finish.at(i).mean_h, float)
    assert finish.headline.endswith(" 4.17-8.33 days at 2 points")
    assert [type(each).__name__ for each in finish.report()] == ["Headline", "Note"]


def test_a_mixture_is_the_sum_of_its_parts():
    mixed = two().mixed([0.25, 0.75])
    assert mixed.shape == () and mixed.mean_h == pytest.approx(175)
    assert mixed.sd_h == pytest.approx(math.sqrt(0.25 * (100 + 75**2) + 0.75 * (400 + 25**2)))
    for hour in (95.0, 130.0, 190.0, 230.0):
        expected = 0.25 * SECOND.cdf(hour) + 0.75 * NormalDist(200, 20).cdf(hour)
        assert mixed.cdf(hour) == pytest.approx(expected, abs=2e-7)
        density = 0.25 * SECOND.pdf(hour) + 0.75 * NormalDist(200, 20).pdf(hour)
        assert mixed.pdf(hour) == pytest.approx(density, rel=1e-3, abs=1e-7)
    assert mixed.cdf(mixed.quantile(LEVELS)) == pytest.approx(LEVELS, rel=1e-9)


def test_a_mixture_keeps_parts_that_are_narrow_beside_others_that_take_ever_so_long():
    """Each as likely as the others, and apart: a third of the way up is the end of the first, and so on."""
    means, sds = np.array([1e2, 1e6, 1e12]), np.array([10.0, 1e3, 1e11])
    base = normal(100, 10)
    each = Finishing(
        means,
        sds,
        means - 6 * sds,
        base.step_h * sds / 10,
        below=np.tile(base.below, (3, 1)),
        density=base.density * 10 / sds[:, None],
        tail_per_h=base.tail_per_h * 10 / sds,
    )
    mixed = each.mixed(np.full(3, 1 / 3))
    for i in range(3):
        part = each.at(i)
        assert mixed.quantile((i + LEVELS) / 3) == pytest.approx(part.quantile(LEVELS), rel=1e-9)
        assert mixed.pdf(means[i]) == pytest.approx(part.pdf(means[i]) / 3, rel=1e-9)
    assert mixed.cdf([1e4, 1e9, math.inf]).tolist() == pytest.approx([1 / 3, 2 / 3, 1], abs=1e-12)


def test_a_mixture_counts_points_outside_validity_as_never_ending():
    some = two().scattered(np.array([True, False, True]))
    mixed = some.mixed([0.2, 0.3, 0.5])
    assert mixed.never == pytest.approx(0.3) and mixed.mean_h == math.inf
    assert mixed.cdf(1e6) == pytest.approx(0.7, abs=1e-8) and mixed.quantile(0.71) == math.inf
    assert mixed.cdf(150.0) == pytest.approx(0.2, abs=0.01)


def test_a_constant_is_a_step():
    finish = constant(12.0)
    assert (finish.mean_h, finish.sd_h, finish.atom) == (12, 0, 1)
    assert finish.cdf([11.999, 12.0, 13.0, math.inf]).tolist() == [0, 1, 1, 1]
    assert finish.quantile(LEVELS).tolist() == [12] * 5
    several = constant(np.array([12.0, 24.0]))
    assert several.quantile(0.5).tolist() == [12, 24] and several.cdf(13.0).tolist() == [1, 0]


def test_simulated_runs_are_a_distribution():
    hours = np.random.default_rng(1).normal(100, 10, 5000)
    seen = of_runs(hours)
    assert (seen.mean_h, seen.sd_h) == (pytest.approx(hours.mean()), pytest.approx(hours.std(ddof=1)))
    # to an entry of the table, of which there are many
    assert seen.quantile(LEVELS) == pytest.approx(np.quantile(hours, LEVELS), abs=0.2)
    for hour in (85.0, 100.0, 112.0):
        assert seen.cdf(hour) == pytest.approx((hours <= hour).mean(), abs=0.005)
    assert seen.cdf([hours.min() - 0.2, hours.max() + 0.2]).tolist() == [0, 1]
    assert of_runs(np.full(7, 3.5)).quantile(0.9) == 3.5


@pytest.mark.parametrize("p", [0, 1, -1, [0.5, 2.0]])
def test_a_probability_is_between_0_and_1(p):
    assert refusal(normal(100, 10).quantile, p).startswith("p, a probability, must be above 0 and below 1, got ")


@pytest.mark.parametrize("bad", ["soon", math.nan, [1.0, math.nan], None])
def test_hours_are_numbers(bad):
    for ask in (normal(100, 10).cdf, normal(100, 10).pdf):
        assert refusal(ask, bad) == f"hours must be a number or an array of numbers, got {bad!r}"
