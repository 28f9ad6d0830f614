"""What `read` and `from_frame` make of failures: one window, one exposure, nothing lost."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ettr import logs
from ettr.core.errors import InputError, UnknownName
from ettr.logs.events import OPEN, Events
from ettr.logs.formats import ALL_FORMATS, FORMATS, TRAINING_FORMATS

HEADER = "start,end,node,component,cause\n"
PLAIN = HEADER + "2024-05-02 10:00,2024-05-02 12:00,n1,GPU,Xid 79\n2024-05-03 10:00,,n2,NIC,link down\n"


def fate(log):
    """Records by what became of them."""
    return {(row.action, row.reason): row.n for row in log.ledger.itertuples()}


# --------------------------------------------------------------------------- formats


def test_formats_are_listed_in_the_order_tried():
    frame = logs.formats()
    assert frame["name"].tolist() == [*FORMATS, *TRAINING_FORMATS]
    frame = frame.iloc[: len(FORMATS)]
    assert {"slurm", "slurm-json", "journal", "kubernetes", "redfish", "dcgm", "xid"} < set(frame["name"])
    assert frame["name"].tolist()[-3:-1] == ["torchrun", "events"]  # JSON that another format knows is that format's
    assert frame["name"].iloc[-1] == "csv"  # it takes what looks like a table, so it comes last
    assert frame["title"].str.len().min() > 10


def test_a_file_of_no_format_shows_its_first_line(read):
    with pytest.raises(InputError) as caught:
        read("\n" + "no header, just talk" * 20 + "\nand more\n")
    message = str(caught.value)
    assert "'no header, just talk" in message and '`columns={"start": "opened_at"' in message
    assert all(name in message for name in ALL_FORMATS) and len(message) < 500


# --------------------------------------------------------------------------- the window


WINDOWS = {
    "2024-05-01/2024-05-31": 31,
    "2024-05-01..2024-05-31": 31,
    "2024-05-01T06:00Z/2024-05-31T06:00Z": 30,
    "2024/05/01..2024/05/31": 31,
    ("2024-05-01", "2024-05-31"): 31,
    ("2024-05-01", "2024-05-31 00:00"): 30,
    "2024-05-03/2024-05-03": 1,
    (datetime(2024, 5, 1, tzinfo=UTC), pd.Timestamp("2024-05-31", tz="UTC")): 30,
    (date(2024, 5, 1), date(2024, 5, 31)): 31,
    ("1714521600", 1717113600): 30,
    "2024-05-01..": 2 + 10 / 24,
    "..2024-05-31": 31 - 1 - 10 / 24,
    None: 1,
    "..": 1,
}


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_ways_to_give_a_window(read, window):
    log = read(PLAIN, window=window)
    assert log.window_h / 24 == pytest.approx(WINDOWS[window], abs=1e-9)
    assert log.node_days == pytest.approx(16 * WINDOWS[window])
    notes = [note for note in log.notes if "not given: it runs from the first to the last time" in note]
    assert len(notes) == (window is None or (".." in window and "" in window.split("..")))


def test_a_window_is_read_in_the_zone_of_the_log(read):
    log = read(PLAIN, window="2024-05-01/2024-05-31", zone="America/New_York")
    assert log.window[1] == pd.Timestamp("2024-06-01 04:00Z")
    assert log.window[0] == pd.Timestamp("2024-05-01 04:00Z")
    assert log.hours().tolist() == [34, 58]


def test_a_window_that_holds_no_failure_is_refused(read):
    with pytest.raises(InputError, match=r"all 2 failures lie outside the window \(the first at 2024-05-02 10:00 U"):
        read(PLAIN, window="2023-05-01/2023-06-01")
    with pytest.raises(InputError, match="the only failure lies outside .*correct `window`, `year` or `time_unit`"):
        read("start\n2099-01-01\n", window=None)
    reaching = read(HEADER + "2024-04-02,2024-05-02,n1,,\n")  # the window is right, and nothing began in it
    assert len(reaching.events) == 0 and reaching.n_records == 1


def test_a_window_taken_from_the_log_ends_with_its_last_time(read):
    log = read(HEADER + "2024-05-02,2024-05-09,n1,,\n2024-05-03,2024-05-04,n1,,\n", window=None)
    assert log.window_h == 7 * 24


def test_relative_times_have_a_relative_window(read):
    text = "start,node\n3.5,a\n10,b\n"
    log = read(text, window="0..20")
    assert not log.calendar and log.node_days == 320 and (log.hours() / 24).tolist() == [3.5, 10]
    assert read(text, window=None).window_h == 240  # from the origin on
    assert read(text, window="2..48", time_unit="h").window_h == 46
    with pytest.raises(InputError, match="got dates; .* has numbers since an origin"):
        read(text)
    with pytest.raises(InputError, match="got numbers; .* has dates"):
        read(PLAIN, window="0..20")


def test_what_lies_outside_the_window_is_dropped_by_reason(read):
    rows = "2024-04-01,2024-04-02,a,,x\n2024-04-30,2024-05-02,b,,\n2024-04-30,,c,,\n2024-05-01,,d,,\n"
    rows += "2024-06-01,,e,,\n2024-06-01 00:01,,f,,\n"
    log = read(HEADER + rows)
    assert log.events["node"].tolist() == ["d", "e"]
    assert log.events["node"].cat.categories.tolist() == ["d", "e"]
    assert log.events["cause"].isna().all() and log.events["cause"].cat.categories.empty
    assert fate(log) == {
        ("dropped", "before the window"): 2,
        ("dropped", "began before the window and lasted into it"): 1,
        ("dropped", "after the window"): 1,
    }
    assert log.ledger.set_index("reason")["example"]["after the window"] == "line 7: start 2024-06-01 00:01:00 UTC"


# --------------------------------------------------------------------------- rows


def test_exact_repeats_are_merged(read):
    row = "2024-05-02 10:00,2024-05-02 12:00,n1,GPU,x\n"
    others = row.replace("12:00", "13:00") + row.replace("n1", "n2") + row.replace("GPU", "NIC") + row.replace("x", "y")
    log = read(HEADER + row + others + row * 3 + others)
    assert len(log.events) == 5 and fate(log) == {("merged", "exact duplicate"): 7} and log.n_records == 12


@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.sampled_from("ab")), max_size=40))
@settings(max_examples=30, deadline=None)
def test_repeats_are_those_of_a_set(rows):
    dates = [(f"2024-05-{day + 1:02d}", f"2024-05-{day + 1 + length:02d}", node) for day, length, node in rows]
    log = logs.from_frame(pd.DataFrame(dates, columns=["start", "end", "node"]), 2, "2024-05-01/2024-05-31")
    assert len(log.events) == len(set(rows)) and log.n_records == len(rows)


def test_failures_in_the_future_are_dropped(read):
    tomorrow = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d %H:%M}"
    log = read(PLAIN + f"{tomorrow},,n3,,\n2024-05-04,{tomorrow},n4,,\n", window="2024-05-01..")
    assert fate(log) == {("dropped", "in the future"): 1}
    assert log.window[1] == pd.Timestamp("2024-05-04", tz="UTC")  # an end in the future is none


@pytest.mark.parametrize("pattern", ["plan|upgrade", "PLAN|UPGRADE"])
def test_planned_work_is_found_by_a_pattern(read, pattern):
    rows = "2024-05-02,,a,GPU,Firmware Upgrade\n2024-05-03,,b,plan,Xid 79\n2024-05-04,,c,,\n"
    log = read(HEADER + rows, planned=pattern)
    assert log.events["planned"].tolist() == [True, False, False]
    assert f"planned work by a cause that matches {pattern!r}: 1" in log.notes
    silent = "2024-05-02,,a,GPU,\n2024-05-03,,b,plan,\n"
    assert read(HEADER + silent, planned=pattern).events["planned"].tolist() == [False, True]


STEPS = {
    "2024-05-{:02d}": 24,
    "2024-05-{:02d} 06:00": 24,
    "2024-05-{0:02d} {0:02d}:00": 1,
    "2024-05-{0:02d} 00:{0:02d}": 1 / 60,
    "2024-05-{0:02d} 00:00:{0:02d}": 1 / 3600,
    "2024-05-{0:02d} 00:00:00.0{0:02d}": 1 / 3.6e6,
    "2024-05-{0:02d} 00:00:00.0000{0:02d}": 1 / 3.6e6,
}


@pytest.mark.parametrize("stamp", STEPS)
def test_the_resolution_is_the_step_that_all_starts_share(read, stamp):
    days = [2, 3, 5, 7, 11, 13]
    log = read("start\n" + "\n".join(stamp.format(day) for day in days))
    assert log.resolution_h == pytest.approx(STEPS[stamp], rel=1e-12)
    assert read("start\n2024-05-02\n2024-05-03").resolution_h == 1 / 3600


# --------------------------------------------------------------------------- nodes


def test_nodes_are_asked_for(read):
    with pytest.raises(InputError, match=r"`n_nodes` must be given.*\(at least 2, which failed\)"):
        read(PLAIN, n_nodes=None)
    with pytest.raises(InputError, match=">= 2, the nodes that failed in .*, got 1"):
        read(PLAIN, n_nodes=1)
    assert read(PLAIN, n_nodes=2).n_nodes == 2
    assert read(PLAIN, n_nodes=10**9).node_days == 31e9


def test_nodes_of_cohorts_must_fit(read):
    text = "start,node,gen\n2024-05-02,a,H100\n2024-05-03,b,H100\n2024-05-04,c,A100\n"
    arguments = {"columns": {"generation": "gen"}}
    log = read(text, cohort_nodes={"generation": {"H100": 8, "B200": 4}}, **arguments)
    assert log.cohort_nodes == {"generation": {"H100": 8, "B200": 4}}
    with pytest.raises(InputError, match="must sum to at most n_nodes = 16, got 17"):
        read(text, cohort_nodes={"generation": {"H100": 8, "A100": 9}}, **arguments)
    with pytest.raises(InputError, match="generation H100 must be >= 2, the nodes that failed, got 1"):
        read(text, cohort_nodes={"generation": {"H100": 1}}, **arguments)
    with pytest.raises(UnknownName, match="cohort column 'gen'"):
        read(text, cohort_nodes={"gen": {"H100": 1}}, **arguments)


WRONG = {
    "n_nodes must be a whole number from 1 to 1,000,000,000, got 0": {"n_nodes": 0},
    "n_nodes must be a whole number from 1 to 1,000,000,000, got 2.5": {"n_nodes": 2.5},
    "n_nodes must be a whole number from 1 to 1,000,000,000, got True": {"n_nodes": True},
    "n_nodes must be a whole number from 1 to 1,000,000,000, got 1000000001": {"n_nodes": 10**9 + 1},
    "year must be a whole number from 1990 to 2100, got 24": {"year": 24},
    "unknown time unit 'week'": {"time_unit": "week"},
    "unknown zone 'Europe/Berlim' (`zone`, a name or an offset such as +08:00); did you mean 'Europe/Berlin'?": {
        "zone": "Europe/Berlim"
    },
    "zone must be at most 14 h from UTC, got '+15:00'": {"zone": "+15:00"},
    "planned must be a regular expression, got '(': ": {"planned": "("},
    "window must have a first and a last time, got '2024-05-01'": {"window": "2024-05-01"},
    "window must be two times, got 'May' in 'May/June'": {"window": "May/June"},
    "window must end after it starts, got '2024-05-02/2024-05-01'": {"window": "2024-05-02/2024-05-01"},
    "window must not end in the future": {"window": "2024-05-01/2090-01-01"},
    "`planned` must not be empty, because an empty pattern matches everything": {"planned": " "},
    "columns must map roles": {"columns": {"start": ""}},
    "cohort_nodes[g][a] must be a whole number": {"cohort_nodes": {"g": {"a": -1}}},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_the_user_says_is_checked(read, message):
    with pytest.raises(InputError, match=re.escape(message)):
        read(PLAIN, **WRONG[message])


@pytest.mark.parametrize("zone", ["+08:00", "UTC+8", "Asia/Singapore", "asia/singapore", ZoneInfo("Asia/Singapore")])
def test_ways_to_name_a_zone(read, zone):
    assert read(PLAIN, zone=zone, window=None).window[0] == pd.Timestamp("2024-05-02 02:00Z")


# --------------------------------------------------------------------------- a frame


def test_a_frame_is_read_as_its_file(read, write):
    log = read(PLAIN)
    again = logs.from_frame(pd.read_csv(write(PLAIN)), 16, "2024-05-01/2024-05-31")
    pd.testing.assert_frame_equal(again.events, log.events)
    assert (again.node_days, again.n_records, again.format) == (log.node_days, 2, "frame")


def test_a_frame_may_hold_datetimes_numbers_or_texts():
    starts = pd.date_range("2024-05-02", periods=3, freq="36h")
    window = "2024-05-01/2024-06-01"
    naive = logs.from_frame(pd.DataFrame({"start": starts}), 4, window, zone="Asia/Tokyo")
    aware = logs.from_frame(pd.DataFrame({"start": starts.tz_localize("Asia/Tokyo")}), 4, window, zone="Asia/Tokyo")
    texts = logs.from_frame(pd.DataFrame({"start": starts.astype(str)}), 4, window, zone="Asia/Tokyo")
    assert naive.hours().tolist() == aware.hours().tolist() == texts.hours().tolist() == [24, 60, 96]
    days = logs.from_frame(pd.DataFrame({"start": [1.5, 0.1 + 0.2, 7]}), 4, "0..10")
    assert not days.calendar and (days.hours() / 24).tolist() == pytest.approx([0.3, 1.5, 7])


def test_a_frame_without_a_start_is_refused():
    with pytest.raises(InputError, match="a column start, got when, node"):
        logs.from_frame(pd.DataFrame({"when": [1], "node": ["a"]}), 4, "0..10")
    with pytest.raises(InputError, match="different columns, got start, start"):
        logs.from_frame(pd.DataFrame([[1, 2]], columns=["start", "start"]), 4, "0..10")
    with pytest.raises(InputError, match="got list"):
        logs.from_frame([1, 2], 4, "0..10")


def test_rows_of_a_frame_that_are_no_failures_are_counted():
    frame = pd.DataFrame({"start": [1.0, None, 3.0, 4.0], "end": [2.0, 2.0, 1.0, 5.0]})
    log = logs.from_frame(frame, 4, "0..10")
    assert fate(log) == {("not parsed", "start: no time"): 1, ("not parsed", "end before start"): 1}
    assert log.n_records == 4


# --------------------------------------------------------------------------- what holds them


rows = st.lists(
    st.tuples(
        st.integers(-5, 10**15),
        st.one_of(st.none(), st.integers(0, 10**15)),
        st.sampled_from([None, "", "n1", "n2"]),
        st.sampled_from([None, "GPU", " GPU "]),
        st.booleans(),
        st.sampled_from([None, "A", "B"]),
    ),
    max_size=30,
)


@given(rows=rows, cut=st.integers(0, 30))
@settings(max_examples=50, deadline=None)
def test_one_by_one_and_at_once_are_the_same(rows, cut):
    """Half of the rows by `add`, half by `extend`, against a plain frame."""
    events = Events()
    rows = [(*row[:4], row[4] and place >= cut, row[5]) for place, row in enumerate(rows)]
    for start, end, node, component, _, gen in rows[:cut]:
        events.add(start, end, node=node, component=component, **({"gen": gen} if gen else {}))
    rest = rows[cut:]
    if rest:
        start, end, node, component, planned, gen = zip(*rest, strict=True)
        ends = np.array([OPEN if each is None else each for each in end])
        texts = {"node": node, "component": pd.Categorical(component), "gen": gen}
        events.extend(np.array(start), ends, texts, np.array(planned))
    frame = events.frame()
    expected = sorted(rows, key=lambda row: row[0])
    assert frame["start"].tolist() == [row[0] for row in expected]
    assert frame["end"].tolist() == [OPEN if row[1] is None else row[1] for row in expected]
    assert frame["planned"].tolist() == [row[4] for row in expected]
    for name, place in (("node", 2), ("component", 3), ("gen", 5)):
        if name in frame:
            texts = [None if pd.isna(text) else text for text in frame[name]]
            assert texts == [(row[place] or "").strip() or None for row in expected]
    assert frame["cause"].isna().all()


# --------------------------------------------------------------------------- nothing is lost

stamps = st.one_of(
    st.datetimes(datetime(2024, 4, 20), datetime(2024, 6, 10)).map(str),
    st.sampled_from(["", "5-Apr", "never", "2024-05-02 10:00", "2099-01-01", "12.5"]),
)
texts = st.sampled_from(["", "a", "b", 'say "x"', "a,b", "two\nlines", "Upgrade"])


@given(rows=st.lists(st.tuples(stamps, stamps, texts, texts), max_size=30), as_json=st.booleans())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_record_is_an_event_or_in_the_ledger(read, rows, as_json):
    names = ["start", "end", "node", "cause"]
    if as_json:
        content = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    else:
        quoted = [",".join('"' + text.replace('"', '""') + '"' for text in row) for row in rows]
        content = "\n".join([",".join(names), *quoted])
    try:
        log = read(content, "log.json" if as_json else "log.csv", planned="upgrade")
    except InputError as error:
        expected = "nothing could be read|must be of one kind|got dates; |most of the file|outside the window"
        if re.search(expected, str(error)):
            return
        raise
    assert log.n_records == len(log.events) + log.ledger["n"].sum() == len(rows)
    assert log.events["start"].between(*log.window).all()
    assert (log.events["end"].dropna() >= log.events["start"][log.events["end"].notna()]).all()
    assert log.events["start"].is_monotonic_increasing
    assert (log.events["planned"] == (log.events["cause"] == "Upgrade")).all()


def test_a_column_to_keep_may_be_named_for_every_format(read):
    """Formats without columns to map give their own; a name that is only kept is no reason to refuse them."""
    header = "JobID|State|Start|End|NodeList|NNodes|Partition"
    lines = f"{header}\n1|NODE_FAIL|2024-05-02T00:00:00|2024-05-02T01:00:00|n1|1|big\n"
    log = read(lines, "jobs.txt", columns={"partition": "partition"})
    assert log.format == "slurm" and log.events["partition"].tolist() == ["big"]
    with pytest.raises(InputError, match="`columns` applies only to the formats csv and events"):
        read(lines, "jobs.txt", columns={"node": "NodeList"})
