"""Tables on single mitigations: what each is worth, what it costs, and which hours it gives back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ettr import compare, mitigation
from ettr.compare import RATE, SIZE, Comparison, Study, break_even, cost_usd, difference
from ettr.compare.measures import gains
from ettr.core.results import PARTS

TRIED, IN_PLACE = compare.TRIED, compare.IN_PLACE
"""What became of a mitigation that was compared."""
PAYS, NO_PROGRESS, NO_FIT = break_even.PAYS, break_even.NO_PROGRESS, break_even.NO_FIT
"""What becomes of a mitigation at another size."""
PUBLISHED, NO_EVIDENCE = mitigation.PUBLISHED, mitigation.NO_EVIDENCE
"""Whether anything was published of what a mitigation does."""
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


def worth_in_days(comparison: Comparison) -> pd.DataFrame:
    """Days that each mitigation saves, or that one in place is worth.

    Parameters
    ----------
    comparison : Comparison
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
    frame = compared(comparison)
    if frame.empty:
        return pd.DataFrame(columns=_WORTH)
    ends = frame[["days_low", "days_high"]]
    effect = np.where(ends["days_low"] > 0, SAVES, np.where(ends["days_high"] < 0, COSTS_TIME, SAME))
    named = {"days_gain": "days", "days_low": "low", "days_high": "high", "days_runs_ratio": "runs_ratio"}
    rows = frame.rename(columns=named).assign(effect=effect, **_ranks(comparison, frame))[_WORTH]
    return rows.sort_values("days", ascending=False, kind="stable", ignore_index=True)


