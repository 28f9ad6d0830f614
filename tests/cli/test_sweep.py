"""`ettr sweep`: what it shows, its exit status, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from notebooks import written

GRID = ("--grid", "grid.yml", "--out", "out")
CALL = ("sweep", "--call", "budget", "--scenario", "rsc-1")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A notebook, a grid with one point that fails, and the folder that both are in."""
    written(
        tmp_path / "study.ipynb",
        "import ettr\nettr.record(double=2 * x)\nassert x >= 0, 'below zero'",
        parameters="x = 1.0  # [1]",
    )
    (tmp_path / "grid.yml").write_text("x: [1, 2.5, -1]\n")
    (tmp_path / "good.yml").write_text("x: [1, 2.5]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sweep_says_what_came_out_and_its_status_is_that_of_its_points(study, ettr, cluster):
    command = ("sweep", "study.ipynb", *GRID, "--scheduler", cluster)
    status, out, err = ettr(*command, "--report")
    assert status == 1
    assert "2 of 3 points done, 1 failed, in " in out
    assert "failed at x = -1.0: study.ipynb stopped at cell 3 (id code-0): AssertionError: below zero (points/" in out
    assert "The table is at out/results.parquet" in out and "The report is at out/report.html" in out
    assert (study / "out" / "report.html").is_file()
    assert "[3/3] points, 1 failed" in err
    status, out, _ = ettr(*command, "--quiet")
    assert status == 1 and "3 kept from before" in out and "--retry-failed" in out


def test_a_killed_point_is_said_and_runs_again_with_the_same_command(study, ettr, cluster):
    written(
        study / "study.ipynb",
        "import os, pathlib, ettr\nif x < 0 and not pathlib.Path('calm').exists(): os.kill(os.getpid(), 9)",
        parameters="x = 1.0  # [1]",
    )
    command = ("sweep", "study.ipynb", *GRID, "--scheduler", cluster, "--quiet")
    status, out, _ = ettr(*command)
    assert status == 1 and "2 of 3 points done, 1 killed, in " in out
    assert "killed at x = -1.0: study.ipynb stopped at cell 3 (id code-0): its process was killed by SIGKILL" in out
    status, out, _ = ettr(*command, "--json")
    record = json.loads(out)
    assert status == 1 and (record["n_failed"], record["n_killed"]) == (0, 1)
    assert not record["failures"] and record["killed"][0]["x"] == -1
    status, _, err = ettr("sweep", "study.ipynb", *GRID, "--dry-run")
    assert status == 1 and "its process was killed" in err
    (study / "calm").touch()
    assert ettr(*command)[0] == 0


def test_a_good_sweep_ends_with_0_and_answers_machines(study, as_json, cluster):
    record = as_json("sweep", "study.ipynb", "--grid", "good.yml", "--out", "out", "--scheduler", cluster, "-q")
    counts = {name: record[name] for name in ("n_points", "n_done", "n_failed", "n_kept")}
    assert counts == {"n_points": 2, "n_done": 2, "n_failed": 0, "n_kept": 0}
    assert pd.read_parquet(record["table"])["double"].tolist() == [2.0, 5.0]


def test_a_dry_run_shows_the_points_and_how_long_they_take(study, in_words, as_json):
    command = ("sweep", "study.ipynb", *GRID, "--dry-run", "--workers", "2")
    out = in_words(*command)
    assert "3 points: 1 done, 0 failed, 2 open." in out
    assert "The first open point took" in out and "The rest will take about" in out
    record = as_json(*command)
    assert (record["done"], record["open"]) == (2, 1) and len(record["points"]) == 3


def test_many_points_are_shown_in_short(study, in_words):
    (study / "many.yml").write_text("cluster.n_gpus: {from: 8, to: 8000, step: 8}\n")
    out = in_words(*CALL, "--grid", "many.yml", "--out", "out", "--dry-run")
    assert "..." in out and "8000" in out and len(out.splitlines()) < 20
    summary = "1,000 points: 0 done, 0 failed, 1,000 open. They are computed together, in seconds."
    assert summary in " ".join(out.split())


def test_a_call_needs_no_notebook(study, ettr):
    (study / "sizes.yml").write_text("cluster.n_gpus: [8192, 16384]\n")
    assert ettr(*CALL, "--grid", "sizes.yml", "--out", "out")[0] == 0
    assert pd.read_parquet("out/results.parquet")["ettr"].between(0.5, 1).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "sweep needs a notebook, or --call"),
        (["study.ipynb", "--grid", "grid.yml"], "sweep needs --out"),
        (["study.ipynb", "--grid", "none.yml", "--out", "out"], "cannot read the grid none.yml"),
        (["study.ipynb", *GRID, "--timeout", "0"], "--timeout must be > 0 s, got 0"),
        (["study.ipynb", *GRID, "--scenario", "rsc-1"], "--scenario needs --call"),
        (["--call", "budget", *GRID, "--timeout", "3"], "--timeout is for notebooks"),
        (["--call", "nothing", *GRID], "unknown call 'nothing'"),
    ],
)
def test_what_makes_no_sweep_is_one_message_and_status_2(study, refused, arguments, words):
    assert words in refused("sweep", *arguments)
    assert not list(study.glob("out/points/*"))


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path):
    written(tmp_path / "slow.ipynb", "import time\ntime.sleep(0.3 if x < 3 else 60)", parameters="x = 1  # whole")
    (tmp_path / "grid.yml").write_text("x: {from: 1, to: 9, step: 1}\n")
    command = [sys.executable, "-m", "ettr.cli", "sweep", "slow.ipynb", *GRID]
    process = subprocess.Popen([*command, "--workers", "1"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)  # fmt: skip
    until = time.monotonic() + 90
    while len(list(tmp_path.glob("out/points/*.ipynb"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; finished points are kept, and the same command" in err
    assert "Traceback" not in err
    table = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert table["status"].value_counts().to_dict() == {"open": 7, "done": 2}
