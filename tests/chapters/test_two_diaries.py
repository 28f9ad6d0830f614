"""Two diaries: the lost hours over time, and forecasts from what was seen by then."""

from __future__ import annotations

from functools import cache

import pytest

from ettr import Scenario, budget
from ettr.core.errors import InputError
from ettr_book.chapters import two_diaries
from ettr_book.chapters.two_diaries import published_run, published_run_names

forecasts = cache(two_diaries.published_forecasts)


@pytest.mark.parametrize("name", published_run_names())
def test_the_curve_ends_with_all_that_was_lost(name):
    run = published_run(name)
    lost = two_diaries.lost_so_far(run)
    assert lost["hours"].iloc[0] == 0 and lost["hours"].iloc[-1] == pytest.approx(run.realised.lost_h)
    assert lost["modelled"].iloc[-1] == pytest.approx((1 - budget.exact(run.scenario).ettr) * run.realised.wall_h)
    assert (lost["high"] - lost["low"]).iloc[1:].eq(2 * run.resolution_h).all()


@pytest.mark.parametrize(("name", "counts"), [("bloom-176b", [3, 1]), ("glm-130b", [9, 7, 6, 5])])
def test_the_timeline_marks_each_stop_of_the_diary(name, counts, check_chart, layer_of):
    spec = two_diaries.timeline(name).to_dict()
    check_chart(spec)
    assert len(layer_of(spec, "point")["rows"]) == sum(counts)
    assert published_run(name).events["reason"].value_counts().tolist() == counts


def test_published_runs_are_predicted_from_what_was_seen_by_then():
    frame = forecasts().set_index("run")
    assert set(frame["n_events"]) == {1, 3}
    for name, resolution in (("bloom-176b", 1.0), ("glm-130b", 0.0)):
        realised, scenario = published_run(name).realised, published_run(name).scenario
        row = frame.loc[scenario.title]
        assert row["day"] <= 0.2 * realised.wall_h / 24
        assert row["day"] + row["came_days"] == pytest.approx(realised.wall_h / 24)
        assert row["done"] * realised.productive_h / 24 == pytest.approx(row["ettr"] * row["day"])
        assert row["low_days"] < row["middle_days"] < row["high_days"] < row["came_days"] - resolution
        assert (1 - row["done"]) * realised.productive_h / 24 < row["low_days"]


def test_a_forecast_is_the_exact_form_of_the_preset_with_the_rate_that_was_counted():
    row = forecasts().set_index("run").loc["BLOOM-176B on 384 A100"]
    counted = {"n_events": 1, "node_days": 48 * 19.0, "rate_clock": "wall"}
    rest = budget.finishing(
        Scenario.load("bloom-176b").override({"failures": counted}), rate_known=False, done=row["done"]
    )
    assert row["high_days"] == pytest.approx(rest.quantile(0.95) / 24)


def test_a_forecast_needs_an_entry():
    assert len(two_diaries.published_forecasts(0.1)) == 1
    assert two_diaries.published_forecasts(0.06)["run"].tolist() == ["BLOOM-176B on 384 A100"]
    with pytest.raises(InputError, match=r"seen must reach the first entry of a diary.*0.01"):
        two_diaries.published_forecasts(0.01)
    with pytest.raises(InputError, match=r"seen.*> 0 and < 1, got 1"):
        two_diaries.published_forecasts(1)
