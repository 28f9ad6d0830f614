"""How long nodes are out, with the repairs that were still open when the watch ended."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import InputError
from ettr.failures.groups import group_labels
from ettr.failures.lifetimes import kaplan_meier
from ettr.failures.outages import Outages

ALL = "(all)"

_TAIL = 0.025
"""Probability beyond each end of an interval."""


@dataclass(frozen=True)
class RepairTimes:
    """Times out of service.

    Attributes
    ----------
    table : DataFrame
        A row for all failures (``(all)``) and one a group, the most failures first: ``group``; ``n_events``, ``n_open``
        (still out at the window's end), ``n_unknown`` (no end, and not open), ``n_zero`` (ended when they began)
        [count]; ``mean_h`` with its 95% interval ``mean_low_h`` and ``mean_high_h``, ``median_h``,
        ``p90_h`` [h].
    downtime_h : float
        Node-hours out of service, overlaps on a node counted once. A lower bound if ends are unknown. [node-h]
    availability : float or None
        Share of the nodes' time in service; None where that is not known.
    cv : float
        Coefficient of variation of all times out of service, from Kaplan and Meier's curve up to the longest seen; NaN
        if no repair has ended after some time.
    """

    table: pd.DataFrame
    downtime_h: float
    availability: float | None
    cv: float

    @property
    def section(self) -> dict[str, Any]:
        """A scenario's section ``repair`` with the mean and the spread of all repairs, taken as log-normal.

        Raises
        ------
        InputError
            No repair has ended, or none took time.
        """
        if math.isnan(self.cv):
            raise InputError("no repair in the log has ended after some time: how long they take is not known")
        return {"manual_h": float(self.overall["mean_h"]), "cv": self.cv}

    @property
    def overall(self) -> pd.Series:
        """The row of all failures."""
        return self.table.iloc[0]


def repair_times(outages: Outages, group: Any = None) -> RepairTimes:
    r"""How long failures lasted, by group.

    Parameters
    ----------
    outages : Outages
        From `find_outages`. Without nodes no two failures overlap, and fewer missing ends can be told from open ones.
    group : array or categorical, optional
        Group of each failure, e.g. its component; at most 50 are kept apart.

    Returns
    -------
    RepairTimes

    Raises
    ------
    InputError
        A group for more or fewer failures than there are.

    Notes
    -----
    Quantiles are Kaplan and Meier's, open repairs censored at the window's end; infinite where the curve does not fall
    that far. The mean is the area under the curve up to the longest time seen, an underestimate where repairs longer
    than all finished ones are open; its interval is Student's with Greenwood's error (0 to infinity for one finished
    repair). Repairs of unknown length are left out of all three and counted; all three are NaN where no repair ended.

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
    """Coefficient of variation by the first two moments of the curve."""
    lasted, ended = _known(ends)
    if not (lasted[ended] > 0).any():
        return np.nan
    curve = kaplan_meier(lasted, ended)
    survival, time_h = curve["survival"].to_numpy(), curve["time_h"].to_numpy()
    until_h = np.append(time_h[1:], max(lasted.max(), time_h[-1]))
    mean, square = survival @ (until_h - time_h), survival @ (until_h**2 - time_h**2)
    return float(np.sqrt(max(square / mean**2 - 1, 0.0)))


def _known(ends: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Times out of service that are known, and whether each of them has ended."""
    with_length = ends[~ends["unknown"]]
    return (with_length["end_h"] - with_length["start_h"]).to_numpy(), ~with_length["open"].to_numpy()


def _lengths(ends: pd.DataFrame) -> dict[str, float]:
    """A row of the table, but for its group."""
    lasted, ended = _known(ends)
    row: dict[str, float] = {
        "n_events": len(ends),
        "n_open": int((~ended).sum()),
        "n_unknown": int(ends["unknown"].sum()),
        "n_zero": int((lasted[ended] == 0).sum()),
    }
    curve = kaplan_meier(lasted, ended) if ended.any() else None
    means = (np.nan,) * 3 if curve is None else _mean(curve, lasted)
    row |= dict(zip(("mean_h", "mean_low_h", "mean_high_h"), means, strict=True))
    for column, share in (("median_h", 0.5), ("p90_h", 0.1)):
        row[column] = np.nan if curve is None else _age_at(curve, share)
    return row


def _age_at(curve: pd.DataFrame, share: float) -> float:
    """First age at which the curve is down at a share; rounding of the product must not delay it."""
    reached = (curve["survival"] <= share + 1e-12).to_numpy()
    return float(curve["time_h"].to_numpy()[reached.argmax()]) if reached.any() else float("inf")


def _mean(curve: pd.DataFrame, lasted: np.ndarray) -> tuple[float, float, float]:
    """Area under the curve up to the longest time seen, with the ends of its 95% interval."""
    time_h = curve["time_h"].to_numpy()
    areas = curve["survival"].to_numpy() * np.diff(time_h, append=max(lasted.max(), time_h[-1]))
    mean, n_ended = float(areas.sum()), float(curve["n_events"].sum())
    if n_ended < 2:
        return mean, 0.0, float("inf")
    failed, at_risk = (curve[name].to_numpy()[1:] for name in ("n_events", "at_risk"))
    beyond, left = mean - np.cumsum(areas)[:-1], at_risk - failed
    inside = left > 0
    # Greenwood's variance of the area, with Student's quantile
    variance = float((beyond**2 * failed / (at_risk * np.where(inside, left, 1)))[inside].sum())
    spread = float(scipy.stats.t.isf(_TAIL, n_ended - 1)) * np.sqrt(variance * n_ended / (n_ended - 1))
    return mean, max(mean - spread, 0.0), mean + spread
