"""What the chapter on the number of GPUs says of larger jobs: what moves the turning point, and other ways to train."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ettr.chapters.how_many_gpus.scaling_option_tables import AS_IT_IS, ELASTIC, FEW_SPARES, published_local_sgd
from ettr.core.sentences import Finding, amount, capital, count, days, duration, gpus, limit, listed, number, pct

_LEAST_GAIN, _LEAST_ETTR = 0.005, 1e-3
_STILL = 1.02
"""A turning point that moves by less than this factor counts as not moved: the grid finds it to a thousandth."""
_MOST = 0.5
"""From this share on, what an elastic job wins back is most of it."""


def turning(frame: pd.DataFrame) -> Finding:
    """What moves the turning point; ``frame`` as from ``scaling_option_tables.turning_by_factor``."""
    pairs, spans = [], {}
    for what, group in frame.groupby("what", sort=False):
        by = group.set_index("factor")
        half, twice = by["n_gpus"].get(0.5), by["n_gpus"].get(2.0)
        spans[str(what)] = float(group["n_gpus"].max() / group["n_gpus"].min())
        if half is None or twice is None:
            continue
        pairs.append(f"{_size(half)} and {_size(twice)} for the {_short(str(what))}")
    own = frame[frame["factor"] == 1.0].groupby("what", sort=False)["n_gpus"].first()
    text = f"The turning point lies at {gpus(float(own.iloc[0]))}."
    if pairs:
        text += f" With half and with twice one value it lies, in GPUs, at {listed(pairs)}."
    if "interval, if it stays" in own:
        text += (
            f" The interval is the best of each size, except in its own line: there it stays that of the scenario, "
            f"which puts the point at {gpus(float(own['interval, if it stays']))}."
        )
    if frame["ends"].any():
        text += " Where a point is ringed, the batch ends before failures and waiting turn the curve."
    title, moves = _followed(frame, spans)
    return Finding(title=title, text=f"{text} {moves}")


def _followed(frame: pd.DataFrame, spans: dict[str, float]) -> tuple[str, str]:
    """Title and last sentence: what moves the point most and least, each named once; what ties is named together."""
    widest, narrowest = max(spans.values()), min(spans.values())
    if widest < _STILL:
        if frame["ends"].all():
            return (
                "The batch sets the size: nothing that was tried moves it",
                "The batch sets the size, and nothing that was tried moves it.",
            )
        return "Nothing that was tried moves the turning point", "Nothing that was tried moves it."
    if widest < narrowest * _STILL:
        names = _levers(list(spans))
        every = "" if len(spans) == 1 else ", each as much"
        return f"The turning point follows {names}{every}", f"It moves with {names}{every}."
    most = [name for name, span in spans.items() if span * _STILL > widest]
    least = [name for name, span in spans.items() if span < narrowest * _STILL and name not in most]
    still = _span(frame, least[0]) if len(least) == 1 else ""
    return (
        f"The turning point follows {_levers(most)} most, {_levers(least)} least",
        f"It moves most with {_levers(most)} and least with {_levers(least)}{still}.",
    )


def _levers(names: list[str]) -> str:
    return listed([f"the {_short(name)}" for name in names])


def _size(n_gpus: float) -> str:
    return gpus(n_gpus).partition(" ")[0]


def _signed(share: float) -> str:
    """A change in whole percent, e.g. ``+12%``; never -0."""
    return f"{round(100 * share) + 0:+d}%"


def _short(what: str) -> str:
    return what.partition(",")[0]


def _span(frame: pd.DataFrame, what: str) -> str:
    """What a lever does to the most tokens a day; empty if nothing."""
    tokens = frame.loc[frame["what"] == what, "tokens_per_day"]
    factor = number(float(tokens.max() / tokens.min()))
    return (
        "" if factor == "1" else f", which from end to end still changes the most tokens a day by a factor of {factor}"
    )


def large_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of very large jobs; ``frame`` as from ``scaling_option_tables.large_jobs``."""
    rows = []
    for row in frame.itertuples():
        works = _works(row.useful_tokens_per_day, row.ettr)
        rows.append(
            {
                "GPUs": row.n_gpus,
                "Best batch [million tokens]": row.batch_tokens / 1e6 if works else None,
                "Times the tokens": row.tokens_factor if works else None,
                "MFU": pct(row.mfu) if works else "",
                "Time to failure": duration(row.mttf_h) if math.isfinite(row.mttf_h) else "never",
                "ETTR": pct(row.ettr) if works else "none",
                "Power [MW]": row.power_mw if works else None,
                "Days": days(row.days).partition(" day")[0] if works else "without end",
            }
        )
    return pd.DataFrame(rows)


