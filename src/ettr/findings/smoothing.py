"""What is said of ways to smooth power."""

from __future__ import annotations

import pandas as pd

from ettr.findings.power import megawatts, usd
from ettr.findings.words import Finding, duration, limit, listed, pct
from ettr.power import PowerSeries, Target

_UNITS = {"of rated": "of the rated power", "J/GPU": "J for each GPU", "MWh": "MWh"}


def floor_pairs(pairs: pd.DataFrame, own: pd.DataFrame, floor: float, overhead: float) -> Finding:
    """What a floor costs; tables as from :func:`ettr.curves.floor_pairs` and :func:`ettr.curves.own_step`."""
    row = own.iloc[0]
    here = (
        f"This step waits at {pct(row['trough'], 0)} of the rated power for {pct(1 - row['compute_share'], 0)} of its "
        f"time, and a floor of {pct(floor, 0)} adds {pct(row['overhead'])} to the energy of its GPUs."
    )
    if pairs.empty:
        return Finding(
            title=f"No step makes a floor of {pct(floor, 0)} cost {pct(overhead)}",
            text=f"No pair of trough and share of compute gives {pct(overhead)}. {here}",
        )
    first, last = pairs.iloc[0], pairs.iloc[-1]
    return Finding(
        title=f"Many steps make a floor of {pct(floor, 0)} cost {pct(overhead)}",
        text=(
            f"A floor of {pct(floor, 0)} costs {pct(overhead)} on every step of the curve, from one that waits at "
            f"{pct(first['trough'], 0)} of the rated power and computes {pct(first['compute_share'], 0)} of the time, "
            f"to one that waits at {pct(last['trough'], 0)} and computes {pct(last['compute_share'], 0)}. {here} A "
            "figure without its trace says nothing of another job: only a measured step does."
        ),
    )


def moment(frame: pd.DataFrame, target: Target) -> Finding:
    """The same failure with each option; ``frame`` as from :func:`ettr.curves.smoothed_moment`."""
    spans = frame.groupby("option", sort=False)["power_mw"].agg(lambda values: values.max() - values.min())
    bare, others = spans.iloc[0], spans.iloc[1:]
    span = duration(float(frame["since_s"].max() - frame["since_s"].min()) / 3600)
    if others.empty:
        return Finding(title="No option can be set for this target", text=f"The bare swing is {megawatts(bare)}.")
    least, low, high = others.idxmin(), megawatts(others.min()), megawatts(others.max())
    left = low if low == high else f"{low} to {high}"
    kept = frame.groupby("option", sort=False)["reached"].first().iloc[1:]
    held = (
        f" Lines that keep the target never move by more than {pct(target.range_share, 0)} of the rated power within "
        f"{duration(target.window_s / 3600)}: a floor burns to do so, a store takes up the energy."
        if kept.any()
        else ""
    )
    missed = (
        f" {_capital(listed([_article(name) for name in kept.index[~kept]]))} is drawn as it would have to be, or as "
        "near as it gets, and misses the target."
        if not kept.all()
        else ""
    )
    return Finding(
        title=f"Smoothing leaves {left} of a swing of {megawatts(bare)}",
        text=(
            f"Within {span} the bare power swings by {megawatts(bare)}, and least of all with {_article(least)}, by "
            f"{low}. That is not the end of it: the slower change comes after.{held}{missed}"
        ),
    )


def _article(option: str) -> str:
    return f"a {option}" if option[0] not in "aeiou" else f"an {option}"


def options(table: pd.DataFrame, target: Target, series: PowerSeries) -> Finding:
    """The options at an equal target; ``table`` as from :func:`ettr.power.compare`."""
    assert series.profile is not None
    allowed = (
        f"{pct(target.range_share, 0)} of the rated power, {megawatts(target.range_share * series.profile.rated_mw)},"
    )
    asked = f"a swing of at most {allowed} within {duration(target.window_s / 3600)}"
    reached = table[table["reached"]].sort_values("total_usd")
    told = [_reaching(row) for row in reached.to_dict("records")]
    missed = [
        f"{_article(row['option'])} misses it: {row['why']}" for row in table[~table["reached"]].to_dict("records")
    ]
    failing = f" {' '.join(f'{text[0].upper()}{text[1:]}.' for text in missed)}" if missed else ""
    if not told:
        return Finding(title="No option keeps the target", text=f"Asked is {asked}.{failing}")
    cheapest = reached.iloc[0]
    title = (
        f"A {cheapest['option']} is the cheapest that keeps the target"
        if pd.notna(cheapest["total_usd"])
        else "What keeps the target has no known price"
    )
    decides = (
        " Throughput decides: an hour of a GPU costs far more than the electricity that it takes, so what slows the "
        "job is dear even where it burns little."
        if reached["throughput_usd"].sum() > reached["energy_usd"].sum()
        else ""
    )
    return Finding(
        title=title,
        text=f"Asked is {asked} from every option. {_capital('; '.join(told))}.{failing}{decides}",
    )


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _reaching(row: dict[str, float | str]) -> str:
    size, unit = float(row["size"]), str(row["size_unit"])
    shown = pct(size, 0) if unit == "of rated" else limit(size, "at least")
    known = pd.notna(row["total_usd"])
    cost = f"costs {usd(float(row['total_usd']))} a year" if known else "has no published price"
    lost = f" and {pct(float(row['throughput_loss']))} of the throughput" if float(row["throughput_loss"]) > 0 else ""
    return (
        f"{_article(str(row['option']))} needs {shown} {_UNITS[unit]}, wastes {pct(float(row['wasted_share']))} of the "
        f"energy{lost}, and {cost}"
    )
