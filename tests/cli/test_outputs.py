"""Files that options name for output: replaced as a whole, or left as they were with one sentence that says why."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ettr import Gpu, Scenario, telemetry
from ettr.core import durable

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
    recording = telemetry.simulate(Gpu.load("h100"), telemetry.plan(15), power_window_s=1.0, seed=3)
    recording.samples.drop(columns=["length_s"]).to_csv("recording.csv", index=False)
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


@pytest.mark.parametrize("name", WRITERS)
def test_a_link_stays_a_link_and_the_file_it_leads_to_is_written(ettr, name):
    path, file = Path("out", name), Path(name)
    path.symlink_to(f"../{name}")
    file.write_text("old")
    assert ettr(*WRITERS[name], str(path))[0] == 0
    assert path.is_symlink() and not file.is_symlink() and len(file.read_text()) > 200


def test_a_scenario_that_does_not_fit_on_the_disk_is_not_cut_off(tmp_path):
    """Half of a scenario may be a whole one that plans differently."""
    Path("out/a.yml").write_text("old")
    limited = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (2000, 2000)); from ettr.cli import app; app.main()"
    asked = ["plan", "llama3-405b", "--quick", "--save", "out/a.yml"]
    done = subprocess.run([sys.executable, "-c", limited, *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr == "ettr: cannot write out/a.yml: File too large\n"
    assert os.listdir("out") == ["a.yml"] and Path("out/a.yml").read_text() == "old"


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="open files have no names here")
@pytest.mark.parametrize("option", ["--save", "--html"])
def test_a_pipe_of_the_shell_is_written_to(option):
    told, into = os.pipe()
    command = [sys.executable, "-m", "ettr.cli", *QUICK, option, f"/dev/fd/{into}"]
    done = subprocess.Popen(command, stdout=subprocess.DEVNULL, pass_fds=[into])
    os.close(into)
    with os.fdopen(told) as file:
        text = file.read()
    assert done.wait() == 0
    if option == "--save":
        Path("read.yml").write_text(text)
        assert Scenario.load("read.yml").cluster.n_gpus == 1024
    else:
        assert text.startswith("<!doctype html>") and text.rstrip().endswith("</html>")


def test_two_files_are_both_named_below_the_answer(in_words):
    lines = in_words(*QUICK, "--save", "out/a.yml", "--html", "out/a.html").splitlines()
    assert lines[-2:] == ["Written: out/a.yml", "Written: out/a.html"]
    assert not list(Path("out").glob(f"*{durable.PART}"))
