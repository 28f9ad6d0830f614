"""Tables on single mitigations: what each is worth, what it costs, and which hours it gives back."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr import compare
from ettr.compare import IN_PLACE, TRIED, Comparison, cost_usd, difference
from ettr.mitigation import PUBLISHED
from ettr.results import PARTS

SAVES, COSTS_TIME, SAME = "saves time", "takes time", "within the error"
"""What a mitigation that was tried does to the end of the run, to 95%."""
_LEAST_ETTR = 1e-3
_DRAWN_H = 1e-6
_WORTH = [
    "id",
    "title",
    "group",
    "mechanism",
    "evidence",
    "basis",
    "state",
    "effect",
    "days",
    "low",
    "high",
    "ettr",
    "rank",
    "rank_low",
    "rank_high",
    "runs_ratio",
]


def worth_in_days(found: Comparison) -> pd.DataFrame:
    """Days that each mitigation saves, or that one in place is worth.

    Parameters
    ----------
    found : Comparison
        As from :func:`ettr.compare.mitigations`.

    Returns
    -------
    DataFrame
        A row a mitigation that was compared, most first: ``id``, ``title``, ``group``, ``mechanism``, ``evidence``,
        ``basis``, ``state``, ``effect`` (``saves time``, ``takes time`` or ``within the error``), ``days`` with ``low``
        and ``high`` (95%) [d], ``ettr``, ``rank`` by days among those not in place (NaN without evidence), ``rank_low``
        and ``rank_high`` (those whose difference is certain to 95% come before or after), ``runs_ratio`` (runs of
        independent simulations with the same error, over those of paired ones; infinite where both differ by the same
        in every run).
    """
    frame = compared(found)
    if frame.empty:
        return pd.DataFrame(columns=_WORTH)
    ends = frame[["days_low", "days_high"]]
    effect = np.where(ends["days_low"] > 0, SAVES, np.where(ends["days_high"] < 0, COSTS_TIME, SAME))
    named = {"days_gain": "days", "days_low": "low", "days_high": "high", "days_runs_ratio": "runs_ratio"}
    rows = frame.rename(columns=named).assign(effect=effect, **_ranks(found, frame))[_WORTH]
    return rows.sort_values("days", ascending=False, kind="stable", ignore_index=True)


def _ranks(found: Comparison, frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Ranks by days of what is not in place and has evidence, and how far they may be off."""
    ids = frame.loc[(frame["state"] == TRIED) & (frame["evidence"] == PUBLISHED), "id"]
    takes = {name: found.study.runs([name]).values("days") for name in ids}
    order = sorted(takes, key=lambda name: float(takes[name].mean()))
    ends: dict[str, dict[str, float]] = {"rank": {}, "rank_low": {}, "rank_high": {}}
    for place, name in enumerate(order, 1):
        apart = [difference(takes[name], takes[other]) for other in order if other != name]
        ends["rank"][name] = place
        ends["rank_low"][name] = 1 + sum(one.low > 0 for one in apart)
        ends["rank_high"][name] = len(order) - sum(one.high < 0 for one in apart)
    return {column: frame["id"].map(known).astype(float) for column, known in ends.items()}


def compared(found: Comparison) -> pd.DataFrame:
    """The rows of a comparison that have an answer."""
    return found.frame[found.frame["state"].isin(compare.COMPARED)]


def savers(worth: pd.DataFrame) -> pd.DataFrame:
    """Of a table of :func:`worth_in_days`, those not in place that save time for certain."""
    return worth[(worth["state"] == TRIED) & (worth["effect"] == SAVES)].reset_index(drop=True)


def other_worth(worth: pd.DataFrame) -> pd.DataFrame:
    """Of a table of :func:`worth_in_days`, those in place, and those tried that take time for certain."""
    there = worth["state"] == IN_PLACE
    return worth[there | (worth["effect"] == COSTS_TIME)].reset_index(drop=True)


