"""What the page says of forecasts, with made-up outcomes."""

from __future__ import annotations

from datetime import date

from ettr import evidence
from ettr_book.chapters import validation
from ettr_book.validation.forecasts import score

RECORD = evidence.table("forecasts").assign(outcome=float("nan"), settled_on="")


def test_settled_lapsed_and_overdue_ones_are_said():
    table = RECORD.sort_values("settles_by", ignore_index=True)
    table.loc[0, ["outcome", "settled_on"]] = [table.loc[0, "median"], "2027-07-15"]
    table.loc[1, ["outcome", "settled_on"]] = [2 * table.loc[1, "high"], "2027-07-16"]
    table.loc[2, "settled_on"] = "2027-12-31"
    finding = validation.forecasts(score(date(2028, 1, 20), table))
    late = (table["settles_by"] < "2028-01-20").sum() - 3
    assert f"{12 - 3 - late} of 12 forecasts on record are open" in finding.text and "31 January 2028" in finding.text
    assert f"Overdue: {late}." in finding.text and late > 0
    assert "settle them: 1." in finding.text
    assert "1 of 2 outcomes" in finding.text and "50%, where 80% is expected (95% CI 1-99%)" in finding.text


def test_the_table_shows_every_forecast_with_its_state():
    rows = score(date(2026, 11, 26), RECORD).rows
    html = validation.forecasts_table(rows)._repr_html_()
    assert html.count("<tr>") == 13 and html.count("<td>open</td>") == 12
    assert "12 forecasts on record" in html
