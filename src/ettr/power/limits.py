"""Checks of a power series against the limits of a grid."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from ettr import evidence
from ettr.core.errors import InputError, UnknownName
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.power.binning import PowerSeries
from ettr.power.measures import UNITS, metrics
from ettr.power.spectra import band_share

WITHIN, EXCEEDED, UNKNOWN = "within", "exceeded", "unknown"
BAND = "band_share"
"""The only measure with a frequency band, ``low_hz`` to ``high_hz``."""

_COLUMNS = ("rule", "metric", "limit", "unit")
_NUMBERS = ("limit", "low_hz", "high_hz")
_MOST = 1e9
"""Largest limit or frequency, far above those of any grid."""
_LONGEST = 60
_MOST_BYTES = 1_000_000


def specifications() -> tuple[str, ...]:
    """Return the names of the specifications in the table ``grid_limits``.

    Examples
    --------
    >>> specifications()
    ('utility-example', 'slow-plant', 'fast-plant', 'loss-of-load')
    """
    return tuple(dict.fromkeys(evidence.table("grid_limits")["specification"]))


def specification(name_or_path: str | Path) -> pd.DataFrame:
    """Return the rules of a specification.

    Parameters
    ----------
    name_or_path : str or Path
        A name from :func:`specifications`, or a CSV file with columns ``rule``, ``metric`` (a measure of
        :class:`Metrics`, or ``band_share``), ``limit``, ``unit``, and for ``band_share`` also ``low_hz`` and
        ``high_hz``.

    Returns
    -------
    DataFrame
        ``rule``, ``metric``, ``low_hz``, ``high_hz`` [Hz], ``limit``, ``unit``.

    Raises
    ------
    InputError
        If the name is unknown, or the file has a missing column, an unknown measure, a wrong unit, or an invalid
        limit.

    Examples
    --------
    >>> specification("utility-example")[["metric", "limit"]].values.tolist()
    [['range_share', 0.1], ['band_share', 0.2]]
    """
    name = str(name_or_path)
    if name.endswith(".csv"):
        return _read(name)
    rows = evidence.table("grid_limits")
    if name not in set(rows["specification"]):
        raise UnknownName("specification", name, rows["specification"].unique(), "or give a file ending in .csv")
    return rows[rows["specification"] == name].reset_index(drop=True)


def check(series: PowerSeries, specification_or_name: pd.DataFrame | str | Path) -> pd.DataFrame:
    """Check a series against each rule of a specification.

    Parameters
    ----------
    series : PowerSeries
        Power over time, as from :func:`ettr.power.series`.
    specification_or_name : DataFrame, str or Path
        Rules as from :func:`specification`, or the argument of that function.

    Returns
    -------
    DataFrame
        ``rule``, ``metric``, ``limit``, ``value``, ``unit``, ``verdict`` (``within``, ``exceeded``, or ``unknown`` if
        the bins or the length of the series do not resolve the measure) and ``why`` it is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from ettr.power import PowerSeries
    >>> t = np.arange(12_000) * 0.02
    >>> wave = PowerSeries(0.0, 0.02, 10 + np.sin(2 * np.pi * 0.5 * t))
    >>> check(wave, "utility-example")["verdict"].tolist()
    ['unknown', 'exceeded']
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
            metric = getattr(measured, rule["metric"])
            value = math.nan if metric is None else float(metric)
            why = "; ".join(measured.notes) if metric is None else ""
        else:
            raise UnknownName("measure", rule["metric"], [*UNITS, BAND])
        verdict = UNKNOWN if why else WITHIN if value <= rule["limit"] else EXCEEDED
        fields = {name: rule[name] for name in ("rule", "metric", "limit")}
        rows.append({**fields, "value": value, "unit": rule["unit"], "verdict": verdict, "why": why})
    return pd.DataFrame(rows, columns=["rule", "metric", "limit", "value", "unit", "verdict", "why"])


def _read(path: str) -> pd.DataFrame:
    """Rules of a CSV file, with its numbers checked."""
    source = Source(path, kind="specification")
    if source.size_bytes > _MOST_BYTES:
        raise InputError(f"the specification {path} must be <= {_MOST_BYTES:,} bytes, got {source.size_bytes:,}")
    try:
        with source.utf8(Ledger()) as stream:
            rows = pd.read_csv(stream, comment="#", skipinitialspace=True, dtype=str)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"the specification {path} is not a CSV table: {error}") from error
    missing = [name for name in _COLUMNS if name not in rows.columns]
    if missing or rows.empty:
        problem = f"needs columns {', '.join(missing)}" if missing else "has no rules"
        raise InputError(f"the specification {path} {problem}; its columns are {', '.join(rows.columns[:20])}")
    rows = rows.reindex(columns=rows.columns.union(_NUMBERS, sort=False))
    for number, row in enumerate(rows.to_dict("records"), start=2):
        _refuse_row(row, f"{path}, line {number}")
    return rows.assign(**{name: pd.to_numeric(rows[name], errors="coerce") for name in _NUMBERS})


def _refuse_row(row: dict[str, object], place: str) -> None:
    """Raise for an unknown measure, a wrong unit or an invalid number."""
    units = {**UNITS, BAND: "1"}
    metric = str(row["metric"])
    if metric not in units:
        raise UnknownName("measure", metric, units, place)
    if str(row["unit"]) != units[metric]:
        raise InputError(f"unit must be {units[metric]} for {metric}, got {row['unit']} ({place})")
    for name in _NUMBERS if metric == BAND else _NUMBERS[:1]:
        if not 0 <= pd.to_numeric(str(row[name]), errors="coerce") <= _MOST:
            text = str(row[name])[:_LONGEST]
            raise InputError(f"{name} must be a number from 0 to {_MOST:g} for {metric}, got {text} ({place})")
