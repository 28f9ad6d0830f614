"""``ettr compare``, ``ettr mitigations``, and what ``ettr plan`` says of both."""

from __future__ import annotations

import re

import pytest

from ettr import Scenario, mitigation, recommendation

SHORT = ("llama3-405b", "--set", "job.productive_h=100", "--runs", "20", "--quiet")
TWO = "lemon-removal,just-in-time-checkpoint"
TITLES = [mitigation.catalogue()[name].title for name in TWO.split(",")]


def test_the_answer_is_that_of_the_package(as_json):
    record = as_json("compare", *SHORT, "--only", TWO)
    run = Scenario.load("llama3-405b").override({"job.productive_h": 100})
    comparison = recommendation.mitigations(run, TWO.split(","), n_runs=20)
    by_id = {row["id"]: row for row in record["mitigations"]}
    for row in comparison.frame.to_dict("records"):
        assert by_id[row["id"]]["days_gain"] == pytest.approx(row["days_gain"])
        assert by_id[row["id"]]["rank"] == row["rank"]
    assert record["baseline"]["ettr"] == pytest.approx(comparison.baseline.ettr)
    assert "failures.lemons" in record["assumptions_added"]
    bare = recommendation.study(run, n_runs=20, as_given=True)
    assert record["baseline"]["days"] == pytest.approx(bare.runs().mean("days"))
    assert record["baseline"]["usd"] == pytest.approx(bare.runs().mean("usd"))
    assert record["changes"] == {"job.productive_h": 100}


def lines_of(out, *starts):
    return [line for line in out.splitlines() if line.startswith(starts)]


def test_the_screen_names_each_mitigation_with_its_range_and_what_was_assumed(in_words):
    out = in_words("compare", *SHORT, "--only", TWO)
    flat = " ".join(out.split())
    for words in (
        *TITLES,
        "per run, ranked by money; prices in 1000 USD",
        ": failures.lemons",
        "--as-given",
        "20 simulated runs of each scenario (seed 0)",
        "Plausible range: ",
    ):
        assert words in flat
    first, second = TITLES
    assert flat.index(first) < flat.index("assumed effect size") < flat.index(second)
    assert flat.index(second) < flat.index("Recommended together")


