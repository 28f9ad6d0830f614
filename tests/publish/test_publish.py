"""The book: which chapters run, what a page shows, and what a failure leaves in place."""

from __future__ import annotations

import html
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from ettr import publish
from ettr.core.errors import EttrError, InputError, NotebookFailed, UnknownName
from ettr.publish import chapters, extension, pages, site

REPOSITORY = Path(__file__).parents[2]
TOC = """
format: jb-book
root: book/index
parts:
  - caption: One
    chapters:
      - file: book/one/first
        sections: [{file: book/one/second}]
  - caption: Two
    chapters: [{file: book/notes}]
"""


def write(path: Path, title: str, *sources: str, parameters: str | None = None, text: str = "") -> None:
    cells = [v4.new_markdown_cell(f"# {title}", id="title")]
    if parameters:
        cells.append(v4.new_code_cell(parameters, id="given", metadata={"tags": ["parameters"]}))
    cells += [v4.new_code_cell(source, id=f"code-{i}") for i, source in enumerate(sources)]
    cells.append(v4.new_markdown_cell(f"## Limits\n\n{text}", id="limits"))
    document = v4.new_notebook(cells=cells)
    document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    document.metadata["language_info"] = {"name": "python"}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(document, path)


def make_book(root: Path) -> Path:
    """A book of three quick notebooks and a page, with the real book's configuration and style."""
    shutil.copy(REPOSITORY / "_config.yml", root)
    shutil.copytree(REPOSITORY / "book" / "_static", root / "book" / "_static")
    (root / "_toc.yml").write_text(TOC)
    (root / "data").mkdir()
    (root / "data" / "references.bib").write_text("")
    (root / "book" / "notes.md").write_text("# Notes\n\n## Of the author\n\n$x^2$\n")
    write(
        root / "book/index.ipynb",
        "How often?",
        "print('from', scenario)",
        parameters='scenario = "llama3-405b"',
    )
    write(root / "book/one/first.ipynb", "What first?", "print('no parameters here')")
    write(root / "book/one/second.ipynb", "What next?", "print('n', n)", parameters="n = 3  # [count]")
    return root


def ran(states: list[chapters.Chapter]) -> dict[str, str]:
    return {Path(chapter.docname).name: chapter.state for chapter in states}


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    """A book whose notebooks were all run once."""
    root = make_book(tmp_path_factory.mktemp("book"))
    assert set(ran(publish.execute(root)).values()) == {"ran"}
    return root


@pytest.fixture
def own_book(book, tmp_path) -> Path:
    """A copy of it, to change."""
    shutil.copytree(book, tmp_path / "own", symlinks=True)
    return tmp_path / "own"


def test_pages_come_in_the_order_of_the_table_of_contents(book):
    assert chapters.docnames(book) == ["book/index", "book/one/first", "book/one/second", "book/notes"]


def test_a_folder_without_a_book_is_said(tmp_path):
    with pytest.raises(InputError, match=r"no book in .*_toc\.yml"):
        publish.build(tmp_path)


def test_a_page_that_is_not_there_is_said(own_book):
    (own_book / "book/notes.md").unlink()
    with pytest.raises(InputError, match="names book/notes, but there is no such"):
        publish.execute(own_book)


def test_nothing_runs_again_when_nothing_changed(own_book):
    assert set(ran(publish.execute(own_book)).values()) == {"kept"}


def test_a_changed_sentence_runs_nothing_again(own_book):
    write(
        own_book / "book/one/first.ipynb",
        "What first?",
        "print('no parameters here')",
        text="Another sentence.",
    )
    assert set(ran(publish.execute(own_book)).values()) == {"kept"}


def test_only_the_chapter_whose_code_changed_runs_again(own_book):
    write(own_book / "book/one/first.ipynb", "What first?", "print('changed')")
    progress = []
    states = publish.execute(own_book, progress=lambda done, total, chapter: progress.append((done, total)))
    assert ran(states) == {"index": "kept", "first": "ran", "second": "kept"}
    assert progress == [(1, 3), (2, 3), (3, 3)]


def test_a_damaged_copy_is_made_again(own_book):
    first = next(c for c in chapters.states(own_book, {}) if c.docname == "book/one/first")
    first.path.write_text('{"metadata": []}')
    assert ran(publish.execute(own_book))["first"] == "ran"


