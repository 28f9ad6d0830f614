"""The book: which chapters run, what a page shows, and what a failure leaves in place."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import yaml
from docutils import nodes
from nbformat import v4

from ettr import Scenario, evidence, ranges
from ettr.core import durable
from ettr.core.errors import EttrError, InputError, NotebookFailed, UnknownName
from ettr.core.sentences import Finding
from ettr.notebook import BOOK
from ettr.sweep import pool
from ettr.sweep.tables import Entry
from ettr_book import publish
from ettr_book.publish import assets, chapters, extension, head, page_data, pages, site
from notebooks import local_cluster, written

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
TITLE = "<b>A*B</b> & `c` $x^2$ {doc}`d` [e](f) \\ {{ g }} | 'h' _i_ # <script>j()</script>"
BEFORE = {extension.MARK: "{}", "old.html": "a page of the site before"}


def write_index(root: Path, *sources: str) -> None:
    written(root / "book/index.ipynb", *sources, parameters='scenario = "llama3-405b"', title="How often?")


def write_first(root: Path, *sources: str, text: str = "## Limits", title: str = "What first?") -> None:
    written(root / "book/first.ipynb", *sources, parameters=None, title=title, text=text)


def add_study(path: Path) -> None:
    document = nbformat.read(path, as_version=4)
    document.cells.append(v4.new_markdown_cell("## A study\n\nOf the published run.", metadata={"tags": ["study"]}))
    nbformat.write(document, path)


@pytest.fixture(scope="module", autouse=True)
def workers() -> Iterator[None]:
    """Chapters run on one cluster in this process: to start one for each build takes long."""
    connected = pool.connected
    with local_cluster() as address, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "connected", lambda _workers, _scheduler, most: connected(None, address, most))
        yield


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


def test_only_what_changed_or_failed_or_was_damaged_runs_again_and_a_failure_leaves_the_site(own_book, tmp_path):
    write_first(own_book, "print('no parameters here')", text="Another sentence.")
    kept = publish.execute(own_book)
    assert ran(kept) == {"index": "kept", "first": "kept"}

    later, out = own_book / "later.txt", put(BEFORE, tmp_path / "public")
    write_index(own_book, f"print(open({str(later)!r}).read())")
    kept[1].path.write_text('{"metadata": []}')
    with pytest.raises(NotebookFailed, match=r"index\.ipynb stopped at cell 3[^\n]*\n *partial output: ") as error:
        publish.build(own_book, out, progress=False)
    assert contents(out) == BEFORE
    executed = nbformat.read(str(error.value).rpartition("partial output: ")[2], as_version=4)
    assert executed.cells[2].outputs[0].ename == "FileNotFoundError"

    later.write_text("here")
    progress = []
    states = publish.execute(own_book, progress=lambda done, total, chapter: progress.append((done, total)))
    assert ran(states) == {"index": "ran", "first": "kept"} and progress == [(1, 2), (2, 2)]


def test_a_chapter_whose_process_was_killed_runs_again_and_leaves_no_part(own_book, tmp_path):
    calm = tmp_path / "calm"
    write_index(own_book, f"import os, pathlib\nif not pathlib.Path({str(calm)!r}).exists(): os.kill(os.getpid(), 9)")
    with pytest.raises(NotebookFailed, match=r"index\.ipynb stopped at cell 3.* was killed by SIGKILL") as error:
        publish.build(own_book, tmp_path / "public", progress=False)
    assert "partial output" not in str(error.value)
    calm.touch()
    assert ran(publish.execute(own_book)) == {"index": "ran", "first": "kept"}


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


def notebook_of(*cells: tuple[str, str, list[str]]) -> nbformat.NotebookNode:
    """A notebook from kind, source and tags of each cell; code cells have an output."""
    made = []
    for number, (kind, source, tags) in enumerate(cells):
        new = v4.new_markdown_cell if kind == "text" else v4.new_code_cell
        made.append(new(source, id=f"cell-{number}", metadata={"tags": tags}))
        if kind == "code" and "parameters" not in tags:
            made[-1].outputs = [v4.new_output("stream", text="7\n")]
    return v4.new_notebook(cells=made)


def sources(document: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in document.cells]


def test_the_answer_comes_second_and_the_parameters_last():
    page = pages.page(
        notebook_of(
            ("text", "# Q?", []),
            ("code", "scenario = 'rsc-1'\nn_gpus = 8  # GPUs", ["parameters"]),
            ("code", "answer()", ["answer", "remove-input"]),
            ("text", "## Sources", []),
        ),
        "book/a.ipynb",
    )
    title, answer, last, reproduce, parameters = sources(page)
    assert (title, answer, last) == ("# Q?", "answer()", "## Sources")
    assert reproduce.startswith("## Reproduce this page\n")
    assert "\npapermill book/a.ipynb out.ipynb -p n_gpus 8\n" in reproduce
    assert "`ettr sweep book/a.ipynb --grid grid.yml --out sweep`" in reproduce
    assert parameters.startswith("scenario") and "hide-input" in page.cells[-1].metadata.tags


def test_a_page_without_parameters_has_no_command():
    cells = [("text", "# Q?", []), ("code", "", ["parameters"]), ("code", "answer()", ["answer"])]
    assert sources(pages.page(notebook_of(*cells), "book/a.ipynb")) == ["# Q?", "answer()"]


def test_a_solution_is_folded_on_the_page():
    page = pages.page(notebook_of(("text", "# Q?", []), ("code", "8 / 3", ["solution"])), "book/a.ipynb")
    assert page.cells[1].metadata.tags == ["solution", "hide-cell"]
    assert page.cells[1].metadata.mystnb == {
        "code_prompt_show": "Solution",
        "code_prompt_hide": "Hide the solution",
    }


def test_generated_text_has_its_ids_and_links_on_the_page():
    document = notebook_of(("text", "# Q?", []), ("code", "answer()", []))
    data, metadata = Finding("A", "[91%]{#q-ettr}")._repr_mimebundle_()
    document.cells[1].outputs = [v4.new_output("display_data", data, metadata=metadata)]
    page = pages.page(document, "book/a.ipynb")
    assert page.cells[1].outputs[0].data["text/markdown"] == "[91%]{#q-ettr}"
    assert document.cells[1].outputs[0].data["text/markdown"] == "91%"


def test_a_description_is_the_answer_and_the_first_words_of_a_page():
    page = nodes.section("", nodes.paragraph(text="Why\nthis? " + 30 * "More. "))
    described = head.description("It takes 9 h", page)
    assert described.startswith("It takes 9 h. Why this? More.") and described.endswith("…")
    assert len(described) <= head.LONGEST
    assert head.description("", nodes.section()) == ""


def test_a_head_describes_the_page_and_escapes_what_a_title_contains():
    tags = head.tags("A &lt;b&gt; <code>c</code>", 'Is "it" <so>?', "Book & more", False)
    assert '<meta name="description" content="Is &quot;it&quot; &lt;so&gt;?" />' in tags
    assert '<meta property="og:title" content="A &lt;b&gt; c" />' in tags
    assert '<meta property="og:site_name" content="Book &amp; more" />' in tags
    assert "og:image" not in tags
    title = "<title>Is it?</title>"
    assert head.copied(f"<head>{title}<style></style>{tags}</head>").startswith(f'{title}\n<meta name="description"')


def test_commentary_on_the_published_run_is_left_out_with_its_headings():
    document = notebook_of(
        ("text", "# Q?\n\nWhy?", []),
        ("code", "answer()", ["answer"]),
        ("text", "## Chart\n\n### In the run", []),
        ("text", "It failed often.", ["study"]),
        ("code", "record()", ["remove-cell"]),
        ("text", "## Its own heading\n\nIt failed.", ["study"]),
        ("text", "## Kept", []),
        ("text", "Of the run.", ["study"]),
        ("code", "chart()", []),
        ("text", "## Limits\n\nNone.\n\n## Empty", []),
        ("code", "the_run()", ["study"]),
    )
    assert sources(pages.without_study(document, "A*B")) == [
        "# Q?\n\nWhy?",
        "Commentary on the published runs is left out: this copy was computed for A\\*B.",
        "answer()",
        "record()",
        "## Kept",
        "chart()",
        "## Limits\n\nNone.",
    ]


def test_a_page_without_commentary_says_nothing_about_it():
    document = notebook_of(("text", "# Q?", []), ("text", "## Empty", []))
    assert sources(pages.without_study(document, "A")) == ["# Q?", "## Empty"]


def refused_page(stopped: str) -> list[str]:
    """A page with an answer and a claim, refused at a cell."""
    cells = [v4.new_markdown_cell(text) for text in ("# What?", "## Claim", "## Limits", "## Sources")]
    for number, (name, tags) in enumerate({"parameters": ["parameters"], "answer": ["answer"], "chart": []}.items(), 1):
        cells.insert(number, v4.new_code_cell(f"{name} = 1", metadata={"tags": tags}, id=name))
    cells[3], cells[4] = cells[4], cells[3]
    page = pages.unanswered(v4.new_notebook(cells=cells), "x_y must be > 0 *h*", stopped, "Read {doc}`/b`.")
    return [cell.source for cell in page.cells]


def test_a_run_without_an_answer_keeps_the_question_and_the_reason():
    question, why, *rest = refused_page("answer")
    assert (question, rest) == ("# What?", ["parameters = 1", "## Limits", "## Sources"])
    assert why.startswith(r"**This page has no answer for this run: x\_y must be \> 0 \*h\*.**")
    assert why.endswith("Read {doc}`/b`.")


def test_a_page_that_has_its_answer_keeps_all_that_was_computed():
    *before, why, limits, last = refused_page("chart")
    assert before == ["# What?", "parameters = 1", "answer = 1", "## Claim"]
    assert why.startswith("**From here on this page has no answer for this run: ")
    assert (limits, last) == ("## Limits", "## Sources")


def test_only_a_refusal_of_a_scenario_that_someone_gave_is_no_fault(own_book):
    """By the error that a notebook stopped with, in a book with a scenario and in the book's own."""
    names = {"NoProgress", "OutsideValidity", "NotModelled", "InputError"}
    faults = {"ValueError", "KeyError", "WrongChart", "UnknownName", "DataError", "NoAnswer"}
    for parameters in ({"scenario": "rsc-1"}, {}):
        book = chapters.Book(own_book, parameters)
        digest = next(iter(book.docnames))
        for name in names | faults:
            entry = Entry("a.ipynb", "failed", 1.0, f"a stopped at cell 1 (id x): {name}: it never ends.", {})
            chapter = book.chapter(digest, entry, "ran")
            is_refusal = bool(parameters) and name in names
            assert chapter.is_good == is_refusal and chapter.why == ("it never ends" if is_refusal else "")


