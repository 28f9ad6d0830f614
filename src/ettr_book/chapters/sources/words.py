"""Text of the chapter on the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, listed, literal

if TYPE_CHECKING:
    from ettr.scenario import Scenario


def audit(claims: pd.DataFrame) -> Finding:
    """Return the result of the audit; columns as from ``tables.audit``."""
    verdicts = claims["verdict"].value_counts()
    agrees, disagrees = int(verdicts.get("agrees", 0)), int(verdicts.get("disagrees", 0))
    documents = claims.loc[claims["verdict"] == "disagrees", "source"].nunique()
    judged = len(claims) - agrees - disagrees
    return Finding(
        title=f"{disagrees} of {len(claims)} published statements disagree with the counts",
        text=(
            f"**Of {len(claims)} statements in {claims['source'].nunique()} documents {agrees} agree with the "
            f"published counts and tables, and {disagrees} do not**; those come from {documents} documents. {judged} "
            f"more cannot be computed and are judged in words."
        ),
    )


def worst_document(claims: pd.DataFrame) -> Finding:
    """Return the document with the most wrong statements; columns ``document`` and ``verdict``."""
    wrong = claims["verdict"].eq("disagrees").groupby(claims["document"]).agg(["sum", "count"])
    wrong = wrong.sort_values(["sum", "count"], ascending=False)
    clean = wrong.index[wrong["sum"] == 0].tolist()
    return Finding(
        title=f"{wrong.index[0]}: {wrong['sum'].iloc[0]} of {wrong['count'].iloc[0]} disagree",
        text=(
            f"Most disagreements, {wrong['sum'].iloc[0]} of {wrong['count'].iloc[0]} statements, are in "
            f"*{wrong.index[0]}*; "
            + (f"none in {listed([f'*{name}*' for name in clean])}. " if clean else "every document has some. ")
            + "A statement that repeats a source's own slip counts as well: point at a square to see the reason."
        ),
    )


def odd_row(shares: pd.DataFrame) -> Finding:
    """Return the printed shares that contradict their counts; columns as from ``tables.interruption_shares``."""
    odd = shares[~shares["agrees"]]
    total = int(shares["n_events"].sum())
    rows = listed(
        [
            f"{row.component} (printed {row.printed_pct:.1f}%, but {row.n_events} of {total} is {row.implied_pct:.1f}%)"
            for row in odd.itertuples()
        ]
    )
    return Finding(
        title=f"{len(odd)} of {len(shares)} printed shares contradicts its own count"
        if len(odd) == 1
        else f"{len(odd)} of {len(shares)} printed shares contradict their own counts",
        text=(
            f"The counts sum to {total}, in agreement with the text of the paper. The printed shares sum to "
            f"{shares['printed_pct'].sum():.1f}%. All but {len(odd)} of the {len(shares)} rows agree with their counts "
            f"to the printed digit; the exception is {rows}. This book uses the counts: that reading needs one "
            f"misprint, while the shares would leave interruptions without a cause."
        ),
    )


def origins(scenario: Scenario) -> Finding:
    """Return the origin of the values of a scenario."""
    status = scenario.to_frame()["status"].value_counts()
    read = int(status.get("primary", 0) + status.get("secondary", 0))
    parts = [
        f"{read} {'is' if read == 1 else 'are'} published",
        f"{int(status.get('derived', 0))} derived from published values",
        f"{int(status.get('assumed', 0))} assumed",
    ]
    if status.get("given", 0):
        parts.append(f"{int(status['given'])} given without a source")
    return Finding(
        title=f"{int(status.get('assumed', 0))} of {int(status.sum())} values are assumed",
        text=f"Of the {int(status.sum())} values of *{literal(scenario.title)}*, {listed(parts)}.",
    )
