"""The result of a simulation: runs, means with their errors, and finishing dates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.finishing import Finishing, of_runs
from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.results import PART_WORDS, PARTS, TimeBudget
from ettr.core.sentences import duration, joined_range, number, pct
from ettr.core.units import ROUNDING
from ettr.core.validity import at_least_zero, plain
from ettr.scenario import Scenario
from ettr.simulation.columns import COLUMNS, CONTROL, CONTROLS, N_ENDED, N_FAILURES, OUTCOME, PRODUCTIVE
from ettr.simulation.estimates import Means, interval, means

PERCENTILES = (5, 25, 50, 75, 95)
"""Percentiles of the finishing dates that a report shows."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Answer):
    """Simulated runs of one scenario.

    Attributes
    ----------
    scenario : Scenario
        The scenario that was simulated.
    seed : int
        Seed of the random numbers: the same seed gives the same runs, on any machine and number of workers.
    rows : ndarray of shape (runs, columns)
        Results as the kernels write them; :attr:`table` labels the columns, and :attr:`runs` is for most purposes.
    timeline : DataFrame
        Stretches of the runs named in ``timeline``, in the order of time: ``run``, ``start_h``, ``end_h`` [h] since
        submission, ``state``: training, checkpoint, rework, detection, queue, restart or maintenance. The time lost to
        background writes and missing replicas is part of training. A steady-state run is listed in whole intervals, as
        simulated; ``runs`` scales it to the work.
    control_variates : bool
        Whether means use control variates.
    horizon_h : float or None
        Wall clock at which all runs ended; None if they ended with their work. [h]
    """

    scenario: Scenario
    seed: int
    rows: np.ndarray
    timeline: pd.DataFrame
    control_variates: bool = True
    horizon_h: float | None = None

    @property
    def headline(self) -> str:
        """Number of runs, scenario, seed and ETTR."""
        return f"{_counted(self.n_runs)} of {self.scenario.name!r}, seed {self.seed}, ETTR {self.ettr:.4f}"

    @property
    def n_runs(self) -> int:
        """Number of simulated runs."""
        return int(self.rows.shape[0])

    @cached_property
    def table(self) -> pd.DataFrame:
        """Everything that the kernels record, one row per run.

        The columns are those of :attr:`runs`, without ``run``, ``total_h`` and ``ettr``; then the control variates,
        each a sum of random numbers less its mean (``failures_less_expected``, ``persons_less_expected`` [h],
        ``repairs_less_expected`` [h], ``modes_less_expected`` [h]); and ``outcome``, 0 for a run that is complete.
        """
        return pd.DataFrame(self.rows, columns=[*COLUMNS, *CONTROLS, "outcome"])

    @cached_property
    def runs(self) -> pd.DataFrame:
        """Table of the runs, one row per run.

        Columns are ``run``, the parts of :class:`ettr.TimeBudget` [h], ``total_h``, ``ettr``, ``n_failures``,
        ``n_planned`` (planned stops), ``n_undetected`` (silent failures that were not detected by the end),
        ``waiting_h`` (the part of the queue that was spent waiting for nodes), ``n_waits`` and ``n_ended`` (1 if too
        few nodes were left, so that the run ended before its work was done).
        """
        frame = pd.DataFrame(self.rows[:, : len(COLUMNS)], columns=list(COLUMNS), copy=False)
        frame.insert(0, "run", np.arange(self.n_runs))
        frame.insert(len(PARTS) + 1, "total_h", self.total_h)
        frame.insert(len(PARTS) + 2, "ettr", self.rows[:, PRODUCTIVE] / self.total_h)
        return frame

    @cached_property
    def total_h(self) -> np.ndarray:
        """Wall-clock hours of each run. [h]"""
        return np.asarray(self.rows[:, : len(PARTS)].sum(axis=1))

    @cached_property
    def _means(self) -> Means:
        values = np.column_stack((self.rows[:, : len(PARTS)], self.rows[:, N_FAILURES], self.total_h))
        estimated = means(values, self._controls)
        return (
            replace(estimated, covariance=np.full_like(estimated.covariance, np.nan)) if self.met_nothing else estimated
        )

    @property
    def _controls(self) -> np.ndarray | None:
        """Control variates of the runs; None if they are not used."""
        return self.rows[:, CONTROL:OUTCOME] if self.control_variates else None

    @property
    def met_nothing(self) -> bool:
        """True if no run met a failure although the failure rate is not 0: the errors are then unknown."""
        return self.scenario.failure_rate > 0 and not self.rows[:, N_FAILURES].any()

    @property
    def budget(self) -> TimeBudget:
        """Mean hours of each part, and mean number of failures, over the runs."""
        mean = self._means.mean
        spares = self.scenario.spares
        n_spare_gpus = (spares.n_nodes if spares else 0) * self.scenario.cluster.gpus_per_node
        return TimeBudget(
            **{part: float(mean[i]) for i, part in enumerate(PARTS)},
            n_failures=float(mean[len(PARTS)]),
            spare_gpu_h=float(n_spare_gpus * mean[-1]),
        )

    @property
    def budget_interval(self) -> pd.DataFrame:
        """Means with their errors: ``part``, ``mean``, ``error`` (standard error), ``low`` and ``high`` (95% CI)."""
        names = [*(part.removesuffix("_h") for part in PARTS), "n_failures", "total"]
        mean, error = self._means.mean, self._means.error
        low, high = interval(mean, error, self._means.freedom)
        low = np.maximum(low, 0.0)
        return pd.DataFrame({"part": names, "mean": mean, "error": error, "low": low, "high": high})

    @property
    def ettr(self) -> float:
        """Effective Training Time Ratio: the ratio of the sums over all runs, in [0, 1]."""
        return float(self._means.mean[0] / self._means.mean[-1])

    @cached_property
    def ettr_mean_of_ratios(self) -> float:
        """Mean of the ETTR of each run, in [0, 1]; without control variates that of the column ``ettr`` of ``runs``.

        It is usually higher than ``ettr``, whatever the number of runs: a run that loses much is long, and here it
        counts no more than a short one. The ETTR of all runs together is ``ettr``.
        """
        values = np.column_stack((self.rows[:, PRODUCTIVE] / self.total_h, self.total_h))
        return float(means(values, self._controls).mean[0])

    @property
    def ettr_error(self) -> float:
        """Standard error of ``ettr``, by the delta method."""
        estimated, ettr = self._means, self.ettr
        gradient = np.zeros(estimated.mean.size)
        gradient[0], gradient[-1] = 1.0, -ettr
        return float(np.sqrt(np.maximum(gradient @ estimated.covariance @ gradient, 0.0)) / estimated.mean[-1])

    @property
    def ettr_interval(self) -> tuple[float, float]:
        """95% CI of ``ettr``, from the number of runs; it is not the spread between runs."""
        low, high = interval(self.ettr, self.ettr_error, self._means.freedom[-1])
        return float(np.maximum(low, 0.0)), float(np.minimum(high, 1.0))

    @property
    def relative_error(self) -> float:
        """Relative standard error of the mean total."""
        return float(self._means.error[-1] / self._means.mean[-1])

    @property
    def variance_ratio(self) -> float:
        """Factor on the number of runs that the mean total would need without control variates."""
        return self._means.variance_ratio

    def finish_h(self, p: Any = 0.5) -> Any:
        """Return the hours from submission by which a share of the runs is done. [h]

        Parameters
        ----------
        p : float or array
            Share of the runs, in [0, 1]: 0.9 for 90% of them.

        Returns
        -------
        float or ndarray
            Hours, of the same shape; infinite if fewer runs end with their work, as too few nodes were left. [h]

        Raises
        ------
        InputError
            A share outside [0, 1], or runs that ended at a horizon.

        Examples
        --------
        >>> from ettr import Scenario, simulate
        >>> simulate(Scenario.load("llama3-405b"), n_runs=200).finish_h([0.5, 0.9]).round(-1).tolist()
        [1280.0, 1290.0]
        """
        self._refuse_a_horizon("finish_h")
        shares = at_least_zero("p, a share of runs,", p, infinite=True)
        if (shares > 1).any():
            bad = shares[shares > 1].flat[0]
            raise InputError(f"p, a share of runs, must be from 0 to 1, got {bad:g}: e.g. 0.9 for 90% of them")
        if self.ended.any():
            never = np.where(self.ended, np.inf, self.total_h)
            hours = np.quantile(never, shares, method="higher")
        else:
            hours = np.quantile(self.total_h, shares)
        return plain(np.asarray(hours))

    def finish_error_h(self, p: Any = 0.5) -> Any:
        """Return the standard error of :meth:`finish_h`. [h]

        It is half the difference between the hours at the share plus and minus its standard error; NaN for a single
        run, and where fewer runs end with their work.
        """
        shares = np.asarray(p, dtype=float)
        error = np.sqrt(shares * (1 - shares) / self.n_runs)
        low_h, high_h = (self.finish_h(np.clip(shares + off, 0.0, 1.0)) for off in (-error, error))
        with np.errstate(invalid="ignore"):
            half_h = (high_h - low_h) / 2
        return plain(np.where((self.n_runs > 1) & np.isfinite(high_h), half_h, np.nan))

    def _refuse_a_horizon(self, name: str) -> None:
        if self.horizon_h is not None:
            raise InputError(
                f"{name} is of runs that go on until their work is done, and these end after {self.horizon_h:g} h: "
                "see productive_h in runs"
            )

    @property
    def ended(self) -> np.ndarray:
        """Mask of the runs that ended because too few nodes were left."""
        return np.asarray(self.rows[:, N_ENDED] > 0)

    @cached_property
    def finishing(self) -> Finishing:
        """Distribution of the hours of the runs that ended with their work done."""
        self._refuse_a_horizon("finishing")
        return of_runs(self.total_h[~self.ended])

    def to_dict(self) -> dict[str, Any]:
        """Return the means with their errors and the finishing dates, as plain numbers for JSON."""
        rows = self.budget_interval.set_index("part")
        low, high = self.ettr_interval
        record = {
            "scenario": self.scenario.name,
            "n_runs": self.n_runs,
            "seed": self.seed,
            "ettr": self.ettr,
            "ettr_low": low,
            "ettr_high": high,
            "ettr_mean_of_ratios": self.ettr_mean_of_ratios,
            **self._dates_or_work(),
            "budget": self.budget.to_dict(),
            "errors": dict(zip([*PARTS, "n_failures", "total_h"], rows["error"].tolist(), strict=True)),
            "waiting_h": float(self.runs["waiting_h"].mean()),
            "n_waits": float(self.runs["n_waits"].mean()),
            "n_planned": float(self.runs["n_planned"].mean()),
            "n_undetected": float(self.runs["n_undetected"].mean()),
            "ended_share": float(self.ended.mean()),
            "variance_ratio": self.variance_ratio,
        }
        return dict(plain_values(record))

    def _dates_or_work(self) -> dict[str, Any]:
        if self.horizon_h is None:
            each = {"finish_h": self.finish_h, "finish_error_h": self.finish_error_h}
            return {name: {str(p): of(p / 100) for p in PERCENTILES} for name, of in each.items()}
        work_h = np.percentile(self.rows[:, PRODUCTIVE], PERCENTILES)
        percentiles = {str(percentile): float(hours) for percentile, hours in zip(PERCENTILES, work_h, strict=True)}
        return {"horizon_h": self.horizon_h, "productive_h": percentiles}

    def report(self, expected: TimeBudget | None = None, caveats: Iterable[str] = ()) -> Report:
        """Return ETTR, finishing times and mean time budget with errors, next to the analytical model if given."""
        return [
            Headline(self.scenario.title),
            *map(Note, self.scenario.cautions),
            Note(_ettr(self, expected)),
            *map(Note, _ended(self)),
            Headline(_when(self)),
            _dates(self) if self.horizon_h is None else _work(self),
            Headline("Mean time budget"),
            _hours(self, expected),
            *map(Note, caveats),
            *map(Note, _counts(self, expected)),
            *(Note(line, dim=True) for line in _accuracy(self)),
        ]