def _needs(row: Any) -> str:
    needs = []
    for name, words, unit in (
        ("restart", "restart", " min"),
        ("rate", "failure rate", " per 1000 node-days"),
    ):
        own, value, ettr = (float(getattr(row, f"{name}_{end}")) for end in ("given", "needed", "ettr"))
        if math.isnan(value):
            needs.append(f"no {words} is enough: at 0 it would be {pct(ettr)}")
        elif value >= own:
            needs.append(f"the {words} of {number(own)}{unit} is enough")
        else:
            needs.append(f"a {words} of at most {limit(value, 'at most')}{unit}, not {number(own)}")
    return f"for an ETTR of {pct(float(row.target_ettr), 0)} {needs[0]}; {needs[1]}"


def _works(tokens_per_day: float, ettr: float) -> bool:
    """Whether more than a thousandth of the time is left; below that a table of decimals says nothing."""
    return tokens_per_day > 0 and ettr >= _LEAST_ETTR


def large(frame: pd.DataFrame) -> Finding:
    """What synchronous training on many GPUs needs; ``frame`` as from ``scaling_option_tables.large_jobs``."""
    sentences = [_large(row) for row in frame.itertuples()]
    last = frame.iloc[-1]
    title = f"On {gpus(last['n_gpus'])} this job gets nowhere"
    if _works(last["useful_tokens_per_day"], last["ettr"]):
        title = f"On {gpus(last['n_gpus'])} an ETTR of {pct(last['ettr'])} is left, at {amount(last['power_mw'])} MW"
    short = bool(len(frame) > 1 and last["useful_tokens_per_day"] < frame["useful_tokens_per_day"].max())
    if short:
        sentences.append(f"The job on {gpus(last['n_gpus'])} yields fewer useful tokens a day than a smaller one.")
    if (frame["mttf_h"] < 0.25).any() and (frame["rate_needed"] < frame["rate_given"]).any():
        sentences.append(
            "At such rates the restart has to go, not shrink: training has to go on while something fails, "
            "as the ways out below do in part."
        )
    return Finding(title=title, text=" ".join(sentences))


def _large(row: Any) -> str:
    size = f"On {gpus(float(row.n_gpus))}"
    if not _works(row.useful_tokens_per_day, row.ettr):
        return f"{size} it gets nowhere: less than a thousandth of the time is left, with any batch and layout tried."
    of = {
        name: float(getattr(row, name)) for name in ("batch_tokens", "tokens_factor", "mfu", "mttf_h", "ettr", "days")
    }
    stops = f"a failure every {duration(of['mttf_h'])}" if math.isfinite(of["mttf_h"]) else "no failures"
    return (
        f"{size} the best batch has {amount(of['batch_tokens'])} tokens and needs {of['tokens_factor']:.2f} times "
        f"those of the reference batch; MFU is {pct(of['mfu'])}, and with {stops} ETTR is {pct(of['ettr'])}: "
        f"{days(of['days'])}. There, {_needs(row)}."
    )


def peak_cells(peaks: pd.DataFrame, simulated: pd.DataFrame) -> pd.DataFrame:
    """The table of each way's peak; frames as from ``peaks_of_ways`` and ``elastic_by_size`` of the tables."""
    first = float(peaks["tokens_per_day"].iloc[0])
    rows = [
        {
            "Way": row.way,
            "Most tokens at [GPUs]": "no layout fits" if math.isnan(row.n_gpus) else _size(row.n_gpus),
            "Billion useful tokens a day": None if math.isnan(row.n_gpus) else row.tokens_per_day / 1e9,
            "Against as it is": "" if math.isnan(row.gain) else _signed(row.gain),
            "Size set by": "" if math.isnan(row.n_gpus) else "the batch" if row.ends else "failures and waiting",
            "Assumes": row.setting,
        }
        for row in peaks.itertuples()
    ]
    for way, group in simulated.groupby("way", sort=False):
        best = group.loc[group["tokens_per_day"].idxmax()]
        rows.append(
            {
                "Way": way,
                "Most tokens at [GPUs]": f"{_size(best['n_gpus'])}, of {len(group)} sizes",
                "Billion useful tokens a day": best["tokens_per_day"] / 1e9,
                "Against as it is": _signed(best["tokens_per_day"] / first - 1),
                "Size set by": "the sizes tried",
                "Assumes": f"{_spares(best['n_spares'])} there, as many as are in repair (assumed)",
            }
        )
    return pd.DataFrame(rows)


def ways(peaks: pd.DataFrame) -> Finding:
    """What each way out wins; ``peaks`` as from ``scaling_option_tables.peaks_of_ways``."""
    others = peaks[(peaks["way"] != AS_IT_IS) & peaks["gain"].notna()].sort_values("gain", ascending=False)
    gains = [f"{row.way} {_signed(row.gain)} at {gpus(row.n_gpus)}" for row in others.itertuples()]
    best = others.iloc[0]
    none = peaks[peaks["gain"].isna()]["way"].tolist()
    text = f"Against the most useful tokens a day of the job as it is, each alone: {listed(gains)}."
    if none:
        text += f" No layout fits the memory with {listed(none)}."
    title = f"{capital(best['way'])} wins most: {_signed(best['gain'])} of useful tokens a day"
    if best["gain"] < _LEAST_GAIN:
        title = "None of these ways wins much here"
    return Finding(title=title, text=f"{text} {_price()}")


