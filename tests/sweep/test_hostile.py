"""Notebooks that break what runs them: each point ends as it should, the next is not harmed, nothing is left."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from ettr import sweep
from ettr.notebook import engine
from notebooks import written

pytestmark = pytest.mark.skipif(not engine.works_here(), reason="forks on Linux only")

DIED = r"\(id code-1\): its kernel died"
KILLED = r"\(id code-1\): its process was killed"
HOSTILE = {
    "a thread is left": ("threading.Thread(target=time.sleep, args=(600,)).start()", ""),
    "descriptors closed": ("os.close(1); os.close(2)", ""),
    "standard input": ("assert sys.stdin.read() == '' and os.read(0, 9) == b''", ""),
    "abort": ("os.abort()", KILLED),
    "no memory": ("bytearray(2**62)", "MemoryError"),
    "signals ignored": ("[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 13, 14, 15, 17)]", ""),
    "its group killed": ("os.killpg(0, 9)", KILLED),
    "its parent killed": ("os.kill(os.getppid(), 9); time.sleep(9)", KILLED),
    "environment gone": ("os.environ.clear()", ""),
    "a program is left": ("subprocess.Popen(['sleep', '600'])", ""),
    "prints for ever": ("while True: print('x' * 1000)", "its output exceeded"),
    "a shell fails": ("get_ipython().run_cell_magic('bash', '', 'exit 3')", "CalledProcessError"),
    "sys.exit(0)": ("sys.exit(0)", r"it exited early, with SystemExit\(0\)"),
    "exit()": ("exit()", DIED),
    "its pipe closed": ("os.closerange(3, 99); time.sleep(9)", DIED),
    "an error with our name": ("raise type('OutputTooLarge', (Exception,), {})('')", "OutputTooLarge"),
    "its errors hidden": ("get_ipython().set_custom_exc((Exception,), lambda *a, **k: None)\n1 / 0", "ZeroDivision"),
    "json patched": ("json.dumps = json.loads = None", ""),
    "a fork comes back": ("os.fork()", ""),
    "a fork records": ("pid = os.fork(); ettr.record(after=bool(pid))\nif pid: assert os.waitpid(pid, 0)[1] == 0", ""),
    "a record of another make": (
        "display({'application/vnd.ettr.record+json': 5}, raw=True)",
        "must be written by ettr.record",
    ),
}
"""What a cell does, and the error of its point; none where it is done."""
QUICK = ("a program is left", "sys.exit(0)", "a fork comes back", "json patched")
IMPORTS = "import json, os, signal, subprocess, sys, threading, time, ettr"


def below(pid: int) -> set[int]:
    """Processes that come from this one and are alive."""
    try:
        children = {int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
        alive = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return set()
    return ({pid} if alive else set()).union(*map(below, children))


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in HOSTILE])
def test_a_hostile_notebook_ends_as_it_should_and_harms_no_other(name, tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(engine, "MOST_OUTPUT_BYTES", 300_000)
    cell, error = HOSTILE[name]
    path = written(
        tmp_path / "study.ipynb",
        f"{IMPORTS}\nettr.record(before=n)",
        cell,
        "ettr.record(after=True)",
        parameters="n = 0  # whole",
    )
    row = sweep.run(path, {"n": [0]}, tmp_path / "out", scheduler=cluster, timeout_s=60).iloc[0]
    assert row["status"] == {"": "done", KILLED: "open"}.get(error, "failed"), row["error"]
    assert re.search(error, row["error"]) if error else row["after"], row["error"]
    calm = written(tmp_path / "calm.ipynb", "import ettr\nettr.record(y=2 * x)", parameters="x = 1  # whole")
    assert sweep.run(calm, {"x": [1, 2]}, tmp_path / "calm", scheduler=cluster)["y"].tolist() == [2, 4]
    prepared, until = engine.prepared()._process.pid, time.monotonic() + 20
    while left := {pid for pid in below(prepared) - {prepared} if b"chart_process" not in command(pid)}:
        assert time.monotonic() < until, f"left: {left}"
        time.sleep(0.1)
