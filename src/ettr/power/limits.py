"""A series against what a grid allows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from ettr import evidence
from ettr.core.errors import InputError, UnknownName
from ettr.core.numbers import number_of
from ettr.core.units import unit_of
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line, header_of, without_comments
from ettr.power.binning import PowerSeries
from ettr.power.measures import UNITS, metrics
from ettr.power.spectra import band_share
from ettr.scenario.bounds import SMALLEST

KEPT, BROKEN, UNKNOWN = "kept", "broken", "not known"
BAND = "band_share"
"""The measure that needs a band, ``low_hz`` to ``high_hz``."""

_COLUMNS = ("rule", "metric", "limit", "unit")
_TEXTS = {"rule": str, "metric": str, "unit": str}
_MOST = 1e9
"""Far above any limit of a grid, and any frequency at which power is measured."""
_LONGEST = 60
_MOST_BYTES = 1_000_000
_MOST_COLUMNS = 100


def specifications() -> tuple[str, ...]:
    """Names of the specifications in the table ``grid_limits``."""
    return tuple(dict.fromkeys(evidence.table("grid_limits")["specification"]))


def specification(name_or_path: str | Path) -> pd.DataFrame:
    """The rules of a specification.

    Parameters
    ----------
    name_or_path : str or Path
        A name of :func:`specifications`, or a CSV file of one's own with columns ``rule``, ``metric`` (a measure of
        :class:`Metrics`, or ``band_share``), ``limit``, ``unit``, and for shares of a band ``low_hz`` and ``high_hz``.

    Returns
    -------
    DataFrame
        ``rule``, ``metric``, ``low_hz``, ``high_hz`` [Hz], ``limit``, ``unit``.

    Raises
    ------
    InputError
        An unknown name, or a file with a missing column, an unknown measure, a wrong unit, or a limit that is none.
    """
    given = str(name_or_path)
    if given.endswith(".csv"):
        return _read(given)
    rows = evidence.table("grid_limits")
    if given not in set(rows["specification"]):
        raise UnknownName("specification", given, rows["specification"].unique(), "or give a file ending in .csv")
    return rows[rows["specification"] == given].reset_index(drop=True)


def check(series: PowerSeries, specification_or_name: pd.DataFrame | str | Path) -> pd.DataFrame:
    """A series against each rule of a specification.

    Parameters
    ----------
    series : PowerSeries
        As from :func:`ettr.power.series`.
    specification_or_name : DataFrame, str or Path
        As for, or from, :func:`specification`.

    Returns
    -------
    DataFrame
        ``rule``, ``metric``, ``limit``, ``value``, ``unit``, ``verdict`` (``kept``, ``broken``, or ``not known`` where
        the bins or the length of the series cannot show it) and ``why`` in that case.

    Examples
    --------
    >>> import numpy as np
    >>> from ettr.power import PowerSeries
    >>> t = np.arange(12_000) * 0.02
    >>> wave = PowerSeries(0.0, 0.02, 10 + np.sin(2 * np.pi * 0.5 * t))
    >>> check(wave, "utility-example")["verdict"].tolist()
    ['not known', 'broken']
    """
    rules = specification_or_name
    if not isinstance(rules, pd.DataFrame):
        rules = specification(rules)
    measured = metrics(series)
    rows = []
    for rule in rules.to_dict("records"):
        value, why = math.nan, ""
        if rule["metric"] == BAND:
            try:
                value = band_share(series, float(rule["low_hz"]), float(rule["high_hz"]))
            except InputError as error:
                why = str(error)
        elif rule["metric"] in UNITS:
            known = getattr(measured, rule["metric"])
            value = math.nan if known is None else float(known)
            why = "; ".join(measured.notes) if known is None else ""
        else:
            raise UnknownName("measure", rule["metric"], [*UNITS, BAND])
        verdict = UNKNOWN if why else KEPT if value <= rule["limit"] else BROKEN
        named = {name: rule[name] for name in ("rule", "metric", "limit")}
        rows.append({**named, "value": value, "unit": rule["unit"], "verdict": verdict, "why": why})
    return pd.DataFrame(rows, columns=["rule", "metric", "limit", "value", "unit", "verdict", "why"])


def _read(path: str) -> pd.DataFrame:
    source = Source(path, kind="specification")
    if source.size_bytes > _MOST_BYTES:
        raise InputError(f"the specification {path} must be a short table, got {source.size_bytes:,} bytes")
    n_columns = len(header_of(first_line(without_comments(source.head())))[0])
    if n_columns > _MOST_COLUMNS:
        raise InputError(f"the specification {path} must be a short table, got {n_columns:,} columns")
    try:
        with source.utf8(Ledger()) as stream:
            rows = pd.read_csv(stream, comment="#", skipinitialspace=True, dtype=_TEXTS)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"the specification {path} is no table of commas: {error}") from error
    missing = [name for name in _COLUMNS if name not in rows.columns]
    if missing or rows.empty:
        what = f"needs columns {', '.join(missing)}" if missing else "has no rules"
        raise InputError(f"the specification {path} {what}; it has {', '.join(map(str, rows.columns))}")
    for name in ("low_hz", "high_hz"):
        if name not in rows:
            rows[name] = math.nan
    for number, row in enumerate(rows.to_dict("records"), start=2):
        _refuse_row(row, f"{path}, line {number}")
    return rows.astype({"limit": float, "low_hz": float, "high_hz": float})


def _refuse_row(row: dict[str, object], place: str) -> None:
    units = {**UNITS, BAND: "1"}
    metric = str(row["metric"])
    if metric not in units:
        raise UnknownName("measure", metric, units, place)
    if str(row["unit"]) != units[metric]:
        raise InputError(f"unit must be {units[metric]} for {metric}, got {row['unit']} ({place})")
    for name in ("limit", "low_hz", "high_hz"):
        if pd.isna(row[name]) and name != "limit" and metric != BAND:
            continue
        unit = f" {unit_of(name)}" if name != "limit" else "" if units[metric] == "1" else f" {units[metric]}"
        value = _number(row[name])
        if not 0 <= value <= _MOST:
            given = str(row[name])
            shown = given if len(given) <= _LONGEST else f"{given[:_LONGEST]}…"
            raise InputError(f"{name} must be a number from 0 to {_MOST:g}{unit} for {metric}, got {shown} ({place})")
        if 0 < value < SMALLEST:
            raise InputError(f"{name} must be 0 or >= {SMALLEST:g}{unit} for {metric}, got {row[name]} ({place})")


def _number(cell: Any) -> float:
    """The number of a cell; NaN where it is none, and infinite where it is beyond all floats."""
    try:
        return number_of(cell) if isinstance(cell, str) else float(cell)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return math.nan