def test_attributes_that_share_a_description_stay_together():
    section = ["----------", "a, b : int", ""]
    lines = ["What.", "", "Parameters", *section, "Attributes", *section]
    extension.with_names_together(None, "class", "X", None, None, lines)
    assert [line for line in lines if line.endswith(" : int")] == ["a, b : int", "a,\u200bb : int"]


# --------------------------------------------------------------------------- the site


@pytest.mark.parametrize("where", ["file", "foreign", "root", "link", "root/book/site", "root/data/site"])
def test_a_place_that_is_not_a_book_is_not_replaced(own_book, where, tmp_path):
    (tmp_path / "file").write_text("mine")
    thesis = put({"thesis.tex": "mine"}, tmp_path / "foreign") / "thesis.tex"
    (tmp_path / "link").symlink_to(tmp_path / "foreign")
    name, _, inside = where.partition("/")
    place = (own_book if name == "root" else tmp_path / name) / inside
    with pytest.raises(InputError):
        publish.build(own_book, place, progress=False)
    assert thesis.read_text() == "mine" and not (own_book / "book/site").exists()


def test_the_copy_of_the_package_s_book_has_all_that_a_build_takes_and_is_brought_up_to_date(tmp_path):
    site.unpacked(tmp_path)
    for name in chapters.docnames(tmp_path):
        assert chapters.source(tmp_path, name).is_file()
    config = yaml.safe_load((tmp_path / "_config.yml").read_text(encoding="utf-8"))
    (sources,) = config["bibtex_bibfiles"]
    assert (tmp_path / sources).read_bytes() == (evidence.DATA / "references.bib").read_bytes()
    assert (tmp_path / config["html"]["favicon"]).is_file()
    for folder in config["sphinx"]["config"]["html_static_path"]:
        assert any((tmp_path / folder).iterdir())
    page, kept, gone = tmp_path / "book/index.ipynb", tmp_path / "_toc.yml", tmp_path / "book/old.md"
    page.write_text("{}", encoding="utf-8")
    gone.write_text("# Old", encoding="utf-8")
    os.utime(kept, (1, 1))
    site.unpacked(tmp_path)
    assert page.read_bytes() == (BOOK / "book/index.ipynb").read_bytes()
    assert not gone.exists() and kept.stat().st_mtime == 1


