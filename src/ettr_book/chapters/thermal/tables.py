"""Tables on heat and throughput: an afternoon, what waiting for the hottest GPU costs, and kinds of cooling."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from ettr import evidence
from ettr.core.errors import EttrError, InputError
from ettr.plan import ettr_at_best
from ettr.scenario import Gpu, Scenario
from ettr.scenario.heat import Heat
from ettr.scenario.heat_response import HeatResponse
from ettr.thermal import arrhenius_factor, speed
from ettr_book.chapters.common.steady_state import without_start

GPU = "GPU"
"""Category of the modes whose failures heat may activate."""
GPU_MODE = "GPU hardware"
"""Name of the mode that stands for them where a scenario names none."""
PLANTS = {
    "air_economiser": "outdoor air",
    "chiller": "chilled air",
    "cold_plate": "cold plates",
    "immersion": "immersion",
}
"""Kinds of cooling as sentences call them."""


def warmed(
    scenario: Scenario,
    part: str = "h100",
    cooling: str = "air_economiser",
    mean_c: float = 20.0,
    swing_k: float = 6.0,
    activated_share: float = 0.5,
    energy_ev: float = 0.7,
) -> Scenario:
    """A scenario in a hall, and with failures of GPUs that heat activates; its own section on heat stays as it is.

    Parameters
    ----------
    scenario : Scenario
        The run. Where it names no modes of category GPU, one is added with the share that they have in Llama 3's table.
    part, cooling : str
        GPU, and kind of plant.
    mean_c, swing_k : float
        Outdoor temperature: mean of the day, and from there to the hottest hour. [°C], [K]
    activated_share : float
        Share of the GPUs' failures that heat activates; modes that state one keep theirs.
    energy_ev : float
        Their activation energy. [eV]

    Returns
    -------
    Scenario
        With a section on heat. Rates and speed are taken as observed at the mean inlet of this plant.
    """
    changes: dict[str, object] = {}
    if scenario.heat is None:
        changes["heat"] = {"part": part, "cooling": cooling, "mean_c": mean_c, "swing_k": swing_k}
        mean_inlet_c = float(hours_of(scenario.override(changes))["inlet_c"].mean())
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


def afternoon(run: Scenario) -> pd.DataFrame:
    """Temperatures over the hottest day of the weather.

    Returns
    -------
    DataFrame
        ``hour`` of the day [h], ``what`` (``outdoors``, ``inlet``, ``die, mean GPU``, ``die, hottest GPU``),
        ``temperature_c`` [°C].
    """
    day = hottest_day(run)
    columns = {"ambient_c": "outdoors", "inlet_c": "inlet", "die_c": "die, mean GPU", "hottest_c": "die, hottest GPU"}
    return day.rename(columns=columns).melt("hour", [*columns.values()], "what", "temperature_c")


def hottest_day(run: Scenario) -> pd.DataFrame:
    """The hours of the day with the hottest mean outdoors, of the days of which the most hours are known.

    Returns
    -------
    DataFrame
        As ``hours`` of the scenario's response to heat, with ``mean_speed``, that of the mean GPU over its speed where
        rates were observed.
    """
    chosen = heat_response_of(run).hottest_day
    reference = heat_response_of(run).reference.clock_mhz
    return chosen.assign(mean_speed=speed(chosen["clock_mhz"].to_numpy(), reference, heat_of(run).compute_share))


def day_losses(run: Scenario) -> dict[str, float]:
    """Share of the best hour's throughput that the worst hour of the hottest day lacks: ``mean GPU`` and ``job``."""
    of_mean = hottest_day(run)["mean_speed"]
    return {
        "mean GPU": float(1 - of_mean.min() / of_mean.max()),
        "job": heat_response_of(run).afternoon_loss,
    }


def by_hand(run: Scenario) -> dict[str, float]:
    """What a warmer die leaves of the clock, by leakage alone.

    Returns
    -------
    dict
        ``swing_k`` (of the mean die over the hottest day) [K], ``leakage_w`` before and ``more_w`` after it [W],
        ``power_w`` (limit) [W], ``less`` (share of the power that is left for computing), ``clock`` and ``lost``
        (throughput), as shares.
    """
    heat, reference, gpu = heat_of(run), heat_response_of(run).reference, gpu_of(run)
    swing_k = float(np.ptp(hottest_day(run)["die_c"]))
    more_w = float(reference.leakage_w) * (math.exp(swing_k / gpu.leakage.rise_k) - 1)
    dynamic_w = float(reference.power_w - reference.leakage_w)
    clock = (more_w / dynamic_w) / gpu.clock.exponent
    return {
        "swing_k": swing_k,
        "leakage_w": float(reference.leakage_w),
        "more_w": more_w,
        "power_w": dynamic_w,
        "less": more_w / dynamic_w,
        "exponent": gpu.clock.exponent,
        "clock": clock,
        "compute_share": heat.compute_share,
        "lost": clock * heat.compute_share,
    }


