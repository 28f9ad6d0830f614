"""Sentences on runs whose diary is public."""

from __future__ import annotations

import pandas as pd

from ettr.chapters.scale.real_run_tables import NOT_MODELLED, PublishedRun
from ettr.core.sentences import Finding, say


def against_model(runs: pd.DataFrame) -> Finding:
    """How far real runs stay behind a model of hardware; columns as from ``real_run_tables.against_model``."""
    times = float(runs["lost_h"].sum() / runs["modelled_lost_h"].sum())
    each = [say("{run} had {realised:share0}, where {modelled:share0} is modelled", **row) for row in _rows(runs)]
    return Finding(
        title=say("Real runs lost {times:about} times what hardware explains", times=times),
        text=say(
            "The two runs with a public diary lost {#unexplained:about} times the hours that failures of hardware, "
            "checkpoints and restarts explain: {each}. So read every ETTR of this book as a bound: bugs, experiments "
            "and people come on top. Give your own measured ETTR on {{doc}}`/book/your_cluster/what_if`, and it says "
            "how much.",
            unexplained=times,
            each="; ".join(each),
        ),
    )


def _rows(runs: pd.DataFrame) -> list[dict[str, object]]:
    return [{str(name): value for name, value in row.items()} for row in runs.to_dict("records")]


def losses(runs: list[PublishedRun]) -> str:
    """Where most of what no model holds went, a sentence."""
    largest = []
    for run in runs:
        outside = run.losses[run.losses["term"] == NOT_MODELLED]
        if len(outside):
            row = outside.iloc[0]
            largest.append(say("{reason} for {run} ({lost_h:roughly})", run=run.scenario.title, **row))
    return say("The largest of these was {largest:list}.", largest=largest) if largest else ""
