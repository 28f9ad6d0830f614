"""Sphinx extension: provides the scripts, runs the chapters, and puts their outputs into the pages."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ettr import notebook
from ettr.core.durable import locked
from ettr.core.errors import EttrError
from ettr.core.sentences import listed
from ettr.scenario import Scenario
from ettr_book.publish import assets, chapters, head, page_data, pages, terms

MARK = ".ettr-book.json"
"""File in every site made here; a folder without it is not replaced."""
TEMPLATES = Path(__file__).parent / "templates"

_SEVERAL_NAMES = re.compile(r"(\w+(?:, \w+)+) : ")
FIELDS = "book/reference/data"
"""Page with the meaning of each scenario field."""


def lock_of(site: Path) -> Path:
    """Return the file that is locked while a site is written."""
    return site.with_name(f".{site.name}.lock")


def connect(app: Any) -> dict[str, Any]:
    """Register configuration values and the handlers of Sphinx's events."""
    app.add_config_value("ettr_parameters", {}, "env", types=[dict])
    app.add_css_file(assets.ICONS)
    for name in ("csv", "charts", "formulas", "inputs", "tables"):
        app.add_js_file(f"{name}.js", loading_method="defer")
    app.connect("config-inited", begin)
    app.connect("builder-inited", prepare)
    app.connect("env-get-outdated", outdated)
    app.connect("source-read", swap)
    app.connect("doctree-read", with_terms)
    app.connect("html-page-context", with_head, priority=900)  # after MathJax, which has 500
    app.connect("html-collect-pages", other_pages)
    app.connect("autodoc-process-docstring", with_names_together, priority=400)  # before napoleon, which has 500
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def begin(app: Any, config: Any) -> None:
    """Add the templates, and wait for another build of the same site, before Sphinx reads what that one left."""
    config.templates_path.append(str(TEMPLATES))
    with contextlib.ExitStack() as stack:
        site = Path(app.outdir)
        stack.enter_context(locked(lock_of(site), "build", wait=True, on_wait=lambda: _wait(site)))
        app.ettr_lock = stack.pop_all()  # until the process ends


def prepare(app: Any) -> None:
    """Make the scripts and update the executed copy of each chapter before any page is written."""
    root = Path(app.srcdir)
    try:
        parameters = app.config.ettr_parameters
        named = parameters.get("scenario", page_data.DEFAULT)
        scenario = Scenario.load(named)
        if app.builder.format == "html":
            data = page_data.write(root / assets.FOLDER / chapters.key(parameters), scenario, Path(named).name)
            app.config.html_static_path += [str(assets.scripts(root)), str(data)]
        states = chapters.execute(root, parameters, progress=_say, on_wait=lambda: _wait(root))
    except OSError as error:
        raise SystemExit(f"The book was not built: {error}; `ettr book --out DIR` builds it elsewhere") from error
    except EttrError as error:
        raise SystemExit(f"The book was not built: {error}") from error
    failed = [chapter for chapter in states if not chapter.is_good]
    if failed:
        # Jupyter Book prints a traceback for an exception, and only a message for an exit.
        raise SystemExit("The book was not built: " + "; ".join(chapter.error for chapter in failed))
    app.ettr_label = scenario.title
    app.ettr_chapters = {chapter.docname: chapter for chapter in states}


