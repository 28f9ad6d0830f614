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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": "2027-02-30"}, "start must be an existing date, e.g. 2027-03-01, got '2027-02-30'"),
        ({"start": "03/01/2027"}, "start must be a date with the year first, e.g. 2027-03-01, got '03/01/2027'"),
        (
            {"start": "2027-01-15", "deadline": "2027-01-10"},
            "deadline must be after the start 2027-01-15 00:00, got 2027-01-10",
        ),
        (
            {"deadline": "2027-03-08"},
            "deadline needs a start date, got deadline 2027-03-08 alone",
        ),
        ({"start": "2027-01-15", "zone": "Europe/Berlim"}, "unknown zone 'Europe/Berlim'"),
        ({"done": 1.0}, "done must be at least 0 and below 1, e.g. 0.4 or 40%, got 1.0"),
        ({"done": "nan"}, "done must be at least 0 and below 1, e.g. 0.4 or 40%, got nan"),
        ({"done": "half"}, "done must be a share, e.g. 40%, got 'half'"),
    ],
)
def test_what_is_no_date_zone_or_share_is_one_sentence(arguments, message):
    with pytest.raises(InputError) as error:
        calendar_of(**arguments)
    assert message in str(error.value) and "\n" not in str(error.value)
