"""What each page of the book holds and weighs, and how long a browser takes to its last chart.

The site is read as files by a headless browser; build it first (``make book``). Words are those of running text:
exercises, what happened and sources are told apart, and tables, figures and folded code are left out. The reference is
the time to the last chart of an empty page.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ASIDE = ("exercises", "what-happened", "sources", "next")
"""Sections that are not counted as a chapter's own text."""
COUNT = """(aside) => {
  const article = document.querySelector("article.bd-article").cloneNode(true);
  const words = (part) => (part.textContent.match(/\\S+/g) || []).length;
  const count = (what) => article.querySelectorAll(what).length;
  const found = {charts: count("figure.book-chart"), tables: count("table"), inputs: count("[data-ettr]")};
  article.querySelectorAll("figure,table,script,style,.cell_input,.headerlink,.ettr-banner,mjx-container,details.above-input")
    .forEach((part) => part.remove());
  const beside = aside.map((id) => article.querySelector(`section#${id}`)).filter(Boolean);
  found.aside = beside.reduce((sum, part) => sum + words(part), 0);
  found.words = words(article) - found.aside;
  return found;
}"""
LAST = """async () => {
  for (const figure of document.querySelectorAll("figure.book-chart")) {
    figure.scrollIntoView();
    while (!figure.dataset.theme) { await new Promise((resolve) => setTimeout(resolve, 5)); }
  }
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=ROOT / "_build/html", help="folder of the built book")
    parser.add_argument("--only", default="", help="pages whose name holds this")
    options = parser.parse_args()
    pages = [page for page in sorted(options.site.rglob("book/**/*.html")) if options.only in str(page)]
    if not pages:
        raise SystemExit(f"there is no page of a book in {options.site}: run `make book` first")
    print(f"{'page':38}{'words':>7}{'aside':>7}{'charts':>8}{'inputs':>8}{'tables':>8}{'kB':>7}{'last chart [s]':>16}")
    rows = [(page, found) for page, found in _looked_at(pages)]
    for page, found in rows:
        _show(page.relative_to(options.site / "book").with_suffix("").as_posix(), found, page.stat().st_size / 1e3)
    total = {name: sum(found[name] for _, found in rows) for name in ("words", "aside", "charts", "inputs", "tables")}
    _show("all", total | {"seconds": max(found["seconds"] for _, found in rows)}, 0)


def _show(name: str, found: dict[str, Any], size_kb: float) -> None:
    counts = f"{found['words']:7,}{found['aside']:7,}{found['charts']:8}{found['inputs']:8}{found['tables']:8}"
    print(f"{name:38}{counts}{size_kb:7.0f}{found['seconds']:16.2f}")


def _looked_at(pages: list[Path]) -> list[tuple[Path, dict[str, Any]]]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        found = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, offline=True)
        empty = Path(folder) / "empty.html"
        empty.write_text("<!doctype html><title>nothing</title>", encoding="utf-8")
        print(f"reference: an empty page {_seconds(page, empty):.2f} s")
        looked = [(path, {"seconds": _seconds(page, path)} | page.evaluate(COUNT, list(ASIDE))) for path in pages]
        browser.close()
        return looked


def _seconds(page: Any, path: Path) -> float:
    start = time.perf_counter()
    page.goto(path.as_uri())
    page.evaluate(LAST)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
