"""The core of a training run, as small and as fast as one would write it: in SimPy, and as a plain loop.

One job under failures, hot spares that are repaired, and nothing else. Benchmarks time these;
they share no code with the package, nor with the full model in ``simpy_model``.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
import simpy


@dataclass(frozen=True)
class Core:
    """The rules, in hours.

    The clock starts at submission, with one queue and one restart. The last segment takes no checkpoint, and a
    checkpoint is durable at the end of its stall. ``shape`` is that of Weibull lifetimes of nodes, all new at the
    start; 1 has no memory. A failed node is replaced at the end of detection, by a spare or by the first that returns.
    """

    work: float
    tau: float
    stall: float
    n_nodes: int
    node_rate: float
    detection: float
    queue: float
    restart: float
    n_spares: int
    repair: float
    repair_cv: float = 0.0
    shape: float = 1.0

    @property
    def n_segments(self) -> int:
        """Segments that end with a checkpoint."""
        return max(math.ceil(self.work / self.tau - 1e-9) - 1, 0)

    @property
    def last(self) -> float:
        return self.work - self.n_segments * self.tau


def _lognormal(mean: float, cv: float) -> tuple[float, float]:
    """The two numbers that a log-normal is drawn by."""
    variance = math.log1p(cv**2)
    return math.log(mean) - variance / 2 if mean > 0 else -math.inf, math.sqrt(variance)


class _Run:
    """One run in SimPy: one event a segment, which a failure interrupts; repairs are processes."""

    def __init__(self, rules: Core, source: random.Random) -> None:
        self.rules, self.random = rules, source
        self.env = simpy.Environment()
        self.spares = simpy.Container(self.env, init=rules.n_spares)
        self.of_repair = _lognormal(rules.repair, rules.repair_cv)
        self.n_failures = 0
        self.job = self.env.process(self._train())

    def _train(self) -> Generator:
        env, rules = self.env, self.rules
        segment = rules.tau + rules.stall
        n_done = 0
        yield env.timeout(rules.queue)
        while True:
            env.process(self._fail_after(self._hours_to_failure()))
            try:
                yield env.timeout(rules.restart)
                while n_done < rules.n_segments:
                    yield env.timeout(segment)
                    n_done += 1
                yield env.timeout(rules.last)
                return
            except simpy.Interrupt:
                self.n_failures += 1
            yield env.timeout(rules.detection)
            env.process(self._repair())
            yield self.spares.get(1)
            yield env.timeout(rules.queue)

    def _fail_after(self, hours: float) -> Generator:
        """From the restart on the job is exposed without a break."""
        yield self.env.timeout(hours)
        self.job.interrupt()

    def _repair(self) -> Generator:
        yield self.env.timeout(self.random.lognormvariate(*self.of_repair))
        yield self.spares.put(1)

    def _hours_to_failure(self) -> float:
        return self.random.expovariate(self.rules.n_nodes * self.rules.node_rate)


class _RunOfAgeingNodes(_Run):
    """Each node has a lifetime in exposed hours; the heap holds when they end."""

    def __init__(self, rules: Core, source: random.Random) -> None:
        super().__init__(rules, source)
        self.exposed = 0.0
        self.scale = 1 / (rules.node_rate * math.gamma(1 + 1 / rules.shape))
        self.deadlines = [self._lifetime() for _ in range(rules.n_nodes)]
        heapq.heapify(self.deadlines)

    def _lifetime(self) -> float:
        return self.random.weibullvariate(self.scale, self.rules.shape)

    def _hours_to_failure(self) -> float:
        first = self.deadlines[0]
        hours = first - self.exposed
        self.exposed = first
        heapq.heapreplace(self.deadlines, first + self._lifetime())
        return hours


def in_simpy(rules: Core, n_runs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Total hours and failures of each run, with failures of the whole job."""
    return _runs_of(_Run, rules, n_runs, seed)


def in_simpy_by_node(rules: Core, n_runs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Total hours and failures of each run, with a lifetime for each node."""
    return _runs_of(_RunOfAgeingNodes, rules, n_runs, seed)


def _runs_of(
    kind: Callable[[Core, random.Random], _Run], rules: Core, n_runs: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    source = random.Random(seed)
    totals, n_failures = np.empty(n_runs), np.empty(n_runs, dtype=int)
    for number in range(n_runs):
        run = kind(rules, source)
        run.env.run(until=run.job)
        totals[number], n_failures[number] = run.env.now, run.n_failures
    return totals, n_failures


def in_a_loop(rules: Core, n_runs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Total hours and failures of each run, with failures of the whole job: one turn of a plain loop a failure."""
    draws = _draws(rules, np.random.default_rng(seed))
    segment, n_segments = rules.tau + rules.stall, rules.n_segments
    to_the_end = n_segments * segment + rules.last
    totals, n_failures = np.empty(n_runs), np.empty(n_runs, dtype=int)
    for number in range(n_runs):
        clock, n_done, n_failed = rules.queue, 0, 0
        free_at = [0.0] * rules.n_spares
        while True:
            alive, repair = next(draws)
            if alive >= rules.restart + to_the_end - n_done * segment:
                break
            n_failed += 1
            clock += alive + rules.detection
            heapq.heappush(free_at, clock + repair)
            clock = max(clock, heapq.heappop(free_at)) + rules.queue
            if alive > rules.restart:
                n_done = min(n_done + int((alive - rules.restart) / segment), n_segments)
        totals[number] = clock + rules.restart + to_the_end - n_done * segment
        n_failures[number] = n_failed
    return totals, n_failures


def _draws(rules: Core, source: np.random.Generator, block: int = 10_000) -> Generator[tuple[float, float]]:
    """Time to failure and repair, drawn in blocks."""
    while True:
        yield from zip(
            source.exponential(1 / (rules.n_nodes * rules.node_rate), block).tolist(),
            source.lognormal(*_lognormal(rules.repair, rules.repair_cv), block).tolist(),
            strict=True,
        )
