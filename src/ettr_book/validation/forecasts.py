"""Forecasts on record: intervals computed before the outcome was known, and their scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.core.errors import DataError, EttrError, UnknownName
from ettr.failures import job_mttf_h
from ettr.failures.rates import binomial_interval
from ettr.ranges.drawing import even_points
from ettr.scenario import Scenario

OPEN, OVERDUE, SETTLED, LAPSED = "open", "overdue", "settled", "lapsed"
STATES = (OPEN, OVERDUE, SETTLED, LAPSED)
"""Not due yet; due but not settled; settled by an outcome; settled because no outcome was published."""

_DRAWS = 4096
_OF_SHARE = 0.95
"""Confidence level of the share of outcomes within their intervals."""


@dataclass(frozen=True)
class ForecastBand:
    """Median and ends of a forecast interval, in the unit of its row."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Score:
    """Counts of the forecasts by state, and the share of outcomes inside their intervals.

    Attributes
    ----------
    n, n_open, n_overdue, n_settled, n_lapsed : int
        Forecasts on record, and the number in each state.
    n_inside : int
        Outcomes within their intervals.
    inside, low, high : float
        Share of outcomes within their intervals, and its Clopper-Pearson interval; NaN, 0 and 1 without any.
    level : float
        Expected share: the mean level of the settled forecasts; NaN without any.
    due : str
        Day by which the next open forecast settles; empty if none is open.
    rows : DataFrame
        Every forecast with ``state``.
    """

    n: int
    n_open: int
    n_overdue: int
    n_settled: int
    n_lapsed: int
    n_inside: int
    inside: float
    low: float
    high: float
    level: float
    due: str
    rows: pd.DataFrame


def band(row: Mapping[str, Any]) -> ForecastBand:
    """Compute the band of a forecast from its inputs.

    Parameters
    ----------
    row : mapping
        ``forecast_id``, ``model``, ``inputs`` and ``level``, as in ``data/forecasts.csv``. Of the inputs, ``ranges``
        are drawn, each log-uniform and all apart from each other, at points that fill them evenly.

    Returns
    -------
    ForecastBand
        Median and central quantiles of the computation over the draws.

    Raises
    ------
    UnknownName
        A computation that does not exist.
    DataError
        Inputs that are not JSON, or do not fit the computation.
    """
    place = f"forecasts.csv, {row['forecast_id']}"
    if row["model"] not in MODELS:
        raise UnknownName("computation", row["model"], MODELS, place)
    try:
        inputs = json.loads(row["inputs"])
        ranges = inputs.pop("ranges")
        u = even_points(_DRAWS, len(ranges), seed=0)
        drawn = {
            name: low * (high / low) ** column for (name, (low, high)), column in zip(ranges.items(), u.T, strict=True)
        }
        values = MODELS[row["model"]](drawn, **inputs)
    except (json.JSONDecodeError, KeyError, TypeError, ValueError, ArithmeticError, EttrError) as error:
        raise DataError(f"{place}: inputs do not fit {row['model']}: {error}") from error
    if not np.isfinite(values).all():
        raise DataError(f"{place}: {row['model']} has no number for all of these inputs")
    tail = (1 - row["level"]) / 2
    return ForecastBand(*(float(value) for value in np.quantile(values, (tail, 0.5, 1 - tail))))


def forecasts(today: date | None = None, table: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return every forecast on record with its state.

    Parameters
    ----------
    today : date, optional
        Day of the evaluation; today by default.
    table : DataFrame, optional
        Rows as in ``data/forecasts.csv``; that table by default.

    Returns
    -------
    DataFrame
        The rows with ``state``, one of ``STATES``.
    """
    rows = evidence.table("forecasts") if table is None else table.copy()
    day = (today or date.today()).isoformat()
    rows["state"] = [_state(row, day) for row in rows.to_dict("records")]
    return rows


def score(today: date | None = None, table: pd.DataFrame | None = None) -> Score:
    """Count the forecasts of each state, and the settled ones whose outcome lies in its interval.

    Parameters
    ----------
    today, table
        As in :func:`forecasts`.

    Returns
    -------
    Score
        Score of all forecasts on record.
    """
    rows = forecasts(today, table)
    n = {state: int((rows["state"] == state).sum()) for state in STATES}
    settled = rows[rows["state"] == SETTLED]
    within = settled["outcome"].between(settled["low"], settled["high"])
    n_inside = int(within.sum())
    low, high = binomial_interval(n_inside, n[SETTLED] - n_inside, _OF_SHARE)
    return Score(
        n=len(rows),
        n_open=n[OPEN],
        n_overdue=n[OVERDUE],
        n_settled=n[SETTLED],
        n_lapsed=n[LAPSED],
        n_inside=n_inside,
        inside=float(within.mean()) if len(settled) else float("nan"),
        low=low,
        high=high,
        level=float(settled["level"].mean()),
        due=min(rows.loc[rows["state"] == OPEN, "settles_by"], default=""),
        rows=rows,
    )


def _state(row: Mapping[str, Any], day: str) -> str:
    if row["settled_on"]:
        return LAPSED if pd.isna(row["outcome"]) else SETTLED
    if not pd.isna(row["outcome"]):
        raise DataError(f"forecasts.csv, {row['forecast_id']}: settled_on must be a day for a row with an outcome")
    return OVERDUE if row["settles_by"] < day else OPEN


def _ettr(drawn: Mapping[str, np.ndarray], scenario: str, set: Mapping[str, Any]) -> Any:
    fixed = {"recovery.init_s_per_1000_gpus": 0, **set}  # as registered: starts took as long at any size
    return budget.exact(Scenario.load(scenario).override(fixed), drawn).ettr


def _product(drawn: Mapping[str, np.ndarray]) -> Any:
    return np.prod([*drawn.values()], axis=0)


def _published_rate(cluster_id: str) -> float:
    return float(evidence.published_rates().set_index("cluster_id").loc[cluster_id, "rate"])


MODELS: dict[str, Callable[..., Any]] = {
    "ettr": _ettr,
    "job_mttf_h": lambda drawn, **inputs: job_mttf_h(**inputs, **drawn),
    "product": lambda drawn, n_gpus=1: n_gpus * _product(drawn),
    "published_rate": lambda drawn, cluster_id: _published_rate(cluster_id) * _product(drawn),
    "rate_of_gpu_days": lambda drawn: 1000 * 8 * _product({**drawn, "gpu_days": 1 / drawn["gpu_days"]}),
}
"""Computations named by rows of ``data/forecasts.csv``; arguments are the drawn inputs, and fixed ones by name."""