def leading(found: Comparison, n: int, ids: list[str] | tuple[str, ...] = ()) -> tuple[str, ...]:
    """The mitigations to look at more closely: those that were asked for, or those that save most.

    Parameters
    ----------
    found : Comparison
        As from :func:`ettr.compare.mitigations`.
    n : int
        How many at most.
    ids : list of str
        To take instead.

    Returns
    -------
    tuple of str
        Of those not given, only those that have evidence and save time for certain; perhaps none.
    """
    if ids:
        return tuple(found.study.catalogue[name].id for name in dict.fromkeys(ids))
    rows = savers(worth_in_days(found))
    return tuple(rows.loc[rows["rank"].notna(), "id"].iloc[:n])


def beside_closed_form(found: Comparison) -> pd.DataFrame:
    """Gain of ETTR by the closed form and by simulation, where the closed form has a term for what changes.

    Returns
    -------
    DataFrame
        ``id``, ``title``, ``closed``, ``simulated`` with ``low`` and ``high`` (95%), ``apart`` (closed less simulated),
        ``agrees`` (the closed form's lies within the interval); those that move neither by a tenth of a point are
        left out.
    """
    frame = compared(found)
    columns = ["id", "title", "closed", "simulated", "low", "high", "apart", "agrees"]
    if frame.empty:
        return pd.DataFrame(columns=columns)
    frame = frame[frame["closed_ettr_gain"].notna()]
    frame = frame[frame[["closed_ettr_gain", "ettr_gain"]].abs().max(axis=1) >= _LEAST_ETTR]
    rows = pd.DataFrame(
        {
            "id": frame["id"],
            "title": frame["title"],
            "closed": frame["closed_ettr_gain"],
            "simulated": frame["ettr_gain"],
            "low": frame["ettr_low"],
            "high": frame["ettr_high"],
        }
    )
    rows["apart"] = rows["closed"] - rows["simulated"]
    rows["agrees"] = rows["closed"].between(rows["low"], rows["high"])
    return rows.sort_values("simulated", ascending=False, ignore_index=True)[columns]


def costs_and_savings(found: Comparison) -> pd.DataFrame:
    """What each mitigation costs against what it saves.

    Returns
    -------
    DataFrame
        A row a mitigation that was tried: ``id``, ``title``, ``evidence``, ``basis``, ``cost_usd`` (its price, and GPUs
        held as spares beyond those there), ``own_usd`` (its price alone), ``saved_usd`` (of GPUs, electricity and days,
        before its cost), ``net_usd`` with ``low`` and ``high`` (95%) [USD], ``pays`` (``yes``, ``no`` or ``within the
        error``).
    """
    told = found.study
    rows = []
    for row in found.frame[found.frame["state"] == TRIED].itertuples():
        cost = cost_usd(told.runs(), told.runs([row.id]))
        rows.append(
            {
                "id": row.id,
                "title": row.title,
                "evidence": row.evidence,
                "basis": row.basis,
                "cost_usd": cost,
                "own_usd": row.own_usd,
                "saved_usd": row.usd_gain + cost,
                "net_usd": row.usd_gain,
                "low": row.usd_low,
                "high": row.usd_high,
                "pays": "yes" if row.usd_low > 0 else "no" if row.usd_high < 0 else SAME,
            }
        )
    columns = ["id", "title", "evidence", "basis", "cost_usd", "own_usd", "saved_usd", "net_usd", "low", "high", "pays"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.sort_values("net_usd", ascending=False, kind="stable", ignore_index=True)


def hours_given_back(found: Comparison, ids: tuple[str, ...]) -> pd.DataFrame:
    """Which part of the time budget each mitigation saves.

    Parameters
    ----------
    found : Comparison
        As from :func:`ettr.compare.mitigations`.
    ids : tuple of str
        Mitigations that were tried.

    Returns
    -------
    DataFrame
        ``id``, ``title``, ``part``, ``hours`` (that the run has less of it; negative where it has more) [h]; parts that
        no mitigation moves are left out. The hours of a mitigation sum up to what it saves.
    """
    told = found.study
    before = told.runs().budget
    rows = [
        {
            "id": name,
            "title": told.catalogue[name].title,
            "part": part.removesuffix("_h"),
            "hours": getattr(before, part) - getattr(told.runs([name]).budget, part),
        }
        for name in ids
        for part in PARTS
    ]
    frame = pd.DataFrame(rows, columns=["id", "title", "part", "hours"])
    moved = frame["hours"].abs().groupby(frame["part"]).transform("max") > _DRAWN_H
    return frame[moved].reset_index(drop=True)
