"""Sentences on how far the formulas that people use are from the exact one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, duration, gpus, listed, literal, pct
from ettr_book.chapters.calculators import tables
from ettr_book.chapters.calculators.tables import CLASSES

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_SELDOM = 0.5
"""Below this share of runs a formula is seldom near."""


def answer(refereed: pd.DataFrame, n: int) -> Finding:
    """Which formula to take; ``refereed`` as from :func:`ettr_book.validation.referee`."""
    first = refereed.loc[refereed["within"].idxmax()]
    young = refereed.set_index("calculator").loc["young"]
    seldom = refereed[refereed["within"] < _SELDOM]
    return Finding(
        title="No formula is near everywhere",
        text=(
            f"Over {n:,} plausible runs {first['who']}'s {first['title'].lower()} is nearest: within a point of the "
            f"exact ETTR in {pct(first['within'], 0)} of them, and half of its errors lie below {first['median']:.1f} "
            f"points. First order, by hand, is within a point in {pct(young['within'], 0)}: trust it while it loses "
            f"less than {pct(young['safe_loss'], 0)}, as beyond that it says too little. {len(seldom)} of the "
            f"{len(refereed)} formulas are within a point in fewer than half of the runs: they leave out stalls or "
            "lost work, and mostly say too much."
        ),
    )


def drawn(refereed: pd.DataFrame, n: int) -> Finding:
    """What the summary rests on, and its tails."""
    (low, high), rates = tables.drawn_sizes(), tables.drawn_rates()
    silent = refereed.loc[refereed["no_answer"].idxmax()]
    worst = refereed.loc[refereed["high"].idxmax()]
    return Finding(
        title="",
        text=(
            f"{n:,} runs, log-uniform: {gpus(low).removesuffix(' GPUs')} to {gpus(high)} and {rates[0]:.1f} to "
            f"{rates[1]:.0f} failures per 1,000 node-days, as the presets have them; all else over the plausible "
            "ranges of its fields. What first order loses is checked by hand: a stall over the interval, and half an "
            "interval and a recovery over the time to failure. Below the bound of its row a formula is within a point "
            f"in 19 of 20 runs. {worst['title']} says over {worst['high']:.0f} points too much in one run of twenty; "
            f"{silent['title'].lower()} has no answer in {pct(silent['no_answer'], 0)}."
        ),
    )


def maps(scenario: Scenario, regions: pd.DataFrame, own: pd.DataFrame) -> Finding:
    """What the maps show; ``regions`` and ``own`` as from ``tables``."""
    near = own[own["near"]]
    said = own.dropna(subset=["ettr"])
    much, little = (said.loc[place] for place in (said["points"].idxmax(), said["points"].idxmin()))
    at = f"{gpus(scenario.cluster.n_gpus)} and an interval of {duration(scenario.interval_h)}"
    below = regions[regions["error"].isin(CLASSES[:2])]["calculator"].unique()
    turn = (
        f" On their maps {len(below)} of them say somewhere over 5 points too little: losses that only add up count "
        "time twice."
        if len(below)
        else ""
    )
    aside = tables.left_out(scenario)
    without = f" Set aside here: {listed(aside)}." if aside else ""
    return Finding(
        title=f"{len(near)} of {len(own)} formulas are within a point at the run's own size and interval",
        text=(
            f"At {at} the exact ETTR of the steady state is {pct(own['exact'].iloc[0])}, and {len(near)} of "
            f"{len(own)} formulas are within a point of it. {much['title']} says most, {much['points']:+.1f} points, "
            f"and {little['title']} least, {little['points']:+.1f}.{turn}{without}"
        ),
    )


def surprises(frame: pd.DataFrame) -> Finding:
    """Three runs that a formula gets wrong, or right by luck; ``frame`` as from ``tables.surprises``."""
    cost, book, lucky = (row for _, row in frame.iterrows())
    return Finding(
        title=(
            f"A cost calculator is {abs(cost['points']):.1f} points off, a textbook {abs(book['points']):.1f}, and one "
            "formula is right by luck"
        ),
        text=(
            f"The goodput that a cost calculator reckons with hot spares says {pct(cost['ettr'])} for "
            f"{literal(cost['run'])}, which reaches {pct(cost['exact'])}: it counts no stall. A textbook's reliability "
            f"model says {pct(book['ettr'])} for {literal(book['run'])} instead of {pct(book['exact'])}: it counts no "
            f"lost work. Runtime goodput is {abs(lucky['points']):.2f} points off for {literal(lucky['run'])}, where "
            "what it leaves out and what it counts twice happen to cancel. Simulated runs agree with the exact form: "
            f"{listed([pct(value) for value in frame['simulated']])}."
        ),
    )


def rsc_points(frame: pd.DataFrame) -> Finding:
    """How the RSC formula and the exact form stand to what the paper prints.

    ``frame`` as from :func:`ettr_book.validation.rsc_beside_exact`.
    """
    kept = frame[frame["verdict"] != "not reproduced"]
    missed = frame[frame["verdict"] == "not reproduced"]
    apart = 100 * (kept["exact"] - kept["rsc"]).abs()
    worst = kept.loc[apart.idxmax()]
    ends = frame.loc[frame["max_n_gpus"].idxmin()]
    odd = [
        f"{row.quantity}: printed {pct(row.published, 0)}, by the formula {pct(row.rsc)}, exact {pct(row.exact)}"
        for row in missed.itertuples()
    ]
    unlike = f" Not what the formula gives: {'; '.join(odd)}." if odd else ""
    return Finding(
        title=f"The RSC formula gives {len(kept)} of the {len(frame)} results that its paper prints",
        text=(
            f"By the paper's formula {len(kept)} of {len(frame)} printed results come out again, and the exact form "
            f"stands at most {apart.max():.1f} points from it there ({worst['quantity']}: {pct(worst['rsc'])} against "
            f"{pct(worst['exact'])}). It stops being a formula where losses that only add up reach the whole time: "
            f"first for {ends['quantity']}, beyond {gpus(ends['max_n_gpus'])}.{unlike}"
        ),
    )