def _ettr(outcome: Simulation, expected: TimeBudget | None) -> str:
    """Return the number of runs, and the ETTR with its CI."""
    low, high = outcome.ettr_interval
    digits = _ettr_decimals(outcome)
    ettr = pct(outcome.ettr, digits)
    if math.isfinite(outcome.relative_error):  # more than one run
        ettr += f" (95% CI {joined_range(pct(low, digits), pct(high, digits))})"
    analytical = f"; analytical model: {pct(float(expected.ettr), digits)}" if expected else ""
    return (
        f"{_counted(outcome.n_runs)} of {outcome.scenario.name}, seed {outcome.seed}. ETTR (Effective Training Time "
        f"Ratio: productive time / wall-clock time): {ettr}{analytical}"
    )


def _ettr_decimals(outcome: Simulation) -> int:
    """Return the decimals of the ETTR in per cent that its CI justifies."""
    low, high = outcome.ettr_interval
    return max(min(decimals(100 * (high - low) / 2, 1), 3), decimals(100 * outcome.ettr, 2))


def _dates(outcome: Simulation) -> Table:
    """Return the hours and days by which shares of the runs finish, with the standard error of the hours."""
    shares = np.array(PERCENTILES) / 100
    hours, error_h = outcome.finish_h(shares), outcome.finish_error_h(shares)
    rows = []
    for unit, values in (("hours", hours), ("days", hours / 24)):
        ends = values[np.isfinite(values)]
        digits = decimals(np.ptp(ends), 2) if ends.size else 1
        rows.append([unit, *(f"{value:,.{digits}f}" if value < math.inf else "never" for value in values)])
    if np.isfinite(error_h).any():
        digits = decimals(np.nanmax(error_h), 2)
        cells = (f"{value:,.{digits}f}" if math.isfinite(value) else "unknown" for value in error_h)
        rows.append(["standard error, hours", *cells])
    return Table(("share of runs finished", *(f"{percentile}%" for percentile in PERCENTILES)), rows)


