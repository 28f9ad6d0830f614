"""What do a hot afternoon and a hotter chip cost in throughput and failures?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import evidence
from ettr.core.errors import EttrError, InputError
from ettr.core.sentences import Finding, points, say
from ettr.plan import ettr_at_best
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import BLUE, BRICK, GREEN, GREY, ORANGE, TEAL, VIOLET, finish, layered
from ettr.scenario import Gpu, Scenario
from ettr.scenario.heat import Heat
from ettr.scenario.heat_response import HeatResponse, chip_of, plant_of
from ettr.thermal import arrhenius_factor, largest_of, operating_point
from ettr_book.chapters.common.steady_state import quietly, without_start

GPU = "GPU"
"""Category of failure modes that heat may activate."""
GPU_MODE = "GPU hardware"
"""Name of the mode that is added if a scenario has none of this category."""
PLANTS = {
    "air_economiser": "outdoor air",
    "chiller": "chilled air",
    "cold_plate": "cold plates",
    "immersion": "immersion",
}
"""Names of the kinds of cooling in sentences."""
CASES = {"none": (0.0, 0.7), "25%, 0.3 eV": (0.25, 0.3), "50%, 0.7 eV": (0.5, 0.7), "all, 1.2 eV": (1.0, 1.2)}
"""Share of the GPU failures that heat activates, and their activation energy, by name. [eV]"""
_VISIBLE = 5e-4
"""Smallest difference in throughput worth mentioning."""
_WARMER_K = 10.0
"""Warming quoted in the text. [K]"""
_WARMINGS_K = tuple(2.5 * step for step in range(-8, 7))
_COLDEST_C, _HOTTEST_C, _CLIMATES, _INLETS = 0.0, 40.0, 17, 121
_COLUMNS = {"ambient_c": "outdoors", "inlet_c": "inlet", "die_c": "die, mean GPU", "hottest_c": "die, hottest GPU"}
_TEMPERATURES = dict(
    zip(_COLUMNS.values(), ((BLUE, [1, 0]), (TEAL, [8, 2]), (ORANGE, [6, 3]), (VIOLET, [2, 2])), strict=True)
)
_GPUS = {"mean GPU": (ORANGE, [6, 3]), "hottest GPU": (VIOLET, [1, 0])}
_COOLING = dict(zip(PLANTS.values(), ((BLUE, [1, 0]), (VIOLET, [8, 2]), (GREEN, [6, 3]), (BRICK, [2, 3])), strict=True))
_CASE_LOOKS = dict(zip(CASES, ((GREY, [2, 3]), (BLUE, [1, 0]), (ORANGE, [8, 2]), (VIOLET, [6, 3])), strict=True))
_HOURS = alt.X(
    "hour:Q",
    title="Hour of the day [h]",
    scale=alt.Scale(domain=[0, 24], nice=False),
    axis=alt.Axis(values=list(range(0, 25, 3))),
)


def warmed(
    scenario: Scenario,
    part: str = "h100",
    cooling: str = "air_economiser",
    mean_c: float = 20.0,
    swing_k: float = 6.0,
    activated_share: float = 0.5,
    energy_ev: float = 0.7,
) -> Scenario:
    """Return a scenario with cooling and heat-activated GPU failures; its own heat section is kept.

    Parameters
    ----------
    scenario : Scenario
        The run. Without modes of category GPU, one is added with their share in Llama 3's table.
    part, cooling : str
        GPU, and kind of plant.
    mean_c, swing_k : float
        Outdoor temperature: mean of the day, and difference to the hottest hour. [°C], [K]
    activated_share, energy_ev : float
        Share of GPU failures that heat activates, and their activation energy; modes with their own keep it. [eV]

    Returns
    -------
    Scenario
        Scenario with a section on heat. Rates and speed refer to the mean inlet temperature of this plant.
    """
    changes: dict[str, object] = {}
    if scenario.heat is None:
        changes["heat"] = {"part": part, "cooling": cooling, "mean_c": mean_c, "swing_k": swing_k}
        mean_inlet_c = float(response_of(scenario.override(changes)).hours["inlet_c"].mean())
        changes["heat.reference_inlet_c"] = round(mean_inlet_c, 1)
    run = scenario.override(changes) if changes else scenario
    activated = {"heat_share": activated_share, "heat_energy_ev": energy_ev}
    gpus = [mode for mode in run.failures.modes if mode.category == GPU]
    if any(mode.heat_share for mode in run.failures.modes):
        return run
    if gpus:
        return run.override(
            {f"failures.modes.{mode.name}.{field}": value for mode in gpus for field, value in activated.items()}
        )
    counts = evidence.table("llama3_interruptions")
    share = counts.loc[counts["category"] == GPU, "n_events"].sum() / counts["n_events"].sum()
    rest = max(0.0, 1 - sum(run.failures.shares))
    added = {"name": GPU_MODE, "category": GPU, "share": share * rest, **activated}
    kept = [mode.model_dump(exclude_none=True, exclude_defaults=True) for mode in run.failures.modes]
    return run.override({"failures.modes": [*kept, added]})


def gpu_of(run: Scenario) -> Gpu:
    return Gpu.load(_heat_of(run).part)


def response_of(run: Scenario) -> HeatResponse:
    _heat_of(run)
    assert run.heat_response is not None
    return run.heat_response


def _heat_of(run: Scenario) -> Heat:
    if run.heat is None:
        raise InputError(f"{run.name} has no section on heat: see ettr_book.chapters.thermal.warmed")
    return run.heat


def answer(run: Scenario) -> Finding:
    """Return the cost of heat for this run."""
    lost, statuses = response_of(run).afternoon_loss, gpu_of(run).to_frame()["status"]
    most = float(np.ptp(by_warming(run, [_WARMER_K])["ettr"])) or None
    slower = say(
        "loses {#hot_afternoon:share} of its throughput",
        "loses no throughput",
        hot_afternoon=lost if lost > _VISIBLE else None,
    )
    texts = [
        f"**On the hottest afternoon the run {slower}, because its hottest GPU sets the pace.**",
        say(
            "Running every die 10 K hotter costs between 0 and {most:points} of ETTR, depending on how strongly heat "
            "drives failures, which nobody has measured.",
            "In this run heat activates no failure.",
            most=most,
        ),
        _bought(run),
        f"{int((statuses == 'assumed').sum())} of the {len(statuses)} figures of the GPU and the climate are assumed.",
    ]
    title = say(
        "A hot afternoon costs {job:share} of throughput; 10 K more, 0 to {most:points} of ETTR",
        "A hot afternoon costs {job:share} of throughput",
        job=lost,
        most=most,
    )
    return Finding(title, " ".join(texts))


def _bought(run: Scenario) -> str:
    """Return the gain from another kind of cooling."""
    cooling, plants = _heat_of(run).cooling, cooling_at(run).sort_values("effective")
    current, best = plants[plants["cooling"] == cooling].iloc[0], plants.iloc[-1]
    if best["effective"] - current["effective"] <= _VISIBLE:
        return f"No other kind of cooling with published figures improves on {PLANTS[cooling]} for this run."
    return say(
        "Under these assumptions, {best} instead of {current} would gain {speed:points} in speed and {ettr:points} in "
        "ETTR.",
        best=PLANTS[best["cooling"]],
        current=PLANTS[cooling],
        speed=best["speed"] - current["speed"],
        ettr=best["ettr"] - current["ettr"],
    )


def by_inlet(run: Scenario) -> pd.DataFrame:
    """Return the clock of the mean and the hottest GPU over the temperature of the air or liquid that enters.

    Returns
    -------
    DataFrame
        ``gpu``, ``inlet_c`` [°C], ``clock_mhz`` [MHz], ``clock`` (over that of the mean GPU at the lowest inlet),
        ``die_c`` [°C], ``limited_by``; inlets that leave no power for computing are left out.
    """
    heat, gpu = _heat_of(run), gpu_of(run)
    cooling = gpu.cooled_by(plant_of(heat).medium)
    chip, inlets = chip_of(gpu, cooling, heat.limit_w), np.linspace(10, 70, _INLETS)
    hottest = 1 + cooling.spread * float(largest_of(run.cluster.n_gpus))
    frames = []
    for name, factor in (("mean GPU", 1.0), ("hottest GPU", hottest)):
        point = quietly(operating_point, inlets, chip, factor)
        columns = {"clock_mhz": point.clock_mhz, "die_c": point.die_c, "limited_by": point.limited_by}
        frames.append(pd.DataFrame({"gpu": name, "inlet_c": inlets, **columns}))
    frame = pd.concat(frames, ignore_index=True).dropna()
    return frame.assign(clock=frame["clock_mhz"] / frame["clock_mhz"].iloc[0])


def throttling(run: Scenario) -> Any:
    """Draw the clock over the inlet temperature, of the mean and of the hottest GPU."""
    frame = by_inlet(run)
    throttled = frame[frame["limited_by"].isin(("heat", "memory"))].groupby("gpu")["inlet_c"].min()
    tips = tooltips("gpu", "inlet_c", "clock_mhz", "die_c", "limited_by")
    across = alt.X("inlet_c:Q", title="Temperature at the inlet [°C]", scale=alt.Scale(zero=False, nice=False))
    ends = "; ".join(
        f"{name} from {rows['clock'].iloc[0]:.1%} at {rows['inlet_c'].iloc[0]:.0f} degrees to "
        f"{rows['clock'].iloc[-1]:.1%} at {rows['inlet_c'].iloc[-1]:.0f}"
        for name, rows in frame.groupby("gpu", sort=False)
    )
    return finish(
        builders.lines(rounded(frame, 4), across, builders.up("clock", zero=False), "gpu", _GPUS, tips),
        title=say(
            "The hottest GPU throttles from {inlet:.0f} °C at its inlet",
            "No GPU throttles up to an inlet of {most:.0f} °C",
            inlet=throttled.get("hottest GPU"),
            most=frame["inlet_c"].max(),
        ),
        subtitle=f"{gpu_of(run).title}, {PLANTS[_heat_of(run).cooling]}; {run.title}",
        description=f"Lines of the clock over the inlet temperature in degrees Celsius, the axis cut: {ends}.",
        height=300,
    )


def afternoon(run: Scenario) -> Any:
    """Draw the temperatures over the hottest day, with the limits of the GPU."""
    day, limits = response_of(run).hottest_day, gpu_of(run).limits
    frame = day.rename(columns=_COLUMNS).melt("hour", [*_COLUMNS.values()], "what", "temperature_c")
    marks = {"throttles": limits.throttle_c, "switches itself off": limits.shutdown_c}
    rules = pd.DataFrame([{"limit": name, "temperature_c": at} for name, at in marks.items() if at is not None])
    limit = alt.Chart(rules).encode(y=alt.Y("temperature_c:Q"))
    label = limit.mark_text(align="left", baseline="bottom", dx=4, dy=-2).encode(x=alt.value(0), text="limit:N")
    tips = tooltips("what", "hour", "temperature_c", what="Temperature of")
    lines = builders.lines(rounded(frame, 4), _HOURS, builders.up("temperature_c"), "what", _TEMPERATURES, tips)
    ranges = "; ".join(
        f"{what} {group['temperature_c'].min():.1f} to {group['temperature_c'].max():.1f}"
        for what, group in frame.groupby("what", sort=False)
    )
    limited = ", ".join(f"{row.limit} {row.temperature_c:g}" for row in rules.itertuples())
    return finish(
        layered(limit.mark_rule(strokeDash=[3, 3]), lines, label),
        title=_hottest(limits.throttle_c, day),
        subtitle=run.title,
        description=(
            f"Lines of temperature in degrees Celsius over the hours of a day: {ranges}. Dashed rules: {limited}."
        ),
        height=340,
    )


def _hottest(throttle_c: float, day: pd.DataFrame) -> str:
    """Return the margin of the hottest GPU to its limits."""
    limited_by, hottest = set(day["limited_by"]), day["hottest_c"].max()
    if "memory" in limited_by and "heat" not in limited_by:
        return f"The hottest die reaches {hottest:.0f} °C, where its memory throttles the GPU"
    margin = throttle_c - hottest
    close = "at" if margin < 0.5 else f"{margin:.0f} K below"
    return f"The hottest die peaks {close} the {throttle_c:g} °C at which it throttles"


def _steady_ettr(run: Scenario) -> float:
    """Return the ETTR in the steady state at the best interval."""
    return float(ettr_at_best(without_start(run)))


def by_climate(run: Scenario) -> pd.DataFrame:
    """Return :func:`cooling_at` for mean outdoor temperatures from 0 to 40 °C."""
    frames = [cooling_at(run, float(mean)) for mean in np.linspace(_COLDEST_C, _HOTTEST_C, _CLIMATES)]
    return pd.concat(frames, ignore_index=True)


def cooling_at(run: Scenario, mean_c: float | None = None) -> pd.DataFrame:
    """Return kinds of cooling in one climate, against the same observation; without a mean in the scenario's weather.

    Returns
    -------
    DataFrame
        ``cooling``, ``plant`` (its name in a sentence), ``mean_c`` (of the day) [°C], ``speed``, ``rate_factor``
        (failures of the job over those observed), ``ettr`` (at the best interval), ``effective`` (ETTR times speed),
        ``hottest_c`` (die of the hottest GPU) [°C]; climates that leave no power for computing are left out.
    """
    heat, gpu = _heat_of(run), gpu_of(run)
    swing = heat.swing_k if heat.weather is None else float(np.ptp(response_of(run).hottest_day["ambient_c"])) / 2
    rows = []
    for plant in evidence.table("cooling").itertuples():
        if getattr(gpu.cooling, plant.medium) is None:
            continue
        changes: dict[str, object] = {"heat.cooling": plant.name}
        if mean_c is not None:
            changes |= {"heat.weather": None, "heat.starts": None, "heat.mean_c": mean_c, "heat.swing_k": swing}
        try:
            cooled = run.override(changes)
        except EttrError:
            continue  # leakage takes all power
        ettr, hours = _steady_ettr(cooled), response_of(cooled).hours
        rows.append(
            {
                "plant": PLANTS[str(plant.name)],
                "cooling": plant.name,
                "mean_c": float(hours["ambient_c"].mean()),
                "speed": cooled.speed,
                "rate_factor": cooled.heat_rate_factor,
                "ettr": ettr,
                "effective": ettr * cooled.speed,
                "hottest_c": float(hours["hottest_c"].max()),
            }
        )
    return pd.DataFrame(rows)


def climates(run: Scenario) -> Any:
    """Draw ETTR times speed over the outdoor temperature, one line per kind of cooling."""
    frame = by_climate(run)
    hottest_c = frame["mean_c"].max()
    at_hottest = frame.loc[frame["mean_c"] > hottest_c - 0.1, "effective"]
    tips = tooltips("plant", "mean_c", "hottest_c", "speed", "rate_factor", "ettr", "effective")
    across = alt.X("mean_c:Q", title="Mean outdoor temperature [°C]")
    by_plant = "; ".join(
        f"{name} {group['effective'].iloc[0]:.1%} at {group['mean_c'].iloc[0]:.0f} degrees, "
        f"{group['effective'].iloc[-1]:.1%} at {group['mean_c'].iloc[-1]:.0f}"
        for name, group in frame.groupby("plant", sort=False)
    )
    return finish(
        builders.lines(rounded(frame), across, builders.up("effective", zero=False), "plant", _COOLING, tips),
        title=f"At {hottest_c:.0f} °C outdoors, kinds of cooling differ by {points(float(np.ptp(at_hottest)))}"
        if len(at_hottest) > 1
        else f"From {frame['mean_c'].min():.0f} to {hottest_c:.0f} °C outdoors the run loses "
        f"{points(float(np.ptp(frame['effective'])))}",
        subtitle=run.title,
        description=f"Lines of effective throughput over the mean outdoor temperature, the axis cut: {by_plant}.",
        height=320,
    )


def by_warming(run: Scenario, warming_k: Iterable[float] = _WARMINGS_K) -> pd.DataFrame:
    """Return ETTR at the best interval when all dies run warmer or cooler than where the rates were observed.

    The warming applies to the dies, with any cooling; failures that no case activates keep their observed rate.

    Returns
    -------
    DataFrame
        ``warming_k`` [K], ``case`` of :data:`CASES`, ``rate_factor``, ``ettr``.
    """
    reference_c = float(response_of(run).reference.die_c)
    cold = {f"failures.modes.{mode.name}.heat_share": 0.0 for mode in run.failures.modes}
    observed = run.override({"heat": None, **cold})
    gpus = {mode.name: mode.factor for mode in run.failures.modes if mode.category == GPU}
    rows = []
    for case, (share, energy_ev) in CASES.items():
        for warming in warming_k:
            warm = 1 - share + share * arrhenius_factor(reference_c + warming, reference_c, energy_ev)
            moved = observed.override({f"failures.modes.{name}.factor": factor * warm for name, factor in gpus.items()})
            rate = moved.job_rate_per_h / observed.job_rate_per_h if observed.job_rate_per_h else 1.0
            rows.append({"warming_k": float(warming), "case": case, "rate_factor": rate, "ettr": _steady_ettr(moved)})
    return pd.DataFrame(rows)


def warming(run: Scenario) -> Any:
    """Draw ETTR at the best interval over the warming of all dies, one line per assumed effect on failures."""
    frame = by_warming(run)
    cost = float(np.ptp(frame.loc[frame["warming_k"] == _WARMER_K, "ettr"]))
    tips = tooltips("case", "warming_k", "rate_factor", "ettr", case="Activated by heat")
    across = alt.X("warming_k:Q", title="Warming of the dies [K]")
    up = builders.up("ettr", title="ETTR at the best interval [%]", zero=False)
    ettrs = "; ".join(
        f"{case}: {group['ettr'].iloc[0]:.1%} to {group['ettr'].iloc[-1]:.1%}"
        for case, group in frame.groupby("case", sort=False)
    )
    ends = frame["warming_k"].min(), frame["warming_k"].max()
    return finish(
        builders.lines(rounded(frame), across, up, "case", _CASE_LOOKS, tips, "Activated by heat"),
        title=f"{_WARMER_K:g} K cost between 0 and {points(cost)} of ETTR"
        if cost >= _VISIBLE
        else "In this run heat activates no failure",
        subtitle=run.title,
        description=f"Lines of ETTR over a warming of {ends[0]:+.0f} to {ends[1]:+.0f} K, the axis cut. {ettrs}.",
        height=320,
    )
