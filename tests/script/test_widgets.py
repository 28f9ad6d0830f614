"""What charts with inputs say before anything is moved is what their pages say."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest

import book_pages as pages
from ettr import Scenario
from ettr.files.spreadsheet import harmless
from ettr_book.publish import page_data
from files.test_spreadsheet import CELLS
from script.comparing import STATIC

pytestmark = pytest.mark.browser

CHARTS = {
    "scale": "book/ettr/scale",
    "checkpoint_interval": "book/ettr/checkpoint_interval",
    "finishing_date": "book/ettr/finishing_date",
    "calculator": "book/index",
}
SAID = {
    "scale": ("reach", "best-ettr"),
    "checkpoint_interval": ("best-interval", "flat"),
    "finishing_date": ("done-after", "done-by-90"),
    "calculator": ("mttf", "best-ettr", "best-interval", "flat", "done-by-90"),
}
"""Named numbers of the pages that the sentence of each has too."""
LAST_WORDS = {
    "scale": "is reached up to",
    "checkpoint_interval": "costs at most",
    "finishing_date": "Done after",
    "calculator": "Done after",
}
"""What each shows when its slower answers are there."""
STATE = """window.ettrState = {
  state: { start: null, values: {}, more: {}, left: [] }, save() {}, listeners: new Set(), isYours: () => false,
  element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "on") { for (const [event, act] of Object.entries(value)) { made.addEventListener(event, act); } }
      else if (value === true) { made.setAttribute(name, ""); }
      else if (value !== false && value !== null && value !== undefined) { made.setAttribute(name, value); }
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return made;
  },
};"""


@pytest.fixture(scope="module")
def widgets(browser) -> Iterator[Any]:
    """A page with all of them, and without the rest of the book."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    places = "".join(f'<div data-ettr="{name}"><figure class="book-chart"></figure></div>' for name in CHARTS)
    page.set_content(f"<main><article class='bd-article'><h1>A page</h1>{places}</article></main>")
    page.add_script_tag(content=STATE + page_data.script(Scenario.load("llama3-405b")))
    for name in ("quantities.js", "model.js", "plan.js", "calculators.js", "widgets.js"):
        page.add_script_tag(content=(STATIC / name).read_text(encoding="utf-8"))
    page.evaluate("() => window.ettrWidgets.begin([...document.querySelectorAll('[data-ettr]')])")
    yield page
    context.close()


@pytest.mark.parametrize("name", CHARTS)
def test_what_a_calculator_says_first_is_what_the_pages_say(widgets, name):
    place = widgets.locator(f"[data-ettr={name}]")
    widgets.wait_for_function(
        "([name, end]) => document.querySelector(`[data-ettr=${name}]`).textContent.includes(end)",
        arg=[name, LAST_WORDS[name]],
    )
    text = " ".join(place.text_content().split())
    on_pages: dict[str, set[str]] = {}
    for page in CHARTS.values():
        for quantity, values in pages.numbers(page).items():
            on_pages.setdefault(quantity, set()).update(values)
    for quantity in SAID[name]:
        (value,) = on_pages[quantity]
        assert re.search(rf"(?<![\d.,]){re.escape(value)}(?!\d)", text), (quantity, value, text)


def test_a_run_with_warnings_has_a_mean_date_and_keeps_the_chart(widgets):
    """The mean has a form on the page, the other dates are simulated elsewhere."""
    warned = {"recall": 0.5, "precision": 0.8, "lead_s": 120, "action_s": 30}
    begin = "value => { const m = window.ettrWidgets.model; m.start.written.prediction = value; m.begin(null); }"
    widgets.evaluate(begin, warned)
    said = "place => document.querySelector(`[data-ettr=${place[0]}]`).textContent.includes(place[1])"
    widgets.wait_for_function(said, arg=["calculator", "on average; for the distribution run ettr plan"])
    assert "(90% of runs)" not in widgets.locator("[data-ettr=calculator] .ettr-panel").text_content()
    widgets.wait_for_function(said, arg=["finishing_date", "does not cover prediction"])
    widgets.evaluate(begin, None)


def test_saved_cells_are_those_of_the_package(browser):
    page = browser.new_page()
    page.add_script_tag(content=(STATIC / "csv.js").read_text(encoding="utf-8"))
    texts = [text for text in CELLS if "\ud800" not in text and "\x00" not in text]
    (row, numbers) = csv.reader(
        io.StringIO(page.evaluate("rows => ettrCsv(rows)", [texts, [-1.5, None, 'a"b']]), newline="")
    )
    page.close()
    assert row == [harmless(text) for text in texts]
    assert numbers == ["-1.5", "", 'a"b']
