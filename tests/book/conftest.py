"""The book, built once, and a browser that looks at it without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ettr_book import publish

ROOT = Path(__file__).parents[2]
VIEWS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark-phone": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
}
MARKS_TRIED = 40
API = "book/reference/api"
API_CHECKED = {(API, "light"), (f"{API}/mitigations", "dark-phone")}
"""Where accessibility is checked of the pages on the API: they are long, slow to check and of one template."""
AXE_OPTIONS = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "preload": False}

CHARTS = """() => [...document.querySelectorAll("figure.book-chart")].map(figure => {
  const drawing = figure.querySelector(".book-chart-target svg");
  const still = figure.querySelector("img.book-chart-still");
  return {
    title: figure.querySelector(".book-chart-title").textContent,
    marks: drawing ? drawing.querySelectorAll(".role-mark path, .role-mark text, .role-mark line").length : 0,
    name: drawing ? drawing.getAttribute("aria-label") : null,
    width: drawing ? drawing.getBoundingClientRect().width : 0,
    room: figure.getBoundingClientRect().width,
    source: (figure.querySelector(".book-chart-source") || figure).textContent,
    cut: [...figure.querySelectorAll(".role-axis-label text")].map(t => t.textContent).filter(t => t.endsWith("…")),
    stillShown: still.getBoundingClientRect().width > 0,
  };
})"""
FACTS = """() => ({
  heading: document.querySelector("h1") ? document.querySelector("h1").textContent : "",
  sideways: document.documentElement.scrollWidth - window.innerWidth,
  unnamed: [...document.images].filter(image => !image.alt.trim()).map(image => image.src),
  formulas: document.querySelectorAll(".math").length,
  rawFormulas: [...document.querySelectorAll(".math")].filter(m => !m.querySelector("mjx-container")).length,
  brokenFormulas: document.querySelectorAll("mjx-merror").length,
})"""

WIDTHS = (1280, 800, 390)
"""Widths of the window at which the texts of charts are compared. [px]"""
REDRAWN = """() => {
  const charts = [...document.querySelectorAll("figure.book-chart")].map(figure => figure.bookChart);
  return charts.every(chart => !chart.isStale()) && Promise.all(charts.map(chart => chart.work)).then(() => true);
}"""
CROWDED = """() => [...document.querySelectorAll("figure.book-chart")].flatMap(figure => {
  const title = figure.querySelector(".book-chart-title").textContent;
  const frame = figure.querySelector(".book-chart-target svg").getBoundingClientRect();
  const texts = [...figure.querySelectorAll(".book-chart-target svg text")]
    .filter(text => text.textContent.trim() && getComputedStyle(text).opacity > 0.1)
    .map(text => ({ text: text.textContent, box: text.getBoundingClientRect() }));
  const found = [];
  texts.forEach(({ text, box }, i) => {
    const beside = Math.max(frame.left - box.left, box.right - frame.right);
    const over = Math.max(beside, frame.top - box.top, box.bottom - frame.bottom);
    if (over > 2) { found.push(`${title}: ${text} leaves the frame`); }
    texts.slice(i + 1).forEach(other => {
      const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
      const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
      if (wide > 1 && high > 3) { found.push(`${title}: ${text} covers ${other.text}`); }
    });
  });
  return found;
})"""

MAKES_FRAMES = """() => new Promise(resolve => {
  requestAnimationFrame(() => resolve(true));
  setTimeout(() => resolve(false), 5000);
})"""


@dataclass
class Visit:
    """What one look at one page found."""

    facts: dict[str, Any] = field(default_factory=dict)
    charts: list[dict[str, Any]] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    crowded: list[str] = field(default_factory=list)
    sideways_on_phone: int = 0


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The folder of the whole book, built from the repository as it is."""
    out = tmp_path_factory.mktemp("book") / "html"
    publish.build(ROOT, out, progress=False)
    return out


