"""Sentences on one run, and on finishing dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.chapters.finishing_date.beyond_formula_tables import half_of_95, left_out_of
from ettr.chapters.finishing_date.beyond_formula_words import small
from ettr.chapters.finishing_date.tables import CHANCE, RATE
from ettr.core.results import TimeBudget
from ettr.core.sentences import Finding, count, duration, error, listed, number, pct, points
from ettr.core.units import H_PER_DAY, MIN_PER_H
from ettr.plan.assumed import assumptions

if TYPE_CHECKING:
    from ettr.scenario import Scenario
    from ettr.simulation import Simulation

_AGREE = 3.0
"""Standard errors within which two numbers agree."""
_ALIKE = 1.3
"""Ranges whose widths differ by a smaller factor are not told apart: so few runs do not know them better."""
_ENOUGH = 0.005
"""Spares are enough if all others together would gain no more ETTR than this."""
_KINDS = {"single nodes": "if nodes fail one by one", "racks too": "if racks fail at once too"}


def answer(scenario: Scenario, simulation: Simulation, closed: TimeBudget, beyond: pd.DataFrame) -> Finding:
    """How sure the date is, and what the closed form misses.

    ``closed`` is that of what :func:`ettr.budget.simplified` leaves, ``beyond`` as from
    ``beyond_formula_tables.beyond_formulas``.
    """
    without = left_out_of(scenario)
    form = f"the closed form, without {listed(list(without))}, says" if without else "the closed form says"
    low, high = simulation.finish_h([5, 95])
    here = beyond[(beyond["n_gpus"] == scenario.cluster.n_gpus) & beyond["points"].notna()]
    added = here[here["order"] > 0]
    off = added[(added["points"].abs() > 1) & (added["verdict"] == "differs")]
    mechanisms = f"none of {len(added)} assumed mechanisms that it has no term for moves the ETTR by more than a point"
    if len(off):
        worst = off.loc[off["points"].abs().idxmax()]
        named = f"*{small(worst['mechanism'])}*, {points(abs(worst['points']) / 100)} "
        named += "down" if worst["points"] < 0 else "up"
        mechanisms = f"of {len(added)} assumed mechanisms that it has no term for, {len(off)} "
        mechanisms += (
            f"moves the ETTR by more than a point: {named}"
            if len(off) == 1
            else f"move the ETTR by more than a point, most of all {named}"
        )
    elif added.empty:
        mechanisms = "hardly any training is left here with what it has no term for"
    return Finding(
        title=f"Nine runs in ten end between day {_day(low)} and day {_day(high)}",
        text=(
            f"**Nine in ten of {count(simulation.n_runs)} simulated runs of {scenario.title} are done between "
            f"{_day(low)} and {_day(high)} days after submission; {form} "
            f"{_day(float(closed.total_h))}.** That is chance alone, all values taken as known. For its own rules the "
            f"closed form needs no simulation; {mechanisms}. {assumptions(scenario)}"
        ).strip(),
    )


def dates(simulation: Simulation, closed: TimeBudget, left_out: tuple[str, ...]) -> Finding:
    """The spread of the date, and whether the closed form has its mean."""
    low, middle, high = simulation.finish_h([5, 50, 95])
    total = simulation.budget_interval.set_index("part").loc["total"]
    closed_h = float(closed.total_h)
    off = abs(total["mean"] - closed_h)
    mean = f"The mean is {_hours(total['mean'])} (give or take {error(max(half_of_95(total['error']), 1e-3))} h)"
    if off <= max(_AGREE * total["error"], 1e-6 * closed_h):
        verdict = f"{mean}, and the closed form's {_hours(closed_h)} is within the error."
    else:
        later = "more" if total["mean"] > closed_h else "less"
        verdict = f"{mean}, {number(off)} h {later} than the closed form's {_hours(closed_h)}."
    without = f" The closed form goes without {listed(list(left_out))}." if left_out else ""
    n_failures = simulation.budget.n_failures
    many = (
        f" A run meets {count(n_failures) if n_failures >= 10 else number(n_failures)} failures on average, and "
        f"chance evens out: the range is {pct((high - low) / middle)} of the whole. The fewer the failures, the wider "
        f"the range beside their mean cost: it goes with the root of their number."
        if n_failures >= 1 and high > low
        else ""
    )
    return Finding(
        title=f"Nine runs in ten end within {duration(max(high - low, 0.0))} of each other",
        text=(
            f"Half of the runs are done after {_hours(middle)}, or {_day(middle)} days; five in a hundred after "
            f"{_day(low)} and ninety-five after {_day(high)} days. {verdict}{without}{many}"
        ),
    )


def causes(frame: pd.DataFrame) -> Finding:
    """What moves the date and what spreads it; ``frame`` as from ``tables.finish_by_cause``."""
    rows = frame.set_index("cause")
    rows = rows.assign(width=rows["p95_h"] - rows["p5_h"])
    chance = rows.loc[CHANCE]
    start = f"By chance alone nine in ten of {count(chance['n_runs'])} runs end within {duration(chance['width'])}"
    if RATE in rows.index:
        start += f"; if the rate is drawn from what is known of it as well, within {duration(rows.loc[RATE, 'width'])}"
    others = rows.drop([name for name in (CHANCE, RATE) if name in rows.index])
    if others.empty or chance["width"] <= 0:
        return Finding(title="Nothing moves the date here", text=f"{start}.")
    shift = others["mean_h"] - chance["mean_h"]
    doubt = _AGREE * others["mean_h"] * ((others["error"] ** 2 + chance["error"] ** 2) ** 0.5) / others["ettr"]
    wider = others["width"] / chance["width"]
    alike = others.index[(shift.abs() <= doubt) & wider.between(1 / _ALIKE, _ALIKE)]
    widest, latest = wider.idxmax(), shift.idxmax()
    sentences = []
    if wider[widest] > _ALIKE:
        sentences.append(f"The range is widest with *{small(widest)}*: {duration(others.loc[widest, 'width'])}.")
    if shift[latest] > doubt[latest]:
        sentences.append(
            f"Latest on average are runs with *{small(latest)}*, by {duration(shift[latest])}, at an ETTR of "
            f"{pct(others.loc[latest, 'ettr'])} instead of {pct(chance['ettr'])}."
        )
    if len(alike):
        names = [f"*{small(name)}*" for name in alike]
        sentences.append(f"Neither the date nor its range moves measurably with {listed(names)}{_no_memory(alike)}.")
    title = (
        f"Chance alone: {duration(chance['width'])}; {small(widest)}: {duration(others.loc[widest, 'width'])}"
        if wider[widest] > _ALIKE
        else f"Nothing widens the range of {duration(chance['width'])} by much"
    )
    return Finding(title=title, text=f"{start}. {' '.join(sentences)} All settings but the scenario's own are assumed.")


def _no_memory(names: pd.Index) -> str:
    """Why memory does not show, if it is among the names."""
    if not any(name.startswith("Settled") for name in names):
        return ""
    return (
        ": failures of many nodes in the middle of their lives come as if without memory, whatever the single node's "
        "lifetime"
    )


def by_spares(frame: pd.DataFrame) -> Finding:
    """How many spares are enough; ``frame`` as from ``tables.finish_by_spares``."""
    of = {kind: frame[frame["failures"] == kind].sort_values("n_spares") for kind in frame["failures"].unique()}
    enough = listed([f"{_enough(rows)} {_KINDS[kind]}" for kind, rows in of.items()])
    first = {kind: rows.iloc[0] for kind, rows in of.items()}
    in_repair = listed([f"{number(row['in_repair'])} {_KINDS[kind]}" for kind, row in first.items()])
    fewest = listed([f"{_with_error(row)} {_KINDS[kind]}" for kind, row in first.items()])
    width = [
        f"{duration(row['p95_h'] - row['p5_h'])} {_KINDS[kind]}"
        for kind, row in first.items()
        if row["ettr"] < row["closed_ettr"] - _ENOUGH
    ]
    spread = (
        f" Nine runs in ten then end within {listed(width)}: too few spares make the date late and uncertain."
        if width
        else ""
    )
    some = next(iter(first.values()))
    return Finding(
        title=f"Enough hot spares: {enough}",
        text=(
            f"Nodes in repair on average: {in_repair}. With {_spares(some['n_spares'])} the ETTR is {fewest}; spares "
            f"that never run out, as the closed form has them, leave {pct(some['closed_ettr'])}.{spread} Within "
            f"{points(_ENOUGH)} of that are {enough}. The nodes in repair are as many as their rate times the repair "
            f"time: repair in half the time, and about half of the spares are enough."
        ),
    )


def _enough(rows: pd.DataFrame) -> str:
    """The fewest spares of those simulated that leave no more to gain."""
    good = rows[rows["ettr"] >= rows["closed_ettr"] - _ENOUGH]
    return f"more than {count(rows['n_spares'].max())}" if good.empty else count(good["n_spares"].iloc[0])


def _with_error(row: pd.Series) -> str:
    """An ETTR with its 95% interval."""
    return f"{pct(row['ettr'])} (95%: {pct(max(row['low'], 0.0))} to {pct(min(row['high'], 1.0))})"


def _spares(n_spares: float) -> str:
    return "no spare" if n_spares == 0 else f"{count(n_spares)} spare{'' if n_spares == 1 else 's'}"


def _day(hours: float) -> str:
    return f"{hours / H_PER_DAY:,.2f}" if hours < 100 * H_PER_DAY else f"{hours / H_PER_DAY:,.1f}"


def _hours(hours: float) -> str:
    return f"{hours:,.1f} h"


_DOWN = ("detection", "queue", "restart", "maintenance")
_NEXT_TO_NOTHING_H = 5e-3


def days(frame: pd.DataFrame, scenario: Scenario) -> Finding:
    """How ragged one run is; ``frame`` as from ``tables.days_of_run``."""
    first, last = int(frame["day"].iloc[0]), int(frame["day"].iloc[-1])
    when = f"days {first} to {last}" if last > first else f"day {first}"
    up_h, n_stops = _stretches(frame)
    stall_h = scenario.stall_h
    unseen = (
        f" Stalls of {duration(stall_h)} for checkpoints are too short to be seen here and count as training."
        if 0 < stall_h < 1 / MIN_PER_H
        else ""
    )
    if not n_stops or not up_h:
        text = f"In {when} this run is never stopped: such stretches are chance where failures are rare.{unseen}"
        return Finding(title=f"No stop in {when} of this run", text=text)
    stops = f"{count(n_stops)} stop{'' if n_stops == 1 else 's'}"
    longest = f"the longest stretch without one lasts {duration(max(up_h))}"
    share = frame.groupby("state")["lasts_min"].sum() / frame["lasts_min"].sum()
    lost = [f"{state} {pct(share[state])}" for state in ("rework", *_DOWN) if share.get(state, 0) > 0]
    return Finding(
        title=f"{stops} in {when}; {longest}",
        text=(
            f"In {when} there {'is' if n_stops == 1 else 'are'} {stops}; {longest}, the middle one "
            f"{duration(float(np.median(up_h)))}. Lost are {listed(lost)} of these days. Failures that are independent "
            f"come in clusters like these by chance; stretches of even length would mean that something else sets "
            f"them.{unseen}"
        ),
    )


def _stretches(frame: pd.DataFrame) -> tuple[list[float], int]:
    """Hours of the stretches without a stop, and the number of stops."""
    down = frame["state"].isin(_DOWN).to_numpy()
    changes = np.flatnonzero(down[1:] != down[:-1]) + 1
    hours = [float(part.sum()) for part in np.split(frame["lasts_min"].to_numpy() / MIN_PER_H, changes)]
    is_down = down[np.append(0, changes)]
    up_h = [lasts_h for lasts_h, stopped in zip(hours, is_down, strict=True) if not stopped]
    return up_h, int(is_down.sum())


def losses(frame: pd.DataFrame, n_runs: int) -> Finding:
    """What runs lose, and how much they differ; ``frame`` as from ``tables.losses_of_runs``."""
    rows = frame.set_index("part")
    if "lost" not in rows.index:
        return Finding(
            title="No run loses anything", text=f"All {count(n_runs)} runs train from their beginning to their end."
        )
    lost, parts = rows.loc["lost"], rows.drop("lost")
    of_all = f"{_h(lost['low_h'])} to {_h(lost['high_h'])}"
    off = abs(lost["mean_h"] - lost["closed_h"])
    half_h = max(half_of_95(lost["error_h"]), _NEXT_TO_NOTHING_H)
    average = f"{_h(lost['mean_h'])} on average (give or take {error(half_h)} h)"
    agreed = off <= max(_AGREE * lost["error_h"], _NEXT_TO_NOTHING_H)
    verdict = "the two agree" if agreed else f"the two are {_h(off)} apart, more than the simulation's error"
    width = parts["high_h"] - parts["low_h"]
    widest = width.idxmax()
    spread = (
        f" Runs differ most in {widest}: {_h(parts.loc[widest, 'low_h'])} to {_h(parts.loc[widest, 'high_h'])}."
        if width[widest] > _NEXT_TO_NOTHING_H
        else ""
    )
    return Finding(
        title=f"This run loses {_h(lost['this_h'])}; nine in ten lose {of_all}",
        text=(
            f"{count(n_runs)} runs lose {average}, and the closed form expects {_h(lost['closed_h'])}: {verdict}."
            f"{spread} One run is one draw: the {_h(lost['this_h'])} of this one say little of the mean. If a real run "
            f"lies far outside of the range, it is not chance but a wrong value of the scenario."
        ),
    )


def _h(hours: float) -> str:
    return f"{number(hours)} h" if hours >= _NEXT_TO_NOTHING_H else "0 h"
