"""``ettr compare``, ``ettr mitigations``, and what ``ettr plan`` says of both."""

from __future__ import annotations

import re

import pytest

from ettr import Scenario, mitigation, recommendation

SHORT = ("llama3-405b", "--set", "job.productive_h=100", "--runs", "20", "--quiet")
TWO = "lemon-removal,just-in-time-checkpoint"


def test_the_answer_is_that_of_the_package(as_json):
    record = as_json("compare", *SHORT, "--only", TWO)
    run = Scenario.load("llama3-405b").override({"job.productive_h": 100})
    comparison = recommendation.mitigations(run, TWO.split(","), n_runs=20)
    by_id = {row["id"]: row for row in record["mitigations"]}
    for row in comparison.frame.to_dict("records"):
        assert by_id[row["id"]]["days_gain"] == pytest.approx(row["days_gain"])
        assert by_id[row["id"]]["rank"] == row["rank"]
    assert record["baseline"]["ettr"] == pytest.approx(comparison.baseline.ettr)
    assert "failures.lemons" in record["lent"] and record["portfolio"] is None
    bare = recommendation.study(run, n_runs=20, as_given=True)
    assert record["as_given"]["days"] == pytest.approx(bare.runs().mean("days")) == record["baseline"]["days"]
    assert record["baseline"]["usd"] == pytest.approx(bare.runs().mean("usd"))
    assert record["changes"] == {"job.productive_h": 100}


def lines_of(out, *starts):
    return [line for line in out.splitlines() if line.startswith(starts)]


def test_the_screen_names_each_mitigation_with_its_range_and_what_was_assumed(in_words):
    out = in_words("compare", *SHORT, "--only", TWO)
    flat = " ".join(out.split())
    for words in (
        *TWO.split(","),
        "What each alone saves a run, by money; prices in 1000 USD",
        "Effect assumed, nobody has published its size",
        "Assumed beyond the scenario: failures.lemons",
        "or leave all out with --as-given",
        "20 runs of each, seed 0, at its best interval",
        "90% range of a run: over what is assumed",
    ):
        assert words in flat
    assert flat.index("lemon-removal") < flat.index("Effect assumed") < flat.index("just-in-time-checkpoint")
    assert flat.count("ETTR") == 1, "one ETTR before any remedy"


def test_with_all_the_screen_says_for_which_what_is_assumed(in_words):
    flat = " ".join(in_words("compare", *SHORT, "--only", "lemon-removal,straggler-removal", "--all").split())
    assert "failures.lemons for lemon-removal; slow_nodes for straggler-removal; power, cost for all." in flat