def test_chapters_get_the_parameters_that_they_declare(own_book):
    states = publish.execute(own_book, {"scenario": "../<b>rsc-1"})
    by_name = {Path(c.docname).name: nbformat.read(c.path, as_version=4) for c in states}
    assert by_name["index"].cells[3].outputs[0].text == "from ../<b>rsc-1\n"
    assert by_name["second"].metadata["ettr"]["parameters"] == {}
    assert all(c.path.resolve().is_relative_to(own_book / "_build/chapters") for c in states)


def test_a_parameter_that_no_chapter_declares_is_refused(book):
    with pytest.raises(UnknownName, match="unknown parameter 'scenarios'.*did you mean 'scenario'"):
        publish.execute(book, {"scenarios": "rsc-1"})


def test_a_failed_chapter_does_not_stop_the_others(own_book):
    write(own_book / "book/one/first.ipynb", "What first?", "1 / 0")
    write(own_book / "book/one/second.ipynb", "What next?", "print('still runs')")
    by_name = {Path(c.docname).name: c for c in publish.execute(own_book)}
    assert {name: c.state for name, c in by_name.items()} == {
        "index": "kept",
        "first": "failed",
        "second": "ran",
    }
    assert by_name["first"].error == (
        "book/one/first.ipynb stopped at cell 2 (id code-0): ZeroDivisionError: division by zero"
    )
    assert ran(chapters.states(own_book, {})) == {"index": "kept", "first": "failed", "second": "kept"}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals on Windows")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_run_keeps_what_was_finished(own_book, how):
    write(own_book / "book/one/first.ipynb", "What first?", "print('quick')")
    write(own_book / "book/one/second.ipynb", "What next?", "import time\ntime.sleep(100)")
    code = "import sys, ettr.publish as p\nif __name__ == '__main__': p.execute(sys.argv[1])"
    script = own_book / "run.py"
    script.write_text(code)
    process = subprocess.Popen([sys.executable, script, own_book], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while ran(chapters.states(own_book, {}))["first"] != "kept" and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(how)
    assert process.wait(10) != 0
    assert ran(chapters.states(own_book, {})) == {"index": "kept", "first": "kept", "second": "missing"}


@pytest.mark.parametrize("name", ["../x", "<b>", "a/b", "", "..", "rsc-1", "C:\\x", "x" * 500])
def test_a_folder_named_after_a_scenario_is_harmless(name):
    key = chapters.key({"scenario": name})
    assert key.replace("-", "").isalnum()
    assert len(key) < 50


def test_different_parameters_have_different_folders():
    names = [chapters.key({"scenario": name}) for name in ("a/b", "a-b", "b", "<b>")] + [chapters.key({})]
    assert len(set(names)) == len(names)


def test_a_page_has_the_current_text_with_the_outputs_of_the_run(tmp_path):
    write(tmp_path / "a.ipynb", "Q?", "print(n)", parameters="n = 3  # [count]", text="new text")
    source = nbformat.read(tmp_path / "a.ipynb", as_version=4)
    executed = nbformat.from_dict(json.loads(json.dumps(source)))
    executed.cells[2].outputs = [v4.new_output("stream", text="7\n")]
    executed.cells[3].source = "old text"
    executed.cells.insert(2, v4.new_code_cell("n = 7", metadata={"tags": ["injected-parameters"]}))
    executed.metadata["ettr"] = {"parameters": {"n": 7}}
    merged = pages.with_outputs(source, executed, tmp_path)
    assert [cell.source for cell in merged.cells] == [
        "# Q?",
        "n = 7  # [count]",
        "print(n)",
        "## Limits\n\nnew text",
    ]
    assert merged.cells[2].outputs[0].text == "7\n"


def test_the_answer_stands_below_the_title():
    cells = [v4.new_markdown_cell("# Q?"), v4.new_code_cell("n = 3"), v4.new_code_cell("answer()")]
    cells[2].metadata["tags"] = ["answer", "remove-input"]
    page = pages.page(v4.new_notebook(cells=cells))
    assert [cell.source for cell in page.cells] == ["# Q?", "answer()", "n = 3"]


def test_a_failed_page_survives_any_error_text():
    source = v4.new_notebook(cells=[v4.new_markdown_cell("# Q?\n\nmore")])
    stopped = {"number": 4, "id": "x", "error": "E: ```` <b>\n::::", "source": "raise E('```')"}
    text = pages.failed_page(source, "book/a.ipynb", "", stopped).cells[0].source
    assert text.startswith("# Q?\n\n::::::::::{admonition} This page")
    assert "`````text\nE: ```` <b>" in text
    assert "````python\nraise E('```')\n````" in text


@pytest.mark.parametrize("where", ["file", "foreign", "root", "link"])
def test_a_place_that_is_not_a_book_is_not_replaced(own_book, where, tmp_path):
    places = {name: tmp_path / name for name in ("file", "foreign", "link")} | {"root": own_book}
    (tmp_path / "file").write_text("mine")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "foreign")
    with pytest.raises(InputError):
        publish.build(own_book, places[where], progress=False)
    assert (tmp_path / "foreign" / "thesis.tex").read_text() == "mine"