def test_all_of_the_catalogue_fits_a_screen(in_words):
    out = in_words(
        "compare", "llama3-405b-tokens", "--set", "job.tokens=2e11", "--runs", "5", "--quiet", "--budget", "2e6"
    )
    titles = [entry.title for entry in mitigation.catalogue()]
    assert all(len(line.rstrip()) <= 110 for line in lines_of(out, "mitigation", *titles))
    assert sum(1 + len(line.rstrip()) // 111 for line in out.splitlines()) <= 44
    assert "not modelled;" not in out and "outdated practice" in out


@pytest.mark.parametrize(("measure", "title"), [("ettr", "ETTR points"), ("mwh", "MWh"), ("gpu_h", "1000 GPU h")])
def test_the_range_is_that_of_the_measure(in_words, measure, title):
    out = in_words("compare", *SHORT, "--only", TWO, "--by", measure)
    assert all(re.match(rf"mitigation +{title} +plausible range", line) for line in lines_of(out, "mitigation "))
    rows = lines_of(out, *TITLES)
    assert len(rows) == 2 and all(len(re.findall(r"\d(?:-| to -?)\d", line)) == 1 for line in rows)
    assert ("The ETTR counts slower training" in " ".join(out.split())) == (measure == "ettr")


def test_a_job_without_an_end_saves_a_month(in_words, tmp_path):
    path = tmp_path / "endless.yml"
    path.write_text(Scenario.load("rsc-2").override({"job.productive_h": None}).to_yaml())
    flat = " ".join(in_words("compare", str(path), "--runs", "5", "--quiet", "--only", "lemon-removal").split())
    assert "alone per month" in flat and "million USD per month" in flat


def test_as_given_nothing_is_assumed(in_words):
    command = ("compare", *SHORT, "--only", TWO, "--as-given")
    flat = " ".join(in_words(*command).split())
    assert "Not compared: 1 not applicable" in flat and "Assumed in addition" not in flat


def test_the_recommended_set_is_that_of_a_plan(as_json):
    command = ("llama3-405b", "--set", "job.productive_h=100")
    plain = as_json("plan", *command)["recommendation"]
    compared = as_json("compare", *SHORT, "--only", "lemon-removal,peer-checkpoint")["recommendation"]
    assert set(compared["ids"]) <= {"peer-checkpoint"}  # of these the model follows one
    assert as_json("compare", *SHORT, "--set", "failures.lemons=null")["recommendation"]["ids"] == plain["ids"]


def test_a_budget_limits_the_recommended_set(as_json, in_words):
    command = ("compare", "llama3-405b", "--runs", "5", "--quiet", "--only", "peer-checkpoint,in-process-restart")
    free = as_json(*command)["recommendation"]
    assert len(free["ids"]) == 2
    less = as_json(*command, "--budget", str(free["price_usd"] - 1))["recommendation"]
    assert len(less["ids"]) == 1 and less["price_usd"] <= less["budget_usd"] < free["price_usd"]
    assert "the budget of 0 USD is below" in " ".join(in_words(*command, "--budget", "0").split())


def test_simulation_adds_what_certainly_saves_more(as_json, in_words):
    command = ("compare", "llama3-405b", "--runs", "50", "--quiet", "--only", "peer-checkpoint,lemon-removal")
    record = as_json(*command)
    (added,) = record["added_by_simulation"]
    assert added["id"] == "lemon-removal" and added["gained"]["mean"] > 2 * added["gained"]["error"]
    flat = " ".join(in_words(*command).split())
    assert "two standard errors" in flat and flat.index("Recommended together") < flat.index("added by simulation")


def test_mitigations_are_listed(in_words, as_json):
    ids = list(mitigation.catalogue().ids)
    out = in_words("mitigations")
    assert all(name in out for name in ids)
    assert [row["id"] for row in as_json("mitigations")] == ids


BAD = {
    "unknown": (["--only", "lemon-removl"], "unknown mitigation 'lemon-removl'; did you mean 'lemon-removal'?"),
    "a word of one": (["--only", "lemon"], "unknown mitigation 'lemon'; did you mean 'lemon-removal'?"),
    "negative": (["--budget", "-1"], "--budget must be >= 0 USD and finite, got -1"),
    "measure": (["--by", "money"], "unknown measure 'money'"),
    "interval": (["--interval", "own"], "interval must be best or given, got 'own'"),
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
    command = ("compare", *SHORT, "--catalogue", str(path))
    record = as_json(*command)
    assert [row["id"] for row in record["mitigations"]] == ["mine"] and record["assumptions_added"] == []
    assert "Mine (1,000 USD)" in " ".join(in_words(*command, "--budget", "10").split())
    path.write_text(OWN.replace("recovery.restart_min", "recovery.restart"))
    message = refused(*command)
    assert "mine" in message and "unknown field 'recovery.restart'" in message
    path.write_text(OWN.replace("op: scale, value: 0.5", "op: set, value: -5"))
    assert "restart_min must be >= 0 min, got -5" in in_words(*command)


FLEET = ("plan", "llama3-405b", "--set", "spares={n_nodes: 8}", "--set", "repair={manual_h: 24}")


def test_a_plan_leaves_out_what_only_simulation_follows_and_says_so(in_words, as_json):
    out = in_words(*FLEET, "--quick")
    assert "does not cover spares that run out (spares, repair); `ettr simulate` does" in out
    record = as_json(*FLEET, "--quick")
    assert record["left_out"] == ["spares that run out (spares, repair)"] and record["simulated"] is None
    assert record["ettr"] == as_json("plan", "llama3-405b", "--quick")["ettr"]


def test_a_plan_simulates_what_no_formula_follows(in_words, as_json):
    record, out = as_json(*FLEET), in_words(*FLEET)
    assert record["ettr"] == pytest.approx(record["simulated"]["ettr"], rel=1e-9)
    assert record["ettr"] < record["analytical"]["ettr"]  # eight spares are too few
    simulated = f"{100 * record['simulated']['ettr']:.0f}%"
    assert out.index("wall-clock time): " + simulated) < out.index(f"{100 * record['analytical']['ettr']:.0f}%")
    # hours and money below the ETTR are those of the same runs
    total = record["losses_at_best"]["total"]
    assert total["share"] == pytest.approx(1 - record["simulated"]["ettr"], rel=1e-9)
    assert total["usd_per_month"] == pytest.approx(total["share"] * record["losses"]["bill_usd_per_month"])
    assert sum(part["share"] for part in record["losses_at_best"]["parts"]) == pytest.approx(total["share"], rel=1e-6)
    assert re.search(r"Hold \d+ spare nodes \(now: 8\)", out)
