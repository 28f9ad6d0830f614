"""Expected hours of a run with several tiers of checkpoints, by the linear equations of a Markov chain.

A state is the place of the fastest tier that was passed last, and the place of the last recovery: together they say
which copies are durable, and when the others will be. The chain takes the rules as ``simpy_model`` reads them, and
shares no formula with the package.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from simpy_model.rules import Rules, rules_of

_LONG_AGO = -(10**9)


def expected(scenario) -> dict[str, float]:
    """Return the hours by part between first arrivals at neighbouring checkpoints of the store."""
    run = rules_of(scenario)
    recovery = Recovery(run)
    n_steps, rate = run.tiers[-1].every, recovery.rate
    hours = {place: run.step + run.stall_at(place + 1) for place in range(-n_steps, n_steps)}
    states = [(place, start) for place in range(-n_steps, n_steps) for start in range(-n_steps, place + 1)]
    # a recovery before place 0, where every tier takes a copy, is irrelevant once that was passed
    states = [(place, start) for place, start in states if place < 0 or start >= 0]
    states += [(place, _LONG_AGO) for place in range(n_steps)]
    index = {state: number for number, state in enumerate(states)}
    moves = np.zeros((len(states), len(states)))
    for number, (place, start) in enumerate(states):
        onward = (place + 1, _LONG_AGO if place == -1 else start)
        if onward in index:
            moves[number, index[onward]] += math.exp(-rate * hours[place])
        for severity, copy, probability in _losses(run, rate, hours, place, start):
            for source, success in enumerate(recovery.lands[severity]):
                back = copy - copy % run.tiers[source].every
                moves[number, index[back, back]] += probability * success
    visits = np.linalg.solve(np.eye(len(states)) - moves.T, np.eye(len(states))[index[0, _LONG_AGO]])
    n_first = float(sum(-math.expm1(-rate * hours[place]) * n for (place, _), n in zip(states, visits, strict=True)))
    kept_h = sum(hours[place] for place in range(n_steps))
    hours_by_part = {
        "productive_h": n_steps * run.step,
        "checkpoint_h": sum(run.stall_at(place + 1) for place in range(n_steps)),
        "rework_h": n_first / rate - kept_h,
        **{name: n_first * value for name, value in recovery.per_failure.items()},
    }
    return hours_by_part | {"total_h": sum(value for part, value in hours_by_part.items() if part.endswith("_h"))}


def _losses(
    run: Rules, rate: float, hours: dict[int, float], place: int, start: int
) -> Iterator[tuple[int, int, float]]:
    """For a failure before the next place: its severity, the newest durable copy of that tier, the probability."""
    total = -math.expm1(-rate * hours[place])
    for severity, tier in enumerate(run.tiers):
        newest = place - place % tier.every
        pending = 0.0
        if newest > start:
            since = sum(hours[passed] for passed in range(newest, place))
            pending = -math.expm1(-rate * min(max(tier.write - since, 0.0), hours[place]))
            yield severity, newest - tier.every, pending
        yield severity, newest, total - pending


class Recovery:
    """What follows a failure in training.

    ``lands[k][t]`` is the probability that a failure strikes with severity k, and that the copy of tier t is the one
    that is loaded in the end.
    """

    def __init__(self, run: Rules) -> None:
        self.rate = sum(mode.rate for mode in run.modes)
        assert self.rate > 0
        n = len(run.tiers)
        keys = [(tier, mode) for tier in range(n) for mode in range(len(run.modes))]
        strikes = np.array(
            [
                run.modes[m].rate * (run.modes[m].survived[k] - (run.modes[m].survived[k - 1] if k else 0)) / self.rate
                for k, m in keys
            ]
        )
        fails = np.array([-math.expm1(-self.rate * (run.modes[m].restart + run.tiers[k].load)) for k, m in keys])
        again = np.zeros((len(keys), len(keys)))
        for number, (tier, _) in enumerate(keys):
            for (severity, mode), probability in zip(keys, strikes, strict=True):
                again[number, keys.index((max(tier, severity), mode))] += fails[number] * probability
        visits = np.linalg.solve(np.eye(len(keys)) - again.T, np.diag(strikes))  # column: how it began
        ends = visits * (1 - fails)[:, None]
        self.lands = np.zeros((n, n))
        for row, (source, _) in enumerate(keys):
            for column, (severity, _) in enumerate(keys):
                self.lands[severity, source] += ends[row, column]
        tried = visits.sum(axis=1)
        self.per_failure = {
            "detection_h": float(tried @ [run.modes[m].detection for _, m in keys]),
            "queue_h": float(tried.sum() * run.queue),
            "restart_h": float(tried @ fails / self.rate),
            "n_failures": float(tried.sum()),
        }
