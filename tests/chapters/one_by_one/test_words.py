"""Sentences on mitigations, alone and together: their numbers, read back from the results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from computed.mitigations import (
    CASES,
    break_evens,
    by_size,
    choice,
    comparison,
    interactions,
    leading,
    lost_hours,
    published_pairs,
    sensitivity,
    shared_gain,
    taken,
    worth,
)
from ettr import Scenario, compare
from ettr.chapters import one_by_one, portfolio
from ettr.chapters.one_by_one import evidence_tables, tables
from ettr.core import sentences
from sentences_read import numbers


def findings(case: str) -> dict[str, sentences.Finding]:
    compared, ids = comparison(case), leading(case)
    study = compared.study
    placed = one_by_one.evidence_tables.places(compared)
    assumed = one_by_one.evidence_tables.assumed_values(study)
    return {
        "answer": one_by_one.words.answer(compared, worth(case)),
        "assumed": one_by_one.evidence_words.assumed(compared, assumed),
        "saving": one_by_one.words.saving(compared, worth(case)),
        "others": one_by_one.words.others(worth(case)),
        "pairing": one_by_one.words.pairing(worth(case), study.n_runs),
        "closed": one_by_one.words.closed(one_by_one.tables.beside_closed_form(compared)),
        "money": one_by_one.words.money(one_by_one.tables.costs_and_savings(compared)),
        "hours": one_by_one.words.hours(one_by_one.tables.hours_given_back(compared, ids)),
        "by_size": one_by_one.words.by_size(by_size(case)),
        "break_evens": one_by_one.words.break_evens(break_evens(case)),
        "published": one_by_one.evidence_words.published(published_pairs(case)),
        "places": one_by_one.evidence_words.places(placed),
        "documents": one_by_one.evidence_words.documents(one_by_one.evidence_tables.by_document(placed)),
        "together": portfolio.words.answer(compared, taken(case), 1e9),
        "chosen_from": portfolio.words.chosen_from(compared, ids, len(study.assumptions)),
        "lost_hours": portfolio.words.lost_hours(
            lost_hours(case), portfolio.tables.trained_less_h(study.runs(), study.runs(taken(case)["id"]))
        ),
        "steps": portfolio.words.steps(taken(case)),
        "interactions": portfolio.words.interactions(interactions(case)),
        "shares": portfolio.words.shares(shared_gain(case)),
        "choice": portfolio.words.choice(choice(case), 1e6),
        "tornado": portfolio.words.tornado(sensitivity(case)),
        "sobol": portfolio.words.sobol(sensitivity(case)),
    }


ALONE, EVIDENCE, TOGETHER = one_by_one.words, one_by_one.evidence_words, portfolio.words


@pytest.mark.parametrize("case", CASES)
def test_every_sentence_is_whole_under_any_parameters(case):
    for name, finding in findings(case).items():
        assert finding.title.strip() and finding.text.strip(), name
        assert not re.search(r"\bnan\b|\binf\b|None(?! of| that)|  |\.\.|--", finding.title + finding.text), (
            name,
            finding.text,
        )
        assert finding.text.count("**") % 2 == 0 and finding.text.rstrip("*").endswith("."), (name, finding.text)


def test_the_answer_gives_the_best_ranked_one_with_its_interval():
    finding = ALONE.answer(comparison(), worth())
    best = worth().set_index("id").loc["shorter-stall"]
    assert "*Shorter stall*" in finding.text and "Next comes" not in finding.text
    assert numbers(r"\*Shorter stall\*: # h", finding.text) == pytest.approx([24 * best["days"]], rel=5e-3)
    base = comparison().baseline
    expected = [base.mean("days"), 100 * base.ettr]
    assert numbers(r"takes # days at an ETTR of #%", finding.text) == pytest.approx(expected, rel=5e-3)


def test_without_any_that_saves_the_answer_says_so():
    frame = worth()[worth()["effect"] == "takes time"]
    assert "no mitigation" in ALONE.answer(comparison(), frame).text
    assert "none saves time" in ALONE.saving(comparison(), frame).text
    empty = worth().iloc[:0]
    assert "No mitigation is found in place. None" in ALONE.others(empty).text
    assert "No difference" in ALONE.pairing(empty, 9).text


def test_what_is_assumed_is_counted_with_what_has_no_evidence():
    assumed = evidence_tables.assumed_values(comparison().study)
    text = EVIDENCE.assumed(comparison(), assumed).text
    assert numbers("# values are assumed here, # of them without evidence", text) == [3, 2]
    assert "on cost and recovery by people" in text
    assert EVIDENCE.assumed_cells(assumed)["Field"].tolist() == assumed["field"].tolist()
    assert "nothing is assumed" in EVIDENCE.assumed(comparison(), assumed.iloc[:0]).text


def test_those_that_save_are_counted_by_evidence_and_by_what_is_assumed():
    text = ALONE.saving(comparison(), worth()).text
    assert numbers("Of # mitigations that change something here, # save time to 95%; # of those", text) == [5, 4, 3]
    assert numbers("For # of the # the size", text) == [3, 4]
    tiny = ALONE.saving(comparison("tiny"), worth("tiny")).text
    assert "Within the error of nothing" in tiny


def test_what_is_in_place_and_what_takes_time_are_named():
    text = ALONE.others(worth()).text
    days = worth().set_index("id")["days"]
    assert numbers(r"\*Quick detection\* \(# h\)", text) == pytest.approx([24 * days["in-place"]], rel=5e-3)
    assert numbers(r"\*Slower training\* \(# h\)", text) == pytest.approx([-24 * days["slower-training"]], rel=5e-3)
    assert "worth nothing for certain: *Quick detection*" in ALONE.others(worth("quiet")).text


def test_pairing_tells_the_median_of_what_depends_on_chance():
    text = ALONE.pairing(worth(), 60).text
    expected = [worth()["runs_ratio"].median(), worth()["runs_ratio"].min(), worth()["runs_ratio"].max()]
    assert numbers("# times as many in the median, # to # times", text) == pytest.approx(expected, rel=0.01)
    quiet = ALONE.pairing(worth("quiet"), 60).text
    assert numbers("# times as many", quiet) == pytest.approx([85.0], rel=0.01)  # rounding alone is no chance


def test_the_closed_form_is_counted_and_its_worst_told():
    table = tables.beside_closed_form(comparison())
    text = ALONE.closed(table).text
    assert numbers("Of # mitigations that the closed form has a term for, it lies within .* for #,", text) == [
        len(table),
        table["agrees"].sum(),
    ]
    worst = table.loc[table["apart"].abs().idxmax()]
    expected = [100 * worst["closed"], 100 * worst["simulated"]]
    assert numbers("with # for # points", text) == pytest.approx(expected, abs=5e-3)
    assert "no term" in ALONE.closed(table.iloc[:0]).text


def test_money_tells_the_best_and_the_dearest():
    table = tables.costs_and_savings(comparison())
    finding = ALONE.money(table)
    assert numbers("# of # mitigations save more", finding.title) == [2, 5]
    assert "costs 5,000 USD" in finding.text and "1.64 million USD for" in finding.text
    assert ALONE.money(table[table["pays"] == "no"]).title == "No mitigation pays for certain"
    assert "tried" in ALONE.money(table.iloc[:0]).text


def test_hours_tell_the_part_that_most_comes_from():
    table = tables.hours_given_back(comparison(), ("faster-restart",))
    finding = ALONE.hours(table)
    assert finding.title == "Most hours come back from restarts"
    own = table.set_index("part")["hours"]["restart"]
    assert numbers(r"restarts \(# h\)", finding.text) == pytest.approx([own], rel=5e-3)
    assert "for certain" in ALONE.hours(table.iloc[:0]).text


def test_sizes_at_which_a_job_does_not_get_on_are_told():
    table = by_size().copy()
    big = table["value"] == 262_144
    table.loc[big, ["state", "ettr_before", "saved"]] = ["no progress", np.nan, np.nan]
    text = ALONE.by_size(table).text
    assert "On 262,144 GPUs the job practically never gets on" in text
    table.loc[big, "state"] = "does not fit"
    assert "cannot be cut for 262,144 GPUs" in ALONE.by_size(table).text


def test_what_saves_most_is_told_of_those_that_pay():
    table = by_size().copy()
    names = list(dict.fromkeys(table["title"]))
    table["state"], table["saved"] = "costs more", np.where(table["title"] == names[0], 0.5, 0.1)
    assert f"most time is saved by *{names[0]}*" in ALONE.by_size(table).text
    table.loc[table["title"] == names[1], "state"] = "pays"
    assert f"where they pay, most time is saved by *{names[1]}*" in ALONE.by_size(table).text
    assert f"*{names[1]}*: 10.0% of it on " in ALONE.by_size(table).text  # one that leads at both ends
    last = table["value"] == table["value"].max()
    table.loc[last & (table["title"] == names[0]), "state"] = "pays"
    assert f"*{names[1]}*, 10.0% of it on " in ALONE.by_size(table).text
    assert f"and by *{names[0]}*, 50.0% of it on " in ALONE.by_size(table).text
    assert "for certain" in ALONE.by_size(table.iloc[:0]).text


def test_break_even_values_stand_in_a_table():
    cells = ALONE.break_even_cells(break_evens())
    assert cells["Mitigation"].tolist() == [comparison().study.catalogue[name].title for name in leading()]
    given = break_evens().set_index("id")["usd_per_gpu_h"]["faster-restart"]
    assert float(cells.set_index("Mitigation").loc["Faster restart", "Pays from [USD/(GPU h)]"]) == pytest.approx(
        given, rel=0.01
    )
    text = ALONE.break_evens(break_evens()).text
    assert numbers("# USD for a GPU-hour # of # pay", text) == [2, (break_evens()["usd_per_gpu_h"] <= 2).sum(), 3]
    assert "nothing" not in ALONE.break_evens(break_evens().iloc[:0]).text


def test_published_figures_are_counted_by_verdict():
    table = published_pairs()
    text = EVIDENCE.published(table).text
    assert numbers("Of # published figures, # of them .* # reproduced, # consistent and # not derivable", text) == [
        len(table),
        table["before"].notna().sum(),
        1,
        0,
        len(table) - 1,
    ]
    broken = table.assign(holds=table["verdict"] != "reproduced")
    assert "does not bear out: time lost to saving" in EVIDENCE.published(broken).text
    cells = EVIDENCE.published_cells(table)
    assert cells.loc[cells["Verdict"] == "reproduced", "Before"].tolist() == [""]
    assert "Nothing was published" in EVIDENCE.published(table.iloc[:0]).text


def test_places_and_documents_are_counted():
    placed = evidence_tables.places(comparison())
    text = EVIDENCE.places(placed).text
    assert numbers("Of # mitigations # are asked for .* # have nothing published .* # are not modelled", text) == [
        8,
        2,
        1,
        1,
    ]
    cells = EVIDENCE.place_cells(placed)
    assert cells["Place"].tolist() == placed["place"].tolist()
    asked = evidence_tables.by_document(placed)
    assert EVIDENCE.documents(asked).title == "2 documents ask for 2 mitigations"
    assert len(EVIDENCE.document_cells(asked)) == 3
    assert "No mitigation is asked for" in EVIDENCE.documents(asked.iloc[:0]).text


def test_the_answer_on_several_adds_up():
    finding = TOGETHER.answer(comparison(), taken(), 1e9)
    expected = [24 * taken()["added"].sum(), comparison().baseline.mean("days")]
    assert numbers("save # h of # days", finding.text) == pytest.approx(expected, rel=5e-3)
    assert "cost 1.74 million USD, and leave 8.22 million USD over" in finding.text
    assert numbers("to #%", finding.text) == pytest.approx([100 * taken()["ettr"].iloc[-1]], abs=0.05)
    assert "Without what is assumed" not in finding.text
    nothing = TOGETHER.answer(comparison(), taken().iloc[:0], 5.0)
    assert "Nothing that helps for certain fits into 5 USD" in nothing.text
    assert "No mitigation" in TOGETHER.chosen_from(comparison(), (), 2).text


def test_the_answer_on_several_starts_from_what_is_assumed_for_them():
    run = Scenario.load("llama3-405b")
    names = ["lemon-removal", "straggler-removal"]
    compared = compare.mitigations(run, names, n_runs=20)
    steps = portfolio.tables.affordable_steps(compare.advise(compared.study, 2, ids=names), 1e9)
    assert set(steps["id"]) == set(names)
    text = TOGETHER.answer(compared, steps, 1e9).text
    lemons, slow = {"share": 0.15, "factor": 5}, {"per_1000_node_days": 0.05, "loss": 0.06, "detection_h": 24}
    by_hand = [run.override({"failures.lemons": lemons, "slow_nodes": slow}), run]
    before, as_it_is = (compare.study(one, 20, as_given=True).runs() for one in by_hand)
    expected = [before.mean("days"), 100 * before.ettr]
    assert numbers("save .* of # days, and the ETTR goes from #%", text) == pytest.approx(expected, rel=1e-3)
    expected = [as_it_is.mean("days"), 100 * as_it_is.ettr]
    assert numbers("to act on, the run takes # days at an ETTR of #%", text) == pytest.approx(expected, rel=1e-3)


def test_lost_hours_are_those_of_the_budgets():
    study = comparison().study
    before, after = study.runs(), study.runs(taken()["id"])
    finding = TOGETHER.lost_hours(lost_hours(), 0.0)
    lost = [float(one.budget.total_h - one.budget.productive_h) for one in (before, after)]
    assert numbers("# lost hours become #", finding.title) == pytest.approx(lost, abs=0.6)
    same = portfolio.tables.lost_hours(before, before)
    assert "with mitigations and without" in TOGETHER.lost_hours(same, 0.0).text
    faster = TOGETHER.lost_hours(lost_hours(), 3.25).text
    assert "Training itself takes 3.25 h less, as its steps are faster" in faster
    assert "0.8 h more" in TOGETHER.lost_hours(lost_hours(), -0.8).text


def test_steps_tell_what_is_kept_beside_the_others():
    finding = TOGETHER.steps(taken())
    kept = taken()["kept"].iloc[1]
    expected = [24 * taken()["added"].iloc[1], 100 * kept]
    assert numbers(r"Faster restart\* adds # h, #% of", finding.text) == pytest.approx(expected, rel=0.01)
    assert "lose little" in finding.text
    lossy = taken().assign(kept=[1.0, 0.25])
    assert "*Faster restart* loses most: 75% of its gain" in TOGETHER.steps(lossy).text
    assert "No mitigation" in TOGETHER.steps(taken().iloc[:0]).text


def test_pairs_are_counted_and_conflicts_named():
    table = interactions()
    finding = TOGETHER.interactions(table)
    assert "Not together: *Shorter stall* and *Another stall*." in finding.text
    assert numbers("of # pairs", finding.title) == [2]
    assert "no two" in TOGETHER.interactions(table.iloc[:0]).text
    apart = table[table["why"] != ""]
    assert TOGETHER.interactions(apart).title == "No two of them go together"


def test_shares_sum_up_to_the_common_gain():
    shared = shared_gain()
    text = TOGETHER.shares(shared).text
    expected = [24 * shared.together, shared.together_low, shared.together_high]
    assert numbers(r"save # h \(# to # days\)", text) == pytest.approx(expected, rel=0.05)
    share = shared.frame["value"].iloc[0] / shared.together
    assert numbers("on average, #% of it", text) == pytest.approx([100 * share], abs=0.5)
    assert "no gain to share" in TOGETHER.shares(portfolio.tables.shared_gain(comparison().study, [])).text


def test_the_choice_names_the_best_within_a_budget():
    finding = TOGETHER.choice(choice("usual", 1e7), 1e7)
    assert "Within 10 million USD the best is" in finding.text and "same set" in finding.text
    assert "buys nothing" in TOGETHER.choice(choice("usual", 10.0), 10.0).text
    assert "no set to pay for" in TOGETHER.choice(portfolio.tables.choose(comparison().study, [], 10.0), 10.0).text


def test_inputs_that_change_what_comes_first_are_named():
    moved = sensitivity()
    first = moved.tornado.iloc[0]
    text = TOGETHER.tornado(moved).text
    assert f"`{first['input']}` moves a gain most" in text
    ends = first[["gain", "gain_low", "gain_high"]].astype(float)
    assert numbers("saves # to # days", text) == pytest.approx([ends.min(), ends.max()], abs=6e-3)
    flips = moved.tornado.loc[moved.tornado["changes_best"].astype(bool), "input"].unique()
    assert all(f"`{name}`" in text for name in flips)
    none = moved.tornado.assign(changes_best=False)
    calm = portfolio.tables.Sensitivity(none, None, "")
    assert "None of them alone puts another" in TOGETHER.tornado(calm).text
    gone = portfolio.tables.Sensitivity(none.assign(gain_low=np.nan), None, "")
    assert "No answer at an end of" in TOGETHER.tornado(gone).text


def test_indices_are_told_with_their_error_and_by_whom_it_is_first():
    moved = sensitivity()
    text = TOGETHER.sobol(moved).text
    lead = moved.indices[moved.indices["of"] == "lead of the first"]
    most = lead.loc[lead["total"].idxmax()]
    assert f"`{most['input']}` has the largest part" in text
    assert numbers("total index of # ± #", text) == pytest.approx([most["total"], most["total_error"]], abs=0.006)
    assert numbers("First at how many of # points", text) == [32]
    rough = portfolio.tables.Sensitivity(
        moved.tornado,
        compare.Sobol(lead.assign(total_error=9.0), moved.sobol.samples, moved.sobol.best, "days"),
    )
    assert TOGETHER.sobol(rough).title.startswith("Too few points")
    assert "at least two" in TOGETHER.sobol(sensitivity("usual", 1)).text
