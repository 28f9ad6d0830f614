"""The page of first questions answers each with what its command prints."""

from __future__ import annotations

import re
import shlex

import pytest

from generated import EXAMPLES, ROOT, examples, excerpt, is_answer

PAGE = EXAMPLES[1]
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
ANSWERS = examples(PAGE)


@pytest.mark.parametrize(("command", "shown"), ANSWERS, ids=[command for command, _ in ANSWERS])
def test_an_answer_is_what_the_command_prints(command, shown, ettr, monkeypatch):
    monkeypatch.chdir(ROOT)
    status, out, err = ettr(*shlex.split(command))
    assert is_answer(command, status, err), err
    assert excerpt(shown, out) == shown, "run `make readme`"


def test_there_are_twenty_questions_each_with_its_source_and_a_command_of_its_own():
    questions = re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]
    assert len(questions) == len({command for command, _ in ANSWERS}) == len(ANSWERS) == 20
    for question in questions:
        assert question.count("```console\n$ ettr ") == 1
        title, asked = question.split("```console")[0].split("\n\n", 1)
        assert title.endswith("?")
        assert re.match(r"(Asked|Posed|Posed and answered|Promised) (at|by|for in)\s", asked)


ANSWER = """A run of 16 GPUs
ETTR 90% (88 to 92%)
lost      hours
restarts    7 h

1. spares   2 h
"""


@pytest.mark.parametrize(
    ("shown", "renewed"),
    [
        ("ETTR 12%\nlost  h\n", "ETTR 90% (88 to 92%)\nlost      hours\n"),
        ("A run of 8 GPUs\nrestarts  1 h\n", "A run of 16 GPUs\n...\nrestarts    7 h\n"),
        ("...\nETTR 1%\n...\n3. spares  1 h\n", "...\nETTR 90% (88 to 92%)\n...\n1. spares   2 h\n"),
        ("ETTR 1%\n...\n", "ETTR 90% (88 to 92%)\n...\n"),
    ],
)
def test_an_excerpt_keeps_its_lines_and_takes_their_numbers_from_the_answer(shown, renewed):
    assert excerpt(shown, ANSWER) == excerpt(renewed, ANSWER) == renewed


@pytest.mark.parametrize("shown", ["detection  1 h\n", "restarts  7 h\nETTR 90%\n", "ETTR 90%\nETTR 91%\n"])
def test_a_line_that_the_answer_does_not_have_or_not_in_this_order_is_named(shown):
    with pytest.raises(AssertionError, match="no further line"):
        excerpt(shown, ANSWER)
