"""The commands of the page on what to measure first run as printed, on a made-up cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from generated import ROOT

TEXT = (ROOT / "book/your_cluster/monday_morning.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```sh\n(.*?)^```$\n\n```text\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
"""Each block of commands, and the output shown for it."""
START, STEP_S, STALL_S, EVERY, EVALUATION_S = datetime(2026, 10, 1), 12, 9, 50, 360
"""Of the training log: a save after every 50 steps stops training for 9 s, an evaluation after 1,000 for 6 min."""
STOPS = ((3_660, "NODE_FAIL", 300, 120, 480), (9_145, "NODE_FAIL", 420, 60, 600), (16_020, "FAILED", 60, 30, 510))
"""Steps after which the job fails, its state, and the seconds of detection, queueing and restart."""
LAST = 20_000
JOBS_HEAD = "JobID|State|Start|End|ElapsedRaw|NNodes|NodeList"


def stamp(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()


def samples() -> tuple[str, str]:
    """Return the output of ``sacct`` and the training log of one run."""
    log, jobs, now, step, begun = [], [JOBS_HEAD], 600.0, 0, 0.0
    stops = list(STOPS)
    while step < LAST:
        step, now = step + 1, now + STEP_S
        log.append(f"{stamp(now).replace('T', ' ')},000 step: {step}  loss: 2.1")
        if step % EVERY == 0:
            now += STALL_S
        if step % 1000 == 0:
            now += EVALUATION_S
        if stops and step == stops[0][0]:
            _, state, detection, queue, restart = stops.pop(0)
            ended = now + detection
            jobs.append(f"71|{state}|{stamp(begun)}|{stamp(ended)}|{ended - begun:.0f}|128|n[001-128]")
            begun = ended + queue
            now, step = begun + restart, step // EVERY * EVERY
    jobs.append(f"71|COMPLETED|{stamp(begun)}|{stamp(now)}|{now - begun:.0f}|128|n[001-128]")
    jobs.append(f"72|FAILED|{stamp(0)}|{stamp(900)}|900|1|n200")
    return "\n".join(jobs) + "\n", "\n".join(log) + "\n"


EVENTS = """n017|2026-10-01T12:20:00|2026-10-02T11:00:00|DOWN*|Not responding
n017|2026-10-02T07:10:00|2026-10-03T09:00:00|DRAIN|Xid 79
n088|2026-10-02T20:00:00|2026-10-02T22:00:00|DRAINED|GPU count
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with the training log, and with commands that answer for the made-up cluster."""
    made = tmp_path_factory.mktemp("monday")
    jobs, log = samples()
    answers = {"sacct": jobs, "sacctmgr": EVENTS}
    (made / "bin").mkdir()
    for command, answer in answers.items():
        (made / f"{command}.out").write_text(answer)
        script = made / "bin" / command
        script.write_text(f"#!/bin/sh\ncat {made / command}.out\n")
        script.chmod(0o755)
    ettr = made / "bin" / "ettr"
    ettr.write_text(f'#!/bin/sh\nexec {sys.executable} -m ettr.cli "$@"\n')
    ettr.chmod(0o755)
    (made / "train.log").write_text(log)
    return made


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_commands_print_what_the_page_shows(number, folder):
    """In their order, because later blocks read files of earlier ones."""
    assert printed(folder, number) == EXAMPLES[number][1]


def printed(folder: Path, number: int) -> str:
    """Return the output of a block of commands in the folder of the made-up cluster."""
    environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "COLUMNS": "110", "NO_COLOR": "1"}
    run = subprocess.run(
        ["sh", "-eu", "-c", EXAMPLES[number][0]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return "".join(f"{line.rstrip()}\n" for line in run.stdout.splitlines())


def test_the_scripts_recover_the_made_up_truth(folder):
    stall, waits = (printed(folder, number) for number in (2, 3))
    assert stall == f"a step takes {STEP_S}.0 s\na checkpoint stops training for {STALL_S}.0 s\n"
    for name, seconds in zip(
        ("detection", "queue", "restart"), zip(*(stop[2:] for stop in STOPS), strict=True), strict=True
    ):
        mean = sum(seconds) / len(seconds) / 60
        assert re.search(rf"{name} +mean {mean:.1f} min", waits) or name == "restart"
