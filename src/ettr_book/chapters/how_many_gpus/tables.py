"""Tables on the number of GPUs: yield and cost by size, step time, and published runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from ettr import sizing
from ettr.core.errors import InputError
from ettr.scaling import Layout, StepTime, usual_layers
from ettr.scenario import Scenario
from ettr.scenario.paths import N_GPUS
from ettr.sizing.yields import throughput_of
from ettr_book.chapters.common.runs import simplified

FASTEST, CHEAPEST, GREENEST = sizing.FASTEST, sizing.CHEAPEST, sizing.GREENEST
"""Goals of a best size."""
THIS_JOB = "this job"
LINEAR, THROUGHPUT, HEAT, USEFUL = "linear", "throughput", "with heat", "with failures"
"""Lines of the chart, each with one more loss: linear scaling, communication, the hottest GPU, and failures."""
TERMS = {
    "ideal_s": "computing, at the peak",
    "kernels_s": "kernels below the peak",
    "recompute_s": "recomputation",
    "tensor_s": "tensor-parallel communication",
    "context_s": "context-parallel communication",
    "bubble_s": "pipeline bubble",
    "handover_s": "pipeline send/recv",
    "data_s": "data-parallel all-reduce",
    "stragglers_s": "waiting for the slowest node",
}
"""Parts of a step in words, in the order of a chart."""
_SMALLER_MODELS = 405e9, 70e9, 8e9, 1e9
_BATCH_FACTORS = 1, 8, 64
_MOST_ROUNDED = 128
_SIZES_OF_COST, _BEYOND_FASTEST = 120, 2.0
_WHOLE_LAYERS = 8
_NEAR_SHARE = 0.2
"""Largest relative change of a size by rounding; if no such size fits, a smaller model is tried."""


@dataclass(frozen=True)
class GivenByTokens:
    """A job whose throughput can be computed at any size.

    Attributes
    ----------
    scenario : Scenario
        The job, with its work in tokens.
    changes : tuple of str
        Assumptions, changes and dropped features, in words.
    """

    scenario: Scenario
    changes: tuple[str, ...] = ()


def given_by_tokens(scenario: Scenario, n_tokens: float = 15.6e12, n_parameters: float = 405e9) -> GivenByTokens:
    """Return the scenario in tokens, on a number of GPUs that fits a layout, for the exact model.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_tokens : float
        Tokens to train on, if the scenario has hours. [tokens]
    n_parameters : float
        Weights of the model in that case; smaller models are tried if it does not fit.

    Returns
    -------
    GivenByTokens
        The job and its changes.

    Raises
    ------
    InputError
        Neither the model nor a smaller one fits, or a number is invalid.
    """
    simpler = simplified(scenario)
    changes = tuple(f"without {words}" for words in simpler.left_out)
    run = simpler.scenario
    if run.throughput is not None:
        return GivenByTokens(run, changes)
    node, size = run.cluster.gpus_per_node, run.cluster.n_gpus
    sizes = _near(size, node)
    weights = [n_parameters, *(less for less in _SMALLER_MODELS if less < n_parameters)]
    problem: InputError | None = None
    for factor, n_weights, near in itertools.product(_BATCH_FACTORS, weights, sizes):
        changed = {"job.tokens": n_tokens, "model": _model(n_weights, factor), N_GPUS: near}
        try:
            job = run.override(changed)
        except InputError as error:
            problem = problem or error
            continue
        return GivenByTokens(job, (*changes, *_changes_made(job, run, n_parameters, factor)))
    assert problem is not None
    raise problem


def _model(n_parameters: float, factor: int) -> dict[str, float]:
    """Return a model whose depth suits many pipeline sizes; the usual depth may be a prime."""
    layers = max(round(usual_layers(n_parameters) / _WHOLE_LAYERS), 1) * _WHOLE_LAYERS
    batch = {"batch_tokens": factor * 2.0**24} if factor > 1 else {}
    return {"n_parameters": n_parameters, "n_layers": layers, **batch}


def _near(size: int, node: int) -> list[int]:
    """Return the size and the nearest multiples of 1, 2, 4 to 128 nodes that are close enough. [GPUs]"""
    steps = [node * 2**i for i in range(_MOST_ROUNDED.bit_length())]
    near = [size, *(max(round(size / step), 1) * step for step in steps)]
    return list(dict.fromkeys(candidate for candidate in near if abs(candidate - size) <= _NEAR_SHARE * size))


def _changes_made(job: Scenario, run: Scenario, n_parameters: float, factor: int) -> list[str]:
    model = job.model
    assert model is not None
    assert job.job.tokens is not None
    changes = [f"{job.job.tokens / 1e12:.3g} trillion tokens, since the scenario has hours"]
    weights = f"a dense model of {model.n_parameters / 1e9:.3g} billion parameters in {model.n_layers} layers"
    if model.n_parameters < n_parameters:
        weights += f", since {n_parameters / 1e9:.3g} billion do not fit"
    changes.append(weights)
    if job.power is None and job.heat is None:
        changes.append(f"GPUs taken to be {job.part.title}")
    if factor > 1:
        changes.append(f"batches of {model.batch_tokens / 1e6:,.0f} million tokens, since smaller ones leave GPUs idle")
    if job.cluster.n_gpus != run.cluster.n_gpus:
        changes.append(f"{job.cluster.n_gpus:,} GPUs, since no layout divides {run.cluster.n_gpus:,}")
    return changes


def returns_by_size(run: Scenario, n_draws: int = 200) -> pd.DataFrame:
    """Return tokens per day by size: ideal, at full speed, in the heat, and with failures.

    Parameters
    ----------
    run : Scenario
        A job with its work in tokens.
    n_draws : int
        Draws of the band.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``line`` (``linear``, ``throughput``, ``with heat``, ``with failures``), ``tokens_per_day``,
        ``low`` and ``high`` (90%, of the last line only) [tokens/d], ``ettr``, ``layout``. The line with heat is left
        out if heat costs nothing; sizes without yield are left out, too.
    """
    curve = sizing.curve(run, n_draws=n_draws)
    curve = curve[curve["useful_tokens_per_day"] > 0]
    per_gpu = (curve["tokens_per_day"] / curve["n_gpus"]).max()
    through = throughput_of(run)
    counted = through.n_tokens / through.tokens_needed
    lines = {
        LINEAR: curve["n_gpus"] * per_gpu * counted,
        THROUGHPUT: curve["tokens_per_day"] * counted,
        HEAT: curve["tokens_per_day"] * curve["speed"] * counted,
        USEFUL: curve["useful_tokens_per_day"],
    }
    if (curve["speed"] > 1 - 1e-9).all():
        del lines[HEAT]
    frames = [
        curve[["n_gpus", "ettr", "layout"]].assign(
            line=line,
            tokens_per_day=values,
            low=curve["useful_tokens_per_day_low"] if line == USEFUL else np.nan,
            high=curve["useful_tokens_per_day_high"] if line == USEFUL else np.nan,
        )
        for line, values in lines.items()
    ]
    return pd.concat(frames, ignore_index=True)


def step_by_size(run: Scenario, also: Iterable[float] = (), n_sizes: int = 60) -> pd.DataFrame:
    """Return the parts of a step by size, each with its fastest layout.

    Parameters
    ----------
    run : Scenario
        A job with its work in tokens.
    also : iterable of float
        Further sizes to include. [GPUs]
    n_sizes : int
        Number of other sizes.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``term`` (in words), ``seconds`` [s], ``share``, ``layout``; without sizes that no layout
        fits, and without terms that are zero everywhere.
    """
    through = throughput_of(run)
    sizes = np.union1d(np.geomspace(*sizing.range_gpus(run), n_sizes), [run.cluster.n_gpus, *also])
    chosen = through.fastest(sizes)
    fits = np.asarray(chosen.tensor) > 0
    sizes, chosen = sizes[fits], _with_own(chosen.at(fits), sizes[fits], run)
    step = through.step(sizes, chosen)
    names = [str(chosen.at(i)) for i in range(sizes.size)]
    frames = [
        pd.DataFrame(
            {
                "n_gpus": sizes,
                "term": TERMS[field.name],
                "seconds": np.broadcast_to(getattr(step, field.name), sizes.shape),
                "share": getattr(step, field.name) / step.total_s,
                "layout": names,
            }
        )
        for field in fields(StepTime)
    ]
    return pd.concat([frame for frame in frames if (frame["seconds"] > 0).any()], ignore_index=True)


def on_size(run: Scenario, n_gpus: float) -> sizing.Yields:
    """Return the yield of a job on a size, with its own layout at its own size, else the fastest.

    Returns
    -------
    Yields
        Arrays of one place.
    """
    layout = run.layout_of_job if n_gpus == run.cluster.n_gpus else None
    return sizing.yields(run, np.array([float(n_gpus)]), None if layout is None else layout.one_axis())


def gain_of_doubling(run: Scenario) -> float | None:
    """Return useful tokens per day on twice the GPUs over those of the job; None if either is missing."""
    n_gpus = run.cluster.n_gpus
    smallest, largest = sizing.range_gpus(run)
    if not smallest <= n_gpus <= largest / 2:
        return None
    now, then = (_useful(run, size) for size in (n_gpus, 2 * n_gpus))
    return then / now if now > 0 and then > 0 else None


def _useful(run: Scenario, size: int) -> float:
    """Return useful tokens per day with the fastest layout of a size; 0 if it has none."""
    try:
        layout = throughput_of(run).fastest_dividing(size)
    except InputError:
        return 0.0
    return float(sizing.yields(run, np.array([float(size)]), layout.one_axis()).useful_tokens_per_day[0])


def _with_own(chosen: Layout, sizes: np.ndarray, run: Scenario) -> Layout:
    """Return the layouts, with the job's own at its own size."""
    layout = run.layout_of_job
    assert layout is not None
    is_size_of_job = sizes == run.cluster.n_gpus
    return Layout(
        **{name: np.where(is_size_of_job, getattr(layout, name), value) for name, value in vars(chosen).items()}
    )


