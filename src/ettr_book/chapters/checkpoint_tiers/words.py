"""Text on checkpoint tiers, the store, and silent failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, capital, count, listed, points, say
from ettr_book.chapters.checkpoint_tiers.tables import ALONE, CURRENT, SCENARIO_TIERS, STORE, store_only
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_LEAST_POINTS = 5e-4
"""Smaller differences of ETTR are not mentioned."""


def answer(rungs: pd.DataFrame, scenario: Scenario) -> Finding:
    """Return the gain from all tiers together; columns as from ``tables.ladder``."""
    each = _each(rungs)
    by_rung = each.set_index("rung")["ettr"]
    best = by_rung.idxmax()
    values = {
        "best": capital(_named(best)),
        "tiers_gain": by_rung[best] - by_rung.drop(CURRENT, errors="ignore").iloc[0],
        "ettr": by_rung.get(CURRENT),
        "store": by_rung.get(STORE),
        "rest": rungs[(rungs["rung"] == best) & rungs["part"].isin(["detection", "queue", "restart"])]["share"].sum(),
        "aside": _set_aside(scenario),
    }
    gains = values["tiers_gain"] >= _LEAST_POINTS
    title = say("{best} gain {tiers_gain:points} of ETTR", **values) if gains else "Faster tiers gain nothing here"
    bought = say("**{best} would gain {#tiers_gain:points} of ETTR.**", **values) if gains else f"**{title}.**"
    return Finding(
        title=title,
        text=bought
        + say(
            " The current run has {#ettr:share0}. Without planned stops and at the best interval, the store alone "
            "gives {store:share0}, the baseline of these gains.",
            **values,
        )
        + say(
            " With them, {rest:share} still goes into detection, queue and restart, which no checkpoint saves. The "
            "cost of each tier is published; which failures it survives is mostly assumed.{aside}",
            **values,
        ),
    )


def _set_aside(scenario: Scenario) -> str:
    """Return the features of a scenario that the exact model cannot combine with tiers."""
    names = {
        "its announced failures": scenario.prediction is not None,
        "the latency of its silent failures": bool(scenario.latencies_h),
        "the slowdown by its background write": scenario.checkpoint.persist_slowdown * scenario.persist_h > 0,
    }
    dropped = [name for name, is_present in names.items() if is_present]
    return (
        f" The exact model cannot combine these with tiers, so they are left out: {listed(dropped)}." if dropped else ""
    )


def _named(rung: str) -> str:
    """Return a rung as the subject of a sentence."""
    if rung.startswith("+ "):
        return f"tiers up to {rung.removeprefix('+ ')}"
    return (
        "its own tiers"
        if rung == SCENARIO_TIERS
        else f"{rung.removesuffix(ALONE).lower().replace(' ', '-')} checkpoints"
    )


def ladder(rungs: pd.DataFrame) -> Finding:
    """Return the gain from each tier; columns as from ``tables.ladder``."""
    each = _each(rungs)
    steps = each.assign(gain=each["ettr"].diff())[each["rung"].str.startswith("+")]
    if steps.empty:
        return Finding("Only the store alone has an answer", "No set of tiers has an answer here.")
    largest = steps.loc[steps["gain"].idxmax()]
    host = each.loc[each["rung"] == "+ host memory", "from_store"]
    return Finding(
        title=f"The largest step is {largest['rung'].removeprefix('+ ')}: {points(largest['gain'])}",
        text=say(
            "One after the other: {gains:list}. Below all of them the store's own best interval is {interval:roughly}, "
            "since few failures still need it. That {kept:share0} of failures leave host memory intact is assumed.",
            gains=[f"{row.rung.removeprefix('+ ')} ({points(row.gain)})" for row in steps.itertuples()],
            interval=steps["interval_min"].iloc[-1] / 60,
            kept=1 - host.iloc[0] if len(host) else None,
        ),
    )


def _each(rungs: pd.DataFrame) -> pd.DataFrame:
    return rungs.drop_duplicates("rung", ignore_index=True)


def by_hand(rungs: pd.DataFrame, scenario: Scenario) -> Finding:
    """Return the gain from a copy in memory in three lines of arithmetic."""
    if scenario.job_rate_per_h == 0 or scenario.stall_h == 0:
        return Finding("By hand", "Without failures, or without a stall, there is no loss to reduce.")
    each = _each(rungs).set_index("rung")["ettr"]
    mttf_min, stall_min = scenario.job_mttf_h * 60, scenario.stall_h * 60
    load_min = store_only(scenario).load_h * 60
    # rounded as displayed, so that they add up
    lost, load = round((2 * stall_min / mttf_min) ** 0.5, 4), round(load_min / mttf_min, 4)
    return Finding(
        "By hand",
        say(
            "- Stalls and rework at the best interval take √(2 × {stall_min:about} / {mttf_min:about}) = {lost:.2%} "
            "of the time. A copy in memory, taken every few seconds, makes both nearly nothing.\n"
            "- Loading from the store takes {load_min:about} min after each failure: {load_min:about} / "
            "{mttf_min:about} = {load:.2%}. From memory it takes seconds.\n"
            "- So tiers can save {lost:.2%} + {load:.2%} = {both:.2%}, or less where losses are too large to add "
            "up.\n\n"
            "The exact model gives {gain:points}.",
            stall_min=stall_min,
            mttf_min=mttf_min,
            lost=lost,
            load_min=load_min,
            load=load,
            both=lost + load,
            gain=each.max() - each.get(STORE, each.min()),
        ),
    )


def by_bandwidth(crossings: pd.DataFrame, published: pd.DataFrame, n_bytes: float) -> Finding:
    """Return the bandwidth at which the write sets the interval.

    Parameters
    ----------
    crossings : DataFrame
        As from ``tables.bandwidth_crossings``.
    published : DataFrame
        As from ``tables.published_stores``.
    n_bytes : float
        Size of a checkpoint. [B]
    """
    slowest = published.loc[published["write_gb_s"].idxmin()]
    sets = crossings["crossing_gb_s"].min() > 0
    bends = [say("{crossing_gb_s:about} GB/s on {n_gpus:gpus}", **row._asdict()) for row in crossings.itertuples()]
    return Finding(
        title=say(
            "Below {crossing_gb_s:about} GB/s the store sets the interval",
            "Without failures no store sets the interval",
            crossing_gb_s=crossings["crossing_gb_s"].iloc[0] if sets else None,
        ),
        text=say(
            "A checkpoint of {tb:about} TB takes {write_h:roughly} at {write_gb_s:about} GB/s ({store}).",
            tb=n_bytes / 1e12,
            write_h=slowest["write_s"] / 3600,
            **slowest[["write_gb_s", "store"]],
        )
        + say(
            " The write sets the best interval below {bends:list}. With a shared store, the job's share of the "
            "bandwidth counts.",
            bends=bends if sets else None,
        ),
    )


def found_late(frame: pd.DataFrame, share: float, whose: str, latency_h: float, n_kept: int) -> Finding:
    """Return the cost of late detection.

    Parameters
    ----------
    frame : DataFrame
        As from ``silent_tables.found_late``.
    share, whose : float, str
        As from ``silent_tables.silent_share``.
    latency_h : float
        From the corruption to its discovery. [h]
    n_kept : int
        As from ``silent_tables.checkpoints_to_hold``.
    """
    lost = frame.set_index("latency_h")["lost_points"] / 100
    values = {"latency": latency_h, "lost": lost.get(latency_h), "share": share, "whose": whose}
    return Finding(
        title=say(
            "Corruption found after {latency:roughly} costs {lost:points}",
            "Corruption found after {latency:roughly} costs more than the first-order formula covers",
            **values,
        ),
        text=say("{share:share} of failures are silent (source: {whose}).", **values)
        + say(" Detected {latency:roughly} after they struck (assumed), they cost {lost:points}.", **values)
        + f" Only earlier detection reduces that, not another interval. Keep {count(n_kept)} old checkpoints to have "
        "a clean one.",
    )


def exercises(scenario: Scenario, n_bytes: float, crossings: pd.DataFrame) -> Finding:
    """Return two exercises."""
    crossing = crossings.iloc[0]
    return numbered_exercises(
        Exercise(
            say("A checkpoint of {tb:about} TB must be written within {interval:roughly}. How fast must the store be?",
                tb=n_bytes / 1e12, interval=crossing["interval_min"] / 60),
            say("{tb:about} TB / {s:about} s = {gb_s:about} GB/s. Below that the write sets the interval.",
                tb=n_bytes / 1e12, s=crossing["interval_min"] * 60, gb_s=crossing["crossing_gb_s"]),
        ),
        Exercise(
            "The stall falls to a tenth. What happens to the best interval, and to the bandwidth the store needs?",
            "The interval falls to a third (the root of a tenth), so the store needs three times the bandwidth.",
            {"checkpoint.stall_s": (scenario.checkpoint.stall_s or 10.0) / 10},
            "checkpoint_interval.html",
        ),
    )  # fmt: skip
