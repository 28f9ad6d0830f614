"""Numbers as texts: of the digits 0 to 9 alone."""

from __future__ import annotations

import math

import pytest

from ettr.core.errors import InputError
from ettr.core.numbers import number_of, refuse_infinite, whole_number_of


@pytest.mark.parametrize("text", ["12", "-1.5e3", " 7 ", "nan", "1_000", "\u00a012"])
def test_what_python_reads_of_ascii_digits_is_read(text):
    assert number_of(text) == float(text) or math.isnan(number_of(text))


@pytest.mark.parametrize("text", ["\uff11\uff12", "1\u0662", "\uff0e\uff15", "-\u0966.5"])
def test_digits_of_another_script_are_refused(text):
    for read in (number_of, whole_number_of):
        with pytest.raises(ValueError, match="digits|invalid literal|could not convert"):
            read(text)


def test_what_is_not_finite_is_refused_by_its_place():
    refuse_infinite("a", {"b": [1.0, "inf", None, True, 10**400]}, "x.yml")
    with pytest.raises(InputError, match=r"^a\.b\.1 must be finite, got nan \(x\.yml\)$"):
        refuse_infinite("a", {"b": [1.0, math.nan]}, "x.yml")