def cost_by_size(run: Scenario) -> pd.DataFrame:
    """Return days and cost by size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``days``, ``cost``, ``unit`` of the cost (``USD``, or ``MWh`` of electricity without a
        price), ``power_mw`` [MW]. Up to twice the fastest size; sizes that never end are left out.

    Raises
    ------
    InputError
        No size ever ends.
    """
    low_gpus, high_gpus = sizing.range_gpus(run)
    sizes = np.geomspace(low_gpus, high_gpus, _SIZES_OF_COST)
    days = sizing.yields(run, sizes).days
    if not np.isfinite(days).any():
        raise InputError("no number of GPUs ever trains on all tokens")
    last = min(high_gpus, _BEYOND_FASTEST * sizes[days.argmin()])
    sizes = np.geomspace(low_gpus, last, _SIZES_OF_COST)
    at = sizing.yields(run, sizes)
    ends = np.isfinite(at.days)
    unit, cost = ("USD", at.usd) if (at.usd[ends] > 0).any() else ("MWh", at.mwh)
    curve = pd.DataFrame({"n_gpus": sizes, "days": at.days, "power_mw": at.power_mw, "cost": cost, "unit": unit})
    return curve[ends]


_PATIENCE = 2.0
"""Longest acceptable duration, as a multiple of the shortest (assumed)."""


