"""Effect of heat on a job, for each hour of its weather."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ettr import evidence
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.sentences import duration
from ettr.core.units import H_PER_DAY
from ettr.core.validity import AIR_C
from ettr.files import weather
from ettr.scenario.gpu import Cooling, Gpu
from ettr.scenario.loader import stamp
from ettr.thermal import (
    Chip,
    OperatingPoint,
    arrhenius_factor,
    daily_c,
    inlet_c,
    largest_of,
    operating_point,
    speed,
)

if TYPE_CHECKING:
    import pandas as pd

    from ettr.scenario.failures import Mode
    from ettr.scenario.heat import Heat

_COVERED = 0.95
"""Share of the run that a weather file must cover to be used without a caution; eleven months of a year are less."""


@dataclass(frozen=True)
class Plant:
    """A type of cooling plant: its medium and supply temperature.

    Attributes
    ----------
    name, medium : str
        Row of the cooling table, and the cooling medium.
    approach_k : float
        Inlet temperature minus outdoor temperature. [K]
    least_c, most_c : float
        Set point, and the maximum that a chiller holds; infinite without one. [°C]
    pue : float
        Facility power over IT power.
    """

    name: str
    medium: str
    approach_k: float
    least_c: float
    most_c: float
    pue: float

    def inlet_c(self, ambient_c: Any) -> Any:
        """Return the temperature of air or liquid at the GPU inlet, by outdoor temperature. [°C]"""
        return inlet_c(ambient_c, self.approach_k, self.least_c, self.most_c)


@dataclass(frozen=True, eq=False)
class HeatResponse:
    """Temperatures, clocks and training speed over the hours of the weather.

    Attributes
    ----------
    hours : DataFrame
        A row an hour: ``hour`` of the day [h], ``day``, ``ambient_c``, ``inlet_c``, ``die_c`` of the mean GPU,
        ``hottest_c`` (die of the hottest of all GPUs), ``power_w`` and ``clock_mhz`` of the mean GPU, ``limited_by``
        (what holds the hottest GPU back), ``speed`` (of the job, over full speed).
    reference : OperatingPoint
        The mean GPU where failure rates and full speed were observed.
    notes : tuple of str
        Assumptions about a weather file, and its records that were left out.
    """

    hours: pd.DataFrame
    reference: OperatingPoint
    notes: tuple[str, ...] = ()

    @functools.cached_property
    def speed(self) -> float:
        """Mean throughput over the hours, relative to full speed."""
        return float(self.hours["speed"].mean())

    @functools.cached_property
    def hottest_day(self) -> pd.DataFrame:
        """Hours of the day with the highest mean outdoor temperature, among the most complete days."""
        days = self.hours.groupby("day")["ambient_c"].agg(["mean", "size"])
        day = days.loc[days["size"] == days["size"].max(), "mean"].idxmax()
        return self.hours[self.hours["day"] == day].reset_index(drop=True)

    @property
    def afternoon_loss(self) -> float:
        """Throughput lost in the worst hour of the hottest day, relative to the best hour of the job."""
        speeds = self.hottest_day["speed"]
        return float(1 - speeds.min() / speeds.max())

    def factor(self, mode: Mode) -> float:
        """Return the failure rate of a mode relative to where it was observed, mean of the hours."""
        return _mean_factor(self, mode) if mode.heat_share else 1.0


@functools.lru_cache(maxsize=1024)
def _mean_factor(response: HeatResponse, mode: Mode) -> float:
    die_c, reference_c = response.hours["die_c"].to_numpy(), float(response.reference.die_c)
    activated = float(np.mean(arrhenius_factor(die_c, reference_c, mode.heat_energy_ev)))
    return mode.heat_share * activated + 1 - mode.heat_share


def plant_of(heat: Heat) -> Plant:
    """Return the cooling plant of a heat section: a row of the cooling table."""
    table = evidence.table("cooling").set_index("name")
    row = table.loc[heat.cooling]

    def figure(name: str, without: float) -> float:
        return without if math.isnan(row[name]) else float(row[name])

    return Plant(
        name=heat.cooling,
        medium=str(row["medium"]),
        approach_k=figure("approach_k", 0.0),
        least_c=figure("least_c", -math.inf),
        most_c=figure("most_c", math.inf),
        pue=float(row["pue"]),
    )


def chip_of(gpu: Gpu, cooling: Cooling, limit_w: float | None = None) -> Chip:
    """Return a GPU as plain numbers, with one cooling method and possibly a lower power limit.

    Raises
    ------
    InputError
        A power limit over the GPU's own, or under the lowest that it takes.
    """
    limits = gpu.limits
    chip = Chip(
        limit_w=limits.power_w,
        throttle_c=limits.throttle_c,
        memory_c=math.inf if limits.memory_c is None else limits.memory_c,
        resistance_k_per_w=cooling.resistance_k_per_w,
        memory_resistance_k_per_w=cooling.memory_resistance_k_per_w or 0.0,
        highest_mhz=gpu.clock.highest_mhz,
        sustained_mhz=gpu.clock.sustained_mhz,
        exponent=gpu.clock.exponent,
        leakage_w=gpu.leakage.power_w,
        leakage_at_c=gpu.leakage.at_c,
        leakage_rise_k=gpu.leakage.rise_k,
    )
    return chip if limit_w is None else capped(chip, limit_w, gpu)


def capped(chip: Chip, limit_w: float, gpu: Gpu) -> Chip:
    """Return the chip at a lower power limit; its clock follows from that at the old limit."""
    least = gpu.limits.least_power_w or 0.0
    if not least <= limit_w <= chip.limit_w or limit_w <= chip.leakage_w:
        least = max(least, chip.leakage_w)
        raise InputError(f"heat.limit_w must be from {least:g} to {chip.limit_w:g} W for {gpu.name}, got {limit_w:g}")
    ratio = (limit_w - chip.leakage_w) / (chip.limit_w - chip.leakage_w)
    return replace(chip, limit_w=limit_w, sustained_mhz=chip.sustained_mhz * ratio ** (1 / chip.exponent))


def heat_response(heat: Heat, n_gpus: int, work_h: float) -> HeatResponse:
    """Return the heat response over the hours of a job on ``n_gpus`` GPUs.

    Parameters
    ----------
    heat : Heat
        The section.
    n_gpus : int
        GPUs of the job: the hottest of them sets the pace.
    work_h : float
        Hours of training; whole days from ``heat.starts`` are taken. [h]

    Raises
    ------
    InputError
        A GPU or weather file that cannot be read, a way of cooling that the GPU has no figures for, or an inlet so
        warm that no power is left to compute with.
    """
    hours = work_h if heat.weather else 0.0  # each day is alike without
    return _heat_response(heat, n_gpus, hours, stamp(heat.part), stamp(heat.weather or ""))


@functools.lru_cache(maxsize=64)
def _heat_response(heat: Heat, n_gpus: int, work_h: float, *_stamps: tuple[int, int]) -> HeatResponse:
    import pandas as pd

    gpu, plant = Gpu.load(heat.part), plant_of(heat)
    now, then = _cooling_of(gpu, plant.medium), gpu.cooled_by(gpu.usual_medium)
    chip, observed = chip_of(gpu, now, heat.limit_w), chip_of(gpu, then)
    extreme = float(largest_of(n_gpus))
    hours = _weather_of(heat, work_h)
    inlet = np.asarray(plant.inlet_c(hours["ambient_c"].to_numpy()))
    _refuse_no_power(float(inlet.max()), chip, 1 + now.spread * extreme, gpu)
    mean, hottest = operating_point(inlet, chip), operating_point(inlet, chip, 1 + now.spread * extreme)
    _refuse_no_power(heat.reference_inlet_c, observed, 1 + then.spread * extreme, gpu, "heat.reference_inlet_c")
    reference = operating_point(heat.reference_inlet_c, observed)
    full = operating_point(heat.reference_inlet_c, observed, 1 + then.spread * extreme)
    table = pd.DataFrame(
        {
            "hour": hours["hour"],
            "day": hours["day"],
            "ambient_c": hours["ambient_c"],
            "inlet_c": inlet,
            "die_c": mean.die_c,
            "hottest_c": hottest.die_c,
            "power_w": mean.power_w,
            "clock_mhz": mean.clock_mhz,
            "limited_by": hottest.limited_by,
            "speed": speed(hottest.clock_mhz, full.clock_mhz, heat.compute_share),
        }
    )
    return HeatResponse(
        hours=table,
        reference=reference,
        notes=_notes_of(heat, work_h),
    )


def _cooling_of(gpu: Gpu, medium: str) -> Cooling:
    try:
        return gpu.cooled_by(medium)
    except InputError as error:
        raise InputError(f"heat.cooling: {error}") from error


def _refuse_no_power(
    hottest_inlet_c: float, chip: Chip, factor: float, gpu: Gpu, place: str = "heat: an inlet"
) -> None:
    """Raise if the hottest GPU could not compute in the hottest hour, so that the job would stand still."""
    try:
        operating_point(hottest_inlet_c, chip, factor)
    except OutsideValidity as error:
        raise InputError(
            f"{place} of {hottest_inlet_c:.1f} °C leaves the hottest {gpu.name} no power to compute with"
        ) from error


def _weather_of(heat: Heat, work_h: float) -> pd.DataFrame:
    """Return the hours of the day with their outdoor temperature."""
    import pandas as pd

    if heat.weather is not None:
        return _read(heat.weather).window(heat.starts, math.ceil(work_h / H_PER_DAY))
    hour = np.arange(int(H_PER_DAY)) + 0.5
    mean = 0.0 if heat.mean_c is None else heat.mean_c
    for end in (mean - heat.swing_k, mean + heat.swing_k):
        if not AIR_C[0] <= end <= AIR_C[1]:
            raise InputError(
                f"heat.mean_c and heat.swing_k must keep the day from {AIR_C[0]:g} to {AIR_C[1]:g} °C, got {end:g}"
            )
    return pd.DataFrame({"hour": hour, "day": 0, "ambient_c": daily_c(hour, mean, heat.swing_k)})


def _notes_of(heat: Heat, work_h: float) -> tuple[str, ...]:
    if heat.weather is None:
        return ()
    source = _read(heat.weather)
    notes = [f"{row.n:,} of its records are {row.action}, {row.reason}" for row in source.ledger.itertuples()]
    if work_h > weather.HOURS:
        notes.append("the run is longer than a year, and the one year stands for all of it")
    return (*source.notes, *notes)


def weather_cautions(heat: Heat | None, work_h: float) -> tuple[str, ...]:
    """Return a caution if all hours of a weather file stand for a run of which it covers too little."""
    if heat is None or heat.weather is None or heat.starts is not None:  # with starts, it must cover the run
        return ()
    source = _read(heat.weather)
    n_hours = int(np.isfinite(source.ambient_c).sum())
    if n_hours >= _COVERED * min(work_h, weather.HOURS):
        return ()
    return (
        f"Caution: {source.source} has weather for {n_hours:,} of the {weather.HOURS:,} hours of a year "
        f"({source.covers}), and the run trains for {duration(work_h)}: the rest of the run is assumed to have the "
        "same weather. Use a file that covers the run, with its first day as heat.starts.",
    )


def _read(path: str) -> weather.Weather:
    return _read_once(path, stamp(path))


@functools.lru_cache(maxsize=16)
def _read_once(path: str, _stamp: tuple[int, int]) -> weather.Weather:
    return weather.read(path)
