"""Sobol indices beside functions whose indices are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ettr.recommendation import variance

A, B = 7.0, 0.1


def ishigami(unit: np.ndarray) -> np.ndarray:
    """The function of Ishigami and Homma (1990) over the unit cube."""
    x, y, z = np.pi * (2 * unit.T - 1)
    return np.sin(x) + A * np.sin(y) ** 2 + B * z**4 * np.sin(x)


def of_ishigami() -> tuple[list[float], list[float]]:
    """Its indices, from the integrals by hand: of single inputs, and of the first and third together."""
    alone = (1 + B * math.pi**4 / 5) ** 2 / 2, A**2 / 8, 0.0
    together = B**2 * math.pi**8 * (1 / 18 - 1 / 50)
    variance = sum(alone) + together
    first = [one / variance for one in alone]
    return first, [first[0] + together / variance, first[1], together / variance]


@pytest.mark.parametrize("n", [256, 4096])
def test_the_function_of_ishigami(n):
    shares = variance.shares(ishigami(variance.points(3, n, seed=5)), 3, seed=6)
    first, total = of_ishigami()
    assert (abs(shares.first - first) < 2 * shares.first_error).all()  # nearly four standard deviations
    assert (abs(shares.total - total) < 2 * shares.total_error).all()
    assert (shares.total_error < 3 / math.sqrt(n)).all()


def test_the_error_is_that_of_other_seeds():
    many = [variance.shares(ishigami(variance.points(3, 128, seed)), 3, seed) for seed in range(200)]
    spread = 1.96 * np.std([one.total for one in many], axis=0)
    said = np.mean([one.total_error for one in many], axis=0)
    assert (spread < 1.2 * said).all()  # points of a sequence lie better than independent ones, which it assumes


@pytest.mark.parametrize("weights", [(3.0, 1.0), (1.0, 2.0, 2.0)])
def test_a_sum_has_the_shares_of_its_terms(weights):
    d = len(weights)
    shares = variance.shares(variance.points(d, 1024, seed=1) @ np.array(weights), d, seed=2)
    expected = np.square(weights) / np.square(weights).sum()
    np.testing.assert_allclose(shares.total, expected, atol=0.01)  # of 1,024 points
    np.testing.assert_allclose(shares.first, expected, atol=0.01)


def test_scale_and_level_do_not_matter():
    answer = ishigami(variance.points(3, 64, seed=1))
    one, other = (variance.shares(values, 3, seed=2) for values in (answer, 1e6 + 40 * answer))
    np.testing.assert_allclose(one.first, other.first, rtol=1e-6)
    np.testing.assert_allclose(one.total_error, other.total_error, rtol=1e-6)


def test_an_answer_that_never_changes_has_no_shares():
    shares = variance.shares(np.full(8 * 4, 3.5), 2, seed=1)
    assert not any(values.any() for values in vars(shares).values())


def test_each_point_differs_from_the_first_of_its_block_by_one_input():
    blocks = variance.points(3, 8, seed=3).reshape(8, 5, 3)
    assert ((blocks >= 0) & (blocks < 1)).all()
    first, mixed, last = blocks[:, :1], blocks[:, 1:-1], blocks[:, -1]
    assert ((mixed != first) == np.eye(3, dtype=bool)).all()
    np.testing.assert_array_equal(mixed[:, range(3), range(3)], last)
