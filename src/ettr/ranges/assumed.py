"""The plausible range of a plan's ETTR, across the plausible ranges of its assumed inputs together."""

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
from ettr.core.sentences import gpus, joined_range, limit, pct
from ettr.ranges.drawing import FEWEST, N_DRAWS, agrees_with_measured, draws, ettr_at, range_of
from ettr.ranges.inputs import Assumed, around, rate_across_clusters, rate_is_from_elsewhere
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL

THIS_RATE, ACROSS = "with this node failure rate", "across published clusters"
"""Labels of the two ranges: at the run's own failure rate, and with the failure rates of published clusters."""
RANGE_WORDS = "plausible range {range}{where}{condition}; largest uncertainty: {leading}{noted}"
_WORTH_SAYING = 0.05
"""Share of redrawn points above which the text of a range mentions them."""


@dataclass(frozen=True, eq=False, repr=False)
class Assumptions(Answer):
    """The assumed inputs of a plan, and the plausible range of its ETTR.

    Attributes
    ----------
    scenario : Scenario
        The run.
    inputs : tuple of Assumed
        The assumed inputs, the one that matters most first.
    shares : tuple of float
        Share of the variance that each input explains alone: the square of its correlation with the ETTR over all
        draws.
    ettr : float
        ETTR at the plan's interval with every input at its assumed value.
    values : ndarray
        ETTR of each draw that agrees with the measured or published ETTR of the run.
    n_draws : int
        Valid draws, including those that contradict it.
    at_half, at_twice : float or None
        ETTR with half and twice the input that matters most.
    agrees : bool
        Whether the assumed values themselves agree with the measured or published ETTR.
    n_redrawn : int
        Draws that were rejected and redrawn because their values break a rule of the scenario together.
    rule : str
        A rule that they break, where every draw breaks one; empty otherwise.
    label : str
        The failure rates that the range is for.

    Examples
    --------
    >>> from ettr import ranges
    >>> answer = ranges.assumptions(Scenario.load("llama3-405b"))
    >>> answer.leading.field, round(answer.ettr, 2)
    ('recovery.restart_min', 0.91)
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
        """Whether at least half of the inputs have a published range; otherwise the range is not worth printing."""
        drawn = [assumed for assumed in self.inputs if assumed.field != INTERVAL]  # which the plan chooses
        return bool(self.inputs) and 2 * sum(bool(assumed.source) for assumed in drawn) >= len(drawn)

    @cached_property
    def range(self) -> tuple[float, float] | None:
        """Plausible range of the ETTR: 5th to 95th percentile, extended to the answer; None unless :attr:`sourced`."""
        if not self.sourced or self.values.size < FEWEST:
            return None
        return range_of(self.values, self.ettr if self.agrees else None)

    @property
    def leading(self) -> Assumed | None:
        """The input that matters most."""
        return self.inputs[0] if self.inputs else None

    @property
    def condition(self) -> str:
        """The measured or published ETTR that some draws contradict, as part of a sentence; empty if none did."""
        return condition_of(self.scenario) if self.values.size < self.n_draws else ""

    @property
    def words(self) -> str:
        """The range as part of a sentence, e.g. ``plausible range 86-93%; largest uncertainty: detection time``."""
        if self.leading is None:
            return "no input is assumed"
        leading = self.leading.name.removeprefix("the ")
        if not self.n_draws:
            return f"no plausible range: every draw of the assumed inputs breaks a rule: {self.rule}"
        condition = f", given {self.condition}" if self.condition else ""
        if self.range is None:
            if self.at_half is None or self.at_twice is None:
                return f"no plausible range: the assumed inputs contradict {self.condition}"
            return f"{pct(self.at_half, 0)} with half, {pct(self.at_twice, 0)} with twice the assumed {leading}"
        low, high = self.range
        redrawn = self.n_redrawn / (self.n_redrawn + self.n_draws)
        noted = f"; {pct(redrawn, 0)} of the draws broke a rule and were redrawn" if redrawn > _WORTH_SAYING else ""
        where = f" {self.label}" if self.label == ACROSS or rate_is_from_elsewhere(self.scenario) else ""
        return RANGE_WORDS.format(
            range=span_of_ettr(low, high), where=where, condition=condition, leading=leading, noted=noted
        )

    @property
    def short_words(self) -> str:
        """The range and its label, to follow another range."""
        return f"{span_of_ettr(*self.range)} {self.label}" if self.range else f"no range {self.label}"

    @property
    def headline(self) -> str:
        """The ETTR and its range."""
        return f"ETTR {pct(self.ettr)}, {self.words}"

    def to_dict(self) -> dict[str, Any]:
        """Return the range, its label and the assumed inputs for JSON."""
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
                vars(assumed) | {"share_of_range": share}
                for assumed, share in zip(self.inputs, self.shares, strict=True)
            ],
        }
        return dict(plain_values(record))

    def report(self) -> Report:
        """Return a table of the assumed inputs with their ranges, the one that matters most first."""
        if not self.inputs:
            return [Headline("Nothing is assumed")]
        rows = [
            (
                assumed.field,
                f"{limit(assumed.value)} {assumed.unit}".strip(),
                joined_range(limit(assumed.low), limit(assumed.high)),
                f"{share:.0%}",
                assumed.source or "range assumed",
            )
            for assumed, share in zip(self.inputs, self.shares, strict=True)
        ]
        columns = ("assumed input", "value", "plausible range", "share of the ETTR's variance", "source")
        return [Headline(self.headline), Table(columns, rows, words=("source",))]


def span_of_ettr(low: float, high: float) -> str:
    """Return a range of fractions in per cent, with a decimal only where the ends need one, e.g. ``86-93%``."""
    digits = 0 if round(100 * low) != round(100 * high) and high < 0.985 else 1
    return joined_range(pct(low, digits), pct(high, digits))


def condition_of(scenario: Scenario) -> str:
    """Return the measured or published ETTR of a run as part of a sentence; empty if there is none."""
    at = scenario.measured.n_gpus if scenario.measured else None
    return measured_words(scenario) + (f" on {gpus(at)}" if at and at != scenario.cluster.n_gpus else "")


def measured_words(scenario: Scenario) -> str:
    """Return the measured or published ETTR in words, without the size of that run; empty if there is none."""
    measured = scenario.measured
    if measured is None:
        return ""
    origins = (scenario.evidence.get(f"measured.{name}") for name in ("ettr", "ettr_above", "ettr_below"))
    by = "published" if any(origin and origin.source for origin in origins) else "measured"
    if measured.ettr is not None:
        return f"the {by} ETTR of {pct(measured.ettr, 0)}"
    bounds_of = [
        f"above {pct(measured.ettr_above, 0)}" if measured.ettr_above is not None else "",
        f"up to {pct(measured.ettr_below, 0)}" if measured.ettr_below is not None else "",
    ]
    return f"the {by} ETTR {' and '.join(filter(None, bounds_of))}"


def assumptions(scenario: Scenario, n: int = N_DRAWS, seed: Seed = 0) -> Assumptions:
    """Return the assumed inputs of a plan, and the plausible range of its ETTR.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n : int
        Number of draws.
    seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Assumptions
        The range of the ETTR at the plan's interval, from the 5th to the 95th percentile, extended to the ETTR at the
        assumed values unless that contradicts the measured or published ETTR.

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
    """Return the plausible range of a plan's ETTR if its failure rate is that of another cluster.

    Parameters
    ----------
    scenario, n, seed
        As for :func:`assumptions`, whose draws these are.

    Returns
    -------
    Assumptions or None
        With the node failure rate drawn from published clusters, each equally likely; None for a run whose failure
        rate was observed on the run itself.

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


def _assumptions(scenario: Scenario, n: int, seed: Seed, extra: Sequence[Assumed], label: str) -> Assumptions:
    tau_h = best_h(any_interval(scenario))[0]
    ettr = float(ettr_at(scenario, {}, tau_h)[0])
    drawn = draws(scenario, n, seed, extra, tau_h)
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
        bool(agrees_with_measured(scenario, as_assumed)[0]),
        drawn.n_redrawn,
        drawn.rule,
        label,
    )


def _half_and_twice(scenario: Scenario, assumed: Assumed, tau_h: Any) -> tuple[float | None, float | None]:
    """Return the ETTR with half and with twice an assumed input; None where that breaks a rule."""
    if assumed.field == INTERVAL or assumed.value == 0:
        return None, None
    half, twice = ettr_at(scenario, {assumed.field: np.array(around(assumed.field, assumed.value))}, tau_h).tolist()
    return None if math.isnan(half) else half, None if math.isnan(twice) else twice
