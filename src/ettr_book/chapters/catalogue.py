"""The catalogue of mitigations"""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import evidence
from ettr.core.sentences import Finding, count
from ettr.core.units import unit_of
from ettr.mitigation import NO_EVIDENCE, Catalogue
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.ranking import names, rows_chart
from ettr.plots.theme import MODEL_COLOURS, NoChart
from ettr.recommendation import IN_PLACE, TRIED, Comparison, Study
from ettr_book import validation
from ettr_book.chapters.common.mitigations import small
from ettr_book.chapters.common.table import CaptionedTable, heads, named

_LEAST_ETTR = 1e-3
_WAYS = {"simulation": (MODEL_COLOURS["simulated"], "circle"), "exact model": (MODEL_COLOURS["exact"], "diamond")}


def places(comparison: Comparison) -> pd.DataFrame:
    """Return the rank of each mitigation, or why it has none.

    Returns
    -------
    DataFrame
        One row per mitigation, ranked ones first, then those in place, without evidence, and without an answer:
        ``id``, ``title``, ``group``, ``place`` (in words), ``days`` with ``low`` and ``high`` (95%) [d], ``evidence``,
        ``effect``, ``why`` (reason for a missing answer), ``aliases``.
    """
    columns = ["id", "title", "group", "state", "evidence", "effect", "why", "rank", "rank_low", "rank_high"]
    ends = {"days_gain": "days", "days_low": "low", "days_high": "high"}
    frame = comparison.frame[[*columns, *ends]].rename(columns=ends)
    rows = frame.assign(
        place=[_place(row) for row in frame.to_dict("records")],
        order=[_order(row) for row in frame.to_dict("records")],
        aliases=[", ".join(comparison.study.catalogue[name].aliases) for name in frame["id"]],
    )
    rows = rows.sort_values(["order", "days"], ascending=[True, False], kind="stable", ignore_index=True)
    return rows[["id", "title", "group", "place", "days", "low", "high", "evidence", "effect", "why", "aliases"]]


def _place(row: dict[str, Any]) -> str:
    if row["state"] == IN_PLACE:
        return "in place"
    if row["state"] != TRIED:
        return str(row["state"])
    if row["evidence"] == NO_EVIDENCE:
        return "no rank: no published evidence"
    if pd.isna(row["rank"]):
        return "no rank: not distinguishable from zero"
    low, high = int(row["rank_low"]), int(row["rank_high"])
    return f"{int(row['rank'])}" if low == high else f"{int(row['rank'])} ({low} to {high})"


def _order(row: dict[str, Any]) -> float:
    """Return the sort key: ranks first, then already in place, without evidence, and without an answer."""
    if row["state"] == IN_PLACE:
        return 1e6
    if row["state"] != TRIED:
        return 3e6
    return 2e6 if row["evidence"] == NO_EVIDENCE else float(row["rank"])


def ranks(comparison: Comparison) -> CaptionedTable:
    """Return the table of all mitigations with their ranks."""
    frame = places(comparison)
    ends = ["" if pd.isna(row.low) else f"{row.low:+.2f} to {row.high:+.2f}" for row in frame.itertuples()]
    columns = {"title": "Mitigation", "place": "Rank", "days": "Days saved", "ends": "95% CI", "group": "Acts on"}
    columns |= {"evidence": "Evidence", "effect": "Effect size", "why": "Why not", "aliases": "Also called"}
    cells = frame.assign(days=_signed(frame["days"]), ends=ends)
    return named(cells, columns, f"{count(len(frame))} mitigations and their ranks")


def rows_to_compute(catalogue: Catalogue) -> pd.DataFrame:
    """Return the validation rows that published effects of mitigations refer to."""
    table = evidence.table("validation")
    ids = {row for entry in catalogue for figure in entry.published for row in figure.rows}
    return table[table["result_id"].isin(ids)].reset_index(drop=True)


