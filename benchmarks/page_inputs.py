"""Time from an input event to the drawn answer on every page with inputs, and what the inputs add to a page.

The site is read as files by a headless browser; build it first (``make book``). Each event is the next step of the
first slider of the page. The reference is the same event on an empty page, so that the browser's own frame is known.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import statistics
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCRIPTS = ("inputs.js", "model.js", "plan.js", "data.js", "widgets.js", "what_if.js")
MOVE = """async (n) => {
  const model = window.ettrWidgets.model, place = document.querySelector("[data-ettr]");
  const slider = place.querySelector(".ettr-input input[type=range]:not(:disabled)");
  const figure = place.querySelector("figure.book-chart");
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const times = { handled: [], drawn: [] };
  for (let i = 0; i < n; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    slider.value = 300 + (i * 37) % 400;
    const drawn = figure && new Promise((resolve) => place.addEventListener("ettr-drawn", resolve, { once: true }));
    const start = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    times.handled.push(performance.now() - start);
    await drawn;
    times.drawn.push(performance.now() - start);
    await frame();
  }
  return times;
}"""
EMPTY = """async (n) => {
  const times = [];
  for (let i = 0; i < n; i += 1) {
    const start = performance.now();
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    times.push(performance.now() - start);
  }
  return times;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=ROOT / "_build/html", help="folder of the built book")
    parser.add_argument("--moves", type=int, default=40, help="events on each page")
    options = parser.parse_args()
    pages = [path for path in sorted(options.site.rglob("book/**/*.html")) if b"data-ettr=" in path.read_bytes()]
    if not pages:
        raise SystemExit(f"there is no page with inputs in {options.site}: run `make book` first")
    _sizes(options.site, pages)
    _times(pages, options.site, options.moves)


def _sizes(site: Path, pages: list[Path]) -> None:
    print("scripts, loaded once for all pages [kB, and gzipped]")
    for name in SCRIPTS:
        raw = (site / "_static" / name).read_bytes()
        print(f"  {name:12} {len(raw) / 1000:6.1f} {len(gzip.compress(raw)) / 1000:6.1f}")
    print("the place of the inputs in a page, without its picture and specification [kB]")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        print(f"  {page.relative_to(site)!s:42} {sum(len(part) for part in _places(text)) / 1000:6.2f}")


def _places(text: str) -> list[str]:
    return [part[: part.find(">") + 1] for part in text.split("<div data-ettr=")[1:]]


def _times(pages: list[Path], site: Path, moves: int) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        empty = browser.new_page()
        print("from an input event [ms]: handled, and the chart drawn (median, 95%)")
        _say("an empty page: one frame", empty.evaluate(EMPTY, moves))
        for page in pages:
            opened = browser.new_page(viewport={"width": 1280, "height": 900})
            opened.goto(page.as_uri())
            opened.wait_for_function("() => window.ettrWidgets && window.ettrWidgets.model")
            opened.evaluate("() => document.querySelector('[data-ettr]').scrollIntoView()")
            opened.wait_for_timeout(1500)
            times: dict[str, Any] = opened.evaluate(MOVE, moves)
            name = str(page.relative_to(site / "book"))
            _say(f"{name}: handled", times["handled"])
            _say(f"{name}: drawn", times["drawn"])
            opened.close()
        browser.close()


def _say(what: str, times: list[float]) -> None:
    print(f"  {what:48} {statistics.median(times):6.1f} {statistics.quantiles(times, n=20)[-1]:6.1f}")


if __name__ == "__main__":
    main()
