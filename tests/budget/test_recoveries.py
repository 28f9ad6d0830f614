"""What a random time leaves of a transform, beside sums that are fine enough to be taken for it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ettr.checkpoint import laplace, laplace_complement


def summed(mean_h: float, cv: float, s: complex) -> complex:
    """1 - E e^(-sX) of a log-normal X, by a sum along a line on which it only falls.

    There X is turned by the angle of s, so that no number of turns of e^(-sX) has to be followed.
    """
    sigma = np.sqrt(np.log1p(cv**2))
    turn = -1j * np.angle(s) / sigma
    z, step = np.linspace(-20, 20, 40_001, retstep=True)
    hours = mean_h * np.exp(sigma * (z + turn) - sigma**2 / 2)
    return 1 - np.sum(np.exp(-s * hours - (z + turn) ** 2 / 2)) * step / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("cv", [0.5, 1.0, 2.0, 5.0, 10.0])
@pytest.mark.parametrize("s", [0.02, 1j, 3 + 10j, 30j, 0.01 + 300j, 1e5j])
def test_a_log_normal_time_however_fast_the_transform_turns(cv, s):
    assert laplace_complement(0.25, cv, np.array([s])) == pytest.approx(summed(0.25, cv, s), abs=1e-8)


@pytest.mark.parametrize("cv", [0.0, 0.1, 1.0, 3.0])
def test_no_failure_strikes_in_a_long_time_with_a_probability_that_keeps_its_digits(cv):
    """Where the complement is 1 to all digits, the probability itself is still exact."""
    for s in (0.1, 3.0, 200.0, 2000.0):
        survives, strikes = laplace(0.25, cv, s), laplace_complement(0.25, cv, s)
        assert survives + strikes == pytest.approx(1, abs=1e-12)
        assert survives > 0
        if cv and s < 100:
            assert survives == pytest.approx(1 - summed(0.25, cv, s).real, abs=1e-8)


@pytest.mark.parametrize("cv", [0.01, 0.3, 1.0, 3.0])
def test_a_small_s_leaves_the_mean_to_its_last_digits(cv):
    s = np.array([1e-9, 1e-12])
    assert laplace_complement(0.25, cv, s) == pytest.approx(0.25 * s, rel=1e-8)
    assert laplace_complement(0.25, cv, 1j * s).imag == pytest.approx(0.25 * s, rel=1e-8)
    assert laplace_complement(0.0, cv, s) == pytest.approx([0.0, 0.0], abs=0)


def test_a_time_of_little_spread_is_a_fixed_one():
    s = 1j * np.geomspace(1e-3, 100, 50)
    assert laplace_complement(0.25, 1e-6, s) == pytest.approx(laplace_complement(0.25, 0.0, s), abs=1e-9)
    assert laplace_complement(0.25, 0.0, np.array([2.0])) == pytest.approx(1 - np.exp(-0.5), rel=1e-12)


def test_scipy_is_loaded_where_a_random_time_is_asked_for_and_not_before():
    code = "import sys, ettr.budget, ettr.plan; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
