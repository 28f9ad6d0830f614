"""What a row means: states, severities and jobs, found or named by the user."""

from __future__ import annotations

import pytest

from ettr.core.errors import InputError, UnknownName

STATES = """time,host,status
2024-05-02 10:00,a,kaputt
2024-05-02 11:00,b,kaputt
2024-05-02 12:00,a,heil
2024-05-03 11:00,b,heil
2024-05-20 11:00,b,kaputt
2024-05-20 12:00,b,heil
"""
JOBS = """job,start,end,node,state
1,2024-05-02 10:00,2024-05-02 12:00,a,COMPLETED
2,2024-05-02 10:00,2024-05-02 13:00,b,Node_Fail
3,2024-05-02 10:00,2024-05-02 14:00,c,FAILED
4,2024-05-02 10:00,2024-05-02 15:00,d,CANCELLED by 7
"""
LINES = """time,host,severity,message
2024-05-02 10:00,a,INFO,hello
2024-05-02 11:00,b,error,fan
2024-05-02 12:00,c,Warning,hot
2024-05-02 13:00,d,CRIT,dead
"""


def ends(log):
    return log.hours("end").tolist()


def test_two_unknown_words_that_alternate_are_a_doubt(read):
    log = read(STATES)
    assert len(log.events) == 6
    assert any("alternates between 'kaputt' and 'heil' on each node" in doubt for doubt in log.doubts)


def test_the_user_names_the_words(read):
    log = read(STATES, down="heil", up="KAPUTT")
    assert log.hours().tolist() == [36, 59, 19 * 24 + 12]
    assert ends(log)[:1] != [34] and log.events["end"].isna().sum() == 2
    assert len(read(STATES, down=["kaputt"]).events) == 3  # without words for up each is a failure of its own
    assert read(STATES, up="heil").hours().tolist() == [34, 35, 19 * 24 + 11]
    with pytest.raises(InputError, match="no column of log.csv has broken. Columns found: 'time', 'host', 'status'"):
        read(STATES, down="broken")
    with pytest.raises(InputError, match="must not share a word, got heil"):
        read(STATES, down="heil", up="Heil")
    with pytest.raises(InputError, match="`down` must be a word"):
        read(STATES, down=" , ")


def test_a_column_of_states_may_be_named(read):
    text = STATES.replace("status", "zustand").replace("kaputt", "down").replace("heil", "fine")
    assert len(read(text).events) == 6  # neither a name nor two words that are known
    assert len(read(text, columns={"state": "zustand"}).events) == 3  # of two, the other is up
    text += "2024-05-21,c,so-so\n2024-05-22,c,well\n"
    with pytest.raises(InputError, match="'zustand' of log.csv must have words for down and for up; it has down 3"):
        read(text, columns={"state": "zustand"})


def test_jobs_fail_where_a_machine_ends_them_at_their_end(read, count):
    log = read(JOBS)
    assert log.events["node"].tolist() == ["b"] and log.hours().tolist() == [37] and log.events["end"].isna().all()
    assert count(log, "dropped", ": no failure") == 3 and not log.doubts
    assert any("failures are 'Node_Fail', at the end of the job" in note for note in log.notes)
    assert read(JOBS, down="failed").events["node"].tolist() == ["c"]


def test_jobs_that_failed_for_any_reason_are_doubted(read):
    log = read(JOBS.replace("Node_Fail", "failed"))
    assert log.events["node"].tolist() == ["b", "c"] and "mostly their own" in log.doubts[0]


def test_jobs_need_an_end(read):
    with pytest.raises(InputError, match="no column with their ends: name it"):
        read("start,node,state\n2024-05-02,a,completed\n2024-05-03,b,node_fail\n")


def test_a_severity_counts_from_error_on_unless_told(read, count):
    log = read(LINES)
    assert log.events["node"].tolist() == ["b", "d"] and count(log, "dropped", "severity below error") == 2
    assert any("'severity' has severities (INFO 1, error 1, Warning 1, CRIT 1)" in note for note in log.notes)
    assert read(LINES, failure_severity="warning").events["node"].tolist() == ["b", "c", "d"]
    assert read(LINES, failure_severity="critical").events["node"].tolist() == ["d"]
    with pytest.raises(UnknownName, match="unknown severity 'worse'"):
        read(LINES, failure_severity="worse")
    with pytest.raises(InputError, match="no column of log.csv has severities"):
        read("start,node\n2024-05-02,a\n", failure_severity="error")


def test_only_rows_that_match_count(read, count):
    log = read(LINES, where={"host": "[ab]", "Severity": "^(info|error)$"}, failure_severity="info")
    assert log.events["node"].tolist() == ["a", "b"] and count(log, "dropped", "does not match") == 2
    with pytest.raises(InputError, match="`where`: log.csv has no column 'rack'. Columns found: 'time'"):
        read(LINES, where={"rack": "1"})
    with pytest.raises(InputError, match="where must be a regular expression"):
        read(LINES, where={"host": "("})


def test_tickets_are_outages_whatever_their_status(read):
    """A column of ends, or a time that only starts can have, makes a row an outage."""
    rows = "2024-05-02,a,closed\n2024-05-03,b,open\n2024-05-04,c,resolved\n"
    assert len(read("opened_at,host,status\n" + rows).events) == 3


