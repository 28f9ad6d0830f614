"""The strict run of one notebook: what it checks, what it keeps, what it says; forked and in a kernel of its own."""

from __future__ import annotations

import pickle

import nbformat
import numpy as np
import pytest

from ettr import notebook, sweep
from ettr.core.errors import InputError, NotebookFailed, UnknownName
from ettr.notebook import BOOK
from notebooks import written


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One run, looked at by several tests: starting a kernel takes a second."""
    folder = tmp_path_factory.mktemp("a {brace} and ünïcode")
    path = written(folder / "chapter.ipynb", "import os, sys\nprint(scenario, n_gpus, os.getcwd(), sys.executable)")
    (folder / "mine.yml").write_text("name: mine\n")
    out = folder / "out" / "chapter.ipynb"
    values = {"scenario": str(folder / "mine.yml"), "n_gpus": np.int64(1024)}
    return notebook.run(path, out, values, cwd=folder, record={"digest": "abc"})


def test_declared_parameters_have_name_default_type_and_comment(tmp_path):
    declared = notebook.declared_parameters(written(tmp_path / "a.ipynb"))
    assert [(p.name, p.default, p.type, p.comment) for p in declared] == [
        ("scenario", "llama3-405b", "str", "preset"),
        ("n_gpus", 512, "int", "[GPUs]"),
        ("interval_min", 1.5, "float", "[min]"),
        ("quick", True, "bool", ""),
    ]


def test_a_notebook_without_parameters_declares_none(tmp_path):
    assert notebook.declared_parameters(written(tmp_path / "a.ipynb", parameters=None)) == ()


@pytest.mark.parametrize(("cell", "words"), [("n = 3 +", "not Python"), ("n = 3\nm = 2 * n", "literal")])
def test_a_parameters_cell_holds_literals(tmp_path, cell, words):
    with pytest.raises(InputError, match=words):
        notebook.declared_parameters(written(tmp_path / "a.ipynb", parameters=cell))


def test_run_passes_values_in_this_interpreter_and_folder(finished):
    executed = nbformat.read(finished.path, as_version=4)
    text = executed.cells[-1].outputs[0].text
    import sys

    folder = finished.path.parent.parent
    assert text.split() == f"{folder / 'mine.yml'} 1024 {folder} {sys.executable}".split()


def test_run_tells_path_duration_and_values(finished):
    assert finished.parameters["n_gpus"] == 1024
    assert type(finished.parameters["n_gpus"]) is int
    assert finished.duration_s > 0
    record = nbformat.read(finished.path, as_version=4).metadata["ettr"]
    assert record["digest"] == "abc"
    assert record["parameters"] == dict(finished.parameters)


def test_run_leaves_only_the_executed_copy(finished):
    assert [path.name for path in finished.path.parent.iterdir()] == ["chapter.ipynb"]
    assert "papermill" not in nbformat.read(finished.path, as_version=4).metadata


def test_a_failure_names_notebook_cell_and_error_and_keeps_what_ran(tmp_path):
    path = written(tmp_path / "a.ipynb", "print('before')", "raise ValueError('too hot\\nby far')", "print('after')")
    out = tmp_path / "out" / "a.ipynb"
    with pytest.raises(
        NotebookFailed, match=r"a\.ipynb stopped at cell 4 \(id code-1\): ValueError: too hot$"
    ) as error:
        notebook.run(path, out)
    assert isinstance(pickle.loads(pickle.dumps(error.value)), NotebookFailed)
    assert [p.name for p in out.parent.iterdir()] == ["a.failed.ipynb"]
    kept = nbformat.read(out.with_name("a.failed.ipynb"), as_version=4)
    assert kept.cells[2].outputs[0].text == "before\n"
    assert kept.metadata["ettr"]["stopped"]["source"].startswith("raise ValueError")

    notebook.run(written(path, "1"), out)
    assert [p.name for p in out.parent.iterdir()] == ["a.ipynb"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"n_gpus": "many"}, "n_gpus must be a number, got 'many'"),
        ({"n_gpus": 1.5}, "n_gpus must be a whole number"),
        ({"n_gpus": True}, "n_gpus must be a number"),
        ({"interval_min": float("nan")}, "interval_min must be a finite number, got nan"),
        ({"interval_min": float("inf")}, "must be a finite number"),
        ({"interval_min": None}, "must be a number"),
        ({"scenario": 7}, "scenario must be text, got 7"),
        ({"quick": 1}, "quick must be true or false"),
        ({"n_gpu": 8}, "unknown parameter 'n_gpu'.*did you mean 'n_gpus'"),
    ],
)
def test_a_bad_value_is_refused_before_anything_runs(tmp_path, values, words):
    path = written(tmp_path / "a.ipynb", "1")
    with pytest.raises(UnknownName if "unknown" in words else InputError, match=words):
        notebook.run(path, tmp_path / "out" / "a.ipynb", values)
    assert not (tmp_path / "out").exists()


def checked(path, values):
    return notebook.fitted(notebook.declared_parameters(path), values, path.name)


def test_numbers_fit_where_they_lose_nothing(tmp_path):
    path = written(tmp_path / "a.ipynb")
    values = checked(path, {"interval_min": 2, "n_gpus": 4096.0})
    assert values == {"interval_min": 2, "n_gpus": 4096}
    assert type(values["n_gpus"]) is int


def test_values_of_containers_are_checked_inside(tmp_path):
    path = written(tmp_path / "a.ipynb", parameters="sizes = [1, 2]\nextra = None")
    assert checked(path, {"sizes": [3], "extra": "x"}) == {"sizes": [3], "extra": "x"}
    for values in ({"sizes": 3}, {"sizes": [float("inf")]}, {"extra": {1, 2}}):
        with pytest.raises(InputError, match="must be"):
            checked(path, values)


def test_a_notebook_without_parameters_takes_none(tmp_path):
    with pytest.raises(InputError, match="has no cell tagged 'parameters'"):
        notebook.run(written(tmp_path / "a.ipynb", "1", parameters=None), tmp_path / "b.ipynb", {"n": 1})


def test_a_missing_or_broken_notebook_is_said(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        notebook.run(tmp_path / "none.ipynb", tmp_path / "b.ipynb")
    (tmp_path / "broken.ipynb").write_text("{")
    with pytest.raises(InputError, match="is not a readable notebook"):
        notebook.run(tmp_path / "broken.ipynb", tmp_path / "b.ipynb")


def test_the_executed_copy_may_not_replace_the_notebook(tmp_path):
    path = written(tmp_path / "a.ipynb", "1")
    with pytest.raises(InputError, match="out must differ from the notebook"):
        notebook.run(path, path)


def test_replaced_values_keep_the_comments():
    source = 'name = "å"  # ünit [h]\nn: int = 5  # count\nsizes = [1,\n  2]  # list\n'
    replaced = notebook.replaced_values(source, {"name": "é", "sizes": [3], "n": 6})
    assert replaced == "name = 'é'  # ünit [h]\nn: int = 6  # count\nsizes = [3]  # list\n"


# --------------------------------------------------------------------------- chapters of the book by their names

SCALE = BOOK / "book" / "ettr" / "scale.ipynb"


@pytest.mark.parametrize("name", ["scale", "book/ettr/scale.ipynb", SCALE])
def test_a_chapter_is_found_from_any_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert notebook.chapter(name) == SCALE
    assert sweep.NotebookJob(name, sweep.load({"n_gpus": [8192]}, 99)).what == "book/ettr/scale.ipynb"


def test_a_file_comes_before_a_chapter_and_each_chapter_has_a_name_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale").write_text("mine", encoding="utf-8")
    assert notebook.chapter("scale").read_text(encoding="utf-8") == "mine"
    names = [path.stem for path in (BOOK / "book").rglob("*.ipynb")]
    assert len(names) == len(set(names)) > 20


def test_an_unknown_chapter_is_answered_with_the_nearest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UnknownName, match=r"unknown chapter 'scales' \(or give a file that ends in .ipynb\); did you mean 'scale'"
    ):
        notebook.chapter("scales")
    with pytest.raises(InputError, match="notebook mine.ipynb does not exist"):
        notebook.read(notebook.chapter("mine.ipynb"))
