"""Tables on mitigations together."""

from __future__ import annotations

import pytest

from computed.mitigations import CASES, comparison
from ettr import recommendation
from ettr.chapters import portfolio
from ettr.chapters.portfolio.tables import AFTER, BEFORE


@pytest.fixture(scope="module")
def study():
    return comparison().study


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


def test_the_steps_of_a_set_add_up_to_it(study):
    table = portfolio.tables.steps_of_set(study, ["shorter-stall", "faster-restart"])
    assert set(table["id"]) == {"shorter-stall", "faster-restart"}
    assert table["alone"].iloc[0] == pytest.approx(table["added"].iloc[0])
    restart = recommendation.gain(study.runs(), study.runs(["faster-restart"]), "usd").mean
    both = recommendation.gain(study.runs(), study.runs(table["id"]), "days").mean
    assert restart and table["kept"].to_numpy() == pytest.approx((table["added"] / table["alone"]).to_numpy())
    assert table["added"].sum() == pytest.approx(both, rel=0.01)
