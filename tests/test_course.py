"""The course path names exercises that exist, and its hours add up."""

from __future__ import annotations

import re

import pytest

import book_pages as pages

TEXT = (pages.ROOT / "book/reference/course.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"^\| \d+\. .*$", TEXT, re.MULTILINE)


def n_exercises(page: str) -> int:
    """Return the number of exercises of a page."""
    text = "\n".join("".join(cell["source"]) for cell in pages.cells(page) if cell["cell_type"] == "markdown")
    return len(re.findall(r"^\*\*\d+\.\*\* ", text, re.MULTILINE))


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.split("|")[1].strip())
def test_a_session_names_all_exercises_of_its_pages(session):
    _, _, read, _, exercises, _, _ = session.split("|")
    counts = [n_exercises(f"book/{page}") for page in re.findall(r"\{doc\}`\.\./([\w/]+)`", read)]
    assert [int(last) for last in re.findall(r"1 to (\d)", exercises)] == [count for count in counts if count]


def test_the_hours_add_up():
    (total,) = re.findall(r"in about (\d+) hours", TEXT)
    assert len(SESSIONS) == 10
    assert sum(int(hours) for hours in re.findall(r"\| (\d) h \|", TEXT)) == pytest.approx(int(total), abs=3)
