"""What is said of one simulated run, and of what runs lose."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr.findings.words import Finding, count, duration, error, listed, number, pct
from ettr.scenario import Scenario

_DOWN = ("detection", "queue", "restart", "maintenance")
_AGREE = 3.0
"""Standard errors within which two numbers are said to agree."""
_NEXT_TO_NOTHING_H = 5e-3


def days(frame: pd.DataFrame, scenario: Scenario) -> Finding:
    """How ragged one run is; ``frame`` as from :func:`ettr.curves.days_of_run`."""
    first, last = int(frame["day"].iloc[0]), int(frame["day"].iloc[-1])
    when = f"days {first} to {last}" if last > first else f"day {first}"
    up_h, n_stops = _stretches(frame)
    stall_h = scenario.stall_h
    unseen = (
        f" Stalls of {duration(stall_h)} for checkpoints are too short to be seen here and count as training."
        if 0 < stall_h < 1 / 60
        else ""
    )
    if not n_stops or not up_h:
        text = f"In {when} this run is never stopped: such stretches are luck where failures are rare.{unseen}"
        return Finding(title=f"No stop in {when} of this run", text=text)
    stops = f"{count(n_stops)} stop{'' if n_stops == 1 else 's'}"
    longest = f"the longest stretch without one lasts {duration(max(up_h))}"
    share = frame.groupby("state")["lasts_min"].sum() / frame["lasts_min"].sum()
    lost = [f"{state} {pct(share[state])}" for state in ("rework", *_DOWN) if share.get(state, 0) > 0]
    return Finding(
        title=f"{stops} in {when}; {longest}",
        text=(
            f"In {when} there {'is' if n_stops == 1 else 'are'} {stops}; {longest}, the middle one "
            f"{duration(float(np.median(up_h)))}. Lost are {listed(lost)} of these days. Failures that are independent "
            f"come in clusters like these by chance; stretches of even length would mean that something else sets "
            f"them.{unseen}"
        ),
    )


def _stretches(frame: pd.DataFrame) -> tuple[list[float], int]:
    """Hours of the stretches without a stop, and the number of stops."""
    down = frame["state"].isin(_DOWN).to_numpy()
    changes = np.flatnonzero(down[1:] != down[:-1]) + 1
    hours = [float(part.sum()) for part in np.split(frame["lasts_min"].to_numpy() / 60, changes)]
    is_down = down[np.append(0, changes)]
    up_h = [lasts_h for lasts_h, stopped in zip(hours, is_down, strict=True) if not stopped]
    return up_h, int(is_down.sum())


def losses(frame: pd.DataFrame, n_runs: int) -> Finding:
    """What runs lose, and how much they differ; ``frame`` as from :func:`ettr.curves.losses_of_runs`."""
    rows = frame.set_index("part")
    if "lost" not in rows.index:
        return Finding(
            title="No run loses anything", text=f"All {count(n_runs)} runs train from their beginning to their end."
        )
    lost, parts = rows.loc["lost"], rows.drop("lost")
    of_all = f"{_h(lost['low_h'])} to {_h(lost['high_h'])}"
    off = abs(lost["mean_h"] - lost["closed_h"])
    half_h = max(1.96 * lost["error_h"], _NEXT_TO_NOTHING_H)
    average = f"{_h(lost['mean_h'])} on average (give or take {error(half_h)} h)"
    agreed = off <= max(_AGREE * lost["error_h"], _NEXT_TO_NOTHING_H)
    verdict = "the two agree" if agreed else f"the two are {_h(off)} apart, more than the simulation's error"
    width = parts["high_h"] - parts["low_h"]
    widest = width.idxmax()
    spread = (
        f" Runs differ most in {widest}: {_h(parts.loc[widest, 'low_h'])} to {_h(parts.loc[widest, 'high_h'])}."
        if width[widest] > _NEXT_TO_NOTHING_H
        else ""
    )
    return Finding(
        title=f"This run loses {_h(lost['this_h'])}; nine in ten lose {of_all}",
        text=(
            f"{count(n_runs)} runs lose {average}, and the closed form expects {_h(lost['closed_h'])}: {verdict}."
            f"{spread} One run is one draw: the {_h(lost['this_h'])} of this one say little of the mean. If a real run "
            f"lies far outside of the range, it is not its luck that is wrong but a value of the scenario."
        ),
    )


def _h(hours: float) -> str:
    return f"{number(hours)} h" if hours >= _NEXT_TO_NOTHING_H else "0 h"
