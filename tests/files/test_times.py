"""Time stamps against the standard library and pandas, and what is never guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.core.errors import InputError
from ettr.files.clock import StampClock
from ettr.files.ledger import Ledger
from ettr.files.times import NoTime, joined, time_part, why_not

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def clock_of(**options):
    ledger = Ledger()
    return StampClock(ledger, **options), ledger


def us(text, **options):
    return clock_of(**options)[0].us(text)


def us_at(*parts):
    return (datetime(*parts, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


WRITTEN = {
    "2024-02-13 04:12:33": us_at(2024, 2, 13, 4, 12, 33),
    "2024-02-13T04:12:33Z": us_at(2024, 2, 13, 4, 12, 33),
    "2024-02-13T04:12:33.5": us_at(2024, 2, 13, 4, 12, 33, 500_000),
    "2024-04-04 12:32:00,896": us_at(2024, 4, 4, 12, 32, 0, 896_000),
    "2024-02-13T04:12:33.123456789Z": us_at(2024, 2, 13, 4, 12, 33, 123_456),
    "2025/07/27 00:22:27.858": us_at(2025, 7, 27, 0, 22, 27, 858_000),
    "2024-02-13T04:12:33+08:00": us_at(2024, 2, 12, 20, 12, 33),
    "2024-02-13 04:12:33 -0530": us_at(2024, 2, 13, 9, 42, 33),
    "2024-02-13T04:12:33+08": us_at(2024, 2, 12, 20, 12, 33),
    "2024-02-13 04:12:33 UTC": us_at(2024, 2, 13, 4, 12, 33),
    "2024-02-13 04:12": us_at(2024, 2, 13, 4, 12),
    "2024-02-13": us_at(2024, 2, 13),
    "2024-2-3 4:05": us_at(2024, 2, 3, 4, 5),
    "Tue Feb 13 04:12:33 2024": us_at(2024, 2, 13, 4, 12, 33),
    "Feb 13, 2024 4:12:33 PM": us_at(2024, 2, 13, 16, 12, 33),
    "13-Feb-2024 12:05 AM": us_at(2024, 2, 13, 0, 5),
    "25/03/2024 10:00": us_at(2024, 3, 25, 10),
    "03/25/2024": us_at(2024, 3, 25),
    "2016-12-31 23:59:60": us_at(2017, 1, 1),
    "13/Feb/24 4:12 PM": us_at(2024, 2, 13, 16, 12),  # trackers
    "13/Feb/2024:04:12:33 +0100": us_at(2024, 2, 13, 3, 12, 33),  # web servers
    "Feb-13-2024,04:12:33": us_at(2024, 2, 13, 4, 12, 33),  # FreeIPMI
    "13-FEB-24 04.12.33.500000 PM": us_at(2024, 2, 13, 16, 12, 33, 500_000),  # databases
    "2024-02-13-04.12.33.675872": us_at(2024, 2, 13, 4, 12, 33, 675_872),  # Blue Gene
    "20240213T041233Z": us_at(2024, 2, 13, 4, 12, 33),
    "20240213T041233.5+0200": us_at(2024, 2, 13, 2, 12, 33, 500_000),
    "20240213-041233": us_at(2024, 2, 13, 4, 12, 33),
    "2024-02-13 04:12:33.123456789 +0000 UTC": us_at(2024, 2, 13, 4, 12, 33, 123_456),  # Go
    "2024-02-13 04:12:33.5 -0700 PDT m=+0.013": us_at(2024, 2, 13, 11, 12, 33, 500_000),
    "Tue Feb 13 2024 04:12:33 GMT+0100 (Central European Standard Time)": us_at(2024, 2, 13, 3, 12, 33),
    "Tue, 13 Feb 2024 04:12:33 GMT": us_at(2024, 2, 13, 4, 12, 33),
    "Tuesday, 13-Feb-24 04:12:33 GMT": us_at(2024, 2, 13, 4, 12, 33),
    "Tue Feb 13 04:12:33 UTC 2024": us_at(2024, 2, 13, 4, 12, 33),
    "February 13, 2024 at 4:12 p.m.": us_at(2024, 2, 13, 16, 12),
    "2024-02-13, 4:12:33\u202fPM": us_at(2024, 2, 13, 16, 12, 33),
    "2024-Feb-13 04:12": us_at(2024, 2, 13, 4, 12),
    "13 févr. 2024 à 04h12": us_at(2024, 2, 13, 4, 12),
    "Di, 13. Februar 2024, 04:12 Uhr": us_at(2024, 2, 13, 4, 12),
    "13 de febrero de 2024 04:12": us_at(2024, 2, 13, 4, 12),
    "2024年2月13日 04:12": us_at(2024, 2, 13, 4, 12),
    "25.03.2024, 10:00 Uhr": us_at(2024, 3, 25, 10),
    "2024-02-13T24:00": us_at(2024, 2, 14),
    "1717000000": 1_717_000_000_000_000,
    "1717000000.25": 1_717_000_000_250_000,
    "1717000000123": 1_717_000_000_123_000,
    "1717000000123456": 1_717_000_000_123_456,
    "12.5": int(12.5 * 86400e6),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_ways_to_write_a_time(text):
    assert us(f" {text} ") == WRITTEN[text]
    column, good = clock_of()[0].us_series(pd.Series([text] * 3, dtype=object))
    assert good.all() and column.tolist() == [WRITTEN[text]] * 3


BAD = {
    "": "no time",
    "5-Apr": "date shortened by a spreadsheet, such as 5-Apr",
    "Apr-05": "date shortened by a spreadsheet, such as 5-Apr",
    "03/04/25": "year with two digits",
    "1899-12-30": "year outside 1990-2100",
    "9999-12-31 23:59:59": "year outside 1990-2100",
    "2024-01-01 10:00 PST": "time zone in letters, which may mean several: write an offset such as +02:00",
    "Mon Jan  1 10:00:00 CET 2024": "time zone in letters, which may mean several: write an offset such as +02:00",
    "2024-01-01 10:00:00 +0200 UTC": "not a time",  # a contradiction
    "01 Jun 10:00:00": "not a time",  # no year: 10 is the hour
    "Jun-01-10:00:00": "not a time",
    "01/Jui/24": "not a time",  # juin or juillet
    "from 1 Jan 2024": "not a time",
    "2024-01-01 24:01": "not a time",
    "10:00": "hour without a date",
    "-3.5": "number that is not a time",
    "150000000": "number that is not a time",  # 1974: before there were such machines
    "2024-13-01": "not a time",
    "2024-02-30": "not a time",
    "2024-01-01 25:00": "not a time",
    "Feb 13, 2024 14:00 PM": "not a time",
    "yesterday": "not a time",
    "nan": "not a time",
    "٢٠٢٤-01-01": "not a time",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_time_has_a_reason(text):
    with pytest.raises(NoTime):
        us(text)
    assert why_not(text) == BAD[text]
    column, good = clock_of()[0].us_series(pd.Series(["2024-01-01 00:00:00", text], dtype=object))
    assert good.tolist() == [True, False] and column[1] == 0


SHAPES = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y/%m/%d %H:%M:%S,%f", "%Y-%m-%d %H:%M", "%d %b %Y %H:%M:%S"]


@given(
    moments=st.lists(st.datetimes(datetime(1990, 1, 1), datetime(2100, 12, 31)), min_size=1, max_size=12),
    shapes=st.lists(st.sampled_from(SHAPES), min_size=12, max_size=12),
    hours=st.integers(-12, 14),
)
@settings(max_examples=30, deadline=None)
def test_a_column_is_read_as_its_items_are(moments, shapes, hours):
    """Mixed ways of writing in one column; both roads agree, and with the moment that was written."""
    texts = [moment.strftime(shape) for moment, shape in zip(moments, shapes, strict=False)]
    zone = timezone(timedelta(hours=hours))
    column, good = clock_of(zone=zone)[0].us_series(pd.Series(texts, dtype=object))
    assert good.all()
    assert column.tolist() == [us(text, zone=zone) for text in texts]
    for text, shape, time_us in zip(texts, shapes, column.tolist(), strict=False):
        meant = datetime.strptime(text, shape).replace(tzinfo=zone)
        assert time_us == (meant - EPOCH) // timedelta(microseconds=1)


# --------------------------------------------------------------------------- zones


@pytest.mark.parametrize(("name", "step"), [("America/New_York", 1.0), ("Australia/Lord_Howe", 0.5)])
def test_local_times_are_those_of_the_zone_database(name, step):
    """A year of every 10 minutes, written in local time and read back: only the hour that comes twice may move."""
    moments = pd.date_range("2024-01-01", "2025-01-01", freq="10min", tz="UTC")
    texts = pd.Series(moments.tz_convert(name).strftime("%Y-%m-%d %H:%M:%S"), dtype=object)
    clock, ledger = clock_of(zone=ZoneInfo(name))
    times_us, good = clock.us_series(texts)
    off = (moments.tz_localize(None).to_numpy("datetime64[us]").astype(np.int64) - times_us) / 3600e6
    assert good.all() and set(off.tolist()) == {0.0, step}
    assert (off != 0).sum() == 6 * step
    ledger.close()
    twice = [note for note in ledger.notes if "ambiguous" in note]
    assert twice == [f"ambiguous local times when clocks were set back, read as the first: {int(12 * step)}"]


def test_a_time_that_the_clock_skipped_moves_forward():
    clock, ledger = clock_of(zone=ZoneInfo("America/New_York"))
    column, _ = clock.us_series(pd.Series(["2024-03-10 02:30:00"], dtype=object))
    assert column[0] == clock.us("2024-03-10 02:30") == us_at(2024, 3, 10, 7, 30)
    ledger.close()
    assert "local times skipped when clocks were set forward, moved forward: 2" in ledger.notes


def test_mixed_zones_are_counted_and_refused():
    clock, ledger = clock_of()
    clock.us_series(pd.Series(["2024-01-01 10:00:00"] * 3 + ["2024-01-01T10:00:00Z"] * 2, dtype=object))
    with pytest.raises(InputError, match="2 have one and 3 do not"):
        ledger.close()
    clock, ledger = clock_of(zone=ZoneInfo("Asia/Tokyo"))
    times_us, _ = clock.us_series(pd.Series(["2024-01-01 10:00:00", "2024-01-01T10:00:00Z"], dtype=object))
    ledger.close()
    assert times_us.tolist() == [us_at(2024, 1, 1, 1), us_at(2024, 1, 1, 10)]
    assert ledger.notes == ["times with a time zone: 1; without one, read in Asia/Tokyo: 1"]


# --------------------------------------------------------------------------- day and month


def test_the_order_of_day_and_month_is_never_guessed():
    for texts in (["03/04/2025"], ["03/04/2025", "5/6/2025 10:00"]):
        with pytest.raises(InputError, match="write ISO dates"):
            clock_of()[0].us_series(pd.Series(texts, dtype=object))
    with pytest.raises(InputError, match="got '03/04/2025'"):
        us("03/04/2025")


@pytest.mark.parametrize(("settles", "first", "month"), [("25/04/2025", "day", 4), ("04/25/2025", "month", 3)])
def test_one_part_above_12_settles_the_order(settles, first, month):
    clock, ledger = clock_of()
    times_us, good = clock.us_series(pd.Series(["03/04/2025", settles], dtype=object))
    assert good.all() and pd.Timestamp(times_us[0], unit="us").month == month
    assert clock.us("03/04/2025") == times_us[0]
    assert ledger.notes == [f"dates have the {first} first, as in {settles!r}"]


def test_both_orders_in_one_log_are_refused():
    clock, _ = clock_of()
    with pytest.raises(InputError, match="must have one order"):
        clock.us_series(pd.Series(["25/04/2025", "04/25/2025"], dtype=object))


def test_the_first_month_is_settled_by_a_command_if_the_file_cannot_settle_it():
    with pytest.raises(InputError, match="got '06/01/2025 10:00:00'.*if the month is first, e.g. sed"):
        us("06/01/2025 10:00:00")


def test_a_year_of_two_digits_is_read_next_to_a_month_by_name_only():
    assert [pd.Timestamp(us(f"1/Jun/{year}"), unit="us").year for year in ("00", "68", "99")] == [2000, 2068, 1999]
    with pytest.raises(NoTime):
        us("13/06/25")


PARTS = {
    "01/06/2025": "date",
    "20250601": "date",
    "06/01/25": "date",
    "2025-06-01T00:00:00.000": "date",
    "10:00 PM": "hour",
    "10:00:00 UTC": "hour",
    "1/Jun/25 10:00": "both",
    "gpu-07": "",
    "12": "",
    "1 Jun": "",
}


@pytest.mark.parametrize("text", PARTS)
def test_parts_of_a_time(text):
    assert time_part(text) == PARTS[text]


def test_a_date_and_an_hour_are_one_time():
    assert us(joined("2025-06-01 00:00:00.000", " 10:00 ")) == us("2025-06-01 10:00")
    assert joined("2025-06-01", "") == "2025-06-01" and joined("", "10:00") == "10:00"


# --------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("unit", "per_hour"),
    [("s", 3600), ("ms", 3.6e6), ("us", 3.6e9), ("ns", 3.6e12), ("min", 60), ("h", 1), ("d", 1 / 24)],
)
def test_units_that_the_user_names(unit, per_hour):
    clock, ledger = clock_of(time_unit=unit)
    assert clock.us(f"{1000.5 * per_hour:.12f}") == pytest.approx(1000.5 * 3600e6, abs=1)
    ledger.close()
    assert not ledger.calendar
    clock, ledger = clock_of(time_unit=unit)
    assert clock.us(repr(480_000 * per_hour)) == pytest.approx(480_000 * 3600e6, rel=1e-12)  # 2024
    ledger.close()
    assert ledger.calendar


def test_small_numbers_are_days_from_an_origin_and_said():
    clock, ledger = clock_of()
    column, good = clock.us_series(pd.Series(["0", "3.5", "348.98", "-1"], dtype=object))
    ledger.close()
    assert good.tolist() == [True, True, True, False] and column[1] == 302_400_000_000
    assert not ledger.calendar
    assert "up to 348.98, read as days since the start" in ledger.notes[0]


@pytest.mark.parametrize("text", ["20240330", "45381.5"])
def test_numbers_too_large_for_days_are_refused(text):
    """A date without separators, and a spreadsheet's day number."""
    words = {"20240330": "too large for days", "45381.5": "look like spreadsheet dates: write the column as yyyy-mm-dd"}
    clock, ledger = clock_of()
    with pytest.raises(NoTime):
        clock.us(text)
    assert why_not(text) == "number too large for days"
    clock.us("0")
    with pytest.raises(InputError, match=words[text]):
        ledger.close()
    clock, ledger = clock_of()
    clock.us_series(pd.Series(["2024-01-01", text], dtype=object))
    ledger.close()  # one stray number among dates is a row that is not parsed


