"""The page about a sweep: failures first, a panel for each recorded number, a link for each point."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from ettr import sweep
from ettr.sweep import report
from notebooks import written


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    path = written(
        tmp_path_factory.mktemp("report") / "a <b>.ipynb",
        "1",
        parameters='n = 1  # whole\nword = "a"  # text\nseed = 0  # whole\nheld = 1.0  # [1]',
    )
    return sweep.NotebookJob(path, sweep.load({"n": [1, 10, 100], "word": ["<i>", "b"], "seed": [0, 1], "held": 2}, 99))


@pytest.fixture
def table(job):
    points = [dict(point.parameters) for point in job.grid.points()]
    frame = pd.DataFrame(points).assign(id=list(job.ids()), status="done", duration_s=1.5, error="")
    frame["notebook"] = "points/" + frame["id"] + ".ipynb"
    frame["ettr"] = 1 / frame["n"] + 0.01 * frame["seed"] + 0.1 * (frame["word"] == "b")
    frame["says"] = "text"
    frame["curve"] = [[1.0, 2.0, 3.0, 4.0, 5.0]] * len(frame)
    frame.loc[7, ["status", "error", "ettr"]] = ["failed", "boom & <bust>", np.nan]
    return frame


def test_one_value_over_the_parameter_with_most_values_in_groups_of_the_next(table):
    frame, across, group = report.small_multiples(table, ["n", "word", "seed"], "ettr")
    assert (across, group) == ("n", "word")
    row = frame[(frame["group"] == "b") & (frame["x"] == 100)].iloc[0]
    assert row[["mean", "low", "high"]].tolist() == pytest.approx([0.115, 0.11, 0.12])
    assert frame["x"].tolist() == sorted(frame["x"])


def test_failed_points_are_left_out_of_panels_and_first_in_the_table(job, table):
    page = report.page(job, table)
    rows = re.findall(r'<tr class="(\w+)">', page)
    assert rows[0] == "failed" and rows.count("failed") == 1 and len(rows) == 12
    assert "boom &amp; &lt;bust&gt;" in page
    assert "12 points: 11 done, 1 failed" in page


def test_every_point_has_a_link_and_every_number_a_panel(job, table):
    page = report.page(job, table)
    assert re.findall(r'href="([^"]*)"', page) == [table["notebook"][7], *table["notebook"].drop(7)]
    assert page.count("<img") == 1  # ettr; texts and lists have none
    assert "Fixed: held = 2." in page
    assert "5 values: 1 … 5" in page


def test_parameters_that_differ_in_their_last_digit_are_two_and_those_beyond_floats_are_texts(table):
    huge = pd.Series([10**400] * 6 + [10**401] * 6, table.index, dtype=object)
    table = table.assign(close=np.where(table["seed"] == 0, 0.3, 0.1 + 0.2), huge=huge)
    frame, across, group = report.small_multiples(table, ["close", "huge"], "ettr")
    assert (across, group) == ("close", "huge") and frame["x"].nunique() == frame["group"].nunique() == 2
    frame, across, _ = report.small_multiples(table, ["huge"], "ettr")
    assert across == "huge" and frame["x"].map(type).eq(str).all()


def test_names_cannot_become_markup_and_nothing_is_fetched(job, table):
    page = report.page(job, table)
    outside = re.sub(r'src="data:[^"]*"', "", page)
    assert "<i>" not in outside and "<b>" not in outside and "<script" not in outside
    assert not re.search(r'(src|href)="(https?:)?//', outside)
    assert re.search(r'<img alt="[^"]+"', page)


def test_texts_across_and_a_grid_that_does_not_vary(job, table):
    frame, across, group = report.small_multiples(table, ["word", "seed"], "ettr")
    assert (across, group) == ("seed", "word")
    frame, across, group = report.small_multiples(table, ["word"], "ettr")
    assert (across, group) == ("word", "") and frame["x"].tolist() == ["<i>", "b"]
    assert report.page(job, table.head(1)).count("<img") == 0


def test_a_sweep_in_which_all_failed_has_a_page(job, table):
    page = report.page(job, table.assign(status="failed", error="no", ettr=np.nan))
    assert "12 failed" in page and "<img" not in page


def test_long_tables_say_how_much_is_left(job, table, monkeypatch):
    monkeypatch.setattr(report, "MOST_ROWS", 5)
    assert "7 more points are in results.parquet" in report.page(job, table)


def test_the_page_is_written_beside_the_table(job, table, tmp_path):
    path = report.write(job, table, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"] and path.read_text().startswith("<!doctype html>")
