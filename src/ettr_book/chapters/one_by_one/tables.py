"""Tables on single mitigations: savings, time budget, and job size."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from ettr import recommendation
from ettr.core.results import PARTS
from ettr.recommendation import Comparison, Study, break_even

PAYS, NO_PROGRESS, NO_FIT = break_even.PAYS, break_even.NO_PROGRESS, break_even.NO_FIT
"""Results of a mitigation at another size."""
N_PUBLISHED, N_ASSUMED = 8, 5
"""Rows of the ranking: published (at least in part) and assumed effects."""
_DRAWN_H = 1e-6


def ranking(comparison: Comparison) -> pd.DataFrame:
    """Return the mitigations that save most money, with their uncertainty; if none saves money, most time.

    Parameters
    ----------
    comparison : Comparison
        As from :func:`ettr.recommendation.mitigations`, by money.

    Returns
    -------
    DataFrame
        One row per mitigation, published effects before assumed ones, best first: ``id``, ``title``, ``effect``
        (``published``, ``published in part`` or ``assumed``), ``musd`` (net saving per run), ``low`` and ``high`` (its
        plausible range) [million USD], ``days``, ``price_usd`` [USD].
    """
    ends = comparison.ranges.set_index("id")
    top = pd.concat([comparison.published.head(N_PUBLISHED), comparison.assumed.head(N_ASSUMED)], ignore_index=True)
    top = top[top["id"].isin(ends.index)]
    top = top[top["usd_gain"] > 0] if (top["usd_gain"] > 0).any() else top[top["days_low"] > 0]
    rows = top.assign(
        musd=top["usd_gain"] / 1e6,
        low=ends.loc[top["id"], "low"].to_numpy() / 1e6,
        high=ends.loc[top["id"], "high"].to_numpy() / 1e6,
        days=top["days_gain"],
        price_usd=top["own_usd"],
    )
    columns = ["id", "title", "effect", "musd", "low", "high", "days", "price_usd"]
    return rows[columns].reset_index(drop=True)


def leading(comparison: Comparison, n: int) -> tuple[str, ...]:
    """Return the mitigations to examine: those that save most money, or else time.

    Only mitigations with a significant saving and an effect that is published at least in part.
    """
    by = "usd" if (comparison.published["usd_low"] > 0).any() else "days"
    best = comparison.published[comparison.published[f"{by}_low"] > 0]
    return tuple(best.sort_values(f"{by}_gain", ascending=False)["id"].iloc[:n])


def hours_given_back(comparison: Comparison, ids: tuple[str, ...]) -> pd.DataFrame:
    """Return the parts of the time budget that each mitigation saves.

    Parameters
    ----------
    comparison : Comparison
        As from :func:`ettr.recommendation.mitigations`.
    ids : tuple of str
        Mitigations that were tried.

    Returns
    -------
    DataFrame
        ``id``, ``title``, ``part``, ``hours`` (decrease of the part, negative for an increase) [h]; parts that no
        mitigation changes are left out. The hours of a mitigation add up to its saving.
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
    """Return the share of time that each mitigation saves on jobs of other sizes.

    Parameters
    ----------
    study : Study
        Study with scenario and seed.
    ids : iterable of str
        Mitigations that were tried.
    sizes : iterable of float
        Sizes, rounded to full nodes; the job's own is added. [GPUs]
    n_runs : int
        Simulated runs of each.

    Returns
    -------
    DataFrame
        As from :func:`ettr.recommendation.along`; empty without mitigations.
    """
    chosen, job = tuple(ids), study.baseline
    node_sizes = {float(job.cluster.nearest_n_gpus(size)) for size in (*sizes, job.cluster.n_gpus)}
    if not chosen:
        return pd.DataFrame(columns=_COLUMNS)
    return recommendation.along(study, chosen, sorted(node_sizes), n_runs)
