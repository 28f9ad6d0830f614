"""Sentences on runs whose diary is public."""

from __future__ import annotations

import pandas as pd

from ettr.chapters.failure_log.tables import MIXED, NOT_MODELLED, UNNAMED, PublishedRun
from ettr.core.sentences import Finding, count, duration, listed, number, pct, points


def against_model(runs: pd.DataFrame) -> Finding:
    """How far real runs stay behind a model of hardware; columns as from ``tables.against_model``."""
    sentences = []
    for row in runs.itertuples():
        open_ends = f" ({pct(row.low)} to {pct(row.high)}, as the diary's dates allow)" if row.low < row.high else ""
        sentences.append(
            f"*{row.run}* had an ETTR of {pct(row.realised)}{open_ends}; failures of hardware, checkpoints and "
            f"restarts alone would have left {pct(row.modelled)}."
        )
    behind = runs[runs["modelled"] > runs["high"]]
    share = float(1 - runs["modelled_lost_h"].sum() / runs["lost_h"].sum())
    return Finding(
        title=f"Real runs lost {number(runs['lost_h'].sum() / runs['modelled_lost_h'].sum())} times what hardware "
        f"explains",
        text=(
            " ".join(sentences)
            + f" {len(behind)} of {len(runs)} runs stay behind the model by more than their dates leave "
            f"open, by {listed([points(value) for value in behind['difference']])}: {pct(share)} of all hours that "
            f"these runs lost have no place in a model of hardware."
        ),
    )


def losses(run: PublishedRun) -> Finding:
    """Where the lost hours of one run went.

    Parameters
    ----------
    run : PublishedRun
        As from ``tables.published_run``.
    """
    lost_h = run.realised.lost_h
    named = run.losses[~run.losses["reason"].isin((MIXED, UNNAMED))]
    reasons = listed([f"{row.reason} {duration(row.lost_h)}{_times(row.n)}" for row in named.itertuples()])
    other = {row.reason: row.lost_h for row in run.losses.itertuples() if row.reason in (MIXED, UNNAMED)}
    mixed = (
        f" {number(other[MIXED])} h more lie in stretches that stops of several kinds share." if MIXED in other else ""
    )
    unnamed = (
        f" For {number(other[UNNAMED])} h, {pct(other[UNNAMED] / lost_h)}, it names none, and some of "
        f"these hours are failures that it mentions without a number."
        if UNNAMED in other
        else ""
    )
    outside = run.losses.loc[run.losses["term"] == NOT_MODELLED, "lost_h"].sum()
    return Finding(
        title=f"{run.scenario.title}: {pct(outside / lost_h, 0)} of the lost hours are put down to other things than "
        f"hardware",
        text=(
            f"Of {number(run.realised.wall_h)} h the run lost {number(lost_h)}. The diary gives a reason for these: "
            f"{reasons}.{mixed}{unnamed}{_impossible(run)}"
        ),
    )


def _times(n: object) -> str:
    if n is None or n is pd.NA:
        return ""
    return f" ({count(float(str(n)))} times)" if n != 1 else " (once)"


def _impossible(run: PublishedRun) -> str:
    """A sentence on stretches with more steps than hours."""
    over = run.realised.segments[run.realised.segments["ettr"] > 1]
    if over.empty:
        return ""
    beyond = int((over["low"] > 1).sum())
    explained = (
        "which dates without an hour explain"
        if not beyond
        else f"and for {beyond} of them the resolution of the stamps does not explain it"
    )
    return (
        f" {len(over)} of the {len(run.realised.segments)} stretches between two entries "
        f"{'has' if len(over) == 1 else 'have'} more steps than fit into the time, {explained}."
    )
