"""A run whose own interval has no answer still gets a plan, and everything that speaks of it still speaks."""

from __future__ import annotations

import json
import re

import pytest

import book_pages as pages
from ettr import Scenario, budget, plan
from ettr.core import sentences
from ettr.core.errors import OutsideValidity

RARE = "budget.exact holds only for maintenance so rare that requests hardly ever wait for the same checkpoint"
TOO_LONG = "budget.exact holds only for .* productive for at least 1e-06 of their time"
RUNS = {
    "crowded maintenance": ("llama3-405b", {"cluster.n_gpus": 1_200_000, "recovery.init_s_per_1000_gpus": 0}, RARE),
    "an interval of a year": ("rsc-1", {"cluster.n_gpus": 160_000, "checkpoint.interval_min": 600_000}, TOO_LONG),
}
CHANGES = {name: changes for name, changes, _ in RUNS.values()}


def is_only_warned(err: str) -> bool:
    """Whether nothing but warnings of implausible values stands on standard error."""
    return all(line.startswith("ettr: warning: ") for line in err.splitlines())


def options(name: str) -> list[str]:
    return [f"--set={path}={value}" for path, value in CHANGES[name].items()]


def quickly(run: Scenario) -> list[str]:
    """Options of a run; without the advice where all of its failures take half a minute to simulate."""
    return [*options(run.name), *(["--quick"] if run.name == "rsc-1" else [])]


@pytest.fixture(params=RUNS, scope="module")
def case(request) -> tuple[Scenario, plan.Plan, str]:
    name, changes, reason = RUNS[request.param]
    run = Scenario.load(name).override(changes)
    answer = plan.make(run)
    assert re.fullmatch(reason, answer.no_budget_reason)
    return run, answer, answer.no_budget_reason


def test_the_plan_is_made_and_says_why_the_own_interval_has_no_answer(case):
    run, answer, reason = case
    with pytest.raises(OutsideValidity) as caught:
        budget.exact(run)
    assert answer.budget_at_current is None and answer.no_budget_reason == reason == str(caught.value)
    assert answer.budget == budget.exact(answer.best)
    assert answer.best == run.override({"checkpoint.interval_min": answer.band.interval_min})
    assert answer.current == (answer.best, answer.budget)
    assert 0 < answer.budget.ettr < 0.3


def test_a_plan_with_an_answer_shows_the_run_as_given(llama3):
    answer = plan.make(llama3)
    assert answer.no_budget_reason == "" and answer.current == (llama3, answer.budget_at_current)


def test_for_machines_what_has_no_answer_is_null(case, ettr):
    run, answer, _ = case
    nothing = {"interval_min": run.checkpoint.interval_min, "ettr": None, "time_budget": None}
    assert answer.to_dict()["as_given"] == nothing
    status, out, err = ettr("plan", run.name, "--json", *quickly(run))
    printed = json.loads(out, parse_constant=pytest.fail)
    assert status == 0 and is_only_warned(err) and printed.pop("changes") == CHANGES[run.name]
    assert {name: printed[name] for name in answer.to_dict()} == answer.to_dict()
    assert printed["ettr"] == answer.budget.ettr


def test_the_terminal_shows_one_budget_and_the_reason(case, ettr):
    run, answer, reason = case
    status, out, err = ettr("plan", run.name, "--details", *quickly(run))
    assert status == 0 and is_only_warned(err) and f"{reason}." in out
    header = next(line for line in out.splitlines() if line.startswith("part "))
    assert "best interval" in header and "as given" not in header
    assert f"{answer.budget.total_h:,.1f} h" in out
    assert not re.search(r"\b(nan|inf|None)\b", out)


@pytest.mark.slow
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_advice_on_an_interval_of_a_year_is_given_too(form, ettr):
    status, out, err = ettr("plan", "rsc-1", *form, *options("rsc-1"))
    assert status == 0 and is_only_warned(err) and not re.search(r"\b(nan|inf|NaN|Infinity|None)\b", out)


@pytest.mark.parametrize("page", ["book/index", "book/ettr/checkpoint_interval", "book/ettr/scale"])
def test_a_page_speaks_of_the_best_interval_and_says_why(case, page, tmp_path):
    run, answer, reason = case
    path = tmp_path / "mine.yml"
    path.write_text(run.to_yaml())
    text = " ".join(f"{finding.title} {sentences.plain(finding.text)}" for finding in pages.findings(page, str(path)))
    assert pages.charts(page, str(path))
    assert not re.search(r"\b(nan|inf|None)\b|-\d+(\.\d+)? points", text)
    if page != "book/ettr/checkpoint_interval":
        assert f"{100 * answer.budget.ettr:.0f}%" in text
    if page != "book/ettr/scale":
        assert reason in text and sentences.roughly(answer.best.interval_h) in text


def test_a_run_without_any_answer_has_no_plan():
    with pytest.raises(OutsideValidity, match="never ends: it fails every 1.85 h, and a recovery takes more than a"):
        plan.make(Scenario.load("rsc-1").override({"recovery.restart_min": 1e11}))