def _ranks(comparison: Comparison, frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Ranks by days of what is not in place and has evidence, and how far they may be off."""
    ids = frame.loc[(frame["state"] == TRIED) & (frame["evidence"] == PUBLISHED), "id"]
    study = comparison.study
    saves = {name: gains(study.before([name]), study.runs([name]), "days") for name in ids}
    order = sorted(saves, key=lambda name: -float(saves[name].mean()))
    ends: dict[str, dict[str, float]] = {"rank": {}, "rank_low": {}, "rank_high": {}}
    for place, name in enumerate(order, 1):
        apart = [difference(saves[name], saves[other]) for other in order if other != name]
        ends["rank"][name] = place
        ends["rank_low"][name] = 1 + sum(one.high < 0 for one in apart)
        ends["rank_high"][name] = len(order) - sum(one.low > 0 for one in apart)
    return {column: frame["id"].map(known).astype(float) for column, known in ends.items()}


def compared(comparison: Comparison) -> pd.DataFrame:
    """The rows of a comparison that have an answer."""
    return comparison.compared


def savers(worth: pd.DataFrame) -> pd.DataFrame:
    """Of a table of :func:`worth_in_days`, those not in place that save time for certain."""
    return worth[(worth["state"] == TRIED) & (worth["effect"] == SAVES)].reset_index(drop=True)


def other_worth(worth: pd.DataFrame) -> pd.DataFrame:
    """Of a table of :func:`worth_in_days`, those in place, and those tried that take time for certain."""
    there = worth["state"] == IN_PLACE
    return worth[there | (worth["effect"] == COSTS_TIME)].reset_index(drop=True)


def leading(comparison: Comparison, n: int, ids: list[str] | tuple[str, ...] = ()) -> tuple[str, ...]:
    """The mitigations to look at more closely: those that were asked for, or those that save most.

    Parameters
    ----------
    comparison : Comparison
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
        return tuple(comparison.study.catalogue[name].id for name in dict.fromkeys(ids))
    rows = savers(worth_in_days(comparison))
    return tuple(rows.loc[rows["rank"].notna(), "id"].iloc[:n])


def beside_closed_form(comparison: Comparison) -> pd.DataFrame:
    """Gain of ETTR by the closed form and by simulation, where the closed form has a term for what changes.

    Returns
    -------
    DataFrame
        ``id``, ``title``, ``closed``, ``simulated`` with ``low`` and ``high`` (95%), ``apart`` (closed less simulated),
        ``agrees`` (the closed form's lies within the interval); those that move neither by a tenth of a point are
        left out.
    """
    frame = compared(comparison)
    columns = ["id", "title", "closed", "simulated", "low", "high", "apart", "agrees"]
    if frame.empty:
        return pd.DataFrame(columns=columns)
    names = {"closed_ettr_gain": "closed", "ettr_gain": "simulated", "ettr_low": "low", "ettr_high": "high"}
    rows = frame[frame["closed_ettr_gain"].notna()].rename(columns=names)
    rows = rows[rows[["closed", "simulated"]].abs().max(axis=1) >= _LEAST_ETTR]
    agrees = rows["closed"].between(rows["low"], rows["high"])
    rows = rows.assign(apart=rows["closed"] - rows["simulated"], agrees=agrees)
    return rows.sort_values("simulated", ascending=False, ignore_index=True)[columns]


def costs_and_savings(comparison: Comparison) -> pd.DataFrame:
    """What each mitigation costs against what it saves.

    Returns
    -------
    DataFrame
        A row a mitigation that was tried: ``id``, ``title``, ``cost_usd`` (its price, and GPUs held as spares beyond
        those there), ``saved_usd`` (of GPUs, electricity and days, before its cost), ``net_usd`` [USD], ``pays``
        (``yes``, ``no`` or ``within the error``, to 95%).
    """
    study, columns = comparison.study, ["id", "title", "cost_usd", "saved_usd", "net_usd", "pays"]
    tried = comparison.frame[comparison.frame["state"] == TRIED]
    if tried.empty:
        return pd.DataFrame(columns=columns)
    cost = np.array([cost_usd(study.before([name]), study.runs([name])) for name in tried["id"]])
    pays = np.where(tried["usd_low"] > 0, "yes", np.where(tried["usd_high"] < 0, "no", SAME))
    rows = tried.assign(cost_usd=cost, saved_usd=tried["usd_gain"] + cost, net_usd=tried["usd_gain"], pays=pays)
    return rows[columns].sort_values("net_usd", ascending=False, kind="stable", ignore_index=True)


def hours_given_back(comparison: Comparison, ids: tuple[str, ...]) -> pd.DataFrame:
    """Which part of the time budget each mitigation saves.

    Parameters
    ----------
    comparison : Comparison
        As from :func:`ettr.compare.mitigations`.
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
        As from :func:`ettr.compare.along`; empty without mitigations.
    """
    chosen, job = tuple(ids), study.baseline
    whole = {float(job.cluster.nearest_n_gpus(size)) for size in (*sizes, job.cluster.n_gpus)}
    if not chosen:
        return pd.DataFrame(columns=_COLUMNS)
    return compare.along(study, chosen, SIZE, sorted(whole), n_runs)


def break_even_values(
    study: Study,
    ids: Iterable[str],
    by_size: pd.DataFrame,
    rate_factors: Iterable[float] = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    n_runs: int = 20,
) -> pd.DataFrame:
    """The size, failure rate and price from which on each mitigation pays, all else as it is.

    Parameters
    ----------
    study : Study
        Scenario and seed.
    ids : iterable of str
        Mitigations that were tried.
    by_size : DataFrame
        As from :func:`worth_by_size`.
    rate_factors : iterable of float
        Times the failure rate of the scenario.
    n_runs : int
        Runs of each.

    Returns
    -------
    DataFrame
        ``id``, ``title``; ``n_gpus`` and ``size_pays`` [GPUs], ``rate`` and ``rate_pays`` [failures per 1000
        node-days], as ``break_even`` and ``pays`` of :func:`ettr.compare.break_evens` (the rate is NaN and its verdict
        ``no failures`` where the scenario has none); ``usd_per_gpu_h`` (NaN: at no price) and ``given_usd_per_gpu_h``
        [USD/(GPU h)].
    """
    chosen = tuple(ids)
    columns = ["id", "title", "n_gpus", "size_pays", "rate", "rate_pays", "usd_per_gpu_h", "given_usd_per_gpu_h"]
    if not chosen:
        return pd.DataFrame(columns=columns)
    frame = pd.DataFrame({"id": chosen, "title": [study.catalogue[name].title for name in chosen]})
    frame = frame.join(_turns(by_size, "n_gpus", "size_pays"), on="id")
    given = study.baseline.failure_rate
    if given > 0:
        moved = compare.along(study, chosen, RATE, [given * factor for factor in rate_factors], n_runs)
        frame = frame.join(_turns(moved, "rate", "rate_pays"), on="id")
    else:
        frame = frame.assign(rate=np.nan, rate_pays="no failures")
    prices = {"break_even_usd_per_gpu_h": "usd_per_gpu_h", "given": "given_usd_per_gpu_h"}
    return frame.join(compare.at_prices(study, chosen).set_index("id")[[*prices]].rename(columns=prices), on="id")


def _turns(moved: pd.DataFrame, value: str, pays: str) -> pd.DataFrame:
    """From which value on mitigations pay, by their names; both columns under names of their own."""
    return compare.break_evens(moved).set_index("id")[["break_even", "pays"]].set_axis([value, pays], axis=1)
