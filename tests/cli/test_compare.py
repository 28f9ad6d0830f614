"""``ettr compare``, ``ettr mitigations``, and what ``ettr plan`` says of both."""

from __future__ import annotations

import pytest

from ettr import Scenario, compare, mitigation

SHORT = ("llama3-405b", "--set", "job.productive_h=100", "--runs", "20", "--quiet")
TWO = "lemon-removal,just-in-time-checkpoint"


def test_the_answer_is_that_of_the_package(as_json):
    record = as_json("compare", *SHORT, "--only", TWO)
    run = Scenario.load("llama3-405b").override({"job.productive_h": 100})
    comparison = compare.mitigations(run, TWO.split(","), n_runs=20)
    by_id = {row["id"]: row for row in record["mitigations"]}
    for row in comparison.frame.to_dict("records"):
        assert by_id[row["id"]]["days_gain"] == pytest.approx(row["days_gain"])
        assert by_id[row["id"]]["rank"] == row["rank"]
    assert record["baseline"]["ettr"] == pytest.approx(comparison.baseline.ettr)
    assert "failures.lemons" in record["lent"] and record["portfolio"] is None
    bare = compare.study(run, n_runs=20, as_given=True)
    assert record["as_given"]["days"] == pytest.approx(bare.runs().mean("days")) != record["baseline"]["days"]
    assert record["changes"] == {"job.productive_h": 100}


def test_the_table_names_each_mitigation_with_its_interval_and_what_was_assumed(in_words):
    flat = " ".join(in_words("compare", *SHORT, "--only", TWO).split())
    for words in (
        *TWO.split(","),
        "Each alone, by days",
        "Assumed here, because the scenario says nothing of it: failures.lemons",
        "20 runs of each scenario, seed 0, at its best interval",
        "As given, without what is assumed here, ETTR",
    ):
        assert words in flat


@pytest.mark.parametrize(("measure", "title"), [("ettr", "points"), ("mwh", "MWh"), ("gpu_h", "1000 GPU h")])
def test_the_interval_is_that_of_the_measure(in_words, measure, title):
    out = in_words("compare", *SHORT, "--only", TWO, "--by", measure)
    heads = next(line for line in out.splitlines() if line.startswith("mitigation"))
    assert title in heads
    rows = [line for line in out.splitlines() if line.startswith(tuple(TWO.split(",")))]
    assert len(rows) == 2 and all(line.count("±") == 1 for line in rows)
    assert ("counts slower training as productive" in " ".join(out.split())) == (measure == "ettr")


def test_as_given_nothing_is_assumed(in_words):
    flat = " ".join(in_words("compare", *SHORT, "--only", TWO, "--as-given").split())
    assert "lemon-removal: not applicable; needs failures.lemons" in flat
    assert "Assumed here" not in flat and "As given" not in flat


def test_a_budget_finds_the_best_set(in_words, as_json):
    asked = ("compare", *SHORT, "--only", TWO, "--budget", "1e9")
    portfolio = as_json(*asked)["portfolio"]
    assert portfolio["method"] == "exact" and portfolio["best"]["affordable"]
    assert set(portfolio["ids"]) <= set(TWO.split(","))
    text = " ".join(in_words(*asked).split())
    assert "Within 1,000,000,000 USD" in text and "no cheaper set has as high an effective ETTR" in text


def test_a_budget_names_what_does_not_go_together(in_words):
    asked = ("--only", "peer-checkpoint,replica-recovery", "--budget", "1e9")
    why = mitigation.catalogue().conflict("peer-checkpoint", "replica-recovery")
    text = " ".join(in_words("compare", *SHORT, *asked).split())
    assert f"Not together: replica-recovery and peer-checkpoint: {why}" in text


def test_mitigations_are_listed(in_words, as_json):
    ids = list(mitigation.catalogue().ids)
    out = in_words("mitigations")
    assert all(one in out for one in ids)
    assert [row["id"] for row in as_json("mitigations")] == ids


BAD = {
    "unknown": (["--only", "lemon-removl"], "unknown mitigation 'lemon-removl'; did you mean 'lemon-removal'?"),
    "none": (["--only", ","], "--only names no mitigation"),
    "one run": (["--runs", "1"], "--runs must be a whole number from 2 to"),
    "negative": (["--budget", "-1"], "--budget must be >= 0 USD, got -1"),
    "measure": (["--by", "money"], "unknown measure 'money'"),
    "interval": (["--interval", "own"], "interval must be best or given, got 'own'"),
    "no file": (["--catalogue", "none.yml"], "cannot read catalogue none.yml: No such file or directory"),
    "seed": (["--seed", "-1"], "--seed must be a whole number"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(refused, case):
    arguments, words = BAD[case]
    assert refused("compare", "llama3-405b", "--quiet", *arguments).startswith(words)


OWN = """
mitigations:
  - id: mine
    title: Mine
    group: restart
    mechanism: Restarts faster.
    changes: [{path: recovery.restart_min, op: scale, value: 0.5, status: assumed, note: a guess}]
    price: {usd: 1000, status: assumed, note: a guess}
    published: [{quantity: x, after: 1, unit: "1", status: primary, source: dubey2024, why: not stated}]
"""


def test_a_catalogue_of_ones_own(in_words, as_json, refused, tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text(OWN)
    own = ("compare", *SHORT, "--catalogue", str(path))
    record = as_json(*own)
    assert [row["id"] for row in record["mitigations"]] == ["mine"] and record["lent"] == []
    assert "a budget of 10 USD buys nothing: the cheapest, mine, costs 1,000 USD" in refused(*own, "--budget", "10")
    path.write_text(OWN.replace("recovery.restart_min", "recovery.restart"))
    message = refused(*own)
    assert "mine" in message and "unknown field 'recovery.restart'" in message
    path.write_text(OWN.replace("op: scale, value: 0.5", "op: set, value: -5"))
    assert "restart_min must be >= 0 min, got -5" in in_words(*own)


def test_a_plan_says_what_to_do_next(in_words, as_json):
    job = ("plan", "rsc-1", "--set", "job.productive_h=50")
    flat = " ".join(in_words(*job).split())
    assert "What to do next" in flat and "hot spares" in flat
    advice = as_json(*job)["advice"]
    assert 0 < len(advice["steps"]) <= 3 and advice["spares"]["n_spares"] > 0
    assert "What to do next" not in in_words(*job, "--quick")


FLEET = ("plan", "llama3-405b", "--set", "spares={n_nodes: 8}", "--set", "repair={manual_h: 24}")


def test_a_plan_leaves_out_what_only_simulation_follows_and_says_so(in_words, as_json):
    text = " ".join(in_words(*FLEET, "--quick").split())
    assert "Planned without what only a simulation follows" in text
    assert "spares that run out (spares, repair)" in text
    record = as_json(*FLEET, "--quick")
    assert record["left_out"] == ["spares that run out (spares, repair)"]
    assert record["ettr"] == as_json("plan", "llama3-405b", "--quick")["ettr"]


def test_a_plan_solves_for_spares(as_json):
    (need,) = as_json(*FLEET, "--target", "0.9", "--field", "spares.n_nodes")["requirements"]
    assert need["field"] == "spares.n_nodes" and 8 < need["value"] < 30
