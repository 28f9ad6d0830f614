"""The chapters that come with the package: found by name, and copied to where they can be built."""

from __future__ import annotations

import os

import pytest
import yaml

from ettr import evidence, notebook, sweep
from ettr.core.errors import InputError, UnknownName
from ettr.notebook import BOOK
from ettr_book.publish import chapters, site

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
    with pytest.raises(InputError, match="there is no notebook mine.ipynb"):
        notebook.read(notebook.chapter("mine.ipynb"))


def test_the_copy_has_all_that_a_build_takes(tmp_path):
    root = notebook.unpacked(tmp_path / "copy")
    for name in chapters.docnames(root):
        assert chapters.source(root, name).is_file()
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    (sources,) = config["bibtex_bibfiles"]
    assert (root / sources).read_bytes() == (evidence.DATA / "references.bib").read_bytes()
    assert (root / config["html"]["favicon"]).is_file()
    for folder in config["sphinx"]["config"]["html_static_path"]:
        assert any((root / folder).iterdir())


def test_a_copy_is_brought_up_to_date_and_else_left_alone(tmp_path):
    notebook.unpacked(tmp_path)
    page, kept, gone = tmp_path / "book/index.ipynb", tmp_path / "_toc.yml", tmp_path / "book/old.md"
    page.write_text("{}", encoding="utf-8")
    gone.write_text("# Old", encoding="utf-8")
    os.utime(kept, (1, 1))
    notebook.unpacked(tmp_path)
    assert page.read_bytes() == (BOOK / "book/index.ipynb").read_bytes()
    assert not gone.exists() and kept.stat().st_mtime == 1


def test_the_book_is_that_of_the_folder_or_else_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("_toc.yml", "_config.yml"):  # of a book by somebody else
        (tmp_path / name).write_text("title: Mine\n")
    assert site._folders(None) == (tmp_path / "_build/ettr-book", tmp_path / "ettr-book")
    assert site._folders("other") == (tmp_path / "other", tmp_path / "other/_build/html")
    with pytest.raises(InputError, match="name another one"):
        site.build(out=tmp_path, progress=False)
    monkeypatch.chdir(BOOK)
    assert site._folders(None) == (BOOK, BOOK / "_build/html")