def in_time(run: Scenario, answer: sizing.Sizing) -> sizing.BestSize | None:
    """Return the cheapest size within twice the shortest time, or the one with least CO2 if there is no price."""
    goal = next((goal for goal in (CHEAPEST, GREENEST) if goal in answer.best), None)
    if goal is None:
        return None
    days = float(answer.best[FASTEST].yields.days) * _PATIENCE
    return sizing.best(run, goal, sizing.SizingLimits(deadline_days=days), sizing.draws(run, 100))


def marked_sizes(run: Scenario, answer: sizing.Sizing, patient: sizing.BestSize | None, unit: str) -> pd.DataFrame:
    """Return the sizes that the cost chart marks: ``goal`` (in words), ``n_gpus`` [GPUs], ``days``, ``cost``."""
    cost = "usd" if unit == "USD" else "mwh"
    yields = on_size(run, run.cluster.n_gpus)
    rows = [(THIS_JOB, float(run.cluster.n_gpus), float(yields.days[0]), float(getattr(yields, cost)[0]))]
    for goal, best_size in (("fastest", answer.best[FASTEST]), ("in twice the time of the fastest", patient)):
        if best_size is not None and best_size.n_gpus != run.cluster.n_gpus:
            rows.append(
                (goal, float(best_size.n_gpus), float(best_size.yields.days), float(getattr(best_size.yields, cost)))
            )
    marked = pd.DataFrame(rows, columns=["goal", "n_gpus", "days", "cost"])
    return marked[np.isfinite(marked["days"])].drop_duplicates("n_gpus")
