"""Which mitigations together, and which assumption decides?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import mitigation, plan, recommendation
from ettr.core.errors import EttrError, NotModelled
from ettr.core.results import PARTS
from ettr.core.sentences import Finding, about, capital, count, limit, listed, pct, roughly, say, usd
from ettr.core.units import H_PER_MONTH
from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.ranking import bars, effect_colours, rows_chart
from ettr.plots.theme import BLUE, ORANGE, PART_COLOURS, NoChart
from ettr.ranges import Assumed
from ettr.recommendation import Recommendation
from ettr.recommendation.best_set import Sets
from ettr.recommendation.ranges import strength_factor
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of
from ettr.scenario.paths import INTERVAL
from ettr_book.chapters.common.mitigations import HOURS, MONEY, hours, net_saving, small, span

BEFORE, AFTER = "lost before", "lost after"
_STILL_H = 0.05
"""Smallest monthly change of a part in the waterfall. [h]"""
_TOTAL = "#5f7d95"
_MOST_NAMED, _MOST_DRAWN = 3, 12
_LEAST_DRAWN = 0.02
"""Share of the largest swing below which an assumption is not drawn, unless it changes the set."""
_NONE = NoChart("nothing is recommended.")


def with_answer(recommended: Recommendation | None) -> Recommendation:
    """Return the recommendation, or refuse a run without one, about which the rest of the page has nothing to say.

    Raises
    ------
    NotModelled
        If there is no recommendation.
    """
    if recommended is None:
        raise NotModelled("the run has no failures, or practically never ends")
    return recommended


def answer(recommended: Recommendation | None) -> Finding:
    """Return the recommended set, its cost and saving, and its alternatives; None for a run without any."""
    if not recommended:
        nothing = "Nothing is recommended"
        return Finding(nothing, f"**{nothing}: the run has no failures, or practically never ends.**")
    if not recommended.steps:
        return _none_pays(recommended)
    titles = [step.title for step in recommended.steps]
    net = ""
    if recommended.has_price:
        ends = [usd(about(end)) for end in recommended.plausible_net_usd or ()]
        value, plausible = usd(about(recommended.net_usd)), f"{span(*ends)}, or " if ends else ""
        net = f", a net saving of {plausible}{value}{' with the values used here,' if ends else ''} over "
        net += recommended.horizon
    text = say(
        "**Recommended together: {names:list}, for {price:usd} (price assumed). They save {saved} h per month{net}. "
        "ETTR rises from {#best_ettr:share0} to {after:share0}.**",
        names=[small(title) for title in titles],
        price=about(recommended.price_usd),
        saved=hours(recommended.saved_h),
        net=net,
        best_ettr=recommended.ettr,
        after=recommended.ettr_with_all,
    )
    sentences = [text, _effects(recommended), *_alternatives(recommended)]
    return Finding(f"{listed(titles)}: {hours(recommended.saved_h)} h per month", " ".join(sentences))


def _none_pays(recommended: Recommendation) -> Finding:
    """Return that no mitigation pays for itself, and which comes nearest."""
    within = f" within {recommended.horizon}" if recommended.has_price else ", even without a price"
    nearest = ""
    if recommended.quickest and recommended.has_price:
        name, months = recommended.quickest
        nearest = f" {_title(recommended, name)} would come nearest, and pay back in {roughly(months * H_PER_MONTH)}."
    keeps = say("The run has an ETTR of {#best_ettr:share0} at its best interval.", best_ettr=recommended.ettr)
    return Finding("No mitigation pays for itself", f"**No mitigation pays for itself{within}.**{nearest} {keeps}")


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


def lost_by_part(recommended: Recommendation) -> pd.DataFrame:
    """Return where the lost hours go, without and with the recommended set, as the steps of a waterfall.

    Returns
    -------
    DataFrame
        ``part`` (``lost before``, the parts that change, ``lost after``), ``start`` and ``end`` of its bar, ``hours``
        (lost; for a part, the change), ``before`` and ``after``; all per month of the same work, each run at its best
        interval, by the exact model [h]. Training time is no loss: the two totals differ by the hours that the set
        saves, except for savings from faster steps. Empty without a set.
    """
    columns = ["part", "start", "end", "hours", "before", "after"]
    if not recommended.steps:
        return pd.DataFrame(columns=columns)
    # measured values are no longer valid after a change
    run = recommended.scenario.override({"evidence": {}, "measured": None, INTERVAL: "best"})
    with_set = mitigation.apply(run, recommended.ids, recommended.catalogue)
    budgets = [plan.make(scenario, simulate=False).budget for scenario in (run, with_set)]
    per_month = H_PER_MONTH / float(budgets[0].total_h)
    lost, remaining = (float(budget.total_h - budget.productive_h) * per_month for budget in budgets)
    rows: list[tuple[str | float, ...]] = [(BEFORE, 0.0, lost, lost, lost, lost)]
    level = lost
    for part in PARTS[1:]:
        before, after = (float(getattr(budget, part)) * per_month for budget in budgets)
        if abs(after - before) >= _STILL_H:
            rows.append((part.removesuffix("_h"), level, level + after - before, after - before, before, after))
            level += after - before
    rows.append((AFTER, 0.0, remaining, remaining, remaining, remaining))
    return pd.DataFrame(rows, columns=columns)


def lost_hours(recommended: Recommendation) -> Any:
    """Draw a waterfall of the lost hours of a run, without and with the recommended set."""
    frame = lost_by_part(recommended)
    if frame.empty:
        return _NONE
    total = frame["part"].isin([BEFORE, AFTER])
    labels = [
        hours(row.hours) if is_total else f"{'+' if row.hours > 0 else '-'}{hours(abs(row.hours))}"
        for row, is_total in zip(frame.itertuples(), total, strict=True)
    ]
    ends = frame[["start", "end"]]
    colours = [PART_COLOURS.get(part, _TOTAL) for part in frame["part"]]
    rows = frame.assign(colour=colours, label=labels, right=ends.max(axis=1))
    scale = alt.Scale(domain=[min(0.0, float(ends.min().min())), 1.15 * float(ends.max().max())])
    x = alt.X("start:Q", title="Lost time [h per month]", axis=alt.Axis(tickCount=5), scale=scale)
    tips = tooltips("part", "before", "after", "hours")
    y = builders.rows("part", frame["part"], labelLimit=160)
    return rows_chart(
        bars(rows, x, "end", alt.Color("colour:N", scale=None), tips, y),
        len(frame),
        title=f"{labels[0]} lost hours per month become {labels[-1]}",
        subtitle=recommended.scenario.title,
        description="A waterfall of the hours lost per month",
        rows=(f"{part} {label}" for part, label in zip(frame["part"], labels, strict=True)),
    )


def steps(recommended: Recommendation) -> pd.DataFrame:
    """Return the saving, the break-even and the payback time of each step of the recommended set.

    Returns
    -------
    DataFrame
        Indexed by the title: hours saved per month alone and with the other steps in place, the price, the share of
        the expected effect at which it breaks even within the horizon, and the payback time.
    """
    has_price = recommended.has_price
    rows = [
        {
            "Mitigation": step.title,
            "Alone [h per month]": round(step.alone_h, 1),
            "With the others [h per month]": round(step.saved_h, 1),
            "Price [USD]": round(step.price_usd),
            **({"Breaks even at [% of its effect]": round(100 * step.needed_share, 1)} if has_price else {}),
            **({"Pays back in [days]": round(step.payback_months * H_PER_MONTH / 24, 1)} if has_price else {}),
        }
        for step in recommended.steps
    ]
    return pd.DataFrame(rows, columns=list(rows[0]) if rows else ["Mitigation"]).set_index("Mitigation")


def overlap(recommended: Recommendation) -> Any:
    """Draw the saving of each step with all others in place, and alone."""
    if not recommended.steps:
        return _NONE
    rows = pd.DataFrame([vars(step) for step in recommended.steps])
    scale = alt.Scale(domain=[0, 1.05 * float(rows[["saved_h", "alone_h"]].max().max())])
    x = alt.X("saved_h:Q", title="Time saved [h per month]", axis=alt.Axis(tickCount=6), scale=scale)
    named = {
        "saved_h": Column("Saves with the others in place", "h per month", ".3~g"),
        "alone_h": Column("Saves alone", "h per month", ".3~g"),
    }
    tips = tooltips("title", *named, "price_usd", "effect", title="Mitigation", **named)
    together, alone = hours(recommended.saved_h), hours(float(rows["alone_h"].sum()))
    title = f"Together {together} h per month; the sum of each alone is {alone} h"
    return rows_chart(
        bars(rows, x, "", effect_colours(rows["effect"]), tips, tick="alone_h"),
        len(rows),
        title=title if len(rows) > 1 else f"{together} h per month saved by one mitigation",
        subtitle=with_marks(recommended.scenario.title, "bars: with the others in place; ticks: alone"),
        description="Bars of the hours per month that each step saves with the others in place",
        rows=(f"{row.title} {hours(row.saved_h)}, alone {hours(row.alone_h)}" for row in rows.itertuples()),
    )


def simulated(run: Scenario, recommended: Recommendation, n_runs: int, seed: int = 0) -> Finding:
    """Return the ETTR without and with the set, simulated on the same failures with all features of the run."""
    none = Finding("No simulation", "Nothing is recommended, or the set cannot be simulated.")
    if not recommended.steps:
        return none
    try:
        with_set = mitigation.apply(run, recommended.ids, recommended.catalogue)
        before, after = (recommendation.run_scenario(scenario, n_runs, seed) for scenario in (run, with_set))
    except EttrError:
        return none
    gained = recommendation.gain(before, after, "ettr")
    low, high = (pct(before.ettr + end) for end in (gained.low, gained.high))
    return Finding(
        f"Simulated together: ETTR {pct(after.ettr)}",
        f"Simulated on the same failures, ETTR is {pct(before.ettr)} without the set and {pct(after.ettr)} with it "
        f"(95% CI {low} to {high}; {count(after.n_runs)} runs each). The exact model gives {pct(recommended.ettr)} and "
        f"{pct(recommended.ettr_with_all)}.",
    )


def ends(recommended: Recommendation, assumed: Iterable[Assumed]) -> pd.DataFrame:
    """Return the value of the recommended set with one assumption at a time at either end of its range.

    Parameters
    ----------
    recommended : Recommendation
        As from :meth:`ettr.plan.Plan.recommend`.
    assumed : iterable of Assumed
        Inputs with plausible ranges, such as those of :attr:`ettr.plan.Plan.assumptions`.

    Returns
    -------
    DataFrame
        One row per input, and one per step for its effect: ``input``, ``name``, ``range`` (in words), ``low_value``
        and ``high_value``; ``net`` with ``net_low`` and ``net_high`` (net saving of the recommended set; NaN where
        the model has no answer) in ``net_unit``, million USD or h per month; ``ids`` (the recommended set), ``ids_low``
        and ``ids_high`` (the set recommended at each end), ``changes_set``, ``swing`` (largest minus smallest
        ``net``), ``regret`` (the most that another set would save on top of it at an end, in ``net_unit``). The largest
        swing comes first. Empty without a set.
    """
    rows = (
        [] if not recommended or not recommended.steps else [*_inputs(recommended, assumed), *_strengths(recommended)]
    )
    columns = ["input", "name", "range", "low_value", "high_value", "net", "net_low", "net_high", "net_unit"]
    frame = pd.DataFrame(rows, columns=[*columns, "ids", "ids_low", "ids_high", "regret", "changes_set"])
    nets = frame[["net", "net_low", "net_high"]].astype(float)
    frame = frame.assign(swing=nets.max(axis=1) - nets.min(axis=1))
    return frame.sort_values("swing", ascending=False, kind="stable", ignore_index=True)


def _inputs(recommended: Recommendation, assumed: Iterable[Assumed]) -> Iterator[dict[str, Any]]:
    for entry in assumed:
        if entry.field != INTERVAL:  # chosen by the plan
            span_of_input = f"{limit(entry.low)} to {limit(entry.high)} {entry.unit}".strip()
            names = {"name": amount_of(entry.field, Scenario).removeprefix("the "), "range": span_of_input}
            at_ends = [
                _at_end(recommended, partial(_sets, recommended, {entry.field: value}))
                for value in (entry.low, entry.high)
            ]
            yield {"input": entry.field, **names, **_row(recommended, (entry.low, entry.high), at_ends)}


def _strengths(recommended: Recommendation) -> Iterator[dict[str, Any]]:
    sets = _sets(recommended, {})
    for step in recommended.steps:
        factor = strength_factor(recommended.catalogue[step.id])
        values = 1 / factor, factor
        span_of_effect = f"{pct(values[0], 0)} to {pct(values[1], 0)} of the expected saving"
        at_ends = [_at_end(recommended, partial(sets.with_strengths, {step.id: value})) for value in values]
        names = {"name": f"effect of {step.title}", "range": span_of_effect}
        yield {"input": f"effect of {step.id}", **names, **_row(recommended, values, at_ends)}


def _sets(recommended: Recommendation, values: dict[str, float]) -> Sets:
    """Return the sets of mitigations for the run with other values."""
    return Sets(recommended.scenario.override(values), recommended.budget_usd, recommended.catalogue)


def _row(
    recommended: Recommendation,
    values: tuple[float, float],
    at_ends: list[tuple[float, float, tuple[str, ...] | None]],
) -> dict[str, Any]:
    """Return the columns of both ends of a range."""
    (low, best_low, ids_low), (high, best_high, ids_high) = at_ends
    net, unit = (recommended.net_usd / 1e6, MONEY) if recommended.has_price else (recommended.saved_h, HOURS)
    return {
        "low_value": values[0],
        "high_value": values[1],
        "net": net,
        "net_low": low,
        "net_high": high,
        "net_unit": unit,
        "ids": recommended.ids,
        "ids_low": ids_low,
        "ids_high": ids_high,
        "regret": float(np.nanmax([best_low - low, best_high - high, 0.0])),
        "changes_set": any(ids is not None and set(ids) != set(recommended.ids) for ids in (ids_low, ids_high)),
    }


def _at_end(recommended: Recommendation, sets_of: Callable[[], Sets]) -> tuple[float, float, tuple[str, ...] | None]:
    """Return the net saving of the recommended set and of the best set there, and that set; NaN without an answer."""
    try:
        sets = sets_of()
    except EttrError:
        return np.nan, np.nan, None
    best = tuple(sorted(sets.best()))
    if recommended.has_price:
        net, highest = (sets.net_usd(ids) / 1e6 for ids in (recommended.ids, best))
    else:
        net, highest = (sets.saved_h(ids) for ids in (recommended.ids, best))
    return net if math.isfinite(net) else np.nan, highest, best


def decisive(recommended: Recommendation, assumed: Iterable[Assumed]) -> Any:
    """Draw the net saving of the recommended set with one assumption at a time at either end of its range."""
    frame = ends(recommended, assumed)
    answered = frame[["net_low", "net_high"]].notna().all(axis=1)
    moves = (frame["swing"] > _LEAST_DRAWN * frame["swing"].max()) | (frame["changes_set"] & answered)
    moving = frame[moves].head(_MOST_DRAWN)
    if moving.empty:
        return NoChart("nothing is recommended, or no assumption moves its saving.")
    nets = moving[["net", "net_low", "net_high"]].astype(float)
    names, unit = [capital(name) for name in moving["name"]], moving["net_unit"].iloc[0]
    drawn = pd.DataFrame(
        {"name": names, "range": moving["range"], "lowest": nets.min(axis=1), "highest": nets.max(axis=1)}
    )
    marks = pd.DataFrame(
        [
            {
                "name": name,
                "range": row.range,
                "net": net,
                "set": ", ".join(recommended.catalogue[each].title for each in ids) or "none",
                "regret": row.regret,
            }
            for name, row in zip(names, moving.itertuples(), strict=True)
            for net, ids in ((row.net_low, row.ids_low), (row.net_high, row.ids_high))
            if ids is not None and set(ids) != set(row.ids) and math.isfinite(net)
        ],
        columns=["name", "range", "net", "set", "regret"],
    )
    y = builders.rows("name", names, labelLimit=280)
    x = alt.X("lowest:Q", title=f"Net saving of the recommended set [{unit}]", axis=alt.Axis(tickCount=6))
    label = {"name": Column("Assumption"), "range": Column("Plausible range")}
    both = {"lowest": Column("Net saving from", unit, ".3~g"), "highest": Column("to", unit, ".3~g")}
    layers = bars(drawn, x, "highest", alt.value(BLUE), tooltips(*label, *both, **label, **both), y)
    line = alt.Chart(rounded(drawn.head(1).assign(net=moving["net"].iloc[0]), 4)).mark_rule(strokeWidth=1.5)
    layers.append(line.encode(x=alt.X("net:Q")))
    if len(marks):
        other = alt.Chart(rounded(marks, 4)).mark_point(shape="diamond", size=90, color=ORANGE, opacity=1)
        best = {"set": Column("Recommended at this end"), "regret": Column("Saves more, at most", unit, ".2~g")}
        tips = tooltips(*label, *best, **label, **best)
        layers.append(other.encode(y=y, x=alt.X("net:Q"), tooltip=tips))
    regret, diamonds = frame["regret"].max(), "; diamonds: another set is better" if len(marks) else ""
    saves = f"another set saves at most {net_saving(regret, unit)} more" if len(marks) else "the set stays the best"
    return rows_chart(
        layers,
        len(moving),
        title=f"The {moving['name'].iloc[0]} moves the net saving most; {saves}",
        subtitle=with_marks(recommended.scenario.title, f"line: values used here{diamonds}"),
        description="Ranges of the net saving of the recommended set, one row per assumption",
        rows=(
            f"{row.name} {net_saving(row.lowest, unit)} to {net_saving(row.highest, unit)}"
            for row in drawn.itertuples(index=False)
        ),
    )
