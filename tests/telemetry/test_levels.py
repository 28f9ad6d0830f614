"""What a recording's levels mean: visits, and the phases that they are named after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettr import telemetry
from ettr.scenario import Gpu
from ettr.telemetry import Step, plateaus
from ettr.telemetry.phases import Pattern, phases_of

H100 = Gpu.load("h100")


def bare(job, **options):
    """A simulated recording of power alone."""
    recording = telemetry.simulate(H100, job, step_s=1.0, seed=3, **options)
    return replace(recording, samples=recording.samples.assign(step="", utilisation=np.nan))


# --------------------------------------------------------------------------- visits


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(2, 9)), min_size=1, max_size=30),
    st.lists(st.integers(0, 300), max_size=20),
)
def test_samples_on_their_way_end_no_visit(stays, silent):
    label = np.concatenate([np.full(length, level) for level, length in stays])
    true = [level for i, (level, _) in enumerate(stays) if i == 0 or level != stays[i - 1][0]]
    at = np.sort([i for i in silent if i < label.size]).astype(int)
    between = np.insert(label, at, -1)
    assert plateaus.visits(np.arange(float(between.size)), between)["level"].tolist() == true


@pytest.mark.parametrize("window_s", [0.0, 5.0])
def test_visits_are_as_many_as_the_job_makes(window_s):
    job = [Step("compute", 1.0, 200), Step("stall", 0.0, 60)] * 4 + [Step("compute", 1.0, 200)]
    fit = telemetry.fit(bare(job, power_window_s=window_s))
    assert [level.n_visits for level in fit.levels] == [5, 4]


def test_visits_as_short_as_the_time_between_samples_count():
    label = np.array([0, 0, 1] * 5)
    came = plateaus.visits(np.arange(15.0), label)
    assert came["level"].tolist() == [0, 1] * 5
    assert came.loc[2, ["from_s", "to_s"]].tolist() == [3.0, 4.0]


# --------------------------------------------------------------------------- names


def seen(power_w, load=np.nan, *, step="", every_s=np.nan, only_first=False):
    return Pattern(step, power_w, load, every_s, only_first)


@pytest.mark.parametrize(
    ("levels", "phases"),
    [
        ([seen(120.0), seen(690.0)], ["", ""]),  # power alone names nothing
        ([seen(120.0, every_s=1800.0), seen(690.0)], ["checkpoint", "compute"]),
        ([seen(120.0, every_s=6.0), seen(690.0)], ["", ""]),  # within a step: waiting for whatever
        ([seen(120.0, 0.0), seen(690.0, 0.98)], ["idle", "compute"]),
        ([seen(120.0, 0.0, every_s=1800.0), seen(690.0, 0.98)], ["checkpoint", "compute"]),
        ([seen(300.0, 0.99), seen(690.0, 0.99)], ["communication", "compute"]),
        ([seen(300.0, 0.4, every_s=4.0), seen(690.0, 0.99)], ["communication", "compute"]),
        ([seen(300.0, 0.4), seen(690.0, 0.99)], ["", "compute"]),
        ([seen(650.0, 0.99), seen(690.0, 0.99)], ["", "compute"]),
        ([seen(120.0, 0.0, only_first=True), seen(690.0, 0.99)], ["start-up", "compute"]),
        ([seen(70.0, 0.0), seen(120.0, 0.0), seen(690.0, 0.99)], ["idle", "", "compute"]),
        ([seen(200.0, 0.6), seen(300.0, 0.9), seen(690.0, 0.99)], ["", "", "compute"]),  # which of them, nobody says
        ([seen(120.0, step="Checkpoint"), seen(690.0, step="forward")], ["checkpoint", ""]),
        ([seen(690.0, 0.1)], [""]),
    ],
)
def test_a_level_is_named_only_as_far_as_the_recording_says(levels, phases):
    assert phases_of(levels) == phases


def test_what_has_no_name_does_not_enter_the_gpu():
    stays = [70, 400, 31, 90, 250, 610]
    job = [step for s in stays for step in (Step("compute", 1.0, s), Step("stall", 0.0, 1.7 * s % 97 + 20))]
    fit = telemetry.fit(bare(job))
    assert {level.phase for level in fit.levels} == {""}
    assert any("unnamed levels: 2" in note for note in fit.notes)
    assert fit.to_part("mine").levels == H100.levels


def test_the_start_is_no_checkpoint():
    job = [Step("stall", 0.0, 240), *([Step("compute", 1.0, 900)] * 3)]
    fit = telemetry.fit(bare(job))
    assert [level.phase for level in fit.levels] == ["", "start-up"]
    assert fit.level("start-up") is None and any("start-up" in note for note in fit.notes)
