"""The reader of the bibliography, beside Pybtex, and what it refuses."""

from __future__ import annotations

import re

import pytest
from pybtex.database import parse_string
from pybtex.richtext import Text

from ettr.core.errors import DataError
from ettr.evidence import DATA, bibliography, sources

WRITTEN = (DATA / "references.bib").read_text(encoding="utf-8")
ENTRY = "@misc{a,\n  title = {A title},\n  year = {2026}\n}"


@pytest.fixture(scope="module")
def others():
    return parse_string(WRITTEN, "bibtex").entries


def test_pybtex_reads_the_same_entries_and_fields(others):
    ours = sources.parse(WRITTEN)
    assert list(ours) == list(others)
    for key, fields in ours.items():
        persons = "author" in fields
        assert {name for name in fields if name != "author"} == set(others[key].fields)
        assert persons == bool(others[key].persons)
        assert all(fields[name] == value for name, value in others[key].fields.items())


def test_pybtex_shows_the_same_names(others):
    by_key = bibliography().set_index("key")
    for key, entry in others.items():
        names = [
            " ".join([*author.first_names, *author.middle_names, *author.prelast_names, *author.last_names])
            for author in entry.persons.get("author", [])
        ]
        authors = ", ".join(str(Text.from_latex(name)) for name in names)
        assert by_key.loc[key, "authors"] == re.sub(r"\bothers$", "et al.", authors)


def test_pybtex_shows_the_same_titles(others):
    for key, title in bibliography().set_index("key")["title"].items():
        assert title == str(Text.from_latex(others[key].fields["title"]))


def test_comments_and_blank_lines_stand_between_entries():
    text = f"% one\n\n{ENTRY}\n\n% two @misc{{b,\n{ENTRY.replace('{a,', '{b,')}\n% three"
    assert sources.parse(text) == {key: {"title": "A title", "year": "2026"} for key in "ab"}
    assert sources.parse("") == {}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"\n{ENTRY}\n{ENTRY}", 6),
        ("@misc{a,\n  title = {A},\n  title = {B}\n}", 3),
        ("@misc{a,\n  title = {A {B}\n}", 2),
        ("@misc{a,\n  title = 7\n}", 2),
        ("title", 1),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(text, line):
    with pytest.raises(DataError, match=f"^line {line} must be a new key, @kind"):
        sources.parse(text)


def test_a_command_that_is_not_known_is_refused():
    with pytest.raises(DataError, match=re.escape(r"'on \\frac{1}{2}' has an unsupported LaTeX command")):
        sources.plain(r"on \frac{1}{2}")


@pytest.mark.parametrize("author", ["Donald Knuth", "Knuth, Jr., Donald", "Knuth"])
def test_an_author_in_another_form_is_refused(author):
    with pytest.raises(DataError, match="must be written as Family, Given, or in braces"):
        sources.people(author)
