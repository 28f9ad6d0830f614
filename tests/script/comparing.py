"""The script of the pages beside the package: every answer to the same scenarios, and how far they are apart."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ettr import Scenario, budget, plan
from ettr.budget.intervals import flat_band
from ettr.core.errors import EttrError
from ettr.core.results import PARTS
from ettr.failures import gamma_interval
from ettr.plan.losses import Losses, record_of
from ettr.ranges.assumed import assumptions
from ettr.scenario.paths import RATE
from ettr_book.publish import page_data
from ettr_book.validation import beside

STATIC = Path(__file__).parents[2] / "book/_static"
MODEL = STATIC / "model.js"
LEVELS = (0.05, 0.5, 0.9, 0.99)
AT_A_TIME = 50
LEAST_ETTR = 1e-6
"""Of a run that loses all but a millionth of its time no digit of a date means anything."""
MOST_SKEW, SKEW_APART = 0.6, 0.1
"""Skewness of the hours beyond which the script has no dates, and how far from it both sides agree on that."""
SAME_DATE = 2e-3
"""Relative, 0.1 days of 50, as pages show it: where hours come in steps, as of stops that all take as long, a chance is
one of a date within this."""
LEAST_ETTR_OVER_RATES = 1e-3
"""ETTR at the 99th percentile of an uncertain failure rate, below which dates are not compared: they are averages over
few rates, between which they differ by orders of magnitude."""
TOLERANCES = {"hours": 1e-12, "ettr": 1e-12, "count": 0.0, "date": 0.02, "chance by a date": 0.02}
"""Of the total, relative, and absolute; whatever else has 1e-9, relative."""

ASK = """({requests, levels, whole}) => requests.map(({scenario, inputs}) => {
  const answers = {};
  const ask = (name, of) => {
    try { answers[name] = of(); } catch (error) {
      if (!(error instanceof ettr.NotHere || error instanceof ettr.Endless)) { throw error; }
      answers[name] = null;
    }
  };
  ask("budget", () => ettr.exact(ettr.inHours(scenario)));
  ask("calculators", () => ettr.calculators(scenario));
  ask("band", () => ettr.band(ettr.inHours(scenario)));
  ask("dates", () => levels.map(ettr.finishing(scenario).quantile));
  if (whole) {
    ask("losses", () => ettr.losses(scenario, ettr.exact(ettr.inHours(scenario))));
    ask("assumed", () => ettr.overAssumed(scenario, inputs, 200));
    ask("restart", () => ettr.largestReaching(scenario, "recovery.restart_min", 0.85));
    ask("rate", () => ettr.largestReaching(scenario, "failures.rate_per_1000_node_days", 0.85));
  }
  return answers;
})"""


@dataclass
class Apart:
    """How far answers are apart, the farthest by output; and where one side has an answer and the other none."""

    farthest: dict[str, tuple[float, str]] = field(default_factory=dict)
    unlike: list[str] = field(default_factory=list)
    n: int = 0
    answered: int = 0

    def note(self, output: str, distance: float, scenario: Scenario) -> None:
        if not distance <= self.farthest.get(output, (-1.0, ""))[0]:
            self.farthest[output] = (distance, scenario.to_yaml())

    def note_relative(self, output: str, ours: float | None, theirs: float | None, scenario: Scenario) -> None:
        self.note(output, relative(ours, theirs), scenario)

    def too_far(self) -> dict[str, tuple[float, str]]:
        """Outputs that are farther apart than they may be."""
        return {
            name: worst
            for name, worst in self.farthest.items()
            if not worst[0] <= TOLERANCES.get(name.rpartition(": ")[0] or name, 1e-9)
        }

    def __str__(self) -> str:
        rows = [f"  {name:28} {distance:.1e}" for name, (distance, _) in sorted(self.farthest.items())]
        return "\n".join([f"{self.n} scenarios, {self.answered} with an answer; farthest apart, by output:", *rows])


def relative(ours: float | None, theirs: float | None) -> float:
    """Difference of two numbers over the larger one; infinite ones, which JSON has not, are None."""
    ours, theirs = (math.inf if value is None else value for value in (ours, theirs))
    return 0.0 if ours == theirs else abs(ours - theirs) / max(abs(ours), abs(theirs))


def compare(page: Any, scenarios: Iterable[Scenario], whole: bool = True, apart: Apart | None = None) -> Apart:
    """Ask both sides about each scenario; ``whole`` for every output, else for hours, interval and dates."""
    apart = apart or Apart()
    for some in _batches(scenarios):
        requests = [
            {"scenario": plain(scenario), "inputs": page_data.start(scenario)["assumed"] if whole else []}
            for scenario in some
        ]
        answers = page.evaluate(ASK, {"requests": requests, "levels": LEVELS, "whole": whole})
        for scenario, answer in zip(some, answers, strict=True):
            apart.n += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _beside(apart, scenario, answer, whole)
    return apart


def plain(scenario: Scenario) -> dict[str, Any]:
    """A scenario with every default, as the script takes it."""
    return {
        **scenario.model_dump(mode="json", exclude_none=True),
        "cost": scenario.prices.model_dump(exclude_none=True),
    }


def _batches(scenarios: Iterable[Scenario]) -> Iterator[list[Scenario]]:
    some: list[Scenario] = []
    for scenario in scenarios:
        some.append(scenario)
        if len(some) == AT_A_TIME:
            yield some
            some = []
    if some:
        yield some


def _beside(apart: Apart, scenario: Scenario, theirs: dict[str, Any], whole: bool) -> None:
    hours = _or_none(lambda: budget.exact(scenario))
    if not _both(apart, "budget", scenario, hours, theirs["budget"]):
        return
    apart.answered += 1
    of_script = theirs["budget"]
    for part in PARTS:
        apart.note(f"hours: {part}", abs(getattr(hours, part) - of_script[part]) / hours.total_h, scenario)
    apart.note_relative("hours: failures", hours.n_failures, of_script["n_failures"], scenario)
    apart.note_relative("ettr", hours.ettr, of_script["ettr"], scenario)
    _calculators(apart, scenario, theirs["calculators"])
    if scenario.checkpoint.tiers or scenario.prediction:
        return
    band = _or_none(lambda: flat_band(scenario))
    if _both(apart, "band", scenario, band, theirs["band"]):
        for name, ours in (("tau", band.interval_min), ("low", band.low_min), ("high", band.high_min)):
            apart.note_relative(f"interval: {name}", ours / 60, theirs["band"][name], scenario)
    if hours.ettr > LEAST_ETTR:
        _dates(apart, scenario, float(hours.n_failures), theirs["dates"])
    if whole:
        _rest(apart, scenario, hours, theirs)


def _dates(apart: Apart, scenario: Scenario, n_failures: float, theirs: list[float | None] | None) -> None:
    posterior = scenario.failures.posterior
    finish = at_rate = _or_none(lambda: budget.finishing(scenario)) if scenario.ends else None
    if at_rate is not None:
        hours = at_rate.quantile((np.arange(1000) + 0.5) / 1000)
        skew = np.mean((hours - hours.mean()) ** 3) / max(hours.std(), 1e-6 * hours.mean()) ** 3
        if theirs is None and (skew > MOST_SKEW - SKEW_APART or n_failures < 1):
            return  # a thousand quantiles do not show failures that are rare
        if posterior and posterior.shape >= 1:
            if _ettr_at_high_rate(scenario, posterior) < LEAST_ETTR_OVER_RATES:
                return
            finish = budget.finishing(scenario, rate_known=False)
        if skew > MOST_SKEW + SKEW_APART:
            finish = None
    if not _both(apart, "dates", scenario, finish, theirs):
        return
    for level, quantile_h in zip(LEVELS, theirs, strict=True):
        apart.note_relative("date", finish.quantile(level), quantile_h, scenario)
        if quantile_h is not None:
            before, after = finish.cdf(np.array([1 - SAME_DATE, 1 + SAME_DATE]) * quantile_h)
            apart.note("chance by a date", max(before - level, level - after, 0.0), scenario)


def _ettr_at_high_rate(scenario: Scenario, posterior: Any) -> float:
    rate = gamma_interval(posterior.shape, posterior.node_days, 0.98).high
    hours = _or_none(lambda: budget.exact(scenario, {RATE: rate}))
    return float(hours.ettr) if hours else 0.0


def _calculators(apart: Apart, scenario: Scenario, theirs: dict[str, Any] | None) -> None:
    ours = _or_none(lambda: beside(scenario).set_index("calculator"))
    if not _both(apart, "calculators", scenario, ours, theirs):
        return
    for name, ettr in ours["ettr"].items():
        of_script = theirs["results"][name]
        if abs(ettr) < LEAST_ETTR or (of_script is not None and abs(of_script) < LEAST_ETTR):
            continue  # on the edge of no answer
        apart.note_relative(f"calculator: {name}", None if math.isnan(ettr) else ettr, of_script, scenario)


def _rest(apart: Apart, scenario: Scenario, hours: Any, theirs: dict[str, Any]) -> None:
    ours, of_script = record_of(Losses(scenario, hours)), theirs["losses"]
    apart.note_relative("dollars: a month", ours["bill_usd_per_month"], of_script["bill"], scenario)
    for part, other in zip([*ours["parts"], ours["total"]], [*of_script["parts"], of_script["total"]], strict=True):
        apart.note_relative("dollars: a part", part["usd_per_month"], other["usd"], scenario)
    _assumed(apart, scenario, theirs["assumed"])
    for name, path in (("restart", "recovery.restart_min"), ("rate", "failures.rate_per_1000_node_days")):
        need = _or_none(lambda path=path: plan.required(scenario, path, 0.85))
        if scenario.maintenance:  # whose form has no answer for some values, which each side steps over in its own way
            continue
        if need is not None and theirs[name] is not None:
            value = theirs[name]["value"]
            reached = need.value is not None and need.value > 0
            if reached and value and math.isfinite(need.value):
                apart.note(f"target: {name}", max(relative(need.value, value) - 1e-5, 0.0), scenario)


def _assumed(apart: Apart, scenario: Scenario, theirs: dict[str, Any] | None) -> None:
    ours = _or_none(lambda: assumptions(scenario, 200))
    if ours is None or theirs is None:
        return
    if [entry.field for entry in ours.inputs] != [entry["field"] for entry in theirs["inputs"]]:
        same = sorted(zip(ours.shares, (entry.field for entry in ours.inputs), strict=True), reverse=True)
        if len({round(share, 9) for share, _ in same}) == len(same):
            apart.unlike.append(f"order of what is assumed: {scenario.to_yaml()}")
    apart.note("count: draws that agree", abs(ours.values.size - len(theirs["values"])), scenario)
    for mine, other in zip(np.sort(ours.values), sorted(theirs["values"]), strict=False):
        apart.note_relative("assumed: ettr of a draw", mine, other, scenario)
    low, high = ours.range or (None, None)
    for mine, other in ((low, theirs["low"]), (high, theirs["high"])):
        apart.note_relative("assumed: range", mine, other, scenario)


def _or_none(of: Any) -> Any:
    try:
        return of()
    except EttrError:
        return None


def _both(apart: Apart, output: str, scenario: Scenario, ours: Any, theirs: Any) -> bool:
    """Whether both sides have an answer; noted where only one has."""
    if (ours is None) != (theirs is None):
        apart.unlike.append(f"{output}: only {'the script' if ours is None else 'the package'}: {scenario.to_yaml()}")
    return ours is not None and theirs is not None
