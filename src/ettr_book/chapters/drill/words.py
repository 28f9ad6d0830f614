"""What the page on drills says."""

from __future__ import annotations

import pandas as pd

from ettr.core.sentences import Finding, listed, say
from ettr_book.chapters.drill.tables import NEAR_POINTS


def answer(beside: pd.DataFrame) -> Finding:
    """What the drills together show; columns as from ``tables.beside``."""
    sound = bool(beside["is_same"].all()) and not beside["n_lost_steps"].any()
    ending = (
        "All ended with the parameters of an undisturbed run, bit for bit, and no restart lost a step that a durable "
        "checkpoint held."
        if sound
        else "Not all ended with the parameters of an undisturbed run, or a restart lost what a checkpoint held: "
        "this is a bug."
    )
    return Finding(
        title=say(
            "The rules of a run explain {n_near} of {n} training jobs that were really killed",
            n_near=int(beside["is_near"].sum()),
            n=len(beside),
        ),
        text=say(
            "**{n} training jobs were run on one machine and stopped {n_stops:count} times. Given when the faults "
            "struck, the rules of a run explain the time of {n_near} of them to within {near:.0f} points in every "
            "part. Without knowing that, {n_in} ended within the band of the finishing time.** {ending}",
            n=len(beside),
            n_stops=int(beside["n_stops"].sum()),
            n_near=int(beside["is_near"].sum()),
            near=NEAR_POINTS,
            n_in=int(beside["is_in_band"].sum()),
            ending=ending,
        ),
    )


def useful(beside: pd.DataFrame) -> Finding:
    """How far the ETTR of the rules is from the measured one."""
    widest = beside.loc[beside["points"].abs().idxmax()]
    return Finding(
        title=say(
            "Given the faults, the rules miss half of the ETTRs by less than {typical:.1f} points",
            typical=float(beside["points"].abs().median()),
        ),
        text=say(
            "Half of the differences are below {typical:.1f} points. The largest is {most:.1f} points: {title}. "
            "Measured ETTRs are {lean} on average, by {mean:.1f} points.",
            typical=float(beside["points"].abs().median()),
            most=float(abs(widest["points"])),
            title=str(widest["title"]).lower(),
            lean="lower" if beside["points"].mean() < 0 else "higher",
            mean=float(abs(beside["points"].mean())),
        ),
    )


def finishing(beside: pd.DataFrame) -> Finding:
    """How many runs ended when they should."""
    outside = beside[~beside["is_in_band"]]
    late = [str(title).lower() for title in outside.loc[outside["took_s"] > outside["high_s"], "title"]]
    early = [str(title).lower() for title in outside.loc[outside["took_s"] < outside["low_s"], "title"]]
    told = [f"later: {listed(late)}"] if late else []
    told += [f"sooner: {listed(early)}"] if early else []
    width = float(((beside["high_s"] - beside["low_s"]) / beside["median_s"]).median())
    return Finding(
        title=say("{n} of {all} runs end within their band", n=int(beside["is_in_band"].sum()), all=len(beside)),
        text=say(
            "The bands are wide, {width:.0%} of their middle, as few failures scatter much. {told}",
            width=width,
            told=f"Outside, {'; '.join(told)}." if told else "No run ends outside.",
        ),
    )


def parts(frame: pd.DataFrame) -> Finding:
    """Which part the rules miss most; columns as from ``tables.parts``."""
    widest = frame.loc[frame["points"].abs().idxmax()]
    by_part = frame["points"].abs().groupby(frame["part"]).sum() / frame["title"].nunique()
    return Finding(
        title=say("{part} is what the rules miss most", part=str(by_part.idxmax()).capitalize()),
        text=say(
            "On average {part} is off by {mean:.1f} points. The largest difference is {most:.1f} points of {which}: "
            "{title}.",
            part=str(by_part.idxmax()),
            mean=float(by_part.max()),
            most=float(abs(widest["points"])),
            which=str(widest["part"]),
            title=str(widest["title"]).lower(),
        ),
    )


def misses(beside: pd.DataFrame, frame: pd.DataFrame) -> Finding:
    """The drills that are not near, each with its part that is farthest off.

    Parameters
    ----------
    beside, frame : DataFrame
        As from ``tables.beside`` and ``tables.parts``.
    """
    lines = []
    for title in beside.loc[~beside["is_near"], "title"]:
        own = frame[frame["title"] == title]
        widest = own.loc[own["points"].abs().idxmax()]
        lines.append(
            say(
                "{title}: {part} {points:+.1f} points.",
                title=title,
                part=widest["part"],
                points=float(widest["points"]),
            )
        )
    return Finding(
        title="Where the rules and the drills part",
        text="\n".join(f"- {line}" for line in lines) or "All are near.",
    )
