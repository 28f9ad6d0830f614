"""The chapter on power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from computed.power import drawn, of, smoothed
from ettr import Scenario, power, simulate
from ettr.plots import days, power_day
from ettr_book.chapters import power as chapter


def test_stops_are_the_failures_of_the_run():
    simulation = simulate(Scenario.load("llama3-405b"), 1, timeline=[0])
    stops = days.stops_of(simulation.timeline)
    n_stops, n_failures = (stops["what"] == "failure").sum(), int(simulation.runs["n_failures"].iloc[0])
    # a failure during a restart begins no stop of its own
    assert 0.9 * n_failures <= n_stops <= n_failures


def test_the_day_has_a_failure_and_lies_in_the_run():
    for name in ("llama3-405b", "rsc-1", "bloom-176b"):
        day = of(name).day
        assert day.end_h - day.start_h == 24 and day.start_h >= 24
        assert day.start_h <= day.failure_h < day.end_h <= day.timeline["end_h"].iloc[-1]
        assert (day.stops["what"] == "failure").any() and day.stops["hour"].between(0, 24).all()


def test_a_short_run_is_shown_whole():
    day = of("llama3-405b, short").day
    assert (day.start_h, day.end_h) == (0.0, day.timeline["end_h"].iloc[-1])


def test_the_range_of_a_day_does_not_depend_on_when_a_row_begins(layer_of):
    """Each row without a stop has the same phases of steps and a checkpoint, so the same lowest and highest power."""
    rows = layer_of(power_day(drawn()).to_dict(), "area")["rows"]
    mean, low, high = (np.array([row[name] for row in rows]) for name in ("power_mw", "low_mw", "high_mw"))
    runs = mean > 0.97 * mean.max()
    assert runs.mean() > 0.8
    assert np.ptp(low[runs]) < 0.1 * high.max() and np.ptp(high[runs]) < 0.02 * high.max()


def test_fine_bins_show_a_phase_and_stay_few():
    profile, day = of().profile, of().day
    series = chapter.fine_series(day, profile)
    assert series.step_s == pytest.approx(0.2) and series.duration_h == pytest.approx(24.0)
    quick = replace(profile, waveform=replace(profile.waveform, step_s=0.5))
    short = chapter.fine_series(day, quick)
    assert short.n == 500_000 and short.start_h <= day.failure_h <= short.end_h


def test_a_smoothed_failure_swings_less():
    rows = smoothed()
    spans = rows.groupby("option")["power_mw"].agg(np.ptp)
    assert spans.drop("no smoothing").max() < 0.7 * spans["no smoothing"]
    assert len(set(rows.groupby("option").size())) == 1 and len(rows) < 2000


def test_limits_are_checked_where_the_bins_can():
    rows = chapter.limits(drawn()).frame
    assert set(rows["Specification"]) == set(power.specifications()) and (rows["Verdict"] != "unknown").all()
    alone = power.drawn(of().run, 0, of().profile, of().day.timeline, power.specification("utility-example")).limits
    ours = rows[rows["Specification"] == "utility-example"]
    assert ours["This run"].tolist() == pytest.approx(alone["value"].tolist())
