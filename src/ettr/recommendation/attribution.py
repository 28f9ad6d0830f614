"""How much of what several mitigations gain together belongs to each, and how they get in each other's way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import InputError
from ettr.core.report import Answer, Headline, Report, plain_values, table_of
from ettr.recommendation.measures import UNITS, difference, gains
from ettr.recommendation.study import Study

MOST_EXACT = 12
"""Mitigations whose every subset is simulated."""
_ORDERS = 100
_SHARES = {
    "mitigation": "{id}",
    "share": "{value:,.4g}",
    "low": "{low:,.4g}",
    "high": "{high:,.4g}",
    "alone": "{alone:,.4g}",
    "after all others": "{last:,.4g}",
}


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Answer):
    """What each of several mitigations adds to their common gain.

    Attributes
    ----------
    frame : DataFrame
        A row a mitigation, largest first: ``id``, ``title``, ``value`` with ``low`` and ``high`` (95%), ``alone`` (its
        gain without the others), ``last`` (its gain when all others are there).
    measure : str
        Which gain.
    together : float
        Gain of all together, to which the values sum up.
    together_low, together_high : float
        Its 95% interval.
    method : {"exact", "sampled"}
        Over all subsets, or over orders drawn at random.
    n_scenarios : int
        Scenarios that were simulated.
    """

    frame: pd.DataFrame
    measure: str
    together: float
    together_low: float
    together_high: float
    method: Literal["exact", "sampled"]
    n_scenarios: int

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return dict(plain_values({**vars(self), "unit": UNITS[self.measure]}))

    @property
    def headline(self) -> str:
        """What all gain together."""
        return f"{len(self.frame)} mitigations gain {self._amount(self.together)} together"

    def _amount(self, value: float) -> str:
        return f"{value:,.4g} {UNITS[self.measure]}".rstrip()

    def report(self) -> Report:
        """What each adds, alone, last, and of what all gain together."""
        between = f"95%: {self._amount(self.together_low)} to {self._amount(self.together_high)}"
        return [
            Headline(f"Shares of {self._amount(self.together)} ({between})"),
            table_of(self.frame, _SHARES),
        ]


def shapley(
    study: Study,
    ids: Iterable[str],
    measure: str = "days",
    n_orders: int | None = None,
) -> Attribution:
    r"""Share the common gain of mitigations among them by their Shapley values.

    Parameters
    ----------
    study : Study
        Scenario and seed, as from :func:`study`.
    ids : iterable of str
        Mitigations that go together; all are compared from one scenario, completed with what any of them needs.
    measure : str
        Which gain: ``days``, ``ettr``, ``gpu_h``, ``usd`` or ``mwh``.
    n_orders : int, optional
        Orders to draw, each with its reverse; not given, all subsets are simulated up to 12 mitigations, and 100 orders
        are drawn above.

    Returns
    -------
    Attribution
        Values that sum up to the common gain.

    Raises
    ------
    InputError
        No mitigation, one that is unknown, two that do not go together.

    Notes
    -----
    The value of a mitigation is its gain over those that came before it, averaged over all orders:
    :math:`\sum_S \frac{|S|!\,(k-|S|-1)!}{k!} [v(S \cup i) - v(S)]`. It is worked out run by run, so that the interval
    over runs is that of the value; where orders are drawn, their error is added (Castro et al. 2009).

    Examples
    --------
    >>> from ettr import Scenario, recommendation
    >>> study = recommendation.study(Scenario.load("llama3-405b"), n_runs=20)
    >>> shared = recommendation.shapley(study, ["lemon-removal", "peer-checkpoint"])
    >>> bool(abs(shared.frame["value"].sum() - shared.together) < 1e-9), shared.method
    (True, 'exact')
    """
    names = study.named(ids, measure, "no mitigation to share a gain among: name two or more")
    study.catalogue.check_together(names)
    study = study.together(names)
    worth = _Worth(study, measure)
    exact = n_orders is None and len(names) <= MOST_EXACT
    if exact:
        by_run = _exact(worth, names)
        spread = np.zeros(len(names))
    else:
        by_run, spread = _sampled(worth, names, _ORDERS if n_orders is None else n_orders, study.seed)
    rows = []
    for i, name in enumerate(names):
        alone, last = worth([name]), worth(names) - worth([other for other in names if other != name])
        value = difference(by_run[i])
        half = scipy.special.stdtrit(study.n_runs - 1, 0.975) * math.hypot(value.error, spread[i])
        rows.append(
            {
                "id": name,
                "title": study.catalogue[name].title,
                "value": value.mean,
                "low": value.mean - half,
                "high": value.mean + half,
                "alone": alone.mean(),
                "last": last.mean(),
            }
        )
    together = difference(worth(names))
    return Attribution(
        frame=pd.DataFrame(rows).sort_values("value", ascending=False, ignore_index=True),
        measure=measure,
        together=together.mean,
        together_low=together.low,
        together_high=together.high,
        method="exact" if exact else "sampled",
        n_scenarios=worth.n_scenarios,
    )


class _Worth:
    """Gain of a set of mitigations, run by run."""

    def __init__(self, study: Study, measure: str) -> None:
        self._study, self._measure = study, measure
        self._seen: set[frozenset[str]] = set()

    def __call__(self, ids: Iterable[str]) -> np.ndarray:
        chosen = frozenset(ids)
        self._seen.add(chosen)
        return gains(self._study.runs(), self._study.runs(chosen), self._measure)

    @property
    def n_scenarios(self) -> int:
        """How many were asked for."""
        return len(self._seen)


def _exact(worth: _Worth, names: list[str]) -> np.ndarray:
    """Values by run, over all subsets."""
    k = len(names)
    subsets = [subset for size in range(k + 1) for subset in itertools.combinations(range(k), size)]
    of_set = {frozenset(subset): worth(names[i] for i in subset) for subset in subsets}
    values = []
    for i in range(k):
        others = [frozenset(subset) for subset in subsets if i not in subset]
        weights = [1 / (k * math.comb(k - 1, len(subset))) for subset in others]
        values.append(sum(w * (of_set[s | {i}] - of_set[s]) for w, s in zip(weights, others, strict=True)))
    return np.array(values)


def _sampled(worth: _Worth, names: list[str], n_orders: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values by run, and their standard errors over pairs of an order and its reverse."""
    if n_orders < 2:
        raise InputError(f"n_orders must be >= 2 to know an error, got {n_orders}")
    rng = np.random.default_rng(seed)
    means, total = [], np.zeros(())
    for _ in range(n_orders):
        order = rng.permutation(len(names))
        of_pair = (_of_order(worth, names, order) + _of_order(worth, names, order[::-1])) / 2
        means.append(of_pair.mean(axis=1))
        total = total + of_pair
    return total / n_orders, np.std(means, axis=0, ddof=1) / math.sqrt(n_orders)


def _of_order(worth: _Worth, names: list[str], order: np.ndarray) -> np.ndarray:
    """What each adds to those before it, by run."""
    gained = [worth(names[i] for i in order[:place]) for place in range(len(order) + 1)]
    return np.asarray(np.diff(gained, axis=0)[np.argsort(order)])
