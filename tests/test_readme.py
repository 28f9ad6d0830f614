"""The README says what the package computes, and its examples run."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
import tomllib
from pathlib import Path

import pytest
import yaml

from ettr import Scenario, plan, sweep
from ettr_book.chapters import what_if
from generated import PICTURE, examples, excerpt, is_answer, picture

ROOT = Path(__file__).parents[1]
README, MAKEFILE, CONTAINER = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile", "Containerfile")
)


def words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


def test_the_picture_is_the_chart():
    # positions depend on the machine's fonts, so the words are compared and the curves' number of points
    drawn, kept = picture(), PICTURE.read_text(encoding="utf-8")
    assert words(kept) == words(drawn)
    assert kept.count("<path") == drawn.count("<path")


def test_the_description_of_the_picture_is_true(llama3):
    told = re.search(r"!\[(.*?)\]", README).group(1)
    best = what_if.tables.scale(llama3)["lines"].query("interval == 'best'").sort_values("n_gpus")
    assert f"{best['ettr'].iloc[0]:.0%}" in told
    assert f"{best['ettr'].iloc[-1]:.0%}" in told


def test_every_link_leads_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_example_scenario_is_one():
    text = re.search(r"```yaml\n(.*?)```", README, re.DOTALL).group(1)
    assert 0 < plan.make(Scenario.parse(text)).budget.ettr < 1


def test_the_example_of_tiers_and_heat_fits_into_the_example_scenario():
    whole, sections = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    without, n = re.subn(r"^(checkpoint|failures): .*\n", "", whole, flags=re.MULTILINE)
    assert n == 2
    run = Scenario.parse(without + sections)
    assert [tier.name for tier in run.checkpoint.tiers] == ["peer memory"]
    assert run.heat_factors[0] != 1 and run.speed != 1
    tiers = Scenario.parse(whole.replace(re.search(r"^checkpoint: .*\n", whole, re.MULTILINE)[0], _section(sections)))
    assert plan.make(tiers).budget.ettr > plan.make(Scenario.parse(whole)).budget.ettr


def _section(text: str) -> str:
    return re.match(r"checkpoint:\n(?: .*\n)+", text)[0]


@pytest.mark.parametrize(("command", "shown"), examples("README.md"))
def test_the_answers_in_the_console_are_those_of_the_command(command, shown, ettr, monkeypatch):
    monkeypatch.chdir(ROOT)
    status, out, err = ettr(*shlex.split(command))
    assert is_answer(command, status, err), err
    assert excerpt(shown, out) == shown, "run `make readme`"


COMMANDS = re.findall(
    r"^    ettr ((?:plan|fields|compare|simulate|power|scenarios)\b.*?)(?:  +#.*)?$", README, re.MULTILINE
)


@pytest.mark.parametrize("slow_too", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_commands_work_in_the_order_in_which_they_are_written(slow_too, ettr, monkeypatch, tmp_path):
    """Each in the folder that those before it have left."""
    monkeypatch.chdir(tmp_path)
    made = set()
    for command in COMMANDS:
        name = command.split()[0]
        if name in ("compare", "power") and not slow_too:
            continue
        quick = ["--runs", "50"] if name == "simulate" and not slow_too else []
        status, out, err = ettr(*shlex.split(command), *quick, *(["-q"] if name in ("simulate", "compare") else []))
        assert is_answer(command, status, err) and out, command
        made |= set(re.findall(r"--(?:save|html) (\S+)", command))
    assert made == {"mine.yml", "plan.html"} <= {path.name for path in tmp_path.iterdir()}
    assert Scenario.load(tmp_path / "mine.yml").ends


def test_make_targets_and_commands_exist():
    for target in re.findall(r"`?make ([a-z-]+)", README):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) or target in ("book", "test"), target


def test_the_container_runs_the_commands_of_the_readme_with_what_they_need():
    asked = re.findall(r"^    (make [a-z-]+)  ", README, re.MULTILINE)
    assert asked == ["make book", "make test"]
    assert re.findall(r"^#   podman run .*? ettr (make [a-z-]+)", CONTAINER, re.MULTILINE) == asked
    assert json.loads(re.search(r"^CMD (.*)$", CONTAINER, re.MULTILINE)[1]) == asked[0].split()
    # with the browser there, `make test` has nothing to install, for which it would have to be root
    browser = re.search(r"--no-install-recommends (chromium .*?) >>", MAKEFILE)[1]
    assert re.search(r"--no-install-recommends (.*?) \\", CONTAINER)[1] == f"make {browser}"
    assert re.search(r"^USER (?!root)\w+$", CONTAINER, re.MULTILINE)


def test_the_container_pins_a_python_that_the_package_takes():
    major, minor = re.search(
        r"^FROM docker\.io/library/python:(\d+)\.(\d+)\.\d+-slim-\w+$", CONTAINER, re.MULTILINE
    ).groups()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = re.fullmatch(r">=(\d+)\.(\d+)", project["requires-python"]).groups()
    assert (int(major), int(minor)) >= tuple(map(int, least))


def test_nothing_that_was_built_gets_into_the_container():
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    built = re.findall(r"(?m)^([\w.-]+)/$", (ROOT / ".gitignore").read_text(encoding="utf-8"))
    assert len(built) > 8
    assert {".git", *built} <= {line.removeprefix("**/") for line in left_out}


def test_the_sweep_is_one_that_can_be_run():
    written = re.search(r"is run:\n\n((?:    .*\n)+)", README).group(1)
    grid = sweep.load(yaml.safe_load(textwrap.dedent(written)), 1000)
    job = sweep.NotebookJob(ROOT / "book/ettr/scale.ipynb", grid)
    assert job.grid.n_points == 14