def test_an_unknown_scenario_is_refused_before_anything_runs(own_book):
    with pytest.raises(UnknownName):
        publish.build(own_book, scenario="rsc-11", progress=False)
    assert not list((own_book / "_build").glob("chapters/rsc*"))


def test_progress_is_a_line_a_chapter_where_there_is_no_terminal(capsys):
    with site._progress(True) as report:
        report(1, 2, chapters.Chapter("book/a", "ran", Path("a"), 1.25))
        report(2, 2, chapters.Chapter("book/b", "kept", Path("b")))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["[1/2] book/a: ran, 1.2 s", "[2/2] book/b: kept", "building pages"]


def html_of(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in sorted(folder.rglob("*.html"))}


def jupyter_book(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", "."]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_the_site_whole_failing_and_by_jupyter_book_alone(own_book, tmp_path):
    """One site through its life: built, built alike by Jupyter Book, kept through a failure, replaced."""
    out = tmp_path / "public"
    assert publish.build(own_book, out, progress=False) == out / "book/index.html"
    good = html_of(out)
    assert {f"{name}.html" for name in chapters.docnames(own_book)} <= set(good)
    assert "from llama3-405b" in good["book/index.html"]
    kept = nbformat.read(out / "_sources/book/index.ipynb", as_version=4)
    assert kept.cells[2].outputs[0].text == "from llama3-405b\n"

    plain = jupyter_book(own_book)
    assert plain.returncode == 0, plain.stderr
    assert html_of(own_book / "_build/html") == good

    write(own_book / "book/one/first.ipynb", "What <b>first?", "before = 1\nraise ValueError('too <hot>')")
    plain = jupyter_book(own_book)
    assert plain.returncode != 0
    assert "book/one/first.ipynb stopped at cell 2 (id code-0): ValueError: too <hot>" in plain.stderr
    assert "Traceback" not in plain.stderr
    assert html_of(own_book / "_build/html") == good
    with pytest.raises(NotebookFailed, match=r"first\.ipynb stopped at cell 2[^\n]*\n *page: .*/book/one/first\.html"):
        publish.build(own_book, out, progress=False)
    assert html_of(out) == good
    failed = html_of(own_book / "_build/failed/html")["book/one/first.html"]
    for words in ("Cell 2 (id code-0) of book/one/first.ipynb", "ValueError: too &lt;hot&gt;", "before"):
        assert words in failed

    write(own_book / "book/one/first.ipynb", "What first?", "print('repaired')")
    publish.build(own_book, out, progress=False)
    assert "repaired" in html_of(out)["book/one/first.html"]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_warning_stops_the_build_and_says_where(own_book, tmp_path):
    (own_book / "book/notes.md").write_text("# Notes\n\n## Of the author\n\n{ref}`nowhere`\n")
    with pytest.raises(EttrError, match=r"(?s)Jupyter Book stopped.*build\.log.*notes\.md.*nowhere"):
        publish.build(own_book, tmp_path / "public", progress=False)
    assert not (tmp_path / "public").exists()


def test_a_book_for_a_scenario_says_so_and_keeps_its_name_harmless(own_book, tmp_path):
    mine = tmp_path / "<b>mine.yml"
    text = (REPOSITORY / "data/scenarios/rsc-2.yml").read_text()
    mine.write_text(text.replace("title: ", "title: Mine & yours, ../x, "))
    publish.build(own_book, tmp_path / "public", scenario=os.path.relpath(mine), progress=False)
    page = (tmp_path / "public/book/index.html").read_text()
    assert html.escape(f"from {mine}") in page
    assert "computed for Mine and yours, ../x, RSC-2" in page
    assert "<b>mine" not in page


def test_attributes_that_share_a_description_stay_together():
    lines = [
        "What.",
        "",
        "Parameters",
        "----------",
        "a, b : int",
        "",
        "Attributes",
        "----------",
        "low, high : float",
        "    Ends.",
    ]
    extension.with_names_together(None, "class", "X", None, None, lines)
    assert lines[4] == "a, b : int" and lines[8] == "low,\u200bhigh : float"
