"""Notebooks that break what runs them: each point ends as the book says, the next is not harmed, nothing is left."""

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
TOO_MUCH = "it put out more than"
SOCKETS = """for number in map(int, os.listdir('/proc/self/fd')):
    try:
        pipe = 'socket' in os.readlink(f'/proc/self/fd/{number}')
    except OSError:
        continue
    if pipe:
        os.write(number, """
HOSTILE = {
    "a thread is left": ("threading.Thread(target=time.sleep, args=(600,)).start()", ""),
    "a thread prints on": (
        "threading.Thread(target=lambda: [print('x') for _ in iter(int, 1)], daemon=False).start()",
        "",
    ),
    "streams closed": ("sys.stdout.close(); sys.stderr.close()", ""),
    "descriptors closed": ("os.close(1); os.close(2)", ""),
    "all descriptors closed": ("os.closerange(0, 256)", DIED),
    "standard input": ("assert sys.stdin.read() == '' and os.read(0, 9) == b''", ""),
    "abort": ("os.abort()", DIED),
    "the stack overflows": (
        "sys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr([self])\nrepr(A())",
        DIED,
    ),
    "no memory": ("bytearray(2**62)", "MemoryError"),
    "signals ignored": ("[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 13, 14, 15, 17)]", ""),
    "an alarm": ("signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(9)", DIED),
    "its group killed": ("os.killpg(0, 9)", DIED),
    "its parent killed": ("os.kill(os.getppid(), 9); time.sleep(9)", DIED),
    "working folder gone": ("d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)", ""),
    "environment gone": ("os.environ.clear()", ""),
    "logging broken": ("logging.disable(100); logging.Logger.handle = None; atexit.register(time.sleep, 600)", ""),
    "a program is left": ("subprocess.Popen(['sleep', '600'])", ""),
    "a program of its own session": ("subprocess.Popen(['sleep', '600'], start_new_session=True)", ""),
    "a daemon": ("!setsid sh -c 'sleep 600 & sleep 600 &'", ""),
    "prints for ever": ("while True: print('x' * 1000)", TOO_MUCH),
    "writes for ever": ("while True: os.write(1, b'x' * 1000)", TOO_MUCH),
    "a program prints for ever": ("subprocess.run(['yes'])", TOO_MUCH),
    "a shell prints for ever": ("get_ipython().run_cell_magic('bash', '', 'yes')", TOO_MUCH),
    "a shell fails": ("get_ipython().run_cell_magic('bash', '', 'exit 3')", "CalledProcessError"),
    "sys.exit(0)": ("sys.exit(0)", r"it ended itself before its end, with SystemExit\(0\)"),
    "sys.exit()": ("sys.exit()", r"it ended itself before its end, with SystemExit\(\)"),
    "exit()": ("exit()", DIED),
    "os._exit(0)": ("os._exit(0)", DIED),
    "a repr ends": ("class A:\n    def __repr__(self): sys.exit(0)\nA()", r"with SystemExit\(0\)"),
    "ask_exit": ("get_ipython().ask_exit()", DIED),
    "GeneratorExit": ("raise GeneratorExit", "GeneratorExit"),
    "the loop stopped": ("asyncio.get_running_loop().stop()", "its kernel died"),
    "an error with our name": ("raise type('OutputTooLarge', (Exception,), {})('')", "OutputTooLarge"),
    "its errors hidden": (
        "get_ipython().set_custom_exc((Exception,), lambda *a, **k: None)\n1 / 0",
        "ZeroDivisionError",
    ),
    "nothing is shown": ("get_ipython()._showtraceback = lambda *a, **k: None\n1 / 0", "ZeroDivisionError"),
    "warnings are errors": ("warnings.simplefilter('error')", ""),
    "json patched": ("json.dumps = json.loads = None", ""),
    "open patched": ("builtins.open = io.open = os.replace = os.fsync = os.write = os.getpid = None", "TypeError|"),
    "builtins patched": ("builtins.len = builtins.isinstance = None", "TypeError|died"),
    "_exit patched": ("os._exit = None\nexit()", DIED),
    "tracing": ("sys.settrace(lambda *a: 1 / 0)", "ZeroDivisionError|died|"),
    "a fork comes back": ("os.fork()", ""),
    "four forks come back": ("os.fork(); os.fork()", ""),
    "a fork records": ("pid = os.fork(); ettr.record(after=bool(pid))\nif pid: assert os.waitpid(pid, 0)[1] == 0", ""),
    "a fork raises": ("pid = os.fork()\nif not pid: 1 / 0\nassert os.waitpid(pid, 0)[1] == 256", ""),
    "a fork exits": ("pid = os.fork()\nif not pid: sys.exit(3)\nassert os.waitpid(pid, 0)[1] == 3 * 256", ""),
    "a fork after await": ("await asyncio.sleep(0)\npid = os.fork()", ""),
    "garbage to who asks": (f"{SOCKETS}b'garbage' * 100)", "it put out more|died"),
    "a message without end": (f"{SOCKETS}b'\\xff\\xff\\xff\\xff' + b'\\x7f' * 8)", "it put out more|died"),
    "a record of another make": (
        "display({'application/vnd.ettr.record+json': 5}, raw=True)",
        "must be one of ettr.record",
    ),
    "stopped": ("os.kill(os.getpid(), signal.SIGSTOP)", "it took longer than 6 s"),
}
"""What a cell does, and the error of its point; none where it is done."""

IMPORTS = "import asyncio, atexit, builtins, io, json, logging, os, signal, subprocess, sys, tempfile, threading, time"
QUICK = ("a program of its own session", "sys.exit(0)", "a fork comes back", "json patched", "a message without end")


def below(pid: int) -> set[int]:
    """Processes that come from this one and are alive."""
    try:
        children = {int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except OSError:
        return set()
    return {child for child in children if alive(child)}.union(*map(below, children))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in HOSTILE])
def test_a_hostile_notebook_ends_as_it_should_and_harms_no_other(name, tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(engine, "MOST_OUTPUT_BYTES", 300_000)
    cell, error = HOSTILE[name]
    others = below(engine.prepared()._process.pid)
    path = written(
        tmp_path / "study.ipynb",
        f"{IMPORTS}, warnings, ettr\nettr.record(before=n)",
        cell,
        "ettr.record(after=True)",
        parameters="n = 0  # whole",
    )
    row = sweep.run(path, {"n": [0]}, tmp_path / "out", scheduler=cluster, timeout_s=6).iloc[0]
    text = row["error"]
    if row["status"] == "done":
        assert row["after"], "the rest was not run"
    assert row["status"] == ("failed" if text else "done")
    assert re.search(error, text) if error else not text, text
    calm = written(tmp_path / "calm.ipynb", "import ettr\nettr.record(y=2 * x)", parameters="x = 1  # whole")
    assert sweep.run(calm, {"x": [1, 2]}, tmp_path / "calm", scheduler=cluster)["y"].tolist() == [2, 4]
    until = time.monotonic() + 20
    while left := below(engine.prepared()._process.pid) - others:
        assert time.monotonic() < until, f"left: {left}"
        time.sleep(0.05)
