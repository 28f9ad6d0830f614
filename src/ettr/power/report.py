"""What one run draws from the grid: measures, the bill, and the verdicts of a specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import duration, gpus, megawatts, number
from ettr.power.bills import bill
from ettr.power.binning import series
from ettr.power.limits import BAND, UNKNOWN, check
from ettr.power.measures import Metrics, metrics
from ettr.power.profiles import Profile
from ettr.scenario import Scenario

_LONGEST_H = 90 * 24.0
"""Of a longer run the beginning is measured."""
_BILL = {
    "hours": "hours",
    "facility_mwh": "MWh",
    "electricity_usd": "electricity, USD",
    "gpu_usd": "GPU-hours, USD",
    "t_co2": "t CO2",
}


@dataclass(frozen=True, repr=False)
class Drawn(Answer):
    """One simulated run and its power.

    Attributes
    ----------
    run : Scenario
        The job.
    seed : int
        Of the simulated run.
    profile : Profile
        Power by state.
    timeline : DataFrame
        Stretches of the run.
    measured : Metrics
        At the grid, in seconds.
    measured_h : float
        Length of what was measured. [h]
    bill : DataFrame
        Of the whole run.
    limits : DataFrame or None
        Verdicts, if a specification was given.
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
        """As plain values for JSON; None for what the series cannot show."""
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
        """What the run draws, how uneven it is, and the bill."""
        table, *unknown = self.measured.report()
        judged: Report = []
        if self.limits is not None:
            judged = [Headline("Against the specification"), _limits_table(self.limits)]
        return [
            Headline(self.run.title),
            Note(
                f"{gpus(self.profile.n_gpus)} powered as {self.profile.title}, one run with seed {self.seed}: "
                f"{megawatts(self.measured.mean_mw)} from the grid on average over {duration(self.measured_h)}"
            ),
            table,
            Headline("Of the whole run" if self.run.ends else "Of a year of training, as the job has no end"),
            _bill_table(self.bill),
            *judged,
            *unknown,
            Note("Levels and prices that the scenario does not give are assumed: see the chapter on power.", dim=True),
        ]


def drawn(run: Scenario, seed: int, profile: Profile, timeline: pd.DataFrame, rules: pd.DataFrame | None) -> Drawn:
    """Measure what a simulated run draws, and judge it.

    Parameters
    ----------
    run : Scenario
        The job.
    seed : int
        Of the simulated run.
    profile : Profile
        Power by state, as from :func:`ettr.power.profile`.
    timeline : DataFrame
        Stretches of the run, as from :func:`ettr.simulate`.
    rules : DataFrame or None
        As from :func:`ettr.power.specification`.
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
    """Rules of a band need bins of milliseconds, in an hour from the first training on."""
    start_h = float(timeline.loc[timeline["state"] == "training", "start_h"].iloc[0])
    end_h = min(start_h + 1.0, float(timeline["end_h"].iloc[-1]))
    step_s = min(0.01, 0.5 / float(rules["high_hz"].max()))
    return check(series(timeline, profile, step_s, start_h, end_h), rules)


def _bill_table(table: pd.DataFrame) -> Table:
    sums = {"total": table[list(_BILL)].sum(), "of it lost": table[table["wasted"]][list(_BILL)].sum()}
    named = [*((str(row["part"]), row) for row in table.to_dict("records")), *sums.items()]
    rows = [[name, *(number(float(values[column])) for column in _BILL)] for name, values in named]
    return Table(("part", *_BILL.values()), rows, total=True)


def _limits_table(limits: pd.DataFrame) -> Table:
    rows = [
        [row.rule, number(row.limit), "" if row.verdict == UNKNOWN else number(row.value), row.unit, row.verdict]
        for row in limits.itertuples()
    ]
    return Table(("rule", "limit", "this run", "unit", "verdict"), rows, words=("unit", "verdict"))
