"""How far the ETTR of a plan may be off by its assumed inputs, over their plausible ranges together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ettr.budget.intervals import any_interval, best_h
from ettr.core.report import Answer, Headline, Report, Table, plain_values
from ettr.core.seeds import Seed
from ettr.core.sentences import gpus, limit, pct
from ettr.ranges.drawing import FEWEST, N_DRAWS, agrees_with_what_is_known, draws, ettr_at, range_of
from ettr.ranges.inputs import Assumed, around, rate_across_clusters, rate_is_from_elsewhere
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL

THIS_RATE, ACROSS = "with this node failure rate", "across published clusters"
"""What a range is of: the other inputs at the run's own rate, or the rate of other clusters as well."""
_WORTH_SAYING = 0.05
"""Share of redrawn points from which on the range says so."""


@dataclass(frozen=True, eq=False, repr=False)
class Assumptions(Answer):
    """What a plan assumes, and what that leaves open.

    Attributes
    ----------
    scenario : Scenario
        The run as given.
    inputs : tuple of Assumed
        What is assumed, the one that matters most first.
    shares : tuple of float
        How much of the spread each explains alone, over all draws: the square of its correlation with the ETTR.
    ettr : float
        At the plan's interval with all of them as assumed.
    values : ndarray
        ETTR of each draw that does not contradict what is known of the run.
    n_draws : int
        Valid draws, including those that contradict it.
    at_half, at_twice : float or None
        ETTR with half and twice the input that matters most.
    agrees : bool
        Whether what is assumed itself does not contradict what is known of the run.
    n_redrawn : int
        Draws that were rejected and redrawn because together they break a rule of the scenario.
    rule : str
        A rule that they break, where every draw breaks one; empty otherwise.
    label : str
        What the range is of.
    """

    scenario: Scenario
    inputs: tuple[Assumed, ...]
    shares: tuple[float, ...]
    ettr: float
    values: np.ndarray
    n_draws: int
    at_half: float | None
    at_twice: float | None
    agrees: bool = True
    n_redrawn: int = 0
    rule: str = ""
    label: str = THIS_RATE

    @cached_property
    def sourced(self) -> bool:
        """Whether at least half of the ranges have a source: others do not make a range that is worth printing."""
        drawn = [one for one in self.inputs if one.field != INTERVAL]  # which the plan chooses
        return bool(self.inputs) and 2 * sum(bool(one.source) for one in drawn) >= len(drawn)

    @cached_property
    def range(self) -> tuple[float, float] | None:
        """ETTR between its 5th and 95th percentile, as far as the answer itself; None where most have no source."""
        if not self.sourced or self.values.size < FEWEST:
            return None
        return range_of(self.values, self.ettr if self.agrees else None)

    @property
    def leading(self) -> Assumed | None:
        """The input that matters most."""
        return self.inputs[0] if self.inputs else None

    @property
    def condition(self) -> str:
        """What some of the draws did not agree with, as part of a sentence; empty if all did."""
        return condition_of(self.scenario) if self.values.size < self.n_draws else ""

    @property
    def words(self) -> str:
        """The range as a headline carries it, e.g. ``plausible range 86 to 93%; mostly the detection time``."""
        leading = self.leading
        if leading is None:
            return "no input is assumed"
        if not self.n_draws:
            return f"no plausible range: every draw of the assumed inputs breaks a rule: {self.rule}"
        given = f", given {self.condition}" if self.condition else ""
        if self.range is None:
            if self.at_half is None or self.at_twice is None:
                return f"no range: the assumed inputs contradict {self.condition}"
            ends = f"{pct(self.at_half, 0)} or {pct(self.at_twice, 0)}"
            return f"{ends} with half or twice {leading.name} (assumed)"
        low, high = self.range
        redrawn = self.n_redrawn / (self.n_redrawn + self.n_draws)
        noted = f"; {pct(redrawn, 0)} of the draws broke a rule and were redrawn" if redrawn > _WORTH_SAYING else ""
        where = f" {self.label}" if self.label == ACROSS or rate_is_from_elsewhere(self.scenario) else ""
        return f"plausible range {span(low, high)}{where}{given}; mostly {leading.name}{noted}"

    @property
    def short_words(self) -> str:
        """The range and what it is of, beside another."""
        return f"{span(*self.range)} {self.label}" if self.range else f"no range {self.label}"

    @property
    def headline(self) -> str:
        """The ETTR and its range."""
        return f"ETTR {pct(self.ettr)}, {self.words}"

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        low, high = self.range or (None, None)
        record = {
            "label": self.label,
            "ettr": self.ettr,
            "low": low,
            "high": high,
            "leading": self.leading.field if self.leading else None,
            "at_half": self.at_half,
            "at_twice": self.at_twice,
            "given": self.condition,
            "n_draws": self.n_draws,
            "n_kept": self.values.size,
            "n_redrawn": self.n_redrawn,
            "inputs": [
                vars(one) | {"share_of_range": share} for one, share in zip(self.inputs, self.shares, strict=True)
            ],
        }
        return dict(plain_values(record))

    def report(self) -> Report:
        """Every assumed input with its range, the one that matters most first."""
        if not self.inputs:
            return [Headline("Nothing is assumed")]
        rows = [
            (
                one.field,
                f"{limit(one.value)} {one.unit}".strip(),
                f"{limit(one.low)} to {limit(one.high)}",
                f"{share:.0%}",
                one.source or "range assumed",
            )
            for one, share in zip(self.inputs, self.shares, strict=True)
        ]
        columns = ("assumed", "value", "range", "of the range", "source")
        return [Headline(self.headline), Table(columns, rows, words=("source",))]


