"""What a supervisor that starts again reads of the one before."""

from __future__ import annotations

import json

import pytest

from ettr.drill.log import EVENTS, TRAINING, Log, events
from ettr.drill.settings import Settings


def written(folder, *rows):
    lines = [json.dumps({"event": event, "at_s": at_s, **values}) for event, at_s, values in rows]
    (folder / EVENTS).write_text("".join(f"{line}\n" for line in lines))
    return Log(folder, Settings())


START = ("start", 100.0, {"step": 50, "exposed_s": 7.0})
STEP = ("step", 103.0, {"step": 60, "checked": True})


def test_exposure_goes_on_where_it_stood(tmp_path):
    assert written(tmp_path, START, STEP).standing() == (10.0, 0, 60)


def test_it_stands_still_once_a_fault_has_stopped_the_job(tmp_path):
    stop = ("fault", 104.0, {"kind": "hang"})
    late = ("durable", 104.5, {"step": 60})
    assert written(tmp_path, START, STEP, stop, late).standing() == (11.0, 1, 60)


def test_a_sleep_exposes_nobody(tmp_path):
    slept = ("slept", 3702.0, {"slept_s": 3600.0})
    assert written(tmp_path, START, slept).standing()[0] == pytest.approx(9.0)


def test_what_is_sound_is_forgotten_with_the_steps_that_were_undone(tmp_path):
    again = ("start", 105.0, {"step": 40, "exposed_s": 11.0})
    assert written(tmp_path, START, STEP, again).standing() == (11.0, 0, 40)


def test_a_line_that_was_cut_off_is_taken_away(tmp_path):
    written(tmp_path, START, STEP)
    for name in (EVENTS, TRAINING):
        with (tmp_path / name).open("a") as file:
            file.write('{"event": "st')
    assert len(events(tmp_path)) == 2
    Log(tmp_path, Settings()).write("ready", step=50)
    assert [event["event"] for event in events(tmp_path)] == ["start", "step", "ready"]
    assert "successfully loaded checkpoint at iteration 50" in (tmp_path / TRAINING).read_text()
    assert '{"event"' not in (tmp_path / TRAINING).read_text()
