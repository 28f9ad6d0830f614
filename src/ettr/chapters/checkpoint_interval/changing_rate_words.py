"""Sentences on a failure rate that changes while a job runs."""

from __future__ import annotations

import pandas as pd

from ettr.chapters.checkpoint_interval.changing_rate_tables import BURN_IN, NEW_NODES, SETTLED
from ettr.core.sentences import Finding, duration, listed, number, points, say

_LITTLE = 0.5
"""Points that are not worth a changing interval: as much as the flat band."""

_NOTHING = 0.1

_CASES = {BURN_IN: "the burn-in", NEW_NODES: "nodes that start new"}


def rates(frame: pd.DataFrame) -> Finding:
    """How the rate moves; ``frame`` as from ``changing_rate_tables.rates_and_intervals``."""
    moves = []
    for case, name in _CASES.items():
        rows = frame[frame["case"] == case]
        if rows.empty or rows["per_day"].max() == 0:
            continue
        first, last = rows.iloc[0], rows.iloc[-1]
        moves.append(f"with {name} from {number(first['per_day'])} to {number(last['per_day'])} failures a day")
    if not moves:
        return Finding(title="Without failures no rate changes", text="The job has no failures, so no rate changes.")
    settled = frame.loc[frame["case"] == SETTLED, "per_day"].iloc[0]
    start = duration(frame["exposed_d"].min() * 24)
    return Finding(
        title="A new fleet fails more at first",
        text=(
            f"The settled rate is {number(settled)} failures a day of time at risk. From {start} into the run to its "
            f"end the rate goes {listed(moves)}. Burn-in and shape are assumptions, set in the parameters above. Where "
            f"failures were counted, the rate of new nodes is such that nodes as new would have given this count."
        ),
    )


def intervals(frame: pd.DataFrame) -> Finding:
    """How the best interval follows; ``frame`` as from ``changing_rate_tables.rates_and_intervals``."""
    moves, spread = [], 1.0
    for case, name in _CASES.items():
        rows = frame[frame["case"] == case]
        if rows.empty:
            continue
        first, last = rows.iloc[0]["interval_min"], rows.iloc[-1]["interval_min"]
        spread = max(spread, last / first, first / last)
        moves.append(f"with {name} from {duration(first / 60)} to {duration(last / 60)}")
    own = duration(frame.loc[frame["case"] == SETTLED, "interval_min"].iloc[0] / 60)
    if spread < 1.005:
        same = "The best interval does not change with the rate"
        return Finding(title=same, text=f"{same}: it is {own} throughout.")
    return Finding(
        title=f"The interval that follows the rate changes by a factor of {number(spread)}",
        text=f"At the settled rate the best interval is {own}. It moves {listed(moves)}: about with the rate's root.",
    )


def one_interval(by_factor: pd.DataFrame, by_case: pd.DataFrame) -> Finding:
    """What one interval for the whole run costs.

    ``by_factor`` as from ``changing_rate_tables.one_interval_by_factor``, ``by_case`` as from
    ``changing_rate_tables.one_interval``.
    """
    sentences = [
        f"with {_CASES[str(case)]} {points(losses['settled rate'] / 100)} if it is best for the settled rate and "
        f"{points(losses['mean rate'] / 100)} if it is best for the mean rate of the run"
        for case, losses in _losses(by_case)
        if case in _CASES
    ]
    missing = [name for case, name in _CASES.items() if case not in set(by_case["case"])]
    stuck = f" With {listed(missing)} the run makes no progress at its start, so there is no answer." if missing else ""
    largest = by_factor.groupby("kept")["loss_points"].max() if len(by_factor) else pd.Series(dtype=float)
    if largest.empty or largest["mean rate"] < 1e-6:
        title = "One interval for the whole run loses nothing"
        return Finding(title=title, text=f"{title}, at any factor shown.{stuck}")
    costs = (
        f"Against an interval that follows the rate, one interval costs {'; '.join(sentences)}. " if sentences else ""
    )
    return Finding(
        title=f"One interval, for the mean rate of the run, loses {_at_most(largest['mean rate'])}",
        text=f"{costs}{_when(by_factor, largest)}{stuck}",
    )


def _at_most(loss_points: float) -> str:
    return "next to nothing" if loss_points < _NOTHING else f"at most {points(loss_points / 100)}"


def _losses(by_case: pd.DataFrame) -> list[tuple[str, dict[str, float]]]:
    return [
        (str(case), dict(zip(rows["kept"], rows["loss_points"].clip(lower=0), strict=True)))
        for case, rows in by_case.groupby("case", sort=False)
    ]


def _when(by_factor: pd.DataFrame, largest: pd.Series) -> str:
    """From which factor on a fixed interval costs more than half a point."""
    first = by_factor[by_factor["loss_points"] > _LITTLE].groupby("kept")["factor"].min()
    worst = by_factor.loc[by_factor["loss_points"].idxmax()]
    of_mean = say(
        "Even that of the run's mean rate does, from about {first:number} times on.",
        "That of the run's mean rate never does, up to {reach:number} times: plan with the rate that the run will "
        "meet.",
        first=first.get("mean rate"),
        reach=by_factor["factor"].max(),
    )
    return say(
        "The interval of the settled rate costs more than half a point from about {first:number} times that rate on, "
        "and {most:points} at worst ({ettr:share} instead of {following:share}). {of_mean}",
        "Up to {reach:number} times the settled rate neither interval costs more than half a point: one for the whole "
        "run will do.",
        first=first.get("settled rate"),
        most=largest["settled rate"] / 100,
        ettr=worst["ettr"],
        following=worst["following"],
        of_mean=of_mean,
        reach=by_factor["factor"].max(),
    )
