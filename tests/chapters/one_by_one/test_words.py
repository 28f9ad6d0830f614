"""Sentences on mitigations, alone and together: their numbers, read back from the results."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from ettr import compare, validation
from ettr.chapters import one_by_one, portfolio
from ettr.core import sentences
from known_mitigations import CASES, advice, comparison, leading

NUMBER = r"-?\d[\d,]*(?:\.\d+)?"


def numbers(pattern: str, text: str) -> list[float]:
    match = re.search(pattern.replace("#", f"({NUMBER})"), text)
    assert match, f"{pattern!r} is not in {text!r}"
    return [float(group.replace(",", "")) for group in match.groups()]


@cache
def worth(case="usual"):
    return one_by_one.tables.worth_in_days(comparison(case))


@cache
def by_size(case="usual"):
    return one_by_one.tables.worth_by_size(comparison(case).study, leading(case), [1024, 262_144], n_runs=3)


@cache
def evens(case="usual"):
    return one_by_one.tables.break_even_values(
        comparison(case).study, leading(case), by_size(case), [0.25, 1, 4], n_runs=3
    )


@cache
def pairs_published(case="usual"):
    compared = comparison(case)
    return one_by_one.evidence_tables.published_pairs(
        compared, validation.run(one_by_one.evidence_tables.rows_to_compute(compared.study.catalogue))
    )


@cache
def taken(case="usual"):
    return portfolio.tables.affordable_steps(advice(case), 1e9)


@cache
def moved(case="usual", n_inputs=2):
    return portfolio.tables.sensitivity(comparison(case).study, leading(case)[:2], n_inputs, 8, 4)


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
        "break_evens": one_by_one.words.break_evens(evens(case)),
        "published": one_by_one.evidence_words.published(pairs_published(case)),
        "places": one_by_one.evidence_words.places(placed),
        "documents": one_by_one.evidence_words.documents(one_by_one.evidence_tables.by_document(placed)),
        "together": portfolio.words.answer(compared, taken(case), 1e9),
        "chosen_from": portfolio.words.chosen_from(compared, ids, len(study.assumptions)),
        "lost_hours": portfolio.words.lost_hours(
            portfolio.tables.lost_hours(study.runs(), study.runs(taken(case)["id"])),
            portfolio.tables.trained_less_h(study.runs(), study.runs(taken(case)["id"])),
        ),
        "steps": portfolio.words.steps(taken(case)),
        "interactions": portfolio.words.interactions(compare.interactions(study, ids)),
        "shares": portfolio.words.shares(
            portfolio.tables.shared_gain(study, portfolio.tables.going_together(study, ids))
        ),
        "choice": portfolio.words.choice(portfolio.tables.choose(study, ids, 1e6), 1e6),
        "tornado": portfolio.words.tornado(moved(case)),
        "sobol": portfolio.words.sobol(moved(case)),
    }


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
    finding = one_by_one.words.answer(comparison(), worth())
    best = worth().set_index("id").loc["shorter-stall"]
    assert "*Shorter stall*" in finding.text and "Next comes" not in finding.text
    assert numbers(r"\*Shorter stall\*: # h", finding.text) == pytest.approx([24 * best["days"]], rel=5e-3)
    base = comparison().baseline
    assert numbers(r"takes # days at an ETTR of #%", finding.text) == pytest.approx(
        [base.mean("days"), 100 * base.ettr], rel=5e-3
    )


def test_without_any_that_saves_the_answer_says_so():
    frame = worth()[worth()["effect"] == "takes time"]
    assert "no mitigation" in one_by_one.words.answer(comparison(), frame).text
    assert "none saves time" in one_by_one.words.saving(comparison(), frame).text
    empty = worth().iloc[:0]
    assert "No mitigation is found in place. None" in one_by_one.words.others(empty).text
    assert "No difference" in one_by_one.words.pairing(empty, 9).text


def test_what_is_assumed_is_counted_with_what_has_no_evidence():
    assumed = one_by_one.evidence_tables.assumed_values(comparison().study)
    text = one_by_one.evidence_words.assumed(comparison(), assumed).text
    assert numbers("# values are assumed here, # of them without evidence", text) == [3, 2]
    assert "on cost and recovery by people" in text
    assert one_by_one.evidence_words.assumed_cells(assumed)["Field"].tolist() == assumed["field"].tolist()
    assert "nothing is assumed" in one_by_one.evidence_words.assumed(comparison(), assumed.iloc[:0]).text


def test_those_that_save_are_counted_by_evidence_and_by_what_is_assumed():
    text = one_by_one.words.saving(comparison(), worth()).text
    assert numbers("Of # mitigations that change something here, # save time to 95%; # of those", text) == [5, 4, 3]
    assert numbers("For # of the # the size", text) == [3, 4]
    tiny = one_by_one.words.saving(comparison("tiny"), worth("tiny")).text
    assert "Within the error of nothing" in tiny


def test_what_is_in_place_and_what_takes_time_are_named():
    text = one_by_one.words.others(worth()).text
    days = worth().set_index("id")["days"]
    assert numbers(r"\*Quick detection\* \(# h\)", text) == pytest.approx([24 * days["in-place"]], rel=5e-3)
    assert numbers(r"\*Slower training\* \(# h\)", text) == pytest.approx([-24 * days["slower-training"]], rel=5e-3)
    assert "worth nothing for certain: *Quick detection*" in one_by_one.words.others(worth("quiet")).text


def test_pairing_tells_the_median_of_what_depends_on_chance():
    text = one_by_one.words.pairing(worth(), 60).text
    assert numbers("# times as many in the median, # to # times", text) == pytest.approx(
        [worth()["runs_ratio"].median(), worth()["runs_ratio"].min(), worth()["runs_ratio"].max()], rel=0.01
    )
    quiet = one_by_one.words.pairing(worth("quiet"), 60).text
    assert numbers("# times as many", quiet) == pytest.approx([85.0], rel=0.01)  # rounding alone is no chance


def test_the_closed_form_is_counted_and_its_worst_told():
    table = one_by_one.tables.beside_closed_form(comparison())
    text = one_by_one.words.closed(table).text
    assert numbers("Of # mitigations that the closed form has a term for, it lies within .* for #,", text) == [
        len(table),
        table["agrees"].sum(),
    ]
    worst = table.loc[table["apart"].abs().idxmax()]
    assert numbers("with # for # points", text) == pytest.approx(
        [100 * worst["closed"], 100 * worst["simulated"]], abs=5e-3
    )
    assert "no term" in one_by_one.words.closed(table.iloc[:0]).text


def test_money_tells_the_best_and_the_dearest():
    table = one_by_one.tables.costs_and_savings(comparison())
    finding = one_by_one.words.money(table)
    assert numbers("# of # mitigations save more", finding.title) == [2, 5]
    assert "costs 5,000 USD" in finding.text and "1.64 million USD for" in finding.text
    assert one_by_one.words.money(table[table["pays"] == "no"]).title == "No mitigation pays for certain"
    assert "tried" in one_by_one.words.money(table.iloc[:0]).text


def test_hours_tell_the_part_that_most_comes_from():
    table = one_by_one.tables.hours_given_back(comparison(), ("faster-restart",))
    finding = one_by_one.words.hours(table)
    assert finding.title == "Most hours come back from restarts"
    own = table.set_index("part")["hours"]["restart"]
    assert numbers(r"restarts \(# h\)", finding.text) == pytest.approx([own], rel=5e-3)
    assert "for certain" in one_by_one.words.hours(table.iloc[:0]).text


def test_sizes_at_which_a_job_does_not_get_on_are_told():
    table = by_size().copy()
    big = table["value"] == 262_144
    table.loc[big, ["state", "ettr_before", "saved"]] = ["no progress", np.nan, np.nan]
    text = one_by_one.words.by_size(table).text
    assert "On 262,144 GPUs the job practically never gets on" in text
    table.loc[big, "state"] = "does not fit"
    assert "cannot be cut for 262,144 GPUs" in one_by_one.words.by_size(table).text


def test_what_saves_most_is_told_of_those_that_pay():
    table = by_size().copy()
    names = list(dict.fromkeys(table["title"]))
    table["state"], table["saved"] = "costs more", np.where(table["title"] == names[0], 0.5, 0.1)
    assert f"most time is saved by *{names[0]}*" in one_by_one.words.by_size(table).text
    table.loc[table["title"] == names[1], "state"] = "pays"
    assert f"where they pay, most time is saved by *{names[1]}*" in one_by_one.words.by_size(table).text
    assert f"*{names[1]}*: 10.0% of it on " in one_by_one.words.by_size(table).text  # one that leads at both ends
    last = table["value"] == table["value"].max()
    table.loc[last & (table["title"] == names[0]), "state"] = "pays"
    assert f"*{names[1]}*, 10.0% of it on " in one_by_one.words.by_size(table).text
    assert f"and by *{names[0]}*, 50.0% of it on " in one_by_one.words.by_size(table).text
    assert "for certain" in one_by_one.words.by_size(table.iloc[:0]).text


def test_break_even_values_stand_in_a_table():
    cells = one_by_one.words.break_even_cells(evens())
    assert cells["Mitigation"].tolist() == [comparison().study.catalogue[name].title for name in leading()]
    given = evens().set_index("id")["usd_per_gpu_h"]["faster-restart"]
    assert float(cells.set_index("Mitigation").loc["Faster restart", "Pays from [USD/(GPU h)]"]) == pytest.approx(
        given, rel=0.01
    )
    text = one_by_one.words.break_evens(evens()).text
    assert numbers("# USD for a GPU-hour # of # pay", text) == [2, (evens()["usd_per_gpu_h"] <= 2).sum(), 3]
    assert "nothing" not in one_by_one.words.break_evens(evens().iloc[:0]).text


def test_published_figures_are_counted_by_verdict():
    table = pairs_published()
    text = one_by_one.evidence_words.published(table).text
    assert numbers("Of # published figures, # of them .* # reproduced, # consistent and # not derivable", text) == [
        len(table),
        table["before"].notna().sum(),
        1,
        0,
        len(table) - 1,
    ]
    broken = table.assign(holds=table["verdict"] != "reproduced")
    assert "does not bear out: time lost to saving" in one_by_one.evidence_words.published(broken).text
    cells = one_by_one.evidence_words.published_cells(table)
    assert cells.loc[cells["Verdict"] == "reproduced", "Before"].tolist() == [""]
    assert "Nothing was published" in one_by_one.evidence_words.published(table.iloc[:0]).text


def test_places_and_documents_are_counted():
    placed = one_by_one.evidence_tables.places(comparison())
    text = one_by_one.evidence_words.places(placed).text
    assert numbers("Of # mitigations # are asked for .* # have nothing published .* # are not modelled", text) == [
        8,
        2,
        1,
        1,
    ]
    cells = one_by_one.evidence_words.place_cells(placed)
    assert cells["Place"].tolist() == placed["place"].tolist()
    asked = one_by_one.evidence_tables.by_document(placed)
    assert one_by_one.evidence_words.documents(asked).title == "2 documents ask for 2 mitigations"
    assert len(one_by_one.evidence_words.document_cells(asked)) == 3
    assert "No mitigation is asked for" in one_by_one.evidence_words.documents(asked.iloc[:0]).text


def test_the_answer_on_several_adds_up():
    finding = portfolio.words.answer(comparison(), taken(), 1e9)
    assert numbers("save # h of # days", finding.text) == pytest.approx(
        [24 * taken()["added"].sum(), comparison().baseline.mean("days")], rel=5e-3
    )
    assert "cost 1.74 million USD, and leave 8.22 million USD over" in finding.text
    assert numbers("to #%", finding.text) == pytest.approx([100 * taken()["ettr"].iloc[-1]], abs=0.05)
    nothing = portfolio.words.answer(comparison(), taken().iloc[:0], 5.0)
    assert "Nothing that helps for certain fits into 5 USD" in nothing.text
    assert "No mitigation" in portfolio.words.chosen_from(comparison(), (), 2).text


def test_lost_hours_are_those_of_the_budgets():
    study = comparison().study
    before, after = study.runs(), study.runs(taken()["id"])
    finding = portfolio.words.lost_hours(portfolio.tables.lost_hours(before, after), 0.0)
    lost = [float(one.budget.total_h - one.budget.productive_h) for one in (before, after)]
    assert numbers("# lost hours become #", finding.title) == pytest.approx(lost, abs=0.6)
    assert (
        "with mitigations and without"
        in portfolio.words.lost_hours(portfolio.tables.lost_hours(before, before), 0.0).text
    )
    faster = portfolio.words.lost_hours(portfolio.tables.lost_hours(before, after), 3.25).text
    assert "Training itself takes 3.25 h less, as its steps are faster" in faster
    assert "0.8 h more" in portfolio.words.lost_hours(portfolio.tables.lost_hours(before, after), -0.8).text


def test_steps_tell_what_is_kept_beside_the_others():
    finding = portfolio.words.steps(taken())
    kept = taken()["kept"].iloc[1]
    assert numbers(r"Faster restart\* adds # h, #% of", finding.text) == pytest.approx(
        [24 * taken()["added"].iloc[1], 100 * kept], rel=0.01
    )
    assert "lose little" in finding.text
    lossy = taken().assign(kept=[1.0, 0.25])
    assert "*Faster restart* loses most: 75% of its gain" in portfolio.words.steps(lossy).text
    assert "No mitigation" in portfolio.words.steps(taken().iloc[:0]).text


def test_pairs_are_counted_and_conflicts_named():
    table = compare.interactions(comparison().study, leading())
    finding = portfolio.words.interactions(table)
    assert "Not together: *Shorter stall* and *Another stall*." in finding.text
    assert numbers("of # pairs", finding.title) == [2]
    assert "no two" in portfolio.words.interactions(table.iloc[:0]).text
    apart = table[table["why"] != ""]
    assert portfolio.words.interactions(apart).title == "No two of them go together"


def test_shares_sum_up_to_the_common_gain():
    shared = portfolio.tables.shared_gain(comparison().study, ["shorter-stall", "faster-restart"])
    text = portfolio.words.shares(shared).text
    assert numbers(r"save # h \(# to # days\)", text) == pytest.approx(
        [24 * shared.together, shared.together_low, shared.together_high], rel=0.05
    )
    share = shared.frame["value"].iloc[0] / shared.together
    assert numbers("on average, #% of it", text) == pytest.approx([100 * share], abs=0.5)
    assert "no gain to share" in portfolio.words.shares(portfolio.tables.shared_gain(comparison().study, [])).text


def test_the_choice_names_the_best_within_a_budget():
    study = comparison().study
    finding = portfolio.words.choice(portfolio.tables.choose(study, leading(), 1e7), 1e7)
    assert "Within 10 million USD the best is" in finding.text and "same set" in finding.text
    assert "buys nothing" in portfolio.words.choice(portfolio.tables.choose(study, leading(), 10.0), 10.0).text
    assert "no set to pay for" in portfolio.words.choice(portfolio.tables.choose(study, [], 10.0), 10.0).text


def test_inputs_that_change_what_comes_first_are_named():
    sensitivity = moved()
    first = sensitivity.tornado.iloc[0]
    text = portfolio.words.tornado(sensitivity).text
    assert f"`{first['input']}` moves a gain most" in text
    ends = first[["gain", "gain_low", "gain_high"]].astype(float)
    assert numbers("saves # to # days", text) == pytest.approx([ends.min(), ends.max()], abs=6e-3)
    flips = sensitivity.tornado.loc[sensitivity.tornado["changes_best"].astype(bool), "input"].unique()
    assert all(f"`{name}`" in text for name in flips)
    none = sensitivity.tornado.assign(changes_best=False)
    calm = portfolio.tables.Sensitivity(none, None, "")
    assert "None of them alone puts another" in portfolio.words.tornado(calm).text
    gone = portfolio.tables.Sensitivity(none.assign(gain_low=np.nan), None, "")
    assert "No answer at an end of" in portfolio.words.tornado(gone).text


def test_indices_are_told_with_their_error_and_by_whom_it_is_first():
    sensitivity = moved()
    text = portfolio.words.sobol(sensitivity).text
    lead = sensitivity.indices[sensitivity.indices["of"] == "lead of the first"]
    most = lead.loc[lead["total"].idxmax()]
    assert f"`{most['input']}` has the largest part" in text
    assert numbers("total index of # ± #", text) == pytest.approx([most["total"], most["total_error"]], abs=0.006)
    assert numbers("First at how many of # points", text) == [32]
    rough = portfolio.tables.Sensitivity(
        sensitivity.tornado,
        compare.Sobol(lead.assign(total_error=9.0), sensitivity.sobol.samples, sensitivity.sobol.best, "days"),
    )
    assert portfolio.words.sobol(rough).title.startswith("Too few points")
    assert "at least two" in portfolio.words.sobol(moved("usual", 1)).text
