"""Text of the chapter on single mitigations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ettr.core.sentences import Finding, about, count, days, gpus, listed, number, pct, roughly, say, usd
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.common.mitigations import PARTS_IN_WORDS, saved, small
from ettr_book.chapters.one_by_one.tables import PAYS

if TYPE_CHECKING:
    from ettr.recommendation import Comparison


def answer(comparison: Comparison, ranking: pd.DataFrame) -> Finding:
    """Return the single mitigation that saves most; ``ranking`` as from ``tables.ranking``."""
    base = comparison.baseline
    takes = say(
        "{days} at an ETTR of {#best_ettr:share0}, at its best interval",
        days=days(round(base.mean("days"), 1)),
        best_ettr=base.ettr,
    )
    if ranking.empty:
        return Finding("No mitigation saves time", f"**No mitigation saves time here: the run takes {takes}.**")
    best = ranking.sort_values("musd", ascending=False)
    first = best.iloc[0]
    if first["musd"] < 0:
        return Finding(_NONE_PAYS, f"**{_NONE_PAYS}. {_nearest(best)}** The run takes {takes}.")
    others = [f"{small(row.title)} ({_musd(row.musd)}, {_span(row)})" for row in best.iloc[1:3].itertuples()]
    n = len(comparison.completed.assumed)
    return Finding(
        title=f"{first['title']} saves most alone: {_musd(first['musd'])} per run ({_span(first)})",
        text=" ".join(
            part
            for part in (
                say(
                    "**{first} saves most alone: {#saves_most} (plausible range {span}) of a run that costs "
                    "{total:.0f} million USD.**",
                    first=small(first["title"]),
                    saves_most=_musd(first["musd"]),
                    total=base.mean("usd") / 1e6,
                    span=_span(first),
                ),
                f"The size of its effect is {first['effect']}. "
                f"The run takes {takes}; with it, {saved(first['days'])} less.",
                f"Next {'come' if len(others) > 1 else 'comes'} {listed(others)}." if others else "",
                f"{count(n)} inputs of these mitigations are not published for this run and are assumed." if n else "",
                "Savings overlap: {doc}`portfolio` has the recommended set.",
            )
            if part
        ),
    )


_NONE_PAYS = "No mitigation pays for itself in one such run"


def _nearest(best: pd.DataFrame) -> str:
    """Return the mitigation that comes nearest to paying back in one run."""
    first = best.iloc[0]
    saved_usd = 1e6 * first["musd"] + first["price_usd"]
    return say(
        "{title} comes nearest: it saves {days}, worth {worth:usd}, for {price:usd}; {n} such runs would pay it back.",
        "{title} comes nearest: it saves {days}, and costs {loss:usd} more than it saves.",
        title=small(first["title"]),
        days=saved(first["days"]),
        worth=saved_usd,
        price=first["price_usd"],
        n=number(about(first["price_usd"] / saved_usd)) if saved_usd > 0 else None,
        loss=-1e6 * first["musd"],
    )


def _span(row: Any) -> str:
    low, high = _musd(row.low), _musd(row.high)
    unit = " million USD"
    return f"{low.removesuffix(unit) if high.endswith(unit) else low} to {high}"


def _musd(value: float) -> str:
    return usd(about(1e6 * value))


def by_hand(comparison: Comparison) -> Finding:
    """Return the saving from a faster restart in three lines of arithmetic."""
    base, run = comparison.baseline, comparison.baseline.scenario
    hours, restart_h = base.budget, run.restart_h
    if not hours.n_failures or not restart_h:
        return Finding("By hand", "Without failures, or without a restart, there is no loss to reduce.")
    usd_h = run.cluster.n_gpus * run.prices.usd_per_gpu_h
    lost_h = hours.n_failures * restart_h
    return Finding(
        "By hand",
        say(
            "- {n:about} failures × {restart:about} min of restart = {lost:about} hours of a run.\n"
            "- An hour of {gpus:gpus} at {price:about} USD costs {usd_h:usd}.\n"
            "- So a restart of half the length saves {half:about} hours, or {saved:usd}, before its price.\n\n"
            "Simulated, all restarts take {exact:about} hours.",
            n=float(hours.n_failures),
            restart=restart_h * 60,
            lost=lost_h,
            gpus=run.cluster.n_gpus,
            price=run.prices.usd_per_gpu_h,
            usd_h=usd_h,
            half=lost_h / 2,
            saved=lost_h / 2 * usd_h,
            exact=float(hours.restart_h),
        ),
    )


def ranking(frame: pd.DataFrame) -> Finding:
    """Return the certainty of the order; ``frame`` as from ``tables.ranking``."""
    if frame.empty:
        return Finding("No mitigation saves time", "No mitigation saves time here.")
    best = frame.sort_values("musd", ascending=False)
    if best["musd"].iloc[0] < 0:
        text = "The full price is charged to this one run; a larger run, or a second one, would share it."
        return Finding(_NONE_PAYS, f"{_nearest(best)} {text}")
    overlap = int((best["high"].iloc[1:] > best["low"].iloc[0]).sum())
    soft, loses = int((frame["effect"] == "assumed").sum()), int((frame["low"] < 0).sum())
    return Finding(
        title=f"{best['title'].iloc[0]} first, and {count(overlap)} others may be as good"
        if overlap
        else f"{best['title'].iloc[0]} first, across all plausible ranges",
        text=(
            f"Of {count(len(frame))} mitigations that save money, {count(soft)} have an unpublished effect size and "
            f"{count(loses)} may cost more than they save. The ranking is sensitive to prices and effect sizes, not to "
            f"simulation noise."
        ),
    )


def hours(frame: pd.DataFrame) -> Finding:
    """Return the sources of the saved hours; ``frame`` as from ``tables.hours_given_back``."""
    if frame.empty:
        return Finding(title="No hours saved", text="No mitigation saves hours.")
    by_part = frame.groupby("part")["hours"].sum().sort_values(ascending=False)
    sentences = []
    for _, group in list(frame.groupby("title", sort=False))[:2]:
        kept = group[group["hours"] >= 1].sort_values("hours", ascending=False)
        parts = [f"{PARTS_IN_WORDS[str(row.part)]} ({roughly(float(row.hours))})" for row in kept.head(2).itertuples()]
        if parts:
            sentences.append(f"With {small(group['title'].iloc[0])} they come from {listed(parts)}.")
    return Finding(
        title=f"Most hours saved are {PARTS_IN_WORDS[str(by_part.index[0])]}",
        text=f"{' '.join(sentences)} Mitigations that reduce the same part overlap: their savings do not add up.",
    )


def by_size(frame: pd.DataFrame) -> Finding:
    """Return the sizes at which mitigations pay; ``frame`` as from ``tables.worth_by_size``."""
    answered = frame[frame["saved"].notna()] if len(frame) else frame
    paying = answered[answered["state"] == PAYS] if len(answered) else answered
    if paying.empty:
        return Finding(title="None pays at any of these sizes", text="No mitigation pays at any of these sizes.")
    leaders = paying.loc[paying.groupby("value")["saved"].idxmax()].sort_values("value")
    smallest, largest = leaders.iloc[0], leaders.iloc[-1]
    title = f"On more GPUs {largest['title']} saves most"
    if smallest["title"] == largest["title"]:
        where = (
            "at every size" if smallest["value"] == answered["value"].min() else f"from {gpus(smallest['value'])} on"
        )
        title = f"{largest['title']} saves most {where}"
    return Finding(
        title=title,
        text=say("On {value:gpus} {title} saves most, {saved:share0} of the time; ", **_leader(smallest))
        + say("on {value:gpus} it is {title}, {saved:share0}. ", **_leader(largest))
        + "Failure rate per node and prices are the same at every size; starts take longer on more GPUs.",
    )


def _leader(row: pd.Series) -> dict[str, object]:
    return {"value": row["value"], "title": small(row["title"]), "saved": row["saved"]}


def exercises(comparison: Comparison) -> Finding:
    """Return an exercise."""
    hours = comparison.baseline.budget
    rework = float(hours.rework_h / hours.total_h)
    return numbered_exercises(
        Exercise(
            "A mitigation halves all rework and nothing else. Estimate its gain in points of ETTR.",
            say("Half of {rework:share}, so {half}, at the same interval. A longer interval would then save stalls "
                "too.", rework=rework, half=pct(rework / 2)),
        ),
    )  # fmt: skip
