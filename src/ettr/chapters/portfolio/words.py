"""What the chapter on mitigations together says of steps, interactions, shares, budgets, and what decides."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ettr.chapters.common.sentences import Finding, count, days, listed, number, pct
from ettr.chapters.one_by_one.words import PARTS_IN_WORDS, saved, small, usd
from ettr.chapters.portfolio.tables import AFTER, BEFORE, Choice, Sensitivity
from ettr.compare import Attribution, Comparison
from ettr.compare.sensitivity import LEAD
from ettr.mitigation import weakest_status

_NOTHING = "No mitigation that has evidence saves time for certain here"


def answer(found: Comparison, steps: pd.DataFrame, budget_usd: float) -> Finding:
    """Which few to take, in one paragraph; ``steps`` as from ``tables.affordable_steps``."""
    base = found.baseline
    if steps.empty:
        return Finding(
            title="Nothing to take",
            text=(
                f"**Nothing that helps for certain fits into {usd(budget_usd)}: the run takes "
                f"{days(base.mean('days'))} at an ETTR of {pct(base.ettr)}.**"
            ),
        )
    names = [small(title) for title in steps["title"]]
    all_days = float(steps["added"].sum())
    saves = float(steps["saved_usd"].sum())
    left = f"leave {usd(saves)} over" if saves >= 0 else f"cost {usd(-saves)} more than they save"
    after = base.mean("days") - all_days
    soft = int((steps["basis"] == "assumed").sum())
    which = "all" if soft == len(steps) > 1 else count(soft)
    known = f"What {which} of them {'changes' if soft == 1 else 'change'} is assumed." if soft else ""
    verb = "they save" if len(steps) > 1 else "it saves"
    return Finding(
        title=f"{count(len(steps))} together save {saved(all_days)}",
        text=(
            f"**Within {usd(budget_usd)}, take {listed(names)}: {verb} {saved(all_days)} of {days(base.mean('days'))}, "
            f"and the ETTR goes from {pct(base.ettr)} to {pct(float(steps['ettr'].iloc[-1]))}.** They cost "
            f"{usd(float(steps['spent_usd'].iloc[-1]))}, and {left}; the run then takes {days(after)}. {known}"
        ).strip(),
    )


def chosen_from(found: Comparison, leading: tuple[str, ...], n_lent: int) -> Finding:
    """Which mitigations the chapter chooses from, and what they rest on."""
    run = found.study.scenario
    if not leading:
        text = f"{_NOTHING}. The rest of the chapter has nothing to show for *{run.title}*."
        return Finding(title="Nothing to choose from", text=text)
    titles = [small(found.study.catalogue[name].title) for name in leading]
    assumed = sum(weakest_status(found.study.catalogue[name].changes) == "assumed" for name in leading)
    of = f"For {count(assumed)} of them the size of the effect is assumed." if assumed else ""
    return Finding(
        title=f"{count(len(leading))} mitigations to choose from",
        text=(
            f"Chosen from: {listed(titles)}. {of} *{run.title}* is lent {count(n_lent)} values that it does not give, "
            f"and the chapter on single mitigations lists them."
        ),
    )


def lost_hours(frame: pd.DataFrame, trained_less_h: float) -> Finding:
    """Where lost hours go before and after; both as from ``tables.lost_hours`` and its neighbour."""
    rows = frame.set_index("part")
    before, after = float(rows.loc[BEFORE, "hours"]), float(rows.loc[AFTER, "hours"])
    parts = rows.drop([BEFORE, AFTER]).sort_values("hours")
    if parts.empty and abs(trained_less_h) <= 0.5:
        return Finding(title="No hour moves", text=f"Lost are {number(before)} h, with mitigations and without.")
    less = parts[parts["hours"] < -0.5]
    more = parts[parts["hours"] > 0.5]
    told = [f"{PARTS_IN_WORDS[str(name)]} ({number(-row['hours'])} h)" for name, row in less.head(4).iterrows()]
    words = f"Most comes back from {listed(told)}." if told else ""
    if len(more):
        grown = [f"{PARTS_IN_WORDS[str(name)]} ({number(row['hours'])} h)" for name, row in more.iterrows()]
        words += f" More goes to {listed(grown)}."
    if abs(trained_less_h) > 0.5:
        pace = "less, as its steps are faster" if trained_less_h > 0 else "more, as its steps are slower"
        words += f" Training itself takes {number(abs(trained_less_h))} h {pace}, which is no lost hour."
    own = parts["after"]
    rest = f" What is left is mostly {PARTS_IN_WORDS[str(own.idxmax())]}." if len(own) and own.max() > 0.5 else ""
    return Finding(
        title=f"{count(before)} lost hours become {count(after)}",
        text=f"Of {number(before)} lost hours {number(after)} are left. {words.strip()}{rest}".strip(),
    )


def steps(frame: pd.DataFrame) -> Finding:
    """What each step adds; ``frame`` as from ``tables.affordable_steps``."""
    if frame.empty:
        return Finding(title="No step helps for certain within the budget", text=f"{_NOTHING}, or none is affordable.")
    first = frame.iloc[0]
    later = frame.iloc[1:]
    told = [f"The first step is what helps most alone: {small(first['title'])}, {saved(first['added'])}."]
    for row in later.itertuples():
        kept = f", {pct(row.kept, 0)} of what it saves alone" if math.isfinite(row.kept) else ""
        told.append(f"{small(row.title)} adds {saved(row.added)}{kept}.")
    known = later[later["kept"].notna()]
    if len(known):
        worst = known.loc[known["kept"].idxmin()]
        if worst["kept"] < 0.9:
            told.append(
                f"Beside the others {small(worst['title'])} loses most: {pct(1 - worst['kept'], 0)} of its gain."
            )
        else:
            told.append("Beside each other they lose little: they save on different parts.")
    told.append("Another first step would change what the next ones add, and perhaps which they are.")
    sum_alone, together = float(frame["alone"].sum()), float(frame["added"].sum())
    title = f"Together {saved(together)}, where the sum of each alone is {saved(sum_alone)}"
    return Finding(title=title, text=" ".join(told))


def interactions(frame: pd.DataFrame) -> Finding:
    """Who gets in whose way; ``frame`` as from :func:`ettr.compare.interactions`."""
    if frame.empty:
        return Finding(title="No two to look at", text="There are no two mitigations to look at.")
    once = frame.iloc[::2]
    apart = once[once["why"] != ""]
    known = once[once["why"] == ""]
    told = []
    title = "No two of them go together"
    if len(known):
        worst = known.loc[known["beyond"].idxmin()]
        sure = known[(known["high"] < 0) | (known["low"] > 0)]
        title = f"{count(int((sure['beyond'] < 0).sum()))} of {count(len(known))} pairs gain less than their sum"
        if worst["high"] < 0:
            share = f", {pct(-worst['share'], 0)} of the smaller gain" if math.isfinite(worst["share"]) else ""
            told.append(
                f"Most is lost by {small(worst['first_title'])} beside {small(worst['second_title'])}: "
                f"{saved(worst['beyond'])}{share}."
            )
        best = known.loc[known["beyond"].idxmax()]
        if best["low"] > 0:
            told.append(
                f"{small(best['first_title'])} and {small(best['second_title'])} gain {saved(best['beyond'])} more "
                f"together than apart."
            )
        unsure = len(known) - len(sure)
        if unsure:
            told.append(f"For {count(unsure)} of {count(len(known))} pairs no difference is certain.")
    if len(apart):
        pairs = [f"{small(row.first_title)} and {small(row.second_title)}" for row in apart.itertuples()]
        told.append(f"Not together: {listed(pairs)}.")
    return Finding(title=title, text=" ".join(told))


def shares(found: Attribution) -> Finding:
    """How a common gain is shared; as from ``tables.shared_gain``."""
    if found.frame.empty:
        return Finding(title="Nothing to share", text=f"{_NOTHING}, so that there is no gain to share.")
    frame = found.frame
    first = frame.iloc[0]
    told = [
        f"Together the {count(len(frame))} that go together save {saved(found.together)} "
        f"({number(found.together_low)} to {number(found.together_high)} days). Over all orders in which they may come "
        f"{small(first['title'])} adds {saved(first['value'])} on average, "
        f"{pct(first['value'] / found.together, 0)} of it."
        if found.together > 0
        else f"Together the {count(len(frame))} that go together save nothing for certain."
    ]
    order_alone = frame.sort_values("alone", ascending=False)["id"].tolist()
    if len(frame) > 1:
        same = order_alone == frame["id"].tolist()
        told.append(
            "The order is that of the gains alone."
            if same
            else "The order is another than that of the gains alone: those that save the same hours share them."
        )
    ratio = (frame["last"] / frame["alone"]).where(frame["alone"] > 0)
    if ratio.notna().any():
        least = frame.loc[ratio.idxmin()]
        if ratio.min() < 0.9:
            told.append(
                f"Added last, {small(least['title'])} gains {_signed(least['last'])} of the {saved(least['alone'])} "
                f"that it gains alone."
            )
    return Finding(title=f"{saved(found.together)} together, and whose they are", text=" ".join(told))


def _signed(value: float) -> str:
    return saved(value) if value >= 0 else f"minus {saved(value)}"


def choice(found: Choice, budget_usd: float) -> Finding:
    """The best sets for their cost; as from ``tables.choose``."""
    frame = found.frame
    if frame.empty:
        return Finding(title="Nothing to choose from", text=f"{_NOTHING}, so that there is no set to pay for.")
    front = frame[frame["pareto"]].sort_values("cost_usd")
    most = front.iloc[-1]
    told = [
        f"Of {count(len(frame))} sets of these mitigations {count(len(front))} are on the front: none cheaper reaches "
        f"their ETTR at the scenario's own pace, which slower training does not raise. At its end stands {_set(most)}, "
        f"with {pct(most['effective_ettr'])} for {usd(most['cost_usd'])}."
    ]
    if found.exact is None or found.greedy is None:
        told.append(f"Nothing is chosen: {found.why}.")
        return Finding(title="The budget buys none of them", text=" ".join(told))
    best, step_by_step = found.exact.best, found.greedy.best
    if best is None or step_by_step is None:
        told.append("Within the budget no set saves anything.")
        return Finding(title="No set within the budget saves time", text=" ".join(told))
    rows = frame.set_index("ids")
    told.append(
        f"Within {usd(budget_usd)} the best is {_set(rows.loc[best['ids']])}: {saved(best['gain'])} for "
        f"{usd(best['cost_usd'])}."
    )
    if set(found.exact.ids) == set(found.greedy.ids):
        told.append("One more at a time leads to the same set.")
    else:
        told.append(
            f"One more at a time leads to another set, {_set(rows.loc[step_by_step['ids']])}, and saves "
            f"{saved(best['gain'] - step_by_step['gain'])} less."
        )
    told.append("Costs are mostly assumed: another price moves a set along the front, or off it.")
    return Finding(title=f"The best within {usd(budget_usd)} saves {saved(best['gain'])}", text=" ".join(told))


def _set(row: pd.Series) -> str:
    return listed([small(name) for name in row["titles"]]) if len(row["titles"]) else "none of them"


def tornado(found: Sensitivity) -> Finding:
    """Which input moves most; as from ``tables.sensitivity``."""
    table = found.tornado
    if table.empty:
        return Finding(title="Nothing to vary", text=f"{_NOTHING}, or nothing of the scenario is uncertain.")
    inputs = table.drop_duplicates("input")
    first = table.iloc[0]
    told = [
        f"Of {count(len(inputs))} uncertain inputs `{first['input']}` moves a gain most: over its range, "
        f"{small(first['title'])} saves {number(_least(first))} to {number(_most(first))} days."
    ]
    assumed = inputs[inputs["status"] == "assumed"]
    if len(assumed):
        told.append(f"{count(len(assumed))} of the inputs are assumed, and may be half or twice as large.")
    flips = inputs[inputs["changes_best"].astype(bool)]
    several = len(set(table["id"])) > 1
    if len(flips):
        names = listed([f"`{name}`" for name in flips["input"]])
        told.append(f"At an end of its range, each of these alone puts another mitigation first: {names}.")
        title = f"{count(len(flips))} of {count(len(inputs))} inputs could change which comes first"
    elif several:
        told.append("None of them alone puts another mitigation first.")
        title = "No single input changes which comes first"
    else:
        title = f"Most depends on {first['input']}"
    lost = table[table[["gain_low", "gain_high"]].isna().any(axis=1)].drop_duplicates("input")
    if len(lost):
        names = listed([f"`{name}`" for name in lost["input"]])
        told.append(f"No answer at an end of {names}: the job does not get on there, or something does not fit.")
    return Finding(title=title, text=" ".join(told))


def _least(row: pd.Series) -> float:
    return float(np.nanmin([row["gain"], row["gain_low"], row["gain_high"]]))


def _most(row: pd.Series) -> float:
    return float(np.nanmax([row["gain"], row["gain_low"], row["gain_high"]]))


def sobol(found: Sensitivity) -> Finding:
    """Which input decides, all together; as from ``tables.sensitivity``."""
    if found.sobol is None:
        return Finding(title="No indices", text=f"Indices of all inputs together were not worked out: {found.why}.")
    rows, best = found.sobol.indices, found.sobol.best
    of = LEAD if (rows["of"] == LEAD).any() else str(rows["of"].iloc[0])
    own = rows[(rows["of"] == of) & rows["total"].notna()]
    told = []
    title = "The gains do not vary"
    if len(own):
        first = own.loc[own["total"].idxmax()]
        what = "of the lead of the first" if of == LEAD else "of the gain"
        sure = first["total_error"] < first["total"]
        title = f"Most depends on {first['input']}" if sure else "Too few points to tell which input decides"
        told.append(
            f"If the {count(len(own))} inputs that move gains most vary together, `{first['input']}` has the largest "
            f"part in the variance {what}, with a total index of {number(max(first['total'], 0.0))} ± "
            f"{number(first['total_error'])}."
        )
        if not sure:
            told.append("The error is as large as the index: more points are needed to tell.")
    shares = [f"{small(row.title)} at {pct(row.share, 0)}" for row in best.itertuples() if row.share > 0]
    if len(best) > 1:
        told.append(f"First at how many of {count(len(found.sobol.samples))} points: {listed(shares)}.")
        if len(shares) > 1:
            told.append("Measured on this cluster, these inputs would settle more than any number of runs.")
    return Finding(title=title, text=" ".join(told))
