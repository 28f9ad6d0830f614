"""Tables: escaped, named, rounded, and read by machines that read pages aloud."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from computed.chapters import PRESETS, claims, published
from ettr import Gpu, Scenario, evidence, plan
from ettr_book.chapters import data as data_chapter
from ettr_book.chapters import sources
from ettr_book.chapters import validation as validation_chapter
from ettr_book.chapters.common import table


class Cells(HTMLParser):
    """Rows of a table as text, and every tag that was met."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.caption, self.place = "", ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.place = tag
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.place = ""

    def handle_data(self, data):
        if self.place in ("td", "th"):
            self.rows[-1][-1] += data
        if self.place == "caption":
            self.caption += data


def read(table: table.CaptionedTable) -> Cells:
    return Cells(table._repr_html_())


def test_text_of_users_cannot_become_markup():
    evil = "<script>alert(\"x\")</script> & 'b'"
    table_of_markup = table.CaptionedTable(pd.DataFrame({evil: [evil, "b"]}), evil)
    html, cells = table_of_markup._repr_html_(), read(table_of_markup)
    assert "<script" not in html and cells.rows == [[evil], [evil], ["b"]] and cells.caption == evil
    assert set(cells.tags) == {"div", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    # the caption is an attribute too
    assert re.search(r'aria-label="&lt;script&gt;alert\(&quot;x&quot;\)', html)


def test_a_note_of_a_scenario_cannot_become_markup(plain_run):
    origin = {"status": "primary", "source": "dubey2024", "note": "<img src=x onerror=alert(1)>"}
    run = plain_run.override({"evidence": {"cluster.n_gpus": origin}})
    html = sources.charts.scenario(run.to_frame(), run.title)._repr_html_()
    assert "<img" not in html and "&lt;img src=x" in html


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (16384, "16,384"),
        (16384.0, "16,384"),
        (0.0, "0"),
        (-3.0, "-3"),
        (0.90880812, "0.9088"),
        (3.0483810, "3.048"),
        (0.00037037, "0.0003704"),
        (float("nan"), ""),
        (None, ""),
        (pd.NA, ""),
        (True, "True"),
        ("wall", "wall"),
    ],
)
def test_a_cell_shows_a_value_as_people_read_it(value, cell):
    cells = read(table.CaptionedTable(pd.DataFrame({"x": pd.Series([value, "text"], dtype=object)}), "c"))
    assert cells.rows[1] == [cell]


def test_numbers_are_marked_as_numbers():
    html = table.CaptionedTable(pd.DataFrame({"x": [1.5], "y": ["a"]}), "c")._repr_html_()
    assert '<td class="number">1.5</td>' in html and "<td>a</td>" in html
    assert 'scope="col"' in html and 'role="region"' in html and 'tabindex="0"' in html


@pytest.mark.parametrize(
    ("draw", "frame", "rows"),
    [
        (sources.charts.claims, claims, lambda: len(evidence.table("claims"))),
        (validation_chapter.validation_table, published, lambda: len(evidence.table("validation"))),
        (data_chapter.presets, plan.presets, lambda: len(PRESETS)),
        (data_chapter.scenario_fields, Scenario.dictionary, lambda: len(Scenario.dictionary())),
        (data_chapter.data_fields, evidence.dictionary, lambda: len(evidence.dictionary())),
    ],
    ids=["claims", "validation", "presets", "fields", "data"],
)
def test_every_table_of_the_book_shows_every_row(draw, frame, rows):
    drawn = frame()
    cells = read(draw(drawn))
    assert len(cells.rows) == rows() + 1
    assert all(len(row) == len(cells.rows[0]) for row in cells.rows)
    assert "nan" not in {cell for row in cells.rows for cell in row}


def test_parts_stand_side_by_side_with_assumed_figures_in_brackets():
    table = data_chapter.parts(data_chapter.part_figures()).frame.set_index("Field")
    assert table.loc["limits.power_w", ["Unit", "h100", "gb300"]].tolist() == ["W", "700", "1,400"]
    assert table.loc["leakage.power_w", "h100"] == "(90)" and table.loc["cooling.air.tau_s", "gb300"] == ""
    assert list(data_chapter.part_fields(Gpu.dictionary()).frame.columns)[:2] == ["Field", "Unit"]
    assert len(data_chapter.cooling(evidence.table("cooling")).frame) == 4
