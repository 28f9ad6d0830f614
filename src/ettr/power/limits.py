"""A series against what a grid allows."""

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

KEPT, BROKEN, UNKNOWN = "kept", "broken", "not known"
BAND = "band_share"
"""The measure that needs a band, ``low_hz`` to ``high_hz``."""

_COLUMNS = ("rule", "metric", "limit", "unit")
_NUMBERS = ("limit", "low_hz", "high_hz")
_MOST = 1e9
"""Far above any limit of a grid, and any frequency at which power is measured."""
_LONGEST = 60
_MOST_BYTES = 1_000_000


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
    try:
        with source.utf8(Ledger()) as stream:
            rows = pd.read_csv(stream, comment="#", skipinitialspace=True, dtype=str)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"the specification {path} is no table of commas: {error}") from error
    missing = [name for name in _COLUMNS if name not in rows.columns]
    if missing or rows.empty:
        what = f"needs columns {', '.join(missing)}" if missing else "has no rules"
        raise InputError(f"the specification {path} {what}; it has {', '.join(rows.columns[:20])}")
    rows = rows.reindex(columns=rows.columns.union(_NUMBERS, sort=False))
    for number, row in enumerate(rows.to_dict("records"), start=2):
        _refuse_row(row, f"{path}, line {number}")
    return rows.assign(**{name: pd.to_numeric(rows[name], errors="coerce") for name in _NUMBERS})


def _refuse_row(row: dict[str, object], place: str) -> None:
    units = {**UNITS, BAND: "1"}
    metric = str(row["metric"])
    if metric not in units:
        raise UnknownName("measure", metric, units, place)
    if str(row["unit"]) != units[metric]:
        raise InputError(f"unit must be {units[metric]} for {metric}, got {row['unit']} ({place})")
    for name in _NUMBERS if metric == BAND else _NUMBERS[:1]:
        if not 0 <= pd.to_numeric(str(row[name]), errors="coerce") <= _MOST:
            shown = str(row[name])[:_LONGEST]
            raise InputError(f"{name} must be a number from 0 to {_MOST:g} for {metric}, got {shown} ({place})")
