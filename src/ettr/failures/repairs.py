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
from ettr.failures.lifetimes import FEWEST, kaplan_meier
from ettr.failures.outages import Outages
from ettr.failures.window import checked_level

ALL = "(all)"
_MOST_FITTED = 50_000


@dataclass(frozen=True)
class RepairTimes:
    """Times out of service.

    Attributes
    ----------
    table : DataFrame
        A row for all failures (``(all)``) and one a group, the most failures first: ``group``; ``n_events``, ``n_open``
        (still out at the window's end), ``n_unknown`` (no end, and not open), ``n_zero`` (ended when they began)
        [count]; ``mean_h``, ``median_h``, ``p90_h``, each with ``_low_h`` and ``_high_h`` (``mean_low_h``, ...), and
        ``lognormal_median_h`` [h], ``lognormal_sigma``.
    downtime_h : float
        Node-hours out of service, overlaps on a node counted once. A lower bound if ends are unknown. [node-h]
    availability : float or None
        Share of the nodes' time in service; None where that is not known.
    level : float
        Coverage of all intervals.
    cv : float
        Coefficient of variation of all times out of service, from Kaplan and Meier's curve up to the longest seen; NaN
        if no repair has ended after some time.
    """

    table: pd.DataFrame
    downtime_h: float
    availability: float | None
    level: float
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


def repair_times(outages: Outages, group: Any = None, level: float = 0.95) -> RepairTimes:
    r"""How long failures lasted, by group.

    Parameters
    ----------
    outages : Outages
        From `find_outages`. Without nodes no two failures overlap, and fewer missing ends can be told from open ones.
    group : array or categorical, optional
        Group of each failure, e.g. its component; at most 50 are kept apart.
    level : float
        Coverage of the intervals.

    Returns
    -------
    RepairTimes

    Raises
    ------
    InputError
        A group for more or fewer failures than there are, or a level outside (0, 1).

    Notes
    -----
    Quantiles are Kaplan and Meier's, open repairs censored at the window's end, their intervals the ages that
    the ends of the curve's interval give; infinite where a curve does not fall that far. The mean is the area under the
    curve up to the longest time seen, an underestimate where repairs longer than all finished ones are open; its
    interval is Student's with Greenwood's error (0 to infinity for one finished repair). Repairs of
    unknown length are left out of all three and counted. The lognormal fit is by maximum likelihood, without repairs of
    0 h; its columns are NaN with fewer than five distinct lengths, as all are where no length is known. Of more than
    50,000 lengths with open ones among them, the fit takes so many at random, always the same.

    Examples
    --------
    >>> from ettr.failures.outages import find_outages
    >>> outages = find_outages([0.0, 1.0, 2.0, 95.0], [1.0, 3.0, 5.0, 200.0], None, 100.0, 4)
    >>> repair_times(outages).table[["n_events", "n_open", "median_h"]].to_numpy().tolist()
    [[4.0, 1.0, 2.0]]
    """
    checked_level(level)
    ends = outages.failures
    if group is not None and len(group) != len(ends):
        raise InputError(f"group must have {len(ends)} values, as start_h has, got {len(group)}")
    rows = [{"group": ALL} | _lengths(ends, level)]
    if group is not None:
        labels = group_labels(group)
        rows += [{"group": name} | _lengths(part, level) for name, part in ends.groupby(labels.to_numpy())]
    table = pd.DataFrame(rows)
    order = np.lexsort((table["group"], -table["n_events"], table["group"] != ALL))
    return RepairTimes(
        table=table.iloc[order].reset_index(drop=True),
        downtime_h=outages.downtime_h,
        availability=outages.availability,
        level=level,
        cv=_cv(ends, level),
    )


