"""What the chapter on the sources says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, listed, literal, number

if TYPE_CHECKING:
    from ettr.scenario import Scenario


def audit(claims: pd.DataFrame) -> Finding:
    """How the published claims fare; columns as from ``tables.audit``."""
    verdicts = claims["verdict"].value_counts()
    agrees, disagrees = int(verdicts.get("agrees", 0)), int(verdicts.get("disagrees", 0))
    documents = claims.loc[claims["verdict"] == "disagrees", "source"].nunique()
    judged = len(claims) - agrees - disagrees
    return Finding(
        title=f"{disagrees} of {len(claims)} published statements disagree with the counts",
        text=(
            f"**Of {len(claims)} statements in {claims['source'].nunique()} documents {agrees} agree with what the "
            f"counts and tables imply, and {disagrees} do not**; these stand in {documents} of the documents. {judged} "
            f"more cannot be computed and are judged in words."
        ),
    )


def worst_document(claims: pd.DataFrame) -> Finding:
    """Which document has the most wrong statements; columns ``document`` and ``verdict``."""
    wrong = claims["verdict"].eq("disagrees").groupby(claims["document"]).agg(["sum", "count"])
    wrong = wrong.sort_values(["sum", "count"], ascending=False)
    clean = wrong.index[wrong["sum"] == 0].tolist()
    return Finding(
        title=f"{wrong.index[0]}: {wrong['sum'].iloc[0]} of {wrong['count'].iloc[0]} disagree",
        text=(
            f"Most disagreements, {wrong['sum'].iloc[0]} of {wrong['count'].iloc[0]} statements, stand in "
            f"*{wrong.index[0]}*; "
            + (f"none in {listed([f'*{name}*' for name in clean])}. " if clean else "no document is free of them. ")
            + "A statement that only repeats a source's own slip counts as well: point at a square to see why."
        ),
    )


def odd_row(shares: pd.DataFrame) -> Finding:
    """Which printed shares contradict their counts; columns as from ``tables.interruption_shares``."""
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
            f"The counts sum to {total}, as the text of the paper says. The printed shares sum to "
            f"{shares['printed_pct'].sum():.1f}%. All but {len(odd)} of the {len(shares)} rows agree with their counts "
            f"to the printed digit; the odd one out is {rows}."
        ),
    )


def readings(frame: pd.DataFrame) -> Finding:
    """The two ways to read the odd row; columns as from ``tables.readings``."""
    first, second = frame.iloc[0], frame.iloc[1]
    return Finding(
        title=f"GPU share: {first['gpu_share_pct']:.1f}% if the counts are right, {second['gpu_share_pct']:.1f}% if "
        f"not",
        text=(
            f"If the count is right, GPUs caused {first['gpu_events']:.0f} interruptions, "
            f"{first['gpu_share_pct']:.1f}%, and the printed {second['gpu_share_pct']:.1f}% repeats the wrong share. "
            f"If the share is right, GPUs caused {second['gpu_events']:.0f}, but then the rows sum to "
            f"{second['rows_sum']:.0f} and {second['unexplained_events']:.0f} interruptions have no cause. The first "
            f"reading needs one misprint, the second an omission as well; this book takes the counts. What hangs on it "
            f"is small: the time between GPU failures is {number(first['gpu_mtbi_h'])} h or "
            f"{number(second['gpu_mtbi_h'])} h."
        ),
    )


def origins(scenario: Scenario) -> Finding:
    """What the values of a scenario rest on."""
    status = scenario.to_frame()["status"].value_counts()
    read = int(status.get("primary", 0) + status.get("secondary", 0))
    parts = [
        f"{read} {'is' if read == 1 else 'are'} read in a source",
        f"{int(status.get('derived', 0))} derived from one",
        f"{int(status.get('assumed', 0))} assumed",
    ]
    if status.get("given", 0):
        parts.append(f"{int(status['given'])} given without a source")
    return Finding(
        title=f"{int(status.get('assumed', 0))} of {int(status.sum())} values are assumed",
        text=f"Of the {int(status.sum())} values in force for *{literal(scenario.title)}*, {listed(parts)}.",
    )
