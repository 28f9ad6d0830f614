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

from ettr import Scenario, ranges
from ettr.core.errors import EttrError, InputError, NotebookFailed, UnknownName
from ettr.sweep.folder import Entry
from ettr_book import publish
from ettr_book.publish import chapters, extension, page_data, pages, place, site
from notebooks import written

REPOSITORY = Path(__file__).parents[2]
TOC = """
format: jb-book
root: book/index
parts:
  - caption: One
    chapters:
      - file: book/first
        sections: [{file: book/notes}]
"""
BEFORE = {place.MARK: '{"parameters": {}}', "old.html": "a page of the site before"}


def write_index(root: Path, *sources: str) -> None:
    written(root / "book/index.ipynb", *sources, parameters='scenario = "llama3-405b"', title="How often?")


def write_first(root: Path, *sources: str, text: str = "## Limits", title: str = "What first?") -> None:
    written(root / "book/first.ipynb", *sources, parameters=None, title=title, text=text)


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    """A book of two quick notebooks, run once, and a page; with the real book's configuration and style."""
    root = tmp_path_factory.mktemp("book")
    shutil.copy(REPOSITORY / "_config.yml", root)
    shutil.copytree(REPOSITORY / "book" / "_static", root / "book" / "_static")
    (root / "_toc.yml").write_text(TOC)
    (root / "data").mkdir()
    (root / "data" / "references.bib").write_text("")
    (root / "book" / "notes.md").write_text("# Notes\n\n## Of the author\n\n$x^2$\n")
    write_index(root, "print('from', scenario)")
    write_first(root, "print('no parameters here')")
    assert set(ran(publish.execute(root)).values()) == {"ran"}
    return root


@pytest.fixture
def own_book(book, tmp_path) -> Path:
    """A copy of it, to change."""
    shutil.copytree(book, tmp_path / "own", symlinks=True)
    return tmp_path / "own"


def ran(states: list[chapters.Chapter]) -> dict[str, str]:
    return {Path(chapter.docname).name: chapter.state for chapter in states}


