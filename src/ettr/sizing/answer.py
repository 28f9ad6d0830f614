"""How many GPUs: the sizes that are fastest, cheapest and greenest, and what the next GPU adds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.report import Answer, Headline, Note, Report, plain_values, table_of
from ettr.core.seeds import Seed
from ettr.core.sentences import number, pct
from ettr.scenario import Scenario
from ettr.sizing.bands import N_DRAWS, TAILS, draws, yields_of_draws
from ettr.sizing.goals import FASTEST, GOALS, BestSize, SizingLimits, best
from ettr.sizing.next_gpu import NextGpu, batch_ends, next_gpu, range_gpus, turning_point
from ettr.sizing.yields import Yields, throughput_of, yields

_GAIN = 0.02
_COLUMNS = {
    "": "{name}",
    "GPUs": "{n_gpus:,.0f}",
    "90%": "{within}",
    "days": "{days:,.1f}",
    "million USD": "{million_usd:,.1f}",
    "GWh": "{gwh:,.1f}",
    "t CO2": "{t_co2:,.0f}",
    "MW": "{power_mw:,.1f}",
    "ETTR": "{ettr:.1%}",
    "MFU": "{mfu:.1%}",
}
_BANDED = ("useful_tokens_per_day", "days", "usd", "mwh", "t_co2", "ettr", "mfu")


@dataclass(frozen=True, repr=False)
class Sizing(Answer):
    """The answer to how many GPUs.

    Attributes
    ----------
    scenario : Scenario
        The job.
    limits : SizingLimits
        What the sizes keep.
    best : dict of str to BestSize
        By goal; a goal for which every size is as good as the other is left out.
    unanswered : dict of str to str
        Why a goal was left out.
    next : NextGpu
        What one more GPU adds to the job at its own size.
    turning_gpus : int or None
        Where the next GPU stops adding; None if more is better up to ``most_gpus``. [GPUs]
    batch_ends : bool
        It is the batch that ends there, or before: each replica has a single micro-batch left.
    most_gpus : float
        Where each replica has a single micro-batch left. [GPUs]
    as_given : Yields
        At the job's own size with the best interval there, single values.
    layout : str
        The cut there, in words.
    better_gpus, better_gain : int or None, float
        A size of no more GPUs that is faster by more than 2%, for its layouts divide better, and by how much. [GPUs]
    batch_tokens : float
        Batch there, of whole micro-batches. [tokens]
    band_source : str
        A part of a sentence: what the bands come from.
    """

    scenario: Scenario
    limits: SizingLimits
    best: dict[str, BestSize]
    unanswered: dict[str, str]
    next: NextGpu
    turning_gpus: int | None
    batch_ends: bool
    most_gpus: float
    as_given: Yields
    layout: str
    better_gpus: int | None
    better_gain: float
    batch_tokens: float
    band_source: str

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain numbers, for JSON."""
        record = {
            "limits": self.limits.given,
            "as_given": {"layout": self.layout, "batch_tokens": self.batch_tokens, **vars(self.as_given)},
            "better": {"n_gpus": self.better_gpus, "gain": self.better_gain} if self.better_gpus else None,
            "next_gpu": {
                "mean_tokens_per_day": self.next.mean_tokens_per_day,
                "marginal_tokens_per_day": self.next.marginal_tokens_per_day,
                "share": self.next.share,
            },
            "turning_gpus": self.turning_gpus,
            "batch_ends": self.batch_ends,
            "most_gpus": self.most_gpus,
            "best": {
                goal: {
                    "layout": size.layout,
                    "n_gpus_90": [float(size.n_gpus_low), float(size.n_gpus_high)],
                    **vars(size.yields),
                    "low": size.low,
                    "high": size.high,
                }
                for goal, size in self.best.items()
            },
            "unanswered": self.unanswered,
            "band_source": self.band_source,
        }
        return dict(plain_values(record))

    @property
    def headline(self) -> str:
        """The size of the job, and the fastest."""
        n_gpus, fastest = self.scenario.cluster.n_gpus, self.best[FASTEST].n_gpus
        return f"{self.scenario.name}: {n_gpus:,} GPUs as given, {float(fastest):,.0f} are the fastest"

    def report(self) -> Report:
        """The best sizes by goal, and what the next GPU adds."""
        own = {"name": "this size", "within": "", **vars(self.as_given)}
        within = {goal: f"{number(size.n_gpus_low)} to {number(size.n_gpus_high)}" for goal, size in self.best.items()}
        best = [{"name": goal, "within": within[goal], **vars(size.yields)} for goal, size in self.best.items()]
        rows = pd.DataFrame([own, *best]).assign(
            million_usd=lambda row: row["usd"] / 1e6, gwh=lambda row: row["mwh"] / 1e3
        )
        bands = Note(f"The bands come {self.band_source}.", dim=True)
        return [Headline("How many GPUs"), table_of(rows, _COLUMNS), *map(Note, _lines(self)), bands]


