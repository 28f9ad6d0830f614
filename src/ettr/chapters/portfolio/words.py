"""What the chapter on mitigations together says of steps, interactions, shares, budgets, and what decides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.chapters.common.mitigations import PARTS_IN_WORDS, saved, small
from ettr.chapters.portfolio.tables import AFTER, BEFORE, LEAD, Choice, Sensitivity, n_assumed
from ettr.core.sentences import Finding, count, days, listed, number, pct, usd

if TYPE_CHECKING:
    from ettr.compare import Attribution, Comparison

_NOTHING = "No mitigation that has evidence saves time for certain here"


def answer(comparison: Comparison, steps: pd.DataFrame, budget_usd: float) -> Finding:
    """Which few to take, in one paragraph; ``steps`` as from ``tables.affordable_steps``."""
    base = comparison.study.before(steps["id"])
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
    as_it_is = comparison.baseline
    if pct(as_it_is.ettr) != pct(base.ettr):
        known += (
            f" Without what is assumed for them to act on, the run takes {days(as_it_is.mean('days'))} at an ETTR of "
            f"{pct(as_it_is.ettr)}."
        )
    verb = "they save" if len(steps) > 1 else "it saves"
    return Finding(
        title=f"{count(len(steps))} together save {saved(all_days)}",
        text=(
            f"**Within {usd(budget_usd)}, take {listed(names)}: {verb} {saved(all_days)} of {days(base.mean('days'))}, "
            f"and the ETTR goes from {pct(base.ettr)} to {pct(float(steps['ettr'].iloc[-1]))}.** They cost "
            f"{usd(float(steps['spent_usd'].iloc[-1]))}, and {left}; the run then takes {days(after)}. {known.strip()}"
        ).strip(),
    )


def chosen_from(comparison: Comparison, leading: tuple[str, ...], n_values: int) -> Finding:
    """Which mitigations the chapter chooses from, and what they rest on."""
    run = comparison.study.scenario
    if not leading:
        text = f"{_NOTHING}. The rest of the chapter has nothing to show for *{run.title}*."
        return Finding(title="Nothing to choose from", text=text)
    titles = [small(comparison.study.catalogue[name].title) for name in leading]
    assumed = n_assumed(comparison.study, leading)
    of = f"For {count(assumed)} of them the size of the effect is assumed." if assumed else ""
    return Finding(
        title=f"{count(len(leading))} mitigations to choose from",
        text=(
            f"Chosen from: {listed(titles)}. {of} {count(n_values)} values that *{run.title}* does not give are "
            f"assumed, and the chapter on single mitigations lists them."
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
    freed = [f"{PARTS_IN_WORDS[str(name)]} ({number(-row['hours'])} h)" for name, row in less.head(4).iterrows()]
    words = f"Most comes back from {listed(freed)}." if freed else ""
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
    sentences = [f"The first step is what helps most alone: {small(first['title'])}, {saved(first['added'])}."]
    for row in later.itertuples():
        kept = f", {pct(row.kept, 0)} of what it saves alone" if math.isfinite(row.kept) else ""
        sentences.append(f"{small(row.title)} adds {saved(row.added)}{kept}.")
    known = later[later["kept"].notna()]
    if len(known):
        worst = known.loc[known["kept"].idxmin()]
        if worst["kept"] < 0.9:
            sentences.append(
                f"Beside the others {small(worst['title'])} loses most: {pct(1 - worst['kept'], 0)} of its gain."
            )
        else:
            sentences.append("Beside each other they lose little: they save on different parts.")
    sentences.append("Another first step would change what the next ones add, and perhaps which they are.")
    sum_alone, together = float(frame["alone"].sum()), float(frame["added"].sum())
    title = f"Together {saved(together)}, where the sum of each alone is {saved(sum_alone)}"
    return Finding(title=title, text=" ".join(sentences))


def interactions(frame: pd.DataFrame) -> Finding:
    """Who gets in whose way; ``frame`` as from :func:`ettr.compare.interactions`."""
    if frame.empty:
        return Finding(title="No two to look at", text="There are no two mitigations to look at.")
    once = frame.iloc[::2]
    apart = once[once["why"] != ""]
    known = once[once["why"] == ""]
    sentences = []
    title = "No two of them go together"
    if len(known):
        worst = known.loc[known["beyond"].idxmin()]
        sure = known[(known["high"] < 0) | (known["low"] > 0)]
        title = f"{count(int((sure['beyond'] < 0).sum()))} of {count(len(known))} pairs gain less than their sum"
        if worst["high"] < 0:
            share = f", {pct(-worst['share'], 0)} of the smaller gain" if math.isfinite(worst["share"]) else ""
            sentences.append(
                f"Most is lost by {small(worst['first_title'])} beside {small(worst['second_title'])}: "
                f"{saved(worst['beyond'])}{share}."
            )
        best = known.loc[known["beyond"].idxmax()]
        if best["low"] > 0:
            sentences.append(
                f"{small(best['first_title'])} and {small(best['second_title'])} gain {saved(best['beyond'])} more "
                f"together than apart."
            )
        unsure = len(known) - len(sure)
        if unsure:
            sentences.append(f"For {count(unsure)} of {count(len(known))} pairs no difference is certain.")
    if len(apart):
        pairs = [f"{small(row.first_title)} and {small(row.second_title)}" for row in apart.itertuples()]
        sentences.append(f"Not together: {listed(pairs)}.")
    return Finding(title=title, text=" ".join(sentences))


def shares(shared: Attribution) -> Finding:
    """How a common gain is shared; as from ``tables.shared_gain``."""
    if shared.frame.empty:
        return Finding(title="Nothing to share", text=f"{_NOTHING}, so that there is no gain to share.")
    frame = shared.frame
    first = frame.iloc[0]
    sentences = [
        f"Together the {count(len(frame))} that go together save {saved(shared.together)} "
        f"({number(shared.together_low)} to {number(shared.together_high)} days). Over all orders in which they may "
        f"come {small(first['title'])} adds {saved(first['value'])} on average, "
        f"{pct(first['value'] / shared.together, 0)} of it."
        if shared.together > 0
        else f"Together the {count(len(frame))} that go together save nothing for certain."
    ]
    order_alone = frame.sort_values("alone", ascending=False)["id"].tolist()
    if len(frame) > 1:
        sentences.append(
            "The order is that of the gains alone."
            if order_alone == frame["id"].tolist()
            else "The order is another than that of the gains alone: those that save the same hours share them."
        )
    ratio = (frame["last"] / frame["alone"]).where(frame["alone"] > 0)
    if ratio.min() < 0.9:
        least = frame.loc[ratio.idxmin()]
        sentences.append(
            f"Added last, {small(least['title'])} gains {_signed(least['last'])} of the {saved(least['alone'])} "
            f"that it gains alone."
        )
    return Finding(title=f"{saved(shared.together)} together, and whose they are", text=" ".join(sentences))


def _signed(value: float) -> str:
    return saved(value) if value >= 0 else f"minus {saved(value)}"


def choice(chosen: Choice, budget_usd: float) -> Finding:
    """The best sets for their cost; as from ``tables.choose``."""
    frame = chosen.frame
    if frame.empty:
        return Finding(title="Nothing to choose from", text=f"{_NOTHING}, so that there is no set to pay for.")
    front = frame[frame["pareto"]].sort_values("cost_usd")
    most = front.iloc[-1]
    sentences = [
        f"Of {count(len(frame))} sets of these mitigations {count(len(front))} are on the front: none cheaper reaches "
        f"their ETTR at the scenario's own pace, which slower training does not raise. At its end stands {_set(most)}, "
        f"with {pct(most['effective_ettr'])} for {usd(most['cost_usd'])}."
    ]
    if chosen.exact is None or chosen.greedy is None:
        sentences.append(f"Nothing is chosen: {chosen.why}.")
        return Finding(title="The budget buys none of them", text=" ".join(sentences))
    best, step_by_step = chosen.exact.best, chosen.greedy.best
    if best is None or step_by_step is None:
        sentences.append("Within the budget no set saves anything.")
        return Finding(title="No set within the budget saves time", text=" ".join(sentences))
    rows = frame.set_index("ids")
    sentences.append(
        f"Within {usd(budget_usd)} the best is {_set(rows.loc[best['ids']])}: {saved(best['gain'])} for "
        f"{usd(best['cost_usd'])}."
    )
    if set(chosen.exact.ids) == set(chosen.greedy.ids):
        sentences.append("One more at a time leads to the same set.")
    else:
        sentences.append(
            f"One more at a time leads to another set, {_set(rows.loc[step_by_step['ids']])}, and saves "
            f"{saved(best['gain'] - step_by_step['gain'])} less."
        )
    sentences.append("Costs are mostly assumed: another price moves a set along the front, or off it.")
    return Finding(title=f"The best within {usd(budget_usd)} saves {saved(best['gain'])}", text=" ".join(sentences))


def _set(row: pd.Series) -> str:
    return listed([small(name) for name in row["titles"]]) if len(row["titles"]) else "none of them"


def tornado(sensitivity: Sensitivity) -> Finding:
    """Which input moves most; as from ``tables.sensitivity``."""
    table = sensitivity.tornado
    if table.empty:
        return Finding(title="Nothing to vary", text=f"{_NOTHING}, or nothing of the scenario is uncertain.")
    inputs = table.drop_duplicates("input")
    first = table.iloc[0]
    gains = first[["gain", "gain_low", "gain_high"]].astype(float)
    sentences = [
        f"Of {count(len(inputs))} uncertain inputs `{first['input']}` moves a gain most: over its range, "
        f"{small(first['title'])} saves {number(gains.min())} to {number(gains.max())} days."
    ]
    assumed = inputs[inputs["status"] == "assumed"]
    if len(assumed):
        sentences.append(f"{count(len(assumed))} of the inputs are assumed, and may be half or twice as large.")
    flips = inputs[inputs["changes_best"].astype(bool)]
    several = len(set(table["id"])) > 1
    if len(flips):
        names = listed([f"`{name}`" for name in flips["input"]])
        sentences.append(f"At an end of its range, each of these alone puts another mitigation first: {names}.")
        title = f"{count(len(flips))} of {count(len(inputs))} inputs could change which comes first"
    elif several:
        sentences.append("None of them alone puts another mitigation first.")
        title = "No single input changes which comes first"
    else:
        title = f"Most depends on {first['input']}"
    lost = table[table[["gain_low", "gain_high"]].isna().any(axis=1)].drop_duplicates("input")
    if len(lost):
        names = listed([f"`{name}`" for name in lost["input"]])
        sentences.append(f"No answer at an end of {names}: the job does not get on there, or something does not fit.")
    return Finding(title=title, text=" ".join(sentences))


def sobol(sensitivity: Sensitivity) -> Finding:
    """Which input decides, all together; as from ``tables.sensitivity``."""
    if sensitivity.sobol is None:
        return Finding(
            title="No indices", text=f"Indices of all inputs together were not worked out: {sensitivity.why}."
        )
    rows, best = sensitivity.sobol.indices, sensitivity.sobol.best
    of = LEAD if (rows["of"] == LEAD).any() else str(rows["of"].iloc[0])
    own = rows[(rows["of"] == of) & rows["total"].notna()]
    sentences = []
    title = "The gains do not vary"
    if len(own):
        first = own.loc[own["total"].idxmax()]
        what = "of the lead of the first" if of == LEAD else "of the gain"
        sure = first["total_error"] < first["total"]
        title = f"Most depends on {first['input']}" if sure else "Too few points to tell which input decides"
        sentences.append(
            f"If the {count(len(own))} inputs that move gains most vary together, `{first['input']}` has the largest "
            f"part in the variance {what}, with a total index of {number(max(first['total'], 0.0))} ± "
            f"{number(first['total_error'])}."
        )
        if not sure:
            sentences.append("The error is as large as the index: more points are needed to tell.")
    shares = [f"{small(row.title)} at {pct(row.share, 0)}" for row in best.itertuples() if row.share > 0]
    if len(best) > 1:
        sentences.append(f"First at how many of {count(len(sensitivity.sobol.samples))} points: {listed(shares)}.")
        if len(shares) > 1:
            sentences.append("Measured on this cluster, these inputs would settle more than any number of runs.")
    return Finding(title=title, text=" ".join(sentences))