def test_all_of_the_catalogue_fits_a_screen(in_words):
    out = in_words(
        "compare", "llama3-405b-tokens", "--set", "job.tokens=2e11", "--runs", "5", "--quiet", "--budget", "2e6"
    )
    assert all(len(line.rstrip()) <= 100 for line in lines_of(out, "mitigation", *mitigation.catalogue().ids))
    assert sum(1 + len(line) // 100 for line in out.splitlines()) <= 44
    assert "not modelled;" not in out and "straw man" in out.lower()


def test_with_all_every_mitigation_is_named_once_in_its_place(in_words):
    out = in_words("compare", *SHORT, "--all")
    known = mitigation.catalogue()
    unpublished = out.splitlines()[out.splitlines().index("Without any published figure, not ranked") + 1].split(", ")
    for one in known:
        assert one.id in unpublished or lines_of(out, f"{one.id} ", f"{one.id}:", f"Straw man, not ranked: {one.id}")
    assert "lists" not in out and "more that save less" not in out


@pytest.mark.parametrize(("measure", "title"), [("ettr", "points"), ("mwh", "MWh"), ("gpu_h", "1000 GPU h")])
def test_the_range_is_that_of_the_measure(in_words, measure, title):
    out = in_words("compare", *SHORT, "--only", TWO, "--by", measure)
    assert all(re.match(rf"mitigation +{title} +90% range", line) for line in lines_of(out, "mitigation "))
    rows = lines_of(out, *TWO.split(","))
    assert len(rows) == 2 and all(line.count(" to ") == 1 for line in rows)
    assert ("counts slower training as productive" in " ".join(out.split())) == (measure == "ettr")


def test_without_by_it_is_money_that_ranks_and_days_that_choose_a_set(as_json):
    record = as_json("compare", *SHORT, "--only", TWO, "--budget", "1e9")
    assert record["measure"] == "usd" and record["portfolio"]["measure"] == "days"
    record = as_json("compare", *SHORT, "--only", TWO, "--budget", "1e9", "--by", "ettr")
    assert record["measure"] == record["portfolio"]["measure"] == "ettr"


def test_a_job_without_an_end_saves_a_month(in_words, tmp_path):
    path = tmp_path / "endless.yml"
    path.write_text(Scenario.load("rsc-2").override({"job.productive_h": None}).to_yaml())
    flat = " ".join(in_words("compare", str(path), "--runs", "5", "--quiet", "--only", "lemon-removal").split())
    assert "What each alone saves a month" in flat and "million USD a month" in flat


def test_as_given_nothing_is_assumed(in_words):
    asked = ("compare", *SHORT, "--only", TWO, "--as-given")
    assert "lemon-removal: not applicable; needs failures.lemons" in " ".join(in_words(*asked, "--all").split())
    flat = " ".join(in_words(*asked).split())
    assert "Left out: 1 not applicable" in flat and "Assumed beyond" not in flat


def test_a_budget_finds_the_best_sets(in_words, as_json):
    asked = ("compare", *SHORT, "--only", TWO, "--budget", "1e9")
    portfolio = as_json(*asked)["portfolio"]
    assert portfolio["method"] == "exact" and portfolio["best"]["affordable"]
    assert set(portfolio["ids"]) <= set(TWO.split(","))
    assert portfolio["paying"] is None or portfolio["paying"]["saved_usd"] > 0
    assert "Together, for no more than 1 billion USD" in in_words(*asked)
    assert "no cheaper set has as high an effective ETTR" in in_words(*asked, "--all")


DEAR = """
mitigations:
  - id: dear
    title: Dear
    group: restart
    mechanism: Restarts faster.
    changes: [{path: recovery.restart_min, op: scale, value: 0.1, status: primary, source: dubey2024}]
    price: {usd: 1.0e+8, status: assumed, note: more than it can save}
    published: [{quantity: x, after: 1, unit: "1", status: primary, source: dubey2024, why: not stated}]
"""


def test_a_set_that_does_not_pay_is_not_recommended_unless_asked(in_words, tmp_path):
    path = tmp_path / "dear.yml"
    path.write_text(DEAR)
    asked = ("compare", *SHORT, "--catalogue", str(path), "--budget", "1e9")
    flat = " ".join(in_words(*asked).split())
    assert "Each of these costs more than it saves" in flat
    assert "No set of them pays for itself" in flat and "The best by days does not pay" in flat
    assert "dear." not in flat and "Not together" not in flat
    assert "Best by days: dear. Costs 100 million USD, loses" in " ".join(in_words(*asked, "--at-a-loss").split())


def test_a_budget_without_anything_that_helps_says_so_below_the_ranking(in_words):
    out = in_words("compare", *SHORT, "--only", "gpu-power-floor", "--budget", "1e9")
    assert "Nothing to spend the budget on" in out and lines_of(out, "gpu-power-floor")


def test_a_budget_names_what_does_not_go_together(in_words):
    asked = ("--only", "peer-checkpoint,replica-recovery", "--budget", "1e9", "--at-a-loss")
    why = mitigation.catalogue().conflict("peer-checkpoint", "replica-recovery")
    assert "Not together: replica-recovery with peer-checkpoint" in in_words("compare", *SHORT, *asked)
    text = " ".join(in_words("compare", *SHORT, *asked, "--all").split())
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
    "negative": (["--budget", "-1"], "--budget must be >= 0 USD and finite, got -1"),
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
    assert "Left out: 1 no answer" in in_words(*own)
    assert "restart_min must be >= 0 min, got -5" in in_words(*own, "--all")


FLEET = ("plan", "llama3-405b", "--set", "spares={n_nodes: 8}", "--set", "repair={manual_h: 24}")


def test_a_plan_leaves_out_what_only_simulation_follows_and_says_so(in_words, as_json):
    out = in_words(*FLEET, "--quick")
    assert "No formula follows spares that run out (spares, repair): `ettr simulate` does" in out
    record = as_json(*FLEET, "--quick")
    assert record["left_out"] == ["spares that run out (spares, repair)"] and record["simulated"] is None
    assert record["ettr"] == as_json("plan", "llama3-405b", "--quick")["ettr"]


def test_a_plan_simulates_what_no_formula_follows(in_words, as_json):
    record, out = as_json(*FLEET), in_words(*FLEET)
    assert record["ettr"] == pytest.approx(record["simulated"]["ettr"], rel=1e-9)
    assert record["ettr"] < record["analytical"]["ettr"]  # eight spares are too few
    simulated = f"{100 * record['simulated']['ettr']:.0f}%"
    assert out.index("(ETTR): " + simulated) < out.index(f"{100 * record['analytical']['ettr']:.0f}%")
    # hours and money below the ETTR are those of the same runs
    total = record["losses_at_best"]["total"]
    assert total["share"] == pytest.approx(1 - record["simulated"]["ettr"], rel=1e-9)
    assert total["usd_per_month"] == pytest.approx(total["share"] * record["losses"]["bill_usd_per_month"])
    assert sum(part["share"] for part in record["losses_at_best"]["parts"]) == pytest.approx(total["share"], rel=1e-6)
    assert re.search(r"Hold \d+ spare nodes \(you hold 8\)", out)


def test_a_plan_solves_for_spares(as_json):
    (need,) = as_json(*FLEET, "--target", "0.9", "--field", "spares.n_nodes")["requirements"]
    assert need["field"] == "spares.n_nodes" and 8 < need["value"] < 30