@pytest.mark.parametrize(
    ("name", "cells", "hours"),
    [("downtime_min", "90", 1.5), ("duration (h)", "2", 2), ("duration", "1:30:00", 1.5), ("ttr", "1-02:00:00", 26)],
)
def test_a_duration_gives_the_end(read, name, cells, hours):
    log = read(f"start,{name},node\n2024-05-02,{cells},a\n2024-05-03,,b\n")
    assert ends(log)[0] == 24 + hours and log.events["end"].isna().tolist() == [False, True]


def test_a_duration_without_a_unit_is_not_read(read):
    text = "start,duration,node\n2024-05-02,90,a\n"
    log = read(text)
    assert log.events["end"].isna().all() and any("have no unit" in note for note in log.notes)
    with pytest.raises(InputError, match="durations in 'duration' have no unit: rename the column to duration_h"):
        read(text, columns={"duration": "duration"})


def test_a_gauge_is_read_by_its_name(read):
    rows = "2024-05-02,a,{0}\n2024-05-03,a,{0}\n2024-05-04,a,{1}\n2024-05-05,a,{0}\n"
    assert read("time,node,up\n" + rows.format(1, 0)).hours().tolist() == [72]
    assert read("time,node,alarm\n" + rows.format("false", "true")).hours().tolist() == [72]


def test_comments_and_blank_cells_at_the_end_cost_nothing(read, count):
    log = read("# by hand\nstart,node\n2024-05-02,a,,,\n# checked\n2024-05-03,b\n")
    assert log.events["node"].tolist() == ["a", "b"] and count(log, "dropped", "comment") == 2


def test_a_paragraph_above_the_header_is_refused_with_the_remedy(read):
    text = "Fault export of 2024-06-01\n\ntime,host\n2024-05-02 10:00,a\n2024-05-03 10:00,b\n"
    with pytest.raises(InputError, match=r"a title, 'Fault export.*tail -n \+3 FILE \| ettr fit -"):
        read(text, format="csv")


# --------------------------------------------------------------------------- metrics


def _rows(header, row):
    return "\n".join([header, *(row(i) for i in range(40))])


METRICS = {
    "a load of each node": _rows("timestamp,node,load", lambda i: f"2024-05-02 10:{i:02d},n{i % 3},{i * 0.37:.2f}"),
    "whole numbers at equal intervals": _rows(
        "time,node,used", lambda i: f"2024-05-02 10:{i:02d},n{i % 2},{i * i % 17}"
    ),
    "numbers without a node": _rows("time,value", lambda i: f"2024-05-{1 + i % 28:02d} {i % 24:02d}:07,{i / 7:.3f}"),
    "metrics with a type": _rows("time,type,value", lambda i: f"2024-05-02 10:{i:02d},gauge,{i / 7:.3f}"),
    "numbers with units": _rows(
        "time,host,util", lambda i: f"2024-05-{1 + i % 28:02d} {i % 24:02d}:07,n0,{i / 7:.1f} %"
    ),
    "decimal commas": _rows("time;host;load", lambda i: f"2024-05-{1 + i % 28:02d} {i % 24:02d}:07;n0;{i},5"),
    "commas between thousands": _rows("time,host,fan", lambda i: f'2024-05-02 10:{i:02d},n0,"6,{i:03d}"'),
    "few cells with numbers": _rows("time,host,util", lambda i: f"2024-05-02 10:{i:02d},n0,{i if i % 5 == 2 else ''}"),
    "a sensor in each row": _rows("time,node,component,reading", lambda i: f"2024-05-02 10:{i:02d},n0,fan0,{610 + i}"),
    "members in members of JSON": "\n".join(
        f'{{"time": "2024-05-02 10:{i:02d}", "system": {{"cpu": {{"pct": {i / 7:.3f}}}}}}}' for i in range(40)
    ),
    "lines of JSON": "\n".join(f'{{"time": "2024-05-02 10:{i:02d}", "power": {i / 7:.3f}}}' for i in range(40)),
}
FAILURES = {
    "only times": _rows("start", lambda i: f"2024-05-{1 + i % 28:02d} {i % 24:02d}:{i % 59:02d}"),
    "a ticket at random": _rows(
        "opened,host,ticket", lambda i: f"2024-05-{1 + i * i % 28:02d} {i % 24:02d}:07,n{i % 9},{i}"
    ),
    "a cause and a cost": _rows(
        "time,cause,cost", lambda i: f"2024-05-{1 + i * i % 28:02d} {i % 24:02d}:07,GPU,{i / 7:.2f}"
    ),
    "a failure each day, with its cause and GPU": _rows(
        "date,cause,gpu", lambda i: f"2024-{5 + i // 28:02d}-{1 + i % 28:02d},GPU,{i % 8}"
    ),
    "a daily test and its cause": _rows("time,cause", lambda i: f"2024-05-02 10:{i:02d},GPU"),
}


@pytest.mark.parametrize("name", METRICS)
def test_samples_of_metrics_are_never_failures(read, name):
    with pytest.raises(InputError, match=r"samples of metrics.*columns=.*ettr formats steps"):
        read(METRICS[name])


@pytest.mark.parametrize("name", FAILURES)
def test_tables_of_failures_may_have_numbers(read, name):
    assert len(read(FAILURES[name]).failures) >= 25


def test_a_user_may_say_that_samples_are_failures(read):
    assert len(read(METRICS["a load of each node"], columns={"start": "timestamp"}).failures) == 40
