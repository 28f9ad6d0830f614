"""What is said of the values that a target needs, of one field alone and of two together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.chapters.scale import requirement_tables as tables
from ettr.core.sentences import Finding, gpus, limit, listed, number, pct, say

if TYPE_CHECKING:
    from ettr.plan import Requirement
    from ettr.scenario import Scenario


def requirements(needs: list[Requirement], n_gpus: int) -> Finding:
    """What would reach the target at one size; ``needs`` as from :func:`ettr.plan.requirements`."""
    target = needs[0].target_ettr
    able = [_amount(need) for need in needs if need.value is not None and math.isfinite(need.value)]
    failed = [need for need in needs if need.value is None and need.given > 0]
    if all(need.value is not None and need.value >= need.given for need in needs):
        room = "; or ".join(able) or "no field limits it"
        return Finding(
            title=f"{gpus(n_gpus)} reach {pct(target, 0)} as they are",
            text=f"On {gpus(n_gpus)} the target of {pct(target, 0)} is reached already; there is room: {room}.",
        )
    alone = say(
        "{changes} alone would do it: {able}.",
        "no single change does it.",
        changes="one change" if len(able) == 1 else "any one of these",
        able="; or ".join(able) or None,
    )
    never = say(
        " {names} cannot do it, not even at zero: that leaves {at_best}{ettr:share}.",
        names=listed([tables.field_name(need.field) for need in failed]).capitalize(),
        at_best="at best " if len(failed) > 1 else "",
        ettr=max((need.best_ettr for need in failed), default=None),
    )
    return Finding(
        title=f"What {pct(target, 0)} takes on {gpus(n_gpus)}",
        text=f"**For {pct(target, 0)} on {gpus(n_gpus)}**: {alone}{never}",
    )


def _amount(need: Requirement) -> str:
    unit = need.unit or "failures per 1000 node-days"
    text = f"{tables.field_name(need.field)} at most {limit(float(need.value or 0), 'at most')} {unit}"
    return f"{text}, instead of {number(need.given)}" if need.given > 0 else text


def recovery(scenario: Scenario, needs: list[Requirement], n_gpus: int) -> Finding:
    """What the map of size against restart time says; ``needs`` as from :func:`ettr.plan.requirements`."""
    need = next(need for need in needs if need.field == "recovery.restart_min")
    others = [tables.field_name(one.field) for one in needs if one.value is not None and one is not need]
    instead = f"only {listed(others)} can do it alone" if others else "no field can do it alone"
    values = {"n_gpus": n_gpus, "target": need.target_ettr, "own_h": scenario.restart_h, "best": need.best_ettr}
    if need.value is None:
        template = (
            "On {n_gpus:gpus} no restart time reaches {target:share0}: even an instant restart leaves {best:share}; "
            "{instead}."
        )
    else:
        template = "On {n_gpus:gpus} a restart of at most {most_h:duration} reaches {target:share0}; the scenario has "
        template += "{own_h:duration}."
    text = say(
        template,
        "On {n_gpus:gpus} any restart time reaches {target:share0}.",
        instead=instead,
        most_h=None if need.value is None else need.value / 60,
        **values,
    )
    return Finding(title="Which sizes and restart times reach how much", text=text)


def cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of required values in words.

    Parameters
    ----------
    frame : DataFrame
        As from ``requirement_tables.required_by_size``.

    Returns
    -------
    DataFrame
        ``field``, ``given``, and a column a size: the value that just reaches the target; ``any`` where each does;
        where none does, the ETTR that is reached with the field at its ideal, and with which other ideal as well.
    """
    sizes = list(dict.fromkeys(frame["n_gpus"]))
    rows = []
    for _, of_field in frame.groupby("field", sort=False):
        first = of_field.iloc[0]
        name = tables.field_name(first["field"]).removeprefix("the ")
        unit = f" [{first['unit']}]" if first["unit"] and "node-days" not in first["unit"] else ""
        row = {"field": f"{name[0].upper()}{name[1:]}{unit}", "given": _given(first["given"])}
        by_size = of_field.set_index("n_gpus")
        rows.append(row | {gpus(size): _cell(by_size.loc[size]) if size in by_size.index else "" for size in sizes})
    return pd.DataFrame(rows, columns=["field", "given", *(gpus(size) for size in sizes)])


def _given(value: float) -> str:
    return say("{value:number}", "by mode", value=value)


def _cell(row: pd.Series) -> str:
    if math.isinf(row["value"]):
        return "any"
    if not math.isnan(row["value"]):
        return f"{row['sense']} {limit(row['value'], row['sense'])}"
    alone = f"none: {pct(row['best_ettr'])} at best"
    if not row["blocker"]:
        return alone
    also = "enough" if row["blocked_ettr"] >= row["target"] else f"{pct(row['blocked_ettr'])}"
    return f"{alone}; with {tables.field_name(row['blocker'])} ideal too {also}"


