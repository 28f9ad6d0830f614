"""A step's waveform, and swings, ramps and spectra, against plain loops and closed forms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ettr import power
from ettr.core.errors import InputError
from ettr.power import Phase, PowerSeries, Waveform


def harmonic_amplitude(m, d, swing, step_s=1.0, jitter_s=0.0):
    """Half of the peak to peak of the m-th harmonic of a square wave, at the swing for a share d of each step.

    The jitter of the step's length takes the characteristic function of its normal distribution off it.
    """
    turned = 2 * np.pi * m * jitter_s / step_s
    return 2 * swing * np.abs(np.sin(np.pi * m * d)) / (np.pi * m) * np.exp(-(turned**2) / 2)


def series_of(values: np.ndarray, step_s: float = 0.5) -> PowerSeries:
    return PowerSeries(0.0, step_s, np.asarray(values, dtype=float))


@pytest.fixture
def noise() -> PowerSeries:
    return series_of(10 + np.random.default_rng(1).standard_normal(700).cumsum() / 10)


@pytest.mark.parametrize("window_s", [0.5, 33.0, 1e5])
def test_the_swing_within_a_time_is_that_of_a_plain_loop(noise, window_s):
    bins = min(int(window_s / noise.step_s) + 1, noise.n)
    plain = max(np.ptp(noise.power_mw[i : i + bins]) for i in range(noise.n - bins + 1))
    assert power.largest_swing_mw(noise, window_s) == pytest.approx(plain, rel=1e-12)


def test_ramps_are_those_of_a_plain_loop(noise):
    measured = power.metrics(noise)
    for window_s, up, down in (
        (1, measured.ramp_up_1s_mw_per_s, measured.ramp_down_1s_mw_per_s),
        (60, measured.ramp_up_1min_mw_per_min, measured.ramp_down_1min_mw_per_min),
    ):
        n = int(window_s / 0.5)
        p = noise.power_mw
        changes = [p[i + n : i + 2 * n].mean() - p[i : i + n].mean() for i in range(noise.n - 2 * n + 1)]
        assert (up, down) == pytest.approx((max(changes), -min(changes)), rel=1e-9)


def test_a_swing_grows_with_the_time_and_a_ramp_never_exceeds_it(load):
    measured = power.metrics(load)
    assert measured.swing_1s_mw <= measured.swing_10s_mw <= measured.swing_mw == measured.peak_mw - measured.lowest_mw
    assert max(measured.ramp_up_1min_mw_per_min, measured.ramp_down_1min_mw_per_min) <= measured.swing_mw
    assert measured.range_share == pytest.approx(measured.swing_mw / load.profile.rated_mw)


def test_what_the_bins_cannot_show_is_said():
    measured = power.metrics(series_of(np.arange(6.0), 7.0))
    assert (measured.swing_1s_mw, measured.swing_10s_mw, measured.ramp_up_1s_mw_per_s) == (None, 2.0 / 2, None)
    assert any("bins of 7 s cannot show a swing within 1 s" in note for note in measured.notes)
    assert any("no whole number of bins" in note for note in measured.notes)
    frame = measured.to_frame().set_index("metric")
    assert np.isnan(frame.loc["swing_1s_mw", "value"]) and frame.loc["mean_mw", "value"] == 2.5
    with pytest.raises(InputError, match="cannot show a swing within 1 s"):
        power.largest_swing_mw(series_of(np.arange(6.0), 7.0), 1.0)


def test_the_spectrum_holds_the_variance():
    t = np.arange(60_000) * 0.02
    wave = series_of(10 + 3 * np.sin(2 * np.pi * 0.7 * t), 0.02)
    density = power.spectrum(wave)
    step_hz = density["frequency_hz"].diff().iloc[1]
    assert density["psd_mw2_per_hz"].sum() * step_hz == pytest.approx(4.5, rel=1e-3)  # half of the amplitude squared
    assert power.band_share(wave) == pytest.approx(1.0, abs=1e-4)  # the window's skirts
    assert power.band_share(wave, 1.0, 20.0) < 1e-6


def test_the_share_of_a_band_is_that_of_the_harmonics(still):
    training = pd.DataFrame({"start_h": [0.0], "end_h": [1 / 6], "state": ["training"]})
    wave = power.series(training, still, 0.01)
    harmonics = np.arange(1, 250)  # up to 50 Hz
    energy = harmonic_amplitude(harmonics, 0.8, 1.0, 5.0) ** 2
    seen = energy * np.sinc(harmonics * 0.2 * 0.01) ** 2  # a bin is a mean
    band = (harmonics * 0.2 >= 0.5) & (harmonics * 0.2 <= 20)
    assert power.band_share(wave, 0.5, 20.0) == pytest.approx(seen[band].sum() / seen.sum(), abs=0.01)


def test_a_band_beyond_the_bins_is_refused(noise):
    with pytest.raises(InputError, match="resolve frequencies up to 1 Hz, not up to 20 Hz.*resolution_s <= 0.025"):
        power.band_share(noise)
    with pytest.raises(InputError, match="needs 0 < low_hz < high_hz"):
        power.band_share(noise, 0.5, 0.2)
    with pytest.raises(InputError, match="does not fluctuate"):
        power.band_share(series_of(np.full(900, 3.0)), 0.1, 0.5)
    with pytest.raises(InputError, match="needs two of its periods"):
        power.spectrum(series_of(np.arange(20.0)), 0.01)


def test_a_limit_that_is_met_exactly_is_kept(noise, tmp_path):
    swing = power.metrics(noise).swing_mw
    path = tmp_path / "mine.csv"
    path.write_text(f"rule,metric,limit,unit\nours,swing_mw,{swing!r},MW\ntight,swing_mw,{swing / 2},MW\n")
    assert power.check(noise, path)["verdict"].tolist() == ["within", "exceeded"]
    with pytest.raises(InputError, match="unknown specification 'slow'.*did you mean 'slow-plant'"):
        power.specification("slow")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule,metric,limit\na,swing_mw,3\n", "needs columns unit; its columns are rule, metric, limit"),
        ("rule,metric,limit,unit\na,swing,3,MW\n", "unknown measure 'swing'.*line 2.*did you mean 'swing_mw'"),
        ("rule,metric,limit,unit\na,swing_mw,3,kW\n", r"unit must be MW for swing_mw, got kW \(.*mine.csv, line 2\)"),
        ("rule,metric,limit,unit\na,swing_mw,much,MW\n", r"limit must be a number from 0 to 1e\+09 .*, got much"),
        ("rule,metric,limit,unit\na,band_share,0.2,1\n", r"low_hz must be a number from 0 to 1e\+09 for band_share"),
        ("", "is empty"),
    ],
)
def test_a_bad_specification_is_refused(noise, tmp_path, text, message):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        power.check(noise, path)


# --------------------------------------------------------------------------- a step


def wave(jitter_s: float, share: float = 0.7, step_s: float = 2.0) -> Waveform:
    phases = (Phase("compute", share, 700.0), Phase("communication", 1 - share, 200.0))
    return Waveform(phases, step_s, jitter_s)


def powers(waveform: Waveform, n: int = 4096) -> np.ndarray:
    """Bin means of one step, from its integral."""
    edges = np.linspace(0, waveform.step_s, n + 1)
    return waveform.mean_w + np.diff(np.append(waveform.excess_j(edges[:-1]), 0.0)) / (waveform.step_s / n)


@pytest.mark.parametrize("jitter_s", [0.0, 0.05])
def test_the_harmonics_are_those_of_the_closed_form(jitter_s):
    measured = wave(jitter_s)
    amplitudes = 2 * np.abs(np.fft.rfft(powers(measured)))[1:6] / 4096
    expected = harmonic_amplitude(np.arange(1, 6), 0.7, 500.0, measured.step_s, jitter_s)
    assert amplitudes == pytest.approx(expected, rel=2e-3, abs=1e-3)  # the table and the bins round edges


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
