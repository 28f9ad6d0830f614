"""Weather files: EPW and CSV, whole, broken, and of other years and zones."""

from __future__ import annotations

import numpy as np
import pytest

from ettr.core.errors import InputError
from ettr.files import weather

MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
EPW_HEAD = "LOCATION,Prineville,OR,USA,TMY3,726835,44.25,-121.17,-8.0,940\n" + "DESIGN CONDITIONS,0\n" * 7


def epw(value=lambda month, day, hour: 10.0 + month, years=None):
    """A year of EPW, its months from the years given."""
    lines = [EPW_HEAD]
    for month, n_days in enumerate(MONTHS, 1):
        year = (years or {}).get(month, 2005)
        for day in range(1, n_days + 1):
            for hour in range(1, 25):
                lines.append(f"{year},{month},{day},{hour},60,flags,{value(month, day, hour)},5.0,50,94000\n")
    return "".join(lines)


@pytest.fixture
def read(tmp_path):
    def _read(text, name="hall.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return weather.read(path)

    return _read


def csv(
    hours, stamp="2025-07-{day:02d}T{hour:02d}:00", value=lambda i: 20 + i / 100, header="time,temperature_2m (°C)"
):
    rows = [f"{stamp.format(day=1 + i // 24, hour=i % 24)},{value(i)}" for i in range(hours)]
    return "\n".join([header, *rows]) + "\n"


def test_epw_is_read_whole_with_place_zone_and_years(read):
    site = read(epw(years={1: 2001, 7: 2012}), "prineville.epw")
    assert (site.format, site.place) == ("epw", "Prineville, OR, USA")
    assert site.years == (2001, 2005, 2012) and "used for any year" in site.notes[0]
    assert site.ambient_c.shape == (8760,) and not np.isnan(site.ambient_c).any()
    assert site.ambient_c[0] == 11 and site.ambient_c[-1] == 22


def test_an_hour_of_epw_is_named_by_its_end(read):
    site = read(epw(lambda month, day, hour: float(hour)), "a.epw")
    assert site.ambient_c[:24].tolist() == [float(hour) for hour in range(1, 25)]
    first = site.window("01-01", 1)
    assert first["hour"].tolist() == [hour + 0.5 for hour in range(24)]


def test_a_window_goes_around_the_turn_of_the_year(read):
    window = read(epw(), "a.epw").window("12-31", 3)
    assert window["day"].tolist() == [0] * 24 + [1] * 24 + [2] * 24
    assert window["ambient_c"].tolist() == [22.0] * 24 + [11.0] * 48


def test_missing_values_of_epw_are_counted_and_short_gaps_filled(read):
    site = read(epw(lambda month, day, hour: 99.9 if (month, day, hour) == (3, 3, 3) else 10.0), "a.epw")
    assert site.ledger["n"].sum() == 1 and "sentinel" in site.ledger["reason"][0]
    assert "1 missing hours are interpolated linearly" in site.notes[0]
    assert not np.isnan(site.ambient_c).any()


def test_csv_of_a_service_with_lines_before_its_header(read):
    text = "latitude,longitude,elevation\n44.3,-121.2,900\n\n" + csv(48)
    site = read(text)
    assert site.format == "csv" and site.years == (2025,)
    assert site.covers == "07-01 to 07-02"
    assert "no time zone" in site.notes[0]
    assert site.window("07-01", 1)["ambient_c"].tolist() == pytest.approx([20 + i / 100 for i in range(24)])


def test_other_delimiters_units_in_the_header_and_finer_steps(read):
    rows = "\n".join(f"2025-07-01 {i // 6:02d}:{10 * (i % 6):02d};{i // 6}" for i in range(6 * 30 - 36))
    site = read("date_time;dry_bulb [°C]\n" + rows)
    assert site.window(None)["ambient_c"].tolist() == [float(hour) for hour in range(24)]
    assert site.ledger.set_index("reason")["n"]["another value of the same hour"] == 24 * 5


@pytest.mark.parametrize("columns", [{"header": "utc_time,temp_c"}, {"stamp": "2025-07-{day:02d}T{hour:02d}:00Z"}])
def test_times_in_utc_are_refused(read, columns):
    with pytest.raises(InputError, match="has times in UTC: give them in local standard time of the data hall"):
        read(csv(48, **columns))


def test_a_summer_clock_with_offsets_runs_on_as_it_began(read):
    rows = ["time,temperature"]
    rows += [f"2025-10-25T{hour:02d}:00+02:00,{hour}" for hour in range(24)]
    rows += [f"2025-10-26T{hour:02d}:00+01:00,{hour}" for hour in range(3, 24)]
    site = read("\n".join(rows))
    hours = np.flatnonzero(~np.isnan(site.ambient_c))
    assert hours[0] % 24 == 0 and np.ptp(np.diff(hours)) == 0


def test_another_year_is_said_so_and_month_and_day_stand_for_any(read):
    site = read(csv(48))
    with pytest.raises(InputError, match=r"has the weather of 2025, not of 2026: give only month and day, 07-01"):
        site.window("2026-07-01", 1)
    assert site.window("07-01", 2).equals(site.window("2025-07-01", 2))


def test_a_day_that_is_not_covered_is_named(read):
    with pytest.raises(
        InputError, match="has no weather for 07-03, one of the 4 days from 07-01; it covers 07-01 to 07-02"
    ):
        read(csv(48)).window("07-01", 4)


@pytest.mark.parametrize("starts", ["july", "13-01", "02-29", "2025-02-29", "7-1", "04-31"])
def test_what_is_no_day_is_refused(read, starts):
    with pytest.raises(InputError, match="starts must be a day such as 06-15"):
        read(csv(48)).window(starts, 1)


def test_impossible_temperatures_and_times_are_set_aside_and_counted(read):
    text = csv(48) + "2025-07-03T00:00,451\nyesterday,20\n2025-07-03T02:00,\n2025-07-03T03:00,warm\n2025-07-03T04:00\n"
    ledger = read(text).ledger.set_index("reason")
    counts = ledger["n"]
    assert ledger.loc["not a number such as 12.5", "example"] == "line 53, 'warm'"
    assert counts["temperature outside -90 to 60 °C"] == 1
    assert counts["no time such as 2026-06-15T14:00"] == 1
    assert counts["no temperature"] == counts["not a number such as 12.5"] == counts["fewer cells than the header"] == 1


def test_a_decimal_comma_is_read_where_it_does_not_separate_columns(read):
    point = csv(48, value=lambda i: f"{i / 4:.2f}")
    comma = point.replace(",", ";").replace(".", ",")
    assert read(comma).ambient_c == pytest.approx(read(point).ambient_c, nan_ok=True)
    assert any("decimal sign" in note for note in read(comma).notes)
    with pytest.raises(InputError, match="48 not parsed: more cells than the header"):
        read(point.replace(".", ","))


def test_the_parts_of_the_year_in_a_file_are_named(read):
    rows = csv(48) + csv(48, stamp="2025-12-{day:02d}T{hour:02d}:00").partition("\n")[2]
    assert read(rows).covers == "07-01 to 07-02, 12-01 to 12-02"


def test_29_february_is_set_aside(read):
    text = (
        csv(48, stamp="2024-02-{day:02d}T{hour:02d}:00").replace("2024-02-01", "2024-02-28").replace("-02-02", "-02-29")
    )
    site = read(text)
    assert site.ledger.set_index("reason")["n"]["29 February"] == 24 and site.covers == "02-28 to 02-28"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the weather file must not be empty"),
        ("a,b\n1,2\n", "neither EPW, nor CSV with a column of times"),
        ("time,temp_f\n2025-07-01T00:00,70\n", "must have temperatures in °C, got the column 'temp_f'"),
        ("time,temperature (K)\n2025-07-01T00:00,290\n", "must have temperatures in °C"),
        (csv(12), "must have at least 24 hours in a row, with gaps of up to 6 h; hall.csv has 12 hours, at most 12"),
        (csv(48, value=lambda i: 55 + i), "are they in °F or K?"),
        ("date,temperature\n" + "\n".join(f"2025-07-{d:02d},{d}" for d in range(1, 31)), "has 30 hours, at most 1"),
        ("time,temperature\nlater,20\n", "has no hour of weather: 1 not parsed: no time such as"),
        (
            "time,temperature\n2025-07-01T00:00,451\n",
            "has 1 of 1 temperatures outside -90 to 60 °C, the first in line 2: are they in °F or K?",
        ),
        ("LOCATION,Nowhere\n", "its LOCATION has 2 fields"),
    ],
)
def test_what_is_no_weather_is_refused(read, text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot read the weather file: .* does not exist"):
        weather.read(tmp_path / "none.epw")


def test_a_time_before_the_first_year_is_set_aside_like_any_other_that_cannot_be(read):
    rows = csv(48, header="time,temperature", stamp="2025-07-{day:02d}T{hour:02d}:00+14:00")
    site = read(rows + "0001-01-01T00:00+14:00,20\n2025-07-03T00:00+14:00,nan\n")
    assert site.ledger.set_index("reason")["n"].to_dict() == {
        "no time such as 2026-06-15T14:00": 1,
        "no temperature": 1,
    }


def test_a_day_around_the_turn_of_the_year_is_a_day(read):
    rows = [f"2025-12-31T{hour:02d}:00,1" for hour in range(12, 24)]
    rows += [f"2026-01-01T{hour:02d}:00,2" for hour in range(12)]
    assert len(read("\n".join(["time,temperature", *rows])).window()) == 24


def test_long_gaps_stay_empty_and_are_counted(read):
    lines = csv(72).splitlines()
    site = read("\n".join(lines[:10] + lines[14:30] + lines[50:]))
    assert any("4 missing hours are interpolated" in note for note in site.notes)
    assert any("20 hours in longer gaps are left out" in note for note in site.notes)
    assert np.count_nonzero(~np.isnan(site.ambient_c)) == 72 - 20


@pytest.mark.parametrize(("missing", "n_hours"), [(6, 72), (7, 65)])
def test_a_gap_is_filled_up_to_six_hours(read, missing, n_hours):
    lines = csv(72).splitlines()
    site = read("\n".join(lines[:11] + lines[11 + missing :]))
    assert np.count_nonzero(~np.isnan(site.ambient_c)) == n_hours