def published_pairs(comparison: Comparison) -> pd.DataFrame:
    """Return published figures without and with a mitigation, and the values that the model computes.

    Returns
    -------
    DataFrame
        One row per published figure of a compared mitigation: ``id``, ``title``, ``quantity``, ``before`` (NaN if only
        the result was published), ``after``, ``unit``, ``verdict`` (``reproduced``, ``consistent``, ``not
        derivable``), ``computed`` (from validation rows, in words; empty if not derivable), ``holds`` (whether the
        computation supports the verdict), ``days`` (saved in this run; NaN without an answer) [d], ``why``,
        ``source``, ``status``.
    """
    catalogue = comparison.study.catalogue
    verdicts = validation.run(rows_to_compute(catalogue)).set_index("result_id")
    days = comparison.compared.set_index("id")["days_gain"]
    rows = []
    for entry in (catalogue[name] for name in comparison.frame["id"]):
        for figure in entry.published:
            computed = verdicts.loc[[row for row in figure.rows if row in verdicts.index]]
            verdict = computed["verdict"].tolist()
            rows.append(
                {
                    "id": entry.id,
                    "title": entry.title,
                    "quantity": figure.quantity,
                    "before": np.nan if figure.before is None else figure.before,
                    "after": figure.after,
                    "unit": figure.unit,
                    "verdict": figure.verdict,
                    "computed": "; ".join(
                        f"{row.computed:.4g} for {row.published:.4g}" for row in computed.itertuples()
                    ),
                    "holds": len(computed) == len(figure.rows) and _holds(figure.verdict, verdict),
                    "days": float(days.get(entry.id, np.nan)),
                    "why": figure.why,
                    "source": figure.source or "",
                    "status": figure.status,
                }
            )
    return pd.DataFrame(rows)


def _holds(verdict: str, computed: list[str]) -> bool:
    """Return whether rows support a verdict: a reproduced effect needs no assumption that was fitted to it."""
    return "not reproduced" not in computed and (verdict != "reproduced" or "fitted" not in computed)


def published(comparison: Comparison) -> CaptionedTable:
    """Return the table of published and computed effects."""
    frame = published_pairs(comparison)
    units = ["" if unit == "1" else f" {unit}" for unit in frame["unit"]]
    before, after = (
        ["" if math.isnan(value) else f"{value:g}{unit}" for value, unit in zip(frame[name], units, strict=True)]
        for name in ("before", "after")
    )
    columns = {"title": "Mitigation", "quantity": "Published"} | heads("before", "after", "verdict", "computed")
    columns |= heads("days", "why", "source", "status", days="Here [days]")
    underived = int((frame["verdict"] == "not derivable").sum())
    caption = f"{count(underived)} of {count(len(frame))} published figures cannot be derived"
    return named(frame.assign(before=before, after=after, days=_signed(frame["days"])), columns, caption)


def _signed(values: pd.Series) -> list[str]:
    return ["" if math.isnan(value) else f"{value:+.2f}" for value in values.astype(float)]


def assumed_values(study: Study) -> pd.DataFrame:
    """Return the values assumed where the scenario lacks an input of a mitigation.

    Returns
    -------
    DataFrame
        One row per value: ``field``, ``value`` (in words), ``unit``, ``status``, ``source``, ``note``.
    """
    rows: list[dict[str, Any]] = []
    completed = study.together(study.catalogue.ids)
    baseline = completed.baseline.flat()
    for assumption in completed.assumptions:
        values = assumption.value if isinstance(assumption.value, dict) else {"": assumption.value}
        for name, value in values.items():
            field = f"{assumption.path}.{name}".rstrip(".")
            amount = f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
            rows.append(
                {
                    "field": field,
                    "value": f"{baseline[field]:g}" if assumption.of and field in baseline else amount,
                    "unit": unit_of(field),
                    "status": assumption.status,
                    "source": assumption.source or "",
                    "note": assumption.note or "",
                }
            )
    return pd.DataFrame(rows, columns=["field", "value", "unit", "status", "source", "note"])


