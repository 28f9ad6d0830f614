"""Files of a sweep that are not as they were written: noticed, said, and made anew."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from ettr import sweep
from ettr.core.errors import EttrError
from ettr.sweep import grid, work
from ettr.sweep.folder import Folder
from ettr.sweep.jobs import CallJob

BUDGETS = {"failures.lifetime": [None], "cluster.n_gpus": [8192, 16384, 32768]}
AT_ONCE = {"cluster.n_gpus": [8192, 16384]}


def another_value(path: Path) -> None:
    path.write_text(path.read_text().replace("2.0", "3.0").replace('"ettr": 0.', '"ettr": 0.1'))


def another_order_of_cells(path: Path) -> None:
    content = json.loads(path.read_text())
    if "cells" in content:
        content["cells"].reverse()
    else:
        content["digest"] = content["digest"][::-1]
    path.write_text(json.dumps(content))


def without(field: str):
    def drop(path: Path) -> None:
        content = json.loads(path.read_text())
        run = content["metadata"]["ettr"] if "cells" in content else content
        del run[field]
        path.write_text(json.dumps(content))

    return drop


DAMAGES = {
    "another value": another_value,
    "another order": another_order_of_cells,
    "no digest": without("sha256"),
    "no duration": without("duration_s"),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "not JSON": lambda path: path.write_text("<html>"),
    "no mapping": lambda path: path.write_text("[]"),
    "no text": lambda path: path.write_bytes(b"\xff\xfe{}"),
    "of another point": lambda path: path.write_bytes(next(p for p in path.parent.iterdir() if p != path).read_bytes()),
}


@pytest.fixture
def swept(study, cluster, tmp_path):
    """A sweep of the notebook, or of calls: it gives the table and all that it told."""

    def run(kind: str, out: Path | None = None, hear=lambda progress: None, **options):
        told = []

        def tell(progress):
            told.append(progress)
            hear(progress)

        grid = {"x": [1, 7]}
        job = (
            sweep.NotebookJob(study, sweep.load(grid, 99))
            if kind == "notebooks"
            else sweep.CallJob("budget", "llama3-405b", sweep.load(BUDGETS, 99))
        )
        table = sweep.sweep(job, out or tmp_path / kind, scheduler=cluster, on_progress=tell, **options)
        return table.drop(columns="duration_s"), told

    return run


@pytest.mark.parametrize("kind", ["notebooks", "calls"])
def test_a_point_whose_file_was_changed_runs_again_and_that_is_said(kind, swept, tmp_path):
    before, _ = swept(kind)
    name = before["notebook"][0]
    path = tmp_path / kind / name
    whole = path.read_bytes()
    for damage, change in DAMAGES.items():
        change(path)
        assert path.read_bytes() != whole, damage
        table, told = swept(kind)
        pd.testing.assert_frame_equal(table, before)
        assert told[0].altered == told[-1].altered == (name,), damage
        assert told[0].done == len(before) - 1 and told[-1].done == len(before), damage
    assert swept(kind)[1][0].altered == ()


def test_a_failed_point_does_not_stand_in_for_a_damaged_done_one(swept, tmp_path):
    table, _ = swept("calls")
    path = tmp_path / "calls" / table["notebook"][0]
    path.with_suffix(".failed.json").write_bytes(path.read_bytes())
    path.write_text("")
    assert swept("calls")[0]["status"].tolist() == ["done"] * 3
    assert not path.with_suffix(".failed.json").exists()


def test_a_file_that_is_changed_while_the_sweep_is_at_work_is_noticed_before_the_table(swept, tmp_path):
    calm, _ = swept("calls")
    out, changed = tmp_path / "busy", []

    def meddle(progress):
        if progress.done == 2 and not changed:
            changed.append(next((out / "points").glob("*.json")))
            another_value(changed[0])

    table, told = swept("calls", out, meddle)
    pd.testing.assert_frame_equal(table, calm)
    assert told[-1].altered == (f"points/{changed[0].name}",) and told[-1].done == 3


def test_something_that_changes_files_again_and_again_is_said(swept, tmp_path):
    def meddle(progress):
        if progress.last:
            (tmp_path / "calls" / "points" / f"{progress.last}.json").write_text("{}")

    with pytest.raises(EttrError, match="something changes the files of points"):
        swept("calls", hear=meddle)


def test_a_file_that_is_whole_in_the_last_round_is_no_error(swept, tmp_path):
    changed = []

    def meddle(progress):
        if progress.last and len(changed) < 9:
            changed.append(progress.last)
            (tmp_path / "calls" / "points" / f"{progress.last}.json").write_text("{}")

    table, _ = swept("calls", hear=meddle)  # three points in three rounds, and the fourth is calm
    assert len(changed) == 9 and table["status"].tolist() == ["done"] * 3


def test_a_table_that_another_sweep_wrote_meanwhile_is_not_altered(swept, tmp_path):
    swept("calls")
    late = Folder(tmp_path / "calls", CallJob("budget", "llama3-405b", grid.load(BUDGETS, 10)))
    swept("calls")
    with late.taken():
        assert not late.altered


def test_a_parameter_file_that_was_changed_meanwhile_is_not_sent_to_a_worker(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("old")
    file = work.File(str(path), work.sha256_of(path))
    task = work.Task("a", "", {}, "x", (file,), "", {})
    assert work.with_contents(task, [file.path]).files[0].contents == b"old"
    path.write_text("new")
    with pytest.raises(EttrError, match=r"w\.csv was changed while the sweep was at work"):
        work.with_contents(task, [file.path])
    assert work.with_contents(task, []) is task


def test_a_table_that_was_changed_is_made_anew(swept, tmp_path):
    table, _ = swept("calls")
    path = tmp_path / "calls" / "results.parquet"
    pd.read_parquet(path).assign(ettr=1.0).to_parquet(path)
    _, told = swept("calls")
    assert told[0].altered == ("results.parquet",)
    assert pd.read_parquet(path)["ettr"].tolist() == table["ettr"].tolist()


def test_a_table_that_is_all_there_is_is_computed_again(tmp_path):
    table = sweep.call("budget", AT_ONCE, tmp_path / "out", scenario="llama3-405b")
    path = tmp_path / "out" / "results.parquet"
    changed = pd.read_parquet(path).assign(ettr=1.0)
    told = []
    assert sweep.call("budget", AT_ONCE, tmp_path / "out", scenario="llama3-405b", on_progress=told.append).equals(
        table
    )
    assert not told
    changed.to_parquet(path)
    again = sweep.call("budget", AT_ONCE, tmp_path / "out", scenario="llama3-405b", on_progress=told.append)
    assert told[0].altered == ("results.parquet",)
    assert again["ettr"].tolist() == table["ettr"].tolist() == pd.read_parquet(path)["ettr"].tolist()


@pytest.mark.parametrize("key", ["n_points", "sha256", "grid", None])
def test_a_manifest_that_was_changed_is_said_and_made_anew(key, swept, tmp_path):
    before, _ = swept("calls")
    path = tmp_path / "calls" / "sweep.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in content.items() if name != key}) if key else "{")
    table, told = swept("calls")
    assert "sweep.json" in told[0].altered and told[0].kept == 3
    pd.testing.assert_frame_equal(table, before)
    assert json.loads(path.read_text()).keys() == content.keys()
    _, told = swept("calls")
    assert not told or not told[0].altered


def test_the_page_and_the_command_say_it(ettr, cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.yml").write_text("failures.lifetime: [null]\ncluster.n_gpus: [8192, 16384]\n")
    command = [
        "sweep",
        "--call",
        "budget",
        "--scenario",
        "rsc-1",
        "--grid",
        "grid.yml",
        "--out",
        "out",
        "--scheduler",
        cluster,
    ]
    ettr(*command)
    name = next((tmp_path / "out" / "points").iterdir()).name
    (tmp_path / "out" / "points" / name).write_text("{}")
    sentence = f"1 file was not as it was written, and was made anew: points/{name}."
    _, _, err = ettr(*command, "--report")
    assert sentence in err and "1 file made anew" in err
    assert sentence in (tmp_path / "out" / "report.html").read_text()
