"""How much of what several mitigations gain together belongs to each, and how they get in each other's way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.recommendation.measures import difference, gains
from ettr.recommendation.study import Study

MOST = 12
"""Mitigations whose every subset is simulated."""


@dataclass(frozen=True, eq=False)
class Attribution:
    """What each of several mitigations adds to the days that they save together.

    Attributes
    ----------
    frame : DataFrame
        A row a mitigation, largest first: ``id``, ``title``, ``value`` with ``low`` and ``high`` (95%), ``alone`` (its
        gain without the others), ``last`` (its gain when all others are there).
    together : float
        Gain of all together, to which the values sum up.
    together_low, together_high : float
        Its 95% interval.
    """

    frame: pd.DataFrame
    together: float
    together_low: float
    together_high: float


def shapley(study: Study, ids: Iterable[str]) -> Attribution:
    r"""Share the days that mitigations save together among them by their Shapley values.

    Parameters
    ----------
    study : Study
        Scenario and seed, as from :func:`study`.
    ids : iterable of str
        Mitigations that go together, at most 12, since every subset is simulated; all are compared from one scenario,
        completed with what any of them needs.

    Returns
    -------
    Attribution
        Values that sum up to the common gain.

    Raises
    ------
    InputError
        No mitigation, more than 12, one that is unknown, two that do not go together.

    Notes
    -----
    The value of a mitigation is its gain over those that came before it, averaged over all orders:
    :math:`\sum_S \frac{|S|!\,(k-|S|-1)!}{k!} [v(S \cup i) - v(S)]`. It is worked out run by run, so that the interval
    over runs is that of the value.

    Examples
    --------
    >>> from ettr import Scenario, recommendation
    >>> study = recommendation.study(Scenario.load("llama3-405b"), n_runs=20)
    >>> shared = recommendation.shapley(study, ["lemon-removal", "peer-checkpoint"])
    >>> bool(abs(shared.frame["value"].sum() - shared.together) < 1e-9)
    True
    """
    names = [study.catalogue[name].id for name in dict.fromkeys(ids)]
    if not names:
        raise InputError("no mitigation to share a gain among: name two or more")
    if len(names) > MOST:
        raise InputError(f"at most {MOST} mitigations share a gain, as every subset is simulated, got {len(names)}")
    study.catalogue.check_together(names)
    study = study.together(names)
    subsets = [frozenset(subset) for k in range(len(names) + 1) for subset in itertools.combinations(names, k)]
    worth = {subset: gains(study.runs(), study.runs(subset), "days") for subset in subsets}
    everything = frozenset(names)
    rows = []
    for name in names:
        value = difference(_value(worth, name, len(names)))
        rows.append(
            {
                "id": name,
                "title": study.catalogue[name].title,
                "value": value.mean,
                "low": value.low,
                "high": value.high,
                "alone": worth[frozenset([name])].mean(),
                "last": (worth[everything] - worth[everything - {name}]).mean(),
            }
        )
    together = difference(worth[everything])
    return Attribution(
        frame=pd.DataFrame(rows).sort_values("value", ascending=False, ignore_index=True),
        together=together.mean,
        together_low=together.low,
        together_high=together.high,
    )


def _value(worth: Mapping[frozenset[str], np.ndarray], name: str, k: int) -> np.ndarray:
    """The value of one of k mitigations, by run."""
    without = [subset for subset in worth if name not in subset]
    weights = [1 / (k * math.comb(k - 1, len(subset))) for subset in without]
    added = [w * (worth[s | {name}] - worth[s]) for w, s in zip(weights, without, strict=True)]
    return np.asarray(np.sum(added, axis=0))