def test_the_book_is_that_of_the_folder_or_else_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("_toc.yml", "_config.yml"):  # of a book by somebody else
        (tmp_path / name).write_text("title: Mine\n")
    assert site._folders(None) == (tmp_path / "_build/ettr-book", tmp_path / "ettr-book")
    assert site._folders("other") == (tmp_path / "other", tmp_path / "other/_build/html")
    with pytest.raises(InputError, match="must not contain the book"):
        site.build(out=tmp_path, progress=False)
    monkeypatch.chdir(BOOK)
    assert site._folders(None) == (BOOK, BOOK / "_build/html")


class SmallBook:
    """A book that takes no time: it has no notebooks, and Jupyter Book is played by a function."""

    def __init__(self, root: Path) -> None:
        self.root, self.out = root, put(BEFORE, root / "public" / "site")
        self.word, self.code, self.mode, self.went_on = "", 0, 0o644, False

    def jupyter_book(self, root: Path, work: Path, log: Path) -> int:
        page = work / "_build/html/book/index.html"
        self.went_on = page.is_file()
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(self.word)
        page.chmod(self.mode)
        (work / "_build/html" / extension.MARK).write_text("{}")
        log.write_text("WARNING: a label is missing" if self.code else "")
        return self.code

    def build(self, word: str) -> None:
        self.word = word
        publish.build(self.root, self.out, progress=False)

    def says(self) -> str:
        """What the site says; nothing may be left beside it."""
        assert [path.name for path in self.out.parent.iterdir()] == ["site"]
        page = self.out / "book/index.html"
        return page.read_text() if page.is_file() else ""


