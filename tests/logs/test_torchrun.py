"""Logs of torchrun: when the job failed, what for, and which lines speak of one failure."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_format import every_line_counts, mutated, n_lines, outcome, us

from ettr.core.errors import InputError
from ettr.logs.readers.torchrun import FORMAT

SUMMARY = """\
============================================================
pretrain.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2025-02-13_12:07:21
  host      : h12
  rank      : 97 (local_rank: 1)
  exitcode  : -15 (pid: 4202)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 4202
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2025-02-13_12:07:20
  host      : h11
  rank      : 91 (local_rank: 3)
  exitcode  : -9 (pid: 4101)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 4101
============================================================
"""
AGENT = "torch/distributed/elastic/agent/server/api.py"
WORKERS = "torch/distributed/elastic/multiprocessing/api.py"
NEWEST = f"""\
I0213 10:00:00.100000 139 {AGENT}:700] [default] Rendezvous complete for workers. Result:
I0213 10:00:01.200000 139 {AGENT}:860] [default] Starting worker group
step 1 loss 11.2
W0213 12:07:21.500000 139 {WORKERS}:897] Sending process 4202 closing signal SIGTERM
E0213 12:07:22.600000 139 {WORKERS}:869] failed (exitcode: -9) local_rank: 3 (pid: 4101) of binary: python
I0213 12:07:22.700000 139 {AGENT}:900] [default] Worker group FAILED. 3/3 attempts left; will restart worker group
Traceback (most recent call last):
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
{SUMMARY}\
I0213 12:09:22.000000 139 {AGENT}:860] [default] Starting worker group
I0213 12:09:40.000000 139 {AGENT}:861] last line
"""
SECOND = """\
[2025-02-13 10:00:00,000] torch.distributed.elastic.agent.server.api: [INFO] [default] Starting worker group
[rank7]: RuntimeError: CUDA error: uncorrectable ECC error encountered
[2025-02-13 11:30:00,896] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 7
[2025-02-13 11:31:00,000] torch.distributed.elastic.agent.server.api: [INFO] [default] Starting worker group
[2025-02-13 13:00:00,000] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 0
"""
OLDEST = """\
2025-02-13 09:00:00 step 10 loss 3.1
INFO:torch.distributed.elastic.agent.server.api:[default] Starting worker group
2025-02-13 10:00:00 step 20 loss 3.0
ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -11) local_rank: 2 (pid: 55) of binary: python
INFO:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 2/3 attempts left; will restart
INFO:torch.distributed.elastic.agent.server.api:[default] Starting worker group
2025-02-13 10:20:00 step 20 loss 3.0
"""


def watchdog(at: str, rank: int = 0, timeout_ms: int = 600_000) -> str:
    return (
        f"[rank{rank}]:[E213 {at}.408271257 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught collective "
        f"operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)={timeout_ms}) "
        "ran for 600060 milliseconds before timing out."
    )


def started(at: str) -> str:
    return f"I0213 {at}.000000 139 {AGENT}:860] [default] Starting worker group"


def failed(at: str, code: int = 1) -> str:
    return f"E0213 {at}.000000 139 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: {code}) pid"


def read(*lines: str):
    return outcome(FORMAT, "\n".join(lines), year=2025)


def test_newest_form():
    log = outcome(FORMAT, NEWEST, year=2025)
    assert log.starts == ["2025-02-13 12:07:20"]
    event = log.events.iloc[0]
    assert (event["node"], event["cause"]) == ("h11", "signal 9 (SIGKILL)")
    assert str(event["end"])[:19] == "2025-02-13 12:09:22"
    assert event.isna()["component"]
    assert log.exposure.window == (us("2025-02-13T10:00:00.1"), us("2025-02-13T12:09:40"))
    assert log.exposure.n_nodes is None
    assert log.n("merged", "details of a failure's summary") == 15
    assert log.n("merged", "another line of the same failure") == 3
    assert log.n("dropped", "start of the workers") == 3
    assert log.n_records == n_lines(NEWEST)


def test_stamps_without_a_year_need_one():
    with pytest.raises(InputError, match="`year`"):
        outcome(FORMAT, NEWEST)


def test_second_form_and_what_cuda_says():
    log = outcome(FORMAT, SECOND)
    assert log.starts == ["2025-02-13 11:30:00", "2025-02-13 13:00:00"]
    assert log.events["cause"].tolist() == ["CUDA error: uncorrectable ECC error encountered", "exit code 1"]
    assert log.events["component"].tolist()[0] == "GPU" and log.events.isna()["component"][1]
    assert str(log.events["end"][0])[:19] == "2025-02-13 11:31:00" and log.events.isna()["end"][1]
    assert "only an exit code, which may be program errors: 1 of 2" in log.notes


def test_oldest_form_takes_the_time_before():
    log = outcome(FORMAT, OLDEST)
    assert log.starts == ["2025-02-13 10:00:00"]
    assert log.events["cause"].tolist() == ["signal 11 (SIGSEGV)"]
    assert log.n_records == n_lines(OLDEST)


def test_no_time_at_all():
    text = "\n".join(line for line in OLDEST.split("\n") if not line.startswith("2025"))
    log = outcome(FORMAT, text)
    assert log.events.empty and log.exposure.window is None
    assert log.n("not parsed", "no time in this or an earlier line") == 2
    assert log.n_records == n_lines(text)


@pytest.mark.parametrize(
    ("stamp", "options"),
    [
        ("I0213 12:00:00.000000 139 a.py:1] ", {"year": 2025}),
        ("[rank3]:[E213 12:00:00.123456789 a.cpp:1] ", {"year": 2025}),
        ("[default3]:I0213 12:00:00 139 a.py:1] ", {"year": 2025}),
        ("  7: [2025-02-13 12:00:00,123] torch: [ERROR] ", {}),
        ("[INFO] 2025-02-13 12:00:00,050 api: ", {}),
        ("2025-02-13 12:00:00,050 - INFO - torch - ", {}),
        ("2025-02-13T12:00:00.123456789Z ERROR:torch.distributed:", {}),
        ("2025-02-13T13:00:00+01:00 ERROR:torch.distributed:", {}),
    ],
)
def test_stamps(stamp, options):
    log = outcome(
        FORMAT, f"{stamp}[default] Worker group FAILED. 1/3 attempts left; will restart worker group\n", **options
    )
    assert log.starts == ["2025-02-13 12:00:00"]
    assert log.events["cause"].tolist() == ["worker group failed"]


def test_a_watchdog_speaks_late():
    """Stamped 10 min after the fault; the agent's own line, a second later, does not move it."""
    log = read(started("08:00:00"), watchdog("12:10:00"), watchdog("12:10:40", 5), failed("12:10:41", -6))
    assert log.starts == ["2025-02-13 12:00:00"]
    assert log.events["cause"].tolist() == ["NCCL timeout"]
    assert log.events["component"].isna().all()
    assert log.n("merged", "another line") == 2
    assert "dated back" in log.notes


