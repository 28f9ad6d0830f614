"""Files that nobody meant: each is refused in words, or read with every record accounted for."""

from __future__ import annotations

import gzip
import json
import lzma
import pickle

import pytest

from ettr import logs
from ettr.core.errors import InputError

HEADER = "start,end,node,cause\n"
ROW = "2024-05-02 10:00:00,2024-05-02 11:00:00,n1,Xid 79\n"

REFUSED = {
    "only blank lines": (b"\n\n  \n", "is not known"),
    "one failure, no window": (HEADER + "2024-05-02,,n1,x\n", "window must have a length"),
    "all at one instant, no window": (
        HEADER + "2024-05-02,,n1,x\n2024-05-02,,n2,x\n",
        "window must have a length.*`window=",
    ),
    "only a header, no window": (HEADER, "no failure was read, so `window` must be given"),
    "nothing that can be read": (
        HEADER + "soon,,n1,x\n" * 3,
        "3 not parsed: start: not a time \\(line 2: 'soon'\\). Write",
    ),
    "a pickle": (pickle.dumps({"start": 1}), "never loaded"),
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


def test_a_truncated_file_is_read_as_far_as_it_goes_and_said_loudly(read):
    rows = "".join(f"2024-05-02 {i // 60 % 24:02d}:{i % 60:02d},,n{i % 7},x{i * 7919 % 10007}\n" for i in range(20_000))
    packed = gzip.compress((HEADER + rows).encode())
    log = read(packed[: len(packed) // 2], "log.csv.gz", planned=None)
    assert 1000 < log.n_records < 20_000
    assert any("ends too early" in doubt and "the rest of the log is missing" in doubt for doubt in log.doubts)


@pytest.mark.parametrize(("kind", "pack", "place"), [("csv", lzma.compress, -200), ("events", gzip.compress, -6)])
def test_a_damaged_file_is_refused(read, kind, pack, place):
    rows = [{"start": f"2024-05-02 {i // 60 % 24:02d}:{i % 60:02d}", "node": f"n{i * 7919 % 9}"} for i in range(30_000)]
    csv = "start,node\n" + "\n".join(f"{row['start']},{row['node']}" for row in rows)
    packed = bytearray(pack({"csv": csv, "events": json.dumps(rows)}[kind].encode()))
    packed[place] ^= 0xFF
    with pytest.raises(InputError, match="is damaged at byte .* only truncated files can be read in part"):
        read(bytes(packed), "log.gz")


def test_a_file_that_is_mostly_not_understood_is_refused(read):
    good = HEADER + ROW + ROW.replace("n1", "n2")
    assert len(read(good + "soon,,n1,x\n" * 2).events) == 2
    with pytest.raises(InputError, match=r"most of the file could not be read as csv: 3 of 5 .* 3 not parsed: start"):
        read(good + "soon,,n1,x\n" * 3)


def test_a_million_nodes(write):
    rows = "".join(f"2024-05-02 10:{i // 60 % 60:02d}:{i % 60:02d},,n{i},x\n" for i in range(6000))
    log = logs.read(write(HEADER + rows), n_nodes=1_000_000, window="2024-05-01/2024-05-31")
    assert log.events["node"].nunique() == 6000 and log.node_days == 31e6