@pytest.fixture
def small(tmp_path, monkeypatch) -> SmallBook:
    (tmp_path / "_toc.yml").write_text("root: book/index")
    (tmp_path / "_config.yml").write_text("title: A book\nsphinx: {config: {extensions: [ettr_book.publish]}}\n")
    small = SmallBook(tmp_path)
    monkeypatch.setattr(chapters, "execute", lambda *_, **__: [])
    monkeypatch.setattr(site, "_jupyter_book", small.jupyter_book)
    return small


def test_a_build_goes_on_from_what_a_whole_one_left_and_from_no_other(small):
    small.build("first")
    assert small.says() == "first" and not small.went_on
    small.build("second")
    assert small.says() == "second" and small.went_on
    small.code = 1  # a warning
    for went_on in (True, False):
        with pytest.raises(EttrError, match="WARNING: a label is missing"):
            small.build("third")
        assert small.went_on == went_on and small.says() == "second"


@pytest.mark.parametrize("error", [PermissionError(13, "held"), KeyboardInterrupt()])
def test_an_exchange_that_is_cut_off_leaves_the_site_before(small, monkeypatch, error):
    """As where a virus scanner holds a file of the new one."""
    rename = Path.rename

    def refuse(path, target):
        if "copy" in path.name:
            raise error
        return rename(path, target)

    small.build("old")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        with pytest.raises((EttrError, KeyboardInterrupt)):
            small.build("new")
    assert small.says() == "old"
    for name in ("copy", "old"):  # as a kill leaves them
        put({"a": "half"}, small.out.with_name(f".site.{name}{durable.PART}"))
    small.build("new")
    assert small.says() == "new"


