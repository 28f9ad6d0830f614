"""A sweep runs what is not finished, keeps what is, and tells what came out."""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil

import duckdb
import pandas as pd
import pytest

from ettr import notebook, sweep
from ettr.core import durable
from ettr.core.errors import EttrError, InputError, UnknownName
from notebooks import written

GRID = {"x": [1, 2.5], "word": ["a", "b"]}
ONE = {"x": [1]}
OWN = ["id", "x", "word", "status", "duration_s", "error", "notebook"]


def ran(folder) -> list[str]:
    log = folder / "runs.log"
    return sorted(log.read_text().splitlines()) if log.is_file() else []


@pytest.fixture
def swept(study, cluster, tmp_path):
    def run(grid=GRID, path=study, out=tmp_path / "out", **options):
        return sweep.run(path, grid, out, scheduler=cluster, **options)

    return run


def test_every_point_is_a_row_with_what_it_recorded(swept, study, tmp_path):
    table = swept()
    assert list(table.columns) == [*OWN, "double", "text", "items"]
    assert table[["x", "word"]].to_dict("list") == {"x": [1, 1, 2.5, 2.5], "word": ["a", "b", "a", "b"]}
    assert set(table["status"]) == {"done"}
    assert table["double"].tolist() == [2.0, 2.0, 5.0, 5.0]
    assert table["items"].tolist() == [[1, 1], [1, 1], [2.5, 1], [2.5, 1]]
    assert len(ran(study.parent)) == 4
    for row in table.itertuples():
        executed = notebook.read(tmp_path / "out" / row.notebook)
        assert executed.metadata["ettr"]["parameters"] == {"x": row.x, "word": row.word}
    path = tmp_path / "out" / "results.parquet"
    pd.testing.assert_frame_equal(pd.read_parquet(path)[OWN], table[OWN], check_dtype=False)
    rows = duckdb.sql(f"select sum(double), count(*) from '{path}' where word = 'a'").fetchall()
    assert rows == [(7.0, 2)]


def test_what_is_finished_is_not_run_again_and_files_of_others_stay(swept, study, tmp_path):
    first = swept()
    (tmp_path / "out" / "mine.part").touch()
    progress = []
    pd.testing.assert_frame_equal(swept(on_progress=progress.append), first)
    assert len(ran(study.parent)) == 4
    assert progress == [sweep.Progress(done=4, failed=0, total=4, kept=4)]
    assert len(swept({"x": [1, 2.5, 4], "word": ["a", "b"]})) == 6
    assert len(ran(study.parent)) == 6 and (tmp_path / "out" / "mine.part").exists()


def test_a_failed_point_keeps_its_part_and_the_others_go_on(swept, study, tmp_path):
    table = swept({"x": [-1, 1]})
    assert table["status"].tolist() == ["failed", "done"]
    assert table["error"][0] == "study.ipynb stopped at cell 5 (id code-2): AssertionError: below zero"
    assert table["double"].tolist() == [-2.0, 2.0]  # recorded before it failed
    assert table["notebook"][0].endswith(".failed.ipynb") and (tmp_path / "out" / table["notebook"][0]).is_file()
    swept({"x": [-1, 1]})
    assert len(ran(study.parent)) == 2
    swept({"x": [-1, 1]}, retry_failed=True)
    assert ran(study.parent) == ["-1.0 1 a", "-1.0 1 a", "1.0 1 a"]


def test_a_point_that_succeeds_later_takes_the_place_of_its_failure(swept, tmp_path):
    path = written(tmp_path / "b.ipynb", "import os\nassert os.path.exists('ready')", parameters="x = 1  # [1]")
    out = tmp_path / "later"
    assert swept({"x": 1}, path, out)["status"].tolist() == ["failed"]
    (tmp_path / "ready").touch()
    assert swept({"x": 1}, path, out, retry_failed=True)["status"].tolist() == ["done"]
    assert [p.name for p in (out / "points").iterdir()] == [f"{swept({'x': 1}, path, out)['id'][0]}.ipynb"]


def test_changed_code_is_run_again_and_changed_text_is_not(swept, study):
    swept(ONE)
    document = json.loads(study.read_text())
    document["cells"][0]["source"] = "# Why?"
    study.write_text(json.dumps(document))
    swept(ONE)
    assert len(ran(study.parent)) == 1
    document["cells"][2]["source"] += "\n"
    study.write_text(json.dumps(document))
    swept(ONE)
    assert len(ran(study.parent)) == 2


