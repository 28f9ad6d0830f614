"""Tables on mitigations: published effects, assumed inputs, and ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ettr import evidence, mitigation
from ettr.core.units import unit_of
from ettr.mitigation import Catalogue
from ettr.recommendation import IN_PLACE, TRIED, Comparison, Study

NO_EVIDENCE = mitigation.NO_EVIDENCE
_LEAST_ETTR = 1e-3


def assumed_values(study: Study) -> pd.DataFrame:
    """Return the values assumed where the scenario lacks an input of a mitigation.

    Parameters
    ----------
    study : Study
        Study of some mitigations together, or of the whole catalogue.

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


def rows_to_compute(catalogue: Catalogue) -> pd.DataFrame:
    """Return the validation rows that published effects of mitigations refer to."""
    table = evidence.table("validation")
    named = {row for entry in catalogue for figure in entry.published for row in figure.rows}
    return table[table["result_id"].isin(named)].reset_index(drop=True)


def published_pairs(comparison: Comparison, computed: pd.DataFrame) -> pd.DataFrame:
    """Return published figures without and with a mitigation, and the values that the model computes.

    Parameters
    ----------
    comparison : Comparison
        As from :func:`ettr.recommendation.mitigations`.
    computed : DataFrame
        Rows of :func:`rows_to_compute`, as from :func:`ettr_book.validation.run`.

    Returns
    -------
    DataFrame
        One row per published figure of a compared mitigation: ``id``, ``title``, ``quantity``, ``before`` (NaN if only
        the result was published), ``after``, ``unit``, ``verdict`` (``reproduced``, ``consistent``, ``not
        derivable``), ``computed`` (from validation rows, in words; empty if not derivable), ``holds`` (whether the
        computation supports the verdict), ``days`` (saved in this run; NaN without an answer) [d], ``why``,
        ``source``, ``status``.
    """
    verdicts = computed.set_index("result_id")
    days = comparison.compared.set_index("id")["days_gain"]
    rows = []
    for name in comparison.frame["id"]:
        mitigation = comparison.study.catalogue[name]
        for figure in mitigation.published:
            matching = verdicts.loc[[row for row in figure.rows if row in verdicts.index]]
            rows.append(
                {
                    "id": name,
                    "title": mitigation.title,
                    "quantity": figure.quantity,
                    "before": np.nan if figure.before is None else figure.before,
                    "after": figure.after,
                    "unit": figure.unit,
                    "verdict": figure.verdict,
                    "computed": "; ".join(
                        f"{row.computed:.4g} for {row.published:.4g}" for row in matching.itertuples()
                    ),
                    "holds": _holds(figure.verdict, matching["verdict"].tolist()) and len(matching) == len(figure.rows),
                    "days": float(days.get(name, np.nan)),
                    "why": figure.why,
                    "source": figure.source or "",
                    "status": figure.status,
                }
            )
    columns = ["id", "title", "quantity", "before", "after", "unit", "verdict", "computed", "holds", "days", "why"]
    return pd.DataFrame(rows, columns=[*columns, "source", "status"])


def _holds(verdict: str, computed: list[str]) -> bool:
    """Return whether rows support a verdict: a reproduced effect needs no assumption that was fitted to it."""
    return "not reproduced" not in computed and (verdict != "reproduced" or "fitted" not in computed)


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


def beside_closed_form(comparison: Comparison) -> pd.DataFrame:
    """Return the ETTR gain by the exact model and by simulation, where the exact model covers the change.

    Returns
    -------
    DataFrame
        ``id``, ``title``, ``closed``, ``simulated`` with ``low`` and ``high`` (95%), ``apart`` (closed less simulated),
        ``agrees`` (the exact gain lies within the interval); mitigations that change neither by a tenth of a point
        are left out.
    """
    frame = comparison.compared
    columns = ["id", "title", "closed", "simulated", "low", "high", "apart", "agrees"]
    if frame.empty:
        return pd.DataFrame(columns=columns)
    names = {"closed_ettr_gain": "closed", "ettr_gain": "simulated", "ettr_low": "low", "ettr_high": "high"}
    rows = frame[frame["closed_ettr_gain"].notna()].rename(columns=names)
    rows = rows[rows[["closed", "simulated"]].abs().max(axis=1) >= _LEAST_ETTR]
    agrees = rows["closed"].between(rows["low"], rows["high"])
    rows = rows.assign(apart=rows["closed"] - rows["simulated"], agrees=agrees)
    return rows.sort_values("simulated", ascending=False, ignore_index=True)[columns]
