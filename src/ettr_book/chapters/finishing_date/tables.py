"""When a run is done: its date and what that rests on, exactly and simulated, and what published runs came to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr import budget, simulation
from ettr.core import finishing
from ettr.core.errors import InputError, NoProgress, NotModelled, OutsideValidity
from ettr.core.finishing import Finishing
from ettr.core.results import TimeBudget
from ettr.core.units import H_PER_DAY, MIN_PER_H, ROUNDING
from ettr.plan import Plan
from ettr.ranges.assumed import span
from ettr.scenario import Scenario, paths
from ettr.simulation import Simulation
from ettr.simulation.outlook import affordable_runs
from ettr_book.chapters.common.runs import formula_run, rack_failures

ENDS = (0.05, 0.5, 0.95)
"""Probabilities of being done by the dates that are shown."""
KNOWN, COUNTED = "rate known", "rate from a count"
EXACT, AS_GIVEN = "Exact form", "All that the scenario has"
"""Names of rows: what the exact form says, and what the scenario has that it does not follow."""

_FAILURES_OF_RUNS, _FAILURES_OF_A_ROW = 5_000_000, 200_000
_BINS, _POINTS = 40, 200
_TAIL = 5e-4
_COUNTS = (3, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class FinishingDates:
    """When a run is done, by the exact form as far as it follows the run, and by simulated runs.

    Attributes
    ----------
    scenario, followed : Scenario
        The run, and the same without what the exact form does not follow.
    left_out : tuple of str
        What that is, in words; empty if nothing.
    exact : Finishing
        Hours to the end of :attr:`followed`.
    counted : Finishing or None
        The same where its failure rate is known from a count only; None where nothing is known of that.
    closed : TimeBudget
        Mean hours of what :func:`ettr.budget.exact` has terms for.
    runs, proof : Simulation
        Runs of :attr:`scenario` and of :attr:`followed`.
    """

    scenario: Scenario
    followed: Scenario
    left_out: tuple[str, ...]
    exact: Finishing
    counted: Finishing | None
    closed: TimeBudget
    runs: Simulation
    proof: Simulation

    @property
    def of_run(self) -> Finishing:
        """The finishing date of the run: exact if nothing had to be left out, of the simulated runs otherwise."""
        return finishing.of_runs(self.runs.total_h) if self.left_out else self.exact

    @property
    def reported(self) -> Finishing:
        """The finishing date as a plan reports it: the failure rate no better known than it was counted."""
        return self.of_run if self.left_out or self.counted is None else self.counted

    @property
    def ends_h(self) -> tuple[float, float, float]:
        """Hours by which the run is done with 5, 50 and 95% probability. [h]"""
        low, middle, high = (float(hours) for hours in self.of_run.quantile(np.array(ENDS)))
        return low, middle, high


def finishing_dates(scenario: Scenario, n_runs: int = 10_000, seed: int = 0) -> FinishingDates:
    """When a run is done.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_runs, seed : int
        Simulated runs, fewer where they meet many failures, and their seed.

    Raises
    ------
    OutsideValidity, NoProgress
        The run practically never ends.

    Examples
    --------
    >>> dates = finishing_dates(Scenario.load("llama3-405b"), n_runs=20)
    >>> [round(hours / 24, 1) for hours in dates.ends_h]
    [53.1, 53.5, 53.8]
    """
    followed, left_out, exact = _followed(scenario)
    try:
        counted = budget.finishing(followed, rate_known=False)
    except InputError:  # no count, or none of a failure
        counted = None
    closed = budget.exact(budget.simplified(scenario).scenario)
    n_runs = affordable_runs(float(closed.n_failures), n_runs, _FAILURES_OF_RUNS)
    runs = simulation.simulate(scenario, n_runs, seed)
    proof = simulation.simulate(followed, n_runs, seed) if left_out else runs
    return FinishingDates(scenario, followed, left_out, exact, counted, closed, runs, proof)


def _followed(scenario: Scenario) -> tuple[Scenario, tuple[str, ...], Finishing]:
    """As much of a run as the exact form of the finishing date follows, what it is left without, and that date."""
    *simpler, last = _ever_simpler(scenario)
    for one in simpler:
        try:
            return one.scenario, one.left_out, budget.finishing(one.scenario)
        except (NotModelled, OutsideValidity):
            continue
    return last.scenario, last.left_out, budget.finishing(last.scenario)


def _ever_simpler(scenario: Scenario) -> list[budget.Simplified]:
    last = budget.simplified(scenario)
    simple = [budget.without_extras(scenario), last]
    if last.scenario.prediction is not None:
        last = last.without(f"warnings of failures ({paths.PREDICTION})", {paths.PREDICTION: None})
    if last.scenario.checkpoint.tiers:
        best_min = float(budget.best_interval_min(last.scenario.override({paths.TIERS: ()})))
        last = last.without(f"faster tiers ({paths.TIERS})", {paths.TIERS: (), paths.INTERVAL: best_min})
    if last.scenario.latencies_h:
        noticed = "silent failures, noticed at once here (failures.modes)"
        last = budget.Simplified(budget.with_immediate_detection(last.scenario), (*last.left_out, noticed))
    return [*simple, last]


@dataclass(frozen=True)
class ByHand:
    """Mean and spread of a finishing date, as anybody can reckon them.

    Attributes
    ----------
    work_h, ettr, n_failures : float
        Of the closed form. [h, 1, count]
    each_h, spread_h : float
        What a failure loses on average, and the root of the mean of its square. [h]
    n_stops, stop_h : float
        Stops for maintenance, and what one of them takes. [count, h]
    """

    work_h: float
    ettr: float
    n_failures: float
    each_h: float
    spread_h: float
    n_stops: float
    stop_h: float

    @property
    def mean_h(self) -> float:
        """Work over ETTR. [h]"""
        return self.work_h / self.ettr

    @property
    def sd_h(self) -> float:
        """Square root of the sum over failures and stops, each as if without the others. [h]"""
        return math.sqrt(self.n_failures * self.spread_h**2 + self.n_stops * self.stop_h**2)


def by_hand(dates: FinishingDates) -> ByHand:
    """The date of a run by three lines of arithmetic.

    Parameters
    ----------
    dates : FinishingDates
        As from :func:`finishing_dates`.

    Notes
    -----
    The sum of a Poisson number of losses has the variance :math:`n\\,E[c^2]`. A failure loses what recovery takes, and
    work that is uniform between nothing and twice its mean.
    """
    run = budget.simplified(dates.followed).scenario
    closed = budget.exact(run)
    steady = budget.exact(run.override({"job.include_start": False, "maintenance": None}))
    n = float(steady.n_failures)
    rework_h = float(steady.rework_h) / n if n > 0 else 0.0
    each_h = rework_h + float(steady.detection_h + steady.queue_h + steady.restart_h) / n if n > 0 else 0.0
    stops = run.maintenance
    stop_h = stops.duration_min / MIN_PER_H + run.restart_h if stops else 0.0
    return ByHand(
        work_h=run.work_h,
        ettr=float(closed.ettr),
        n_failures=float(closed.n_failures),
        each_h=each_h,
        spread_h=math.sqrt(each_h**2 + rework_h**2 / 3),
        n_stops=stops.per_day * float(closed.total_h) / H_PER_DAY if stops else 0.0,
        stop_h=stop_h,
    )


@dataclass(frozen=True)
class Open:
    """How far what is assumed leaves the mean date open, with the best interval.

    Attributes
    ----------
    leading : str
        What matters most; empty if nothing is assumed.
    low_h, high_h : float
        Work over the ends of the range of the ETTR; NaN where there is no range. [h]
    ettr : str
        That range in words.
    condition : str
        What is known of the ETTR, which some draws contradict; empty if none does.
    agrees : bool
        Whether the values as assumed agree with that.
    """

    leading: str
    low_h: float
    high_h: float
    ettr: str
    condition: str
    agrees: bool


def over_assumptions(answer: Plan) -> Open:
    """The mean date at the best interval over what a plan assumes."""
    known = answer.assumptions
    low, high = known.range or (math.nan, math.nan)
    work_h = answer.scenario.work_h
    return Open(
        leading=known.leading.name if known.leading else "",
        low_h=work_h / high if high > 0 else math.nan,
        high_h=work_h / low if low > 0 else math.nan,
        ettr=span(low, high) if known.range else "",
        condition=known.condition,
        agrees=known.agrees,
    )


@dataclass(frozen=True)
class Agreement:
    """Simulated runs beside the exact distribution.

    Attributes
    ----------
    bins : DataFrame
        ``from_d``, ``to_d`` [days since submission], ``of_runs`` (share of the simulated runs that end there), and
        ``exactly`` (its probability).
    curve : DataFrame
        ``bin_day`` [days], ``of_runs``: probability of ending in a bin around that day, exactly.
    ends_h : tuple of float
        Hours by which 5, 50 and 95% are done, exactly. [h]
    distance, by_chance : float
        Largest distance between the two distributions, and what so many runs exceed in one of twenty samples.
    n_runs : int
        Runs.
    """

    bins: pd.DataFrame
    curve: pd.DataFrame
    ends_h: tuple[float, ...]
    distance: float
    by_chance: float
    n_runs: int


def agreement(dates: FinishingDates) -> Agreement:
    """How far simulated runs are from the exact distribution of the same run.

    Parameters
    ----------
    dates : FinishingDates
        As from :func:`finishing_dates`.

    Notes
    -----
    The distance is that of Kolmogorov and Smirnov; hours that differ by rounding count as the same. Where the exact
    form adds a narrow normal distribution, to resolve steps of constant times, the runs get it too.
    """
    exact, n = dates.exact, dates.proof.n_runs
    hours = np.sort(_smoothed(dates.proof.total_h, exact))
    past, before = exact.cdf(hours * (1 + ROUNDING)), exact.cdf(hours * (1 - ROUNDING))
    distance = max(float((np.arange(1, n + 1) / n - past).max()), float((before - np.arange(n) / n).max()), 0.0)
    low_h, high_h = (float(exact.quantile(p)) for p in (_TAIL, 1 - _TAIL))
    width_h = (high_h - low_h) / _BINS if high_h - low_h > ROUNDING * high_h else 0.1
    edges = low_h + width_h * (np.arange(_BINS + 3) - 1.5)
    seen = np.histogram(hours, edges)[0] / n
    at_h = np.linspace(edges[0], edges[-1], _POINTS)
    return Agreement(
        bins=pd.DataFrame(
            {
                "from_d": edges[:-1] / H_PER_DAY,
                "to_d": edges[1:] / H_PER_DAY,
                "of_runs": seen,
                "exactly": np.diff(exact.cdf(edges)),
            }
        ),
        curve=pd.DataFrame(
            {
                "bin_day": at_h / H_PER_DAY,
                "of_runs": exact.cdf(at_h + width_h / 2) - exact.cdf(at_h - width_h / 2),
            }
        ),
        ends_h=tuple(float(exact.quantile(p)) for p in ENDS),
        distance=distance,
        by_chance=float(scipy.stats.kstwo.ppf(0.95, n)),
        n_runs=n,
    )


def _smoothed(total_h: np.ndarray, exact: Finishing) -> np.ndarray:
    """Hours of runs, those of runs that something struck smoothed as the exact form smooths them."""
    struck = total_h > exact.atom_h * (1 + ROUNDING)
    noise = np.random.default_rng(0).standard_normal(total_h.size)
    return total_h + np.where(struck, exact.smoothed_h * noise, 0.0)


def range_by_count(dates: FinishingDates) -> pd.DataFrame:
    """How wide the range of dates is over the number of failures that the rate was counted from; exact.

    Parameters
    ----------
    dates : FinishingDates
        As from :func:`finishing_dates`.

    Returns
    -------
    DataFrame
        ``case`` (:data:`KNOWN` or :data:`COUNTED`), ``n_events`` (failures counted), ``range_days`` between 5 and 95%
        [days]. Counts from which the run may practically never end are left out, and so are all without failures. The
        rate is the scenario's own throughout.
    """
    run, own = dates.followed, own_count(dates)
    counts = sorted({*_COUNTS, *([own] if own else [])})
    rows = [(KNOWN, count, _range_days(dates.exact)) for count in counts]
    for count in counts if run.failure_rate > 0 else ():
        known = {"shape": count + 0.5, "node_days": 1000 * (count + 0.5) / run.failure_rate}
        counted = run.override({paths.RATE: run.failure_rate, "failures.rate_gamma": known})
        own_dates = dates.counted if count == own else None
        rows.append((COUNTED, count, _range_days(own_dates or budget.finishing(counted, rate_known=False))))
    frame = pd.DataFrame(rows, columns=["case", "n_events", "range_days"])
    return frame[np.isfinite(frame["range_days"])].reset_index(drop=True)


def own_count(dates: FinishingDates) -> float | None:
    """From how many failures the scenario's rate was counted, or as from how many it is known; None if nobody says."""
    known = dates.followed.failures.posterior
    return dates.scenario.failures.n_events or (round(known.shape) if known else None)


