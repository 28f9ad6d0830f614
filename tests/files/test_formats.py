"""One format among several."""

from __future__ import annotations

import pytest

from ettr.core.errors import InputError, UnknownName
from ettr.files.formats import Format, Formats

FORMATS = Formats(
    "log",
    "Give a header",
    *(
        Format(name, name.upper(), lambda head, first=first: head[0].startswith(first), print)
        for name, first in {"strict": "abc", "loose": "a"}.items()
    ),
)


def test_the_first_that_knows_the_file_is_taken(write):
    for text, expected in {"abcd\n": "strict", "axx\n": "loose"}.items():
        source, chosen = FORMATS.open(write(text), None, None)
        assert (source.name, chosen.name) == ("log.csv", expected)


def test_a_file_that_none_knows_is_shown_with_advice(write):
    with pytest.raises(InputError, match=r"log\.csv is not known; it starts with 'zzz'.*strict, loose\. Give a header"):
        FORMATS.open(write("\n zzz\n"), None, None)


def test_a_named_format_is_not_guessed(write):
    assert FORMATS.open(write("zzz\n"), "loose", None)[1] is FORMATS["loose"]
    with pytest.raises(UnknownName, match="unknown format 'strct'; did you mean 'strict'"):
        FORMATS.open("there is no such file", "strct", None)
    with pytest.raises(InputError, match="cannot read the log"):
        FORMATS.open("there is no such file", "loose", None)


def test_formats_are_listed_in_the_order_in_which_they_are_tried():
    table = FORMATS.table()
    assert (table["name"].tolist(), table["title"].tolist()) == (["strict", "loose"], ["STRICT", "LOOSE"])
