"""Tables on single mitigations: what each is worth, which hours it gives back, and at which size it pays."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from ettr import recommendation
from ettr.core.results import PARTS
from ettr.recommendation import Comparison, Study, break_even

PAYS, NO_PROGRESS, NO_FIT = break_even.PAYS, break_even.NO_PROGRESS, break_even.NO_FIT
"""What becomes of a mitigation at another size."""
N_KNOWN, N_ASSUMED = 8, 5
"""Rows of the ranking: of effects that are published, at least in part, and of assumed ones."""
_DRAWN_H = 1e-6


def ranking(comparison: Comparison) -> pd.DataFrame:
    """The mitigations that save most money in a run, with how far each may be off; if none does, those that save time.

    Parameters
    ----------
    comparison : Comparison
        As from :func:`ettr.recommendation.mitigations`, by money.

    Returns
    -------
    DataFrame
        A row a mitigation, those whose effect is published, at least in part, before the assumed ones, best
        first: ``id``, ``title``, ``effect`` (``published``, ``published in part`` or ``assumed``), ``musd`` that a run
        saves after the price, ``low`` and ``high`` (its plausible range) [million USD],
        ``days``, ``price_usd`` [USD].
    """
    ends = comparison.ranges.set_index("id")
    shown = pd.concat([comparison.known.head(N_KNOWN), comparison.assumed.head(N_ASSUMED)], ignore_index=True)
    shown = shown[shown["id"].isin(ends.index)]
    shown = shown[shown["usd_gain"] > 0] if (shown["usd_gain"] > 0).any() else shown[shown["days_low"] > 0]
    rows = shown.assign(
        musd=shown["usd_gain"] / 1e6,
        low=ends.loc[shown["id"], "low"].to_numpy() / 1e6,
        high=ends.loc[shown["id"], "high"].to_numpy() / 1e6,
        days=shown["days_gain"],
        price_usd=shown["own_usd"],
    )
    columns = ["id", "title", "effect", "musd", "low", "high", "days", "price_usd"]
    return rows[columns].reset_index(drop=True)


def leading(comparison: Comparison, n: int) -> tuple[str, ...]:
    """The mitigations to look at more closely: those that save most money, or else time.

    Of these only those that save it whatever the luck, and whose effect is published, at least in part.
    """
    by = "usd" if (comparison.known["usd_low"] > 0).any() else "days"
    best = comparison.known[comparison.known[f"{by}_low"] > 0]
    return tuple(best.sort_values(f"{by}_gain", ascending=False)["id"].iloc[:n])


def hours_given_back(comparison: Comparison, ids: tuple[str, ...]) -> pd.DataFrame:
    """Which part of the time budget each mitigation saves.

    Parameters
    ----------
    comparison : Comparison
        As from :func:`ettr.recommendation.mitigations`.
    ids : tuple of str
        Mitigations that were tried.

    Returns
    -------
    DataFrame
        ``id``, ``title``, ``part``, ``hours`` (that the run has less of it; negative where it has more) [h]; parts that
        no mitigation moves are left out. The hours of a mitigation sum up to what it saves.
    """
    study = comparison.study
    rows = [
        {
            "id": name,
            "title": study.catalogue[name].title,
            "part": part.removesuffix("_h"),
            "hours": getattr(study.before([name]).budget, part) - getattr(study.runs([name]).budget, part),
        }
        for name in ids
        for part in PARTS
    ]
    frame = pd.DataFrame(rows, columns=["id", "title", "part", "hours"])
    moved = frame["hours"].abs().groupby(frame["part"]).transform("max") > _DRAWN_H
    return frame[moved].reset_index(drop=True)


_COLUMNS = ["id", "title", "value", "ettr_before", "ettr", "saved", "low", "high", "saved_usd", "state", "why"]


def worth_by_size(study: Study, ids: Iterable[str], sizes: Iterable[float], n_runs: int = 20) -> pd.DataFrame:
    """Share of time that each mitigation saves on jobs of other sizes.

    Parameters
    ----------
    study : Study
        Scenario and seed.
    ids : iterable of str
        Mitigations that were tried.
    sizes : iterable of float
        Sizes, rounded to whole nodes; the job's own is added. [GPUs]
    n_runs : int
        Runs of each.

    Returns
    -------
    DataFrame
        As from :func:`ettr.recommendation.along`; empty without mitigations.
    """
    chosen, job = tuple(ids), study.baseline
    whole = {float(job.cluster.nearest_n_gpus(size)) for size in (*sizes, job.cluster.n_gpus)}
    if not chosen:
        return pd.DataFrame(columns=_COLUMNS)
    return recommendation.along(study, chosen, sorted(whole), n_runs)