def _range_days(dates: Finishing) -> float:
    return float(dates.quantile(ENDS[-1]) - dates.quantile(ENDS[0])) / H_PER_DAY


def beyond_exact(
    dates: FinishingDates,
    repair_h: float = 24.0,
    rack_nodes: int = 9,
    shape: float = 0.7,
    n_runs: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Simulated dates with what the exact form does not follow, beside those that it says without.

    Parameters
    ----------
    dates : FinishingDates
        As from :func:`finishing_dates`.
    repair_h : float
        Mean time until a node is back from repair, with a coefficient of variation of 1. [h]
    rack_nodes : int
        Nodes that leave together when a rack fails.
    shape : float
        Weibull shape of the nodes' lifetimes.
    n_runs, seed : int
        Runs a row, fewer where they meet many failures, and their seed.

    Returns
    -------
    DataFrame
        ``cause``, ``setting``, ``p5_h``, ``p50_h``, ``p95_h`` [h], ``error_h`` (standard, of the middle) [h]; first
        :data:`EXACT`, and :data:`AS_GIVEN` last where the scenario itself has such things. What cannot be simulated
        together with the scenario is left out.
    """
    plain = formula_run(dates.followed)
    exact = budget.finishing(plain).quantile(np.array(ENDS))
    rows = [{"cause": EXACT, "setting": "nothing is added", **_ends(exact), "error_h": 0.0}]
    for cause, (setting, changes) in _added(plain, repair_h, rack_nodes, shape).items():
        runs = _some_runs_of(plain.override(changes), n_runs, seed)
        if runs is not None:
            rows.append({"cause": cause, "setting": setting, **_simulated_ends(runs)})
    if dates.left_out:
        rows.append({"cause": AS_GIVEN, "setting": "; ".join(dates.left_out), **_simulated_ends(dates.runs)})
    return pd.DataFrame(rows)


def _added(run: Scenario, repair_h: float, rack_nodes: int, shape: float) -> dict[str, tuple[str, dict[str, Any]]]:
    """What is added to a run, a name, the assumed setting in words, and its changes."""
    racks = rack_failures(run, rack_nodes)
    share, rack = (racks["failures.modes"][-1][name] for name in ("share", "n_out_nodes"))
    out = np.array([*(mode.n_out_nodes for mode in run.failures.modes), 1.0]) @ run.mode_weights
    n = math.ceil(1.5 * run.job_rate_per_h * float(out) * repair_h)
    held = {"spares": {"n_nodes": n}, "repair": {"manual_h": repair_h, "cv": 1.0}}
    n_spares = f"{n:,} spare{'' if n == 1 else 's'}, half as many again as nodes are in repair on average"
    lives = f"lifetimes of nodes are Weibull with shape {shape:g}"

    def ageing(start: str) -> dict[str, Any]:
        return {"failures.lifetime": {"shape": shape, "start": start}}

    return {
        "Finite spares": (f"{n_spares}; a repair takes {repair_h:g} h, give or take as much", held),
        "Racks fail at once": (f"the same spares, but {share:.0%} of failures take {rack:,} nodes", racks | held),
        f"Settled nodes, k = {shape:g}": (f"{lives}, all in the middle of their lives", ageing("stationary")),
        f"New nodes, k = {shape:g}": (f"{lives}, all new at the start", ageing("new")),
    }


def _some_runs_of(run: Scenario, n_runs: int, seed: int) -> Simulation | None:
    """As many runs as a page can wait for; None if the run cannot be simulated, or practically never ends."""
    try:
        n_failures = float(budget.exact(budget.simplified(run).scenario).n_failures)
        return simulation.simulate(run, affordable_runs(n_failures, n_runs, _FAILURES_OF_A_ROW), seed)
    except (NotModelled, NoProgress, OutsideValidity):
        return None


def _ends(hours: Any) -> dict[str, float]:
    return {f"p{round(100 * p)}_h": float(at_h) for p, at_h in zip(ENDS, hours, strict=True)}


def _simulated_ends(runs: Simulation) -> dict[str, float]:
    """Percentiles of runs, and the standard error of their median."""
    return {**_ends(runs.finish_h(ENDS)), "error_h": float(runs.finish_error_h())}


def quarter_of(dates: FinishingDates) -> float:
    """Standard deviation of the date of a quarter of the work. [h]"""
    run = dates.followed
    return float(budget.finishing(run.override({"job.productive_h": run.work_h / 4, "job.tokens": None})).sd_h)