def test_dates_and_small_numbers_do_not_mix():
    clock, ledger = clock_of()
    clock.us("2024-01-01")
    clock.us("7.5")
    with pytest.raises(InputError, match="1 are dates and 1 are small numbers, up to 7.5"):
        ledger.close()


# --------------------------------------------------------------------------- stamps without a year


def test_the_year_is_asked_for():
    with pytest.raises(InputError, match="`year`"):
        clock_of()[0].us_without_year(2, 13, 4, 12, 33)


YEARS = {
    "one log": [(11, 30, 2023), (12, 31, 2023), (1, 1, 2024), (6, 1, 2024), (10, 1, 2024), (3, 1, 2025)],
    "logs of three hosts": [(2, 1, 2023), (6, 30, 2023), (2, 2, 2023), (6, 29, 2023), (2, 1, 2023), (6, 30, 2023)],
    "rotated, the newest first": [(6, 1, 2023), (6, 30, 2023), (5, 1, 2023), (5, 31, 2023), (4, 1, 2023)],
    "the newest first, over a new year": [(1, 1, 2023), (1, 20, 2023), (12, 1, 2022), (12, 31, 2022), (11, 1, 2022)],
    "a quiet log": [(1, 6, 2023), (8, 20, 2023), (12, 10, 2023), (1, 2, 2024)],
    "two writers at midnight": [(12, 31, 2023), (1, 1, 2024), (12, 31, 2023), (1, 1, 2024)],
}


