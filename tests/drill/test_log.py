"""What a supervisor that starts again reads of the one before."""

from __future__ import annotations

import json

import pytest

from ettr.core.errors import InputError
from ettr.drill.log import EVENTS, TRAINING, Log, events
from ettr.drill.running import settings_in
from ettr.drill.settings import Settings


def written(folder, *rows):
    lines = [json.dumps({"event": event, "at_s": at_s, **values}) for event, at_s, values in rows]
    (folder / EVENTS).write_text("".join(f"{line}\n" for line in lines))
    return Log(folder, Settings())


START = ("start", 100.0, {"step": 50, "exposed_s": 7.0})
STEP = ("step", 103.0, {"step": 60, "checked": True})


def test_exposure_goes_on_where_it_stood(tmp_path):
    assert written(tmp_path, START, STEP).progress() == (10.0, 0, 60)


def test_it_stands_still_once_a_fault_has_stopped_the_job(tmp_path):
    stop = ("fault", 104.0, {"kind": "hang", "missed": False})
    late = ("durable", 104.5, {"step": 60})
    assert written(tmp_path, START, STEP, stop, late).progress() == (11.0, 1, 60)


def test_what_is_sound_is_forgotten_with_the_steps_that_were_undone(tmp_path):
    again = ("start", 105.0, {"step": 40, "exposed_s": 11.0})
    assert written(tmp_path, START, STEP, again).progress() == (11.0, 0, 40)


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


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "5",
        '{"event": "step"}',
        "\xff",
    ],
)
def test_a_line_that_is_damaged_is_said_with_its_number(tmp_path, line):
    good = '{"event": "ready", "at_s": 1.0, "step": 0}\n'
    (tmp_path / EVENTS).write_text(f"{good}{line}\n{good}", encoding="latin-1")
    with pytest.raises(InputError, match=r"events\.jsonl(, line 2,)? is damaged"):
        events(tmp_path)


@pytest.mark.parametrize("text", ["{", "[1]", '{"n_workers": "x"}', '{"plan": [1]}'])
def test_settings_that_are_damaged_are_said(tmp_path, text):
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(InputError, match=r"settings\.json is damaged"):
        settings_in(tmp_path)
