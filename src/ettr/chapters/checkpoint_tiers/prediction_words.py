"""Sentences on failures that are announced, and on failures that are found late."""

from __future__ import annotations

import pandas as pd

from ettr.chapters.checkpoint_tiers.prediction_tables import alarm_threshold_h
from ettr.core.sentences import Finding, count, duration, listed, number, pct, points, say

_LEAST_POINTS = 5e-4
_HALF = 0.5


def announced(curves: pd.DataFrame, here: pd.DataFrame, action_s: float, lead_s: float) -> Finding:
    """What announcements are worth.

    Parameters
    ----------
    curves : DataFrame
        As from ``prediction_tables.announced``.
    here : DataFrame
        As from ``prediction_tables.predictors_here``.
    action_s, lead_s : float
        Length of the answer to an alarm, and time from the alarm to the failure. [s]
    """
    if lead_s < action_s:
        return Finding(
            title="The announcements come too late to act on",
            text=f"An announcement {number(lead_s)} s ahead leaves no time for a checkpoint of {number(action_s)} s: "
            f"it changes nothing.",
        )
    exact = curves[curves["formula"] == "exact"]
    without = exact.loc[exact["recall"] == 0, "ettr"].iloc[0]
    half = exact[exact["recall"] == _HALF].set_index("precision")["ettr"].sort_index()
    gains = [f"{_gain(ettr - without)} at a precision of {pct(precision)}" for precision, ettr in half.items()]
    thresholds = [f"{duration(alarm_threshold_h(action_s, share))} at {pct(share)}" for share in half.index.tolist()]
    best = half.max() - without
    title = f"Announcing half of the failures gains up to {points(best)}" if best >= _LEAST_POINTS else ""
    return Finding(
        title=title or "Announcing half of the failures gains next to nothing",
        text=(
            f"Without announcements the ETTR is {pct(without)}. Announcing half of the failures gains "
            f"{listed(gains)}. An alarm is worth its answer, {number(action_s)} s until a checkpoint is durable, once "
            f"more training is at risk than that time over the precision: {listed(thresholds)}. "
            f"{_predictors(here)}{_first_order(curves)}"
        ),
    )


def _gain(gain: float) -> str:
    return points(gain) if gain >= _LEAST_POINTS else "next to nothing"


def _predictors(here: pd.DataFrame) -> str:
    return "".join(
        f"{row.predictor} has a precision of {pct(row.precision)} and, from its F1 score, a recall of "
        f"{pct(row.recall)}; it names machines that are already faulty, and would give {pct(row.ettr)} if it named "
        f"them ahead. "
        for row in here.itertuples()
    )


def _first_order(curves: pd.DataFrame) -> str:
    """How far the simple form is off."""
    wide = curves.pivot_table(index=["precision", "recall"], columns="formula", values="ettr")
    if "first_order" not in wide:
        return "The first-order form has no answer here."
    off = (wide["first_order"] - wide["exact"]).abs().max()
    return f"The first-order form is off by {points(off)} at worst."


def found_late(frame: pd.DataFrame, share: float, whose: str, latency_h: float) -> Finding:
    """What a late finding costs.

    Parameters
    ----------
    frame : DataFrame
        As from ``prediction_tables.found_late``.
    share, whose : float, str
        As from ``prediction_tables.silent_share``.
    latency_h : float
        From the corruption to its discovery. [h]
    """
    at = frame[frame["latency_h"] == latency_h].set_index("which")["lost_points"] / 100
    if frame["lost_points"].max() == 0:
        return Finding(title="Without failures nothing is found late", text="There are no failures to be found late.")
    lost = {"latency": latency_h, "part": at.get("share"), "whole": at.get("all")}
    cost = say("cost {part:points} of ETTR to first order", "leave no first-order answer", **lost)
    own = f"{pct(share)} of failures, as {whose} counts them, {cost}" if share > 0 else "no failure counts as silent"
    everything = say("it would be {whole:points}, exactly", "the run would not end", **lost)
    return Finding(
        title=say(
            "Corruption found after {latency:duration} costs {part:points}",
            "Corruption found after {latency:duration} costs more than first order can say",
            **lost,
        ),
        text=(
            f"Silent failures that are found {duration(latency_h)} after they struck throw all of that away: "
            f"{own}; if all were silent, {everything}. Twice the latency costs about twice as much while the loss is "
            f"small, and no checkpoint interval changes it: only an earlier discovery does."
        ),
    )


def to_keep(frame: pd.DataFrame, risk: float, latency_h: float) -> Finding:
    """How many old checkpoints to keep.

    Parameters
    ----------
    frame : DataFrame
        As from ``prediction_tables.kept_checkpoints``.
    risk : float
        Accepted probability that none is clean, where the latency is exponential.
    latency_h : float
        Mean time from the corruption to its discovery. [h]
    """
    at = frame[frame["latency_h"] == latency_h].set_index(["interval_min", "distribution"])["n_kept"]
    every = list(dict.fromkeys(frame["interval_min"]))
    sure = [f"{count(at[tau, 'constant'])} at one every {duration(tau / 60)}" for tau in every]
    likely = [f"{count(at[tau, 'exponential'])} at one every {duration(tau / 60)}" for tau in every]
    title = f"{duration(latency_h)} of latency take {count(at[every[0], 'constant'])} checkpoints"
    if len(every) > 1:
        title += f", or {count(at[every[-1], 'constant'])} with one kept every {duration(every[-1] / 60)}"
    return Finding(
        title=title,
        text=(
            f"If corruption is always found {duration(latency_h)} after it struck, these checkpoints must be kept to "
            f"have a clean one: {listed(sure)}. If {duration(latency_h)} is only the mean of an exponential latency, "
            f"a risk of {pct(risk)} that none is clean takes more: {listed(likely)}. Keeping fewer, farther apart, "
            f"costs half of their distance more work at each discovery, which is little beside the latency."
        ),
    )