def test_a_changed_file_that_a_parameter_names_is_run_again(swept, tmp_path):
    path = written(
        tmp_path / "b.ipynb", "import ettr\nettr.record(text=open(word).read())", parameters='word = ""  # file'
    )
    (tmp_path / "given.txt").write_text("one")
    grid, out = {"word": [str(tmp_path / "given.txt")]}, tmp_path / "files"
    assert swept(grid, path, out)["text"].tolist() == ["one"]
    (tmp_path / "given.txt").write_text("two")
    assert swept(grid, path, out)["text"].tolist() == ["two"]


DAMAGES = ("", "{", "[]", '{"cells": []}', '{"metadata": {"ettr": {"digest": "another"}}}')


def test_a_file_that_cannot_be_read_is_made_again(swept, study, tmp_path):
    table = swept(ONE)
    path, manifest = tmp_path / "out" / table["notebook"][0], tmp_path / "out" / "sweep.json"
    for number, damage in enumerate((*DAMAGES, path.read_text()[:-20]), start=2):
        path.write_text(damage)
        manifest.write_text(damage)
        pd.testing.assert_frame_equal(swept(ONE).drop(columns="duration_s"), table.drop(columns="duration_s"))
        assert len(ran(study.parent)) == number and json.loads(manifest.read_text())["sweep"] == "study.ipynb"


def test_values_come_back_to_the_last_bit_and_mixed_kinds_as_json(swept, tmp_path):
    path = written(
        tmp_path / "b.ipynb",
        "import ettr, math\nettr.record(a=0.1 * n, b=[0.1 * n, math.inf], c=math.nan, d=2**60 + n, e=None, f=n > 1)",
        "ettr.record(mixed=[1, 'two', [3]][n - 1], keys=sorted(given))",
        parameters="n = 1  # whole\ngiven = {}  # mapping",
    )
    table = swept({"n": [1, 2, 3], "given": [{"a": 1}]}, path, tmp_path / "bits")
    read = pd.read_parquet(tmp_path / "bits" / "results.parquet")
    for frame in (table, read):
        assert frame["a"].tolist() == [0.1, 0.2, 0.1 * 3]
        assert [list(value) for value in frame["b"]] == [[0.1 * n, math.inf] for n in (1, 2, 3)]
        assert frame["d"].tolist() == [2**60 + n for n in (1, 2, 3)]
        assert frame["f"].tolist() == [False, True, True]
        assert frame["c"].isna().all()
        assert frame["keys"].map(list).tolist() == [["a"]] * 3
    assert [json.loads(value) for value in read["mixed"]] == [1, "two", [3]]


def test_named_points_have_a_column(swept):
    assert swept({"points": {"low": {"x": 1}, "high": {"x": 9}}})["name"].tolist() == ["low", "high"]


@pytest.mark.parametrize(
    ("grid", "error", "words"),
    [
        ({"y": [1]}, UnknownName, "unknown parameter 'y'"),
        ({"x": ["text"]}, InputError, "x must be a number, got 'text'"),
        ({"n": [1, 1.5]}, InputError, "n must be a whole number, got 1.5"),
        ({"x": []}, InputError, "x must have at least one value"),
    ],
)
def test_a_grid_that_does_not_fit_the_notebook_is_refused_before_anything_runs(swept, tmp_path, grid, error, words):
    with pytest.raises(error, match=words):
        swept(grid)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_grid_or_notebook_is_left_alone(swept, study, tmp_path):
    before = swept()
    kept = sorted(p.name for p in (tmp_path / "out" / "points").iterdir())
    with pytest.raises(InputError, match="contains a sweep of another grid: 2 of its 4 points are not in this one"):
        swept({"x": [1, 7], "word": ["a", "b"]})
    other = shutil.copy(study, tmp_path / "other.ipynb")
    with pytest.raises(InputError, match=r"contains a sweep of study\.ipynb, not of other\.ipynb"):
        swept(path=other)
    assert sorted(p.name for p in (tmp_path / "out" / "points").iterdir()) == kept
    assert len(pd.read_parquet(tmp_path / "out" / "results.parquet")) == len(before)


