"""The job of the chapter: a scenario with its work in tokens, on a size that fits a layout."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ettr.core.errors import InputError
from ettr.core.sentences import Finding, about, gpus, literal, number
from ettr.scaling import usual_layers
from ettr.scenario import Scenario
from ettr.scenario.paths import N_GPUS
from ettr.sizing import Sizing
from ettr_book.chapters.common.runs import simplified

_SMALLER_MODELS = 405e9, 70e9, 8e9, 1e9
_BATCH_FACTORS = 1, 8, 64
_MOST_ROUNDED = 128
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


def assumptions(job: GivenByTokens, answer: Sizing) -> Finding:
    """Return the assumptions and changes behind the job, and its layout."""
    run = job.scenario
    named = f"*{literal(run.title)}*"
    text = f"{named} defines its work in tokens, so its throughput can be computed at any size."
    if job.changes:
        text = f"{named} is used with these changes: {'; '.join(job.changes)}. Other missing values are defaults."
    better = ""
    if answer.better_gpus is not None:
        fewer, gain = gpus(answer.better_gpus), number(about(1 + answer.better_gain))
        better = f" Few layouts fit that number: with {fewer} it would be {gain} times as fast."
    return Finding("The job", f"{text} Its layout on {gpus(run.cluster.n_gpus)}: {answer.layout}.{better}")