def _price() -> str:
    """What is published on the price in tokens of local SGD."""
    price = published_local_sgd()
    return (
        f"The price of local SGD in tokens is an input, and assumed. Published are a loss {price.loss_pct:g}% higher "
        f"at 10 billion parameters with 4 replicas, which comes to about {price.factor_4_replicas:g} times the tokens, "
        f"and about {price.factor_8_replicas:g} times "
        "with 8 replicas at 2.4 billion {cite:p}`charles2025diloco`; nothing is published for hundreds of replicas at "
        "this size. The same holds of compressed gradients, whose price is taken as nothing {cite:p}`tang2021onebit`."
    )


def elastic(simulated: pd.DataFrame) -> Finding:
    """What going on without some replicas wins; ``simulated`` as from ``scaling_option_tables.elastic_by_size``."""
    by = simulated.set_index(["n_gpus", "way"])[["ettr", "tokens_per_day", "low", "high", "closed_ettr", "n_spares"]]
    pairs = simulated.pivot_table(index="n_gpus", columns="way", values="ettr").dropna()
    if pairs.empty or FEW_SPARES not in pairs or ELASTIC not in pairs:
        return Finding(
            title="Nothing to simulate",
            text="Jobs without failures, with a single replica, or that hardly get on have nothing to simulate.",
        )
    by_size = []
    for size in dict.fromkeys([pairs.index[0], pairs.index[-1]]):
        waits, goes_on = by.loc[(size, FEW_SPARES)], by.loc[(size, ELASTIC)]
        by_size.append(
            f"on {gpus(size)} with {_spares(waits['n_spares'])} a job that waits reaches an ETTR of "
            f"{pct(waits['ettr'])}, an elastic one {pct(goes_on['ettr'])}, and one whose spares never run out "
            f"{pct(waits['closed_ettr'])}"
        )
    sizes: dict[str, list[float]] = {}
    for size in pairs.index:
        sizes.setdefault(_outcome(by.loc[(size, FEW_SPARES)], by.loc[(size, ELASTIC)]), []).append(float(size))
    verdict = " ".join(
        f"{'Here' if len(sizes) == 1 else f'On {_sizes(there)}'} {outcome}." for outcome, there in sizes.items()
    )
    first = float(pairs.index[0])
    title = f"Elastic replicas: no clear gain of ETTR on {gpus(first)}"
    own = next(outcome for outcome, there in sizes.items() if first in there)
    if own == _ENOUGH:
        title = f"On {gpus(first)} spares hardly ever run out, so that elastic replicas win nothing"
    elif own != _ALIKE:
        won = 100 * float(by.loc[(first, ELASTIC), "ettr"] - by.loc[(first, FEW_SPARES), "ettr"])
        title = (
            f"Elastic replicas: {won:+.{0 if abs(won) >= 1 else 2}f} points of ETTR on {gpus(first)} with few spares"
        )
    runs = int(np.max(simulated["n_runs"]))
    return Finding(title=title, text=f"Simulated, {runs} runs each: {'; '.join(by_size)}. {verdict}")


_ENOUGH = (
    "spares hardly ever run out: the job that waits reaches what one with spares without end does, within the "
    "simulated interval, and elastic replicas have nothing to win back"
)
_ALIKE = "the simulated intervals of the job that waits and of the elastic one overlap, so that no difference is told"
_WORSE = "the planned restarts, by which nodes rejoin, cost more than waiting does"


def _outcome(waits: pd.Series, goes_on: pd.Series) -> str:
    """How an elastic job compares with one that waits, on one size; only intervals that do not overlap differ."""
    if goes_on["high"] < waits["low"]:
        return _WORSE
    if waits["closed_ettr"] * waits["tokens_per_day"] <= waits["high"] * waits["ettr"]:
        return _ENOUGH
    if goes_on["low"] <= waits["high"]:
        return _ALIKE
    share = (goes_on["ettr"] - waits["ettr"]) / (waits["closed_ettr"] - waits["ettr"])
    return f"going on without replicas wins back {'most' if share >= _MOST else 'part'} of what too few spares cost"


def _sizes(sizes: list[float]) -> str:
    return f"{listed([_size(size) for size in sizes])} GPUs"


def _spares(n_nodes: float) -> str:
    return f"{count(n_nodes)} spare node{'' if n_nodes == 1 else 's'}"
