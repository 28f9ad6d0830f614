"""Sentences on mechanisms that no closed form has a term for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, capital, count, gpus, listed, pct, points

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_MUCH = 1.0
_TREND = 0.5
"""Points by which the difference must change with size to be mentioned."""


def difference_map(frame: pd.DataFrame, scenario: Scenario) -> Finding:
    """Where the closed form is off, and which way; ``frame`` as from ``beyond_formula_tables.beyond_formulas``."""
    base, added = frame[frame["order"] == 0], frame[frame["order"] > 0]
    known = added[added["points"].notna()]
    own = known[known["n_gpus"] == scenario.cluster.n_gpus]
    texts = [_control(base), *_here(own, scenario), *_changing(own), *_trends(known)]
    hopeless = frame.loc[frame["verdict"] == "hopeless", "n_gpus"].nunique()
    if hopeless:
        texts.append(
            f"At {count(hopeless)} of {count(frame['n_gpus'].nunique())} sizes less than a tenth of the time is left, "
            f"with or without something added, and such cells are not simulated."
        )
    n_off = int(((own["points"].abs() > _MUCH) & (own["verdict"] == "differs")).sum())
    title = f"{n_off} of {len(own)} mechanisms move{'s' if n_off == 1 else ''} the ETTR by more than a point here"
    return Finding(
        title=title if len(own) else "Hardly any training is left here",
        text=(
            f"{' '.join(texts)} Each is added alone, with the settings below; what a cluster does not have costs it "
            f"nothing. Cells are told apart from three standard errors on, which chance alone exceeds in one of 370."
        ),
    )


def _control(base: pd.DataFrame) -> str:
    """The row in which nothing is added."""
    known = base[base["points"].notna()]
    if known.empty:
        return "At no size is there anything to compare."
    most = points(known["points"].abs().max() / 100)
    if (known["verdict"] == "within error").all():
        return f"Where nothing is added, the two agree at every size that is simulated, to within {most}."
    return (
        f"Where nothing is added, the two are {most} apart at most, and at some size more than three standard errors."
    )


def _here(own: pd.DataFrame, scenario: Scenario) -> list[str]:
    """Which way the formula is off at the scenario's own size."""
    where = f"on the scenario's own {gpus(scenario.cluster.n_gpus)}"
    if own.empty:
        return [f"Hardly any training is left {where}."]
    sure = own[own["verdict"] == "differs"].sort_values("points")
    too_high, too_low = sure[sure["points"] < 0], sure[sure["points"] > 0].iloc[::-1]
    sentences = []
    if len(too_high):
        sentences.append(f"{capital(where)} the formula is too high for {_each(too_high)}.")
    if len(too_low):
        sentences.append(f"{'It' if sentences else f'{capital(where)} it'} is too low for {_each(too_low)}.")
    same = own[own["verdict"] == "within error"]["mechanism"].tolist()
    if same:
        sentences.append(f"No difference is to be seen for {listed(_names(same))}.")
    return sentences


def _changing(own: pd.DataFrame) -> list[str]:
    """What the closed form over time makes of rates that change."""
    rows = own[own["over_time"].notna()]
    each = [
        f"*{small(row.mechanism)}* {pct(row.over_time)} (simulated: {pct(row.simulated)})" for row in rows.itertuples()
    ]
    if not each:
        return []
    return [f"Rates that change have a closed form of their own, over time, which gives {listed(each)}."]


def _trends(known: pd.DataFrame) -> list[str]:
    """Which differences grow and which shrink from the smallest size to the largest."""
    if known.empty or known["n_gpus"].nunique() < 2:
        return []
    first, last = known["n_gpus"].min(), known["n_gpus"].max()
    ends = [known[known["n_gpus"] == size].set_index("mechanism")["points"].abs() for size in (first, last)]
    change = (ends[1] - ends[0]).dropna().sort_values()
    grow, shrink = change[change > _TREND].index[::-1], change[change < -_TREND].index
    sizes = f"From {gpus(first)} to {gpus(last)}"
    sentences = []
    if len(grow):
        sentences.append(f"{sizes} the difference grows for {listed(_names(list(grow)))}.")
    if len(shrink):
        where = "It" if sentences else f"{sizes} the difference"
        sentences.append(f"{where} shrinks for {listed(_names(list(shrink)))}.")
    return sentences


def _each(rows: pd.DataFrame) -> str:
    return listed([f"*{small(row.mechanism)}* ({points(abs(row.points) / 100)})" for row in rows.itertuples()])


def _names(names: list[str]) -> list[str]:
    return [f"*{small(name)}*" for name in names]


def small(name: str) -> str:
    return name[0].lower() + name[1:]
