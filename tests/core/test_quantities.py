"""Quantities as people write them; the cases are a table, since the pages read numbers by the same rules."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ettr.core.quantities import advice, parse_count, parse_quantity
from ettr.core.units import COUNTED, OF_ENDING

with (Path(__file__).parent / "quantities.csv").open(encoding="utf-8") as _file:
    CASES = [tuple(row.values()) for row in csv.DictReader(_file)]


@pytest.mark.parametrize(("text", "unit", "number"), CASES)
def test_a_quantity_is_read_where_there_is_no_doubt(text, unit, number):
    if number:
        assert parse_quantity(text, unit) == pytest.approx(float(number), rel=1e-15)
        assert advice(text, unit) == ""
    else:
        with pytest.raises(ValueError):
            parse_quantity(text, unit)
        assert advice(text, unit)


@pytest.mark.parametrize("unit", sorted({*OF_ENDING.values(), *COUNTED.values()}))
def test_every_unit_may_stand_behind_its_number(unit):
    assert parse_quantity(f"7 {unit.replace('1/', 'per ')}", unit) == 7
    assert parse_quantity("7", unit) == 7


@pytest.mark.parametrize(("text", "word"), [("3,5", "3.5"), ("9x", "9h"), ("12m", "12min"), ("\uff11\uff12", "12")])
def test_the_advice_names_what_was_probably_meant(text, word):
    assert word in advice(text, "h")


def test_a_count_keeps_all_its_digits():
    assert parse_count("9,007,199,254,740,993") == 9_007_199_254_740_993
    assert (parse_count("-4k"), parse_count("1e3")) == (-4000, 1000)
    for text in ("1.5", "100%", "inf"):
        with pytest.raises(ValueError):
            parse_count(text)
