"""The README agrees with the package, and its examples run."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from ettr import Scenario
from ettr_book.chapters import what_if
from generated import PICTURE, examples, excerpt, is_answer, picture

ROOT = Path(__file__).parents[1]
README, MAKEFILE, CONTAINER = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile", "Containerfile")
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


def test_the_picture_is_the_chart():
    # positions depend on the machine's fonts, so the words are compared and the curves' number of points
    drawn, stored = picture(), PICTURE.read_text(encoding="utf-8")
    assert words(stored) == words(drawn)
    assert stored.count("<path") == drawn.count("<path")


def test_the_description_of_the_picture_is_true(llama3):
    description = re.search(r"!\[(.*?)\]", README).group(1)
    best = what_if.tables.ALL["scale"](llama3)["lines"].query("interval == 'best'").sort_values("n_gpus")
    assert f"{best['ettr'].iloc[0]:.0%}" in description
    assert f"{best['ettr'].iloc[-1]:.0%}" in description


def test_it_is_at_most_200_lines():
    assert len(README.splitlines()) <= 200


def test_every_link_has_a_target():
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize(("command", "excerpt_shown"), examples("README.md"))
def test_the_answers_in_the_console_are_those_of_the_command(command, excerpt_shown, ettr, monkeypatch):
    monkeypatch.chdir(ROOT)
    status, out, err = ettr(*shlex.split(command))
    assert is_answer(command, status, err), err
    assert excerpt(excerpt_shown, out) == excerpt_shown, "run `make readme`"


COMMANDS = re.findall(r"^    ettr ((?:plan|compare|simulate)\b.*?)(?:  +#.*)?$", README, re.MULTILINE)


@pytest.mark.parametrize("with_slow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_commands_work_in_the_order_in_which_they_are_written(with_slow, ettr, monkeypatch, tmp_path):
    """Run all in one folder, so that a command finds the files of those before it."""
    monkeypatch.chdir(tmp_path)
    written = set()
    for command in COMMANDS:
        name = command.split()[0]
        if name == "compare" and not with_slow:
            continue
        quick = ["--runs", "50"] if name == "simulate" and not with_slow else []
        status, out, err = ettr(*shlex.split(command), *quick, *(["-q"] if name in ("simulate", "compare") else []))
        assert is_answer(command, status, err) and out, command
        written |= set(re.findall(r"--(?:save|html) (\S+)", command))
    assert written == {"mine.yml", "plan.html"} <= {path.name for path in tmp_path.iterdir()}
    assert Scenario.load(tmp_path / "mine.yml").ends


def test_make_targets_and_commands_exist():
    for target in re.findall(r"`?make ([a-z-]+)", README):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) or target in ("book", "test"), target


def test_the_container_runs_the_commands_of_the_readme_with_what_they_need():
    commands = re.findall(r"^    (make [a-z-]+)  ", README, re.MULTILINE)
    assert commands == ["make book", "make test"]
    assert re.findall(r"^#   podman run .*? ettr (make [a-z-]+)", CONTAINER, re.MULTILINE) == commands
    assert json.loads(re.search(r"^CMD (.*)$", CONTAINER, re.MULTILINE)[1]) == commands[0].split()
    # the container brings the browser, because `make test` would have to be root to install it
    browser = re.search(r"--no-install-recommends (chromium .*?) >>", MAKEFILE)[1]
    assert re.search(r"--no-install-recommends (.*?) \\", CONTAINER)[1] == f"make {browser}"
    assert re.search(r"^USER (?!root)\w+$", CONTAINER, re.MULTILINE)


def test_the_container_pins_a_supported_python():
    major, minor = re.search(
        r"^FROM docker\.io/library/python:(\d+)\.(\d+)\.\d+-slim-\w+$", CONTAINER, re.MULTILINE
    ).groups()
    lowest = re.fullmatch(r">=(\d+)\.(\d+)", PROJECT["requires-python"]).groups()
    assert (int(major), int(minor)) >= tuple(map(int, lowest))


def test_build_products_are_excluded_from_the_container():
    excluded = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    built = re.findall(r"(?m)^([\w.-]+)/$", (ROOT / ".gitignore").read_text(encoding="utf-8"))
    assert len(built) > 8
    assert {".git", *built} <= {line.removeprefix("**/") for line in excluded}