def test_no_failure_before_the_workers_started():
    log = read(started("08:00:00"), failed("12:00:00"), started("12:05:00"), watchdog("12:14:00"))
    assert log.starts == ["2025-02-13 12:00:00", "2025-02-13 12:05:00"]


def test_a_crash_and_the_time_outs_it_caused_are_one_failure():
    """A worker dies at 12:00; the others wait 10 min for it. The first fault counts."""
    log = read(started("08:00:00"), failed("12:00:02", -9), *(watchdog(f"12:10:{i:02d}", i) for i in range(30)))
    assert log.starts == ["2025-02-13 12:00:00"]
    assert log.events["cause"].tolist() == ["signal 9 (SIGKILL)"]
    assert log.n("merged", "another line") == 30


def test_a_stop_from_outside_is_no_failure():
    text = f"W0213 12:00:00.000000 139 {AGENT}:1] Received 15 death signal, shutting down workers"
    log = read(started("08:00:00"), text, failed("12:00:05", -15))
    assert log.events.empty
    assert log.n("dropped", "stopped from outside") == 1 and log.n_records == 3


@pytest.mark.parametrize(
    ("text", "cause", "component"),
    [
        ("RuntimeError: CUDA error: device-side assert triggered", "CUDA error: device-side assert triggered", None),
        ("torch.AcceleratorError: CUDA error: NVLink uncorrectable", "CUDA error: NVLink uncorrectable", "GPU"),
        (
            "NCCL error in: a.cpp:47, unhandled system error (run with NCCL_DEBUG)",
            "NCCL error: unhandled system error",
            None,
        ),
        ("ncclInternal NCCL error: internal error - please report", "NCCL error: internal error", None),
        ("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "RendezvousTimeoutError", None),
        ("NCCL WARN NET/IB : Got completion from peer with error 12", "InfiniBand completion error", "Network"),
        ("failed (exitcode: -7) local_rank: 1", "signal 7 (SIGBUS)", None),
        ("failed (exitcode: -77) local_rank: 1", "signal 77", None),
        ("failed (exitcode: 137) local_rank: 1", "exit code 137", None),
        ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "a worker failed", None),
    ],
)
def test_causes(text, cause, component):
    events = read(f"E0213 12:00:00.000000 139 a.py:1] {text}").events
    assert events["cause"].tolist() == [cause]
    assert [
        None if missing else name for name, missing in zip(events["component"], events.isna()["component"], strict=True)
    ] == [component]


