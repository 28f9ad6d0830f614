"""What the chapter on mitigations together says of the best few, their steps, and what decides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.chapters.common.exercises import Exercise, exercises
from ettr.chapters.common.mitigations import PARTS_IN_WORDS, input_name, saved, small
from ettr.chapters.portfolio.tables import AFTER, BEFORE
from ettr.core.sentences import Finding, about, capital, count, listed, pct, roughly, say

if TYPE_CHECKING:
    from ettr.plan import Remedies
    from ettr.recommendation import Runs


def answer(steps: pd.DataFrame, before: Runs, as_it_is: Runs, remedies: Remedies, budget_usd: float) -> Finding:
    """Which few to take within a budget.

    Parameters
    ----------
    steps : DataFrame
        As from ``tables.steps_of_set``, of the set that leaves most money over.
    before, as_it_is : Runs
        With all that is assumed for them to act on, and without.
    remedies : Remedies
        What a plan would do first.
    budget_usd : float
        For all of them. [USD]
    """
    step = say(
        "The run has {#best_ettr:share0} at its best interval, and {before:share} with what is assumed for them to "
        "act on.",
        best_ettr=as_it_is.ettr,
        before=before.ettr,
    )
    first = remedies.steps[0].title if remedies.steps else None
    order = say(
        "Of what is published {first} returns most for a dollar, and so comes first in a plan."
        if remedies.steps and remedies.steps[0].basis != "assumed"
        else "{first} returns most for a dollar, and so comes first in a plan.",
        first=small(first) if first else None,
    )
    if steps.empty:
        none = say("Nothing pays within {budget:usd}", budget=budget_usd)
        return Finding(none, f"**{none}.** {step} {order}")
    values = {
        "budget": budget_usd,
        "names": [small(title) for title in steps["title"]],
        "cost": float(steps["cost_usd"].sum()),
        "left_over": float(steps["saved_usd"].sum()),
        "days": saved(float(steps["added"].sum())),
        "after": float(steps["ettr"].iloc[-1]),
    }
    soft = steps.loc[steps["basis"] == "assumed", "title"].tolist()
    return Finding(
        title=say("Within {budget:usd}: {names}, {days} less", **(values | {"names": listed(steps["title"].tolist())})),
        text=" ".join(
            part
            for part in (
                say(
                    "**With {budget:usd}, do {names:list}: {cost:usd} in all, {days} and {#left_over:usd} saved in a "
                    "run after that, and an ETTR of {after:share0}.**",
                    **values,
                ),
                _assumed(soft, len(steps)),
                step,
                order,
            )
            if part
        ),
    )


def by_hand(steps: pd.DataFrame, before: Runs) -> Finding:
    """What two together give, in three lines."""
    if len(steps) < 2:
        return Finding("By hand", "Fewer than two are taken: there is nothing to add up.")
    share = steps["alone"] / before.mean("days")
    both = 1 - math.prod(1 - share)
    return Finding(
        "By hand",
        say(
            "- Alone they save {each:list} of the days.\n"
            "- If they saved on different parts, {product} of the days would be left, and {both:share} saved.\n"
            "- They save {exact:share}: what is missing was saved twice.",
            each=[pct(value) for value in share],
            product=" × ".join(f"{1 - value:.3f}" for value in share),
            both=both,
            exact=float(steps["added"].sum()) / before.mean("days"),
        ),
    )


def lost_hours(frame: pd.DataFrame, trained_less_h: float) -> Finding:
    """Where lost hours go before and after; both as from ``tables.lost_hours`` and its neighbour."""
    rows = frame.set_index("part")
    before, after = float(rows.loc[BEFORE, "hours"]), float(rows.loc[AFTER, "hours"])
    parts = rows.drop([BEFORE, AFTER]).sort_values("hours")
    if parts.empty and abs(trained_less_h) <= 0.5:
        return Finding(title="No hour moves", text=f"{roughly(before)} are lost, with mitigations and without.")
    freed = [
        f"{PARTS_IN_WORDS[str(name)]} ({roughly(-row['hours'])})"
        for name, row in parts.head(3).iterrows()
        if row["hours"] < -0.5
    ]
    pace = ""
    if abs(trained_less_h) > 0.5:
        pace = (
            f"Training itself takes {roughly(abs(trained_less_h))} {'less' if trained_less_h > 0 else 'more'}, at "
            f"another pace: that is no lost hour."
        )
    own = parts["after"]
    rest = f"What is left is mostly {PARTS_IN_WORDS[str(own.idxmax())]}." if len(own) and own.max() > 0.5 else ""
    return Finding(
        title=f"{count(about(before))} lost hours become {count(about(after))}",
        text=" ".join(part for part in (f"Most comes back from {listed(freed)}." if freed else "", pace, rest) if part),
    )


def _assumed(soft: list[str], n: int) -> str:
    """Which of the mitigations change what is assumed."""
    if not soft:
        return ""
    who = "all of them" if len(soft) == n > 1 else listed([small(title) for title in soft])
    return f"How much {who} {'changes' if len(soft) == 1 else 'change'} is assumed."


def steps(frame: pd.DataFrame) -> Finding:
    """What each step adds; ``frame`` as from ``tables.steps_of_set``."""
    if frame.empty:
        return Finding(
            title="No step pays within the budget", text="Nothing that helps for certain pays within the budget."
        )
    first, later = frame.iloc[0], frame.iloc[1:]
    sentences = [f"{small(first['title'])} saves {saved(first['added'])}."]
    for row in later.itertuples():
        kept = f", {pct(row.kept, 0)} of what it saves alone" if math.isfinite(row.kept) else ""
        sentences.append(f"{small(row.title)} adds {saved(row.added)}{kept}.")
    alone, together = float(frame["alone"].sum()), float(frame["added"].sum())
    if later.empty:
        return Finding(f"{first['title']} alone saves {saved(together)}", " ".join(sentences))
    return Finding(
        title=f"Together {saved(together)}, where the sum of each alone is {saved(alone)}",
        text=" ".join([*sentences, "Another first step would change what the next ones add."]),
    )


def decisive(frame: pd.DataFrame) -> Finding:
    """Which input moves the gains most; ``frame`` as from ``tables.decisive``."""
    known = frame[frame[["gain_low", "gain_high"]].notna().all(axis=1)] if len(frame) else frame
    if known.empty:
        return Finding(title="Nothing to vary", text="There is nothing to vary, or nothing to look at.")
    most = known.loc[known["swing"].idxmax()]
    reversing = known[known["best_low"] != known["best_high"]]["input"].unique()
    name = capital(input_name(str(most["input"])))
    low, high = sorted((most["gain_low"], most["gain_high"]))
    turns = [input_name(str(one)) for one in reversing]
    return Finding(
        title=f"{name} moves the gain most" if turns else "No single input changes which comes first",
        text=(
            f"Over its range {input_name(str(most['input']))} lets {small(most['title'])} save {saved(low)} to "
            f"{saved(high)}. "
            + (f"Another comes first at an end of {listed(turns)}." if turns else "No single input puts another first.")
        ),
    )


def asked(steps: pd.DataFrame, budget_usd: float) -> Finding:
    """Two exercises."""
    costs = steps["cost_usd"].sum() if len(steps) else 0.0
    return exercises(
        Exercise(
            "A second mitigation saves the same hours as the first. What are both together worth?",
            "Hardly more than the better of the two: what is saved once cannot be saved again.",
        ),
        Exercise(
            say(
                "The set costs {cost:usd} of {budget:usd}. Why not spend the rest?"
                if costs
                else "Nothing is bought with {budget:usd}. Why not?",
                cost=float(costs),
                budget=budget_usd,
            ),
            "Because nothing else that fits returns its price on this one job. What serves later jobs too may.",
        ),
    )
