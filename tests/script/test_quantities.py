"""The pages read quantities by the rules of the package: its table of cases is run through the script too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from core.test_quantities import CASES
from ettr.core.quantities import advice, noun_of
from ettr.core.units import COUNTED, OF_ENDING
from script.comparing import STATIC

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def reader(browser) -> Iterator[Any]:
    page = browser.new_page()
    page.add_script_tag(content=(STATIC / "quantities.js").read_text(encoding="utf-8"))
    yield page
    page.close()


def test_a_page_reads_what_the_package_reads(reader):
    texts = [[text, unit] for text, unit, _ in CASES]
    results = reader.evaluate("texts => texts.map(([text, unit]) => ettrQuantities.parse(text, unit))", texts)
    for (text, unit, number), result in zip(CASES, results, strict=True):
        if number:
            assert result == {"value": pytest.approx(float(number), rel=1e-15)}, (text, unit)
        else:
            assert result == {"advice": advice(text, unit)}, (text, unit)


def test_every_unit_may_follow_its_number(reader):
    units = sorted({*OF_ENDING.values(), *COUNTED.values()})
    texts = [[f"7 {unit.replace('1/', 'per ')}", unit] for unit in units]
    results = reader.evaluate("texts => texts.map(([text, unit]) => ettrQuantities.parse(text, unit))", texts)
    assert results == [{"value": 7}] * len(units)
    nouns = reader.evaluate("units => units.map((unit) => ettrQuantities.nounOf(unit, true))", units)
    assert nouns == [noun_of(unit, whole=True) for unit in units]
