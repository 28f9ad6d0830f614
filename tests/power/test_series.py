"""Series of bin means: their energy, against sums by parts and against a plain sampling of the waveform."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from ettr import power
from ettr.core.errors import InputError, UnknownName
from ettr.power.profiles import COOLANT_S

WINDOWS = [(1.0, None, None), (0.013, 0.3, 0.9), (7.3, 0.11, 2.2)]


@pytest.mark.parametrize(("resolution_s", "start_h", "end_h"), WINDOWS)
def test_the_energy_of_a_series_is_the_sum_by_parts(timeline, profile, still, resolution_s, start_h, end_h):
    load = power.series(timeline, profile, resolution_s, start_h, end_h, at="computers")
    by_parts = power.energy(timeline, profile, load.start_h, load.end_h)
    assert load.energy_mwh == pytest.approx(by_parts["it_mwh"].sum(), rel=1e-9)
    grid = power.series(timeline, still, resolution_s, start_h, end_h)
    by_parts = power.energy(timeline, still, load.start_h, load.end_h)
    # the cooling follows the mean of a stretch and the losses what a cut-off step has taken beyond it
    excess_mwh = still.cooling_share * still.n_gpus * still.waveform._table[1].max() / 3.6e9 * len(timeline)
    assert grid.energy_mwh == pytest.approx(by_parts["facility_mwh"].sum(), abs=excess_mwh)


def test_the_grid_sees_exactly_pue_times_the_computers_but_for_the_heat_in_the_coolant(timeline, profile):
    whole = timeline.assign(start_h=timeline.index * 1.0, end_h=timeline.index + 1.0)  # stretches of whole steps
    load = power.series(whole, profile, 10.0)
    by_parts = power.energy(whole, profile)[["it_mwh", "facility_mwh"]].sum()
    first, last = profile.it_mw("queue"), profile.it_mw("training")
    held_mwh = profile.cooling_share * (last - first) * COOLANT_S / 3600
    assert load.energy_mwh == pytest.approx(by_parts["facility_mwh"], rel=1e-9)
    assert by_parts["facility_mwh"] == pytest.approx(profile.pue * by_parts["it_mwh"] - held_mwh, rel=1e-9)
    assert held_mwh > 0


def test_bins_are_those_of_a_plain_sampling(timeline, still):
    load = power.series(timeline, still, 0.5, 0.6, 1.4, at="computers")
    fine_s = load.start_h * 3600 + (np.arange(load.n * 500) + 0.5) * 1e-3
    edges = np.append(timeline["start_h"], timeline["end_h"].iloc[-1]) * 3600
    i = np.searchsorted(edges, fine_s, side="right") - 1
    phase = np.mod(fine_s - edges[i], still.waveform.step_s) / still.waveform.step_s
    gpu_w = np.array([still.gpu_w(state) for state in timeline["state"]])[i]
    training = timeline["state"].isin(["training", "rework"]).to_numpy()[i]
    gpu_w[training] = np.where(phase[training] < 0.8, 696.0, 350.0)
    sampled_mw = (gpu_w.reshape(-1, 500).mean(axis=1) + still.other_w) * still.n_gpus / 1e6
    # a sample may fall on the wrong side of an edge: a millisecond of the swing in half a second
    assert np.abs(load.power_mw - sampled_mw).max() < 2 * 350 * still.n_gpus / 1e6 * 1e-3 / 0.5


def test_power_scales_with_the_job_and_not_with_the_clock(timeline, profile):
    ours = power.series(timeline, profile, 1.0, at="computers")
    twice = power.series(timeline, replace(profile, n_gpus=2 * profile.n_gpus), 1.0, at="computers")
    assert_allclose(twice.power_mw, 2 * ours.power_mw, rtol=1e-6)
    wave = replace(profile.waveform, step_s=15.0, jitter_s=3 * profile.waveform.jitter_s)
    slower = replace(profile, waveform=wave)
    stretched = timeline.assign(start_h=3 * timeline["start_h"], end_h=3 * timeline["end_h"])
    longer = power.series(stretched, slower, 3.0, at="computers")
    assert_allclose(longer.power_mw[:-1], ours.power_mw[: ours.n - 1], rtol=1e-9)


def test_cooling_follows_slowly(timeline, profile):
    at_h = float(timeline.loc[9, "start_h"])  # maintenance begins
    grid, computers = (
        power.series(timeline, profile, 1.0, at_h, at_h + 0.2, at=place) for place in ("grid", "computers")
    )
    cooling = grid.power_mw - (1 + profile.loss_share) * computers.power_mw
    settled = profile.cooling_share * profile.it_mw("maintenance")
    decay = (cooling - settled)[180] / (cooling - settled)[0]
    assert decay == pytest.approx(np.exp(-1), rel=1e-6) and (np.diff(cooling) < 0).all()


def test_a_chart_gets_few_rows_that_hold_every_extreme(load):
    rows = load.aggregate(100)
    assert len(rows) <= 100
    assert rows["low_mw"].min() == load.power_mw.min() and rows["high_mw"].max() == load.power_mw.max()
    assert (rows["low_mw"] <= rows["mean_mw"]).all() and (rows["mean_mw"] <= rows["high_mw"]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resolution_s": 0}, "resolution_s must be > 0 s"),
        ({"start_h": -1}, "must lie in order within the run"),
        ({"start_h": 1.0, "end_h": 1.001, "resolution_s": 60}, "resolution_s must be <= 3.6 s"),
        ({"resolution_s": 1e-5}, "bins must be <= 50,000,000, got .*: shorten the window"),
        ({"at": "moon"}, "unknown place 'moon'"),
    ],
)
def test_a_bad_window_is_refused(timeline, profile, change, message):
    with pytest.raises(InputError, match=message):
        power.series(timeline, profile, **change)


def test_a_broken_timeline_is_refused(timeline, profile):
    with pytest.raises(InputError, match="has no state"):
        power.series(timeline.drop(columns="state"), profile)
    with pytest.raises(
        InputError, match="without gap or overlap, got one that ends at 0.02 h and the next that starts at 0.12"
    ):
        power.series(timeline.drop(index=1), profile)
    with pytest.raises(UnknownName, match="unknown state 'asleep'"):
        power.series(timeline.replace("detection", "asleep"), profile)
    two = pd.concat((timeline, timeline.assign(run=1, state="training")))
    with pytest.raises(InputError, match="must have one run, got 2: use timeline"):
        power.series(two, profile)
