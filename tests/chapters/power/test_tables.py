"""Tables of the chapter on power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from computed.power import of, table
from ettr import Scenario, power, simulate
from ettr_book.chapters.power import tables


@pytest.fixture(scope="module")
def profile() -> power.Profile:
    return of().profile


@pytest.fixture(scope="module")
def window():
    return of().window


def test_stops_are_the_failures_of_the_run():
    simulation = simulate(Scenario.load("llama3-405b"), 1, timeline=[0])
    failures_h = tables.failures_of(simulation.timeline)
    n_failures = int(simulation.runs["n_failures"].iloc[0])
    # a failure during a restart begins no stop of its own
    assert 0.9 * n_failures <= len(failures_h) <= n_failures
    assert (np.diff(failures_h) > 0).all()


def test_the_day_has_a_failure_and_lies_in_the_run():
    for name in ("llama3-405b", "rsc-1", "bloom-176b"):
        window, events = of(name).window, table("events", name)
        assert window.end_h - window.start_h == 24 and window.start_h >= 24
        assert window.start_h <= window.failure_h < window.end_h <= of(name).window.timeline["end_h"].iloc[-1]
        assert (events["what"] == "failure").any() and events["hour"].between(0, 24).all()


def test_a_short_run_is_shown_whole():
    short = of("llama3-405b, short")
    assert (short.window.start_h, short.window.end_h) == (0.0, short.window.timeline["end_h"].iloc[-1])


def test_fine_bins_show_a_phase_and_stay_few(profile, window):
    series = tables.fine_series(window, profile)
    assert series.step_s == pytest.approx(0.2) and series.duration_h == pytest.approx(24.0)
    quick = replace(profile, waveform=replace(profile.waveform, step_s=0.5))
    short = tables.fine_series(window, quick)
    assert short.n == 500_000 and short.start_h <= window.failure_h <= short.end_h


def test_a_smoothed_failure_swings_less():
    rows = table("smoothed")
    spans = rows.groupby("option")["power_mw"].agg(np.ptp)
    assert spans.drop("no smoothing").max() < 0.7 * spans["no smoothing"]
    assert len(set(rows.groupby("option").size())) == 1 and len(rows) < 2000


def test_limits_are_checked_where_the_bins_can():
    rows = table("limits")
    assert set(rows["specification"]) == set(power.specifications()) and (rows["verdict"] != "unknown").all()
