"""Tables on mitigations together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from computed.mitigations import CASES, advice, choice, comparison, interactions, sensitivity, taken
from ettr import compare
from ettr.chapters import portfolio
from ettr.chapters.portfolio.tables import AFTER, BEFORE


@pytest.fixture(scope="module")
def study():
    return comparison().study


def test_steps_are_those_of_the_advice_with_their_gain_alone(study):
    table = taken()
    assert table["id"].tolist() == advice().frame["id"].tolist() == ["shorter-stall", "faster-restart"]
    assert table["alone"].iloc[0] == pytest.approx(table["added"].iloc[0])
    restart = compare.gain(study.runs(), study.runs(["faster-restart"]), "days").mean
    assert table["alone"].iloc[1] == pytest.approx(restart)
    assert table["kept"].to_numpy() == pytest.approx((table["added"] / table["alone"]).to_numpy())
    both = compare.gain(study.runs(), study.runs(table["id"]), "days").mean
    assert table["added"].sum() == pytest.approx(both)
    assert table["spent_usd"].tolist() == table["cost_usd"].cumsum().tolist()


def test_a_budget_ends_the_steps():
    advised = advice()
    assert len(portfolio.tables.affordable_steps(advised, 1_700_000)) == 1
    assert portfolio.tables.affordable_steps(advised, 0.0).empty


def test_what_is_combined_are_the_steps_and_then_the_leading_ones():
    assert portfolio.tables.candidates(["b"], ["a", "b", "c"], 2) == ("b", "a")
    assert portfolio.tables.candidates(["a", "b", "c"], ["d"], 2) == ("a", "b", "c")
    assert portfolio.tables.candidates([], [], 3) == ()


@pytest.mark.parametrize("case", CASES)
def test_a_waterfall_leads_from_what_is_lost_before_to_what_is_lost_after(case):
    study = comparison(case).study
    before, after = study.runs(), study.runs(["faster-restart", "slower-training"])
    table = portfolio.tables.lost_hours(before, after).set_index("part")
    lost = [float(runs.budget.total_h - runs.budget.productive_h) for runs in (before, after)]
    assert table.loc[BEFORE, "end"] == pytest.approx(lost[0])
    assert table.loc[AFTER, "end"] == pytest.approx(lost[1])
    steps = table.drop([BEFORE, AFTER])
    assert steps["end"].iloc[-1] == pytest.approx(lost[1], abs=0.5)  # parts that hardly move are left out
    assert (steps["end"] - steps["start"]).to_numpy() == pytest.approx(steps["hours"].to_numpy())
    assert (steps["after"] - steps["before"]).to_numpy() == pytest.approx(steps["hours"].to_numpy())
    assert "productive" not in steps.index
    slower = float(after.budget.productive_h - before.budget.productive_h)
    assert portfolio.tables.trained_less_h(before, after) == pytest.approx(-slower) and slower > 0
    assert lost[0] - lost[1] - slower == pytest.approx(float(before.budget.total_h - after.budget.total_h))


def test_nothing_taken_moves_no_hour(study):
    assert portfolio.tables.lost_hours(study.runs(), study.runs([]))["part"].tolist() == [BEFORE, AFTER]


def test_those_that_conflict_with_an_earlier_one_are_left_out(study):
    chosen = portfolio.tables.going_together(study, ["shorter-stall", "other-stall", "faster-restart"])
    assert chosen == ("shorter-stall", "faster-restart")


def test_shares_and_pairs_bear_too_few_mitigations(study):
    assert portfolio.tables.shared_gain(study, []).frame.empty
    assert compare.interactions(study, ["faster-restart"]).empty
    one = portfolio.tables.shared_gain(study, ["faster-restart"])
    assert one.frame["value"].sum() == pytest.approx(one.together)
    assert len(interactions()) == 6


def test_all_sets_that_go_together_are_looked_at():
    choices = choice("usual", 1e7)
    three = ["shorter-stall", "faster-restart", "other-stall"]
    sets = [set(each) for n in range(4) for each in itertools.combinations(three, n)]
    there = [each for each in sets if not {"shorter-stall", "other-stall"} <= each]
    assert sorted(map(sorted, there)) == sorted(sorted(filter(None, ids.split(", "))) for ids in choices.frame["ids"])
    best = choices.frame[choices.frame["kind"].str.startswith("exact")]
    assert best["gain"].iloc[0] == choices.frame["gain"].max()
    assert set(best["titles"].iloc[0]) == {"Shorter stall", "Faster restart"}
    assert choices.frame.loc[choices.frame["ids"] == "", "names"].tolist() == ["none of them"]


def test_a_budget_that_buys_nothing_is_told_with_all_sets(study):
    none = choice("usual", 10.0)
    assert none.exact is None and "buys nothing" in none.why
    assert len(none.frame) == 6 and set(none.frame["kind"]) <= {"on the front", "other"}
    assert portfolio.tables.choose(study, [], 1e6).frame.empty


def test_the_inputs_that_move_most_vary_together():
    moved = sensitivity()
    largest = list(dict.fromkeys(moved.tornado["input"]))[:2]
    assert set(moved.indices["input"]) == set(largest)
    assert "checkpoint.stall_s" in largest
    assert len(moved.sobol.samples) == 8 * 4
    assert np.isfinite(moved.tornado["swing"]).all()


def test_what_cannot_be_varied_says_why(study):
    none = portfolio.tables.sensitivity(study, [], 2, 8, 4)
    assert none.tornado.empty and none.indices.empty and none.why
    one = sensitivity("usual", 1)
    assert one.sobol is None and "at least two inputs" in one.why and len(one.tornado)
