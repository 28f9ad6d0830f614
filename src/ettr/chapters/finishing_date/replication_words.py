"""Sentences on errors, on common random numbers, and on short runs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr.chapters.finishing_date.replication_tables import (
    CONTROLLED,
    FEW_SPARES,
    FULL_SUPPLY,
    OTHER_SEEDS,
    OTHER_SEEDS_CONTROLLED,
    PLAIN,
    SAME_SEED,
)
from ettr.core.sentences import Finding, count, duration, number, pct, points
from ettr.core.units import MIN_PER_H, ROUNDING

_LEAST_POINTS = 5e-4
_GAIN = 1.2
"""Smaller gains in runs are not worth a sentence."""
_SURE = 3.0
"""Standard errors from which a difference is mentioned."""
_HALF = 0.5
"""Runs that differ by less are all alike."""


def errors(frame: pd.DataFrame) -> Finding:
    """How the error falls; ``frame`` as from ``replication_tables.error_by_runs``."""
    plain = frame[frame["estimate"] == PLAIN]
    first, last = plain.iloc[0], plain.iloc[-1]
    if (plain["error_points"] < ROUNDING).any():
        return Finding(title="All runs are alike here", text="All runs are alike: one is enough.")
    power = ""
    if len(plain) > 1:
        slope = np.polyfit(np.log(plain["n_runs"]), np.log(plain["error_points"]), 1)[0]
        power = f", measured on groups of runs: it falls with the power {number(-float(slope))} of their number, and"
        power += " theory says one half"
    expected = [f"{number(row['error_points'])} points with {count(row['n_runs'])}" for row in (first, last)]
    controlled = frame[frame["estimate"] == CONTROLLED]
    gain = float(controlled["runs_ratio"].iloc[0]) if len(controlled) else 1.0
    helped = (
        f"Control variates, which correct each mean by how far the random numbers behind it were from what they should "
        f"be, are worth {number(gain)} times the runs."
        if gain > _GAIN
        else "Control variates gain next to nothing here."
    )
    return Finding(
        title="A tenth of the error takes a hundred times the runs",
        text=(
            f"The standard error of the ETTR is {expected[0]} runs and {expected[1]}{power}. {helped} The rule fails "
            f"if runs are not independent, or if a few extreme ones carry the mean: then the error is underestimated "
            f"until one of them is drawn."
        ),
    )


def common_random_numbers(frame: pd.DataFrame, given_min: float, interval_min: float) -> Finding:
    """What common random numbers are worth; ``frame`` as from ``replication_tables.difference_by_seed``."""
    rows = frame.set_index("way")
    same, other = rows.loc[SAME_SEED], rows.loc[OTHER_SEEDS]
    what = f"An interval of {duration(interval_min / MIN_PER_H)} instead of {duration(given_min / MIN_PER_H)}"
    if other["error_h"] < ROUNDING:
        text = f"{what} {_saves(same['saved_h'])} in every run: there are no random numbers to share."
        return Finding(title="There are no random numbers to share", text=text)
    ratio, controlled = same["runs_ratio"], rows.loc[OTHER_SEEDS_CONTROLLED, "runs_ratio"]
    worth = f"worth {number(ratio)} times the runs" if ratio > _GAIN else "worth hardly anything"
    cancels = "what they share cancels" if ratio > _GAIN else "yet they share too little for it to cancel"
    also = f", and control variates instead {number(controlled)} times" if controlled > _GAIN else ""
    return Finding(
        title=f"The same seed for both intervals is {worth}",
        text=(
            f"{what} {_saves(same['saved_h'])} ({_range(same)} with 95%) if both are simulated with the same seed, and "
            f"{_saves(other['saved_h'])} ({_range(other)}) with different ones, from {count(same['n_runs'])} runs "
            f"each; the closed form says that it {_saves(same['closed_h'])}. The same seed is {worth}{also}: both "
            f"meet the same failures, and {cancels}. The gain shrinks where the two are so unlike that the same "
            f"random numbers do other things to them."
        ),
    )


def _saves(hours: float) -> str:
    return f"{'saves' if hours >= 0 else 'costs'} {number(abs(hours))} h"


def _range(row: pd.Series) -> str:
    low, high = sorted((abs(row["low_h"]), abs(row["high_h"])))
    if row["low_h"] < 0 < row["high_h"]:
        return f"{number(-row['low_h'])} h lost to {number(row['high_h'])} h saved"
    return f"{number(low)} to {number(high)} h"


def lengths(frame: pd.DataFrame) -> Finding:
    """How a short run flatters; ``frame`` as from ``replication_tables.ettr_by_length``."""
    full, few = (frame[frame["pool"] == pool] for pool in (FULL_SUPPLY, FEW_SPARES))
    first, last = few.iloc[0], few.iloc[-1]
    ends = [duration(24 * row["productive_days"]) for row in (first, last)]
    pool = f"{count(first['n_spares'])} spare{'' if first['n_spares'] == 1 else 's'}, "
    pool += "as many as nodes are" if first["in_repair"] > _HALF else "where less than half a node is"
    pool += " in repair on average"
    fell = first["ettr"] - last["ettr"]
    if fell > max(_LEAST_POINTS, _SURE * np.hypot(first["error"], last["error"])):
        title = f"A full pool flatters short runs by {points(fell)}"
        sentence = (
            f"With {pool}, a run of {ends[0]} has an ETTR of "
            f"{pct(first['ettr'])}, and one of {ends[1]} {pct(last['ettr'])}: all spares are there at the start, and "
            f"it takes some repair times until as many are out as usual. A short test cannot show what spares are worth"
        )
    else:
        title = "The pool of spares does not flatter short runs here"
        sentence = f"With {pool}, short runs reach no more than long ones"
    return Finding(
        title=title,
        text=(
            f"{sentence}; where spares never run out, length makes no difference: the closed form's "
            f"{pct(full['closed_ettr'].iloc[-1])} is for any.{_averages(full, ends)} A run that starts with its usual "
            f"number of nodes in repair would not be flattered."
        ),
    )


def _averages(full: pd.DataFrame, ends: list[str]) -> str:
    """How far the mean of ratios is above the ratio of sums."""
    first, last = full.iloc[0], full.iloc[-1]
    if first["excess"] <= max(_LEAST_POINTS, _SURE * first["excess_error"]):
        return (
            " Whether runs are averaged by the ratio of sums or by the mean of their ratios makes no difference here."
        )
    return (
        f" Runs are averaged by the ratio of sums. The mean of the runs' own ETTRs would be {points(first['excess'])} "
        f"higher for runs of {ends[0]}, and {points(last['excess'])} for {ends[1]}: it lets a bad run count no more "
        f"than a good one, though it takes more hours."
    )
