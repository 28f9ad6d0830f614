"""Random numbers: the generator bit by bit, and each distribution from its middle to its tails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit
from scipy import special, stats

from ettr.simulation import random_numbers
from ettr.simulation.clocks import first_time
from ettr.simulation.failure_events import pick_of_nodes, pick_of_time
from ettr.simulation.from_scenario import rules_of

LARGE = 2**63 - 1
PLACES = [
    (0, 0, 0, 0, 0),
    (1, 2, 3, 4, 5),
    (LARGE, LARGE, LARGE, LARGE, LARGE),
    (7, 10**7, 2**40, 74, 1),
    (0, 0, 1, 0, 0),
]


@njit
def _block(seed, run, index, purpose, attempt):
    return random_numbers.block(seed, run, index, purpose, attempt)


def test_blocks_are_those_of_the_published_generator():
    """Philox-4x64-10, as NumPy has it, which counts one on before it makes a block."""
    for seed, run, index, purpose, attempt in PLACES:
        number = index + (run << 64) + (purpose << 128) + (attempt << 192) - 1
        counter = [(number >> 64 * word) & (2**64 - 1) for word in range(4)]
        reference = np.random.Philox(
            key=np.array([seed, 0], dtype=np.uint64), counter=np.array(counter, dtype=np.uint64)
        )
        words = _block(seed, run, index, purpose, attempt)
        assert [int(word) for word in words] == [int(word) for word in reference.random_raw(4)]


@njit
def _exponentials(n, seed):
    sample = np.empty(n)
    for i in range(n):
        word, _, _, _ = random_numbers.block(seed, 0, i, 0, 0)
        sample[i] = random_numbers.exponential(word, seed, 0, i, 0)
    return sample


@njit
def _normals(n, seed):
    sample = np.empty(n)
    for i in range(n):
        word, _, _, _ = random_numbers.block(seed, 0, i, 0, 0)
        sample[i] = random_numbers.normal(word, seed, 0, i, 0)
    return sample


@njit
def _lognormals(n, seed, mean, sigma):
    sample = np.empty(n)
    for i in range(n):
        word, _, _, _ = random_numbers.block(seed, 0, i, 0, 0)
        sample[i] = random_numbers.lognormal(mean, sigma, word, seed, 0, i, 0)
    return sample


@njit
def _uniforms(n, seed):
    sample = np.empty(n)
    for i in range(n):
        word, _, _, _ = random_numbers.block(seed, 0, i, 0, 0)
        sample[i] = random_numbers.uniform(word)
    return sample


DISTRIBUTIONS = {
    "exponential": (_exponentials, stats.expon()),
    "normal": (_normals, stats.norm()),
    "uniform": (_uniforms, stats.uniform()),
}


@pytest.fixture(scope="module", params=[400_000, pytest.param(4_000_000, marks=pytest.mark.slow)])
def drawn(request):
    return {name: draw(request.param, 2024) for name, (draw, _) in DISTRIBUTIONS.items()}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_moments_are_those_of_the_distribution(drawn, name):
    """The mean of the k-th power is off by four of its standard errors at most."""
    law = DISTRIBUTIONS[name][1]
    for power in range(1, 5):
        expected, square = law.moment(power), law.moment(2 * power)
        error = math.sqrt((square - expected**2) / drawn[name].size)
        assert np.mean(drawn[name] ** power) == pytest.approx(expected, abs=4 * error), power


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_distribution_is_followed_everywhere(drawn, name):
    """Kolmogorov-Smirnov sees probabilities that are off by a thousandth, the counts in 1,000 equal cells each cell."""
    law, n = DISTRIBUTIONS[name][1], drawn[name].size
    assert stats.kstest(drawn[name], law.cdf).pvalue > 1e-3
    cells = np.histogram(drawn[name], bins=law.ppf(np.linspace(0, 1, 1001)))[0]
    assert cells.sum() == n
    assert stats.chisquare(cells).pvalue > 1e-3
    assert stats.kstest(drawn[name] + 10 / n**0.5, law.cdf).pvalue < 1e-3


@pytest.mark.parametrize(
    ("name", "edge"),
    [("exponential", edge) for edge in (5.0, 7.697117470131050, 9.0)]
    + [("normal", edge) for edge in (3.0, 3.6541528853610088, 4.2)],
)
def test_tails_beyond_the_last_layer_are_as_likely_as_they_should_be(drawn, name, edge):
    """Counts are Poisson; of four million some ten are expected at the farthest edge."""
    law, n = DISTRIBUTIONS[name][1], drawn[name].size
    for numbers in (drawn[name], -drawn[name]) if name == "normal" else (drawn[name],):
        expected = n * law.sf(edge)
        assert (numbers > edge).sum() == pytest.approx(expected, abs=4 * math.sqrt(expected))
        assert expected > 5 * n / 4_000_000
    beyond = drawn[name][drawn[name] > edge]
    if beyond.size > 100:  # and they are distributed as they should be
        assert stats.kstest(beyond, lambda x: 1 - law.sf(x) / law.sf(edge)).pvalue > 1e-3


@pytest.mark.parametrize("cv", [0.0, 0.1, 1.0, 2.5])
def test_log_normal_times_have_their_mean_and_spread(cv):
    sigma = math.sqrt(math.log1p(cv**2))
    sample = _lognormals(1_000_000, 3, 1.5, sigma)
    if cv == 0:
        assert (sample == 1.5).all()
        return
    assert sample.mean() == pytest.approx(1.5, abs=4 * sample.std() / sample.size**0.5)
    assert stats.kstest(np.log(sample), stats.norm(math.log(1.5) - sigma**2 / 2, sigma).cdf).pvalue > 1e-3
    if cv <= 1:  # the spread of a wide one is known badly
        assert sample.std() / sample.mean() == pytest.approx(cv, rel=0.03)


def test_neighbouring_numbers_know_nothing_of_each_other(drawn):
    """Nor do runs of one seed: correlations of n numbers are off by 1 / sqrt(n)."""
    for numbers in drawn.values():
        for lag in (1, 2, 4, 100):
            assert abs(np.corrcoef(numbers[:-lag], numbers[lag:])[0, 1]) < 4 / numbers.size**0.5


@njit
def _picked(pick, modes, n):
    counts = np.zeros(modes.size)
    for i in range(n):
        word, _, _, _ = random_numbers.block(1, 0, i, 0, 0)
        counts[pick(word, modes)] += 1
    return counts


MODES = [
    {"name": "a", "share": 0.05},
    {"name": "b", "share": 0.3, "n_out_nodes": 4},
    {"name": "c", "share": 0.0},
    {"name": "d", "share": 0.4, "n_out_nodes": 0},
    {"name": "e", "share": 0.1, "factor": 2.5},
]


@pytest.mark.parametrize("clocks", [False, True])
def test_modes_are_drawn_by_their_weights(small_run, clocks):
    run = small_run.override(
        {
            "failures.modes": MODES,
            "recovery.false_alarms_per_day": 1,
            "failures.lifetime": {"shape": 0.5} if clocks else None,
        }
    )
    modes, n = rules_of(run).modes, 1_000_000
    # per day of 16 nodes, of which 0.4 fail
    a, b, c, d, e, other, false_alarm, repeat = 0.05 * 6.4, 0.3 * 6.4, 0, 0.4 * 6.4, 0.25 * 6.4, 0.15 * 6.4, 1, 0
    of_nodes = np.array([a, 0, 0, 0, e, other, 0, 0])
    of_time = np.array([a, b, c, d, e, other, false_alarm, repeat])
    if clocks:
        of_time = np.array([0, b, 0, d, 0, 0, false_alarm, 0])
        _check_counts(_picked(pick_of_nodes, modes, n), of_nodes)
    _check_counts(_picked(pick_of_time, modes, n), of_time)


def _check_counts(counts: np.ndarray, weights: np.ndarray) -> None:
    expected = counts.sum() * weights / weights.sum()
    assert (counts[weights == 0] == 0).all()
    assert stats.chisquare(counts[weights > 0], expected[weights > 0]).pvalue > 1e-3


@njit
def _first_times(hazards, rules):
    return np.array([first_time(hazard, rules) for hazard in hazards])


@pytest.mark.parametrize("shape", [0.2, 0.9, 5.0])
@pytest.mark.parametrize("start", ["new", "stationary"])
def test_the_first_failure_comes_when_its_hazard_says(small_run, shape, start):
    """From one in three billion nodes to the last of them; residual lifetimes by the incomplete gamma function."""
    run = small_run.override({"failures.lifetime": {"shape": shape, "start": start}})
    rules = rules_of(run)
    hazards = np.array([3e-10, 1e-8, 1e-6, 1e-3, 0.03, 0.3, 0.69, 0.7, 1.0, 3.0, 10.0, 30.0])
    times_h = _first_times(hazards, rules.run)
    if start == "new":
        expected = hazards ** (1 / shape)
    else:
        gone = -np.expm1(-hazards)
        early = special.gammaincinv(1 / shape, gone) ** (1 / shape)
        late = special.gammainccinv(1 / shape, np.exp(-hazards)) ** (1 / shape)
        expected = np.where(gone < 0.5, early, late)
    # a table of 1,024 points with slopes
    assert times_h == pytest.approx(expected, rel=1e-5)
    assert (np.diff(times_h) > 0).all()