def _when(outcome: Simulation) -> str:
    """Return the heading of the dates, or of the work done by the horizon."""
    since = "submission" if outcome.scenario.starts else "the start (steady state)"
    if outcome.horizon_h is None and not outcome.scenario.ends:
        return f"Time for one year of training since {since} (the job has no end; set one with job.productive_h)"
    if outcome.horizon_h is None:
        return f"Finishing time since {since}"
    return f"Work done {duration(outcome.horizon_h)} after {since}"


def _ended(outcome: Simulation) -> Iterator[str]:
    """Yield how many runs ended because too few nodes were left."""
    if outcome.ended.any():
        runs = outcome.runs[outcome.ended]
        after, done = runs["total_h"].mean(), runs["productive_h"].mean()
        if outcome.ended.all():
            after, done = outcome.budget.total_h, outcome.budget.productive_h
        yield (
            f"{outcome.ended.mean():.0%} of the runs ended early because too few nodes were left: after "
            f"{number(after)} h on average, with {number(done)} h of work done."
        )


def _work(outcome: Simulation) -> Table:
    """Return the hours and days of work that shares of the runs have done by the horizon."""
    hours = np.percentile(outcome.runs["productive_h"], [100 - percentile for percentile in PERCENTILES])
    rows = []
    for unit, values in (("hours of work", hours), ("days of work", hours / 24)):
        digits = decimals(values[0] - values[-1], 2)
        rows.append([unit, *(f"{value:,.{digits}f}" for value in values)])
    return Table(("share of runs with at least", *(f"{percentile}%" for percentile in PERCENTILES)), rows)


