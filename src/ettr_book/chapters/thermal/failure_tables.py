"""Tables on failures and heat: beliefs, and Titan's cages."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ettr import evidence
from ettr.failures import poisson_interval
from ettr.scenario import Scenario
from ettr.thermal import arrhenius_factor
from ettr_book.chapters.thermal.tables import GPU, heat_response_of, steady_ettr


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
