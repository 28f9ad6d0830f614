"""Tables in any order and wording, against the csv module, with every row accounted for."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ettr.core.errors import InputError

PLAIN = """start,end,node,component,cause
2024-05-02 10:00:00,2024-05-02 12:00:00,n01,GPU,Xid 79
2024-05-01 10:00:00,,n02,NIC,link down
2024-05-03 10:00:00,2024-05-03 10:30:00,n01,GPU,Xid 48
"""


def test_a_plain_table(read):
    log = read(PLAIN)
    assert (log.format, log.n_nodes, log.n_records, log.node_days) == ("csv", 16, 3, 16 * 31)
    assert log.events.columns.tolist() == ["start", "end", "node", "component", "cause", "planned"]
    assert log.events["node"].tolist() == ["n02", "n01", "n01"]
    assert log.events["cause"].tolist() == ["link down", "Xid 79", "Xid 48"]
    assert log.events["end"].isna().tolist() == [True, False, False]
    assert str(log.events["start"].dtype) == "datetime64[us, UTC]"
    assert [str(log.events[name].dtype) for name in ("node", "component", "cause")] == ["category"] * 3
    assert log.hours().tolist() == [10, 34, 58] and log.hours("end").tolist()[1:] == [36, 58.5]
    assert log.ledger.empty and not log.events["planned"].any()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 2, 0, 3, 1)])
def test_order_and_delimiter_do_not_matter(read, delimiter, order):
    rows = [line.split(",") for line in PLAIN.splitlines()]
    text = "\n".join(delimiter.join(row[place] for place in order) for row in rows)
    pd.testing.assert_frame_equal(read(text).events, read(PLAIN).events, check_categorical=False)


HEADERS = {
    "Opened At;Resolved At;Hostname;Part;Root Cause": {},
    "TIMESTAMP;closed;server_id;Category;Description": {},
    "failed_at;repaired;Machine;device;error_type": {},
    "start (UTC);end (UTC);node-id;class;kind": {},
    "t0;t1;who;what;why": {"start": "t0", "end": "T1", "node": "who", "component": "what", "cause": "why"},
    "when;t1;host;type;reason": {"end": "t1", "component": "type"},
    "startTime;endTime;nodeName;component;reason": {},
}


@pytest.mark.parametrize("header", HEADERS)
def test_columns_are_found_by_what_people_call_them(read, header):
    body = PLAIN.partition("\n")[2].replace(",", ";")
    log = read(header + "\n" + body, columns=HEADERS[header])
    pd.testing.assert_frame_equal(log.events, read(PLAIN).events)
    names = header.split(";")
    assert f"columns read: start from {names[0]!r}" in " ".join(log.notes)


def test_an_unknown_header_is_shown_with_a_way_to_map_it(read):
    with pytest.raises(InputError) as caught:
        read("foo,bar,baz\n1,2,3\n")
    assert "Columns found: 'foo', 'bar', 'baz'" in str(caught.value)
    assert '`columns={"start": "opened_at"' in str(caught.value)
    with pytest.raises(InputError, match="has no column 'opened' for start. Columns found: 'foo', 'bar'"):
        read("foo,bar\n1,2\n", format="csv", columns={"start": "opened"})


def test_starts_and_ends_in_rows_are_joined(read, count):
    rows = "2024-05-02,a,down,fan\n2024-05-03,b,DOWN,nic\n2024-05-04,a,up,\n2024-05-05,c,rumour,\n2024-05-06,c,up,\n"
    log = read("timestamp,host,status,reason\n" + rows)
    assert log.events["node"].tolist() == ["a", "b"] and log.events["cause"].tolist() == ["fan", "nic"]
    assert log.hours("end")[0] == 72 and log.events["end"].isna().tolist() == [False, True] and log.n_records == 5
    assert count(log, "not parsed", "neither a word for down") == count(log, "dropped", "was up") == 1


def test_the_status_of_a_ticket_is_no_event(read):
    """An outage a row, whatever became of it since."""
    text = "opened_at,host,status\n2024-05-02,a,open\n2024-05-03,b,resolved\n2024-05-04,c,closed\n"
    assert len(read(text).events) == 3


def test_measurements_are_no_failures(read):
    text = "timestamp, index, power.draw [W]\n2024/05/02 00:22:27.858, 0, 412.3 W\n"
    with pytest.raises(InputError, match=r"columns of measurements such as 'power.draw \[W\]'"):
        read(text)
    assert len(read(text, columns={"start": "timestamp"}).events) == 1


def test_cohort_columns_are_kept(read):
    text = "start,node,gen\n2024-05-02,a,H100\n2024-05-03,b,A100\n2024-05-04,c,\n"
    log = read(text, columns={"generation": "gen"}, cohort_nodes={"generation": {"H100": 10, "A100": 6}})
    assert log.events["generation"].astype(object).where(log.events["generation"].notna(), None).tolist() == [
        "H100",
        "A100",
        None,
    ]
    assert log.cohort_nodes["generation"]["A100"] == 6


PLANNED = {
    "yes": True,
    "TRUE": True,
    "1": True,
    "planned": True,
    " y ": True,
    "no": False,
    "": False,
    "unplanned": False,
}


def test_planned_work_is_marked_and_an_unclear_plan_is_a_failure_and_said(read):
    rows = "".join(f"2024-05-{day:02d},a,{text}\n" for day, text in enumerate([*PLANNED, "maybe"], 1))
    log = read("start,node,planned\n" + rows)
    assert log.events["planned"].tolist() == [*PLANNED.values(), False]
    assert len(log.failures) == 4
    assert "rows with neither yes nor no in the column planned, treated as failures: 1 (line 10: 'maybe')" in log.notes


def test_unknown_ends_are_open_and_odd_ones_are_said(read):
    ends = ["", "Unknown", "n/a", "-", "NULL", "ongoing", "whenever", "5-Apr"]
    rows = "\n".join(f"2024-05-{day:02d},{end}" for day, end in enumerate(ends, 2))
    log = read("start,end\n" + rows + "\n")
    assert len(log.events) == len(ends) and log.events["end"].isna().all()
    assert "ends that are not times, treated as unknown: 2 (the first: line 8: 'whenever')" in log.notes


def test_rows_that_cannot_be_read_are_counted_by_reason(read, count):
    text = PLAIN + (
        "5-Apr,,n1,GPU,x\n"  # line 5
        "2024-05-04,2024-05-03,n1,GPU,x\n"
        "2024-05-04 10:00,n1\n"
        "2024-05-04,2024-05-05,n1,GPU,x,y,z\n"
        "\n"
        ",,,,\n"
        "garbage,,,,\n"
        "2024-05-05,,n3,GPU,x,\n"  # a delimiter at the end is no cell
    )
    more = "".join(f"2024-05-1{i},,n4,GPU,x\n" for i in range(4))
    text += more
    log = read(text)
    assert log.ledger.sort_values("example")[["reason", "n", "example"]].to_numpy().tolist() == [
        ["start: no time", 1, "line 10"],
        ["start: not a time", 1, "line 11: 'garbage'"],
        ["start: date shortened by a spreadsheet, such as 5-Apr", 1, "line 5: '5-Apr'"],
        ["end before start", 1, "line 6"],
        ["too few cells", 1, "line 7"],
        ["too many cells", 1, "line 8"],
    ]
    assert set(log.ledger["action"]) == {"not parsed"}
    assert len(log.events) == 8 and log.n_records == 14 == sum(bool(line) for line in text.splitlines()) - 1


# --------------------------------------------------------------------------- dates and hours in two columns

DATED = {
    "Date,Time,Node\n2024-05-02,10:00:00,a\n2024-05-03,11:30,b\n": {},
    "node;date;hour\na;2 mai 2024;10:00\nb;3 mai 2024;11:30\n": {},
    "ID | Date | Time | Event\n1 | May-02-2024 | 10:00:00 | ECC\n2 | May-03-2024 | 11:30:00 | ECC\n": {},
    "Event Time,Event Date\n10:00 AM,20240502\n11:30 AM,20240503\n": {},
    "date,time\n2024-05-02 00:00:00.000,10:00\n2024-05-03 00:00:00.000,11:30\n": {},
    "Date,Time\n2024-05-02,10:00\n2024-05-03,11:30\n": {"start": "Date"},
    "Datum;Uhrzeit\n02.05.2024;10:00\n03.05.2024;11:30\n31.05.2024;\n": {"start": "Datum+Uhrzeit"},
}


@pytest.mark.parametrize("text", DATED)
def test_a_column_of_dates_and_one_of_hours_are_one_time(read, text):
    log = read(text, columns=DATED[text])
    assert log.hours()[:2].tolist() == [34, 59.5]
    assert "+" in next(note for note in log.notes if "columns read" in note)


def test_ends_have_their_date_too_or_that_of_the_start(read):
    rows = "2024-05-02,10:00,{}12:00\n2024-05-03,11:00,{}12:30\n"
    log = read("Start Date,Start Time,End Date,End Time\n" + rows.format("2024-05-03,", "2024-05-04,"))
    assert log.hours("end").tolist() == [60, 84.5]
    assert read("Date,Start Time,End Time\n" + rows.format("", "")).hours("end").tolist() == [36, 60.5]


def test_an_unclear_date_has_its_line(read):
    with pytest.raises(InputError, match="line 3: dates must have an unambiguous .*got '05/06/2024'"):
        read("start,node\n2024-05-02,a\n05/06/2024,b\n")


def test_hours_that_may_belong_to_a_date_are_never_dropped_silently(read):
    with pytest.raises(InputError, match="next to the dates in 'Date'.*'Time' has values such as '36000'"):
        read("Date,Time\n2024-05-02,36000\n2024-05-03,39600\n")
    for cell in ("10", "10h", "10.30"):
        with pytest.raises(InputError, match=f"'hour' has values such as '{cell}'"):
            read(f"date,hour\n2024-05-02,{cell}\n2024-05-03,{cell}\n")
    with pytest.raises(InputError, match="time zone in letters.*'2024-05-02 10:00 CEST'"):
        read("Date,Time\n2024-05-02,10:00 CEST\n", columns={"start": "Date"})
    log = read("Date,Time\n2024-05-02,morning\n2024-05-03,noon\n", columns={"start": "Date"})
    assert log.hours().tolist() == [24, 48] and "start is read without hours: " in " ".join(log.doubts)
    log = read(
        "Date,Time\n2024-05-02,36000\n2024-05-03,39600\n", columns={"start": "Time"}, time_unit="s", window="0..86400"
    )
    assert log.hours().tolist() == [10, 11]
    log = read("Date,Travel Time\n2024-05-02,10:00\n2024-05-03,11:00\n")
    assert log.hours().tolist() == [24, 48] and "columns={'start': 'Date+Travel Time'}" in " ".join(log.doubts)
    log = read("Date,Repair Time\n2024-05-02,02:30\n")  # a duration, or the hour of the end
    assert log.events["end"].isna().all() and any("ends that are not times" in note for note in log.notes)
    with pytest.raises(InputError, match="hour without a date \\(line 2: '10:00'\\)"):
        read("Time,Node\n10:00,a\n")


# --------------------------------------------------------------------------- no header, or not in the first line

WITHOUT_HEADER = {
    "2024-05-02 10:00,gpu-07,Xid 79\n2024-05-03 10:00,gpu-08,ECC\n": '["start", "node", "cause"]',
    "1 | 05/02/2024 | 10:00:00 | Memory #0x53 | ECC\n2 | 05/23/2024 | 10:00:00 | Memory #0x5 | ECC\n": (
        '["column1", "date", "time", "cause", "column5"]'
    ),
    "1 | Pre-Init  |0000000033| ECC\n2 | 05/02/2024 | 10:00:00 AM CEST | ECC\n": '["column1", "date", "time", "cause"]',
    "failure,open,2024-05-02\nhang,shut,2024-05-03\n": '["cause", "column2", "date"]',
    "failed,2024-05-02\nhang,2024-05-03\n": '["cause", "date"]',  # a word that is also a name
    "1717236000,gpu-07\n1717246000,gpu-08\n": '["start", "node"]',
    "gpu-07\t2024-05-02T10:00:00Z\t\ngpu-08\t2024-05-03T10:00:00Z\tECC\n": '["node", "start", "column3"]',
    "gpu,n7,Juin\ngpu,n8,Juil\n": '["cause", "node", "column3"]',
}


@pytest.mark.parametrize("text", WITHOUT_HEADER)
def test_a_first_row_is_no_header(read, text):
    with pytest.raises(InputError, match="must have a header: its first line has the value") as caught:
        read(text)
    assert f"`header={WITHOUT_HEADER[text]}`" in str(caught.value)


def test_names_of_columns_for_a_table_without_a_header(read):
    log = read("2024-05-02 10:00,gpu-07,Xid 79\n2024-05-03,gpu-08,\n", header=["start", "node", "cause"])
    assert log.events["node"].tolist() == ["gpu-07", "gpu-08"] and log.n_records == 2
    log = read("a;2,5;1,5;2024-05-02\nb;1;2;2024-05-03\n", header=["node", "x", "y", "start"])  # more commas
    assert log.events["node"].tolist() == ["a", "b"]
    with pytest.raises(InputError, match="got 2 for 3 cells: 'start', 'node'; the first line is '2024-05-02,a,x'"):
        read("2024-05-02,a,x\n", header=["start", "node"])
    with pytest.raises(InputError, match="different name for each column.*got node twice"):
        read("2024-05-02,a,x\n", header=["start", "node", "node"])
    with pytest.raises(InputError, match="`header` applies only to tables"):
        read('{"start": "2024-05-02"}\n', format="events", header=["start"])


def test_numbers_and_dates_may_be_names_of_columns(read):
    assert len(read("0,1\n2024-05-02,a\n2024-05-03,b\n", columns={"start": "0", "node": "1"}).events) == 2
    with pytest.raises(InputError, match="must have a column with the start"):
        read("node,2024-05-02\na,1\nb,0\n")


def test_a_line_of_excel_with_the_separator_is_no_header(read):
    log = read('\ufeffsep=;\n"start";"node";"duration (h)"\n"2024-05-02";"n1,n2";"2,5"\n')
    assert log.hours("end").tolist() == [26.5, 26.5] and log.events["node"].tolist() == ["n1", "n2"]


def test_blanks_between_cells_are_refused_with_a_command(read):
    with pytest.raises(InputError, match=r"sed -E 's/ \{2,\}/;/g' FILE"):
        read("start             node\n2024-05-02 10:00  a\n")


# --------------------------------------------------------------------------- decimal commas


@pytest.mark.parametrize("cells", [("2,5", "1,234", "12"), ("2,5 h", "1,234 h", "12 h")])
def test_a_comma_is_a_decimal_sign_between_semicolons(read, cells):
    log = read("start;node;duration_h\n" + "".join(f"2024-05-0{i};7,8;{cell}\n" for i, cell in enumerate(cells, 2)))
    hours = (log.events["end"] - log.events["start"]).dt.total_seconds() / 3600
    assert hours.tolist() == pytest.approx([2.5, 2.5, 1.234, 1.234, 12, 12])
    assert log.events["node"].tolist() == ["7", "8"] * 3  # lists of nodes stay lists
    assert "commas in 'duration_h' are read as decimal signs: 2,5 is 2.5" in log.notes


def test_times_since_an_origin_may_have_a_decimal_comma(read):
    assert read("start;node\n0,5;a\n3,25;b\n", window="0..10").hours().tolist() == [12, 78]


@pytest.mark.parametrize("delimiter", [",", "\t", "|"])
def test_a_comma_that_may_separate_thousands_is_refused_elsewhere(read, delimiter):
    def table(*cells):
        return f"start{delimiter}duration_h\n" + "".join(f'2024-05-02{delimiter}"{cell}"\n' for cell in cells)

    log = read(table("2,5", "0,125", "soon", "1,234,567"))
    assert np.sort(log.hours("end"))[:2].tolist() == [24.125, 26.5] and log.events["end"].isna().sum() == 2
    assert "durations that cannot be read, treated as unknown: 2 (the first: line 4: 'soon')" in log.notes
    for cell in ("1,234", "1,234 h"):
        with pytest.raises(InputError, match=f"got '{cell}'.*write 1234"):
            read(table("2,5", cell))


def test_points_between_thousands_and_decimal_commas_are_refused(read):
    with pytest.raises(InputError, match="got '1.234': write 1234 or 1.234"):
        read("start;duration_h\n2024-05-02;2,5\n2024-05-03;1.234\n")
    log = read("start;duration_h\n2024-05-02;2,5\n2024-05-03;1.234,5\n", window="2024-05-01/2024-08-01")
    assert log.hours("end").tolist() == [26.5, 48 + 1234.5]


@pytest.mark.parametrize(("delimiter", "is_doubtful"), [(";", True), (",", False)])
def test_points_that_may_separate_thousands_are_a_caution_between_semicolons(read, delimiter, is_doubtful):
    rows = [("start", "node", "duration_s"), *((f"2024-05-0{i}", "a", f"{i}.500") for i in (2, 3))]
    doubts = read("\n".join(map(delimiter.join, rows)), window="2024-05-01/2024-06-01").doubts
    assert any("1.500 is not 1500" in doubt for doubt in doubts) == is_doubtful


# --------------------------------------------------------------------------- quotes


def test_quoted_cells_may_hold_anything(read):
    text = 'start,cause,node\n2024-05-02,"a, ""b""\nand\n\nc",n1\n2024-05-03, "x,y" ,n2\n2024-05-04,5" fan,n3\n'
    log = read(text)
    assert log.events["cause"].tolist() == ['a, "b" and c', "x,y", '5" fan']
    assert log.events["node"].tolist() == ["n1", "n2", "n3"] and log.n_records == 3


def test_a_quote_that_never_closes_costs_its_row(read, count):
    rows = [f"2024-05-02 {i // 60:02d}:{i % 60:02d},n{i % 9},fine" for i in range(600)]
    rows[100] = '2024-05-02 01:40,"n1,broken'
    log = read("start,node,cause\n" + "\n".join(rows) + "\n")
    assert count(log, "not parsed", "unclosed quote") == 1
    assert log.ledger["example"][0] == "line 102"
    assert len(log.events) == 599


def test_a_quote_that_swallows_rows_gives_them_back(read, count):
    """The quote of line 3 closes in line 5: one bad row, not three."""
    text = 'start,node,cause\n2024-05-02,a,x\n2024-05-03,"b,y\n2024-05-04,c,z\n2024-05-05,d,w"\n2024-05-06,e,v\n'
    log = read(text)
    assert log.events["node"].tolist() == ["a", "c", "d", "e"]
    assert count(log, "not parsed") == 1 and log.n_records == 5


cells = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], include_characters="\n\t"), max_size=12)
days = st.integers(1, 30).map(lambda day: f"2024-05-{day:02d}")


@given(rows=st.lists(st.tuples(days, cells, cells), min_size=1, max_size=25), delimiter=st.sampled_from(",;\t|"))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_the_csv_module_writes_is_read_back(read, rows, delimiter):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([("start", "node", "cause"), *rows])
    log = read(out.getvalue(), n_nodes=100, format="csv")
    merged = int(log.ledger["n"].sum())
    assert len(log.events) + merged == len(rows) == log.n_records
    assert set(log.ledger["action"]) <= {"merged"}
    silent = {"", "-", "--", "?", "n/a", "na", "nan", "nat", "null", "none", "\\n"}
    expected = {
        (day, *(None if text.strip().lower() in silent else " ".join(text.split()) for text in texts))
        for day, *texts in rows
    }
    events = {
        (f"{start:%Y-%m-%d}", *(None if pd.isna(text) else text for text in texts))
        for start, *texts in log.events[["start", "node", "cause"]].itertuples(index=False)
    }
    assert events == expected