def test_a_site_may_be_read_as_any_new_file_may_also_if_its_sources_may_not(small):
    for mask, expected in ((0o022, 0o644), (0o077, 0o600)):
        before, small.mode = os.umask(mask), 0o600
        try:
            small.build("new")
        finally:
            os.umask(before)
        assert stat.S_IMODE((small.out / "book/index.html").stat().st_mode) == expected


@pytest.mark.parametrize("can_write_here", [True, False])
def test_a_book_that_cannot_be_written_is_built_from_a_copy(small, tmp_path_factory, monkeypatch, can_write_here):
    """In the working folder or, if it cannot be written, beside the site."""
    here, small.out = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("public") / "site"
    monkeypatch.chdir(here)
    closed = [small.root, *([] if can_write_here else [here])]
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: Path(path) not in closed and may(path, mode, **more))
    before = sorted(small.root.rglob("*"))
    small.word = "new"
    publish.build(small.root, small.out, progress=False)
    assert (small.out / "book/index.html").read_text() == "new" and sorted(small.root.rglob("*")) == before
    copied = (here if can_write_here else small.out.parent) / site.UNPACKED
    assert (copied / "_toc.yml").read_text() == (small.root / "_toc.yml").read_text()


def in_turn(lock: Path, work: Callable[[], object], is_done: Callable[[], bool]) -> None:
    """Assert that a piece of work waits while another process holds a lock."""
    running = threading.Thread(target=work)
    with durable.locked(lock, "build"):
        running.start()
        running.join(timeout=0.3)
        assert running.is_alive() and not is_done()
    running.join(timeout=30)
    assert not running.is_alive() and is_done()


def test_builds_put_their_sites_at_one_place_in_turn(small):
    small.build("old")
    in_turn(
        extension.lock_of(small.out), lambda: small.build("new"), lambda: "new" in contents(small.out / "book").values()
    )
    assert small.says() == "new"


def test_a_copy_of_the_book_is_made_by_one_build_at_a_time(book, tmp_path):
    copy = tmp_path / "copy"
    in_turn(copy / "lock", lambda: site._unpack(copy, book, print), (copy / "_toc.yml").exists)


def test_chapters_run_in_one_build_at_a_time(own_book):
    states = []
    lock = own_book / chapters.EXECUTED / "default" / ".lock"
    in_turn(lock, lambda: states.extend(publish.execute(own_book)), lambda: bool(states))
    assert {chapter.state for chapter in states} == {"kept"}


def test_jupyter_book_waits_for_a_build_of_the_same_site(tmp_path):
    app, config = SimpleNamespace(outdir=tmp_path / "html"), SimpleNamespace(templates_path=[])
    in_turn(extension.lock_of(app.outdir), lambda: extension.begin(app, config), lambda: hasattr(app, "ettr_lock"))
    app.ettr_lock.close()


def test_scripts_that_another_build_made_meanwhile_are_used(tmp_path, monkeypatch):
    rename = Path.rename

    def late(path, target):
        put({"vega-bundle.js": "theirs"}, target)
        rename(path, target)

    monkeypatch.setattr(Path, "rename", late)
    assert (assets.scripts(tmp_path) / "vega-bundle.js").read_text() == "theirs"