def _cv(ends: pd.DataFrame, level: float) -> float:
    """Coefficient of variation by the first two moments of the curve."""
    lasted, ended = _known(ends)
    if not (lasted[ended] > 0).any():
        return np.nan
    curve = kaplan_meier(lasted, ended, level=level)
    survival, time_h = curve["survival"].to_numpy(), curve["time_h"].to_numpy()
    until_h = np.append(time_h[1:], max(lasted.max(), time_h[-1]))
    mean, square = survival @ (until_h - time_h), survival @ (until_h**2 - time_h**2)
    return float(np.sqrt(max(square / mean**2 - 1, 0.0)))


def _known(ends: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Times out of service that are known, and whether each of them has ended."""
    known = ends[~ends["unknown"]]
    return (known["end_h"] - known["start_h"]).to_numpy(), ~known["open"].to_numpy()


def _lengths(ends: pd.DataFrame, level: float) -> dict[str, float]:
    """A row of the table, but for its group."""
    lasted, ended = _known(ends)
    row: dict[str, float] = {
        "n_events": len(ends),
        "n_open": int((~ended).sum()),
        "n_unknown": int(ends["unknown"].sum()),
        "n_zero": int((lasted[ended] == 0).sum()),
    }
    curve = kaplan_meier(lasted, ended, level=level) if ended.any() else None
    row |= dict(zip(("mean_h", "mean_low_h", "mean_high_h"), _mean(curve, lasted, level), strict=True))
    for name, share in (("median", 0.5), ("p90", 0.1)):
        for column, suffix in (("survival", "h"), ("low", "low_h"), ("high", "high_h")):
            row[f"{name}_{suffix}"] = np.nan if curve is None else _age_at(curve, column, share)
    return row | dict(zip(("lognormal_median_h", "lognormal_sigma"), _lognormal(lasted, ended), strict=True))


def _age_at(curve: pd.DataFrame, column: str, share: float) -> float:
    """First age at which the curve is down at a share; rounding of the product must not delay it."""
    reached = (curve[column] <= share + 1e-12).to_numpy()
    return float(curve["time_h"].to_numpy()[reached.argmax()]) if reached.any() else float("inf")


def _mean(curve: pd.DataFrame | None, lasted: np.ndarray, level: float) -> tuple[float, float, float]:
    """Area under the curve up to the longest time seen, with Greenwood's error and Student's quantile."""
    if curve is None:
        return np.nan, np.nan, np.nan
    n_ended = float(curve["n_events"].sum())
    survival = curve["survival"].to_numpy()
    areas = survival * np.diff(curve["time_h"].to_numpy(), append=max(lasted.max(), curve["time_h"].iloc[-1]))
    mean = float(areas.sum())
    failed, at_risk = (curve[name].to_numpy()[1:] for name in ("n_events", "at_risk"))
    beyond = mean - np.cumsum(areas)[:-1]
    left = at_risk - failed
    inside = left > 0
    if n_ended < 2:
        return mean, 0.0, float("inf")
    squares = float((beyond**2 * failed / (at_risk * np.where(inside, left, 1)))[inside].sum())
    spread = float(scipy.stats.t.isf((1 - level) / 2, n_ended - 1)) * np.sqrt(squares * n_ended / (n_ended - 1))
    return mean, max(mean - spread, 0.0), mean + spread


def _lognormal(lasted: np.ndarray, ended: np.ndarray) -> tuple[float, float]:
    positive = lasted > 0
    logs, ended = np.log(lasted[positive]), ended[positive]
    if len(np.unique(logs[ended])) < FEWEST:
        return np.nan, np.nan
    mean, spread = float(logs[ended].mean()), float(logs[ended].std())
    if not ended.all():
        if len(logs) > _MOST_FITTED:
            chosen = np.random.default_rng(0).choice(len(logs), _MOST_FITTED, replace=False)
            logs, ended = logs[chosen], ended[chosen]
        sample = scipy.stats.CensoredData(uncensored=logs[ended], right=logs[~ended])
        mean, spread = (float(value) for value in scipy.stats.norm.fit(sample, loc=mean, scale=spread))
    return float(np.exp(mean)), spread
