"""The batch that is worth most on a number of GPUs, and what it costs in tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ettr.budget.intervals import job_mttf_h
from ettr.core.errors import InputError
from ettr.scaling import tokens_factor
from ettr.scenario import Scenario
from ettr.sizing.yields import throughput_of, yields

_DOUBLINGS = 10
_KEPT = ("useful_tokens_per_day", "days", "ettr", "mfu", "power_mw", "usd", "mwh", "speed", "interval_min")


def best_batch(scenario: Scenario, n_gpus: Any) -> pd.DataFrame:
    r"""The batch with the most useful tokens a day at each size, among doublings of the scenario's.

    A larger batch gives more replicas something to do, and needs more tokens to the same loss.

    Parameters
    ----------
    scenario : Scenario
        A job given by its tokens.
    n_gpus : float or array-like
        Sizes, taken as continuous. [GPUs]

    Returns
    -------
    DataFrame
        A row a size: ``n_gpus`` [GPUs], ``batch_tokens`` [tokens], ``tokens_factor`` (tokens over those that the
        reference batch needs), ``layout`` (in words; empty where no batch that is tried is enough for the size),
        ``mttf_h`` (of the job) [h], and of ``Yields`` ``useful_tokens_per_day``, ``days``, ``ettr``, ``mfu``,
        ``power_mw``, ``usd``, ``mwh``, ``speed`` and ``interval_min``.

    Raises
    ------
    InputError
        The job is given by its hours, a size below one node, or not finite.

    Notes
    -----
    Tried are the scenario's batch and up to ten doublings of it. The price in tokens is that of
    ``ettr.scaling.tokens_factor``.

    Examples
    --------
    >>> from ettr import Scenario, sizing
    >>> table = sizing.best_batch(Scenario.load("llama3-405b-tokens"), [16384, 1e6])
    >>> (table["batch_tokens"] / 2**24).tolist()[0] <= (table["batch_tokens"] / 2**24).tolist()[1]
    True
    """
    sizes = np.atleast_1d(np.asarray(n_gpus, dtype=float))
    if not np.isfinite(sizes).all():
        raise InputError("n_gpus must be finite")
    through = throughput_of(scenario)
    batches = through.batch_tokens * 2.0 ** np.arange(_DOUBLINGS + 1)
    layouts = [replace(through, batch_tokens=batch).fastest(sizes) for batch in batches]
    of_each = [
        yields(scenario, sizes, layout, batch_tokens=batch) for layout, batch in zip(layouts, batches, strict=True)
    ]
    chosen = np.argmax([yielded.useful_tokens_per_day for yielded in of_each], axis=0)
    fastest = [layouts[number].at(i) for i, number in enumerate(chosen)]
    best = batches[chosen]
    return pd.DataFrame(
        {
            "n_gpus": sizes,
            "batch_tokens": best,
            "tokens_factor": tokens_factor(best, through.critical_batch_tokens, through.reference_batch_tokens),
            "layout": [str(layout) if layout.tensor else "" for layout in fastest],
            "mttf_h": job_mttf_h(scenario, sizes),
            **{name: np.choose(chosen, [getattr(yielded, name) for yielded in of_each]) for name in _KEPT},
        }
    )
