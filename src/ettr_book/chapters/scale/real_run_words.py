"""Sentences on runs whose diary is public."""

from __future__ import annotations

import pandas as pd

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
