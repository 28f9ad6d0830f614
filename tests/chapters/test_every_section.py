"""The book of any scenario: every section alone, all pairs of them, and the documented example."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

import book_pages as pages
import every_section as every
from ettr import plan
from ettr_book.chapters.common.runs import followed, loaded
from ettr_book.chapters.how_many_gpus import given_by_tokens
from ettr_book.publish.chapters import REFUSALS

FIRST_QUESTIONS = Path(__file__).parents[2] / "book/your_cluster/first_questions.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where scenarios lie, with the files that they name."""
    made = tmp_path_factory.mktemp("sections")
    every.beside(made)
    return made


def written(folder: Path, name: str, values: dict[str, Any]) -> str:
    path = folder / f"{name.replace(' ', '-')}.yml"
    path.write_text(yaml.safe_dump({"name": "made", "title": "Made", **values}), encoding="utf-8")
    return str(path)


def with_sections(names: Iterable[str], folder: Path) -> str:
    names = list(names)
    return written(folder, "-".join(names)[:100], every.scenario(*(every.SECTIONS[name] for name in names)))


@pytest.mark.parametrize("name", every.SECTIONS)
def test_a_section_alone_is_loaded_planned_followed_and_sized(name, folder):
    """What the first cells of the pages ask of a scenario."""
    run = loaded(with_sections([name], folder))
    answer = plan.make(run, simulate=False)
    assert 0 < answer.budget.ettr < 1 and run.interval_h > 0
    assert given_by_tokens(run).scenario.throughput is not None
    assert followed(run).job_mttf_h == pytest.approx(run.job_mttf_h, rel=0.5)


def documented_scenario(folder: Path) -> str:
    """Return the example of the page first_questions: its second scenario merged into the first."""
    blocks = FIRST_QUESTIONS.read_text(encoding="utf-8").split("```yaml\n")[1:]
    first, second = (yaml.safe_load(block.partition("```")[0]) for block in blocks)
    failures = {"failures": second["failures"]}
    return written(folder, "documented", every.merged({**first, **failures}, second))


@pytest.mark.parametrize("page", pages.OF_A_RUN)
def test_each_page_works_with_the_documented_scenario(page, folder):
    pages.check(page, documented_scenario(folder), quickly=True)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages.OF_A_RUN)
def test_a_page_speaks_of_each_section_alone(page, folder):
    for name in every.SECTIONS:
        pages.check(page, with_sections([name], folder), quickly=True)


def refusal(page: str, scenario: str) -> str:
    """Why a page has no answer for a scenario; empty where it speaks and draws."""
    try:
        pages.check(page, scenario, quickly=True)
    except REFUSALS as error:
        if type(error) not in REFUSALS:
            raise
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("page", pages.OF_A_RUN)
def test_a_page_speaks_of_any_two_sections_or_refuses_them_by_name(page, folder):
    refused = [refusal(page, with_sections(names, folder)) for names in every.covering(folder, 12)]
    assert all(len(why) > 30 for why in refused if why)
    assert page != "book/index" or not any(refused)
