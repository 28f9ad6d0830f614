"""Files that nobody meant: each is refused in words, or read with every record accounted for."""

from __future__ import annotations

import gzip
import json
import lzma
import pickle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ettr import logs
from ettr.core.errors import EttrError, InputError
from ettr.logs.reading import FORMATS

HEADER = "start,end,node,cause\n"
ROW = "2024-05-02 10:00:00,2024-05-02 11:00:00,n1,Xid 79\n"

REFUSED = {
    "empty file": (b"", "is empty"),
    "only blank lines": (b"\n\n  \n", "is not known"),
    "one failure, no window": (HEADER + "2024-05-02,,n1,x\n", "window must have a length"),
    "all at one instant, no window": (
        HEADER + "2024-05-02,,n1,x\n2024-05-02,,n2,x\n",
        "window must have a length.*--window",
    ),
    "only a header, no window": (HEADER, "no failure was read.*--window"),
    "nothing that can be read": (HEADER + "soon,,n1,x\n" * 3, "3 not parsed: start: not a time \\(line 2\\)"),
    "mixed zones": (HEADER + ROW + "2024-05-02T10:00:00Z,,n1,x\n", "1 carry one and 2 do not"),
    "unknown columns": ("a,b\n1,2\n", "Columns found: 'a', 'b'"),
    "duplicated headers": ("start,start\n1,2\n", "'start' stands there twice"),
    "rubbish": (bytes(range(256)) * 20, "control bytes"),
    "a pickle": (pickle.dumps({"start": 1}), "never unpickled"),
    "a packed pickle": (gzip.compress(pickle.dumps({"start": 1})), "never unpickled"),
    "UTF-16": ((HEADER + ROW).encode("utf-16"), "iconv"),
    "a gzip without content": (gzip.compress(b""), "empty once decompressed"),
    "an end before its start, alone": (HEADER + "2024-05-02,2024-05-01,n1,x\n", "end before start \\(line 2\\)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_with_words(write, kind):
    content, words = REFUSED[kind]
    with pytest.raises(InputError, match=words):
        logs.read(write(content), n_nodes=16)


def test_no_failures_in_a_known_window_are_a_log(read):
    log = read(HEADER)
    assert len(log.events) == log.n_records == 0 and log.node_days == 16 * 31
    assert log.events.columns.tolist() == ["start", "end", "node", "component", "cause", "planned"]
    assert len(log.failures) == 0 and log.hours().tolist() == [] and log.resolution_h == 1 / 3600


def test_one_failure_in_a_known_window_is_a_log(read):
    assert len(read(HEADER + ROW).failures) == 1


def test_an_end_before_its_start_is_counted(read, count):
    log = read(HEADER + ROW + ROW.replace("n1", "n2") + "2024-05-03,2024-05-02,n1,x\n" * 2)
    assert len(log.events) == 2 and count(log, "not parsed", "end before start") == 2


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_truncated_file_is_read_as_far_as_it_goes_and_said_loudly(read, pack):
    rows = "".join(f"2024-05-02 {i // 60 % 24:02d}:{i % 60:02d},,n{i % 7},x{i * 7919 % 10007}\n" for i in range(20_000))
    packed = pack((HEADER + rows).encode())
    log = read(packed[: len(packed) // 2], "log.csv.gz", planned=None)
    assert 1000 < log.n_records < 20_000
    assert "ends too early" in log.notes[0] and "the rest of the log is missing" in log.notes[0]


@pytest.mark.parametrize(("pack", "place"), [(gzip.compress, -6), (lzma.compress, -200)])
@pytest.mark.parametrize("kind", ["csv", "events"])
def test_a_damaged_file_is_refused(read, pack, place, kind):
    rows = [{"start": f"2024-05-02 {i // 60 % 24:02d}:{i % 60:02d}", "node": f"n{i * 7919 % 9}"} for i in range(90_000)]
    csv = "start,node\n" + "\n".join(f"{row['start']},{row['node']}" for row in rows)
    packed = bytearray(pack({"csv": csv, "events": json.dumps(rows)}[kind].encode()))
    packed[place] ^= 0xFF
    with pytest.raises(InputError, match="is damaged at byte .* only a truncated file can be read in part"):
        read(bytes(packed), "log.gz")


def test_a_file_that_is_mostly_not_understood_is_refused(read):
    good = HEADER + ROW + ROW.replace("n1", "n2")
    assert len(read(good + "soon,,n1,x\n" * 2).events) == 2
    with pytest.raises(InputError, match=r"most of the file could not be read as csv: 3 of 5 .* 3 not parsed: start"):
        read(good + "soon,,n1,x\n" * 3)


def test_nul_bytes_and_bad_utf8_do_not_cost_the_row(read):
    log = read((HEADER + ROW).encode() + b"2024-05-03 10:00:00,,n\x002,caf\xe9\n")
    assert log.events["node"].tolist() == ["n1", "n2"] and log.events["cause"].tolist() == ["Xid 79", "caf�"]
    assert "1 line held NUL bytes, which were removed (the first: line 3)" in log.notes
    assert "1 line held bytes that are not UTF-8, which were replaced (the first: line 3)" in log.notes


def test_a_line_of_a_million_characters(read, count):
    long = "2024-05-04 10:00:00,,n3," + "x" * 1_000_000
    log = read(HEADER + ROW + long + "\n" + long * 2 + "\n" + "2024-05-05,,n4,y\n")
    assert log.events["node"].tolist() == ["n1", "n3", "n4"]
    assert len(log.events["cause"].iloc[1]) == 300
    assert count(log, "not parsed", "line longer than 1 MiB") == 1 and log.n_records == 4


def test_a_million_nodes(write):
    rows = "".join(f"2024-05-02 10:{i // 60 % 60:02d}:{i % 60:02d},,n{i},x\n" for i in range(60_000))
    log = logs.read(write(HEADER + rows), n_nodes=1_000_000, window="2024-05-01/2024-05-31")
    assert log.events["node"].nunique() == 60_000 and log.node_days == 31e6


def test_ragged_rows(read, count):
    log = read(HEADER + ROW + "2024-05-03\n2024-05-03,,a,b,c,d\n2024-05-04,,n2,y\n")
    assert len(log.events) == 2
    assert count(log, "not parsed", "too few cells") == count(log, "not parsed", "too many cells") == 1


# --------------------------------------------------------------------------- any bytes at all

VALID = {
    "csv": HEADER + ROW + '2024-05-03 10:00:00,,n2,"a, b"\n2024-05-04 10:00:00,unknown,n1,x\n',
    "events": '[{"node": "a", "time": 1.5, "event": "start", "fault_type": {"Class": "GPU", "Desc": "x"}},\n'
    ' {"node": "a", "time": 2.5, "event": "end", "fault_type": {"Class": "GPU", "Desc": "x"}}]',
    "json lines": '{"host": "a", "start": "2024-05-02T10:00:00Z", "end": null}\n'
    '{"host": "b", "start": "2024-05-03T10:00:00Z"}\n',
    "slurm": "JobID|State|Start|End|NodeList|NNodes\n"
    "1|NODE_FAIL|2024-05-02T10:00:00|2024-05-02T11:00:00|n[1-2]|2\n1.batch|CANCELLED|2024-05-02T10:00:00|Unknown|n1|1\n"
    "2|COMPLETED|2024-05-02T10:00:00|2024-05-03T11:00:00|n3|1\n",
    "xid": "[Thu May  2 10:00:00 2024] NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.\n"
    "2024-05-03T10:00:00+00:00 n1 kernel: NVRM: Xid (0000:3b:00): 48, pid='<unknown>', DBE\n"
    "May  4 10:00:00 n1 kernel: [123.4] usb 1-1: new device\n",
    "torchrun": "[2024-05-02 10:00:00,123] torch.distributed.elastic.agent: [INFO] Starting worker group\n"
    "E0502 12:07:20.086000 139 torch/distributed/elastic/api.py:123] Worker group FAILED. 3/3 attempts left\n"
    "ERROR:torch.distributed.elastic:failed (exitcode: -9) local_rank: 3 (pid: 77)\n",
    "dcgm": '{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"__name__": '
    '"DCGM_FI_DEV_XID_ERRORS", "gpu": "0", "Hostname": "n1"}, "values": [[1714644000, "0"], [1714644060, "79"]]}]}}',
    "prometheus": 'DCGM_FI_DEV_XID_ERRORS{gpu="0",Hostname="n1"} 0 1714644000000\n'
    'DCGM_FI_DEV_XID_ERRORS{gpu="0",Hostname="n1"} 79 1714644060000\n',
}

OPTIONS = (
    {"n_nodes": 16, "window": "2024-05-01/2024-06-01", "year": 2024},
    {"n_nodes": 16, "window": "0..30"},
    {"year": 2024, "zone": "Europe/Berlin", "planned": "x"},
    {},
)


def holds(path, **options):
    """A log whose records add up, or an error in words."""
    try:
        log = logs.read(path, **options)
    except EttrError:
        return None
    assert log.n_records == len(log.events) + log.ledger["n"].sum()
    assert log.events["start"].between(*log.window).all() and log.node_days >= 0 and log.n_nodes >= 1
    assert log.events["node"].nunique() <= log.n_nodes
    return log


@pytest.mark.parametrize("name", VALID)
def test_each_valid_sample_is_sniffed_and_read(write, name):
    format = {"json lines": "events", "prometheus": "dcgm"}.get(name, name)
    log = holds(write(VALID[name]), n_nodes=16, year=2024, window="0..30" if name == "events" else None)
    assert log is None or log.format == format
    if name in ("csv", "events", "json lines", "slurm"):
        assert len(log.events) > 0


ODD = [b'"', b"\n", b",", b"|", b"{", b"]", b"9" * 30, b"-", b":", b"\0", b"\\ud800", b"Z", b"[1-9999999]"]

edits = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 12),
        st.one_of(
            st.binary(max_size=8),
            st.sampled_from(ODD),
        ),
    ),
    max_size=6,
)


@pytest.mark.parametrize("name", VALID)
@given(edits=edits, options=st.sampled_from(OPTIONS), forced=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mutated_log_is_read_or_refused(write, name, edits, options, forced):
    content = VALID[name].encode()
    for where, length, new in edits:
        place = int(where * len(content))
        content = content[:place] + new + content[place + length :]
    format = {"json lines": "events", "prometheus": "dcgm"}.get(name, name) if forced else None
    holds(write(content), format=format, **options)


@given(content=st.binary(max_size=400), format=st.sampled_from([None, *FORMATS]))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(write, content, format):
    holds(write(content), format=format, **OPTIONS[0])