def put(files: dict[str, str], folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def html_of(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.html")}


# --------------------------------------------------------------------------- which chapters run


def test_pages_come_in_the_order_of_the_table_of_contents(book):
    assert chapters.docnames(book) == ["book/index", "book/first", "book/notes"]


def test_what_is_no_book_is_said(own_book, tmp_path):
    with pytest.raises(InputError, match=r"no book in .*_toc\.yml"):
        publish.build(tmp_path)
    (own_book / "book/notes.md").unlink()
    with pytest.raises(InputError, match="names book/notes, but there is no such"):
        publish.execute(own_book)


def test_a_parameter_that_no_chapter_declares_is_refused(book):
    with pytest.raises(UnknownName, match="unknown parameter 'scenarios'.*did you mean 'scenario'"):
        publish.execute(book, {"scenarios": "rsc-1"})


def jupyter_book(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", "."]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_only_what_changed_or_failed_or_was_damaged_runs_again(own_book):
    """Run by Jupyter Book alone, which refuses a book with a failed chapter, and by the package."""
    write_first(own_book, "print('no parameters here')", text="Another sentence.")
    kept = publish.execute(own_book)
    assert ran(kept) == {"index": "kept", "first": "kept"}

    later = own_book / "later.txt"
    write_index(own_book, f"print(open({str(later)!r}).read())")
    kept[1].path.write_text('{"metadata": []}')
    site_before = put(BEFORE, own_book / "_build/html")
    plain = jupyter_book(own_book)
    error = "book/index.ipynb stopped at cell 3 (id code-0): FileNotFoundError: [Errno 2] No such file or directory: "
    assert plain.returncode != 0
    assert error in plain.stderr and "Traceback" not in plain.stderr
    assert contents(site_before) == BEFORE
    states = chapters.states(own_book, {})
    assert ran(states) == {"index": "failed", "first": "kept"}
    assert states[0].error == f"{error}{str(later)!r}"

    later.write_text("here")
    progress = []
    states = publish.execute(own_book, progress=lambda done, total, chapter: progress.append((done, total)))
    assert ran(states) == {"index": "ran", "first": "kept"} and progress == [(1, 2), (2, 2)]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals on Windows")
@pytest.mark.parametrize("how", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGINT])
def test_an_interrupted_run_keeps_what_was_finished(own_book, how):
    write_index(own_book, "print('quick')")
    write_first(own_book, "import time\ntime.sleep(1000)")
    script = own_book / "run.py"
    script.write_text("import sys, ettr_book.publish as p\nif __name__ == '__main__': p.execute(sys.argv[1])")
    with subprocess.Popen([sys.executable, script, own_book], stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 180
            while ran(chapters.states(own_book, {}))["index"] != "kept" and time.monotonic() < deadline:
                time.sleep(0.1)
            process.send_signal(how)
            assert process.wait(60) != 0
        finally:
            process.kill()
    assert ran(chapters.states(own_book, {})) == {"index": "kept", "first": "missing"}


@pytest.mark.parametrize("name", ["../x", "<b>", "a/b", "", "..", "rsc-1", "C:\\x", "x" * 500])
def test_a_folder_named_after_a_scenario_is_harmless(name):
    key = chapters.key({"scenario": name})
    assert key.replace("-", "").isalnum()
    assert len(key) < 50


def test_different_parameters_have_different_folders():
    names = [chapters.key({"scenario": name}) for name in ("a/b", "a-b", "b", "<b>")] + [chapters.key({})]
    assert len(set(names)) == len(names)


# --------------------------------------------------------------------------- what a page shows


def test_a_page_has_the_current_text_with_the_outputs_of_the_run(tmp_path):
    written(tmp_path / "a.ipynb", "print(n)", parameters="n = 3  # [count]", text="new text")
    source = nbformat.read(tmp_path / "a.ipynb", as_version=4)
    executed = nbformat.from_dict(json.loads(json.dumps(source)))
    executed.cells[2].outputs = [v4.new_output("stream", text="7\n")]
    executed.cells[3].source = "old text"
    executed.cells.insert(2, v4.new_code_cell("n = 7", metadata={"tags": ["injected-parameters"]}))
    executed.metadata["ettr"] = {"parameters": {"n": 7}}
    merged = pages.with_outputs(source, executed, tmp_path)
    assert [cell.source for cell in merged.cells] == ["# What for?", "n = 7  # [count]", "print(n)", "new text"]
    assert merged.cells[2].outputs[0].text == "7\n"


def test_the_answer_stands_below_the_title():
    cells = [v4.new_markdown_cell("# Q?"), v4.new_code_cell("n = 3"), v4.new_code_cell("answer()")]
    cells[2].metadata["tags"] = ["answer", "remove-input"]
    page = pages.page(v4.new_notebook(cells=cells), "book/a.ipynb")
    assert [cell.source for cell in page.cells] == ["# Q?", "answer()", "n = 3"]


def refused_page(stopped: str) -> list[str]:
    """A page with an answer and a claim, refused at a cell."""
    cells = [v4.new_markdown_cell(text) for text in ("# What?", "## Claim", "## Limits", "## Next")]
    for number, (name, tags) in enumerate({"parameters": ["parameters"], "answer": ["answer"], "chart": []}.items(), 1):
        cells.insert(number, v4.new_code_cell(f"{name} = 1", metadata={"tags": tags}, id=name))
    cells[3], cells[4] = cells[4], cells[3]
    page = pages.unanswered(v4.new_notebook(cells=cells), "x_y must be > 0 *h*", stopped, "Read {doc}`/b`.")
    return [cell.source for cell in page.cells]


def test_a_run_without_an_answer_keeps_the_question_and_the_reason():
    question, why, *rest = refused_page("answer")
    assert (question, rest) == ("# What?", ["parameters = 1", "## Limits", "## Next"])
    assert why.startswith(r"**This page has no answer for this run: x\_y must be \> 0 \*h\*.**")
    assert why.endswith("Read {doc}`/b`.")


def test_a_page_that_has_its_answer_keeps_all_that_was_computed():
    *before, why, limits, last = refused_page("chart")
    assert before == ["# What?", "parameters = 1", "answer = 1", "## Claim"]
    assert why.startswith("**From here on this page has no answer for this run: ")
    assert (limits, last) == ("## Limits", "## Next")


def test_only_a_refusal_of_a_scenario_that_someone_gave_is_no_fault(own_book):
    """By the error that a notebook stopped with, in a book with a scenario and in the book's own."""
    names = {"NoProgress", "OutsideValidity", "NotModelled", "InputError"}
    faults = {"ValueError", "KeyError", "WrongChart", "UnknownName", "DataError", "NoAnswer"}
    for parameters in ({"scenario": "rsc-1"}, {}):
        book = chapters.Book(own_book, parameters)
        digest = next(iter(book.docnames))
        for name in names | faults:
            entry = Entry("a.ipynb", "failed", 1.0, f"a stopped at cell 1 (id x): {name}: it never ends.", {}, ())
            chapter = book.chapter(digest, entry)
            is_refusal = bool(parameters) and name in names
            assert chapter.is_good == is_refusal and chapter.why == ("it never ends" if is_refusal else "")


def test_a_failed_page_survives_any_error_text():
    source = v4.new_notebook(cells=[v4.new_markdown_cell("# Q?\n\nmore")])
    stopped = {"number": 4, "id": "x", "error": "E: ```` <b>\n::::", "source": "raise E('```')"}
    text = pages.failed_page(source, "book/a.ipynb", "", stopped).cells[0].source
    assert text.startswith("# Q?\n\n::::::::::{admonition} This page")
    assert "`````text\nE: ```` <b>" in text
    assert "````python\nraise E('```')\n````" in text


def test_attributes_that_share_a_description_stay_together():
    section = ["----------", "a, b : int", ""]
    lines = ["What.", "", "Parameters", *section, "Attributes", *section]
    extension.with_names_together(None, "class", "X", None, None, lines)
    assert [line for line in lines if line.endswith(" : int")] == ["a, b : int", "a,\u200bb : int"]


# --------------------------------------------------------------------------- the site


@pytest.mark.parametrize("where", ["file", "foreign", "root", "link"])
def test_a_place_that_is_not_a_book_is_not_replaced(own_book, where, tmp_path):
    places = {name: tmp_path / name for name in ("file", "foreign", "link")} | {"root": own_book}
    places["file"].write_text("mine")
    thesis = put({"thesis.tex": "mine"}, places["foreign"]) / "thesis.tex"
    places["link"].symlink_to(places["foreign"])
    with pytest.raises(InputError):
        publish.build(own_book, places[where], progress=False)
    assert thesis.read_text() == "mine"


def test_the_pages_begin_with_the_scenario_of_the_book():
    mine = Scenario.of({"name": "mine", "cluster": {"n_gpus": 512}, "failures": {"job_mttf_h": 40}})
    data = json.loads(page_data.script(mine, "my run.yml").removeprefix("window.ettrData=").removesuffix(";\n"))
    assert (data["book"], data["starts"]["mine"]["command"]) == ("mine", "my run.yml")
    assert Scenario.of(data["starts"]["mine"]["written"]) == mine
    assert data["own"] != "mine" and {"llama3-405b", data["own"]} <= data["starts"].keys()


@pytest.mark.parametrize("name", ["llama3-405b", "h100-100k"])
def test_what_is_assumed_on_a_page_is_what_a_plan_assumes(name):
    told = page_data.start(Scenario.load(name))["assumed"]
    ours = ranges.assumptions(Scenario.load(name)).inputs
    grown = {"recovery.init_s_per_1000_gpus"}  # which a page needs at other sizes than the observed one
    assert {one["field"] for one in told} - grown == {one.field for one in ours} - grown


def test_an_unknown_scenario_is_refused_before_anything_runs(own_book):
    with pytest.raises(UnknownName):
        publish.build(own_book, scenario="rsc-11", progress=False)
    assert not list((own_book / "_build").glob("chapters/rsc*"))


def test_progress_is_a_line_a_chapter_where_there_is_no_terminal(capsys):
    with site._progress(True) as report:
        report(1, 3, chapters.Chapter("book/a", "ran", Path("a"), 1.25))
        report(2, 3, chapters.Chapter("book/b", "kept", Path("b")))
        refused = "c stopped at cell 1 (id x): NoProgress: it never ends"
        report(3, 3, chapters.Chapter("book/c", "unanswered", Path("c"), error=refused))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["[1/3] book/a: ran, 1.2 s", "[2/3] book/b: kept"]
    assert lines[2:] == ["[3/3] book/c: no answer, since it never ends", "building pages"]


def test_a_chapter_that_fails_leaves_the_site_and_is_shown_apart_with_the_scenario(own_book, tmp_path):
    write_first(own_book, "before = 1\nraise ValueError('too <hot>')", title="What <b>first?")
    mine = tmp_path / "<b>mine.yml"
    text = (REPOSITORY / "data/scenarios/rsc-2.yml").read_text()
    mine.write_text(text.replace("title: ", "title: Mine & <i>yours</i>, ../x, "))
    out = put(BEFORE, tmp_path / "public")
    with pytest.raises(NotebookFailed, match=r"first\.ipynb stopped at cell 2[^\n]*\n *page: .*/book/first\.html"):
        publish.build(own_book, out, scenario=os.path.relpath(mine), progress=False)
    assert contents(out) == BEFORE

    shown = html_of(next(own_book.glob("_build/site-b-mine-*-failed/_build/html")))
    for words in ("Cell 2 (id code-0) of book/first.ipynb", "ValueError: too &lt;hot&gt;", "before"):
        assert words in shown["book/first.html"]
    assert html.escape(f"from {mine}") in shown["book/index.html"]
    assert shown["book/index.html"].count("Mine &amp; &lt;i&gt;yours&lt;/i&gt;, ../x, RSC-2") == 3, "tab, head, side"
    assert "<i>yours" not in shown["book/index.html"]
    assert "<b>mine" not in shown["book/index.html"]


def test_a_scenario_in_any_folder_has_a_book_in_any_other_that_says_what_has_no_answer(own_book, tmp_path):
    folder = tmp_path / "a b'@#%20ü`$x"
    out, mine = folder / "-my book's @#", folder / "-mi'ne.yml"
    folder.mkdir()
    (folder / "-site @.csv").write_text("time,temp_c\n" + "".join(f"2025-06-01T{h:02d}:00,{h}\n" for h in range(24)))
    mine.write_text(
        "cluster: {n_gpus: 64}\njob: {productive_h: 20}\nfailures: {job_mttf_h: 40}\nheat: {weather: '-site @.csv'}\n"
    )
    write_index(own_book, "from ettr import Scenario", "print('speed', Scenario.load(scenario).speed)")
    refused = "from ettr.core.errors import NotModelled\nraise NotModelled('no term for *spares* (spares.n_nodes)')"
    write_first(own_book, refused, text="## Next\n\nNothing.")
    assert publish.build(own_book, out, scenario=mine, progress=False) == out / "book/index.html"
    built = html_of(out)
    assert f"speed {Scenario.load(mine).speed}" in built["book/index.html"]
    why = "This page has no answer for this run: no term for *spares* (spares.n_nodes)."
    assert why in built["book/first.html"] and "Nothing." in built["book/first.html"]
    assert 'href="index.html"' in built["book/first.html"].partition(why)[2]


def test_the_site_is_whole_and_that_of_jupyter_book_alone_and_a_warning_leaves_it_as_it_is(own_book, tmp_path):
    out = put(BEFORE, tmp_path / "public")
    assert publish.build(own_book, out, progress=False) == out / "book/index.html"
    built = html_of(out)
    assert {f"{name}.html" for name in chapters.docnames(own_book)} <= set(built) and "old.html" not in built
    assert "from llama3-405b" in built["book/index.html"]
    offered = nbformat.read(out / "_sources/book/index.ipynb", as_version=4)
    assert offered.cells[2].outputs[0].text == "from llama3-405b\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    plain = jupyter_book(own_book)
    assert plain.returncode == 0, plain.stderr
    assert html_of(own_book / "_build/html") == built

    with (own_book / "book/notes.md").open("a") as notes:
        notes.write("\n{ref}`nowhere`\n")
    with pytest.raises(EttrError, match=r"(?s)Jupyter Book stopped.*build\.log.*notes\.md.*nowhere"):
        publish.build(own_book, out, progress=False)
    assert html_of(out) == built
