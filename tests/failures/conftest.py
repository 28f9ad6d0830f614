"""What several tests of failures compare with."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from scipy import stats


@pytest.fixture(scope="session")
def exact_ratio():
    """The ratio of two rates, its exact interval and p-value: given their sum, the first count is binomial."""

    def of(n, days, m, other_days, level=0.95):
        test = stats.binomtest(n, n + m, days / (days + other_days))
        share = test.proportion_ci(level)
        ratio, low, high = (
            p / (1 - p) * other_days / days if p < 1 else float("inf") for p in (n / (n + m), share.low, share.high)
        )
        return SimpleNamespace(ratio=ratio, low=low, high=high, p_value=test.pvalue)

    return of
