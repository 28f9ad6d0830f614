"""Tables as the pages show them: named columns, units in the head, numbers rounded, no index."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd

from ettr.charts.theme import need

_LONG = 28
"""Text longer than this gets a column wide enough to read."""


class Table:
    """A frame that shows itself as an HTML table with a caption.

    Parameters
    ----------
    frame : DataFrame
        Cells; text is escaped.
    caption : str
        What the table shows.
    digits : int
        Significant digits of numbers; whole numbers keep all theirs.
    """

    def __init__(self, frame: pd.DataFrame, caption: str, digits: int = 4) -> None:
        self.frame, self.caption, self.digits = frame, caption, digits

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in self.frame.columns)
        rows = "".join(
            "<tr>" + "".join(_cell(value, self.digits) for value in row) + "</tr>"
            for row in self.frame.itertuples(index=False, name=None)
        )
        return (
            f'<div class="book-table" role="region" aria-label="{html.escape(self.caption, quote=True)}" tabindex="0">'
            f'<table class="dataframe"><caption>{html.escape(self.caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def __repr__(self) -> str:
        return f"{self.caption}\n{self.frame.to_string(index=False)}"


def _cell(value: Any, digits: int) -> str:
    if value is None or (not isinstance(value, str) and pd.isna(value)):
        return "<td></td>"
    if isinstance(value, bool | str):
        kind = ' class="long"' if len(str(value)) > _LONG else ""
        return f"<td{kind}>{html.escape(str(value))}</td>"
    return f'<td class="number">{_digits(float(value), digits)}</td>'


def _digits(value: float, digits: int) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{float(f'{value:.{digits}g}'):,.12g}"


def _named(frame: pd.DataFrame, names: dict[str, str], caption: str, digits: int = 4) -> Table:
    """The columns of a frame that a table shows, under the names it shows them by."""
    return Table(need(frame, *names)[list(names)].rename(columns=names), caption, digits)


def claims(frame: pd.DataFrame) -> Table:
    """Every audited statement; columns as from :func:`ettr.audit.audit`, and ``document``."""
    need(frame, "claim_id", "document", "claim", "stated_value", "implied_value", "unit", "verdict", "comment")
    values = {
        name: [_with_unit(value, unit) for value, unit in zip(frame[name], frame["unit"], strict=True)]
        for name in ("stated_value", "implied_value")
    }
    names = {
        "claim_id": "No.",
        "claim": "Statement",
        "verdict": "Verdict",
        "stated_value": "Stated",
        "implied_value": "Implied",
        "comment": "Why",
        "document": "Document",
    }
    return _named(frame.assign(**values), names, f"{len(frame)} published statements and their verdicts")


def _with_unit(value: float, unit: str) -> str:
    """A number and its unit as one cell; empty where there is no number, bare where it is a count."""
    return "" if pd.isna(value) else f"{_digits(value, 4)} {'' if unit in ('count', '1') else unit}".strip()


def validation(frame: pd.DataFrame) -> Table:
    """Every published result; columns as from :func:`ettr.validation.run`."""
    names = {
        "quantity": "Result",
        "published": "Published",
        "computed": "Computed",
        "unit": "Unit",
        "verdict": "Verdict",
        "kind": "Kind",
        "tolerance": "Tolerance",
        "tolerance_reason": "Because",
        "source": "Source",
        "status": "Status",
        "comment": "Note",
    }
    return _named(frame, names, f"{len(frame)} published results, computed again")


def scenario(frame: pd.DataFrame, title: str) -> Table:
    """Every value of a scenario with its origin; columns as from :meth:`ettr.Scenario.to_frame`."""
    names = {
        "field": "Field",
        "value": "Value",
        "unit": "Unit",
        "status": "Status",
        "source": "Source",
        "note": "Note",
    }
    return _named(frame, names, f"Values of the scenario {title}, and where they come from", digits=8)


def scenario_fields(frame: pd.DataFrame) -> Table:
    """The fields of a scenario; columns as from :meth:`ettr.Scenario.dictionary`."""
    names = {"field": "Field", "unit": "Unit", "rule": "Rule", "default": "Default", "meaning": "Meaning"}
    return _named(frame, names, "Fields of a scenario")


def data_fields(frame: pd.DataFrame) -> Table:
    """The fields of every table in ``data/``; columns as from :func:`ettr.evidence.dictionary`."""
    names = {
        "table": "Table",
        "field": "Field",
        "type": "Type",
        "unit": "Unit",
        "description": "Meaning",
        "rules": "Rules",
    }
    return _named(frame, names, "Fields of the data tables")


def presets(frame: pd.DataFrame) -> Table:
    """The presets side by side; columns as from :func:`ettr.plan.presets`."""
    names = {
        "name": "Name",
        "title": "Run",
        "n_gpus": "GPUs",
        "rate_per_1000_node_days": "Failures per 1000 node-days",
        "job_mttf_h": "Time to failure [h]",
        "ettr": "ETTR",
        "best_interval_min": "Best interval [min]",
        "n_assumed": "Assumed values",
    }
    return _named(frame, names, "Presets, with what the exact form makes of them")


def part_fields(frame: pd.DataFrame) -> Table:
    """The fields of a part; columns as from :meth:`ettr.Part.dictionary`."""
    names = {"field": "Field", "unit": "Unit", "rule": "Rule", "default": "Default", "meaning": "Meaning"}
    return _named(frame, names, "Fields of a part")


def parts(frame: pd.DataFrame) -> Table:
    """Every figure of several parts side by side; columns as from :meth:`ettr.Part.to_frame`, and ``part``."""
    need(frame, "part", "field", "unit", "value", "status")
    told = [
        f"({_digits(value, 4)})" if status == "assumed" else _digits(value, 4)
        for value, status in zip(frame["value"], frame["status"], strict=True)
    ]
    cells = dict(zip(zip(frame["part"], frame["field"], strict=True), told, strict=True))
    fields = frame[["field", "unit"]].drop_duplicates(ignore_index=True)
    columns = {part: [cells.get((part, field), "") for field in fields["field"]] for part in frame["part"].unique()}
    wide = fields.rename(columns={"field": "Field", "unit": "Unit"}).assign(**columns)
    return Table(wide, "Figures of the parts; those in brackets are assumed")


def cooling(frame: pd.DataFrame) -> Table:
    """Kinds of cooling plants; columns as of the table ``cooling``."""
    names = {
        "name": "Name",
        "title": "Plant",
        "medium": "Heat leaves by",
        "approach_k": "Over outdoor air [K]",
        "least_c": "Set point [°C]",
        "most_c": "Chiller [°C]",
        "pue": "PUE",
        "status": "Status",
        "note": "Note",
    }
    return _named(frame, names, "Kinds of cooling plants")
