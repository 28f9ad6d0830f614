"""When a run is done whose rate is known from a count, up to runs that nearly never end: its parts, and drawn rates."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from finishing_rules import RUN
from scipy.special import gammaincinv

from ettr import Scenario, budget
from ettr.core.finishing import Finishing
from ettr.core.validity import ValidityWarning

LEVELS = np.array([0.002, 0.01, 0.05, 0.3, 0.5, 0.9, 0.99, 0.999, 1 - 1e-6])
N = 500
HOPELESS = """
name: hopeless
title: A run that trains for a twentieth of its time
cluster: {n_gpus: 20836, gpus_per_node: 4}
job: {productive_h: 116.683}
failures:
  rate_per_1000_node_days: 2.5616
  rate_gamma: {shape: 12.3513, node_days: 4547.02}
  rate_clock: wall
  exposed_share: 0.9981
checkpoint: {interval_min: 499.425, stall_s: 0.06, persist_s: 0.112}
recovery: {detection_min: 0, queue_min: 0.438, restart_min: 0.392, person_share: 0.26, person_min: 2.19}
maintenance: {per_day: 0.0357, duration_min: 5.89}
"""


def at_random(seed: int) -> Scenario:
    """A run that meets one to seven failures in an interval, at a rate that two to forty failures tell."""
    random = np.random.default_rng(seed)
    shape, expected = 2 * 20 ** random.random(), random.uniform(1, 7)
    return Scenario.parse(RUN).override(
        {
            "job.productive_h": random.uniform(20, 400),
            "failures.rate_gamma": {"shape": shape, "node_days": shape / 6 * 1000},
            "checkpoint.interval_min": expected / 6 * 24 * 60,
        }
    )


RUNS = {"hopeless": Scenario.parse(HOPELESS)} | {f"at random {seed}": at_random(seed) for seed in range(2)}


@pytest.fixture(scope="module", params=list(RUNS), ids=str)
def run(request) -> Scenario:
    return RUNS[request.param]


@pytest.fixture(scope="module")
def finish(run) -> Finishing:
    return budget.finishing(run, rate_known=False)


def test_dates_follow_each_other_and_the_work(run, finish):
    ends = LEVELS[1 - finish.never > LEVELS]
    dates_h = finish.quantile(ends)
    assert (dates_h >= run.job.productive_h).all() and (np.diff(dates_h) > 0).all()
    assert 0 < finish.quantile(1e-6) <= dates_h[0] and finish.atom < LEVELS[0]
    assert finish.cdf(dates_h) == pytest.approx(ends, rel=1e-12)
    assert finish.quantile(LEVELS[1 - finish.never <= LEVELS]).tolist() == [math.inf] * (LEVELS.size - ends.size)
    some_h = dates_h[2:] * 1.01
    rises = (finish.cdf(some_h * (1 + 1e-6)) - finish.cdf(some_h * (1 - 1e-6))) / (2e-6 * some_h)
    assert finish.pdf(some_h) == pytest.approx(rises, rel=1e-3)


def test_it_is_what_drawn_rates_give(run, finish):
    """A rate of its gamma distribution, one of each of as many parts of it, and then a date at that rate."""
    random, posterior = np.random.default_rng(8), run.failures.posterior
    accepted = budget.accepted(run, formula="finishing")
    rates = gammaincinv(posterior.shape, (np.arange(N) + random.uniform(size=N)) / N) * 1000 / posterior.node_days
    of_drawn = replace(accepted, rate=accepted.rate * rates / run.failure_rate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)  # some rates are hopeless
        at_them = budget.finishing(of_drawn)
    for hours in finish.quantile(LEVELS[:-1] * (1 - finish.never)):
        assert finish.cdf(hours) == pytest.approx(np.nan_to_num(at_them.cdf(hours)).mean(), abs=2 / N)
    dates_h = at_them.quantile(random.uniform(size=N))
    place = np.sort(finish.cdf(dates_h[np.isfinite(dates_h)]))
    steps = np.arange(place.size + 1) / N
    assert max((steps[1:] - place).max(), (place - steps[:-1]).max()) * math.sqrt(N) < 1.95
