"""The numbers of the paper are computed, and its form is that of the journal."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from agreement import FOUR
from computed.chapters import drills, published, table
from ettr import Scenario, evidence, mitigation, notebook
from ettr_book import validation
from ettr_book.chapters import drill, scale
from ettr_book.publish import chapters
from ettr_book.validation import comparing, forecasts

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "paper" / "paper.md"
_, FRONT, BODY = re.split(r"(?m)^---$", PAPER.read_text(encoding="utf-8"), maxsplit=2)
ABOUT = yaml.safe_load(FRONT)
TEXT = " ".join(BODY.split())
CITED = re.findall(r"@(\w+)", BODY)
SECTIONS = [
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
]
"""Sections required by the Journal of Open Source Software, in order."""
WORDS = 800, 1200
OTHER_TOOLS = [
    "pattabiraman2026airesim",
    "gonzalezgarcia2026goodput",
    "nanyonga2026netcap",
    "reddi2026mlsysim",
    "reddi2026mlsysbook",
]


# --------------------------------------------------------------------------- numbers


def the_run() -> dict[str, Any]:
    run = Scenario.load("llama3-405b")
    days = run.failures.node_days / run.n_nodes
    return {"n_gpus": run.cluster.n_gpus, "n_events": int(run.failures.n_events), "days": days}


def calculators() -> dict[str, Any]:
    near = validation.referee().set_index("calculator")["within"]
    assert (near.idxmax(), comparing.POINT) == ("daly", 1)
    return {
        "n": len(near),
        "draws": comparing.DRAWS,
        "daly": near["daly"],
        "young": near["young"],
        "rarely": (near < 0.5).sum(),
    }


def verdicts(*sources: str) -> dict[str, Any]:
    rows = published()
    rows = rows[rows["source"].isin(sources)] if sources else rows
    n = {verdict.replace(" ", "_"): (rows["verdict"] == verdict).sum() for verdict in validation.VERDICTS}
    return n | {"n": len(rows), "n_sources": rows["source"].nunique()}


def drilled() -> dict[str, Any]:
    rows = drills()
    assert rows["is_same"].all() and rows["took_s"].max() < 60
    near = rows["is_near"].sum()
    return {"n": len(rows), "stops": rows["n_stops"].sum(), "near": near, "points": drill.NEAR_POINTS}


def sizes() -> dict[str, Any]:
    small, large = table(scale.ettr_of_sizes, "llama3-405b", (100_000,)).to_dict("records")
    assert small["n_gpus"] == Scenario.load("llama3-405b").cluster.n_gpus
    return {"small": small["ettr"], "n": small["n_gpus"], **{name: large[name] for name in ("ettr", "low", "high")}}


def contents() -> dict[str, Any]:
    pages = [chapters.source(ROOT, name) for name in chapters.docnames(ROOT)]
    return {
        "notebooks": sum(bool(notebook.declared_parameters(path)) for path in pages if path.suffix == ".ipynb"),
        "figures": len(evidence.table("figures")),
        "mitigations": len(mitigation.catalogue()),
        "forecasts": forecasts.score().n,
        "errors": FOUR,
    }


STATED: dict[str, Callable[[], dict[str, Any]]] = {
    "a run on {n_gpus:,} GPUs was interrupted unexpectedly {n_events} times in {days:.0f} days": the_run,
    "with {notebooks} notebooks that take parameters": contents,
    "The package implements {n} of them and": calculators,
    "over {draws:,} runs drawn from plausible ranges": calculators,
    "is within one percentage point of the exact ETTR in {daly:.0%} of these runs": calculators,
    "to first order [@young1974], is within one point in {young:.0%}, and {rarely} of the formulas": calculators,
    "Here {figures} figures and a catalogue of {mitigations} mitigations are data": contents,
    "Of {n} results that AIReSim, goodput-mtbi, netcap, MLSysim and its textbook [@reddi2026mlsysbook] print, "
    "{reproduced} are reproduced, {follows_from_the_same_input} follow from the same input, and {not_reproduced} are "
    "not reproduced": lambda: verdicts(*OTHER_TOOLS),
    "must lie within {errors} standard errors": contents,
    "Of {n} published results from {n_sources} sources, {reproduced} are reproduced from published inputs, "
    "{bound_met} printed bounds are met, {follows_from_the_same_input} follow from the same input, "
    "{order_of_magnitude} agree in order of magnitude, {fitted} were fitted, and {not_reproduced} are not "
    "reproduced": verdicts,
    "{n} training jobs on one machine, stopped {stops} times": drilled,
    "the time of {near} of them to within {points:.0f} points": drilled,
    "the run above reaches {small:.0%} on {n:,} GPUs and {ettr:.0%} on 100,000 GPUs, with a plausible range of "
    "{low100:.0f} to {high:.0%}": lambda: sizes() | {"low100": 100 * sizes()["low"]},
    "{forecasts} forecasts are on record": contents,
}
"""Every phrase of the paper with a number, and the function that computes it."""


@pytest.mark.parametrize("template", STATED)
def test_a_number_of_the_paper_is_computed(template):
    assert template.format(**STATED[template]()) in TEXT


def test_the_paper_contains_no_other_number():
    rest = TEXT
    for template in STATED:
        words = re.split(r"\{[^}]*\}", template)
        rest, n_matches = re.subn(r"[\d.,]+%?".join(map(re.escape, words)), "", rest)
        assert n_matches == 1, template
    assert re.findall(r"(?<![\w@])\d[\d.,]*", re.sub(r"@\w+", "", rest)) == ["2024"]  # the year of the run


# --------------------------------------------------------------------------- form


def test_the_paper_has_the_sections_of_its_journal():
    assert re.findall(r"(?m)^# (.*)$", BODY) == SECTIONS


def test_the_paper_has_the_length_that_its_journal_requires():
    prose = re.sub(r"\[?@[\w; @]+\]?|(?m:^#.*$)", "", BODY)
    assert WORDS[0] <= len(prose.split()) <= WORDS[1]


def test_every_source_of_the_paper_is_in_the_bibliography():
    assert ABOUT["bibliography"] == "../data/references.bib"
    assert (PAPER.parent / ABOUT["bibliography"]).resolve() == (evidence.DATA / "references.bib").resolve()
    assert len(set(CITED)) >= 15 and set(CITED) <= set(evidence.bibliography()["key"])


def test_authors_tags_and_date_agree_with_the_citation():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert [author["name"] for author in ABOUT["authors"]] == [author["name"] for author in citation["authors"]]
    assert ABOUT["tags"] == ["Python", *citation["keywords"]]
    day = citation["date-released"]
    assert ABOUT["date"] == f"{day.day} {day:%B %Y}"
