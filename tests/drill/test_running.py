"""Real processes, really killed: what holds whatever the machine. How long anything takes is not asserted."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ettr import logs
from ettr.core.durable import locked
from ettr.core.errors import EttrError, InputError
from ettr.drill import Settings, checkpoints, running
from ettr.drill.log import TRAINING, events
from ettr.drill.measured import measured
from ettr.drill.model import undisturbed
from ettr.drill.settings import FLIP, STOPPING, Fault
from ettr.drill.supervisor import Supervisor

SHORT = {"work_s": 1.6, "interval_s": 0.4, "write_s": 0.03, "heartbeat_s": 0.6, "n_workers": 3}


def ended(folder, settings):
    """Hold what every drill must hold, and return its log, read."""
    log = events(folder)
    result = measured(log, settings)
    state = checkpoints.read(checkpoints.final_of(checkpoints.folder_of(folder)))
    assert state == undisturbed(settings.seed, settings.n_workers, settings.n_steps)
    assert result.n_lost_steps == 0
    last_s = max(event["at_s"] for event in log if event["event"] == "step")
    assert 3600 * result.account.budget(0.02).total_h == pytest.approx(last_s - log[0]["at_s"], abs=1e-4)
    assert sorted(result.account.step_s) == list(range(1, settings.n_steps + 1))
    return result


def children(folder, role=""):
    """Processes of a drill that are there."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"ettr.drill.process\0{role}" in line and str(folder) in line:
            pids.append(int(path.parent.name))
    return pids


def wait_for(condition, timeout_s=20.0):
    until_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until_s, "waited in vain"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("plan", "more"),
    [
        ([(0.9, "crash", 0), (1.4, "crash", 2), (1.5, "hang", 1)], {}),
        pytest.param(
            [(1.0, "supervisor", 0), (1.6, "crash", 1)],
            {"background": True, "write_s": 0.2},
            marks=pytest.mark.slow,  # its supervisor dies below as well
        ),
        ([(1.0, "flip", 1), (1.9, "flip", 0)], {"check_steps": 10}),
        ([(1.2, "corrupt", 0), (1.25, "crash", 1), (1.3, "slow", 1)], {}),
    ],
    ids=["crash and hang", "supervisor", "flip", "corrupt and slow"],
)
def test_whatever_strikes_the_parameters_are_the_same(tmp_path, plan, more):
    settings = Settings(**{**SHORT, **more}, plan=tuple(Fault(*fault) for fault in plan), seed=3)
    running.run(tmp_path / "drill", settings)
    result = ended(tmp_path / "drill", settings)
    stopping = [strike.kind for strike in result.strikes if strike.kind in (*STOPPING, FLIP)]
    assert result.account.n_stops == len(stopping)
    assert not children(tmp_path)


def test_a_full_disk_costs_checkpoints_and_no_more(tmp_path):
    settings = Settings(**SHORT, plan=(Fault(0.5, "disk", 0), Fault(1.5, "crash", 0)))
    try:
        running.run(tmp_path / "drill", settings)
    except InputError as error:
        pytest.skip(str(error))
    ended(tmp_path / "drill", settings)
    assert any(event["event"] == "unwritten" for event in events(tmp_path / "drill"))
    assert not os.path.ismount(checkpoints.folder_of(tmp_path / "drill"))


def test_its_log_is_one_that_is_read(tmp_path):
    settings = Settings(**{**SHORT, "heartbeat_s": 9.0}, plan=(Fault(1.2, "crash", 0),))
    running.run(tmp_path / "drill", settings)
    stops = [strike for strike in ended(tmp_path / "drill", settings).strikes if not strike.in_start]
    run = logs.read_training(tmp_path / "drill" / TRAINING)
    assert run.n_gpus == settings.n_workers
    assert run.format == "megatron"
    assert run.n_steps in (settings.n_steps, settings.n_steps - 1)
    assert len(run.stops) == len(stops)
    assert run.named_s["saves"] > 0


def apart(folder, settings):
    """A drill in a process of its own."""
    code = f"from ettr.drill import Settings, running; running.run(__import__('pathlib').Path({str(folder)!r}), "
    return subprocess.Popen([sys.executable, "-c", f"{code}Settings.of({settings.to_dict()!r}))"])


def test_killed_with_its_command_it_goes_on(tmp_path):
    settings = Settings(**SHORT)
    folder = tmp_path / "drill"
    child = apart(folder, settings)
    wait_for(lambda: any(event["event"] == "durable" for event in events(folder)))
    child.kill()
    child.wait()
    wait_for(lambda: not children(folder), 5.0)
    assert not running.is_done(folder)
    running.run(folder, settings)
    assert ended(folder, settings).n_resumed == 1


@pytest.mark.parametrize("n_times", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_its_supervisor_may_die_at_any_moment(tmp_path, n_times):
    settings = Settings(**{**SHORT, "work_s": 1.6 if n_times < 10 else 6.0}, seed=7)
    folder, chance = tmp_path / "drill", random.Random(n_times)
    child = apart(folder, settings)
    for _ in range(n_times):
        time.sleep(chance.uniform(0.05, 0.9))
        for pid in children(folder, "supervisor"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert child.wait(120) == 0
    ended(folder, settings)


def test_ctrl_c_leaves_no_process_and_whole_checkpoints(tmp_path):
    folder = tmp_path / "drill"
    command = [sys.executable, "-m", "ettr.cli", "drill", str(folder), "--quiet", "--workers", "3"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: any(event["event"] == "durable" for event in events(folder / "calibration" / "1")), 40.0)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=20)
    assert child.returncode == 130
    assert re.fullmatch("ettr: stopped; .*same command .*newest checkpoint\n", said)
    wait_for(lambda: not children(folder), 5.0)
    where = checkpoints.folder_of(folder / "calibration" / "1")
    assert all(checkpoints.read(checkpoints.path_of(where, step)) for step in checkpoints.steps(where))


def test_a_folder_in_use_or_of_others_is_refused(tmp_path):
    settings = Settings(**SHORT)
    with locked(tmp_path / "used" / ".lock", "drill"), pytest.raises(InputError, match="another drill is at work"):
        running.run(tmp_path / "used", settings)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"contains thesis\.tex and no drill"):
        running.run(tmp_path / "full", settings)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "settings.json").write_text(json.dumps(settings.to_dict()))
    with pytest.raises(InputError, match="a drill with another work_s and seed"):
        running.run(tmp_path / "other", Settings(**{**SHORT, "work_s": 9.0}, seed=1))


def test_no_space_is_said_in_a_sentence(tmp_path):
    why_not = checkpoints.mount(tmp_path, 0.2)
    if why_not:
        pytest.skip(f"no disk of its own: {why_not}")
    try:
        with pytest.raises((EttrError, OSError), match="No space left on device"):
            running.run(tmp_path / "drill", Settings(**SHORT))
        assert not children(tmp_path)
    finally:
        checkpoints.unmount(tmp_path)


def test_workers_that_cannot_start_end_it(tmp_path, monkeypatch):
    checkpoints.folder_of(tmp_path).mkdir()
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(OSError, match="did not start to train, 5 times in a row"):
        Supervisor(tmp_path, Settings(**SHORT)).run()
