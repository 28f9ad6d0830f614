"""Every number of a `study` cell, which a person wrote about a published run, is recomputed here.

The numbers of a page are in the module of its name in this folder: `numbers()` returns phrases of the text and, for
each, the values of its numbers in their order. A value is compared at the digits that the text shows; a percentage is a
fraction.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import book_pages as pages

NAMES = re.compile(r"Llama 3(?:\.\d)?(?: \d+B)?|\b[A-Za-z]+[A-Za-z/-]*\d[\w./-]*|\b\d+B\b")
"""Names with digits in them, such as GLM-130B, H100 and Llama 3 405B."""
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATES = re.compile(rf"\b\d{{1,2}} (?:{_MONTHS})(?: \d{{4}})?|\b(?:{_MONTHS})(?: \d{{4}})?|\b(?:19|20)\d\d\b")
HIDDEN = re.compile(
    r"`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|</?\w+[^>]*>|^\*\*\d+\.\*\*|^\d+\. ", re.DOTALL | re.MULTILINE
)
"""Code, roles, formulas, addresses, tags and the numbers of lists."""
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:%| million| billion)?")
SCALES = {"%": 0.01, " million": 1e6, " billion": 1e9}


WHOLE = ("book/your_cluster/brief",)
"""Pages in Markdown that are about a published run as a whole."""


def study_text(page: str) -> str:
    """Text of the study cells of a page, without names, dates, code and formulas, on one line."""
    if page in WHOLE:
        text = (pages.ROOT / f"{page}.md").read_text(encoding="utf-8")
    else:
        cells = [cell for cell in pages.cells(page) if "study" in cell["metadata"].get("tags", [])]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for hidden in (HIDDEN, NAMES, DATES):
        text = hidden.sub("…", text)
    return " ".join(text.split())


STUDIES = tuple(page for page in (*pages.NOTEBOOKS, *WHOLE) if study_text(page))


def shown(text: str) -> tuple[float, float]:
    """Return a printed number and half a unit of its last digit; final zeros of a whole number are no digits."""
    digits = re.match(r"[\d,.]+", text)[0].replace(",", "")
    scale = SCALES.get(text[len(re.match(r"[\d,.]+", text)[0]) :], 1.0)
    _, _, decimals = digits.partition(".")
    zeros = len(digits) - len(digits.rstrip("0")) if not decimals else 0
    unit = 10.0 ** (zeros - len(decimals))
    return float(digits) * scale, min(0.5001 * unit, max(0.05 * float(digits), 0.5001)) * scale


@pytest.mark.parametrize("page", STUDIES)
def test_every_number_of_a_study_is_recomputed(page):
    text = study_text(page)
    module = importlib.import_module(f"study.{page.rpartition('/')[2]}")
    checked: set[int] = set()
    for phrase, *values in module.numbers():
        start = text.find(phrase)
        assert start >= 0, f"{phrase!r} is not in the study cells of {page}"
        found = list(NUMBER.finditer(text, start, start + len(phrase)))
        assert len(found) == len(values), f"{phrase!r} has {len(found)} numbers, and {len(values)} values"
        for match, value in zip(found, values, strict=True):
            number, tolerance = shown(match[0])
            assert number == pytest.approx(float(value), abs=tolerance), (
                f"{phrase!r}: {match[0]} is computed as {value}"
            )
            checked.add(match.start())
    unchecked = [text[max(0, m.start() - 40) : m.end() + 20] for m in NUMBER.finditer(text) if m.start() not in checked]
    assert unchecked == []


def test_every_module_of_numbers_has_its_study():
    modules = {path.stem for path in Path(__file__).parent.glob("*.py")} - {"test_study"}
    assert modules == {page.rpartition("/")[2] for page in STUDIES}


@pytest.mark.parametrize(
    ("text", "number", "tolerance"),
    [("7.7", 7.7, 0.05), ("16,384", 16_384, 0.5), ("91%", 0.91, 0.005), ("2.2 million", 2.2e6, 5e4)],
)
def test_a_number_is_compared_at_its_digits(text, number, tolerance):
    assert shown(text) == pytest.approx((number, tolerance), rel=1e-3)
