"""Data and fields

Tables of the page on data: fields, presets and GPUs.
"""

from __future__ import annotations

import pandas as pd

from ettr import evidence
from ettr.scenario import Gpu
from ettr_book.chapters.common.table import CaptionedTable, heads, named, significant


def part_figures() -> pd.DataFrame:
    """Return every figure of the GPUs in ``data/``.

    Returns
    -------
    DataFrame
        ``part``, and the columns of :meth:`ettr.Gpu.to_frame`.
    """
    return pd.concat([Gpu.load(name).to_frame().assign(part=name) for name in evidence.gpu_names()], ignore_index=True)


_RULES = ("field", "unit", "rule", "default", "meaning", "aliases")


def scenario_fields(frame: pd.DataFrame) -> CaptionedTable:
    """Return the fields of a scenario; columns as from :meth:`ettr.Scenario.dictionary`."""
    return named(frame, heads(*_RULES, aliases="Also called"), "Fields of a scenario")


def data_fields(frame: pd.DataFrame) -> CaptionedTable:
    """Return the fields of every table in ``data/``; columns as from :func:`ettr.evidence.dictionary`."""
    names = heads("table", "field", "type", "unit", "description", "rules", description="Meaning")
    return named(frame, names, "Fields of the data tables")


def presets(frame: pd.DataFrame) -> CaptionedTable:
    """Return the presets side by side; columns as from :func:`ettr.plan.presets`."""
    names = {
        "name": "Name",
        "title": "Run",
        "n_gpus": "GPUs",
        "rate_per_1000_node_days": "Failures per 1,000 node-days",
        "job_mttf_h": "MTTF [h]",
        "ettr": "ETTR",
        "best_interval_min": "Best interval [min]",
        "n_assumed": "Assumed values",
    }
    return named(frame, names, "Presets, with ETTR and best interval from the exact model")


def part_fields(frame: pd.DataFrame) -> CaptionedTable:
    """Return the fields of a GPU; columns as from :meth:`ettr.Gpu.dictionary`."""
    return named(frame, heads(*_RULES[:-1]), "Fields of a GPU")


def parts(frame: pd.DataFrame) -> CaptionedTable:
    """Return every figure of several GPUs side by side; columns as from :meth:`ettr.Gpu.to_frame`, and ``part``."""
    values = [
        f"({significant(value, 4)})" if status == "assumed" else significant(value, 4)
        for value, status in zip(frame["value"], frame["status"], strict=True)
    ]
    cells = dict(zip(zip(frame["part"], frame["field"], strict=True), values, strict=True))
    fields = frame[["field", "unit"]].drop_duplicates(ignore_index=True)
    columns = {part: [cells.get((part, field), "") for field in fields["field"]] for part in frame["part"].unique()}
    fields = pd.concat([pd.DataFrame({"field": ["also called"], "unit": [""]}), fields], ignore_index=True)
    columns = {part: [", ".join(Gpu.load(part).aliases), *cells] for part, cells in columns.items()}
    wide = fields.rename(columns={"field": "Field", "unit": "Unit"}).assign(**columns)
    return CaptionedTable(wide, "Figures of the GPUs; those in brackets are assumed")


def cooling(frame: pd.DataFrame) -> CaptionedTable:
    """Return the kinds of cooling plants; columns as in the table ``cooling``."""
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
    return named(frame, names, "Kinds of cooling plants")
