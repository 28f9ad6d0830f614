"""Tables on heat and throughput: an afternoon, the hottest GPU, and kinds of cooling."""

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
    activated_share : float
        Share of GPU failures that heat activates; modes with their own share keep it.
    energy_ev : float
        Their activation energy. [eV]

    Returns
    -------
    Scenario
        Scenario with a section on heat. Rates and speed refer to the mean inlet temperature of this plant.
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
    """Return the temperatures over the hottest day of the weather.

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
    """Return the hours of the day with the highest mean outdoor temperature, among the most complete days.

    Returns
    -------
    DataFrame
        As ``hours`` of the scenario's heat response, with ``mean_speed``: speed of the mean GPU over its speed at the
        reference conditions.
    """
    chosen = heat_response_of(run).hottest_day
    reference = heat_response_of(run).reference.clock_mhz
    return chosen.assign(mean_speed=speed(chosen["clock_mhz"].to_numpy(), reference, heat_of(run).compute_share))


def day_losses(run: Scenario) -> dict[str, float]:
    """Return throughput lost in the worst hour of the hottest day against its best: ``mean GPU`` and ``job``."""
    of_mean = hottest_day(run)["mean_speed"]
    return {
        "mean GPU": float(1 - of_mean.min() / of_mean.max()),
        "job": heat_response_of(run).afternoon_loss,
    }


def by_hand(run: Scenario) -> dict[str, float]:
    """Return the clock of a warmer die, from leakage alone.

    Returns
    -------
    dict
        ``swing_k`` (of the mean die over the hottest day) [K], ``leakage_w`` and its increase ``more_w`` [W],
        ``power_w`` (for computing) [W], ``less`` (relative loss of that power), ``clock`` and ``lost`` (relative loss
        of clock and throughput).
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
    """Return the temperature limits of the scenario's GPU.

    Returns
    -------
    DataFrame
        ``limit`` (in words), ``temperature_c`` [°C].
    """
    limits = gpu_of(run).limits
    temperatures_c = {"throttles": limits.throttle_c, "switches itself off": limits.shutdown_c}
    present_c = {name: value for name, value in temperatures_c.items() if value is not None}
    return pd.DataFrame({"limit": list(present_c), "temperature_c": list(present_c.values())})


def steady_ettr(run: Scenario) -> float:
    """Return the ETTR in the steady state at the best interval."""
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
    """Return effective throughput over the mean outdoor temperature, for the kinds of cooling with figures.

    Returns
    -------
    DataFrame
        ``cooling``, ``plant`` (its name in a sentence), ``mean_c`` (of the day) [°C], ``speed``, ``rate_factor``
        (failures of the job over those observed), ``ettr`` (at the best interval), ``effective`` (ETTR times speed),
        ``hottest_c`` (die of the hottest GPU) [°C]; climates that leave no power for computing are left out.
    """
    frames = [cooling_at(run, float(mean)) for mean in np.linspace(_COLDEST_C, _HOTTEST_C, _CLIMATES)]
    return pd.concat(frames, ignore_index=True)


def cooling_at(run: Scenario, mean_c: float | None = None) -> pd.DataFrame:
    """Return kinds of cooling in one climate, against the same observation; without a mean in the scenario's weather.

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
            cooled = run.override(changes)
        except EttrError:
            continue  # leakage takes all power
        ettr = steady_ettr(cooled)
        rows.append(
            {
                "plant": PLANTS[str(plant.name)],
                "cooling": plant.name,
                "mean_c": float(hours_of(cooled)["ambient_c"].mean()),
                "speed": cooled.speed,
                "rate_factor": cooled.heat_rate_factor,
                "ettr": ettr,
                "effective": ettr * cooled.speed,
                "hottest_c": float(hours_of(cooled)["hottest_c"].max()),
            }
        )
    return pd.DataFrame(rows)


def by_warming(run: Scenario, warming_k: Iterable[float] = range(-20, 16, 5)) -> pd.DataFrame:
    """Return ETTR at the best interval when all dies run warmer or cooler than where the rates were observed.

    The warming applies to the dies, with any cooling; failures that no case activates keep their observed rate.

    Returns
    -------
    DataFrame
        ``warming_k`` [K], ``case``, ``rate_factor``, ``ettr``. The cases: none, a quarter, half or all GPU failures
        follow Arrhenius.
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
    """Return failures of Titan's GPUs in the top cage over those in the bottom cage, by kind of failure."""
    rates = evidence.table("titan_cages").pivot_table("rate_per_1000_gpu_years", "failure", "cage", sort=False)
    return rates[rates.columns.max()] / rates[0]