def _lines(answer: Sizing) -> list[str]:
    """What the table does not show."""
    texts = [_next(answer)]
    if answer.batch_ends:
        ends = answer.most_gpus if answer.turning_gpus is None else answer.turning_gpus
        texts.append(
            f"More GPUs are faster up to {ends:,.0f}, where the batch leaves each replica a single micro-batch."
        )
    else:
        texts.append(f"From {answer.turning_gpus:,} GPUs on the next one takes more than it gives.")
    texts.append(
        f"Layout of this size: {answer.layout}, in batches of {number(answer.batch_tokens / 1e6)} million tokens."
    )
    if answer.better_gpus:
        texts.append(f"With {answer.better_gpus:,} of these GPUs it would be {pct(answer.better_gain)} faster.")
    texts += [f"Layout of the {goal}: {size.layout}." for goal, size in answer.best.items()]
    if answer.limits.deadline_days is None and len(answer.best) > 1:
        texts.append("Without a deadline the size that wastes least is small, however long it takes.")
    if answer.limits.given:
        kept = ", ".join(f"{name} {value:,.6g}" for name, value in answer.limits.given.items())
        texts.append(f"Limits kept: {kept}.")
    texts += [f"No {goal}: {reason}." for goal, reason in answer.unanswered.items()]
    return texts


def _next(answer: Sizing) -> str:
    share, n_gpus = answer.next.share, answer.scenario.cluster.n_gpus
    if answer.next.mean_tokens_per_day == 0:
        return f"With {n_gpus:,} GPUs the job would never end."
    if math.isnan(share):
        return f"The batch has no work for more than {n_gpus:,} GPUs."
    verb = f"adds {pct(share)}" if share >= 0 else f"takes {pct(-share)}"
    mean = number(answer.next.mean_tokens_per_day / 1e6)
    return (
        f"The next GPU {verb} of what one of {n_gpus:,} yields on average, {mean} million tokens a day, sizes taken as "
        "continuous."
    )


