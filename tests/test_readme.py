"""The README says what the package computes, and its examples run."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path

import yaml

from ettr import Scenario, plan, sweep
from ettr.chapters import scale
from generated import PICTURE, picture

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


def test_the_picture_is_the_chart():
    # positions depend on the machine's fonts, so the words are compared and the curves' number of points
    drawn, kept = picture(), PICTURE.read_text(encoding="utf-8")
    assert words(kept) == words(drawn)
    assert kept.count("<path") == drawn.count("<path")


def test_the_description_of_the_picture_is_true(llama3):
    told = re.search(r"!\[(.*?)\]", README).group(1)
    best = scale.tables.by_size(llama3).query("formula == 'exact' and interval == 'best'")
    assert f"{best['ettr'].iloc[0]:.0%}" in told
    assert f"{best['ettr'].iloc[-1]:.0%}" in told


def test_every_link_leads_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_example_scenario_is_one():
    text = re.search(r"```yaml\n(.*?)```", README, re.DOTALL).group(1)
    assert 0 < plan.make(Scenario.parse(text)).budget.ettr < 1


def test_the_example_of_tiers_fits_into_the_example_scenario():
    whole, checkpoint, _ = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    merged, n = re.subn(r"^checkpoint: .*\n", lambda _: checkpoint, whole, flags=re.MULTILINE)
    assert n == 1
    run = Scenario.parse(merged)
    assert [tier.name for tier in run.checkpoint.tiers] == ["peer memory"]
    assert plan.make(run).budget.ettr > plan.make(Scenario.parse(whole)).budget.ettr


def test_the_example_of_heat_fits_into_the_example_scenario():
    whole, _, heat = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    without, n = re.subn(r"^failures:.*\n(?: .*\n)*", "", whole, flags=re.MULTILINE)
    assert n == 1
    run = Scenario.parse(without + heat)
    assert run.heat_factors[0] != 1 and run.speed != 1
    power = re.findall(r"`(power: {.*?}|cost: {.*?})`", README)
    assert len(power) == 2 and Scenario.parse(whole + "\n".join(power) + "\n").power.country == "DEU"


def test_the_answers_in_the_console_are_those_of_the_command(ettr):
    blocks = re.findall(r"```console\n\$ ettr ([^\n]*)\n(.*?)```", README, re.DOTALL)
    assert blocks
    for command, told in blocks:
        status, out, err = ettr(*shlex.split(command))
        answered = [line.rstrip() for line in out.splitlines()]
        assert (status, err) == (0, "")
        before, _, shown = told.rpartition("...\n")
        assert not before
        assert answered[-len(shown.splitlines()) :] == shown.splitlines()


def test_make_targets_and_commands_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`?make ([a-z-]+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE) or target in ("book", "test"), target


def test_the_sweep_is_one_that_can_be_run():
    written = re.search(r"is run:\n\n((?:    .*\n)+)", README).group(1)
    grid = sweep.load(yaml.safe_load(textwrap.dedent(written)), 1000)
    job = sweep.NotebookJob(ROOT / "book/ettr/scale.ipynb", grid)
    assert job.grid.n_points == 14
