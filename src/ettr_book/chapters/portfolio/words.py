"""The sentences of the chapter on the recommended set: the set, its steps, and which assumption decides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from ettr import recommendation
from ettr.core.sentences import Finding, about, count, limit, listed, pct, roughly, say, usd
from ettr.core.units import H_PER_MONTH
from ettr_book.chapters.common.exercises import Exercise, exercises
from ettr_book.chapters.common.mitigations import PARTS_IN_WORDS, hours, net_saving, small
from ettr_book.chapters.portfolio.tables import AFTER, BEFORE

if TYPE_CHECKING:
    from ettr.recommendation import Recommendation, Runs

_MOST_NAMED = 3
_NONE = "Nothing is recommended"


def answer(found: Recommendation | None) -> Finding:
    """The recommended set, what it costs and saves, and what could take its place; None of a run without any."""
    if not found:
        return Finding(_NONE, f"**{_NONE}: the run has no failures, or practically never ends.**")
    if not found.steps:
        within = f" within {found.horizon}" if found.has_price else ", even without a price"
        nearest = say(
            " {title} would come nearest, and pay back in {needed:roughly}.",
            title=_title(found, found.quickest[0]) if found.quickest else None,
            needed=found.quickest[1] * H_PER_MONTH if found.quickest and found.has_price else math.nan,
        )
        keeps = say("The run has an ETTR of {#best_ettr:share0} at its best interval.", best_ettr=found.ettr)
        return Finding("No mitigation pays for itself", f"**No mitigation pays for itself{within}.**{nearest} {keeps}")
    titles = [step.title for step in found.steps]
    net = ""
    if found.has_price:
        ends = [usd(about(end)) for end in found.plausible_net_usd or ()]
        sure = f" (plausible range {' to '.join(ends)})" if ends else ""
        net = f", a net saving of {usd(about(found.net_usd))}{sure} over {found.horizon}"
    return Finding(
        title=f"{listed(titles)}: {hours(found.saved_h)} h per month",
        text=" ".join(
            [
                say(
                    "**Recommended together: {names:list}, for {price:usd} (price assumed). They save {saved} h per "
                    "month{net}. ETTR rises from {#best_ettr:share0} to {after:share0}.**",
                    names=[small(title) for title in titles],
                    price=about(found.price_usd),
                    saved=hours(found.saved_h),
                    net=net,
                    best_ettr=found.ettr,
                    after=found.ettr_with_all,
                ),
                _effects(found),
                *_alternatives(found),
            ]
        ),
    )


def _title(found: Recommendation, name: str) -> str:
    return small(found.catalogue[name].title)


def _effects(found: Recommendation) -> str:
    """How much of the size of each effect is published."""
    by_effect: dict[str, list[str]] = {}
    for step in found.steps:
        by_effect.setdefault(step.effect, []).append(small(step.title))
    parts = [f"{effect} for {listed(titles)}" for effect, titles in by_effect.items()]
    return f"The size of the effect is {listed(parts)}."


def _alternatives(found: Recommendation) -> list[str]:
    """A sentence for each mitigation that could take the place of steps."""
    titles = {step.id: small(step.title) for step in found.steps}
    return [
        f"Instead of {listed([titles[name] for name in other.replaces])}, {small(other.title)} would save "
        f"{hours(other.saved_h)} h per month rather than {hours(other.of_h)} h, for {usd(about(other.price_usd))} "
        f"({'cheaper; ' if other.is_cheaper else ''}effect {other.effect})."
        for other in found.alternatives[:_MOST_NAMED]
    ]


def by_hand(found: Recommendation | None) -> Finding:
    """What the steps save alone and together, in three lines."""
    steps = found.steps if found else ()
    if not found or len(steps) < 2:
        return Finding("By hand", f"{count(len(steps))} recommended: there is nothing to add up.")
    shares = [step.alone_h / H_PER_MONTH for step in steps]
    independent_h = (1 - math.prod(1 - share for share in shares)) * H_PER_MONTH
    return Finding(
        "By hand",
        say(
            "- Alone they save {each:list} h of the 730 h in a month.\n"
            "- Independent savings multiply: 730 × (1 - {product}) = {independent} h.\n"
            "- Together, with each acting on what the others leave, they save {exact} h per month.",
            each=[hours(step.alone_h) for step in steps],
            product=" × ".join(f"{1 - share:.3f}" for share in shares),
            independent=hours(independent_h),
            exact=hours(found.saved_h),
        ),
    )


def lost_hours(frame: pd.DataFrame, found: Recommendation | None) -> Finding:
    """Where the lost hours go before and after; ``frame`` as from ``tables.lost_hours``."""
    if frame.empty or not found:
        return Finding("No lost hour is saved", "Nothing is recommended, so that no lost hour is saved.")
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
        text=" ".join(filter(None, (f"Most comes back from {listed(freed)}." if freed else "", rest))),
    )


def steps(found: Recommendation | None) -> Finding:
    """What each step saves with the others in place, and alone."""
    if not found or not found.steps:
        return Finding(_NONE, f"{_NONE}.")
    least = min(found.steps, key=lambda step: step.saved_h / step.alone_h if step.alone_h > 0 else math.inf)
    together, alone = hours(found.saved_h), hours(sum(step.alone_h for step in found.steps))
    if len(found.steps) == 1:
        text = "It is the only one that is recommended, so that nothing overlaps with it."
        return Finding(f"{least.title} saves {together} h per month", text)
    price = (
        f" {small(least.title)} still pays back in {roughly(least.payback_months * H_PER_MONTH)}."
        if least.price_usd and math.isfinite(least.payback_months)
        else ""
    )
    return Finding(
        title=f"Together {together} h per month; the sum of each alone is {alone} h",
        text=(
            f"{small(least.title)} overlaps most with the others: it saves {hours(least.alone_h)} h alone, and "
            f"{hours(least.saved_h)} h once they are in place.{price} Every step pays for itself with all the others "
            f"in place, so that the order does not matter."
        ),
    )


def simulated(runs: tuple[Runs, Runs] | None, found: Recommendation | None) -> Finding:
    """Whether simulation agrees; ``runs`` as from ``tables.simulated``."""
    if not runs or not found:
        return Finding("No simulation", "Nothing is recommended, or the set cannot be simulated.")
    before, after = runs
    gained = recommendation.gain(before, after, "ettr")
    low, high = (pct(before.ettr + end) for end in (gained.low, gained.high))
    return Finding(
        title=f"Simulated together: ETTR {pct(after.ettr)}",
        text=(
            f"Simulated together on the same failures: ETTR {pct(before.ettr)} without the set and "
            f"{pct(after.ettr)} with it (95% CI {low} to {high}; {count(after.n_runs)} runs each). The "
            f"analytical model has {pct(found.ettr)} and {pct(found.ettr_with_all)}."
        ),
    )


def decisive(frame: pd.DataFrame, found: Recommendation | None) -> Finding:
    """Which assumption moves the net saving most, and which change the set; ``frame`` as from ``tables.decisive``."""
    known = frame[frame[["net_low", "net_high"]].notna().all(axis=1)] if len(frame) else frame
    if known.empty or not found:
        return Finding("Nothing to vary", "Nothing is recommended, or nothing is assumed: there is nothing to vary.")
    most = next(known.itertuples())
    low, high = (net_saving(end, most.net_unit) for end in sorted((most.net_low, most.net_high)))
    turns = [change for row in frame.itertuples() for change in _changes(row, found)]
    n, least = int(frame["changes_set"].sum()), float(known[["net_low", "net_high"]].min().min())
    changing = f"{count(n)} of {count(len(frame))} assumptions change the set"
    rest = f"; the chart marks {count(len(turns) - _MOST_NAMED)} more" if len(turns) > _MOST_NAMED else ""
    pays = "It pays for itself at every end." if least > 0 else "At some ends it does not pay for itself."
    return Finding(
        title=f"The {most.name} moves the net saving most; {changing if n else 'none changes the set'}",
        text=" ".join(
            [
                f"Across its plausible range ({most.range}), the {most.name} moves the net saving of the "
                f"recommended set from {low} to {high}. {pays}",
                f"The recommended set changes with {count(n)} of {count(len(frame))} assumptions: "
                f"{'; '.join(turns[:_MOST_NAMED])}{rest}."
                if turns
                else "No single assumption changes the recommended set.",
            ]
        ),
    )


def _changes(row: Any, found: Recommendation) -> list[str]:
    """To what a row of ``tables.decisive`` changes the recommended set, at each end where it does."""
    texts = []
    for value, ids in ((row.low_value, row.ids_low), (row.high_value, row.ids_high)):
        if ids is None or set(ids) == set(row.ids):
            continue
        gone, new = (
            [_title(found, name) for name in some if name not in others]
            for some, others in ((row.ids, ids), (ids, row.ids))
        )
        to = f"{listed(new)} instead of {listed(gone)}" if new and gone else f"with {listed(new)}" if new else ""
        is_effect = row.input.startswith("effect of ")
        amount = f"{pct(value, 0)} of the expected saving" if is_effect else f"{limit(value)} {row.unit}".strip()
        texts.append(f"the {row.name} at {amount}: {to or f'without {listed(gone)}'}")
    return texts


def asked(found: Recommendation | None, budget_usd: float) -> Finding:
    """Two exercises."""
    price = found.price_usd if found else 0.0
    return exercises(
        Exercise(
            "A second mitigation saves the same hours as the first. What are both together worth?",
            "Hardly more than the better of the two: an hour is saved only once.",
        ),
        Exercise(
            say("The set costs {price:usd}. Why not buy more?", price=price) if price else "Why is nothing bought?",
            "Because nothing else returns its price on this one job with the set in place."
            if price < budget_usd
            else "The budget is spent.",
        ),
    )
