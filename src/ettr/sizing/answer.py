"""The number of GPUs for a job: the fastest, cheapest and greenest sizes, and the gain from one more GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.report import Answer, Headline, Note, Report, plain_values, table_of
from ettr.core.seeds import Seed
from ettr.core.sentences import joined_range, number, pct
from ettr.scenario import Scenario
from ettr.sizing.bands import N_DRAWS, TAILS, draws, yields_of_draws
from ettr.sizing.goals import FASTEST, GOALS, BestSize, SizingLimits, best
from ettr.sizing.next_gpu import NextGpu, batch_ends, next_gpu, range_gpus, turning_point
from ettr.sizing.yields import Yields, throughput_of, yields

_GAIN = 0.02
_COLUMNS = {
    "size": "{name}",
    "GPUs": "{n_gpus:,.0f}",
    "90% interval": "{within}",
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
    """The best sizes of a job, and the gain from one more GPU.

    Attributes
    ----------
    scenario : Scenario
        The job.
    limits : SizingLimits
        Limits that the best sizes meet.
    best : dict of str to BestSize
        Best size by goal; goals for which all sizes are equal are absent.
    unanswered : dict of str to str
        Why a goal is absent.
    next : NextGpu
        Marginal throughput of one more GPU at the current size.
    turning_gpus : int or None
        Size from which one more GPU slows the job down; None if more is better up to ``most_gpus``. [GPUs]
    batch_ends : bool
        Whether that is because each replica has one micro-batch left.
    most_gpus : float
        Size at which each replica has one micro-batch left. [GPUs]
    at_current : Yields
        Throughput and costs at the current size with the best interval, single values.
    layout : str
        Parallel layout at the current size, in words.
    better_gpus, better_gain : int or None, float
        A size of at most as many GPUs that is more than 2% faster because its layouts divide better, and its gain.
        [GPUs]
    batch_tokens : float
        Batch at the current size, in whole micro-batches. [tokens]
    band_source : str
        Origin of the 90% intervals, as part of a sentence.

    Examples
    --------
    >>> from ettr import sizing
    >>> answer = sizing.make(Scenario.load("llama3-405b-tokens"))
    >>> answer.best["cheapest"].n_gpus < answer.best["fastest"].n_gpus
    True
    """

    scenario: Scenario
    limits: SizingLimits
    best: dict[str, BestSize]
    unanswered: dict[str, str]
    next: NextGpu
    turning_gpus: int | None
    batch_ends: bool
    most_gpus: float
    at_current: Yields
    layout: str
    better_gpus: int | None
    better_gain: float
    batch_tokens: float
    band_source: str

    def to_dict(self) -> dict[str, Any]:
        """Return the sizes and the gain from one more GPU for JSON."""
        record = {
            "limits": self.limits.active,
            "as_given": {"layout": self.layout, "batch_tokens": self.batch_tokens, **vars(self.at_current)},
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
        """The current size of the job, and the fastest."""
        n_gpus, fastest = self.scenario.cluster.n_gpus, self.best[FASTEST].n_gpus
        return f"{self.scenario.name}: {n_gpus:,} GPUs now, fastest with {float(fastest):,.0f} GPUs"

    def report(self) -> Report:
        """Return a table of the best sizes by goal, and the gain from one more GPU."""
        current = {"name": "current", "within": "", **vars(self.at_current)}
        within = {
            goal: joined_range(number(size.n_gpus_low), number(size.n_gpus_high)) for goal, size in self.best.items()
        }
        best = [{"name": goal, "within": within[goal], **vars(size.yields)} for goal, size in self.best.items()]
        rows = pd.DataFrame([current, *best]).assign(
            million_usd=lambda row: row["usd"] / 1e6, gwh=lambda row: row["mwh"] / 1e3
        )
        bands = Note(f"The 90% intervals come {self.band_source}.", dim=True)
        return [Headline("How many GPUs"), table_of(rows, _COLUMNS), *map(Note, _lines(self)), bands]


def _lines(answer: Sizing) -> list[str]:
    """Return the sentences below the table."""
    texts = [_next(answer)]
    if answer.batch_ends:
        ends = answer.most_gpus if answer.turning_gpus is None else answer.turning_gpus
        texts.append(f"More GPUs are faster up to {ends:,.0f} GPUs, where each replica has one micro-batch left.")
    else:
        texts.append(f"From {answer.turning_gpus:,} GPUs on, one more GPU slows the job down.")
    texts.append(
        f"Layout at the current size: {answer.layout}, batch {number(answer.batch_tokens / 1e6)} million tokens."
    )
    if answer.better_gpus:
        texts.append(f"With only {answer.better_gpus:,} of these GPUs the job is {pct(answer.better_gain)} faster.")
    texts += [f"Layout of the {goal} size: {size.layout}." for goal, size in answer.best.items()]
    if answer.limits.deadline_days is None and len(answer.best) > 1:
        texts.append("Without a deadline the cheapest and greenest sizes are small, however long the job takes.")
    if answer.limits.active:
        limits = ", ".join(f"{name} {value:,.6g}" for name, value in answer.limits.active.items())
        texts.append(f"Limits: {limits}.")
    texts += [f"No {goal} size: {reason}." for goal, reason in answer.unanswered.items()]
    return texts


def _next(answer: Sizing) -> str:
    share, n_gpus = answer.next.share, answer.scenario.cluster.n_gpus
    if answer.next.mean_tokens_per_day == 0:
        return f"With {n_gpus:,} GPUs the job never ends."
    if math.isnan(share):
        return f"The batch has no work for more than {n_gpus:,} GPUs."
    effect = f"adds {pct(share)}" if share >= 0 else f"costs {pct(-share)}"
    mean = number(answer.next.mean_tokens_per_day / 1e6)
    return (
        f"One more GPU {effect} of the average throughput per GPU ({mean} million tokens per day with {n_gpus:,} GPUs; "
        "sizes treated as continuous)."
    )


def make(scenario: Scenario, limits: SizingLimits | None = None, seed: Seed = 0) -> Sizing:
    """Return the best sizes of a job, and the gain from one more GPU.

    Parameters
    ----------
    scenario : Scenario
        A job defined by its tokens.
    limits : SizingLimits, optional
        Power, budget, deadline or available GPUs.
    seed : int or numpy.random.Generator
        Seed of the 90% intervals.

    Returns
    -------
    Sizing
        Best sizes by goal with 90% intervals, the gain from one more GPU, and the size where that turns negative.

    Raises
    ------
    InputError
        The job is defined by its hours, the model fits no number of GPUs, or no size meets the limits.

    Examples
    --------
    >>> from ettr import Scenario, sizing
    >>> answer = sizing.make(Scenario.load("llama3-405b-tokens"), sizing.SizingLimits(power_mw=30))
    >>> bool(answer.best["fastest"].yields.power_mw <= 30)
    True
    """
    limits = limits or SizingLimits()
    drawn = draws(scenario, seed=seed)
    sizes_of_goals: dict[str, BestSize] = {}
    unanswered = {}
    for goal in GOALS:
        try:
            sizes_of_goals[goal] = best(scenario, goal, limits, drawn)
        except InputError as error:
            if goal == FASTEST:
                raise  # no size meets the limits, whatever the goal
            unanswered[goal] = str(error)
    through, layout = throughput_of(scenario), scenario.layout_of_job
    assert layout is not None
    size, turning = float(scenario.cluster.n_gpus), turning_point(scenario)
    current = yields(scenario, np.array([size]), layout.one_axis())
    fewer, layouts = through.divisible_sizes(size)
    fewer, layouts = fewer[fewer <= size], layouts.at(fewer <= size)
    per_s = np.asarray(through.tokens_per_s(fewer, layouts))
    better, gain = int(fewer[per_s.argmax()]), float(per_s.max() / through.tokens_per_s(size, layout) - 1)
    per_replica = float(layout.micro_batch) * size / float(layout.replica_gpus) * through.model.sequence_tokens
    return Sizing(
        scenario=scenario,
        limits=limits,
        best=sizes_of_goals,
        unanswered=unanswered,
        next=next_gpu(scenario),
        turning_gpus=turning,
        batch_ends=turning is None or batch_ends(scenario, turning),
        most_gpus=range_gpus(scenario)[1],
        at_current=current.each(lambda values: values[0]),
        layout=str(layout),
        better_gpus=better if gain > _GAIN else None,
        better_gain=gain if gain > _GAIN else 0.0,
        batch_tokens=max(1, round(through.batch_tokens / per_replica)) * per_replica,
        band_source=drawn.source,
    )


def curve(scenario: Scenario, n_gpus: Any = None, n_draws: int = N_DRAWS, seed: Seed = 0) -> pd.DataFrame:
    """Return throughput, ETTR, duration and costs by size, with 90% intervals.

    Parameters
    ----------
    scenario : Scenario
        A job defined by its tokens.
    n_gpus : array-like, optional
        Sizes, treated as continuous; by default 60 from the smallest that fits the model to the largest. [GPUs]
    n_draws : int
        Draws for the 90% intervals; 0 for none.
    seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    DataFrame
        A row per size: the columns of :class:`Yields`, ``layout`` (in words; empty where nothing fits),
        ``marginal_tokens_per_day`` (of one more GPU; missing if the batch has no work for it),
        ``usd_per_million_tokens``, ``kwh_per_million_tokens``, ``g_per_million_tokens``; and the ends ``_low`` and
        ``_high`` of 90% intervals of ``useful_tokens_per_day``, ``days``, ``usd``, ``mwh``, ``t_co2``, ``ettr`` and
        ``mfu``.

    Raises
    ------
    InputError
        The job is defined by its hours, or a size is below one node.

    Examples
    --------
    >>> from ettr import Scenario, sizing
    >>> table = sizing.curve(Scenario.load("llama3-405b-tokens"), [16384], n_draws=0)
    >>> table.loc[0, "layout"]
    'tensor 8, pipeline 16 with 8 virtual stages'
    """
    grid = np.geomspace(*range_gpus(scenario), 60) if n_gpus is None else n_gpus
    sizes = np.asarray(grid, dtype=float).ravel()
    chosen = throughput_of(scenario).fastest(sizes)
    at = yields(scenario, sizes, chosen)
    table = pd.DataFrame(vars(at))
    table["layout"] = [str(chosen.at(i)) if chosen.tensor[i] else "" for i in range(sizes.size)]
    with_one_more = yields(scenario, sizes + 1).useful_tokens_per_day
    gained = with_one_more - table["useful_tokens_per_day"]
    table["marginal_tokens_per_day"] = np.where(with_one_more > 0, gained, np.nan)
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