def with_names_together(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Join attribute names that share a description (``low, high : float``): Sphinx would read one as the type."""
    section = ""
    for number, line in enumerate(lines):
        if set(line) == {"-"} and number:
            section = lines[number - 1]
        names = _SEVERAL_NAMES.match(line)
        if names and section == "Attributes":
            lines[number] = names[1].replace(", ", ",\u200b") + line[names.end(1) :]


def outdated(app: Any, env: Any, added: set[str], changed: set[str], removed: set[str]) -> Iterable[str]:
    """Return all pages when a style or script changed: Sphinx alone would not copy the new file."""
    now = notebook.contents((Path(app.srcdir) / folder, "*") for folder in app.config.html_static_path)
    before, env.ettr_static = getattr(env, "ettr_static", now), now
    return set() if before == now else set(env.found_docs) - added - changed


def swap(app: Any, docname: str, source: list[str]) -> None:
    """Replace the source notebook by its page with outputs."""
    chapter = app.ettr_chapters.get(docname)
    if chapter is None:
        return
    app.env.note_dependency(str(chapter.path))
    path = chapters.source(Path(app.srcdir), docname).relative_to(app.srcdir).as_posix()
    notebook_page = pages.page(_merged(app, chapter), path)
    if docname == app.config.root_doc or chapter.why:  # pages with links to the others
        for other in app.ettr_chapters.values():
            app.env.note_dependency(str(other.path))
    if docname == app.config.root_doc:
        pages.with_answers(notebook_page, _answers(app))
    source[0] = notebook.text(notebook_page)


def _answers(app: Any) -> list[pages.PageAnswer]:
    """Return the answer of each chapter, in the order of the book."""
    rows = []
    for part, entries in chapters.contents(Path(app.srcdir)):
        for docname, title in entries:
            chapter = app.ettr_chapters.get(docname)
            if chapter:
                answer = pages.answered(notebook.read(chapter.path))
                if answer := answer or ("No answer for this run" if chapter.why else ""):
                    rows.append(pages.PageAnswer(part, docname, title, answer))
    return rows


def _elsewhere(app: Any, docname: str) -> str:
    """Return links for a page without an answer: other pages of its part, and the page on fields."""
    answered = [
        f"{{doc}}`{title} </{other}>`"
        for _, entries in chapters.contents(Path(app.srcdir))
        if docname in [name for name, _ in entries]
        for other, title in entries
        if other in app.ettr_chapters and app.ettr_chapters[other].state in ("ran", "kept")
    ]
    read = [f"Pages with an answer: {listed(answered)}."] if answered else []
    fields = [f"Meaning of the fields: {{doc}}`/{FIELDS}`."] if FIELDS in app.ettr_chapters else []
    return " ".join([*read, *fields])


def with_terms(app: Any, doctree: Any) -> None:
    """Link glossary terms at their first use, on all pages outside the reference part."""
    path = Path(app.srcdir) / terms.GLOSSARY
    if not app.env.docname.startswith("book/reference") and path.is_file():
        terms.link(doctree, path)


def with_head(app: Any, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Complete the head of a page, and give bibliography entries a role that WAI-ARIA 1.2 still has."""
    context["without_unused"] = assets.without_unused
    if doctree is None:
        return
    context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
    if 'class="math' not in context["body"]:
        context["script_files"] = [file for file in context["script_files"] if "mathjax" not in str(file).lower()]
    is_first = pagename == app.config.root_doc
    chapter = None if is_first else app.ettr_chapters.get(pagename)
    answer = pages.answered(notebook.read(chapter.path)) if chapter else ""
    description = head.description(answer, doctree)
    context["metatags"] += head.tags(context["title"], description, app.config.html_title, is_first)


def other_pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the page at the root of the site, which opens the first page, and the page for a wrong address."""
    first = f"{app.config.root_doc}.html"
    written = (Path(app.outdir) / first).read_text(encoding="utf-8")
    yield "index", {"first_page": first, "described": head.copied(written)}, "root.html"
    listed_pages = [entry for _, entries in chapters.contents(Path(app.srcdir)) for entry in entries]
    yield "404", {"first_page": first, "listed_pages": listed_pages}, "404.html"


def finish(app: Any, exception: Exception | None) -> None:
    """Add the executed notebooks as downloads and write the mark file of the site."""
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    assets.write_icons(out)
    for folder in (out, out / "_sources"):
        for page in (folder / "book").rglob("*.*"):
            name = page.relative_to(folder).as_posix().partition(".")[0]
            if page.is_file() and name not in app.env.found_docs:
                page.unlink()  # no longer in the book
    for docname, chapter in app.ettr_chapters.items():
        target = out / "_sources" / f"{docname}.ipynb"
        if target.is_file():
            target.write_text(notebook.text(_merged(app, chapter)), encoding="utf-8")
    mark = {"title": app.config.html_title, "parameters": app.config.ettr_parameters}
    (out / MARK).write_text(json.dumps(mark, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _merged(app: Any, chapter: chapters.Chapter) -> Any:
    root = Path(app.srcdir)
    executed = notebook.read(chapter.path)
    merged = pages.with_outputs(notebook.read(chapters.source(root, chapter.docname)), executed, root)
    if chapter.state == "unanswered":
        stopped = executed.metadata[notebook.RECORD]["stopped"]["id"]
        merged = pages.unanswered(merged, chapter.why, stopped, _elsewhere(app, chapter.docname))
    declared = {parameter.name for parameter in notebook.declared_parameters(chapters.source(root, chapter.docname))}
    # a page that takes none of the parameters is the same in every book
    return pages.without_study(merged, app.ettr_label) if declared & {*app.config.ettr_parameters} else merged


def _wait(folder: Path) -> None:
    from sphinx.util import logging

    logging.getLogger(__name__).info(f"waiting for another build in {folder}")


def _say(done: int, total: int, chapter: chapters.Chapter) -> None:
    from sphinx.util import logging

    took = f" in {chapter.duration_s:.1f} s" if chapter.state == "ran" else ""
    logging.getLogger(__name__).info(f"notebook {done} of {total}: {chapter.docname} {chapter.state}{took}")
