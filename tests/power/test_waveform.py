"""The step's waveform: its integral, its harmonics, and what the square root of N leaves."""

from __future__ import annotations

import numpy as np
import pytest

import power_forms
from ettr.core.errors import InputError
from ettr.power import Phase, Waveform


def wave(jitter_s: float, share: float = 0.7, step_s: float = 2.0) -> Waveform:
    phases = (Phase("compute", share, 700.0), Phase("communication", 1 - share, 200.0))
    return Waveform(phases, step_s, jitter_s)


def powers(own: Waveform, n: int = 4096) -> np.ndarray:
    """Bin means of one step, from its integral."""
    edges = np.linspace(0, own.step_s, n + 1)
    return own.mean_w + np.diff(np.append(own.excess_j(edges[:-1]), 0.0)) / (own.step_s / n)


@pytest.mark.parametrize("jitter_s", [0.0, 0.05, 2.0])
def test_the_harmonics_are_those_of_the_closed_form(jitter_s):
    own = wave(jitter_s)
    amplitudes = 2 * np.abs(np.fft.rfft(powers(own)))[1:6] / 4096
    expected = power_forms.harmonic_amplitude(np.arange(1, 6), 0.7, 500.0, own.step_s, jitter_s)
    assert amplitudes == pytest.approx(expected, rel=2e-3, abs=1e-3)  # the table and the bins round edges


@pytest.mark.parametrize("jitter_s", [0.0, 1.0])
def test_a_whole_step_has_its_mean(jitter_s):
    own = wave(jitter_s)
    assert own.excess_j(np.array([0.0, 2.0, 4.0, 200.0])) == pytest.approx(0.0, abs=1e-9)
    assert powers(own).mean() == pytest.approx(own.mean_w) == pytest.approx(0.7 * 700 + 0.3 * 200)
    assert powers(own).max() <= 700 + 1e-6 and powers(own).min() >= 200 - 1e-6


def test_the_incoherent_part_is_that_of_independent_nodes(profile):
    step_s, jitter_s = profile.waveform.step_s, 0.02
    random = np.random.default_rng(0)
    at_s = np.arange(0, step_s, 2e-3)
    n_nodes, n_draws = 200, 60
    variance = []
    for _ in range(n_draws):
        falls = 4.0 + jitter_s * random.standard_normal(n_nodes)
        rises = jitter_s * random.standard_normal(n_nodes)  # at the beginning of the step, and so at its end
        high = (at_s >= rises[:, None]) & (at_s < falls[:, None]) | (at_s >= step_s + rises[:, None])
        variance.append(high.sum(axis=0))
    spread = np.array(variance).var(axis=0, ddof=1).mean()
    simulated_mw = np.sqrt(spread) * 8 * 346.0 / 1e6
    expected_mw = profile.incoherent_mw * np.sqrt(n_nodes / (profile.n_gpus / 8))
    assert simulated_mw == pytest.approx(expected_mw, rel=0.05)  # 60 draws of a variance, averaged over the step


def test_shares_must_be_a_step():
    for shares in ((0.5, 0.6), (1.2, -0.2)):
        with pytest.raises(InputError, match="must be >= 0 and sum to 1"):
            Waveform(tuple(Phase("a", share, 1.0) for share in shares), 1.0)
    with pytest.raises(InputError, match="step_s must be > 0 s"):
        Waveform((Phase("a", 1.0, 1.0),), 0.0)
