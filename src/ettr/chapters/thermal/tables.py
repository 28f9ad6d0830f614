"""Tables on heat and throughput: an afternoon, what it takes to lose a percent, and the hottest of many GPUs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr import evidence
from ettr.chapters.common.steady_state import without_start
from ettr.core.errors import EttrError, InputError, OutsideValidity
from ettr.core.validity import above_zero, plain
from ettr.plan import ettr_at_best
from ettr.scenario import Gpu, Scenario
from ettr.scenario.gpu import MEDIA
from ettr.scenario.heat import Heat
from ettr.scenario.heat_response import HeatResponse, chip_of, plant_of
from ettr.thermal import Chip, largest_of, operating_point, speed

GPU = "GPU"
"""Category of the modes whose failures heat may activate."""
GPU_MODE = "GPU hardware"
"""Name of the mode that stands for them where a scenario names none."""
_LOW_LOSS, _HIGH_LOSS = 0.01, 0.02
LARGEST_JOB = 131_072
"""Size that the pace of jobs is followed to. [GPUs]"""
_SIZES = 40
HEAT_SHARES = "heat_share", "cycle_share"
"""Fields of a mode that need heat."""
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
        With a section on heat. Rates and speed hold where the section says; of a GPU that air cannot cool, in the
        liquid that this plant delivers on a mean day.
    """
    changes: dict[str, object] = {}
    if scenario.heat is None:
        known = Gpu.load(part)
        medium = "air" if known.cooling.air else next(name for name in MEDIA if getattr(known.cooling, name))
        changes["heat"] = {"part": part, "cooling": cooling, "mean_c": mean_c, "swing_k": swing_k}
        changes["heat.reference_medium"] = medium
        if medium != "air":
            plant = plant_of(Heat.model_validate(changes["heat"]))
            changes["heat.reference_inlet_c"] = plant.inlet_c(mean_c)
    run = scenario.override(changes) if changes else scenario
    activated = {"heat_share": activated_share, "heat_energy_ev": energy_ev}
    gpus = [mode for mode in run.failures.modes if mode.category == GPU]
    if any(mode.heat_share or mode.cycle_share for mode in run.failures.modes):
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
    hours = hours_of(run)
    days = hours.groupby("day")["ambient_c"].agg(["mean", "size"])
    day = days.loc[days["size"] == days["size"].max(), "mean"].idxmax()
    chosen = hours[hours["day"] == day].reset_index(drop=True)
    reference = heat_response_of(run).reference.clock_mhz
    return chosen.assign(mean_speed=speed(chosen["clock_mhz"].to_numpy(), reference, heat_of(run).compute_share))


def pace(run: Scenario) -> pd.DataFrame:
    """Throughput over the hottest day, of the mean GPU and of the job.

    Returns
    -------
    DataFrame
        ``hour`` [h], ``whose`` (``mean GPU``, ``job``), ``speed`` (over that where rates were observed),
        ``limited_by`` (of the hottest GPU).
    """
    day = hottest_day(run)
    speeds = day[["hour", "limited_by", "mean_speed", "speed"]].rename(
        columns={"mean_speed": "mean GPU", "speed": "job"}
    )
    return speeds.melt(["hour", "limited_by"], var_name="whose", value_name="speed")


def warming_for(
    loss: float | np.ndarray,
    leakage_share: float | np.ndarray,
    rise_k: float | np.ndarray,
    exponent: float = 2.6,
    compute_share: float = 0.8,
) -> float | np.ndarray:
    r"""Warming of a die at its power limit that costs a share of throughput [K].

    Parameters
    ----------
    loss : float or ndarray
        Share of throughput.
    leakage_share : float or ndarray
        Leakage over the power limit before the warming.
    rise_k : float or ndarray
        Warming after which leakage is e times as much. [K]
    exponent, compute_share : float
        As of :class:`ettr.thermal.Chip` and :func:`ettr.thermal.speed`.

    Returns
    -------
    float or ndarray
        Broadcast shape. [K]

    Raises
    ------
    InputError
        A share outside (0, 1), or a rise that is not positive.

    Notes
    -----
    The inverse of the clock at the power limit: :math:`T_s \ln[(1 - (1 - s) r^{-k})/s]` with
    :math:`r = [1/(1 - \ell) - 1 + \beta]/\beta`.

    Examples
    --------
    >>> round(warming_for(0.0115, 90 / 700, 36.0), 1)
    8.0
    """
    kept = 1 - _part_of_one("loss", loss)
    slower = (1 / kept - 1 + compute_share) / compute_share
    share = _part_of_one("leakage_share", leakage_share)
    grown = (1 - (1 - share) * slower**-exponent) / share
    warming_k: float | np.ndarray = plain(above_zero("rise_k", rise_k, unit="K") * np.log(grown))
    return warming_k


def _part_of_one(name: str, values: float | np.ndarray) -> np.ndarray:
    shares = above_zero(name, values)
    if np.any(shares >= 1):
        raise InputError(f"{name} must be < 1, got {shares.max():g}")
    return shares


def swing_for_loss() -> pd.DataFrame:
    """Die swings that cost one to two percent of throughput, over what is not known of leakage.

    Returns
    -------
    DataFrame
        ``leakage_share`` of the power limit, ``doubling_k`` (warming that doubles leakage) [K], ``low_k`` and
        ``high_k`` (swings that cost one and two percent) [K].
    """
    shares = np.linspace(0.05, 0.25, 30)
    grid = pd.MultiIndex.from_product([(10.0, 15.0, 25.0), shares], names=["doubling_k", "leakage_share"])
    grid = grid.to_frame(index=False)
    swings = [
        warming_for(loss, grid["leakage_share"].to_numpy(), grid["doubling_k"].to_numpy() / math.log(2))
        for loss in (_LOW_LOSS, _HIGH_LOSS)
    ]
    return grid.assign(low_k=swings[0], high_k=swings[1])


