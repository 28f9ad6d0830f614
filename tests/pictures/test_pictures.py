"""Schematics: valid SVG that describes itself, with the colours of the charts, and labels that can be read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import pytest

from ettr.plots.theme import PART_COLOURS
from ettr_book import pictures
from ettr_book.pictures.drawing import NARROW, WIDE

NAMES = ("timeline", "tiers", "rack", "heat", "spares")
VARIANTS = {"wide": WIDE, "narrow": NARROW}
CSS = Path(__file__).parents[2] / "book/_static/book.css"
SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]


def shown(name: str) -> dict[str, str]:
    return getattr(pictures, name)()._repr_mimebundle_()


def drawn(name: str, variant: str) -> ET.Element:
    (svg,) = (svg for svg in ET.fromstring(shown(name)["text/html"]) if svg.get("class", "").endswith(variant))
    return svg


def label(text: ET.Element) -> str:
    return " ".join(span.text or "" for span in text)


def text_width(line: str, size: float, bold: bool) -> float:
    """Width in DejaVu Sans, which is wider than the fonts of most systems, to within a few percent."""
    widths = {"ijl'": 0.28, " ,.:;ft": 0.35, "()r": 0.41, "csz": 0.54, "w": 0.82, "m": 0.97}
    by_letter = {letter: width for letters, width in widths.items() for letter in letters}
    return size * sum(by_letter.get(letter, 0.62) for letter in line) * (1.1 if bold else 1)


def extent(text: ET.Element) -> Box:
    """Return left, top, right and bottom of a label."""
    size, bold = float(text.get("font-size")), text.get("font-weight") == "600"
    x, lines = float(text[0].get("x")), [float(span.get("y")) for span in text]
    width = max(text_width(span.text, size, bold) for span in text)
    left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")]
    return left, lines[0] - 0.75 * size, left + width, lines[-1] + 0.2 * size


def overlapping(boxes: dict[str, Box]) -> list[tuple[str, str]]:
    return [
        (one, other)
        for (one, a), (other, b) in combinations(boxes.items(), 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_picture_describes_itself(name, variant):
    svg = drawn(name, variant)
    title, description = svg.find(f"{SVG}title"), svg.find(f"{SVG}desc")
    assert svg.get("role") == "img" and svg.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert title.text and description.text == shown(name)["text/plain"] and description.text.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_needs_nothing_from_outside_and_its_ids_are_its_own(name):
    page = "".join(shown(each)["text/html"] for each in NAMES)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids)) == 4 * len(NAMES)
    assert not re.search(r"href|url\(|<script|<style|<image", shown(name)["text/html"])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_picture_has_the_colours_of_charts_and_otherwise_that_of_the_text(name, variant):
    colours = {mark.get(key) for mark in drawn(name, variant).iter() for key in ("fill", "stroke")}
    assert colours - {None, "none", "currentColor"} <= set(PART_COLOURS.values())
    assert "currentColor" in colours and PART_COLOURS["productive"] in colours


def test_the_timeline_shows_each_part_of_a_run_that_has_no_slow_nodes_and_no_maintenance():
    fills = [mark.get("fill") for mark in drawn("timeline", "wide")]
    assert {part for part, colour in PART_COLOURS.items() if colour not in fills} <= {"degraded", "maintenance"}


@pytest.mark.parametrize("name", NAMES)
def test_both_layouts_have_the_same_labels(name):
    wide, narrow = ({label(text) for text in drawn(name, variant).iter(f"{SVG}text")} for variant in VARIANTS)
    assert wide == narrow


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NAMES)
def test_labels_lie_inside_the_frame_and_apart(name, variant):
    svg = drawn(name, variant)
    _, _, width, height = map(float, svg.get("viewBox").split())
    boxes = {f"{i} {label(text)}": extent(text) for i, text in enumerate(svg.iter(f"{SVG}text"))}
    outside = [key for key, (x0, y0, x1, y1) in boxes.items() if x0 < 0 or y0 < 0 or x1 > width or y1 > height]
    assert not outside and not overlapping(boxes)


MEASURE = """() => [...document.querySelectorAll("svg")].filter(svg => svg.clientWidth).map(svg => ({
    name: svg.getAttribute("class"),
    frame: svg.getBoundingClientRect().toJSON(),
    size: svg.clientWidth / svg.viewBox.baseVal.width,
    labels: [...svg.querySelectorAll("text")].map(text => [
        text.textContent, parseFloat(text.getAttribute("font-size")), text.getBoundingClientRect().toJSON()])
}))"""


@pytest.mark.browser
@pytest.mark.parametrize(("width", "variant"), [(358, "narrow"), (688, "wide")])
def test_a_browser_shows_one_layout_with_readable_labels_that_do_not_collide(browser, width, variant):
    page = browser.new_page(viewport={"width": width, "height": 800})
    css, figures = CSS.read_text(encoding="utf-8"), "".join(shown(name)["text/html"] for name in NAMES)
    page.set_content(f"<style>body {{ margin: 0 }} {css}</style><div class='bd-content'>{figures}</div>")
    measured = page.evaluate(MEASURE)
    page.close()
    assert [svg["name"] for svg in measured] == [f"book-picture-{name}-{variant}" for name in NAMES]
    for svg in measured:
        frame = svg["frame"]
        boxes = {
            f"{i} {text}": (box["left"], box["top"] + 2, box["right"], box["bottom"] - 2)  # without leading
            for i, (text, _, box) in enumerate(svg["labels"])
        }
        assert min(size * svg["size"] for _, size, _ in svg["labels"]) >= 12
        assert not overlapping(boxes)
        assert all(frame["left"] <= x0 and x1 <= frame["right"] for x0, _, x1, _ in boxes.values())
        assert all(frame["top"] <= y0 and y1 <= frame["bottom"] for _, y0, _, y1 in boxes.values())