def _hours(outcome: Simulation, expected: TimeBudget | None) -> Table:
    """Return the parts with their 95% CIs, next to those of the analytical model."""
    parts = outcome.budget_interval.query("part != 'n_failures'").set_index("part")
    total_h, half = parts.loc["total", "mean"], (parts["high"] - parts["low"]) / 2
    differs = half["total"] > ROUNDING * total_h
    digits = min(decimals(half["total"], 2), decimals(total_h, 6)) if differs else 1
    analytical = expected.to_dict() if expected else {}
    rows = []
    for part, mean in parts["mean"].items():
        analytical_h = analytical.get(f"{part}_h", 0.0)
        if not mean and not analytical_h:
            continue
        is_total = part == "total"
        cells = [f"{mean:,.{digits}f} h", _half(half[part], mean, digits), "" if is_total else f"{mean / total_h:.1%}"]
        if analytical:
            share = "" if is_total else f"{analytical_h / analytical['total_h']:.1%}"
            cells += [f"{analytical_h:,.{digits}f} h", share]
        rows.append([PART_WORDS.get(f"{part}_h", str(part)), *cells])
    columns = ("part", "mean", "95% CI", "share", *(("analytical model", "share") if analytical else ()))
    return Table(columns, rows, total=True)


def _counts(outcome: Simulation, expected: TimeBudget | None) -> Iterator[str]:
    """Yield the mean numbers of failures, waits and planned stops per run."""
    runs, mean_h = outcome.runs, outcome.budget
    analytical = f"; analytical model: {number(expected.n_failures)}" if expected else ""
    yield f"Failures: {number(mean_h.n_failures)} per run{analytical}"
    if runs["n_waits"].any():
        waits, waiting_h = (number(runs[column].mean()) for column in ("n_waits", "waiting_h"))
        yield f"Waits for nodes: {waits} per run, {waiting_h} h (part of queueing)"
    if runs["n_undetected"].any():
        yield f"Silent failures still undetected at the end: {number(runs['n_undetected'].mean())} per run"
    if runs["n_planned"].any():
        yield f"Planned stops: {number(runs['n_planned'].mean())} per run"
    if mean_h.spare_gpu_h:
        yield f"Hot spares: {number(mean_h.spare_gpu_h)} GPU-hours"


