"""Bands are the closed form at quantiles of the rate, and hold what sampling the rate gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from computed.chapters import AS_IT_IS, USUAL, scenario, table
from ettr import budget, plan
from ettr.chapters import checkpoint_interval, scale
from ettr.core.errors import OutsideValidity

RATE = "failures.rate_per_1000_node_days"
ENDS = ["low_95", "low_50", "ettr", "high_50", "high_95"]


@pytest.mark.parametrize("name", ["llama3-405b", "glm-130b", pytest.param("megascale", marks=pytest.mark.slow)])
def test_bands_are_quantiles_of_the_ettr_under_the_posterior(name):
    run, frame = scenario(name), table(checkpoint_interval.tables.interval_with_bands, name, AS_IT_IS, 9)
    known = run.failures.posterior
    rates = 1000 * stats.gamma(known.shape, scale=1 / known.node_days).rvs(20_000, random_state=7)
    steady = run.override({"job.include_start": False})
    for row in frame.iloc[::2].itertuples():
        at = {RATE: rates, "checkpoint.interval_min": np.array([row.interval_min])}
        drawn = np.quantile(budget.exact(steady, at).ettr, [0.025, 0.25, 0.75, 0.975])
        spread = row.high_95 - row.low_95
        told = np.array([row.low_95, row.low_50, row.high_50, row.high_95])
        assert np.abs(drawn - told).max() < 0.05 * spread  # quantiles of 20,000 draws


@pytest.mark.parametrize("name", ["llama3-405b", "glm-130b"])
def test_bands_lie_in_each_other_and_the_line_is_the_known_curve(name):
    run, of_size = scenario(name), table(scale.tables.size_with_bands, name)
    for frame in (table(checkpoint_interval.tables.interval_with_bands, name, AS_IT_IS, 9), of_size):
        values = frame[ENDS].to_numpy()
        assert (np.diff(values, axis=1) > 0).all() and np.isfinite(values).all()
    own = run.override({"job.include_start": False, "cluster.n_gpus": 128})
    best = own.override({"checkpoint.interval_min": float(plan.best_interval_min(own))})
    assert budget.exact(best).ettr == pytest.approx(of_size["ettr"].iloc[0], rel=1e-9)


def test_without_knowledge_there_is_no_band():
    interval = table(checkpoint_interval.tables.interval_with_bands, "rsc-1", AS_IT_IS, 9)
    for frame in (interval, table(scale.tables.size_with_bands, "rsc-1")):
        assert (frame[ENDS].nunique(axis=1) == 1).all()
    bands = table(scale.tables.band_by_size, "rsc-1", AS_IT_IS, 9)
    assert bands["low_95_min"].tolist() == pytest.approx(bands["interval_min"].tolist(), rel=1e-6)


def test_the_band_by_size_is_that_of_a_plan_of_each_size(llama3):
    frame = table(scale.tables.band_by_size, *USUAL, 9)
    known = llama3.failures.posterior
    for row in frame.iloc[::2].itertuples():
        band = plan.flat_band(llama3.override({"cluster.n_gpus": int(row.n_gpus)}))
        found = row.interval_min, row.low_min, row.high_min
        assert found == pytest.approx((band.interval_min, band.low_min, band.high_min), rel=1e-9)
        ends = 1000 * stats.gamma(known.shape, scale=1 / known.node_days).ppf([0.975, 0.025])
        sizes = llama3.override({"cluster.n_gpus": int(row.n_gpus), "job.include_start": False})
        low, high = plan.best_interval_min(sizes, {RATE: ends})
        assert (row.low_95_min, row.high_95_min) == pytest.approx((low, high), rel=1e-6)
    assert (frame["low_min"] <= frame["interval_min"]).all() and (frame["interval_min"] <= frame["high_min"]).all()


def test_sizes_at_which_hardly_anything_is_left_are_not_in_the_band():
    sizes = table(scale.tables.band_by_size, "bloom-176b", AS_IT_IS, 9)["n_gpus"]
    last = scenario("bloom-176b").override({"cluster.n_gpus": int(sizes.iloc[-1])})
    assert sizes.max() < 2e5 and plan.ettr_at_best(last) > 0.09


def test_a_curve_without_any_answer_is_an_error():
    with pytest.raises(OutsideValidity, match="the exact form has no answer anywhere on this curve of rsc-1"):
        checkpoint_interval.tables.interval_with_bands(scenario("rsc-1").override({"recovery.restart_min": 1e7}), 4)