def answer(frame: pd.DataFrame, target: float) -> Finding:
    """Which fields could reach a target alone; ``frame`` as from ``requirement_tables.required_by_size``."""
    sentences = [_of_size(int(size), rows, target) for size, rows in frame.groupby("n_gpus")]
    if not sentences:
        return Finding(title="Nothing to solve for", text="The scenario loses nothing that a field could give back.")
    ends = frame[frame["n_gpus"] == frame["n_gpus"].max()]
    able = [tables.field_name(field) for field in ends.loc[ends["value"].notna(), "field"]]
    largest = gpus(ends["n_gpus"].iloc[0])
    alone = f"only {listed(able)} can do it alone" if able else "no field can do it alone"
    if len(able) == len(ends):
        alone = "every field can do it alone"
    return Finding(title=f"For {pct(target, 0)} on {largest} {alone}"[:118], text=" ".join(sentences))


def _of_size(n_gpus: int, rows: pd.DataFrame, target: float) -> str:
    """One sentence a size: reached already, or by which fields alone, or what stands in the way."""
    where, goal = f"On {gpus(n_gpus)}", pct(target, 0)
    worse = rows[rows["value"].notna() & ~tables.reached_as_given(rows)]
    if rows["value"].notna().all() and worse.empty:
        return f"{where} {goal} is reached as it is."
    able = [
        f"{tables.field_name(row.field)} {row.sense} {limit(row.value, row.sense)} (now {_given(row.given)})"
        for row in worse.itertuples()
    ]
    alone = f"no field reaches {goal} alone"
    if able:
        which = "one field alone reaches" if len(able) == 1 else "each of these reaches"
        alone = f"{which} {goal}: {'; '.join(able)}"
    failed = rows[rows["value"].isna() & (rows["blocker"] != "")]
    if failed.empty:
        return f"{where} {alone}."
    best, pair = failed.loc[failed["best_ettr"].idxmax()], failed.loc[failed["blocked_ettr"].idxmax()]
    return say(
        "{where} {alone}. Of the others the most that one leaves is {best:share}, with {field} at its ideal; "
        "{one} and {other} together {both}, at {left:share}.",
        where=where,
        alone=alone,
        best=best["best_ettr"],
        field=tables.field_name(best["field"]),
        one=tables.field_name(pair["field"]),
        other=tables.field_name(pair["blocker"]),
        both="are enough" if pair["blocked_ettr"] >= target else "are not enough either",
        left=pair["blocked_ettr"],
    )


def frontier(frame: pd.DataFrame, scenario: Scenario, target: float) -> Finding:
    """What pairs of rate and restart reach a target; ``frame`` as from ``requirement_tables.frontiers``."""
    if frame.empty:
        text = f"No restart time and no failure rate reach {pct(target, 0)}"
        return Finding(title=text, text=f"{text} at any size shown: other losses are larger.")
    fastest = tables.rates_at(frame, frame["restart_min"].min())
    own = tables.rates_at(frame, scenario.recovery.restart_min)
    steepest = frame.loc[frame["n_gpus"].idxmax(), ["n_gpus", "rate"]]
    text = say(
        "The scenario has {rate:number} failures per 1000 node-days. With a restart of {least_h:duration} "
        "{target:share0} would allow {fastest:list} GPUs.",
        rate=scenario.failure_rate,
        least_h=frame["restart_min"].min() / 60,
        target=target,
        fastest=_rates(fastest),
    )
    text += say(
        " With the scenario's own of {own_h:duration} it allows {own}.",
        own_h=scenario.recovery.restart_min / 60,
        own=listed(_rates(own)) if own else None,
    )
    return Finding(
        title=say(
            "On {n_gpus:gpus} even an instant restart allows {rate:number} failures per 1000 node-days", **steepest
        ),
        text=(
            f"{text} Where a line stands upright a faster restart gains nothing more, and the rest is lost to stalls, "
            f"rework and detection. Failures per node have to fall as the job grows."
        ),
    )


def _rates(by_size: dict[float, float]) -> list[str]:
    return [say("{rate:number} on {n_gpus:count}", rate=rate, n_gpus=n_gpus) for n_gpus, rate in by_size.items()]


def published_stalls(results: pd.DataFrame) -> Finding:
    """What FT-HSDP reports of recovery at 100,000 GPUs; ``results`` as from :func:`ettr.validation.run`."""
    pairs = [
        say("{quantity}: reported {published:share0}, computed {computed:share}", **row)
        for row in results[results["model"] == "stall_ettr"].to_dict("records")
    ]
    return Finding(
        title="A stall of minutes decides at 100,000 GPUs",
        text=(
            f"Such a run has been reported. {'; '.join(pairs)}. Computed is 1 less the stall over the time to "
            f"failure at the rate of RSC-1; replicas that are away while the others train are not in it."
        ),
    )
