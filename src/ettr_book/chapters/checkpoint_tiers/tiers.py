"""Gain from checkpoint tiers that are faster than the store."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.budget.intervals import best_interval_min
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.results import PARTS, TimeBudget
from ettr.core.sentences import Finding, listed, points, say
from ettr.core.units import S_PER_H
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import with_marks
from ettr.plots.theme import PART_COLOURS, finish
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, PREDICTION, RESTART, SLOWDOWN, TIERS
from ettr_book.chapters.common.runs import another_mode

COMMON_LOSS = "Several nodes at once"
"""Name of the mode that :func:`with_common_losses` adds."""

CURRENT, STORE = "Current run", "Store only, without planned stops"
"""Names of the first rungs: the run of all other pages, and the baseline of the tiers."""
SCENARIO_TIERS = "The scenario's own tiers"
ALONE = ", instead"
"""End of the title of a rung that replaces all faster tiers."""
_RECOVERY = ("detection", "queue", "restart")
_LEAST_POINTS = 5e-4
"""Smaller differences of ETTR are not mentioned."""


def store_only(scenario: Scenario) -> Scenario:
    """Return the run with the store as its only tier, in the steady state: the baseline of :func:`shares`.

    Faster tiers are left out, and so are the features that the exact model cannot combine with tiers: planned
    maintenance, the slowdown by the background write, announced and silent failures, changing rates, and checkpoints
    that are not kept. If the scenario's restart includes loading, the published time to load 405 billion parameters (or
    all of a shorter restart) becomes ``checkpoint.load_s``: the sum stays the same, and a faster tier can load faster.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Examples
    --------
    >>> run = store_only(Scenario.load("llama3-405b"))
    >>> round(run.load_h * S_PER_H, 2), round((run.restart_h + run.load_h) * 60, 6)
    (129.49, 5.0)
    """
    run = scenario.override(
        {
            "job.include_start": False,
            TIERS: [],
            SLOWDOWN: 0,
            "checkpoint.n_kept": None,
            "failures.burn_in": None,
            "failures.lifetime": None,
            "maintenance": None,
            PREDICTION: None,
            **{f"failures.modes.{mode.name}.latency_h": None for mode in scenario.failures.modes},
        }
    )
    if run.load_h > 0:
        return run
    by_mode = {mode.name: mode.restart_min for mode in run.failures.modes if mode.restart_min is not None}
    shortest_min = min([run.recovery.restart_min, *by_mode.values()])
    load_s = min(evidence.figure("bytecheckpoint_load_s").value, 60 * shortest_min)
    return run.override(
        {
            "checkpoint.load_s": load_s,
            RESTART: run.recovery.restart_min - load_s / 60,
            **{
                f"failures.modes.{name}.restart_min": restart_min - load_s / 60 for name, restart_min in by_mode.items()
            },
        }
    )


def with_common_losses(scenario: Scenario, share: float, n_lost_nodes: int) -> Scenario:
    """Return the run with a share of failures that erase the memory of several nodes; the rate stays the same.

    Parameters
    ----------
    scenario : Scenario
        The run; returned unchanged if one of its modes already erases several nodes.
    share : float
        Share of all failures, in [0, 1).
    n_lost_nodes : int
        Nodes lost at once, at most the whole job. [count]

    Examples
    --------
    >>> run = with_common_losses(Scenario.load("llama3-405b"), 0.01, 32)
    >>> run.failures.modes[-1].n_lost_nodes, round(float(run.mode_weights[-2]), 3)
    (32, 0.01)
    """
    if share == 0 or any(mode.n_lost_nodes > 1 for mode in scenario.failures.modes):
        return scenario
    n_lost_nodes = min(n_lost_nodes, scenario.n_nodes)
    return scenario.override(another_mode(scenario, COMMON_LOSS, share, n_lost_nodes=n_lost_nodes))


def rungs(scenario: Scenario, common_share: float, common_nodes: int, nodes_per_replica: int) -> dict[str, Scenario]:
    """Return the scenarios of :func:`shares` by title, each with the best interval of its store.

    Parameters
    ----------
    scenario : Scenario
        The run.
    common_share, common_nodes : float, int
        As in :func:`with_common_losses`.
    nodes_per_replica : int
        Nodes that hold one replica of the model; just-in-time checkpoints copy from another replica. [count]
    """
    if nodes_per_replica < 1 or common_nodes < 1:
        raise InputError(f"nodes_per_replica and common_nodes must be >= 1, got {nodes_per_replica} and {common_nodes}")
    base = with_common_losses(store_only(scenario), common_share, common_nodes)
    runs: dict[str, Scenario] = {STORE: base}
    below: list[dict[str, Any]] = []
    for row in evidence.table("checkpoint_tiers").itertuples():
        replicas = max(1, base.n_nodes // nodes_per_replica)
        copies = replicas if pd.isna(row.copies) else int(row.copies)
        if copies > base.n_nodes or (pd.isna(row.copies) and copies < 2):
            continue  # more copies than nodes
        tier = _tier(row, copies, base)
        if row.alone:
            runs[f"{row.title}{ALONE}"] = _with_tiers(base, [tier])
        else:
            below = [*below, tier]
            runs[f"+ {row.title.lower()}"] = _with_tiers(base, below)
    if scenario.checkpoint.tiers:
        runs[SCENARIO_TIERS] = _with_tiers(base, [tier.model_dump() for tier in scenario.checkpoint.tiers])
    return {title: run.override({INTERVAL: best_interval_min(run)}) for title, run in runs.items()}


def _tier(row: Any, copies: int, base: Scenario) -> dict[str, Any]:
    """Return a tier of the table, never slower than the store."""
    return {
        "name": row.title,
        "interval_s": row.interval_s,
        "stall_s": row.stall_s,
        "write_s": min(row.write_s, base.persist_h * S_PER_H),
        "load_s": min(row.load_s, base.load_h * S_PER_H),
        "copies": copies,
        "placement": row.placement,
    }


def _with_tiers(base: Scenario, tiers: list[dict[str, Any]]) -> Scenario:
    least_min = max(tier["interval_s"] for tier in tiers) / 60
    return base.override({TIERS: tiers, INTERVAL: max(base.interval_min, least_min, base.least_interval_min)})


def shares(
    scenario: Scenario, common_share: float = 0.0, common_nodes: int = 2, nodes_per_replica: int = 16
) -> pd.DataFrame:
    """Return the exact shares of wall-clock time: the current run, the store alone, and further tiers added one by one.

    Parameters
    ----------
    scenario, common_share, common_nodes, nodes_per_replica
        As in :func:`rungs`.

    Returns
    -------
    DataFrame
        ``rung``, in their order, ``part``, ``share`` in [0, 1], ``ettr``, ``interval_min`` (best of the store) [min],
        ``from_store`` (share of failures that only the store survives). The first, :data:`CURRENT`, has planned stops,
        the start, and its own interval. Rungs without an answer are left out, and so are parts that are zero
        everywhere.

    Raises
    ------
    OutsideValidity
        No rung has an answer: the run practically never ends.
    """
    frames = []
    current = {} if scenario.checkpoint.tiers else {CURRENT: scenario}
    for title, run in (current | rungs(scenario, common_share, common_nodes, nodes_per_replica)).items():
        hours = _answer(budget.simplified(run).scenario if title == CURRENT else run)
        if hours is None:
            continue
        parts = {part.removesuffix("_h"): float(getattr(hours, part) / hours.total_h) for part in PARTS}
        best = {"ettr": float(hours.ettr), "interval_min": run.interval_min}
        rung = pd.DataFrame({"rung": title, "part": [*parts], "share": [*parts.values()], **best})
        frames.append(rung.assign(from_store=float(run.in_hours().severity[-1])))
    if not frames:
        raise OutsideValidity(f"no rung of the ladder of {scenario.name} has an answer: the run practically never ends")
    shares = pd.concat(frames, ignore_index=True)
    return shares[shares.groupby("part")["share"].transform("max") > 0].reset_index(drop=True)


def _answer(run: Scenario) -> TimeBudget | None:
    try:
        hours = budget.exact(run)
    except OutsideValidity:
        return None
    return hours if np.isfinite(hours.ettr) else None


def answer(rungs: pd.DataFrame, scenario: Scenario) -> Finding:
    """Return the gain from faster tiers over the store alone; columns as from :func:`shares`."""
    ettr = rungs.groupby("rung", sort=False)["ettr"].first()
    gains = ettr - _baseline(ettr)
    stacked = gains[gains.index.str.startswith("+ ")]
    gained = float(stacked.max()) if len(stacked) else 0.0
    if gained < _LEAST_POINTS:
        title = "Faster tiers gain nothing here"
        first = f"**{title}.**"
    else:
        steps = stacked.diff().fillna(stacked)
        values = {"gained": gained, "most": steps.idxmax().removeprefix("+ "), "step": steps.max()}
        title = say("Faster tiers raise ETTR by {gained:points}, mostly through {most}", **values)
        first = say(
            "**Faster tiers would raise ETTR by {#tiers_gain:points}; the largest step is {most}: {step:points}.**",
            tiers_gain=gained,
            **values,
        )
    others = [
        say("{name}, used instead, would gain {gain:points}.", name=_named(rung), gain=gain)
        for rung, gain in gains.items()
        if str(rung).endswith(ALONE) or rung == SCENARIO_TIERS
    ]
    best = rungs[(rungs["rung"] == gains.idxmax()) & rungs["part"].isin(_RECOVERY)]
    return Finding(
        title=title,
        text=" ".join(
            filter(
                None,
                (
                    first,
                    *others,
                    say(
                        "The current run has {#ettr:share0}. The baseline is {store:share0}: the store alone, at its "
                        "best interval and without planned stops.",
                        ettr=ettr.get(CURRENT),
                        store=ettr.get(STORE),
                    ),
                    say(
                        "Detection, queue and restart still take {rest:share}, which no checkpoint saves.",
                        rest=best["share"].sum(),
                    ),
                    _set_aside(scenario),
                ),
            )
        ),
    )


def _baseline(ettr: pd.Series) -> float:
    """Return the ETTR of the store alone, or of the first rung with an answer."""
    return float(ettr.drop(CURRENT, errors="ignore").iloc[0])


def _named(rung: Any) -> str:
    return "Its own tiers" if rung == SCENARIO_TIERS else f"{rung.removesuffix(ALONE).replace(' ', '-')} checkpoints"


def _set_aside(scenario: Scenario) -> str:
    """Return the features of a scenario that the exact model cannot combine with tiers."""
    names = {
        "its announced failures": scenario.prediction is not None,
        "the latency of its silent failures": bool(scenario.latencies_h),
        "the slowdown by its background write": scenario.checkpoint.persist_slowdown * scenario.persist_h > 0,
    }
    dropped = [name for name, is_present in names.items() if is_present]
    return f"The exact model cannot combine these with tiers and leaves them out: {listed(dropped)}." if dropped else ""


def ladder(rungs: pd.DataFrame, subtitle: str = "") -> Any:
    """Draw the lost shares of wall-clock time, one stacked bar per set of tiers; columns as from :func:`shares`."""
    places = {part: i for i, part in enumerate(PART_COLOURS)}
    lost = rungs[rungs["part"] != "productive"].assign(place=rungs["part"].map(places))
    totals = rungs.drop_duplicates("rung")
    totals = totals.assign(lost=1 - totals["ettr"], label=[f"{value:.1%}" for value in totals["ettr"]])
    y = alt.Y("rung:N", sort=totals["rung"].tolist(), title=None, axis=alt.Axis(labelExpr=builders.AT_COMMAS))
    longest = max(float(totals["lost"].max()), 1e-6)
    tips = tooltips("rung", "part", "share", "ettr", "interval_min", "from_store", interval_min="Store's interval")
    bars = (
        alt.Chart(lost)
        .mark_bar()
        .encode(
            y=y,
            x=builders.along("share", domain=[0, 1.3 * longest], nice=False).stack("zero"),  # noqa: PD013  (of Altair)
            color=builders.squares("part", builders.present(PART_COLOURS, lost["part"]), "Part"),
            order=alt.Order("place:Q"),
            tooltip=tips,
        )
    )
    labels = alt.Chart(totals).mark_text(align="left", dx=4).encode(y=y, x=alt.X("lost:Q"), text=alt.Text("label:N"))
    ettrs = "; ".join(f"{row.rung} {row.ettr:.1%}" for row in totals.itertuples())
    steps = totals.set_index("rung")["ettr"].diff()
    steps = steps[steps.index.str.startswith("+ ")].dropna()
    title = "Faster tiers gain nothing here" if len(steps) else "Only the store alone has an answer"
    if len(steps) and steps.max() >= _LEAST_POINTS:
        title = f"The largest step is {str(steps.idxmax()).removeprefix('+ ')}: {points(steps.max())}"
    return finish(
        bars + labels,
        title=title,
        subtitle=with_marks(subtitle, "labels: ETTR"),
        description=f"Stacked bars of the lost shares of wall-clock time, one per set of tiers. ETTR: {ettrs}.",
        height=44 * len(totals) + 10,
    )
