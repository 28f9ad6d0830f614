"""What the page on validation says."""

from __future__ import annotations

import pandas as pd

from ettr.core.sentences import Finding


def validation(results: pd.DataFrame) -> Finding:
    """How many published results come out; columns as from :func:`ettr.validation.run`."""
    verdicts = results["verdict"].value_counts()
    reproduced, consistent = int(verdicts.get("reproduced", 0)), int(verdicts.get("consistent", 0))
    failed = results[results["verdict"] == "not reproduced"]
    derived = results[results["kind"] == "derived"]
    good = int((derived["verdict"] == "reproduced").sum())
    missing = f" Not reproduced: {'; '.join(failed['quantity'])}." if len(failed) else ""
    return Finding(
        title=f"{reproduced} of {len(results)} published results are reproduced",
        text=(
            f"**{reproduced} of {len(results)} published results are reproduced within their tolerance, {consistent} "
            f"are consistent, {len(failed)} are not reproduced.** {len(derived)} of the rows test a formula on inputs "
            f"that the source gives as well (`derived`), and {good} of those are reproduced; the others restate "
            f"arithmetic, or were used to set a scenario.{missing}"
        ),
    )