@pytest.mark.parametrize("name", YEARS)
def test_each_stamp_lies_within_half_a_year_of_the_one_before(name):
    clock, ledger = clock_of(year=2023)
    stamps = YEARS[name]
    assert [clock.us_without_year(month, day, 12, 0, 0) for month, day, _ in stamps] == [
        us_at(year, month, day, 12) for month, day, year in stamps
    ]
    ledger.close()
    first, last = min(year for *_, year in stamps), max(year for *_, year in stamps)
    assert any(f"span {first} to {last}" in note for note in ledger.notes) == (first < last)


def test_a_leap_day_needs_a_leap_year():
    assert clock_of(year=2024)[0].us_without_year(2, 29, 0, 0, 0) == us_at(2024, 2, 29)
    clock, _ = clock_of(year=2023)
    clock.us_without_year(12, 30, 0, 0, 0)
    assert clock.us_without_year(2, 29, 0, 0, 0, 5) == us_at(2024, 2, 29, 0, 0, 0, 5)
    clock, _ = clock_of(year=2022)
    with pytest.raises(InputError, match="stamp Feb 29 04:05:06 .* falls into 2022 .*`year`"):
        clock.us_without_year(2, 29, 4, 5, 6)
    clock.us_without_year(3, 1, 0, 0, 0)
    with pytest.raises(InputError, match="falls into 2022"):
        clock.us_without_year(2, 29, 0, 0, 0)
    for bad in ((2, 30, 0), (13, 1, 0), (1, 1, 24)):
        with pytest.raises(NoTime):
            clock_of(year=2024)[0].us_without_year(*bad, 0, 0)