def _accuracy(outcome: Simulation) -> Iterator[str]:
    """Yield the accuracy of the means, and the gain by control variates."""
    part = "total" if outcome.horizon_h is None else "productive"
    low, high = outcome.budget_interval.set_index("part").loc[part, ["low", "high"]]
    n_runs = outcome.n_runs
    if outcome.met_nothing:
        yield f"There was no failure in {_counted(n_runs)}, so the error of the means is unknown."
        return
    if not math.isfinite(high):
        yield "A single run has no confidence intervals."
        return
    relative = (high - low) / (high + low)
    if relative <= ROUNDING:
        yield "All runs are the same."
        return
    mean = "total time" if part == "total" else "work"
    yield f"Accuracy of the mean {mean} from {_counted(n_runs)}: ±{100 * relative:.2g}% (95% CI)."
    if outcome.horizon_h is not None:
        return
    ratio = outcome.variance_ratio
    if ratio >= 1.05:
        yield f"Thanks to control variates, {number(ratio)} times fewer runs are needed than without."


def _half(half: float, mean: float, digits: int) -> str:
    """Return half the width of a CI with its sign."""
    if not math.isfinite(half):
        return "unknown"
    if half <= ROUNDING * mean:
        return "± 0"
    return f"± {half:,.{digits}f}" if half >= 0.5 * 10**-digits else f"< {10**-digits:.{digits}f}"


def _counted(number: int) -> str:
    """Return a number of runs in words."""
    return f"{number:,} run{'' if number == 1 else 's'}"


def decimals(scale: float, significant: int) -> int:
    """Return the decimals that show a number with some significant digits, from one to six."""
    if not math.isfinite(scale) or scale <= 0:
        return 1
    return min(max(significant - 1 - math.floor(math.log10(scale)), 1), 6)
