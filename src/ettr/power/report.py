"""Power of a simulated run: measures at the grid, the bill, and the check against a specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import duration, megawatts, number
from ettr.power.bills import bill
from ettr.power.binning import series
from ettr.power.limits import BAND, UNKNOWN, check
from ettr.power.measures import Metrics, metrics
from ettr.power.profiles import Profile
from ettr.scenario import Scenario

_LONGEST_H = 90 * 24.0
"""Longest series that is measured; of a longer run the first 90 days. [h]"""
_BILL = {
    "hours": "hours",
    "facility_mwh": "MWh",
    "electricity_usd": "electricity, USD",
    "gpu_usd": "GPUs, USD",
    "t_co2": "t CO2",
}
_PARTS = {
    "checkpoint": "checkpoint stalls",
    "rework": "lost work (recomputed)",
    "detection": "failure detection",
    "restart": "restarts",
}
"""Names of the parts on the screen, where they differ from the data."""


@dataclass(frozen=True, repr=False)
class Drawn(Answer):
    """Power of a simulated run.

    Attributes
    ----------
    run : Scenario
        Scenario of the job.
    seed : int
        Seed of the simulation.
    profile : Profile
        Power by state.
    timeline : DataFrame
        Timeline of the run.
    measured : Metrics
        Measures at the grid, in bins of a second.
    measured_h : float
        Length of the measured series. [h]
    bill : DataFrame
        Energy and cost of the complete run by part.
    limits : DataFrame or None
        Check against a specification, if there is one.
    """

    run: Scenario
    seed: int
    profile: Profile
    timeline: pd.DataFrame
    measured: Metrics
    measured_h: float
    bill: pd.DataFrame
    limits: pd.DataFrame | None

    @property
    def headline(self) -> str:
        """Mean and swing of the run's power."""
        return f"{self.run.name}: {self.measured.headline}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None for measures that the series does not resolve."""
        record = {
            "scenario": self.run.name,
            "n_gpus": self.run.cluster.n_gpus,
            "part": self.profile.title,
            "seed": self.seed,
            "measured_h": self.measured_h,
            "metrics": self.measured.to_dict(),
            "notes": self.measured.notes,
            "incoherent_mw": self.profile.incoherent_mw,
            "bill": self.bill,
            "limits": [] if self.limits is None else self.limits,
        }
        return dict(plain_values(record))

    def report(self) -> Report:
        """Return the report: mean power, swings and ramps, the bill, and the check of the limits."""
        table, *unknown = self.measured.report()
        checked: Report = []
        if self.limits is not None:
            checked = [Headline("Limits of the specification"), _limits_table(self.limits)]
        return [
            Headline(self.run.title),
            *map(Note, self.run.cautions),
            Note(
                f"{self.profile.n_gpus:,} x {self.profile.title}, one simulated run (seed {self.seed}): mean "
                f"{megawatts(self.measured.mean_mw)} at the grid over {duration(self.measured_h)}."
            ),
            table,
            Headline(f"Energy and cost of {'the run' if self.run.ends else 'a year (the job has no end)'}"),
            _bill_table(self.bill),
            *checked,
            *unknown,
            Note("Power levels and prices missing from the scenario are assumed; see the chapter on power.", dim=True),
        ]


def drawn(run: Scenario, seed: int, profile: Profile, timeline: pd.DataFrame, rules: pd.DataFrame | None) -> Drawn:
    """Return the power of a simulated run: measures at the grid, bill, and check of the limits.

    Parameters
    ----------
    run : Scenario
        Scenario of the job.
    seed : int
        Seed of the simulation.
    profile : Profile
        Power by state, as from :func:`ettr.power.profile`.
    timeline : DataFrame
        Timeline of the run, as from :func:`ettr.simulate`.
    rules : DataFrame or None
        Rules as from :func:`ettr.power.specification`.

    Examples
    --------
    >>> from ettr import power
    >>> run = Scenario.load("llama3-405b")
    >>> day = pd.DataFrame({"start_h": [0.0, 20.0], "end_h": [20.0, 24.0], "state": ["training", "restart"]})
    >>> power.drawn(run, 0, power.profile(run), day, None).headline
    'llama3-405b: 16.4 MW on average, swings by 8.88 MW'
    """
    end_h = min(float(timeline["end_h"].iloc[-1]), _LONGEST_H)
    at_grid = series(timeline, profile, 1.0, 0.0, end_h)
    limits = None
    if rules is not None:
        in_band = rules["metric"] == BAND
        verdicts = [check(at_grid, rules[~in_band])] if (~in_band).any() else []
        verdicts += [_in_band(timeline, profile, rules[in_band])] if in_band.any() else []
        limits = pd.concat(verdicts, ignore_index=True)
    return Drawn(run, seed, profile, timeline, metrics(at_grid), end_h, bill(timeline, profile, run), limits)


def _in_band(timeline: pd.DataFrame, profile: Profile, rules: pd.DataFrame) -> pd.DataFrame:
    """Check the rules on a frequency band, in bins of milliseconds over the first hour of training."""
    start_h = float(timeline.loc[timeline["state"] == "training", "start_h"].iloc[0])
    end_h = min(start_h + 1.0, float(timeline["end_h"].iloc[-1]))
    step_s = min(0.01, 0.5 / float(rules["high_hz"].max()))
    return check(series(timeline, profile, step_s, start_h, end_h), rules)


def _bill_table(table: pd.DataFrame) -> Table:
    """Hours, energy, cost and carbon by part, with the total and the lost share of it."""
    sums = {"total": table[list(_BILL)].sum(), "of which lost": table[table["wasted"]][list(_BILL)].sum()}
    parts = [(_PARTS.get(str(row["part"]), str(row["part"])), row) for row in table.to_dict("records")]
    rows = [[name, *(number(float(values[column])) for column in _BILL)] for name, values in [*parts, *sums.items()]]
    return Table(("part", *_BILL.values()), rows, total=True)


def _limits_table(limits: pd.DataFrame) -> Table:
    """Limit, value and result of each rule."""
    rows = [
        [
            row.rule,
            number(row.limit),
            "" if row.verdict == UNKNOWN else number(row.value),
            "" if row.unit == "1" else row.unit,
            row.verdict,
        ]
        for row in limits.itertuples()
    ]
    return Table(("rule", "limit", "this run", "unit", "result"), rows, words=("unit", "result"))