def test_the_pages_begin_with_the_scenario_of_the_book():
    mine = Scenario.of({"name": "mine", "cluster": {"n_gpus": 512}, "failures": {"job_mttf_h": 40}})
    data = json.loads(page_data.script(mine, "my run.yml").removeprefix("window.ettrData=").removesuffix(";\n"))
    assert (data["book"], data["starts"]["mine"]["command"]) == ("mine", "my run.yml")
    assert Scenario.of(data["starts"]["mine"]["written"]) == mine
    assert data["mine"] != "mine" and {"llama3-405b", data["mine"]} <= data["starts"].keys()


@pytest.mark.parametrize("name", ["llama3-405b", "h100-100k"])
def test_what_is_assumed_on_a_page_is_what_a_plan_assumes(name):
    assumed = page_data.start(Scenario.load(name))["assumed"]
    ours = ranges.assumptions(Scenario.load(name)).inputs
    grown = {"recovery.init_s_per_1000_gpus"}  # which a page needs at other sizes than the observed one
    assert {entry["field"] for entry in assumed} - grown == {entry.field for entry in ours} - grown


def test_an_unknown_scenario_is_refused_before_anything_runs(own_book):
    with pytest.raises(UnknownName):
        publish.build(own_book, scenario="rsc-11", progress=False)
    assert not list((own_book / "_build").glob("chapters/rsc*"))


def test_progress_is_a_line_a_chapter(capsys):
    site._line(1, 3, chapters.Chapter("book/a", "ran", Path("a"), 1.25))
    site._line(2, 3, chapters.Chapter("book/b", "kept", Path("b")))
    refused = "c stopped at cell 1 (id x): NoProgress: it never ends"
    site._line(3, 3, chapters.Chapter("book/c", "unanswered", Path("c"), error=refused))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["[1/3] book/a: ran, 1.2 s", "[2/3] book/b: kept"]
    assert lines[2:] == ["[3/3] book/c: no answer, since it never ends", "building pages"]


@pytest.mark.slow
def test_a_scenario_in_any_folder_has_a_book_in_any_other_that_says_what_has_no_answer(own_book, tmp_path):
    folder = tmp_path / "a b'@#%20ü`$x"
    out, mine = folder / "-my book's @#", folder / "-mi'ne.yml"
    folder.mkdir()
    (folder / "-site @.csv").write_text("time,temp_c\n" + "".join(f"2025-06-01T{h:02d}:00,{h}\n" for h in range(24)))
    mine.write_text(
        f"title: {json.dumps(TITLE)}\n"
        "cluster: {n_gpus: 64}\njob: {productive_h: 20}\nfailures: {job_mttf_h: 40}\nheat: {weather: '-site @.csv'}\n"
    )
    write_index(own_book, "from ettr import Scenario", "print('speed', Scenario.load(scenario).speed)")
    add_study(own_book / "book/index.ipynb")
    refused = "from ettr.core.errors import NotModelled\nraise NotModelled('no term for *spares* (spares.n_nodes)')"
    write_first(own_book, refused, text="## Sources\n\nNothing.")
    assert publish.build(own_book, out, scenario=mine, progress=False) == out / "book/index.html"
    built = html_of(out)
    assert f"speed {Scenario.load(mine).speed}" in built["book/index.html"]
    why = "This page has no answer for this run: no term for *spares* (spares.n_nodes)."
    assert why in built["book/first.html"] and "Nothing." in built["book/first.html"]
    assert 'href="index.html"' in built["book/first.html"].partition(why)[2]
    shown = re.sub("[\u2018\u2019]|&#x27;", "'", built["book/index.html"])
    title = html.escape(TITLE, quote=False)
    assert f"This copy of the book was computed for {title}." in shown
    assert f"Commentary on the published runs is left out: this copy was computed for {title}." in shown
    downloaded = (out / "_sources/book/index.ipynb").read_text(encoding="utf-8")
    assert "Of the published run." not in shown + downloaded


