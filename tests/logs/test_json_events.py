"""Starts and ends in JSON: joined by node and fault, against a queue walked by hand."""

from __future__ import annotations

import json
from collections import defaultdict, deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.core.errors import InputError
from ettr.logs.events import OPEN
from ettr.logs.records import first_in_first_out

GPU = {"Level": "Hardware", "Class": "GPU", "Desc": "Xid 79"}
NIC = {"Level": "Hardware", "Class": "NIC", "Desc": "link down"}


def record(time, node, kind, fault):
    return {"node_id": node, "event_time": time, "event_type": f"fault_{kind}", "fault_type": fault}


HALVES = [
    record(1.5, "a", "start", GPU),
    record(2.0, "b", "start", NIC),
    record(2.25, "a", "end", GPU),
    record(3.0, "a", "start", NIC),
    record(3.5, "b", "end", NIC),
    record(4.0, "c", "end", GPU),
]

SHAPES = {
    "array": json.dumps,
    "array with line breaks": lambda records: json.dumps(records, indent=2),
    "object with an array": lambda records: json.dumps({"meta": {"of": ["x"]}, "events": records, "n": 6}),
    "lines": lambda records: "\n".join(json.dumps(record) for record in records),
    "objects": lambda records: "\n".join(json.dumps(record, indent=1) for record in records),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_starts_and_ends_are_joined(read, count, shape):
    log = read(SHAPES[shape](HALVES), "log.json", window="0..10")
    assert log.format == "events" and not log.calendar
    assert (log.hours() / 24).tolist() == [1.5, 2, 3]
    assert (log.hours("end") / 24).tolist()[:2] == [2.25, 3.5] and log.events["end"].isna().tolist()[2]
    assert log.events["node"].tolist() == ["a", "b", "a"]
    assert log.events["component"].tolist() == ["GPU", "NIC", "NIC"]
    assert log.events["cause"].tolist() == ["Xid 79", "link down", "link down"]
    assert count(log, "merged", "end of an outage") == 2
    assert count(log, "not parsed", "end without a start") == 1
    assert log.n_records == len(HALVES)
    assert "outages without an end in the log, treated as open: 1" in log.notes


@pytest.mark.parametrize(
    "words", [("start", "end"), ("open", "close"), ("DOWN", "UP"), ("faultBegin", "faultEnd"), ("failed", "recovered")]
)
def test_words_for_start_and_end(read, words):
    records = [
        {"host": "a", "timestamp": "2024-05-02T10:00:00Z", "event": words[0], "reason": "x"},
        {"host": "a", "timestamp": "2024-05-02T11:00:00Z", "event": words[1], "reason": "x"},
    ]
    log = read(json.dumps(records), "log.json")
    assert (log.hours() == 34).all() and log.hours("end").tolist() == [35]


def test_ends_that_name_no_fault_close_their_node(read):
    records = [
        {"host": "a", "time": 1.0, "state": "down", "reason": "fan"},
        {"host": "b", "time": 1.5, "state": "down", "reason": "fan"},
        {"host": "a", "time": 2.0, "state": "up"},
    ]
    log = read(json.dumps(records), "log.json", window="0..10")
    assert log.hours("end")[0] == 48 and log.events["end"].isna().tolist() == [False, True]


def test_a_status_outside_the_vocabulary_does_not_end_the_joining(read, count):
    states = ["drained", "idle", "planned", "maint", "future", "MIXED", "down*", "resume", "reboot", "allocated"]
    records = [{"node": "a", "time": float(i), "state": state} for i, state in enumerate(states)]
    log = read(json.dumps(records), "log.json", window="0..20")
    assert (log.hours() / 24).tolist() == [0, 6] and (log.hours("end") / 24).tolist() == [1, 7]
    assert log.events["planned"].tolist() == [False, True, False]  # maintenance is no failure
    assert count(log, "not parsed", "neither a word for down") == 3
    assert count(log, "merged", "repeated state of the node") == 1 and log.n_records == 10


def test_members_that_are_not_read_are_named(read):
    log = read(json.dumps([{"start": 1.0, "node": "a", "n": 3, "site": "x"}]), "log.json", window="0..20")
    assert "members read: start from 'start', node from 'node', site from 'site'; not read: 'n'" in log.notes


def test_outages_in_one_record(read):
    records = [
        {"node": "a", "start": "2024-05-02 10:00", "end": "2024-05-02 12:00", "cause": "Xid 79", "planned": False},
        {"node": "b", "start": "2024-05-03 10:00", "end": None, "cause": "swap", "planned": True},
        {"node": "c", "start": 17, "cause": ["no", "text"], "status": "closed"},
        "not an object",
    ]
    with pytest.raises(InputError, match="3 are dates and 1 are small numbers"):
        read(json.dumps(records), "log.json")
    log = read(json.dumps([*records[:2], records[3]]), "log.json")
    assert log.events["planned"].tolist() == [False, True] and log.n_records == 3
    assert log.hours("end").tolist() == [36]


def test_planned_starts_stay_planned(read):
    records = [
        {"node": "a", "time": 1.0, "event": "start", "planned": "yes", "cause": "swap"},
        {"node": "b", "time": 1.5, "event": "start", "planned": "no", "cause": "fan"},
        {"node": "a", "time": 2.0, "event": "end", "planned": "yes", "cause": "swap"},
    ]
    log = read(json.dumps(records), "log.json", window="0..10")
    assert log.events["planned"].tolist() == [True, False]
    assert log.events.columns.tolist() == ["start", "end", "node", "component", "cause", "planned"]


def test_members_can_be_mapped(read):
    records = [{"x": "a", "y": 1.0, "z": "on", "w": "start"}, {"x": "a", "y": 2.0, "z": "off", "w": "end"}]
    mapping = {"node": "x", "start": "y", "event": "w", "rack": "z"}
    log = read(json.dumps(records), "log.json", window="0..10", columns=mapping)
    assert log.events["rack"].tolist() == ["on"] and log.hours("end").tolist() == [48]
    with pytest.raises(InputError, match="Columns found: 'x', 'y', 'z', 'w'"):
        read(json.dumps(records), "log.json", window="0..10")


def test_broken_json_keeps_what_stands_before(read, count):
    text = json.dumps(HALVES)[:-40]
    log = read(text, "log.json", window="0..10")
    assert len(log.events) == 3 and count(log, "not parsed", "broken JSON") == 1
    assert log.ledger.set_index("reason")["example"]["broken JSON: the rest could not be read"] == "after record 5"
    assert any("the JSON is broken after record 5" in doubt for doubt in log.doubts)


def test_broken_lines_are_counted_one_by_one(read, count):
    lines = [json.dumps(half) for half in HALVES]
    lines[1:1] = ["{not json", "[" * 100_000, "7"]
    log = read("\n".join(lines), "log.json", window="0..10")
    assert count(log, "not parsed", "not JSON") == 2 and count(log, "not parsed", "not an object") == 1
    assert len(log.events) == 3 and log.n_records == 9


@pytest.mark.parametrize("text", ["{", "[{", '{"a": 1', "[1, 2]", '[{"a"]', "[" * 5000])
def test_json_without_objects_is_refused(read, text):
    with pytest.raises(InputError):
        read(text, "log.json")


# --------------------------------------------------------------------------- the joining itself


def by_hand(key, time, is_end):
    """Walk the events in time with a queue a key."""
    queues, ends, lonely = defaultdict(deque), {}, []
    for row in sorted(range(len(key)), key=lambda row: (time[row], is_end[row])):
        if not is_end[row]:
            queues[key[row]].append(row)
        elif queues[key[row]]:
            ends[queues[key[row]].popleft()] = time[row]
        else:
            lonely.append(row)
    return ends, lonely


halves = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 12), st.booleans()), max_size=40)


@given(rows=halves)
@settings(max_examples=100, deadline=None)
def test_first_in_first_out_is_a_queue(rows):
    key, time, is_end = (np.array([row[i] for row in rows], dtype=kind) for i, kind in enumerate((int, int, bool)))
    end, lonely = first_in_first_out(key, time, is_end)
    ends, alone = by_hand(key, time, is_end)
    assert sorted(lonely.tolist()) == sorted(alone)
    assert {row: end[row] for row in np.flatnonzero(~is_end) if end[row] != OPEN} == ends
    assert (end[is_end] == OPEN).all()
