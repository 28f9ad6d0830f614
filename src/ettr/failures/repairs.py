"""Repair times, with repairs that were still open at the end of the window as censored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.probability import student_upper
from ettr.failures.groups import group_labels
from ettr.failures.lifetimes import kaplan_meier
from ettr.failures.outages import Outages

ALL = "(all)"

_TAIL = 0.025
"""Probability beyond each end of a 95% interval."""


@dataclass(frozen=True)
class RepairTimes:
    """Repair times of a log.

    Attributes
    ----------
    table : DataFrame
        A row for all failures (``(all)``) and one per group, most failures first: ``group``; ``n_events``, ``n_open``
        (still out at the window's end), ``n_unknown`` (no end, and not open), ``n_zero`` (ended when they began)
        [count]; ``mean_h`` with its 95% interval ``mean_low_h`` and ``mean_high_h``, ``median_h``,
        ``p90_h`` [h].
    downtime_h : float
        Time out of service, overlaps on a node counted once. A lower bound if ends are unknown. [node-h]
    availability : float or None
        Share of the nodes' time in service; None if not known.
    cv : float
        Coefficient of variation of all repair times, from the Kaplan-Meier curve up to the longest repair; NaN if no
        repair has ended after a positive time.
    """

    table: pd.DataFrame
    downtime_h: float
    availability: float | None
    cv: float

    @property
    def section(self) -> dict[str, Any]:
        """Section ``repair`` of a scenario: mean and coefficient of variation of all repairs, taken as log-normal.

        Raises
        ------
        InputError
            No repair has ended after a positive time.
        """
        if math.isnan(self.cv):
            raise InputError("repair times are not known: no repair in the log has an end after its start")
        return {"manual_h": float(self.overall["mean_h"]), "cv": self.cv}

    @property
    def overall(self) -> pd.Series:
        """Row of all failures."""
        return self.table.iloc[0]


def repair_times(outages: Outages, group: Any = None) -> RepairTimes:
    r"""Return the repair times, of all failures and by group.

    Parameters
    ----------
    outages : Outages
        From `find_outages`. Without nodes, failures do not overlap, and fewer missing ends can be settled as open.
    group : array or categorical, optional
        Group of each failure, e.g. its component; at most 50 are listed.

    Returns
    -------
    RepairTimes

    Raises
    ------
    InputError
        If ``group`` does not have one value per failure.

    Notes
    -----
    Quantiles are those of the Kaplan-Meier curve, with open repairs censored at the window's end; infinite if the curve
    does not fall that far. The mean is the area under the curve up to the longest time, an underestimate if open
    repairs are longer than all finished ones; its interval uses Student's t with Greenwood's error (0 to infinity for
    one finished repair). Repairs of unknown length are left out of mean and quantiles and counted; mean and quantiles
    are NaN if no repair ended.

    Examples
    --------
    >>> from ettr.failures.outages import find_outages
    >>> outages = find_outages([0.0, 1.0, 2.0, 95.0], [1.0, 3.0, 5.0, 200.0], None, 100.0, 4)
    >>> repair_times(outages).table[["n_events", "n_open", "median_h"]].to_numpy().tolist()
    [[4.0, 1.0, 2.0]]
    """
    ends = outages.failures
    if group is not None and len(group) != len(ends):
        raise InputError(f"group must have {len(ends)} values, as start_h has, got {len(group)}")
    rows = [{"group": ALL} | _lengths(ends)]
    if group is not None:
        labels = group_labels(group)
        rows += [{"group": name} | _lengths(part) for name, part in ends.groupby(labels.to_numpy())]
    table = pd.DataFrame(rows)
    order = np.lexsort((table["group"], -table["n_events"], table["group"] != ALL))
    return RepairTimes(
        table=table.iloc[order].reset_index(drop=True),
        downtime_h=outages.downtime_h,
        availability=outages.availability,
        cv=_cv(ends),
    )


def _cv(ends: pd.DataFrame) -> float:
    """Coefficient of variation from the first two moments of the survival curve."""
    duration, ended = _known_durations(ends)
    if not (duration[ended] > 0).any():
        return np.nan
    curve = kaplan_meier(duration, ended)
    survival, time_h = curve["survival"].to_numpy(), curve["time_h"].to_numpy()
    until_h = np.append(time_h[1:], max(duration.max(), time_h[-1]))
    # E[T] = int S dt and E[T^2] = int 2 t S dt, with S constant between the ages of the curve
    mean, square = survival @ (until_h - time_h), survival @ (until_h**2 - time_h**2)
    return float(np.sqrt(max(square / mean**2 - 1, 0.0)))


def _known_durations(ends: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Repair times that are known or censored, and whether each has ended."""
    with_length = ends[~ends["unknown"]]
    return (with_length["end_h"] - with_length["start_h"]).to_numpy(), ~with_length["open"].to_numpy()


def _lengths(ends: pd.DataFrame) -> dict[str, float]:
    """A row of the table without its group."""
    duration, ended = _known_durations(ends)
    row: dict[str, float] = {
        "n_events": len(ends),
        "n_open": int((~ended).sum()),
        "n_unknown": int(ends["unknown"].sum()),
        "n_zero": int((duration[ended] == 0).sum()),
    }
    curve = kaplan_meier(duration, ended) if ended.any() else None
    means = (np.nan,) * 3 if curve is None else _mean(curve, duration)
    row |= dict(zip(("mean_h", "mean_low_h", "mean_high_h"), means, strict=True))
    for column, share in (("median_h", 0.5), ("p90_h", 0.1)):
        row[column] = np.nan if curve is None else _age_at(curve, share)
    return row


def _age_at(curve: pd.DataFrame, share: float) -> float:
    """First age at which the curve has fallen to a share, with a tolerance for the rounding of its product."""
    reached = (curve["survival"] <= share + 1e-12).to_numpy()
    return float(curve["time_h"].to_numpy()[reached.argmax()]) if reached.any() else float("inf")


def _mean(curve: pd.DataFrame, duration: np.ndarray) -> tuple[float, float, float]:
    """Area under the curve up to the longest time (restricted mean), with the ends of its 95% interval."""
    time_h = curve["time_h"].to_numpy()
    areas = curve["survival"].to_numpy() * np.diff(time_h, append=max(duration.max(), time_h[-1]))
    mean, n_ended = float(areas.sum()), float(curve["n_events"].sum())
    if n_ended < 2:
        return mean, 0.0, float("inf")
    failed, at_risk = (curve[name].to_numpy()[1:] for name in ("n_events", "at_risk"))
    beyond, left = mean - np.cumsum(areas)[:-1], at_risk - failed
    inside = left > 0
    # Greenwood's variance of the area: sum over ages of (area beyond)^2 d / (n (n - d)), with Student's quantile
    variance = float((beyond**2 * failed / (at_risk * np.where(inside, left, 1)))[inside].sum())
    spread = float(student_upper(_TAIL, n_ended - 1)) * np.sqrt(variance * n_ended / (n_ended - 1))
    return mean, max(mean - spread, 0.0), mean + spread
