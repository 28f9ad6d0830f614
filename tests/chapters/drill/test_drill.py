"""The page on drills: what was recorded, beside what is computed for it, and that charts and words say so."""

from __future__ import annotations

import json

import pytest

from computed.chapters import drills
from ettr import evidence
from ettr.drill import Settings, Strike
from ettr.drill.settings import KINDS
from ettr_book.chapters import drill


@pytest.fixture(scope="module")
def beside():
    return drills()


@pytest.fixture(scope="module")
def parts():
    return drill.lost_parts()


def test_what_was_recorded_is_sound():
    rows = evidence.table("drill")
    settings = [Settings.of(json.loads(text)) for text in rows["settings"]]
    strikes = [[Strike(*strike) for strike in json.loads(text)] for text in rows["strikes"]]
    assert len(rows) == 20 and len({str(setting) for setting in settings}) == 20
    assert rows["is_same"].all() and (rows["n_lost_steps"] == 0).all()
    assert set.union(*(setting.kinds for setting in settings)) == set(KINDS)
    for setting, struck in zip(settings, strikes, strict=True):
        assert {strike.kind for strike in struck} <= setting.kinds
    # every drill trained all its steps
    assert rows["productive_s"].to_numpy() == pytest.approx([setting.work_s for setting in settings], rel=0.2)


def test_a_drill_beside_its_prediction(beside, parts):
    row, rows = beside.iloc[0], evidence.table("drill").iloc[0]
    names = [name for name in drill.PARTS if name in rows]
    assert row["took_s"] == pytest.approx(sum(rows[name] for name in names))
    assert row["ettr"] == pytest.approx(rows["productive_s"] / row["took_s"])
    drill_parts = parts[parts["title"] == row["title"]]
    assert drill_parts["share"].sum() == pytest.approx(1 - row["ettr"])
    assert drill_parts["share_given"].sum() == pytest.approx(1 - row["ettr_given"])
    assert row["largest_points"] >= drill_parts["points"].abs().max() - 1e-9


def test_bands_hold_their_middle(beside):
    assert (beside["low_s"] <= beside["median_s"]).all() and (beside["median_s"] <= beside["high_s"]).all()
    inside = beside["took_s"].between(0.99 * beside["low_s"], 1.01 * beside["high_s"])
    assert (inside == beside["is_in_band"]).all()
    assert set(beside["way"]) == {"exact model", "simulated fault plans"}


def test_the_answer_counts(beside):
    text = drill.answer(beside).text
    assert f"in {beside['is_near'].sum()} jobs" in text
    assert f"{beside['is_in_band'].sum()} jobs ended within" in text
    assert "bit for bit" in text
    assert "this is a bug" in drill.answer(beside.assign(is_same=False)).text


def test_charts(beside, parts, check_chart, layer_of):
    check_chart(drill.finishing_chart(beside, "They end in time").to_dict())
    both = drill.parts_chart(parts, "Every part").to_dict()
    check_chart(both)
    assert len(layer_of(both, "point")["rows"]) == len(parts)