def swing_here(run: Scenario) -> pd.DataFrame:
    """Leakage of the scenario's GPU, and how far its die swings over the hottest day.

    Returns
    -------
    DataFrame
        One row: ``leakage_share`` of the power where rates were observed, ``doubling_k`` (warming that doubles
        leakage) [K], ``swing_k`` (of the mean GPU's die) [K], ``low_k`` and ``high_k`` (swings that cost this GPU one
        and two percent) [K], infinite without leakage.
    """
    heat, reference = heat_of(run), heat_response_of(run).reference
    gpu = gpu_of(run)
    share, rise_k = reference.leakage_w / reference.power_w, gpu.leakage.rise_k

    def costing(loss: float) -> float:
        if share == 0 or heat.compute_share == 0:
            return math.inf
        return float(warming_for(loss, share, rise_k, gpu.clock.exponent, heat.compute_share))

    return pd.DataFrame(
        {
            "leakage_share": [share],
            "doubling_k": [rise_k * math.log(2)],
            "swing_k": [float(np.ptp(hottest_day(run)["die_c"]))],
            "low_k": [costing(_LOW_LOSS)],
            "high_k": [costing(_HIGH_LOSS)],
        }
    )


@dataclass(frozen=True)
class ObservedSwing:
    """Throughput that Llama 3 lost at midday.

    Attributes
    ----------
    low_pct, high_pct : float
        Ends of the range. [%]
    """

    low_pct: float
    high_pct: float


def observed_swing() -> ObservedSwing:
    """The loss at midday that is published of Llama 3.

    Examples
    --------
    >>> observed_swing()
    ObservedSwing(low_pct=1.0, high_pct=2.0)
    """
    return ObservedSwing(*(evidence.figure(f"llama3_throughput_swing_{end}_pct").value for end in ("low", "high")))


def plant_limits(run: Scenario, day: pd.DataFrame) -> list[str]:
    """Limits of the scenario's plant that a day of weather reaches, in words; ``day`` as from :func:`hottest_day`."""
    plant = plant_of(heat_of(run))
    supplied_c = day["ambient_c"] + plant.approach_k
    reached = {
        "the plant delivers nothing below its set point": supplied_c.min() < plant.least_c,
        "its chiller nothing above": supplied_c.max() > plant.most_c,
    }
    return [words for words, there in reached.items() if there]


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


def pace_by_size(run: Scenario) -> pd.DataFrame:
    """Speed of a synchronous job over its size, at the mean and at the hottest hour of the weather.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``when`` (``mean hour``, ``hottest hour``), ``inlet_c`` [°C], ``hottest_c`` (die of the
        hottest GPU) [°C], ``speed`` (of the job over that of one mean GPU where rates were observed), ``limited_by``.
        It ends below the sizes whose hottest GPU has no power left to compute with at the hottest hour.
    """
    heat, hours = heat_of(run), hours_of(run)
    gpu = gpu_of(run)
    cooling = gpu.cooled_by(plant_of(heat).medium)
    chip, reference = chip_of(gpu, cooling, heat.limit_w), heat_response_of(run).reference.clock_mhz
    n_gpus = np.unique(np.round(np.geomspace(1, LARGEST_JOB, _SIZES)))
    factor = 1 + cooling.spread * np.asarray(largest_of(n_gpus))
    computing = np.array([_computes(float(hours["inlet_c"].max()), chip, float(one)) for one in factor])
    n_gpus, factor = n_gpus[computing], factor[computing]
    frames = []
    for when, inlet in (("mean hour", hours["inlet_c"].mean()), ("hottest hour", hours["inlet_c"].max())):
        point = operating_point(float(inlet), chip, factor)
        frames.append(
            pd.DataFrame(
                {
                    "n_gpus": n_gpus,
                    "when": when,
                    "inlet_c": float(inlet),
                    "hottest_c": point.die_c,
                    "speed": speed(point.clock_mhz, reference, heat.compute_share),
                    "limited_by": point.limited_by,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def _computes(inlet_c: float, chip: Chip, resistance_factor: float) -> bool:
    try:
        operating_point(inlet_c, chip, resistance_factor)
    except OutsideValidity:
        return False
    return True


def steady_ettr(run: Scenario) -> float:
    """ETTR in the steady state at the best interval."""
    return float(ettr_at_best(without_start(run)))


def gpu_of(run: Scenario) -> Gpu:
    return Gpu.load(heat_of(run).part)


def heat_of(run: Scenario) -> Heat:
    if run.heat is None:
        raise InputError(f"{run.name} has no section on heat: see ettr.chapters.thermal.tables.warmed")
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

    The scenario's own kind keeps what the scenario says of its inlet, the others are as in the table.

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
        changes: dict[str, object] = {}
        if plant.name != heat.cooling:
            changes = {"heat.cooling": plant.name, "heat.approach_k": None, "heat.least_c": None, "heat.most_c": None}
        if mean_c is not None:
            changes |= {"heat.weather": None, "heat.starts": None, "heat.zone_h": None}
            changes |= {"heat.mean_c": mean_c, "heat.swing_k": swing}
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
