"""Files that options name for output: replaced as a whole, or left as they were with one sentence that says why."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ettr import Gpu, Scenario, telemetry

QUICK = ("plan", "--gpus", "1024", "--mtbf-h", "5", "--quick")
WRITERS = {
    "a.yml": (*QUICK, "--save"),
    "a.html": (*QUICK, "--html"),
    "a.csv": ("simulate", "rsc-2", "--runs", "2", "-q", "--timeline"),
    "b.csv": ("power", "llama3-405b", "--set", "job.productive_h=20", "--series"),
    "b.yml": ("fit", "log.csv", "--nodes", "5", "--scenario-out"),
    "c.yml": ("telemetry", "recording.csv", "-q", "--part-out"),
}
"""Commands by the file that they write."""
LOG = "time,node,reason\n2024-05-01 10:00,n7,GPU\n2024-05-02 11:00,n9,NIC\n2024-05-05 11:00,n9,NIC\n"


@pytest.fixture(autouse=True)
def inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    recording = telemetry.simulate(Gpu.load("h100"), telemetry.schedule(15), power_window_s=1.0, seed=3)
    recording.samples.to_csv("recording.csv", index=False)
    Path("out").mkdir()


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_takes_nothing_leaves_the_old_file_and_the_answer_is_still_shown(ettr, monkeypatch, name):
    def refuse(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = Path("out", name)
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", refuse)
    status, out, err = ettr(*WRITERS[name], str(path))
    assert (status, err) == (2, f"ettr: cannot write {path}: No space left on device\n") and len(out) > 200
    assert list(Path("out").iterdir()) == [path] and path.read_text() == "old"


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_at_the_place_of_a_file_is_refused_in_a_sentence(refused, name):
    path = Path("out", name)
    path.mkdir()
    assert refused(*WRITERS[name], str(path)) == f"cannot write {path}: Is a directory"


def test_a_scenario_that_does_not_fit_on_the_disk_is_not_cut_off(tmp_path):
    """Half of a scenario may be a whole one that plans differently."""
    Path("out/a.yml").write_text("old")
    limited = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (2000, 2000)); from ettr.cli import app; app.main()"
    command = ["plan", "llama3-405b", "--quick", "--save", "out/a.yml"]
    done = subprocess.run([sys.executable, "-c", limited, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr == "ettr: cannot write out/a.yml: File too large\n"
    assert os.listdir("out") == ["a.yml"] and Path("out/a.yml").read_text() == "old"


# --------------------------------------------------------------------------- names of any kind

FOLDERS = ("-100% a b'@#ümlaut ß", 'quo"te`tick[br]{ace}$HOME,comma=eq;&~%20%s', "x" * 220)


@pytest.fixture(params=FOLDERS)
def mine(request, tmp_path, monkeypatch) -> Path:
    """A scenario with weather and a GPU beside it, in a folder of the working folder."""
    folder = tmp_path / request.param
    folder.mkdir()
    rows = "".join(f"2025-06-01T{hour:02d}:00,{hour}\n" for hour in range(24))
    (folder / "-site #1@ä.csv").write_text(f"time,temp_c\n{rows}", encoding="utf-8")
    (folder / "my 'gpu' 100%.yml").write_text(Gpu.load("h100").to_yaml(), encoding="utf-8")
    path = folder / "mi'ne @#%.yml"
    path.write_text(
        "cluster: {n_gpus: 64}\njob: {productive_h: 48}\nfailures: {job_mttf_h: 40}\n"
        "heat: {weather: '-site #1@ä.csv', part: \"my 'gpu' 100%.yml\"}\npower: {part: \"my 'gpu' 100%.yml\"}\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    return path


def test_what_a_scenario_names_is_found_beside_it_and_a_saved_one_is_the_same(mine, in_words):
    run, saved = Scenario.load(mine), mine.with_name("-saved '@#.yml")
    assert run.part.name == "h100" and Path(run.heat.weather).parent == mine.parent
    assert "ETTR (" in in_words("plan", str(mine), "--quick", "--save", str(saved))
    assert Scenario.load(saved) == run
    assert in_words("plan", f"./{saved.relative_to(Path.cwd())}", "--quick")


def test_a_sweep_takes_such_names_and_writes_to_them(mine, ettr):
    grid, out = mine.with_name("-grid @#'.yml"), mine.with_name("-out @#%'")
    grid.write_text("recovery.restart_min: [5, 10]\n", encoding="utf-8")
    options = (f"--scenario={mine}", f"--grid={grid}", f"--out={out}", "--workers", "1", "--quiet")
    status, _, err = ettr("sweep", "--call", "budget", *options)
    assert (status, err) == (0, "")
    assert pd.read_parquet(out / "results.parquet")["ettr"].is_monotonic_decreasing
