"""The batch that is worth most on a number of GPUs, and what it costs in tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

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
    of_each = [yields(scenario, sizes, batch_tokens=batch) for batch in batches]
    useful = np.array([yielded.useful_tokens_per_day for yielded in of_each])
    chosen = useful.argmax(axis=0)
    rows = []
    for i, size in enumerate(sizes):
        yielded, batch = of_each[chosen[i]], float(batches[chosen[i]])
        at = {name: float(getattr(yielded, name)[i]) for name in _KEPT}
        rows.append(
            {
                "n_gpus": size,
                "batch_tokens": batch,
                "tokens_factor": tokens_factor(batch, through.critical_batch_tokens, through.reference_batch_tokens),
                "layout": _layout(scenario, size, batch),
                "mttf_h": _mttf_h(scenario, size),
                **at,
            }
        )
    return pd.DataFrame(rows)


def _layout(scenario: Scenario, size: float, batch: float) -> str:
    chosen = replace(throughput_of(scenario), batch_tokens=batch).fastest(size)
    return str(chosen) if chosen.tensor else ""


def _mttf_h(scenario: Scenario, size: float) -> float:
    nodes = size / scenario.cluster.gpus_per_node
    rate = float(scenario.node_rate_per_h * scenario.mode_exposure(nodes).sum())
    return 1 / rate if rate > 0 else np.inf