def test_a_summary_names_host_and_error():
    text = SUMMARY.replace(
        "Signal 9 (SIGKILL) received by PID 4101", "RuntimeError: CUDA error: uncorrectable ECC error"
    ).replace("-9", "1")
    log = outcome(FORMAT, text)
    assert log.events["node"].tolist() == ["h11"] and log.events["component"].tolist() == ["GPU"]
    cut = outcome(FORMAT, SUMMARY[: SUMMARY.index("  rank      : 91")])
    assert cut.events["node"].tolist() == ["h11"] and cut.events["cause"].tolist() == ["a worker failed"]
    assert cut.n_records == n_lines(SUMMARY[: SUMMARY.index("  rank      : 91")])


@given(hours=st.lists(st.integers(1, 20), min_size=1, max_size=20), ranks=st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_failures_and_outages_come_back(hours, ranks):
    """A log written from known failures: each after so many hours, found by a watchdog, out for 15 min."""
    at, lines, faults = us("2025-01-01"), [], []
    for run in hours:
        lines.append((at, "[default] Starting worker group"))
        at += run * 3_600_000_000
        faults.append(at)
        late = at + 600_000_000
        lines += [(late + rank, watchdog("00:00:00").partition("] ")[2]) for rank in range(ranks)]
        at += 900_000_000
    lines.append((at, "[default] Starting worker group"))
    text = "\n".join(f"[{pd.Timestamp(us_, unit='us').strftime('%Y-%m-%d %H:%M:%S,%f')}] {line}" for us_, line in lines)
    log = outcome(FORMAT, text)
    assert [round(start.timestamp() * 1e6) for start in log.events["start"]] == faults
    assert ((log.events["end"] - log.events["start"]) == pd.Timedelta(minutes=15)).all()
    assert log.n_records == n_lines(text)


def test_sniff():
    assert all(FORMAT.sniff(text.split("\n")) for text in (NEWEST, SECOND, OLDEST))
    assert not FORMAT.sniff(["start,end,node", "1,2,a"])


@given(data=st.data(), text=st.sampled_from([NEWEST, SECOND, OLDEST]))
@settings(max_examples=60, deadline=None)
def test_any_text_is_read_or_refused(data, text):
    every_line_counts(FORMAT, data.draw(mutated(text)), year=2025)
