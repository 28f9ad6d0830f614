"""Tables on failures and heat: laws, beliefs, Titan's cages, and how far a stop cools the dies."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ettr import evidence
from ettr.chapters.thermal.tables import GPU, HEAT_SHARES, gpu_of, heat_of, heat_response_of, hours_of, steady_ettr
from ettr.core.errors import OutsideValidity
from ettr.core.temperatures import MACHINE_C
from ettr.failures import poisson_interval
from ettr.scenario import Scenario
from ettr.scenario.gpu import MEDIA
from ettr.scenario.heat_response import chip_of
from ettr.thermal import arrhenius_factor, die_after_c, linear_factor, operating_point

LAWS_EV = (0.3, 0.7, 1.2)
"""Activation energies that are compared. [eV]"""
_LINEAR_PER_K = 0.02


def laws(reference_c: float, energies_ev: Iterable[float] = LAWS_EV) -> pd.DataFrame:
    """Failure rate over the die temperature by each law that is in use, over that at the reference.

    Returns
    -------
    DataFrame
        ``die_c`` [°C], ``law``, ``factor``.
    """
    die = np.linspace(max(reference_c - 25, MACHINE_C[0]), min(reference_c + 20, MACHINE_C[1]), 46)
    frames = [
        pd.DataFrame(
            {"die_c": die, "law": f"Arrhenius, {energy:g} eV", "factor": arrhenius_factor(die, reference_c, energy)}
        )
        for energy in energies_ev
    ]
    frames.append(
        pd.DataFrame(
            {
                "die_c": die,
                "law": f"linear, {_LINEAR_PER_K:.0%} per kelvin",
                "factor": linear_factor(die, reference_c, _LINEAR_PER_K),
            }
        )
    )
    frames.append(pd.DataFrame({"die_c": die, "law": "no effect", "factor": 1.0}))
    return pd.concat(frames, ignore_index=True)


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
    cold = {f"failures.modes.{mode.name}.{share}": 0.0 for mode in run.failures.modes for share in HEAT_SHARES}
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


def titan_cages() -> pd.DataFrame:
    """Failures of Titan's GPUs by cage, with exact intervals of their counts.

    Returns
    -------
    DataFrame
        ``cage``, ``failure``, ``rate``, ``low``, ``high`` (95%) [failures per 1000 GPU-years], ``ratio`` (over the
        lowest cage).
    """
    table = evidence.table("titan_cages")
    counts = (table["rate_per_1000_gpu_years"] * table["gpu_years"] / 1000).round()
    low, high = poisson_interval(counts.to_numpy())
    rate = table["rate_per_1000_gpu_years"]
    lowest = table[table["cage"] == 0].set_index("failure")["rate_per_1000_gpu_years"]
    return pd.DataFrame(
        {
            "cage": table["cage"],
            "failure": table["failure"],
            "rate": rate,
            "low": 1000 * np.asarray(low) / table["gpu_years"],
            "high": 1000 * np.asarray(high) / table["gpu_years"],
            "ratio": rate / table["failure"].map(lowest),
        }
    )


def stop_and_restart(run: Scenario, n_points: int = 181) -> pd.DataFrame:
    """Die temperature of the mean GPU around a failure: at work, stopped for the mean recovery, and at work again.

    Returns
    -------
    DataFrame
        ``time_min`` since the failure [min], ``medium``, ``die_c`` [°C], for every way of cooling that the GPU has
        figures for and that lets it compute at the mean inlet of the scenario.
    """
    gpu, recovery_min = gpu_of(run), max(run.recovery_h * 60, 1.0)
    inlet = float(hours_of(run)["inlet_c"].mean())
    time_min = np.linspace(-0.25 * recovery_min, 2.5 * recovery_min, n_points)
    frames = []
    for medium in MEDIA:
        cooling = getattr(gpu.cooling, medium)
        if cooling is None:
            continue
        try:
            busy = operating_point(inlet, chip_of(gpu, cooling, heat_of(run).limit_w))
        except OutsideValidity:
            continue  # no power is left to compute with
        stopped_w = min(gpu.levels.restart_w, busy.power_w)
        constants = cooling.resistance_k_per_w, cooling.tau_s
        down = die_after_c(np.clip(time_min, 0, recovery_min) * 60, busy.die_c, inlet, stopped_w, *constants)
        coldest = down[-1]
        up = die_after_c(np.maximum(time_min - recovery_min, 0) * 60, coldest, inlet, busy.power_w, *constants)
        frames.append(
            pd.DataFrame({"time_min": time_min, "medium": medium, "die_c": np.where(time_min > recovery_min, up, down)})
        )
    return pd.concat(frames, ignore_index=True)