@pytest.mark.parametrize(
    ("name", "words"),
    [("file", "is not a folder"), ("file/out", "cannot write to"), ("full", "are not a sweep")],
)
def test_a_place_that_holds_something_else_is_left_alone(swept, tmp_path, name, words):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "big.iso.part").write_text("mine")
    with pytest.raises(InputError, match=words):
        swept(out=tmp_path / name)
    assert (tmp_path / "file").read_text() == (tmp_path / "full" / "big.iso.part").read_text() == "mine"


def test_a_sweep_at_work_is_said(swept, tmp_path):
    swept(ONE)
    with (tmp_path / "out" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another sweep is at work"):
            swept(ONE)


def test_a_full_disk_in_the_middle_loses_nothing_that_was_finished(swept, study, tmp_path, monkeypatch):
    whole = swept(out=tmp_path / "whole")
    real, allowed = durable.write, [3]  # the manifest and two points

    def write(path, text):
        allowed[0] -= 1
        if allowed[0] < 0:
            path.with_name(f".{path.name}.1{durable.PART}").write_text(text[:10])
            raise OSError(28, "No space left on device", str(path))
        real(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(durable, "write", write)
        with pytest.raises(EttrError, match=r"cannot write .*No space left on device; finished points are kept"):
            swept()
    kept = {p.name for p in (tmp_path / "out" / "points").glob("*.ipynb")}
    assert len(kept) == 2
    table = swept()
    pd.testing.assert_frame_equal(table.drop(columns="duration_s"), whole.drop(columns="duration_s"))
    assert kept < {p.name for p in (tmp_path / "out" / "points").glob("*.ipynb")}
    assert not list((tmp_path / "out").rglob("*part"))


def test_a_preview_runs_one_point_and_keeps_it(study, tmp_path):
    job = sweep.NotebookJob(study, sweep.load(GRID, 100))
    preview = sweep.preview(job, tmp_path / "out", workers=3)
    assert preview.table["status"].tolist() == ["done", "open", "open", "open"]
    assert preview.left_s == pytest.approx(preview.point_s)  # three left for three workers
    assert len(ran(study.parent)) == 1
    assert sweep.preview(job, tmp_path / "out").table["status"].tolist() == ["done", "done", "open", "open"]


def test_the_working_folder_is_that_of_the_repository(swept, study, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    swept(ONE)
    assert len(ran(study.parent)) == 1
    assert os.listdir(".") == []


def test_parameters_with_names_of_the_table_s_own_columns(swept, tmp_path):
    path = written(
        tmp_path / "b.ipynb",
        "import ettr\nettr.record(x=1, recorded_x=2, n=x)",
        parameters='status = "a"  # text\nid = 1  # whole\nx = 0  # whole',
    )
    table = swept({"status": ["new", "old"], "id": [7], "x": [3]}, path, tmp_path / "odd")
    assert table["parameter_status"].tolist() == ["new", "old"] and table["parameter_id"].tolist() == [7, 7]
    assert table["status"].tolist() == ["done", "done"] and table["id"].map(len).tolist() == [16, 16]
    assert table[["x", "recorded_x", "recorded_recorded_x", "n"]].iloc[0].tolist() == [3, 1, 2, 3]
    job = sweep.NotebookJob(path, sweep.load({"status": ["new", "old"], "id": [7], "x": [3]}, 9))
    assert "parameter_status" in sweep.report.page(job, table)


def test_whole_numbers_stay_whole_beside_missing_and_broken_ones(swept, tmp_path):
    path = written(
        tmp_path / "b.ipynb",
        "import ettr\nassert n != 2\nettr.record(big=2**53 + 1, huge=2**64 + n, mixed=2**53 + 1 if n else 0.5)",
        parameters="n = 0  # whole",
    )
    swept({"n": [0, 1, 2]}, path, tmp_path / "whole-numbers")
    read = pd.read_parquet(tmp_path / "whole-numbers" / "results.parquet")
    assert int(read["big"][0]) == 2**53 + 1
    assert [json.loads(text) for text in read["huge"][:2]] == [2**64, 2**64 + 1]
    assert [json.loads(text) for text in read["mixed"][:2]] == [0.5, 2**53 + 1]


def test_two_paths_of_one_file_are_one_point(swept, tmp_path):
    (tmp_path / "given.txt").write_text("x")
    with pytest.raises(InputError, match="points must be different, got twice word: "):
        swept({"word": [str(tmp_path / "given.txt"), f"{tmp_path}/./given.txt"]})