@pytest.fixture(scope="session")
def open_page(browser) -> Iterator[Callable[..., Any]]:
    """Open a file of the site; the page keeps requests to elsewhere (`outside`) and complaints (`said`)."""
    contexts: list[Any] = []

    def open_one(path: Path, query: str = "", view: str = "light", **options: Any) -> Any:
        context = browser.new_context(offline=True, **{**VIEWS[view], **options})
        contexts.append(context)
        page = context.new_page()
        page.outside, page.said = [], []
        page.on("request", lambda r: page.outside.append(r.url) if not _is_local(r.url) else None)
        page.on("console", lambda m: page.said.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: page.said.append(str(e)))
        page.goto(path.as_uri() + query)
        return page

    yield open_one
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def drawn(site, open_page) -> Callable[..., Any]:
    """Open a page of the site and scroll through it until every chart is drawn."""
    from playwright.sync_api import TimeoutError as TooLate

    def draw(docname: str, view: str = "light", again: bool = True, **options: Any) -> Any:
        page = open_page(site / f"{docname}.html", view=view, **options)
        for figure in charts_of(page):
            figure.evaluate("f => f.scrollIntoView()")  # Playwright's own waits for frames, and now and then for ever
            try:
                page.wait_for_function(
                    "f => f.dataset.theme && f.querySelector('.book-chart-target svg')",
                    arg=figure,
                    polling=50,
                    timeout=30_000,
                )
            except TooLate:
                if page.said or page.evaluate(MAKES_FRAMES) or not again:
                    pytest.fail(f"{title_of(figure)!r} was not drawn; the page said {page.said}", pytrace=False)
                page.context.close()  # now and then a page of a headless browser gets no frames, so nothing is in view
                return draw(docname, view, again=False, **options)
        return page

    return draw


@pytest.fixture(scope="session")
def visit(drawn) -> Callable[[str, str], Visit]:
    """Look at a page in a view."""
    from axe_playwright_python.sync_playwright import Axe

    def look(docname: str, view: str) -> Visit:
        page = drawn(docname, view)
        typeset = "() => !document.querySelector('.math') || document.querySelector('mjx-container')"
        page.wait_for_function(typeset, polling=50)
        result = Visit(page.evaluate(FACTS), page.evaluate(CHARTS))
        if not docname.startswith(API) or (docname, view) in API_CHECKED:
            axe = Axe().run(page, options=AXE_OPTIONS).response["violations"]
            result.violations = [f"{rule['id']}: {node['html'][:200]}" for rule in axe for node in rule["nodes"]]
        if view == "light":
            result.silent = [title_of(chart) for chart in charts_of(page) if not answers_the_pointer(page, chart)]
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                page.wait_for_function(REDRAWN, polling=50)
                result.crowded += [f"{width} px: {text}" for text in page.evaluate(CROWDED)]
        page.set_viewport_size(VIEWS["dark-phone"]["viewport"])
        result.sideways_on_phone = page.evaluate(FACTS)["sideways"]
        result.outside, result.said = page.outside, page.said
        page.context.close()
        return result

    return look


def charts_of(page: Any) -> list[Any]:
    return page.query_selector_all("figure.book-chart")


def title_of(chart: Any) -> str:
    return chart.query_selector(".book-chart-title").text_content()


def answers_the_pointer(page: Any, chart: Any) -> bool:
    """Whether one of a chart's marks shows a tooltip."""
    chart.scroll_into_view_if_needed()
    marks = chart.query_selector_all(".book-chart-target .role-mark path")
    for mark in marks[:: max(1, len(marks) // MARKS_TRIED)]:
        box = mark.bounding_box()
        if box:
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            if page.query_selector("#vg-tooltip-element.visible"):
                return True
    return False


def _is_local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:", "about:"))


@pytest.fixture(scope="session")
def executed(site) -> dict[str, Any]:
    """The notebooks that the site offers for download, by page."""
    folder = site / "_sources"
    return {
        path.relative_to(folder).with_suffix("").as_posix(): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.ipynb"))
    }
