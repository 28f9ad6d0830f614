"""Tails and quantiles, against ``scipy.stats``."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ettr.core import probability

RNG = np.random.default_rng(0)
P, DEGREES = RNG.uniform(1e-6, 1, 500), RNG.uniform(0.5, 400, 500)
MEAN = 10 ** RNG.uniform(-3, 4, 500)
COUNT = np.round(MEAN * RNG.uniform(0, 2, 500)) + 1
TRIALS = COUNT + np.round(RNG.uniform(0, 5000, 500))
INDEX = 1 + 10 ** RNG.uniform(-3, 1, 500)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (probability.chi2_tail(MEAN, DEGREES), stats.chi2.sf(MEAN, DEGREES)),
        (probability.chi2_quantile(P, DEGREES), stats.chi2.ppf(P, DEGREES)),
        (probability.chi2_upper(P, DEGREES), stats.chi2.isf(P, DEGREES)),
        (probability.student_upper(P, DEGREES), stats.t.isf(P, DEGREES)),
        (probability.poisson_from(COUNT, MEAN), stats.poisson.sf(COUNT - 1, MEAN)),
        (probability.poisson_from(0, MEAN), stats.poisson.sf(-1, MEAN)),
        (probability.binomial_from(COUNT, TRIALS, P), stats.binom.sf(COUNT - 1, TRIALS, P)),
        (
            probability.negative_binomial_from(COUNT, MEAN, INDEX),
            stats.nbinom.sf(COUNT - 1, MEAN / (INDEX - 1), 1 / INDEX),
        ),
    ],
)
def test_it_is_scipy_s(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("mean", [1e-3, 0.5, 3, 81.2, 1e4])
def test_quantiles_of_counts_are_those_of_scipy(mean):
    for p in (0.025, 0.5, 0.975):
        assert probability.count_quantile(p, mean, None) == stats.poisson.ppf(p, mean)
        for shape in (0.7, 20.0, 1e5):
            assert probability.count_quantile(p, mean, shape) == stats.nbinom.ppf(p, shape, shape / (shape + mean))
