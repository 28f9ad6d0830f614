from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from ettr import Scenario
from ettr.cli import app

BROWSERS = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome", "msedge")
TEMPORARY_MB = 1000
"""Size limit for the temporary folder of the tests, which contains the built book."""

# the same examples in each run; `make check` uses random ones
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
settings.register_profile("random", **COMMON)
settings.register_profile("same", derandomize=True, **COMMON)
settings.load_profile("same")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # tests started in the background by a shell, and their processes, would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    """Stop with one sentence, instead of a traceback per test, if there is no space for temporary files."""
    try:
        folder = tempfile.gettempdir()
        free_mb = shutil.disk_usage(folder).free / 1e6
    except OSError:
        pytest.exit("no temporary folder is writable: free some space, or set TMPDIR to another folder", 1)
    if free_mb < TEMPORARY_MB:
        pytest.exit(
            f"the temporary folder {folder} has {free_mb:.0f} MB left, and the tests need {TEMPORARY_MB}: "
            f"free some space, or set TMPDIR to a folder with more",
            1,
        )


def cores() -> int:
    """Return the number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use one process more than cores, because many tests wait for a page or a subprocess; on one core, none."""
    return min(cores() + 1, 8) if cores() > 1 else 0


def pytest_report_header() -> str:
    return f"{cores()} cores" if cores() > 1 else "one core: tests run one after another, which takes twice as long"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run the tests of a file in one process, and those of a chapter, which share slow fixtures.

    Two files on the built site run at the same time: the second build reuses the pages of the first. With
    ``--dist worksteal``, for slow tests that share little, any process runs any test.
    """
    if config.getoption("dist") == "worksteal":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return path.rpartition("/")[0] if path.startswith("tests/chapters/") else path

    return ByFile(config, log)


@pytest.fixture(scope="session")
def llama3() -> Scenario:
    return Scenario.load("llama3-405b")


@pytest.fixture
def plain_run() -> Scenario:
    """A run with only failures, checkpoints and restarts, independent of its size; MTTF 4 h."""
    return Scenario.parse(PLAIN_RUN)


PLAIN_RUN = """
name: plain
title: A plain run
cluster: {n_gpus: 8000}
job: {productive_h: 40, include_start: false}
failures: {rate_per_1000_node_days: 6.0}
checkpoint: {interval_min: 60, stall_s: 300}
recovery: {detection_min: 0, restart_min: 10, init_s_per_1000_gpus: 0}
"""


@pytest.fixture
def ettr(capsys, monkeypatch):
    """Return a function that runs a command in this process: (exit status, standard output, standard error)."""
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


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return an installed Chromium or Chrome, else the one that Playwright installed."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        installed = next((path for path in map(shutil.which, BROWSERS) if path), None)
        bundled = playwright.chromium.executable_path
        if not installed and not Path(bundled).exists():
            pytest.fail("no Chromium or Chrome here: install one, or run `playwright install chromium`", pytrace=False)
        opened = playwright.chromium.launch(executable_path=installed or bundled, args=["--no-sandbox"])
        yield opened
        opened.close()
