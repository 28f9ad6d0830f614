"""Numbers as texts: of the digits 0 to 9 alone, and as people write them."""

from __future__ import annotations

import math

import pytest

from ettr.core.errors import InputError
from ettr.core.numbers import (
    number_as_written,
    number_of,
    refuse_infinite,
    whole_number_as_written,
    whole_number_of,
)


@pytest.mark.parametrize("text", ["12", "-1.5e3", " 7 ", "nan", "1_000", "\u00a012"])
def test_what_python_reads_of_ascii_digits_is_read(text):
    assert number_of(text) == float(text) or math.isnan(number_of(text))


@pytest.mark.parametrize("text", ["\uff11\uff12", "1\u0662", "\uff0e\uff15", "-\u0966.5"])
def test_digits_of_another_script_are_refused(text):
    for read in (number_of, whole_number_of):
        with pytest.raises(ValueError, match="digits|invalid literal|could not convert"):
            read(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4,096", 4096),
        ("1,234,567.5", 1_234_567.5),
        ("4k", 4000),
        ("2.3M", 2_300_000),
        ("15.6T", 15.6e12),
        ("78%", 0.78),
        ("1_000", 1000),
        (" -1.5e3 ", -1500),
    ],
)
def test_numbers_are_read_as_people_write_them(text, number):
    assert number_as_written(text) == number


@pytest.mark.parametrize(
    "text", ["3,5", "4,09", "4,0965", "1234,567", "0,123", "9h", "2m", "1e3k", "k", "%", "", "010"]
)
def test_what_can_be_read_in_two_ways_is_no_number(text):
    with pytest.raises(ValueError, match=r"number|could not convert"):
        number_as_written(text)


def test_per_cent_are_of_numbers_without_a_unit():
    with pytest.raises(ValueError, match="per cent"):
        number_as_written("9%", share=False)


def test_a_whole_number_keeps_all_its_digits():
    assert whole_number_as_written("9,007,199,254,740,993") == 9_007_199_254_740_993
    assert (whole_number_as_written("-4k"), whole_number_as_written("1e3")) == (-4000, 1000)
    with pytest.raises(ValueError, match="whole"):
        whole_number_as_written("1.5")


def test_what_is_not_finite_is_refused_by_its_place():
    refuse_infinite("a", {"b": [1.0, "inf", None, True, 10**400]}, "x.yml")
    with pytest.raises(InputError, match=r"^a\.b\.1 must be finite, got nan \(x\.yml\)$"):
        refuse_infinite("a", {"b": [1.0, math.nan]}, "x.yml")