def span(low: float, high: float) -> str:
    """A range of shares in the digits that tell its ends apart, e.g. ``86 to 93%``."""
    digits = 0 if round(100 * low) != round(100 * high) and high < 0.985 else 1
    ends = pct(low, digits), pct(high, digits)
    return ends[0] if ends[0] == ends[1] else f"{ends[0].removesuffix('%')} to {ends[1]}"


def condition_of(scenario: Scenario) -> str:
    """What is known of a run's ETTR, as part of a sentence; empty if nothing is."""
    at = scenario.measured.n_gpus if scenario.measured else None
    return known_of(scenario) + (f" on {gpus(at)}" if at and at != scenario.cluster.n_gpus else "")


def known_of(scenario: Scenario) -> str:
    """The same without the size that it was measured on."""
    known = scenario.measured
    if known is None:
        return ""
    origins = (scenario.evidence.get(f"measured.{name}") for name in ("ettr", "ettr_above", "ettr_below"))
    by = "published" if any(origin and origin.source for origin in origins) else "measured"
    if known.ettr is not None:
        return f"the {pct(known.ettr, 0)} {by}"
    bounds_of = [
        f"more than {pct(known.ettr_above, 0)}" if known.ettr_above is not None else "",
        f"up to {pct(known.ettr_below, 0)}" if known.ettr_below is not None else "",
    ]
    return f"{' and '.join(filter(None, bounds_of))}, as {by}"


def assumptions(scenario: Scenario, n: int = N_DRAWS, seed: Seed = 0) -> Assumptions:
    """What a plan assumes, and how far its ETTR may be off for that.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n : int
        Draws.
    seed : int or numpy.random.Generator
        Of the draws.

    Returns
    -------
    Assumptions
        The range of the ETTR at the plan's interval, from the 5th to the 95th percentile, and as far as the answer
        itself, which may take the best end of several ranges, unless it contradicts what is known.

    Raises
    ------
    InputError, NotModelled
        As :func:`ettr.budget.best_interval_min`.

    Examples
    --------
    >>> from ettr import Scenario, ranges
    >>> answer = ranges.assumptions(Scenario.load("llama3-405b"))
    >>> answer.range[0] < answer.ettr < answer.range[1]
    True
    """
    return _assumptions(scenario, n, seed, (), THIS_RATE)


def across_clusters(scenario: Scenario, n: int = N_DRAWS, seed: Seed = 0) -> Assumptions | None:
    """How far the ETTR of a plan may be off where its failure rate is that of another cluster.

    Parameters
    ----------
    scenario, n, seed
        As for :func:`assumptions`, whose draws these are.

    Returns
    -------
    Assumptions or None
        With the node failure rate drawn from published clusters, each once; None of a run whose rate is its own.

    Examples
    --------
    >>> from ettr import Scenario, ranges
    >>> run = Scenario.load("llama3-405b")
    >>> ranges.across_clusters(run) is None
    True
    >>> grown = run.override({"cluster.n_gpus": 100_000})
    >>> ranges.across_clusters(grown).range[0] < ranges.assumptions(grown).range[0]
    True
    """
    if not rate_is_from_elsewhere(scenario) or scenario.failure_rate == 0:
        return None
    return _assumptions(scenario, n, seed, (rate_across_clusters(scenario),), ACROSS)


def _assumptions(scenario: Scenario, n: int, seed: Seed, more: Sequence[Assumed], label: str) -> Assumptions:
    tau_h = best_h(any_interval(scenario))[0]
    ettr = float(ettr_at(scenario, {}, tau_h)[0])
    drawn = draws(scenario, n, seed, more, tau_h)
    if not drawn.inputs:
        return Assumptions(scenario, (), (), ettr, np.array([]), 0, None, None, label=label)
    order = np.argsort(-np.array(drawn.shares), kind="stable")
    half, twice = _half_and_twice(scenario, drawn.inputs[order[0]], tau_h)
    as_assumed = {assumed.field: np.array([assumed.value]) for assumed in drawn.inputs}
    return Assumptions(
        scenario,
        tuple(drawn.inputs[i] for i in order),
        tuple(drawn.shares[i] for i in order),
        ettr,
        drawn.ettr,
        drawn.n_valid,
        half,
        twice,
        bool(agrees_with_what_is_known(scenario, as_assumed)[0]),
        drawn.n_redrawn,
        drawn.rule,
        label,
    )


def _half_and_twice(scenario: Scenario, one: Assumed, tau_h: Any) -> tuple[float | None, float | None]:
    if one.field == INTERVAL or one.value == 0:
        return None, None
    half, twice = ettr_at(scenario, {one.field: np.array(around(one.field, one.value))}, tau_h).tolist()
    return None if math.isnan(half) else half, None if math.isnan(twice) else twice