def make(scenario: Scenario, limits: SizingLimits | None = None, seed: Seed = 0) -> Sizing:
    """Say how many GPUs a job should have.

    Parameters
    ----------
    scenario : Scenario
        A job given by its tokens.
    limits : SizingLimits, optional
        Power, budget, deadline or GPUs that there are.
    seed : int or numpy.random.Generator
        Of the bands' random numbers.

    Returns
    -------
    Sizing
        Best sizes by goal with bands, the next GPU's worth, and where it turns.

    Raises
    ------
    InputError
        The job is given by its hours, the model fits no number of GPUs, or no size keeps the limits.

    Examples
    --------
    >>> from ettr import Scenario, sizing
    >>> answer = sizing.make(Scenario.load("llama3-405b-tokens"), sizing.SizingLimits(power_mw=30))
    >>> bool(answer.best["fastest"].yields.power_mw <= 30)
    True
    """
    kept = limits or SizingLimits()
    drawn = draws(scenario, seed=seed)
    sizes_of_goals: dict[str, BestSize] = {}
    unanswered = {}
    for goal in GOALS:
        try:
            sizes_of_goals[goal] = best(scenario, goal, kept, drawn)
        except InputError as error:
            if goal == FASTEST:
                raise  # the limits leave nothing, whatever the goal
            unanswered[goal] = str(error)
    through, layout = throughput_of(scenario), scenario.layout_of_job
    assert layout is not None
    size, turning = float(scenario.cluster.n_gpus), turning_point(scenario)
    own = yields(scenario, np.array([size]), layout.one_axis())
    fewer, layouts = through.divisible_sizes(size)
    fewer, layouts = fewer[fewer <= size], layouts.at(fewer <= size)
    per_s = np.asarray(through.tokens_per_s(fewer, layouts))
    better, gain = int(fewer[per_s.argmax()]), float(per_s.max() / through.tokens_per_s(size, layout) - 1)
    per_replica = float(layout.micro_batch) * size / float(layout.replica_gpus) * through.model.sequence_tokens
    return Sizing(
        scenario=scenario,
        limits=kept,
        best=sizes_of_goals,
        unanswered=unanswered,
        next=next_gpu(scenario),
        turning_gpus=turning,
        batch_ends=turning is None or batch_ends(scenario, turning),
        most_gpus=range_gpus(scenario)[1],
        as_given=own.each(lambda values: values[0]),
        layout=str(layout),
        better_gpus=better if gain > _GAIN else None,
        better_gain=gain if gain > _GAIN else 0.0,
        batch_tokens=max(1, round(through.batch_tokens / per_replica)) * per_replica,
        band_source=drawn.source,
    )


def curve(scenario: Scenario, n_gpus: Any = None, n_draws: int = N_DRAWS, seed: Seed = 0) -> pd.DataFrame:
    """Throughput, ETTR, duration and costs by size, with bands.

    Parameters
    ----------
    scenario : Scenario
        A job given by its tokens.
    n_gpus : array-like, optional
        Sizes, taken as continuous; 60 from the smallest that holds the model to the largest by default. [GPUs]
    n_draws : int
        Draws of the bands; 0 leaves them out.
    seed : int or numpy.random.Generator
        Of their random numbers.

    Returns
    -------
    DataFrame
        A row a size: the columns of :class:`Yields`, ``layout`` (in words; empty where nothing fits),
        ``marginal_tokens_per_day`` (what the next GPU adds; missing if the batch has no work for it),
        ``usd_per_million_tokens``, ``kwh_per_million_tokens``, ``g_per_million_tokens``; and ``_low`` and ``_high``,
        which hold a quantity with 90%, of ``useful_tokens_per_day``, ``days``, ``usd``, ``mwh``, ``t_co2``, ``ettr``
        and ``mfu``.

    Raises
    ------
    InputError
        The job is given by its hours, or a size below one node.

    Examples
    --------
    >>> from ettr import Scenario, sizing
    >>> table = sizing.curve(Scenario.load("llama3-405b-tokens"), [16384], n_draws=0)
    >>> table.loc[0, "layout"]
    'tensor 8, pipeline 16 with 8 virtual stages'
    """
    given = np.geomspace(*range_gpus(scenario), 60) if n_gpus is None else n_gpus
    sizes = np.asarray(given, dtype=float).ravel()
    chosen = throughput_of(scenario).fastest(sizes)
    at = yields(scenario, sizes, chosen)
    table = pd.DataFrame(vars(at))
    table["layout"] = [str(chosen.at(i)) if chosen.tensor[i] else "" for i in range(sizes.size)]
    more = yields(scenario, sizes + 1).useful_tokens_per_day
    table["marginal_tokens_per_day"] = np.where(more > 0, more - table["useful_tokens_per_day"], np.nan)
    tokens = throughput_of(scenario).n_tokens / 1e6
    table["usd_per_million_tokens"] = table["usd"] / tokens
    table["kwh_per_million_tokens"] = table["mwh"] * 1e3 / tokens
    table["g_per_million_tokens"] = table["t_co2"] * 1e6 / tokens
    if n_draws:
        drawn = yields_of_draws(scenario, sizes, draws(scenario, n_draws, seed))
        for name in _BANDED:
            ends = np.quantile(getattr(drawn, name), TAILS, axis=0, method="nearest")
            table[f"{name}_low"], table[f"{name}_high"] = ends
    return table
