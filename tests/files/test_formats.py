"""One format among several."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ettr.core.errors import InputError, UnknownName
from ettr.files.formats import named, recognised, table_of
from ettr.files.opening import Source

FORMATS = {
    name: SimpleNamespace(name=name, title=name.upper(), sniff=lambda head, first=first: head[0].startswith(first))
    for name, first in {"strict": "abc", "loose": "a"}.items()
}


def test_the_first_that_knows_the_file_is_taken(write):
    for text, expected in {"abcd\n": "strict", "axx\n": "loose"}.items():
        assert recognised(FORMATS, Source(write(text)), "").name == expected


def test_a_file_that_none_knows_is_shown_with_advice(write):
    with pytest.raises(InputError, match=r"log\.csv is not known; it begins 'zzz'.*strict, loose\. Give a header"):
        recognised(FORMATS, Source(write("\n zzz\n")), "Give a header")


def test_a_named_format_is_not_guessed():
    assert named(FORMATS, None) is None
    assert named(FORMATS, "loose") is FORMATS["loose"]
    with pytest.raises(UnknownName, match="strct"):
        named(FORMATS, "strct")


def test_formats_are_listed_in_the_order_in_which_they_are_tried():
    assert table_of(FORMATS).to_dict("list") == {"name": ["strict", "loose"], "title": ["STRICT", "LOOSE"]}
