"""Dates of a run as people write them, and how much of it is done."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ettr.core.errors import InputError
from ettr.plan import Calendar, calendar_of


def test_a_day_alone_is_its_beginning_for_the_start_and_its_end_for_the_deadline():
    dates = calendar_of("2027-01-15", "2027-03-08")
    assert dates.start == datetime(2027, 1, 15, tzinfo=UTC) and dates.deadline == datetime(2027, 3, 9, tzinfo=UTC)
    assert dates.deadline_h == 53 * 24  # 17 days of January, 28, and 8
    assert dates.deadline_day == "8 March 2027"
    assert calendar_of("2027-01-15", "2027-01-15").deadline_h == 24


def test_a_time_is_that_time_and_is_said():
    dates = calendar_of("2027-01-15 09:30", "8 March 2027 18:00")
    assert dates.deadline_h == 52 * 24 + 8.5 and dates.deadline_day == "8 March 2027 at 18:00"
    assert calendar_of("2027-01-15", "2027-03-09 00:00").deadline_day == "8 March 2027"
    assert Calendar().deadline_day == "" and Calendar().deadline_h is None


@pytest.mark.parametrize(
    ("start", "deadline", "zone", "hours"),
    [
        ("2027-03-01", "2027-03-31", "Europe/Berlin", 31 * 24 - 1),  # 28 March has 23 hours
        ("2027-10-01", "2027-10-31", "Europe/Berlin", 31 * 24 + 1),
        ("2027-03-01", "2027-03-31", "+02:00", 31 * 24),
        ("2027-03-01", "2027-03-31", None, 31 * 24),
        ("2027-03-01T00:00+08:00", "2027-03-31", "UTC", 31 * 24 + 8),  # a date's own offset stands
    ],
)
def test_hours_are_those_that_pass(start, deadline, zone, hours):
    assert calendar_of(start, deadline, zone).deadline_h == hours


def test_a_moment_is_in_the_zone_of_the_start_also_over_a_change_of_the_clocks():
    dates = calendar_of("2027-03-27", None, "Europe/Berlin")
    late = dates.moment(47.5)  # half an hour before the second day would end in winter
    assert (late.day, late.hour, late.minute) == (29, 0, 30) and dates.day(46.5) == "28 March 2027"
    assert late - dates.start.astimezone(UTC) == timedelta(hours=47.5)


def test_without_a_start_or_beyond_the_calendar_there_is_no_date():
    assert Calendar().moment(1.0) is None and Calendar().day(1.0) is None
    dates = calendar_of("2027-01-15")
    assert dates.day(1e9) is None and dates.moment(float("inf")) is None


@pytest.mark.parametrize(
    ("done", "share"), [(0.4, 0.4), ("40%", 0.4), ("0.4", 0.4), (0, 0.0), ("0%", 0.0), (" 12.5 % ", 0.125)]
)
def test_progress_is_a_share(done, share):
    assert calendar_of(done=done).done == pytest.approx(share, rel=1e-15)
    assert calendar_of().values == {"start": None, "deadline": None, "done": 0.0}


def log(tmp_path, text: str) -> str:
    path = tmp_path / "train.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_last_row_of_a_training_log_says_how_far_and_when(tmp_path):
    path = log(tmp_path, "time,step,loss\n2027-01-10 08:00,10000,3.1\n2027-01-20 08:00,40000,2.2\n")
    dates = calendar_of(done=path, of_steps=100_000, zone="Europe/Berlin")
    assert dates.done == 0.4 and dates.start == datetime(2027, 1, 20, 7, tzinfo=UTC)
    assert calendar_of("2027-02-01", done=path, of_steps=1e5).start == datetime(2027, 2, 1, tzinfo=UTC)
    assert calendar_of(deadline="2027-01-20", done=path, of_steps=1e5).deadline_h == 16


def test_a_log_that_a_spreadsheet_wrote_is_read(tmp_path):
    path = log(tmp_path, "\ufefftime,step\r\n2027-01-10 08:00,250\r\n\r\n")
    assert calendar_of(done=path, of_steps=1000).done == 0.25


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"start": "2027-02-30"}, "start must be a date that there is, e.g. 2027-03-01, got '2027-02-30'"),
        ({"start": "03/01/2027"}, "start must be a date with the year first, e.g. 2027-03-01, got '03/01/2027'"),
        ({"start": "soon"}, "start must be a date with the year first, e.g. 2027-03-01, got 'soon'"),
        (
            {"start": "2027-01-01", "deadline": "2027-13-01"},
            "deadline must be a date that there is, e.g. 2027-03-01, got '2027-13-01'",
        ),
        (
            {"start": "2027-01-15", "deadline": "2027-01-10"},
            "deadline must be after the start, 2027-01-15 00:00, got 2027-01-10",
        ),
        (
            {"start": "2027-01-15", "deadline": "2027-01-15 00:00"},
            "deadline must be after the start, 2027-01-15 00:00, got 2027-01-15 00:00",
        ),
        (
            {"deadline": "2027-03-08"},
            "a deadline needs the start that it is counted from: --start with --deadline 2027-03-08",
        ),
        ({"start": "2027-01-15", "zone": "Europe/Berlim"}, "unknown zone 'Europe/Berlim'"),
        ({"start": "2027-01-15", "zone": "+15:00"}, "+15:00"),
        ({"done": 1.0}, "done must be at least 0 and below 1, e.g. 0.4 or 40%, got 1.0"),
        ({"done": "140%"}, "done must be at least 0 and below 1, e.g. 0.4 or 40%, got 140%"),
        ({"done": -0.1}, "done must be at least 0 and below 1, e.g. 0.4 or 40%, got -0.1"),
        ({"done": "nan"}, "done must be at least 0 and below 1, e.g. 0.4 or 40%, got nan"),
        ({"done": "half"}, "done must be a share, e.g. 40%, or a training log ending in .csv, got 'half'"),
        ({"done": "40%", "of_steps": 9.0}, "--of-steps goes with a training log: --done FILE.csv, with the columns"),
        ({"of_steps": 9.0}, "--of-steps goes with a training log: --done FILE.csv, with the columns time and step"),
        ({"done": "no.csv", "of_steps": 9.0}, "no.csv cannot be read as a training log: No such file or directory"),
        ({"done": "no.csv"}, "no.csv says how many steps are done, and --of-steps of how many: give it, e.g. "),
        ({"done": "no.csv", "of_steps": -3.0}, "no.csv says how many steps are done, and --of-steps of how many"),
    ],
)
def test_what_is_no_date_zone_or_share_is_one_sentence(asked, message):
    with pytest.raises(InputError) as error:
        calendar_of(**asked)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the columns time and step, and a row at least"),
        ("time,step\n", "must have the columns time and step, and a row at least"),
        ("when,step\n2027-01-10,5\n", "must have the columns time and step, and a row at least"),
        ("time,step\n2027-01-10,many\n", "step must be a number, got 'many' (last row of "),
        ("time,step\n2027-01-10\n", "step must be a number, got None (last row of "),
        ("time,step\n2027-01-10,nan\n", "step must be at least 0 and below --of-steps 100, got nan (last row of "),
        ("time,step\n2027-01-10,100\n", "step must be at least 0 and below --of-steps 100, got 100 (last row of "),
        ("time,step\n2027-01-10,-1\n", "step must be at least 0 and below --of-steps 100, got -1 (last row of "),
        ("time,step\n2027-02-30,5\n", "time must be a date that there is, e.g. 2027-03-01, got '2027-02-30'"),
        ("time,step\n10/01/2027,5\n", "time must be a date with the year first, e.g. 2027-03-01, got '10/01/2027'"),
    ],
)
def test_a_log_that_says_no_progress_is_one_sentence(tmp_path, text, message):
    with pytest.raises(InputError) as error:
        calendar_of(done=log(tmp_path, text), of_steps=100)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_log_that_is_no_text_is_one_sentence(tmp_path):
    path = tmp_path / "train.csv"
    path.write_bytes(b"time,step\n\xff\xfe\xff,5\n")
    with pytest.raises(InputError, match="cannot be read as a training log"):
        calendar_of(done=str(path), of_steps=100)
