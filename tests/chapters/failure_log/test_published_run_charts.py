"""Charts on runs whose diary is public, by their specification."""

from __future__ import annotations

from functools import cache

import pytest

from ettr.chapters import failure_log
from ettr.core.errors import InputError

FRAMES = {
    "against_model": cache(failure_log.tables.against_model),
    "losses": cache(lambda: failure_log.tables.published_run("glm-130b").losses),
}
NEEDED = {"against_model": "run realised low high modelled", "losses": "reason lost_h share n term"}


@cache
def spec(name: str) -> dict:
    return getattr(failure_log.published_run_charts, name)(FRAMES[name](), "A title.").to_dict()


@pytest.mark.parametrize("name", FRAMES)
def test_a_chart_reads_only_fields_that_its_data_has(name, check_chart):
    check_chart(spec(name))


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_column_is_an_error(name):
    for column in NEEDED[name].split():
        with pytest.raises(InputError, match=f"the chart needs column {column}; there are: "):
            getattr(failure_log.published_run_charts, name)(FRAMES[name]().drop(columns=column), "A title.")


def test_each_run_has_both_of_its_ettrs(layer_of, encoding_of):
    chart = spec("against_model")
    rows = layer_of(chart, "point")["rows"]
    frame = FRAMES["against_model"]().set_index("run")
    assert len(rows) == 2 * len(frame)
    for row in rows:
        column = "realised" if row["kind"] == "as the diary shows" else "modelled"
        assert row["ettr"] == frame.loc[row["run"], column]
    dots = encoding_of(chart, "point")
    assert dots["shape"]["field"] == dots["color"]["field"] == "kind"
    assert encoding_of(chart, "rule", "low")["x2"]["field"] == "high"
    assert "GLM-130B on 768 A100 84.6% against 96.9%" in chart["description"]


@pytest.mark.parametrize("name", failure_log.tables.published_run_names())
def test_losses_are_bars_from_zero_that_say_what_a_model_holds(name, layer_of, encoding_of):
    losses = failure_log.tables.published_run(name).losses
    chart = failure_log.published_run_charts.losses(losses, "A title.", "Whose run").to_dict()
    bars = encoding_of(chart, "bar")
    assert bars["x"]["scale"]["domain"][0] == 0 and bars["x"]["scale"]["domain"][1] > losses["lost_h"].max()
    labels = [f"{row.reason}\n{row.term}" for row in losses.itertuples()]  # colour is not all that tells the term
    assert bars["y"]["sort"] == labels == [row["what"] for row in layer_of(chart, "text")["rows"]]
    assert chart["title"]["subtitle"] == "Whose run"


def test_what_nobody_counted_is_not_a_number(layer_of):
    losses = failure_log.tables.published_run("bloom-176b").losses
    rows = layer_of(failure_log.published_run_charts.losses(losses, "A title.").to_dict(), "bar")["rows"]
    counts = {row["reason"]: row["n"] for row in rows}
    assert counts[failure_log.tables.UNNAMED] == "not known" and counts[failure_log.tables.CHECKPOINT] == "820"
