"""The recorded drills, beside what the rules of a run and the package's forms say of them."""

from __future__ import annotations

import json

import pandas as pd

from ettr import evidence
from ettr.core.results import TimeBudget
from ettr.core.units import S_PER_H
from ettr.drill import DrillCalibration, Settings, Strike, band, replayed

NEAR_POINTS = 2.0
"""A part of the time is near what the rules say, if their shares differ by no more. [points]"""
PARTS = {
    "productive_s": "productive_h",
    "checkpoint_s": "checkpoint_h",
    "slowdown_s": "slowdown_h",
    "rework_s": "rework_h",
    "detection_s": "detection_h",
    "queue_s": "queue_h",
    "restart_s": "restart_h",
}
"""Parts of a drill's seconds, by the parts of a time budget."""


def beside(recorded: pd.DataFrame | None = None) -> pd.DataFrame:
    """Each drill beside what it should have taken.

    Parameters
    ----------
    recorded : DataFrame, optional
        As ``data/drill.csv``, which is the default.

    Returns
    -------
    DataFrame
        A row a drill: ``setting_id``, ``title``, ``n_stops`` [count], ``took_s`` [s], ``ettr``, ``ettr_given`` (by the
        rules, with the faults as they struck), ``ettr_expected``; ``points``, measured less given, and
        ``largest_points``, the largest difference of any part's share [points]; ``is_near``; ``low_s``, ``median_s``,
        ``high_s`` (95 of 100 runs, faults unknown) [s], ``way`` (of that band), ``is_in_band``; ``is_same``,
        ``n_lost_steps``.
    """
    rows = evidence.table("drill") if recorded is None else recorded
    return pd.DataFrame([_beside(row) for row in rows.to_dict("records")])


def _beside(row: dict[str, object]) -> dict[str, object]:
    took, given, n_stops = _budgets(row)
    known = _settings(row), _calibration(row)
    expected = band(*known)
    took_s = float(S_PER_H * took.total_h)
    largest = max(
        100 * abs(getattr(took, part) / took.total_h - getattr(given, part) / given.total_h) for part in PARTS.values()
    )
    return {
        "setting_id": row["setting_id"],
        "title": row["title"],
        "n_stops": n_stops,
        "took_s": took_s,
        "ettr": float(took.ettr),
        "ettr_given": float(given.ettr),
        "ettr_expected": expected.ettr,
        "points": float(100 * (took.ettr - given.ettr)),
        "largest_points": float(largest),
        "is_near": bool(largest <= NEAR_POINTS),
        "low_s": expected.low_s,
        "median_s": expected.median_s,
        "high_s": expected.high_s,
        "way": expected.way,
        "is_in_band": expected.holds(took_s),
        "is_same": bool(row["is_same"]),
        "n_lost_steps": int(str(row["n_lost_steps"])),
    }


def parts(recorded: pd.DataFrame | None = None) -> pd.DataFrame:
    """Shares of the wall clock that each drill lost, by part.

    Returns
    -------
    DataFrame
        ``title``, ``part``, ``share`` (measured), ``share_given`` (by the rules, with the faults as they struck),
        ``points``, the first less the second [points]; without parts that neither has.
    """
    rows = evidence.table("drill") if recorded is None else recorded
    found = []
    for row in rows.to_dict("records"):
        took, given, _ = _budgets(row)
        for part in PARTS.values():
            share, share_given = (float(getattr(hours, part) / hours.total_h) for hours in (took, given))
            if part != "productive_h" and share + share_given > 0:
                found.append((row["title"], part.removesuffix("_h"), share, share_given, 100 * (share - share_given)))
    return pd.DataFrame(found, columns=["title", "part", "share", "share_given", "points"])


def _settings(row: dict[str, object]) -> Settings:
    return Settings.of(json.loads(str(row["settings"])))


def _calibration(row: dict[str, object]) -> DrillCalibration:
    return DrillCalibration(**json.loads(str(row["calibration"])))


def _budgets(row: dict[str, object]) -> tuple[TimeBudget, TimeBudget, int]:
    """Measured, by the rules with the faults as they struck, and how many stops the rules count. [h]"""
    took = TimeBudget(**{part: float(str(row[name])) / S_PER_H for name, part in PARTS.items()})
    known = _calibration(row)
    strikes = [Strike(*strike) for strike in json.loads(str(row["strikes"]))]
    account = replayed(_settings(row), known, strikes)
    return took, account.budget(known.step_s), account.n_stops
