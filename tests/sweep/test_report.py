"""The page about a sweep: failures first, a link for each point."""

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


def test_failed_points_are_first_in_the_table(job, table):
    page = report.page(job, table)
    states = re.findall(r"<td>(done|failed)\b", page)
    assert states[0] == "failed" and states.count("failed") == 1 and len(states) == 12
    assert "boom &amp; &lt;bust&gt;" in page


def test_every_point_has_a_link(job, table):
    page = report.page(job, table)
    assert re.findall(r'href="([^"]*)"', page) == [table["notebook"][7], *table["notebook"].drop(7)]
    assert "[1.0, 2.0, 3.0, 4.0, 5.0]" in page


def test_names_cannot_become_markup_and_nothing_is_fetched(job, table):
    page = report.page(job, table)
    assert "<i>" not in page and "<b>" not in page and "<script" not in page
    assert not re.search(r'(src|href)="(https?:)?//', page)


def test_a_sweep_in_which_all_failed_has_a_page(job, table):
    page = report.page(job, table.assign(status="failed", error="no", ettr=np.nan))
    assert page.count("failed: no") == 12


def test_long_tables_say_how_much_is_left(job, table, monkeypatch):
    monkeypatch.setattr(report, "MOST_ROWS", 5)
    assert "7 more points are in results.parquet" in report.page(job, table)


def test_the_page_is_written_beside_the_table(job, table, tmp_path):
    path = report.write(job, table, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"] and path.read_text().startswith("<!doctype html>")
