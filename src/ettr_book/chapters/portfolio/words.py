"""Text of the chapter on the recommended set: the set, its steps, and decisive assumptions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from ettr import recommendation
from ettr.core.sentences import Finding, about, count, limit, listed, pct, roughly, say, usd
from ettr.core.units import H_PER_MONTH
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.common.mitigations import PARTS_IN_WORDS, hours, net_saving, small
from ettr_book.chapters.portfolio.tables import AFTER, BEFORE

if TYPE_CHECKING:
    from ettr.recommendation import Recommendation, Runs

_MOST_NAMED = 3
_NONE = "Nothing is recommended"


def answer(recommended: Recommendation | None) -> Finding:
    """Return the recommended set, its cost and saving, and its alternatives; None for a run without any."""
    if not recommended:
        return Finding(_NONE, f"**{_NONE}: the run has no failures, or practically never ends.**")
    if not recommended.steps:
        within = f" within {recommended.horizon}" if recommended.has_price else ", even without a price"
        nearest = say(
            " {title} would come nearest, and pay back in {needed:roughly}.",
            title=_title(recommended, recommended.quickest[0]) if recommended.quickest else None,
            needed=recommended.quickest[1] * H_PER_MONTH
            if recommended.quickest and recommended.has_price
            else math.nan,
        )
        keeps = say("The run has an ETTR of {#best_ettr:share0} at its best interval.", best_ettr=recommended.ettr)
        return Finding("No mitigation pays for itself", f"**No mitigation pays for itself{within}.**{nearest} {keeps}")
    titles = [step.title for step in recommended.steps]
    net = ""
    if recommended.has_price:
        ends = [usd(about(end)) for end in recommended.plausible_net_usd or ()]
        plausible = f" (plausible range {' to '.join(ends)})" if ends else ""
        net = f", a net saving of {usd(about(recommended.net_usd))}{plausible} over {recommended.horizon}"
    return Finding(
        title=f"{listed(titles)}: {hours(recommended.saved_h)} h per month",
        text=" ".join(
            [
                say(
                    "**Recommended together: {names:list}, for {price:usd} (price assumed). They save {saved} h per "
                    "month{net}. ETTR rises from {#best_ettr:share0} to {after:share0}.**",
                    names=[small(title) for title in titles],
                    price=about(recommended.price_usd),
                    saved=hours(recommended.saved_h),
                    net=net,
                    best_ettr=recommended.ettr,
                    after=recommended.ettr_with_all,
                ),
                _effects(recommended),
                *_alternatives(recommended),
            ]
        ),
    )


def _title(recommended: Recommendation, name: str) -> str:
    return small(recommended.catalogue[name].title)


def _effects(recommended: Recommendation) -> str:
    """Return how much of each effect's size is published."""
    by_effect: dict[str, list[str]] = {}
    for step in recommended.steps:
        by_effect.setdefault(step.effect, []).append(small(step.title))
    parts = [f"{effect} for {listed(titles)}" for effect, titles in by_effect.items()]
    return f"The size of the effect is {listed(parts)}."


def _alternatives(recommended: Recommendation) -> list[str]:
    """Return a sentence for each mitigation that could replace steps."""
    titles = {step.id: small(step.title) for step in recommended.steps}
    return [
        f"Instead of {listed([titles[name] for name in other.replaces])}, {small(other.title)} would save "
        f"{hours(other.saved_h)} h per month rather than {hours(other.of_h)} h, for {usd(about(other.price_usd))} "
        f"({'cheaper; ' if other.is_cheaper else ''}effect {other.effect})."
        for other in recommended.alternatives[:_MOST_NAMED]
    ]


def by_hand(recommended: Recommendation | None) -> Finding:
    """Return the savings of the steps alone and together in three lines of arithmetic."""
    steps = recommended.steps if recommended else ()
    if not recommended or len(steps) < 2:
        return Finding("By hand", f"{count(len(steps))} recommended: there are no savings to add up.")
    shares = [step.alone_h / H_PER_MONTH for step in steps]
    independent_h = (1 - math.prod(1 - share for share in shares)) * H_PER_MONTH
    return Finding(
        "By hand",
        say(
            "- Alone they save {each:list} h of the 730 h in a month.\n"
            "- Independent savings multiply: 730 × (1 - {product}) = {independent} h.\n"
            "- Together, each acting on the losses that remain after the others, they save {exact} h per month.",
            each=[hours(step.alone_h) for step in steps],
            product=" × ".join(f"{1 - share:.3f}" for share in shares),
            independent=hours(independent_h),
            exact=hours(recommended.saved_h),
        ),
    )


def lost_hours(frame: pd.DataFrame, recommended: Recommendation | None) -> Finding:
    """Return the lost hours before and after; ``frame`` as from ``tables.lost_hours``."""
    if frame.empty or not recommended:
        return Finding("No lost hour is saved", "Nothing is recommended, so no lost hour is saved.")
    rows = frame.set_index("part")
    before, after = (float(rows.loc[name, "hours"]) for name in (BEFORE, AFTER))
    parts = rows.drop([BEFORE, AFTER]).sort_values("hours")
    freed = [
        f"{PARTS_IN_WORDS[str(name)]} ({hours(-row['hours'])} h)"
        for name, row in parts.head(3).iterrows()
        if row["hours"] < 0
    ]
    left = parts["after"]
    rest = f"Most of the rest is {PARTS_IN_WORDS[str(left.idxmax())]}." if len(left) and left.max() >= 0.05 else ""
    return Finding(
        title=f"{hours(before)} lost hours per month become {hours(after)}",
        text=" ".join(filter(None, (f"The largest savings are in {listed(freed)}." if freed else "", rest))),
    )


