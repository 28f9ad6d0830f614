"""What the chapter on power says of a run: its day, its failures, its steps, its bill and its carbon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ettr.chapters.power.tables import Window
from ettr.core.sentences import Finding, capital, count, duration, gpus, limit, listed, megawatts, number, pct, usd
from ettr.core.units import S_PER_H, W_PER_MW

if TYPE_CHECKING:
    from ettr.power import Metrics, PowerSeries, Profile, Target
    from ettr.scenario import Scenario

_NEAR = 0.02
_RULES = {"kept": "keeps", "broken": "breaks", "not known": "cannot be judged by"}


def subtitle(job: Scenario, run: Scenario, profile: Profile) -> str:
    """The scenario with its size, where that is not its own, and its GPU."""
    size = f"{gpus(job.cluster.n_gpus)}, all else as in " if job.cluster.n_gpus != run.cluster.n_gpus else ""
    return f"{size}{run.title}, powered as {profile.title}"


def answer(day: PowerSeries, metrics: Metrics, bill: pd.DataFrame, options: pd.DataFrame) -> Finding:
    """What the grid sees, and what smoothing costs; ``options`` as from :func:`ettr.power.compare`."""
    assert day.profile is not None
    own = day.profile
    lost = bill[bill["wasted"]]
    share = lost["facility_mwh"].sum() / bill["facility_mwh"].sum()
    step_mw = own.n_gpus * own.waveform.swing_w * (1 + own.loss_share) / W_PER_MW
    waste = (
        f" Hours that are lost take {pct(share)} of its energy: {usd(lost['electricity_usd'].sum())} of electricity, "
        f"beside {usd(lost['gpu_usd'].sum())} of GPU-hours."
        if len(lost)
        else " No hour of it is lost."
    )
    return Finding(
        title=f"{gpus(own.n_gpus)} draw {megawatts(day.mean_mw)} and swing by {megawatts(metrics.swing_mw)}",
        text=(
            f"**{gpus(own.n_gpus)} draw {megawatts(day.mean_mw)} from the grid over a day, and anything from "
            f"{megawatts(metrics.lowest_mw)} to {megawatts(metrics.peak_mw)} in one second or another.** Each training "
            f"step swings it by {megawatts(step_mw)}, every {duration(own.waveform.step_s / S_PER_H)}.{waste} "
            f"{_cheapest(options)}"
        ),
    )


def _cheapest(options: pd.DataFrame) -> str:
    priced = options[options["reached"] & options["total_usd"].notna()].sort_values("total_usd")
    if priced.empty:
        return "No option with a known price keeps the swing within the target."
    first, last = priced.iloc[0], priced.iloc[-1]
    rest = f", a {last['option']} {usd(last['total_usd'])}" if len(priced) > 1 else ""
    return (
        f"Keeping its swing within the target costs, in a year, {usd(first['total_usd'])} by a {first['option']}{rest}."
    )


def day(series: PowerSeries, metrics: Metrics, events: pd.DataFrame) -> Finding:
    """One day; ``events`` as from ``tables.stops_of_day``."""
    counted = events["what"].value_counts()
    failed, planned = int(counted.get("failure", 0)), int(counted.get("maintenance", 0))
    stops = [
        f"{count(n)} {what}{'' if n == 1 else 's'}" for n, what in ((failed, "failure"), (planned, "planned stop")) if n
    ]
    ups, downs = metrics.ramp_up_1min_mw_per_min, metrics.ramp_down_1min_mw_per_min
    ramps = (
        f" From one minute to the next it falls by up to {megawatts(downs)} and rises by up to {megawatts(ups)}."
        if ups is not None and downs is not None
        else ""
    )
    hours = duration(series.duration_h)
    return Finding(
        title=f"In {hours}: {listed(stops)}, and a swing of {megawatts(metrics.swing_mw)}"
        if stops
        else f"{hours} without a stop",
        text=(
            f"In {hours} the job meets {listed(stops) if stops else 'no stop'} and takes "
            f"{number(series.energy_mwh)} MWh from the grid, {megawatts(series.mean_mw)} on average. The highest "
            f"second takes {megawatts(metrics.peak_mw)} and the lowest "
            f"{megawatts(metrics.lowest_mw)}.{ramps}{_quiet(series)}"
        ),
    )


def _quiet(series: PowerSeries) -> str:
    """Why power moves where nothing stops the job, if its steps can be seen."""
    assert series.profile is not None
    wave = series.profile.waveform
    if wave.step_s < 2 * series.step_s or not wave.swing_w:
        return ""
    return " The band is wide in quiet hours too, because each step is a swing."


def moment(frame: pd.DataFrame, window: Window, profile: Profile) -> Finding:
    """The seconds about a failure; ``frame`` as from ``tables.moments``."""
    names = list(dict.fromkeys(frame["moment"]))
    first = frame[frame["moment"] == names[0]]
    before, after = (first.loc[first["since_s"] * sign > 0, "power_mw"] for sign in (-1, 1))
    if window.failure_h is None or before.empty or after.empty:
        low, high = first["power_mw"].min(), first["power_mw"].max()
        return Finding(
            title=f"{names[0].capitalize()} swings the job by {megawatts(high - low)}",
            text=(
                f"No failure falls into this day; about {names[0]} power goes from {megawatts(low)} to "
                f"{megawatts(high)} within {duration(float(np.ptp(first['since_s'])) / S_PER_H)}."
            ),
        )
    drop = before.max() - after.min()
    back = frame[frame["moment"] == names[-1]] if len(names) > 1 else first.iloc[:0]
    rise = (
        f" When training returns, power rises by {megawatts(back['power_mw'].max() - back['power_mw'].min())} just as "
        "fast."
        if len(back)
        else ""
    )
    return Finding(
        title=f"A failure drops {megawatts(drop)} at once",
        text=(
            f"Within a step of the failure power falls from {megawatts(before.max())} to {megawatts(after.min())}: all "
            f"GPUs wait for the one that failed.{rise} In the model the whole job stops in the same instant, and "
            f"cooling follows with a time constant of {duration(profile.coolant_s / S_PER_H)}; a fall spread over "
            "seconds would need nodes that notice at different times."
        ),
    )


def spectrum(frame: pd.DataFrame, profile: Profile, low_hz: float, high_hz: float) -> Finding:
    """Where the fluctuation lies; ``frame`` as from ``tables.spectra``."""
    shares = frame.groupby("nodes", sort=False)["band_share"].first()
    own = frame[frame["nodes"] == "as given"]
    peak_hz = float(own.loc[own["psd_mw2_per_hz"].idxmax(), "frequency_hz"])
    step_hz = 1 / profile.waveform.step_s
    if abs(peak_hz / step_hz - 1) < _NEAR:
        where = f"The highest line is the step's own, at {number(step_hz)} Hz, and its multiples follow"
    else:
        where = f"The highest line lies at {number(peak_hz)} Hz, with steps at {number(step_hz)} Hz"
    sigma = profile.waveform.jitter_s
    jitter = (
        f" Nodes that change phase with a spread of {duration(sigma / S_PER_H)} take away what is faster than "
        f"{number(1 / (2 * np.pi * sigma))} Hz, and nothing of the rest; with all nodes at once the share is "
        f"{pct(shares['all nodes at once'], 0)}. What their own moments add, {megawatts(profile.incoherent_mw)}, is "
        "too small to be seen."
        if "all nodes at once" in shares.index
        else ""
    )
    share = pct(shares["as given"], 0)
    band = f"between {number(low_hz)} and {number(high_hz)} Hz"
    return Finding(
        title=f"{share} of the fluctuation lies {band}",
        text=(
            f"Of what fluctuates within an hour of this day, {share} lies {band}, where grids and turbines have "
            f"resonances. {where}.{jitter}"
        ),
    )


def limits(table: pd.DataFrame) -> Finding:
    """Which limits are kept; ``table`` as from ``tables.limits_kept``."""
    names = [f"*{row.rule[0].lower()}{row.rule[1:]}* of {row.specification}" for row in table.itertuples()]
    rules = pd.Series(names).groupby(table["verdict"].to_numpy()).agg(list)
    text = "; it ".join(f"{verb} {listed(rules[verdict])}" for verdict, verb in _RULES.items() if verdict in rules)
    broken = int((table["verdict"] == "broken").sum())
    return Finding(
        title=f"The bare job breaks {count(broken)} of {count(len(table))} limits",
        text=f"The bare job {text}. The limits are examples and ranges of plants, not the rules of one grid.",
    )


def bill(table: pd.DataFrame) -> Finding:
    """What lost hours cost; ``table`` as from :func:`ettr.power.bill`."""
    lost = table[table["wasted"]]
    if lost.empty:
        return Finding(title="No hour is lost", text="The run trains from beginning to end, so nothing is wasted.")
    electricity, bought = lost["electricity_usd"].sum(), lost["gpu_usd"].sum()
    most = lost.loc[lost["gpu_usd"].idxmax()]
    share, energy_share = (lost[name].sum() / table[name].sum() for name in ("hours", "facility_mwh"))
    less = ", since a job that waits draws less than one that trains" if energy_share < 0.99 * share else ""
    ratio = bought / electricity if electricity > 0 else 0.0
    beside = f", {number(ratio)} times as much" if ratio > 0 else ""
    when = " Electricity would matter as much as GPUs only at a price that many times as high." if ratio > 1 else ""
    return Finding(
        title=f"Lost hours cost {usd(bought)} of GPUs and {usd(electricity)} of electricity",
        text=(
            f"Of the run's hours {pct(share)} are lost, and {pct(energy_share)} of its energy{less}. Their electricity "
            f"costs {usd(electricity)} and emits {number(lost['t_co2'].sum())} t of CO2; the GPU-hours cost "
            f"{usd(bought)}{beside}. The largest part is {most['part']}, with {usd(most['gpu_usd'])} of GPU-hours and "
            f"{usd(most['electricity_usd'])} of electricity.{when}"
        ),
    )


def carbon(table: pd.DataFrame, facility_mwh: float, profile: Profile) -> Finding:
    """Carbon by grid; ``table`` as from :func:`ettr.power.carbon_by_country`."""
    most, least = table.iloc[0], table.iloc[-1]
    own_t = facility_mwh * profile.g_per_kwh / 1e3
    return Finding(
        title=(
            f"The same run emits {number(least['t_co2'])} t in {least['title']} and {number(most['t_co2'])} t in "
            f"{most['title']}"
        ),
        text=(
            f"The whole run takes {number(facility_mwh / 1e3)} GWh. At the intensity of the scenario, "
            f"{number(profile.g_per_kwh)} g/kWh, this is {number(own_t)} t of CO2; on the grid of {least['title']} it "
            f"would be {number(least['t_co2'])} t, and on that of {most['title']} {number(most['t_co2'])} t, "
            f"{number(most['t_co2'] / least['t_co2'])} times as much. These are means of a year and a country: hours, "
            f"contracts and the making of the machines are not in them."
        ),
    )


_UNITS = {"of rated": "of the rated power", "J/GPU": "J for each GPU", "MWh": "MWh"}


def floor_pairs(pairs: pd.DataFrame, own: pd.DataFrame, floor: float, overhead: float) -> Finding:
    """What a floor costs; tables as from ``tables.floor_pairs`` and ``tables.own_step``."""
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


def smoothed_moment(frame: pd.DataFrame, target: Target) -> Finding:
    """The same failure with each option; ``frame`` as from ``tables.smoothed_moment``."""
    spans = frame.groupby("option", sort=False)["power_mw"].agg(lambda values: values.max() - values.min())
    bare, others = spans.iloc[0], spans.iloc[1:]
    span = duration(float(frame["since_s"].max() - frame["since_s"].min()) / S_PER_H)
    if others.empty:
        return Finding(title="No option can be set for this target", text=f"The bare swing is {megawatts(bare)}.")
    least, low, high = others.idxmin(), megawatts(others.min()), megawatts(others.max())
    left = low if low == high else f"{low} to {high}"
    kept = frame.groupby("option", sort=False)["reached"].first().iloc[1:]
    held = (
        f" Lines that keep the target never move by more than {pct(target.range_share, 0)} of the rated power within "
        f"{duration(target.window_s / S_PER_H)}: a floor burns to do so, a store takes up the energy."
        if kept.any()
        else ""
    )
    missed = (
        f" {capital(listed([_article(name) for name in kept.index[~kept]]))} is drawn as it would have to be, or as "
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
    asked = f"a swing of at most {allowed} within {duration(target.window_s / S_PER_H)}"
    reached = table[table["reached"]].sort_values("total_usd")
    clauses = [_reaching(row) for row in reached.itertuples()]
    failing = "".join(
        f" {capital(_article(row.option))} misses it: {row.why}." for row in table[~table["reached"]].itertuples()
    )
    if not clauses:
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
        text=f"Asked is {asked} from every option. {capital('; '.join(clauses))}.{failing}{decides}",
    )


def _reaching(row: Any) -> str:
    needed = pct(row.size, 0) if row.size_unit == "of rated" else limit(row.size, "at least")
    cost = f"costs {usd(row.total_usd)} a year" if pd.notna(row.total_usd) else "has no published price"
    lost = f" and {pct(row.throughput_loss)} of the throughput" if row.throughput_loss > 0 else ""
    return (
        f"{_article(row.option)} needs {needed} {_UNITS[row.size_unit]}, wastes {pct(row.wasted_share)} of "
        f"the energy{lost}, and {cost}"
    )
