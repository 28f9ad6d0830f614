"""The one table of columns, and the builders that draw from it."""

from __future__ import annotations

import pandas as pd
import pytest

from ettr.core.errors import InputError
from ettr.plots import builders, columns, theme


def test_axis_and_tooltip_of_a_column_come_from_one_place():
    (tip,) = (tip.to_dict() for tip in columns.tooltips("interval_min"))
    assert tip == {"field": "interval_min", "type": "quantitative", "title": "Interval [min]", "format": ".3~g"}
    axis = builders.across("interval_min").to_dict()
    assert axis["title"] == "Checkpoint interval [min]" and axis["scale"]["type"] == "log"
    assert builders.up("ettr").to_dict()["axis"]["format"] == "%"


def test_a_chart_may_mean_something_more_special_by_a_column():
    tips = columns.tooltips("interval_min", "ettr", interval_min="Best", ettr=columns.Column("ETTR", format=".0%"))
    assert [(tip.to_dict()["title"], tip.to_dict()["format"]) for tip in tips] == [
        ("Best [min]", ".3~g"),
        ("ETTR", ".0%"),
    ]


def test_two_columns_of_one_title_are_refused():
    with pytest.raises(InputError, match="two columns share one: Share, Share"):
        columns.tooltips("share", "part", part="Share")


def test_an_unknown_column_is_refused_with_the_nearest():
    with pytest.raises(InputError, match=r"unknown column 'interval_mn' .*did you mean 'interval_min'\?"):
        columns.tooltips("interval_mn")


def test_lines_keep_their_look_when_others_are_missing():
    frame = pd.DataFrame({"n_gpus": [8, 16], "ettr": [0.9, 0.8], "line": "second"})
    axes = builders.across("n_gpus"), builders.up("ettr")
    chart = builders.lines(frame, *axes, "line", ["first", "second"], columns.tooltips("line")).to_dict()
    encoding = chart["layer"][0]["encoding"]
    assert encoding["color"]["scale"] == {"domain": ["second"], "range": [theme.SERIES_COLOURS[1]]}
    assert encoding["strokeDash"]["scale"]["range"] == [theme.LINE_DASHES[1]]


def test_the_closed_form_is_a_line():
    line = builders.rule(builders.up("ettr", zero=False), 0.85).to_dict()
    assert line["encoding"]["y"]["field"] == "ettr" and line["mark"]["color"] == theme.MODEL_COLOURS["exact"]


def test_a_linear_axis_says_only_what_its_column_does():
    assert "axis" not in builders.along("since_s", nice=False).to_dict()
    assert builders.along("share").to_dict()["axis"] == {"format": "%"}
    assert builders.rows("part", ["b", "a"], grid=False).to_dict()["sort"] == ["b", "a"]
