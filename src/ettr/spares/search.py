"""The least pool that is enough."""

from __future__ import annotations

import math
from collections.abc import Callable

from ettr.core.errors import InputError
from ettr.scenario import Scenario
from ettr.spares.cheapest import waiting_share
from ettr.spares.demand import demand
from ettr.spares.numbers import MOST_NODES

_HOPELESS = 1e6
"""Spares, over the nodes in repair, from which on more of them change nothing."""


def least(enough: Callable[[int], bool], guess: int = 0, most: float = float("inf")) -> int:
    """Least whole number that is enough, where every larger one is too.

    Parameters
    ----------
    enough : callable
        Whether a number from 0 on is; asked as seldom as possible.
    guess : int
        Where to begin.
    most : float
        A number that is known to be enough.

    Notes
    -----
    Steps that double, up or down from the guess, until the answer lies between two numbers; then bisection.

    Examples
    --------
    >>> least(lambda n_spares: n_spares >= 14, guess=3)
    14
    """
    step = 1
    if enough(guess):
        low, high = guess - step, guess
        while low >= 0 and enough(low):
            step *= 2
            low, high = low - step, low
        low = max(low, -1)
    else:
        low, high = guess, guess + step
        while high < most and not enough(high):
            step *= 2
            low, high = high, high + step
        high = int(min(high, most))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least_pool(scenario: Scenario, target_ettr: float) -> int | None:
    """Fewest hot spares that reach a target by the closed form; None if none do. [nodes]

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``.
    target_ettr : float
        The target, in (0, 1).

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    >>> least_pool(run, 0.9), least_pool(run, 0.95)
    (12, None)
    """
    if not 0 < target_ettr < 1:
        raise InputError(f"target_ettr must be between 0 and 1, got {target_ettr:g}")
    asked = demand(scenario)
    # crews that cannot keep up are not helped by more of them
    most = MOST_NODES / 2 if asked.own_crew is None else min(MOST_NODES / 2, _HOPELESS * max(asked.in_repair, 1.0))

    def reaches(n_spares: float) -> bool:
        waits = float(waiting_share(n_spares, asked.in_repair, asked.own_crew))
        return float(asked.expected.ettr) * (1 - waits) >= target_ettr

    return least(reaches, most=most) if reaches(math.floor(most)) else None
