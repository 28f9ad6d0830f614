"""The page of first questions shows what its commands print, and its example scenarios are valid."""

from __future__ import annotations

import re
import shlex

import pytest

from ettr import Scenario, plan
from generated import EXAMPLES, ROOT, examples, excerpt, is_answer

PAGE = EXAMPLES[1]
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
ANSWERS = examples(PAGE)


@pytest.mark.parametrize(("command", "excerpt_shown"), ANSWERS, ids=[command for command, _ in ANSWERS])
def test_an_answer_is_what_the_command_prints(command, excerpt_shown, ettr, monkeypatch):
    monkeypatch.chdir(ROOT)
    status, out, err = ettr(*shlex.split(command))
    assert is_answer(command, status, err), err
    assert excerpt(excerpt_shown, out) == excerpt_shown, "run `make readme`"


def test_there_are_twenty_questions_each_with_its_source_and_a_command_of_its_own():
    questions = re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]
    assert len(questions) == len({command for command, _ in ANSWERS}) == len(ANSWERS) == 20
    for question in questions:
        assert question.count("```console\n$ ettr ") == 1
        title, source = question.split("```console")[0].split("\n\n", 1)
        assert title.endswith("?")
        assert re.match(r"(Asked|Posed|Posed and answered|Promised) (at|by|for in)\s", source)


def test_the_example_scenarios_are_valid():
    scenario, sections = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    without, n = re.subn(r"^(checkpoint|failures): .*\n", "", scenario, flags=re.MULTILINE)
    assert n == 2
    run = Scenario.parse(without + sections)
    assert [tier.name for tier in run.checkpoint.tiers] == ["peer memory"]
    assert run.heat_factors[0] != 1 and run.speed != 1
    checkpoint = re.match(r"checkpoint:\n(?: .*\n)+", sections)[0]
    tiers = Scenario.parse(re.sub(r"(?m)^checkpoint: .*\n", checkpoint, scenario))
    assert 0 < plan.make(Scenario.parse(scenario)).budget.ettr < plan.make(tiers).budget.ettr < 1


COMMANDS = re.findall(r"^    ettr ((?:plan|fields|simulate)\b.*?)(?:  +#.*)?$", TEXT, re.MULTILINE)


def test_the_commands_of_the_page_work_in_their_order(ettr, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert COMMANDS
    for command in COMMANDS:
        quick = ["--runs", "50", "-q"] if command.startswith("simulate") else []
        status, out, err = ettr(*shlex.split(command), *quick)
        assert is_answer(command, status, err) and out, command


ANSWER = """A run of 16 GPUs
ETTR 90% (88 to 92%)
lost      hours
restarts    7 h

1. spares   2 h
"""


@pytest.mark.parametrize(
    ("page_lines", "renewed"),
    [
        ("ETTR 12%\nlost  h\n", "ETTR 90% (88 to 92%)\nlost      hours\n"),
        ("A run of 8 GPUs\nrestarts  1 h\n", "A run of 16 GPUs\n...\nrestarts    7 h\n"),
        ("...\nETTR 1%\n...\n3. spares  1 h\n", "...\nETTR 90% (88 to 92%)\n...\n1. spares   2 h\n"),
        ("ETTR 1%\n...\n", "ETTR 90% (88 to 92%)\n...\n"),
    ],
)
def test_an_excerpt_keeps_its_lines_and_takes_their_numbers_from_the_answer(page_lines, renewed):
    assert excerpt(page_lines, ANSWER) == excerpt(renewed, ANSWER) == renewed


@pytest.mark.parametrize("page_lines", ["detection  1 h\n", "restarts  7 h\nETTR 90%\n", "ETTR 90%\nETTR 91%\n"])
def test_a_line_that_the_answer_does_not_have_or_not_in_this_order_is_named(page_lines):
    with pytest.raises(AssertionError, match="no further line"):
        excerpt(page_lines, ANSWER)


def test_a_reworded_line_is_replaced_by_the_most_similar_one_and_named(capsys):
    assert excerpt("...\na restart  7 h\n", ANSWER, reworded=True) == "...\nrestarts    7 h\n"
    assert "reworded: 'a restart  7 h'" in capsys.readouterr().out