def assumed(study: Study) -> CaptionedTable:
    """Return the table of the assumed inputs of the scenario."""
    frame = assumed_values(study)
    n_assumed = int((frame["status"] == "assumed").sum())
    caption = f"{count(len(frame))} assumed values, {count(n_assumed)} without evidence"
    return named(frame, heads("field", "value", "unit", "status", "source", "note"), caption)


def both_gains(comparison: Comparison) -> pd.DataFrame:
    """Return the ETTR gain by the exact model and by simulation, where the exact model covers the change.

    Returns
    -------
    DataFrame
        ``id``, ``title``, ``exact``, ``simulated`` with ``low`` and ``high`` (95%), ``apart`` (exact less simulated),
        all in points, and ``agrees`` (the exact gain lies within the interval); mitigations that change neither by a
        tenth of a point are left out.
    """
    columns = {"closed_ettr_gain": "exact", "ettr_gain": "simulated", "ettr_low": "low", "ettr_high": "high"}
    frame = comparison.compared.reindex(columns=["id", "title", *columns]).rename(columns=columns)
    values = list(columns.values())
    rows = frame[frame["exact"].notna() & (frame[["exact", "simulated"]].abs().max(axis=1) >= _LEAST_ETTR)]
    rows = rows.assign(**{name: 100 * rows[name].astype(float) for name in values})
    rows = rows.assign(apart=rows["exact"] - rows["simulated"], agrees=rows["exact"].between(rows["low"], rows["high"]))
    return rows.sort_values("simulated", ascending=False, ignore_index=True)


def agreement(comparison: Comparison) -> Any:
    """Draw the ETTR gain by the exact model against the simulated gain."""
    frame = both_gains(comparison)
    if frame.empty:
        return NoChart("the exact model covers none of these mitigations, or they do not change ETTR.")
    gains = rounded(frame, 4)
    long = gains.melt(["title", "apart"], ["simulated", "exact"], "way", "points")
    long = long.replace({"way": {"exact": "exact model", "simulated": "simulation"}})
    y, axis = names(frame["title"]), alt.X("points:Q", title="ETTR gained [points]", axis=alt.Axis(tickCount=6))
    intervals = alt.Chart(gains).mark_rule(strokeWidth=6, opacity=0.35, color=MODEL_COLOURS["simulated"])
    tips = tooltips("title", "way", "points", "apart", title="Mitigation", way="By")
    dots = builders.shapes(long, axis, y, "way", _WAYS, 80, tips, filled=True)
    return rows_chart(
        [intervals.encode(y=y, x=alt.X("low:Q"), x2="high:Q"), dots],
        len(frame),
        title=f"The exact model is off by {_points(frame['apart'].abs().median())} points in the median",
        subtitle=with_marks(comparison.study.scenario.title, "bars: 95% CI of the simulation"),
        description="Points of ETTR gained by the exact model, and by simulation",
        rows=(f"{row.title} {row.exact:.2f} for {row.simulated:.2f}" for row in frame.itertuples()),
    )


def agreement_in_words(comparison: Comparison) -> Finding:
    """Return how many gains of the exact model lie within the interval of the simulation, and the largest error."""
    frame = both_gains(comparison)
    if frame.empty:
        return Finding("", "The exact model covers none of these mitigations, or they do not change ETTR.")
    worst = frame.loc[frame["apart"].abs().idxmax()]
    return Finding(
        "",
        f"The exact model covers {count(len(frame))} mitigations, and for {count(int(frame['agrees'].sum()))} its gain "
        f"lies within the simulation's 95% CI. The largest error is that of {small(worst['title'])}: "
        f"{_points(worst['exact'])} points, against {_points(worst['simulated'])} simulated. The exact model leaves "
        "out nodes in repair, slow nodes and people, so its gains differ where those matter.",
    )


def _points(value: float) -> str:
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00")
