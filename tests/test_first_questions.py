"""The page of first questions shows what its commands print, and its example scenarios are valid."""

from __future__ import annotations

import math
import re
import shlex

import pytest

from ettr import Scenario, plan
from ettr.checkpoint import checkpoints_to_keep
from generated import EXAMPLES, ROOT, examples, excerpt, is_answer, lay_out

PAGE = EXAMPLES[1]
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
ANSWERS = examples(PAGE)


@pytest.mark.parametrize(("command", "excerpt_shown"), ANSWERS, ids=[command for command, _ in ANSWERS])
def test_an_answer_is_what_the_command_prints(command, excerpt_shown, ettr, monkeypatch, tmp_path):
    lay_out(PAGE, tmp_path)
    monkeypatch.chdir(tmp_path)
    status, out, err = ettr(*shlex.split(command))
    assert is_answer(command, status, err), err
    assert excerpt(excerpt_shown, out) == excerpt_shown, "run `make readme`"


def test_there_are_forty_one_questions_each_with_its_source_and_a_command_of_its_own():
    answered, out_of_scope = TEXT.split("## Not answered here\n")
    questions = re.split(r"^### ", answered, flags=re.MULTILINE)[1:]
    assert len(questions) == len({command for command, _ in ANSWERS}) == len(ANSWERS) == 41
    for question in questions:
        assert question.count("```console\n$ ettr ") == 1
        title, source = question.split("```console")[0].split("\n\n", 1)
        assert title.endswith("?")
        assert re.match(r"(Asked|Posed|Promised)\b[^.[]* (at|by)( the)?\s\[", source)
    assert len(re.findall(r"^- \*\*.*\?\*\* \(\[", out_of_scope, re.MULTILINE)) == 2


@pytest.fixture
def scenario_of(ettr, monkeypatch, tmp_path):
    """The scenario that a command of the page plans, saved by it."""

    def saved(words: str) -> Scenario:
        command = next(command for command, _ in ANSWERS if words in command)
        monkeypatch.chdir(tmp_path)
        assert ettr(*shlex.split(command), "--quick", "--save", "saved.yml")[0] == 0
        return Scenario.load(tmp_path / "saved.yml")

    return saved


def test_spot_capacity_breaks_even_at_the_stated_discounts(scenario_of):
    spot, announced = scenario_of("--node-mtbf-h 99.5"), scenario_of("prediction=")
    on_demand = spot.override({"failures.node_mttf_h": 20_000})
    discounts = [1 - plan.make(run).budget.ettr / plan.make(on_demand).budget.ettr for run in (spot, announced)]
    assert re.findall(r"discount of (\d+)%", TEXT) == [f"{100 * discount:.0f}" for discount in discounts]
    costs = [f"{usd / plan.make(run).budget.ettr:.2f}" for usd, run in ((1.2, spot), (2, on_demand))]
    assert "a productive GPU-hour costs {} USD instead of {} USD".format(*costs) in TEXT
    assert spot.failures.node_mttf_h == pytest.approx(1 / (1 / 100 + 1 / 20_000), rel=1e-4)
    assert announced.prediction.recall == pytest.approx(spot.failures.node_mttf_h / 100)


def test_the_first_order_model_gives_the_same_discount_without_notice():
    """Young's interval, and 11 minutes of recovery per failure of 64 nodes; all in minutes."""
    mtbf, stall = 99.5 * 60 / 64, 0.5
    lost = 11 / mtbf + math.sqrt(2 * stall / mtbf)
    assert 1 - (1 - lost) / 0.992 == pytest.approx(0.20, abs=0.03)


def test_a_mixture_of_experts_takes_the_stated_share_of_the_published_hours(scenario_of):
    run = scenario_of("n_active_parameters")
    (less,) = re.findall(r"(\d+)% less than the 2.664 million GPU-hours", TEXT)
    assert f"{100 * (1 - plan.make(run).budget.total_h * 2048 / 2.664e6):.0f}" == less


def test_the_checkpoints_to_keep_are_those_of_the_package():
    assert "12 h ÷ 0.5 h + 1 = 25" in TEXT and checkpoints_to_keep(12, 0.5) == 25


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