def started(*arguments: str, prefix: tuple[str, ...] = (), **options: object) -> subprocess.Popen[str]:
    """Start Python in a process that finds the package of this repository."""
    variables = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    variables.pop("HOME", None)
    command, pipe = [*prefix, sys.executable, *arguments], subprocess.PIPE
    return subprocess.Popen(command, env=variables, stdout=pipe, stderr=subprocess.STDOUT, text=True, **options)


def finished(*processes: subprocess.Popen[str]) -> None:
    said = [process.communicate()[0] for process in processes]
    assert not any(process.returncode for process in processes), said


ETTR_BOOK = ("-m", "ettr.cli", "book")
JUPYTER_BOOK = ("-c", "from jupyter_book.cli.main import main; main()", "build", ".")


@pytest.mark.slow
def test_a_copy_that_cannot_be_written_in_any_folder_has_a_book_without_home(own_book, tmp_path):
    root, out = tmp_path / "Bücher über 3 h's/a copy", tmp_path / "öffentlich & mehr" / "site"
    out.parent.mkdir()
    shutil.copytree(own_book, root)
    shutil.rmtree(root / "_build")
    (root / "book/_static/book.css").chmod(0o640)
    for path in [root, *root.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    before = sorted(root.rglob("*"))
    # root without the capability to write any file
    prefix = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    finished(started(*ETTR_BOOK, "--out", str(out), prefix=prefix, cwd=root, umask=0o022))
    assert sorted(root.rglob("*")) == before
    built = html_of(out)
    assert {f"{name}.html" for name in chapters.docnames(root)} <= set(built)
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*") if path.is_file()} == {0o644}
    for path in root.rglob("*"):
        path.chmod(path.stat().st_mode | 0o200)


@pytest.mark.slow
def test_builds_at_the_same_time_all_succeed(own_book, tmp_path):
    shutil.rmtree(own_book / "_build")
    one, other = tmp_path / "one", tmp_path / "other"
    finished(
        *(started(*ETTR_BOOK, "--out", str(out), cwd=own_book) for out in (one, one, other)),
        started(*ETTR_BOOK, "--out", str(one), "--scenario", "rsc-1", cwd=own_book),
        *(started(*JUPYTER_BOOK, cwd=own_book) for _ in range(2)),
    )
    own, (first, *others) = html_of(own_book / "_build/html"), [html_of(out) for out in (other, one)]
    assert own == first and set(others[0]) == set(first)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_site_is_whole_and_that_of_jupyter_book_alone_and_a_warning_leaves_it_as_it_is(own_book, tmp_path):
    out = put(BEFORE, tmp_path / "public")
    assert publish.build(own_book, out, progress=False) == out / "book/index.html"
    built = html_of(out)
    assert {f"{name}.html" for name in chapters.docnames(own_book)} <= set(built) and "old.html" not in built
    assert {"index.html", "404.html"} <= set(built) and 'location.replace("book/index.html"' in built["index.html"]
    assert (
        "mathjax/startup.js" in built["book/notes.html"]
        and "mathjax" not in built["book/index.html"].partition("<body")[0]
    )
    assert 'name="description"' in built["book/notes.html"]
    assert "from llama3-405b" in built["book/index.html"]
    offered = nbformat.read(out / "_sources/book/index.ipynb", as_version=4)
    assert offered.cells[2].outputs[0].text == "from llama3-405b\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    publish.build(own_book, out, progress=False)  # without a change
    assert html_of(out) == built

    by_jupyter_book = jupyter_book(own_book)
    assert by_jupyter_book.returncode == 0, by_jupyter_book.stderr
    assert html_of(own_book / "_build/html") == built

    with (own_book / "book/notes.md").open("a") as notes:
        notes.write("\n{ref}`nowhere`\n")
    with pytest.raises(EttrError, match=r"(?s)Jupyter Book stopped.*build\.log.*notes\.md.*nowhere"):
        publish.build(own_book, out, progress=False)
    assert html_of(out) == built