def steps(recommended: Recommendation | None) -> Finding:
    """Return the saving of each step with the others in place, and alone."""
    if not recommended or not recommended.steps:
        return Finding(_NONE, f"{_NONE}.")
    weakest = min(recommended.steps, key=lambda step: step.saved_h / step.alone_h if step.alone_h > 0 else math.inf)
    together, alone = hours(recommended.saved_h), hours(sum(step.alone_h for step in recommended.steps))
    if len(recommended.steps) == 1:
        text = "It is the only recommended mitigation, so nothing overlaps with it."
        return Finding(f"{weakest.title} saves {together} h per month", text)
    price = (
        f" {small(weakest.title)} still pays back in {roughly(weakest.payback_months * H_PER_MONTH)}."
        if weakest.price_usd and math.isfinite(weakest.payback_months)
        else ""
    )
    return Finding(
        title=f"Together {together} h per month; the sum of each alone is {alone} h",
        text=(
            f"{small(weakest.title)} overlaps most with the others: it saves {hours(weakest.alone_h)} h alone, and "
            f"{hours(weakest.saved_h)} h once they are in place.{price} Every step pays for itself with all the others "
            f"in place, so the order does not matter."
        ),
    )


def simulated(runs: tuple[Runs, Runs] | None, recommended: Recommendation | None) -> Finding:
    """Return the agreement with simulation; ``runs`` as from ``tables.simulated``."""
    if not runs or not recommended:
        return Finding("No simulation", "Nothing is recommended, or the set cannot be simulated.")
    before, after = runs
    gained = recommendation.gain(before, after, "ettr")
    low, high = (pct(before.ettr + end) for end in (gained.low, gained.high))
    return Finding(
        title=f"Simulated together: ETTR {pct(after.ettr)}",
        text=(
            f"Simulated together on the same failures: ETTR {pct(before.ettr)} without the set and "
            f"{pct(after.ettr)} with it (95% CI {low} to {high}; {count(after.n_runs)} runs each). The "
            f"exact model gives {pct(recommended.ettr)} and {pct(recommended.ettr_with_all)}."
        ),
    )


def decisive(frame: pd.DataFrame, recommended: Recommendation | None) -> Finding:
    """Return the assumptions that move the net saving most or change the set; ``frame`` as from ``tables.decisive``."""
    answered = frame[frame[["net_low", "net_high"]].notna().all(axis=1)] if len(frame) else frame
    if answered.empty or not recommended:
        return Finding("Nothing to vary", "Nothing is recommended, or no input is assumed.")
    widest = next(answered.itertuples())
    low, high = (net_saving(end, widest.net_unit) for end in sorted((widest.net_low, widest.net_high)))
    turns = [change for row in frame.itertuples() for change in _changes(row, recommended)]
    n, lowest = int(frame["changes_set"].sum()), float(answered[["net_low", "net_high"]].min().min())
    changing = f"{count(n)} of {count(len(frame))} assumptions change the set"
    rest = f"; the chart marks {count(len(turns) - _MOST_NAMED)} more" if len(turns) > _MOST_NAMED else ""
    pays = "It pays for itself at every end." if lowest > 0 else "At some ends it does not pay for itself."
    return Finding(
        title=f"The {widest.name} moves the net saving most; {changing if n else 'none changes the set'}",
        text=" ".join(
            [
                f"Across its plausible range ({widest.range}), the {widest.name} moves the net saving of the "
                f"recommended set from {low} to {high}. {pays}",
                f"The recommended set changes with {count(n)} of {count(len(frame))} assumptions: "
                f"{'; '.join(turns[:_MOST_NAMED])}{rest}."
                if turns
                else "No single assumption changes the recommended set.",
            ]
        ),
    )


def _changes(row: Any, recommended: Recommendation) -> list[str]:
    """Return the set that a row of ``tables.decisive`` leads to, at each end where the set changes."""
    texts = []
    for value, ids in ((row.low_value, row.ids_low), (row.high_value, row.ids_high)):
        if ids is None or set(ids) == set(row.ids):
            continue
        gone, new = (
            [_title(recommended, name) for name in some if name not in others]
            for some, others in ((row.ids, ids), (ids, row.ids))
        )
        to = f"{listed(new)} instead of {listed(gone)}" if new and gone else f"with {listed(new)}" if new else ""
        is_effect = row.input.startswith("effect of ")
        amount = f"{pct(value, 0)} of the expected saving" if is_effect else f"{limit(value)} {row.unit}".strip()
        texts.append(f"the {row.name} at {amount}: {to or f'without {listed(gone)}'}")
    return texts


def exercises(recommended: Recommendation | None, budget_usd: float) -> Finding:
    """Return two exercises."""
    price = recommended.price_usd if recommended else 0.0
    return numbered_exercises(
        Exercise(
            "A second mitigation saves the same hours as the first. How much do both save together?",
            "Hardly more than the better of the two: an hour can be saved only once.",
        ),
        Exercise(
            say("The set costs {price:usd}. Why not buy more?", price=price) if price else "Why is nothing bought?",
            "With this set in place, no other mitigation pays for itself on this job."
            if price < budget_usd
            else "The budget is spent.",
        ),
    )
