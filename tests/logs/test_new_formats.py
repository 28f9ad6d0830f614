"""Formats that other tools write as JSON: what counts in each, and that the sample of every format is read."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_format import mutated, outcome

from ettr import logs
from ettr.core.errors import EttrError, InputError
from ettr.logs.formats import FORMATS
from ettr.logs.readers import journal, kubernetes, redfish, slurm_json

DAY = 86_400
NOON = 1_748_779_200  # 2025-06-01 12:00 UTC


@pytest.mark.parametrize("name", FORMATS)
def test_the_sample_of_a_format_is_recognised_and_read(tmp_path, name):
    """One failure of one node, found by the first lines alone."""
    sample = FORMATS[name].sample
    path = tmp_path / "gpu-07.log"
    path.write_text(sample + "\n")
    assert len(sample.splitlines()) == 2 and FORMATS[name].command
    log = logs.read(path, n_nodes=16, window="2025-05-01/2025-07-01", zone="UTC")
    assert log.format == name and len(log.failures) == 1, log.ledger
    if name != "torchrun":
        assert log.failures["node"].tolist() == ["gpu-07"]


# --------------------------------------------------------------------------- sacct --json


def job(number, state, nodes="a01", n=1, start=NOON - DAY, end=NOON, **more):
    tres = {"allocated": [{"type": "cpu", "name": "", "count": 64}, {"type": "gres", "name": "gpu", "count": 8 * n}]}
    about = {"job_id": number, "state": {"current": state, "reason": "None"}, "nodes": nodes, "allocation_nodes": n}
    return {
        **about,
        "partition": "big",
        "time": {"start": start, "end": end, "elapsed": end - start},
        "tres": tres,
        **more,
    }


def as_jobs(*jobs):
    return json.dumps({"meta": {"plugins": {}}, "errors": [], "jobs": list(jobs)}, indent=1)


NEW, OLD = ["NODE_FAIL"], "node_fail"


@pytest.mark.parametrize("state", [NEW, OLD, ["REQUEUED", "NODE_FAIL"]])
def test_only_failures_of_nodes_count_whatever_the_version(state):
    text = as_jobs(job(1, ["COMPLETED"], "a[01-04]", 4), job(2, state, "a05"), job(3, ["CANCELLED"], "a06"))
    sacct = outcome(slurm_json.FORMAT, text)
    assert sacct.starts == ["2025-06-01 12:00:00"] and sacct.events["node"].tolist() == ["a05"]
    assert sacct.n("dropped", "COMPLETED: no failure") == sacct.n("dropped", "CANCELLED") == 1
    assert sacct.exposure.n_nodes == 6 and sacct.exposure.node_days == pytest.approx(6.0)


def test_the_same_jobs_as_text_and_as_json_are_the_same_log(tmp_path):
    rows = [("COMPLETED", "a[01-04]", 4), ("NODE_FAIL", "a05", 1), ("FAILED", "a06", 1), ("NODE_FAIL", "a[07-08]", 2)]
    lines = ["JobID|State|Start|End|NodeList|NNodes|Partition"]
    for number, (state, nodes, n) in enumerate(rows):
        lines.append(f"{number}|{state}|2025-05-31T12:00:00|2025-06-01T12:0{number}:00|{nodes}|{n}|big")
    (tmp_path / "jobs.txt").write_text("\n".join(lines))
    jobs = [job(i, [state], nodes, n, end=NOON + 60 * i) for i, (state, nodes, n) in enumerate(rows)]
    (tmp_path / "jobs.json").write_text(as_jobs(*jobs))
    text, parsed = (logs.read(tmp_path / name, zone="UTC") for name in ("jobs.txt", "jobs.json"))
    assert (text.format, parsed.format) == ("slurm", "slurm-json")
    assert text.events.astype(str).equals(parsed.events.astype(str)) and text.node_days == parsed.node_days
    assert text.window == parsed.window and text.n_nodes == parsed.n_nodes


# --------------------------------------------------------------------------- journal


def entry(at_s, text, host="gpu-07", transport="kernel"):
    return json.dumps(
        {"__REALTIME_TIMESTAMP": str(at_s * 1_000_000), "_HOSTNAME": host, "_TRANSPORT": transport, "MESSAGE": text}
    )


XID = "NVRM: Xid (PCI:0000:3b:00): {}, pid=7, name=python"


def test_the_journal_may_be_pretty_and_its_messages_of_several_lines():
    lost = "NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de) has\nNVRM: fallen off the bus."
    records = [
        {"__REALTIME_TIMESTAMP": str(at * 10**6), "_HOSTNAME": "n1", "_TRANSPORT": "kernel", "MESSAGE": text}
        for at, text in ((1748772000, lost), (1748858400, "usb"))
    ]
    for text in ("\n".join(map(json.dumps, records)), "\n".join(json.dumps(record, indent=2) for record in records)):
        log = outcome(journal.FORMAT, text)
        assert log.events["gpu"].tolist() == ["0000:b3:00"] and log.events["node"].tolist() == ["n1"]
        assert journal.FORMAT.sniff(text.split("\n"))
    with pytest.raises(InputError, match="output=json"):
        outcome(journal.FORMAT, f"data: {json.dumps(records[0])}")


def test_the_kernel_s_messages_count_and_nobody_else_s():
    lines = [
        *(entry(NOON, "NVRM: loading"), entry(NOON + 60, XID.format(79)), entry(NOON + 120, XID.format(79))),
        *(entry(NOON + 3600, XID.format(13)), entry(NOON + 7200, XID.format(79), "gpu-08", "stdout")),
        entry(NOON + 9000, [*XID.format(48).encode(), 255], "gpu-09"),
        *(entry(NOON + 9999, None), "{}", "no JSON", entry(10**20, XID.format(79))),
    ]
    log = outcome(journal.FORMAT, "\n".join(lines))
    assert log.starts == ["2025-06-01 12:01:00", "2025-06-01 14:30:00"]
    assert log.events["node"].tolist() == ["gpu-07", "gpu-09"] and log.exposure.n_nodes == 3
    assert log.n("dropped", "another program") == 1 and log.n("merged", "same number") == 1
    assert (
        log.n("not parsed", "not a record of the journal") == log.n("not parsed", "not JSON") == 1
        and log.n("not parsed", "invalid time") == 1
    )
    assert log.n_records == len(lines)


# --------------------------------------------------------------------------- Redfish


def test_critical_entries_of_a_controller_count():
    def member(at, severity, message="PSU failed", **more):
        return {
            "@odata.type": "#LogEntry.v1_4_3.LogEntry",
            "Created": at,
            "Severity": severity,
            "Message": message,
            **more,
        }

    text = json.dumps(
        {
            "Members": [
                member("2025-06-01T10:00:00+02:00", "Critical", SensorType="Power Supply"),
                member("2025-06-01T08:01:00Z", "Critical"),
                member("2025-06-02T10:00:00Z", "Warning"),
                member("2025-06-03T10:00:00Z", "Critical", "Fan failed", EntryCode="Deassert"),
                member(
                    "2025-06-04T10:00:00Z", "Critical", "Fan failed", **{"@odata.id": "/redfish/v1/Systems/HGX_3/x"}
                ),
                member("soon", "Critical"),
            ]
        }
    )
    log = outcome(redfish.FORMAT, text)
    assert log.starts == ["2025-06-01 08:00:00", "2025-06-04 10:00:00"]
    assert log.events["node"].tolist() == ["log", "HGX_3"] and log.events["component"][0] == "Power Supply"
    assert log.n("dropped", "severity Warning") == log.n("dropped", "end of an earlier") == 1
    assert log.n("merged", "same message") == log.n("not parsed", "not an entry") == 1


# --------------------------------------------------------------------------- what nobody meant

TEXTS = {
    slurm_json.FORMAT: as_jobs(job(1, ["COMPLETED"]), job(2, NEW, "a05"), job(3, OLD, "a06")),
    journal.FORMAT: "\n".join([entry(NOON, "NVRM: loading"), entry(NOON + 60, XID.format(79))]),
    kubernetes.FORMAT: kubernetes.FORMAT.sample,
    redfish.FORMAT: redfish.FORMAT.sample,
}


@given(data=st.data(), form=st.sampled_from([*TEXTS]))
@settings(max_examples=60, deadline=None)
def test_any_text_is_read_or_refused_in_words(data, form):
    text = data.draw(mutated(TEXTS[form]))
    with suppress(EttrError):
        assert len(outcome(form, text).events) <= 2


@pytest.mark.parametrize("value", [None, 7, "x", [], {}, [[]], True])
def test_members_of_any_kind_are_counted(value):
    assert outcome(slurm_json.FORMAT, as_jobs({"job_id": value, "state": value, "time": value}, value)).n_records == 2
    spoilt = {"involvedObject": value, "reason": value}
    assert outcome(kubernetes.FORMAT, json.dumps({"items": [spoilt, value]})).n_records == 2
    assert outcome(redfish.FORMAT, json.dumps({"Members": [{"Created": value}, {"Severity": value}]})).n_records == 2
