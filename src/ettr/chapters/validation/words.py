"""What the page on validation says."""

from __future__ import annotations

import pandas as pd

from ettr.chapters.validation.tables import MEANS
from ettr.core.sentences import Finding, count, say


def validation(results: pd.DataFrame) -> Finding:
    """How many published results come out; columns as from :func:`ettr.validation.run`."""
    n = results["verdict"].value_counts().reindex([*MEANS], fill_value=0)
    counted = {"n": len(results), "reproduced": int(n["reproduced"]), "missed": int(n["not reproduced"])}
    rest = [f"{count(int(n[one]))} {words}" for one, words in _REST.items() if n[one]]
    return Finding(
        title=say("Of {n} published results {reproduced} are derived anew from published inputs", **counted),
        text=say(
            "**Of {n} published results {reproduced} come out of published inputs, and {missed} do not.** The others "
            "say less: {rest:list}.",
            **counted,
            rest=rest or ["nothing"],
        ),
    )


_REST = {
    "bound met": "bounds are met",
    "follows from the same input": "follow from the same input",
    "order of magnitude": "agree in order of magnitude",
    "fitted": "were fitted",
}