def limits_of(run: Scenario) -> pd.DataFrame:
    """Temperatures that the scenario's GPU keeps within.

    Returns
    -------
    DataFrame
        ``limit`` (in words), ``temperature_c`` [°C].
    """
    limits = gpu_of(run).limits
    known = {"throttles": limits.throttle_c, "switches itself off": limits.shutdown_c}
    there = {name: value for name, value in known.items() if value is not None}
    return pd.DataFrame({"limit": list(there), "temperature_c": list(there.values())})


def steady_ettr(run: Scenario) -> float:
    """ETTR in the steady state at the best interval."""
    return float(ettr_at_best(without_start(run)))


def gpu_of(run: Scenario) -> Gpu:
    return Gpu.load(heat_of(run).part)


def heat_of(run: Scenario) -> Heat:
    if run.heat is None:
        raise InputError(f"{run.name} has no section on heat: see ettr_book.chapters.thermal.tables.warmed")
    return run.heat


def heat_response_of(run: Scenario) -> HeatResponse:
    heat_of(run)
    assert run.heat_response is not None
    return run.heat_response


def hours_of(run: Scenario) -> pd.DataFrame:
    return heat_response_of(run).hours


_COLDEST_C, _HOTTEST_C, _CLIMATES = 0.0, 40.0, 17


def by_climate(run: Scenario) -> pd.DataFrame:
    """Effective throughput over the mean outdoor temperature, for the kinds of cooling that the GPU has figures for.

    Returns
    -------
    DataFrame
        ``cooling``, ``plant`` (its name in a sentence), ``mean_c`` (of the day) [°C], ``speed``, ``rate_factor``
        (failures of the job over those observed), ``ettr`` (at the best interval), ``effective`` (ETTR times speed),
        ``hottest_c`` (die of the hottest GPU) [°C]; climates in which no power is left to compute with are left out.
    """
    frames = [cooling_at(run, float(mean)) for mean in np.linspace(_COLDEST_C, _HOTTEST_C, _CLIMATES)]
    return pd.concat(frames, ignore_index=True)


def cooling_at(run: Scenario, mean_c: float | None = None) -> pd.DataFrame:
    """Kinds of cooling in one climate, against the same observation; the scenario's own weather without a mean.

    Returns
    -------
    DataFrame
        As from :func:`by_climate`.
    """
    heat, table = heat_of(run), evidence.table("cooling")
    gpu = gpu_of(run)
    swing = heat.swing_k if heat.weather is None else float(np.ptp(hottest_day(run)["ambient_c"])) / 2
    rows = []
    for plant in table.itertuples():
        if getattr(gpu.cooling, plant.medium) is None:
            continue
        changes: dict[str, object] = {"heat.cooling": plant.name}
        if mean_c is not None:
            changes |= {"heat.weather": None, "heat.starts": None, "heat.mean_c": mean_c, "heat.swing_k": swing}
        try:
            hall = run.override(changes)
        except EttrError:
            continue  # no power is left to compute with
        ettr = steady_ettr(hall)
        rows.append(
            {
                "plant": PLANTS[str(plant.name)],
                "cooling": plant.name,
                "mean_c": float(hours_of(hall)["ambient_c"].mean()),
                "speed": hall.speed,
                "rate_factor": hall.heat_rate_factor,
                "ettr": ettr,
                "effective": ettr * hall.speed,
                "hottest_c": float(hours_of(hall)["hottest_c"].max()),
            }
        )
    return pd.DataFrame(rows)


def by_warming(run: Scenario, warming_k: Iterable[float] = range(-20, 16, 5)) -> pd.DataFrame:
    """ETTR at the best interval when all dies run warmer or cooler than where the rates were observed.

    Whatever cools them: the warming is that of the dies, and failures that no case activates stay as observed.

    Returns
    -------
    DataFrame
        ``warming_k`` [K], ``case``, ``rate_factor``, ``ettr``. The cases: a quarter, half or all of the GPUs' failures,
        by Arrhenius.
    """
    reference_c = float(heat_response_of(run).reference.die_c)
    cold = {f"failures.modes.{mode.name}.heat_share": 0.0 for mode in run.failures.modes}
    observed = run.override({"heat": None, **cold})
    gpus = {mode.name: mode.factor for mode in run.failures.modes if mode.category == GPU}
    cases = {"none is activated": (0.0, 0.7), "25% at 0.3 eV": (0.25, 0.3)}
    cases |= {"50% at 0.7 eV": (0.5, 0.7), "all at 1.2 eV": (1.0, 1.2)}
    rows = []
    for case, (share, energy_ev) in cases.items():
        for warming in warming_k:
            warm = 1 - share + share * arrhenius_factor(reference_c + warming, reference_c, energy_ev)
            moved = observed.override({f"failures.modes.{name}.factor": factor * warm for name, factor in gpus.items()})
            rate = moved.job_rate_per_h / observed.job_rate_per_h if observed.job_rate_per_h else 1.0
            rows.append({"warming_k": float(warming), "case": case, "rate_factor": rate, "ettr": steady_ettr(moved)})
    return pd.DataFrame(rows)


def titan_ratios() -> pd.Series:
    """Failures of Titan's GPUs in the top cage over those in the bottom cage, by kind of failure."""
    rates = evidence.table("titan_cages").pivot_table("rate_per_1000_gpu_years", "failure", "cage", sort=False)
    return rates[rates.columns.max()] / rates[0]
