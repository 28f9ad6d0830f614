"""Kubernetes events as people export them: what counts, how often, over which time, and what is refused."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from one_format import mutated, outcome

from ettr import logs
from ettr.core.errors import InputError
from ettr.logs.readers import kubernetes

FIRST, LAST = "2025-06-01T10:00:00Z", "2025-06-04T10:00:00Z"


def event(at, reason, node="gpu-07", kind="Node", **more):
    return {"involvedObject": {"kind": kind, "name": node}, "reason": reason, "lastTimestamp": at, **more}


def several(first, last, count, reason="NodeNotReady", **more):
    return event(last, reason, firstTimestamp=first, count=count, **more)


def new_event(reason, node="gpu-07", **more):
    """An event of events.k8s.io/v1."""
    return {"apiVersion": "events.k8s.io/v1", "regarding": {"kind": "Node", "name": node}, "reason": reason, **more}


def as_list(*events):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(events)})


def spans(log):
    """Node, start and end of each failure."""
    ends = [str(end)[5:16] if str(end) != "NaT" else "" for end in log.events["end"]]
    return list(zip(log.events["node"], (start[5:16] for start in map(str, log.events["start"])), ends, strict=True))


@pytest.fixture
def read(write):
    """Read a text as the events of ten nodes."""
    return lambda text, name="events.txt": logs.read(write(text, name), n_nodes=10)


def doubted(log, words):
    return any(words in doubt for doubt in log.doubts)


# --------------------------------------------------------------------------- what counts


def test_nodes_are_out_from_not_ready_to_ready():
    text = as_list(
        event("2025-06-01T10:00:00Z", "NodeNotReady"),
        event("2025-06-01T10:20:00Z", "Rebooted", type="Warning"),
        event("2025-06-01T12:00:00Z", "NodeReady"),
        event("2025-06-02T10:00:00Z", "NodeReady", "gpu-08"),
        event("2025-06-03T10:00:00Z", "KernelOops", "gpu-08", type="Warning"),
        event("2025-06-03T10:01:00Z", "KernelOops", "gpu-08", type="Warning"),
        event("2025-06-04T10:00:00Z", "GPUXidError", "gpu-09", type="Warning"),
        event("2025-06-04T10:00:00Z", "GPUReady", "gpu-09", type="Normal"),
        event("2025-06-05T10:00:00Z", "BackOff", "train-0", "Pod", type="Warning"),
        event("2025-06-05T10:00:00Z", "NodeHasDiskPressure", "gpu-09"),
        event(None, "NodeNotReady", "gpu-10", eventTime="2025-06-06T10:00:00.5Z"),
    )
    log = outcome(kubernetes.FORMAT, text)
    assert log.events["node"].tolist() == ["gpu-07", "gpu-08", "gpu-09", "gpu-10"]
    assert log.events["cause"].tolist() == ["NodeNotReady", "KernelOops", "GPUXidError", "NodeNotReady"]
    assert str(log.events["end"][0])[:19] == "2025-06-01 12:00:00" and log.events["end"].isna().sum() == 3
    assert log.n("merged", "event of a node during its outage") == log.n("merged", "same reason") == 1
    assert log.n("dropped", "event of a Pod") == log.n("dropped", "NodeHasDiskPressure") == 1
    assert log.n_records == 11 and log.exposure.n_nodes is None


def test_the_new_api_names_its_members_differently(read):
    text = as_list(
        new_event("NodeNotReady", eventTime=None, deprecatedFirstTimestamp=FIRST, deprecatedLastTimestamp=FIRST),
        new_event("NodeReady", deprecatedLastTimestamp="2025-06-01T12:00:00Z", deprecatedCount=1),
        new_event(
            "NodeNotReady",
            "gpu-08",
            eventTime="2025-06-05T10:00:00.25Z",
            series={"count": 2, "lastObservedTime": "2025-06-05T11:00:00.25Z"},
        ),
        new_event("NodeReady", "gpu-08", eventTime="2025-06-05T14:00:00.25Z"),
    )
    log = read(text)
    assert log.format == "kubernetes" and log.window_h == pytest.approx(4 * 24 + 4, abs=0.001)
    assert spans(log) == [("gpu-07", "06-01 10:00", "06-01 12:00"), ("gpu-08", "06-05 10:00", "06-05 14:00")]
    assert not log.doubts


def test_the_window_runs_over_events_of_every_kind(read):
    log = read(
        as_list(
            event(FIRST, "Pulled", "train-0", "Pod"),
            event("2025-06-03T10:00:00Z", "Rebooted"),
            several("2025-06-05T10:00:00Z", "2025-06-11T10:00:00Z", 9, "RegisteredNode"),
        )
    )
    assert len(log.events) == 1 and log.window_h == 10 * 24


def test_a_gpu_event_without_a_type_is_not_taken_for_a_failure_in_silence():
    log = outcome(kubernetes.FORMAT, as_list(event(FIRST, "XidCriticalError"), event(FIRST, "XidGone", type="Normal")))
    assert log.n("dropped", "XidCriticalError: without a type") == log.n("dropped", "XidGone: not a failure") == 1


def test_events_without_any_of_a_node_are_doubted(read):
    log = read(as_list(event(FIRST, "BackOff", "train-0", "Pod"), event(LAST, "NodeNotReady", "train-0", "Pod")))
    assert len(log.events) == 0 and doubted(log, "no event is of a node")


# --------------------------------------------------------------------------- counts


def test_an_event_that_counts_several_has_a_first_and_a_last(read):
    log = read(
        as_list(
            several(FIRST, "2025-06-09T10:00:00Z", 5),
            several("2025-06-01T11:00:00Z", "2025-06-09T12:00:00Z", 50, "NodeReady"),
            several(FIRST, "2025-06-02T10:00:00Z", 2, "KernelDeadlock", node="gpu-09"),
        )
    )
    assert spans(log) == [
        ("gpu-07", "06-01 10:00", "06-01 11:00"),
        ("gpu-09", "06-01 10:00", ""),
        ("gpu-09", "06-02 10:00", ""),
        ("gpu-07", "06-09 10:00", "06-09 12:00"),
    ]
    assert log.n_records == 6 and doubted(log, "up to 3, without their times")  # 5 less two, and no returns


HIDDEN = {
    "only a last time": (event(LAST, "NodeNotReady", count=3), 2),
    "text": (several(FIRST, LAST, "3"), 1),
    "null": (several(FIRST, LAST, None), 0),
    "zero": (several(FIRST, LAST, 0), 0),
    "all in one second": (several(LAST, LAST, 7), 0),
    "all in one burst": (several(FIRST, "2025-06-01T10:04:00Z", 70, "KernelOops"), 0),
    "a series": (event(None, "Rebooted", eventTime=FIRST, series={"count": 6, "lastObservedTime": LAST}), 4),
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_occurrences_without_times_are_doubted(read, kind):
    record, n_hidden = HIDDEN[kind]
    log = read(as_list(record, event("2025-06-05T10:00:00Z", "NodeReady")))
    assert doubted(log, f"up to {n_hidden}, without") == bool(n_hidden) == bool(log.doubts)


@pytest.mark.parametrize("count", [10**18, -5, 2.5, True, "many", [3], {"n": 3}])
def test_a_count_that_is_none_is_doubted(read, count):
    log = read(as_list(several(FIRST, LAST, count), event("2025-06-05T10:00:00Z", "NodeReady")))
    assert len(log.events) == 1 and doubted(log, f"count {count!r}: not a whole number up to ten digits (record 1)")


def test_events_that_are_counted_or_few_are_doubted(tmp_path):
    path = tmp_path / "events.json"
    path.write_text(
        as_list(
            event("2025-06-01T10:00:00Z", "NodeNotReady", count=3),
            event("2025-06-01T10:30:00Z", "NodeReady", count=1),
            event("2025-06-01T11:00:00Z", "NodeNotReady", "gpu-08"),
        )
    )
    log = logs.read(path, n_nodes=16)
    assert log.format == "kubernetes" and len(log.failures) == 2
    assert doubted(log, "up to 2, without their times")
    assert doubted(log, "Kubernetes keeps events for one hour")


# --------------------------------------------------------------------------- times


def test_times_that_are_none_are_left_out(read):
    log = read(
        as_list(
            several("1985-06-01T10:00:00Z", "2025-06-02T10:00:00Z", 1),
            several("0001-01-01T00:00:00Z", "2025-06-02T11:00:00Z", 1, "NodeReady"),  # the zero of Go is no time
            several(None, "2199-01-01T00:00:00Z", 1, node="gpu-08"),
            event("2025-06-04T10:00:00Z", "Rebooted", firstTimestamp=7),
        )
    )
    assert spans(log) == [("gpu-07", "06-02 10:00", "06-02 11:00"), ("gpu-07", "06-04 10:00", "")]
    assert log.window_h == 48 and doubted(log, "are wrong: 3, the first: firstTimestamp '1985-06-01T10:00:00Z'")
    assert "event without a time" in log.ledger["reason"].tolist()


def test_a_last_time_before_the_first_is_doubted(read):
    log = read(
        as_list(several(LAST, FIRST, 2), several("2025-06-01T11:00:00Z", "2025-06-04T11:00:00Z", 2, "NodeReady"))
    )
    assert len(log.events) == 2 and doubted(log, "last time before the first (record 1)")


# --------------------------------------------------------------------------- ways to export

OUTAGES = [("gpu-07", "06-01 10:00", "06-01 11:00"), ("gpu-07", "06-04 10:00", "06-04 11:00")]
UPDATES = [
    several(FIRST, FIRST, 1, metadata={"uid": "a"}),
    several("2025-06-01T11:00:00Z", "2025-06-01T11:00:00Z", 1, "NodeReady", metadata={"uid": "b"}),
    several(FIRST, LAST, 4, metadata={"uid": "a"}),
    several(FIRST, LAST, 4, metadata={"uid": "a"}),
    several("2025-06-01T11:00:00Z", "2025-06-04T11:00:00Z", 4, "NodeReady", metadata={"uid": "b"}),
]
"""Two outages, as a watch writes them: each event again when it recurs."""


def sequence(wrap=lambda record: record, indent=None):
    return "\n".join(json.dumps(wrap(record), indent=indent) for record in UPDATES)


def managed(record):
    return {"metadata": {**record["metadata"], "managedFields": [{"manager": "kubelet"}]}, **record}


def without_metadata(record):
    return {name: value for name, value in record.items() if name != "metadata"}


def nested(record):
    return {"kind": "List", "items": [record]}


WAYS = {
    "lines of an exporter": sequence(),
    "lines without identity": sequence(without_metadata),
    "a watch": sequence(indent=4),
    "a watch with its types": sequence(lambda record: {"type": "MODIFIED", "object": record}, indent=4),
    "lines that wrap the event": sequence(lambda record: {"verb": "ADDED", "event": record}),
    "managed fields": sequence(managed, indent=4),
    "a list each": json.dumps({"kind": "List", "items": []}) + "\n" + sequence(nested),
    "indented lists": json.dumps({"kind": "List", "items": []}, indent=1) + "\n" + sequence(nested, indent=1),
    "an array": json.dumps(UPDATES),
    "YAML": yaml.safe_dump(json.loads(as_list(*UPDATES))),
    "documents of YAML": yaml.safe_dump_all(UPDATES, explicit_start=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_export_gives_the_same_log(read, way):
    log = read(WAYS[way])
    assert log.format == "kubernetes" and spans(log) == OUTAGES and log.n_records == len(UPDATES)
    assert log.doubts == ("Kubernetes counted more failures, up to 2, without their times",)


def test_events_beside_a_list_are_not_lost_in_silence(read):
    log = read(json.dumps({"kind": "List", "items": UPDATES}, indent=1) + "\n" + sequence(indent=1))
    assert spans(log) == OUTAGES and doubted(log, "5 objects without the array items are not read")


def test_what_is_truncated_is_doubted_or_refused(read):
    text = json.dumps({"kind": "List", "items": UPDATES}, indent=1)
    assert doubted(read(text[: text.rindex('"involvedObject"')]), "the JSON is broken after record 4")
    text = WAYS["YAML"]
    assert doubted(read(text[: text.rindex("- count")]), "the YAML ends before the kind of its list")
    with pytest.raises(
        InputError, match="broken YAML.*Give the output of `kubectl get events --all-namespaces -o json"
    ):
        read(text[: text.rindex("lastTimestamp") + 5])


# --------------------------------------------------------------------------- what is refused

AGES = "5m    Normal   NodeReady   node/gpu-07   x"
TABLES = {
    "ages": f"LAST SEEN   TYPE     REASON      OBJECT        MESSAGE\n{AGES}",
    "all namespaces": f"NAMESPACE   LAST SEEN   TYPE     REASON      OBJECT    MESSAGE\ndefault   {AGES}",
    "wide": f"LAST SEEN   TYPE   REASON   OBJECT   SUBOBJECT   SOURCE   MESSAGE   FIRST SEEN   COUNT   NAME\n{AGES}",
    "no header": AGES.replace("5m", "2d3h"),
    "no header, all namespaces": f"kube-system   {AGES}",
    "counts": AGES.replace("5m", "5m (x3 over 10m)"),
    "unknown age": AGES.replace("5m", "<unknown>"),
    "described": f"Name: gpu-07\nEvents:\n  Type    Reason     Age   From     Message\n  ----\n  {AGES}",
    "columns of the user": f"TIME                   NODE     REASON\n{FIRST}   gpu-07   NodeNotReady",
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_refused_with_the_right_command(read, kind):
    with pytest.raises(InputError, match=r"has ages instead of times.* \(line \d: '.*`kubectl get events --all-names"):
        read(TABLES[kind])


BOMB = "items:\n- involvedObject:\n    a: &a [x, x]\n" + "".join(
    f"    b{i}: &b{i} [*{'a' if i == 0 else f'b{i - 1}'}, *{'a' if i == 0 else f'b{i - 1}'}]\n" for i in range(30)
)
REFUSED = {
    "empty list": ('{"apiVersion": "v1", "items": [], "kind": "List"}', "must have events, but its list is empty"),
    "no list": ('{"kind": "EventList", "items": null}', "must have events, but its list is empty"),
    "empty YAML": ("apiVersion: v1\nitems: []\nkind: List\n", "must have events, but its list is empty"),
    "YAML of many values": (BOMB, "more than 100,000 values.*`kubectl get events"),
    "long YAML": (WAYS["YAML"] + "#" * 2_000_000, "at most 2,000,000 bytes of YAML"),
    "deep JSON": ('{"involvedObject":' + "[" * 100_000, "at most 500 nested levels"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_other_files_are_refused_in_words(read, kind):
    text, words = REFUSED[kind]
    with pytest.raises(InputError, match=words):
        read(text)


@given(data=st.data(), way=st.sampled_from([*WAYS]))
@settings(max_examples=60, deadline=None)
def test_spoilt_exports_are_read_or_refused_in_words(data, way):
    with suppress(InputError):
        assert len(outcome(kubernetes.FORMAT, data.draw(mutated(WAYS[way]))).events) <= 2 * len(UPDATES)
