"""Quick fits of many samples at once and log-likelihoods, against ``scipy.stats``."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ettr.failures.fitted_distributions import FAMILIES, CensoredGaps

THEIRS = {
    "exponential": lambda shape, scale: stats.expon(scale=scale),
    "weibull": lambda shape, scale: stats.weibull_min(shape, scale=scale),
    "gamma": lambda shape, scale: stats.gamma(shape, scale=scale),
    "lognormal": lambda shape, scale: stats.lognorm(shape, scale=scale),
}


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.0, 60.0])
def test_the_quick_fits_of_all_rows_are_scipy_s_of_each(shape):
    rows = 7 * np.random.default_rng(1).weibull(shape, (5, 80))
    for i, row in enumerate(rows):
        location, spread = stats.gumbel_l.fit(np.log(row))  # the logarithm of a Weibull variable
        k, _, scale = stats.gamma.fit(row, floc=0)
        for name, theirs in {"weibull": (1 / spread, np.exp(location)), "gamma": (k, scale)}.items():
            ours = [values[i] for values in FAMILIES[name].quick(rows)]
            assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("shape", [0.6, 1.8])
def test_the_log_likelihood_is_scipy_s(name, shape):
    shape = shape if FAMILIES[name].has_shape else 1.0
    is_short = np.array([True, False, False, False])
    gaps = CensoredGaps(np.array([0.3, 1.0, 5.0, 9.0]), is_short, 0.5, np.array([2.0]), 0.0, phase=True)
    law = THEIRS[name](shape, 3.0)
    theirs = law.logpdf([1.0, 5.0, 9.0]).sum() + law.logcdf(0.5) + law.logsf(2.0)
    assert FAMILIES[name].log_likelihood(gaps, shape, 3.0) == pytest.approx(theirs, rel=1e-12)


def test_a_very_long_open_gap_leaves_a_gamma_fit_its_likelihood():
    gaps = CensoredGaps.of_lifetimes(np.random.default_rng(2).exponential(1.0, 5000), np.array([900.0]))
    shape, scale = FAMILIES["gamma"].fit(gaps)
    assert np.isfinite(FAMILIES["gamma"].log_likelihood(gaps, shape, scale))
    assert shape < 1 and shape * scale == pytest.approx(gaps.length_h.mean(), rel=0.3)
