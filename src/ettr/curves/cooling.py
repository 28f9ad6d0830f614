"""Tables on cooling: one run in halls of every kind, and the figures of the parts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr import evidence
from ettr.curves.heat import heat_of, hottest_day, hours_of, steady_ettr
from ettr.errors import EttrError
from ettr.scenario import Part, Scenario

_COLDEST_C, _HOTTEST_C, _CLIMATES = 0.0, 40.0, 17


def by_climate(run: Scenario) -> pd.DataFrame:
    """Effective throughput over the mean outdoor temperature, for the kinds of cooling that the part has figures for.

    Returns
    -------
    DataFrame
        ``cooling``, ``title``, ``mean_c`` (of the day) [°C], ``speed``, ``rate_factor`` (failures of the job over those
        observed), ``ettr`` (at the best interval), ``effective`` (ETTR times speed), ``hottest_c`` (die of the hottest
        part) [°C], ``pue``; climates in which no power is left to compute with are left out.
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
    part = Part.load(heat.part)
    swing = heat.swing_k if heat.weather is None else float(np.ptp(hottest_day(run)["ambient_c"])) / 2
    rows = []
    for plant in table.itertuples():
        if getattr(part.cooling, plant.medium) is None:
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
                "cooling": plant.name,
                "title": plant.title,
                "mean_c": float(hours_of(hall)["ambient_c"].mean()),
                "speed": hall.speed,
                "rate_factor": hall.heat_rate_factor,
                "ettr": ettr,
                "effective": ettr * hall.speed,
                "hottest_c": float(hours_of(hall)["hottest_c"].max()),
                "pue": plant.pue,
            }
        )
    return pd.DataFrame(rows)


def part_figures() -> pd.DataFrame:
    """Every figure of the parts that are known by name.

    Returns
    -------
    DataFrame
        ``part``, and the columns of :meth:`ettr.Part.to_frame`.
    """
    return pd.concat(
        [Part.load(name).to_frame().assign(part=name) for name in evidence.part_names()], ignore_index=True
    )
