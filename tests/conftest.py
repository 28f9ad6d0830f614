from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import pytest

from ettr import Scenario
from ettr.cli import app

sys.path.insert(0, str(Path(__file__).parent))  # models, logs and notebooks that several files use

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell that starts tests in the background has them, and all that they start, ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def llama3() -> Scenario:
    return Scenario.load("llama3-405b")


@pytest.fixture
def plain_run() -> Scenario:
    """A run with nothing but failures, checkpoints and restarts; MTTF 4 h."""
    return Scenario.parse(PLAIN_RUN)


PLAIN_RUN = """
name: plain
title: A plain run
cluster: {n_gpus: 8000}
job: {productive_h: 40, include_start: false}
failures: {rate_per_1000_node_days: 6.0}
checkpoint: {interval_min: 60, stall_s: 300}
recovery: {detection_min: 0, restart_min: 10}
"""


@pytest.fixture
def ettr(capsys, monkeypatch):
    """Run a command in this process; answers (exit status, standard output, standard error)."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            app.main(arguments)
            status = 0
        except SystemExit as stopped:
            status = stopped.code or 0
        out, err = capsys.readouterr()
        return status, re.sub(r"\x1b\[[0-9;]*m", "", out), re.sub(r"\x1b\[[0-9;]*m", "", err)

    return run
