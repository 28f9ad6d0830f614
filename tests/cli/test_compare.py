"""``ettr compare``, ``ettr mitigations``, and what ``ettr plan`` says of both."""

from __future__ import annotations

import json

import pytest

from ettr import Scenario, compare, mitigation

SHORT = ("llama3-405b", "--set", "job.productive_h=100", "--runs", "20", "--quiet")
TWO = "lemon-removal,just-in-time-checkpoint"


def test_the_answer_is_that_of_the_package(ettr):
    status, out, err = ettr("compare", *SHORT, "--only", TWO, "--json")
    assert (status, err) == (0, "")
    record = json.loads(out)
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


def test_the_table_names_each_mitigation_with_its_interval_and_what_was_assumed(ettr):
    status, out, err = ettr("compare", *SHORT, "--only", TWO)
    assert (status, err) == (0, "")
    flat = " ".join(out.split())
    assert (
        "Each alone, by days" in flat
        and "Assumed here, because the scenario says nothing of it: failures.lemons" in flat
    )
    for name in TWO.split(","):
        assert name in flat
    assert "20 runs of each scenario, seed 0, at its best interval" in flat
    assert "As given, without what is assumed here, ETTR" in flat


@pytest.mark.parametrize(("measure", "title"), [("ettr", "points"), ("mwh", "MWh"), ("gpu_h", "1000 GPU h")])
def test_the_interval_is_that_of_the_measure(ettr, measure, title):
    out = ettr("compare", *SHORT, "--only", TWO, "--by", measure)[1]
    heads = next(line for line in out.splitlines() if line.startswith("mitigation"))
    assert title in heads
    rows = [line for line in out.splitlines() if line.startswith(tuple(TWO.split(",")))]
    assert len(rows) == 2 and all(line.count("±") == 1 for line in rows)
    assert ("counts slower training as productive" in " ".join(out.split())) == (measure == "ettr")


def test_as_given_lends_nothing(ettr):
    out = ettr("compare", *SHORT, "--only", TWO, "--as-given")[1]
    flat = " ".join(out.split())
    assert "lemon-removal: not applicable; needs failures.lemons" in flat
    assert "WithAssumptions" not in flat and "As given" not in flat


def test_a_budget_finds_the_best_set(ettr):
    status, out, _ = ettr("compare", *SHORT, "--only", TWO, "--budget", "1e9", "--json")
    assert status == 0
    portfolio = json.loads(out)["portfolio"]
    assert portfolio["method"] == "exact" and portfolio["best"]["affordable"]
    assert set(portfolio["ids"]) <= set(TWO.split(","))
    text = " ".join(ettr("compare", *SHORT, "--only", TWO, "--budget", "1e9")[1].split())
    assert "Within 1,000,000,000 USD" in text and "no cheaper set has as high an effective ETTR" in text


def test_a_budget_names_what_does_not_go_together(ettr):
    text = " ".join(ettr("compare", *SHORT, "--only", "peer-checkpoint,replica-recovery", "--budget", "1e9")[1].split())
    why = mitigation.catalogue().conflict("peer-checkpoint", "replica-recovery")
    assert f"Not together: replica-recovery and peer-checkpoint: {why}" in text


def test_mitigations_are_listed(ettr):
    status, out, err = ettr("mitigations")
    assert (status, err) == (0, "")
    for one in mitigation.catalogue():
        assert one.id in out
    rows = json.loads(ettr("mitigations", "--json")[1])
    assert [row["id"] for row in rows] == list(mitigation.catalogue().ids)


BAD = {
    "unknown": (["--only", "lemon-removl"], "ettr: unknown mitigation 'lemon-removl'; did you mean 'lemon-removal'?"),
    "none": (["--only", ","], "ettr: --only names no mitigation"),
    "no runs": (["--runs", "0"], "ettr: --runs must be a whole number from 2 to"),
    "one run": (["--runs", "1"], "ettr: --runs must be a whole number from 2 to"),
    "negative": (["--budget", "-1"], "ettr: --budget must be >= 0 USD, got -1"),
    "measure": (["--by", "money"], "ettr: unknown measure 'money'"),
    "interval": (["--interval", "own"], "ettr: interval must be best or given, got 'own'"),
    "no file": (["--catalogue", "none.yml"], "ettr: cannot read catalogue none.yml: No such file or directory"),
    "seed": (["--seed", "-1"], "ettr: --seed must be a whole number"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(ettr, case):
    arguments, words = BAD[case]
    status, out, err = ettr("compare", "llama3-405b", "--quiet", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(words) and err.count("\n") == 1


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


def test_a_catalogue_of_ones_own(ettr, tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text(OWN)
    own = ("--catalogue", str(path))
    record = json.loads(ettr("compare", *SHORT, *own, "--json")[1])
    assert [row["id"] for row in record["mitigations"]] == ["mine"] and record["lent"] == []
    status, _, err = ettr("compare", *SHORT, *own, "--budget", "10")
    assert status == 2 and "a budget of 10 USD buys nothing: the cheapest, mine, costs 1,000 USD" in err
    path.write_text(OWN.replace("recovery.restart_min", "recovery.restart"))
    status, _, err = ettr("compare", *SHORT, *own)
    assert status == 2 and "mine" in err and "unknown field 'recovery.restart'" in err
    path.write_text(OWN.replace("op: scale, value: 0.5", "op: set, value: -5"))
    status, _, err = ettr("compare", *SHORT, *own)
    assert status == 0
    assert "restart_min must be >= 0 min, got -5" in ettr("compare", *SHORT, *own)[1]


def test_a_plan_says_what_to_do_next(ettr):
    job = ("plan", "rsc-1", "--set", "job.productive_h=50")
    status, out, err = ettr(*job)
    assert (status, err) == (0, "")
    flat = " ".join(out.split())
    assert "What to do next" in flat and "hot spares" in flat
    advice = json.loads(ettr(*job, "--json")[1])["advice"]
    assert 0 < len(advice["steps"]) <= 3
    assert advice["spares"]["n_spares"] > 0
    assert "What to do next" not in ettr(*job, "--quick")[1]
    assert json.loads(ettr(*job, "--quick", "--json")[1])["advice"] is None


def test_a_plan_leaves_out_what_only_simulation_follows_and_says_so(ettr, tmp_path):
    fleet = ("--set", "spares={n_nodes: 8}", "--set", "repair={manual_h: 24}")
    status, out, err = ettr("plan", "llama3-405b", *fleet, "--quick")
    assert (status, err) == (0, "")
    assert "Planned without what only a simulation follows" in " ".join(out.split())
    assert "spares that run out (spares, repair)" in " ".join(out.split())
    record = json.loads(ettr("plan", "llama3-405b", *fleet, "--quick", "--json")[1])
    assert record["left_out"] == ["spares that run out (spares, repair)"]
    assert record["ettr"] == json.loads(ettr("plan", "llama3-405b", "--quick", "--json")[1])["ettr"]


def test_a_plan_solves_for_spares(ettr):
    fleet = ("--set", "spares={n_nodes: 8}", "--set", "repair={manual_h: 24}")
    record = json.loads(
        ettr("plan", "llama3-405b", *fleet, "--target", "0.9", "--field", "spares.n_nodes", "--json")[1]
    )
    need = record["requirements"][0]
    assert need["field"] == "spares.n_nodes" and 8 < need["value"] < 30
