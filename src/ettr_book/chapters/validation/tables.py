"""Published results by class."""

from __future__ import annotations

import pandas as pd

from ettr_book.validation import VERDICTS

MEANS = dict(
    zip(
        VERDICTS,
        (
            "inputs are published, and the result is derived from them",
            "the same, for a result that is printed as a bound",
            "the source's own sum, or what the scenario was made from",
            "more is not meant",
            "inputs were chosen so that it agrees",
            "outside its tolerance",
        ),
        strict=True,
    )
)
"""What each class of results says, the one that says most first."""


def by_class(results: pd.DataFrame) -> pd.DataFrame:
    """How many results are of each class; columns as from :func:`ettr_book.validation.run`."""
    n = results["verdict"].value_counts()
    return pd.DataFrame(
        [{"Class": one, "Results": int(n.get(one, 0)), "It means": means} for one, means in MEANS.items()]
    )
