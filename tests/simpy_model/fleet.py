"""Nodes: those of the job, the spares, and those that are being repaired."""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Generator, Iterable
from itertools import count

import simpy

from .clocks import lognormal
from .rules import Mode, Rules


class Node:
    """A machine. ``fails_at`` is a time of the hazard clock; NaN where no clock runs."""

    __slots__ = ("fails_at", "left", "lemon", "place", "slow")

    def __init__(self, lemon: bool) -> None:
        self.lemon = lemon
        self.left: list[float] = []  # when it left the job for repair
        self.fails_at = math.nan
        self.place = -1  # in the list of the job's nodes
        self.slow = False


class Fleet:
    """All nodes. ``u`` is kept at the time of the hazard clock, which stands still whenever nodes come or go."""

    def __init__(self, env: simpy.Environment, rules: Rules, source: random.Random) -> None:
        self.env, self.rules, self.random = env, rules, source
        self.u = 0.0
        self.job: list[Node] = []
        self.hot: deque[Node] = deque()
        self.idle: deque[Node] = deque()
        self.preemptible: deque[Node] = deque()
        self.n_gone = 0
        self.slow: list[Node] = []  # not found yet
        self.slow_found: list[Node] = []
        self.coming: list[Node] = []  # idle and pre-emptible ones that the job waits for
        self.n_away = 0  # in repair, or served
        self.n_open = 0  # places for which the job waits for a node to return
        self.enough: simpy.Event | None = None
        self.deadlines: list[tuple[float, int, Node]] = []
        self.numbers = count()
        crew = rules.repair.n_crew if rules.repair else None
        self.crew = simpy.Resource(env, crew) if crew else None
        if rules.spares or rules.node_clocks or rules.slow_nodes:
            self._fill_at_start()
        self.n_nodes = self._count()

    def _fill_at_start(self) -> None:
        rules, spares = self.rules, self.rules.spares
        for node in self._new_nodes(rules.n_nodes):
            self._join(node)
            if rules.node_clocks and rules.node_clocks.stationary:
                self._set_clock(node, self._residual(node))
        if spares:
            stock = self._new_nodes(spares.n_hot + spares.n_preemptible + spares.n_idle)
            for depot, n in (
                (self.hot, spares.n_hot),
                (self.preemptible, spares.n_preemptible),
                (self.idle, spares.n_idle),
            ):
                depot.extend(stock.pop() for _ in range(n))
            if spares.fails_per_h and (spares.n_hot or spares.n_idle or rules.spares):
                self.waiting_change = self.env.event()
                self.env.process(self._spares_fail())

    def _new_nodes(self, n_nodes: int) -> list[Node]:
        clocks = self.rules.node_clocks
        n_lemons = math.floor(clocks.lemon_share * n_nodes + self.random.random()) if clocks else 0
        nodes = [Node(number < n_lemons) for number in range(n_nodes)]
        self.random.shuffle(nodes)
        return nodes

    def _spares_fail(self) -> Generator:
        """Hot and idle spares fail while they wait."""
        while True:
            n = len(self.hot) + len(self.idle)
            change = self.waiting_change = self.env.event()
            if n == 0:
                yield change
                continue
            timer = self.env.timeout(self.random.expovariate(n * self.rules.spares.fails_per_h))
            happened = yield timer | change
            if timer in happened and change not in happened:
                depot = self.random.choice([self.hot] * len(self.hot) + [self.idle] * len(self.idle))
                node = self.random.choice(depot)
                depot.remove(node)
                self.n_away += 1
                self.env.process(self._repair(node, None))

    def _waiting_changed(self) -> None:
        """The number of spares is another: what was drawn for them is void."""
        if self.rules.spares and self.rules.spares.fails_per_h and not self.waiting_change.triggered:
            self.waiting_change.succeed()

    def _count(self) -> int:
        depots = (self.job, self.hot, self.idle, self.preemptible, self.coming)
        return sum(len(depot) for depot in depots) + self.n_away + self.n_gone

    def check(self) -> None:
        """Nobody is ever lost."""
        assert self._count() == self.n_nodes

    # the size of the job

    @property
    def missing(self) -> int:
        """Nodes that the job is short of, those on their way to it left out."""
        return self.rules.n_nodes - len(self.job) - len(self.coming) if self.rules.spares else 0

    def replicas_out(self, n_missing: int) -> int:
        return -(-n_missing * self.rules.n_replicas // self.rules.n_nodes)

    def may_go_on(self, n_missing: int) -> bool:
        return self.replicas_out(n_missing) <= self.rules.n_replicas - self.rules.n_least

    @property
    def share(self) -> float:
        """Share of the replicas that are in the job."""
        return 1 - self.replicas_out(self.missing) / self.rules.n_replicas

    @property
    def speed(self) -> float:
        loss = self.rules.slow_nodes.loss if self.slow or self.slow_found else 0.0
        return self.share * (1 - loss)

    # clocks of nodes

    def _scale(self, node: Node) -> float:
        clocks = self.rules.node_clocks
        rate = clocks.rate / (1 + clocks.lemon_share * (clocks.lemon_factor - 1))
        rate *= clocks.lemon_factor if node.lemon else 1.0
        return 1 / rate / math.gamma(1 + 1 / clocks.shape) if rate > 0 else math.inf

    def _residual(self, node: Node) -> float:
        """What is left of the life in which a renewal process in equilibrium is found: that life is length-biased."""
        shape = self.rules.node_clocks.shape
        return self._scale(node) * self.random.gammavariate(1 + 1 / shape, 1.0) ** (1 / shape) * self.random.random()

    def _set_clock(self, node: Node, life: float) -> None:
        node.fails_at = self.u + life
        heapq.heappush(self.deadlines, (node.fails_at, next(self.numbers), node))

    def renew(self, node: Node) -> None:
        """Age 0, in the job."""
        clocks = self.rules.node_clocks
        if clocks:
            self._set_clock(node, self.random.weibullvariate(1.0, clocks.shape) * self._scale(node))

    def next_to_fail(self) -> Node | None:
        while self.deadlines and self.deadlines[0][0] != self.deadlines[0][2].fails_at:
            heapq.heappop(self.deadlines)  # of a life that ended before
        return self.deadlines[0][2] if self.deadlines else None

    def clock_ran_out(self, node: Node) -> None:
        node.fails_at = math.nan

    # coming and going

    def _join(self, node: Node) -> None:
        node.place = len(self.job)
        self.job.append(node)
        self.renew(node)

    def _drop(self, node: Node) -> None:
        """Take a node out of the job; it is repaired outside."""
        last = self.job.pop()
        if last is not node:
            self.job[node.place], last.place = last, node.place
        node.place = -1
        self.clock_ran_out(node)
        self._heal(node)

    def _heal(self, node: Node) -> None:
        node.slow = False
        for listed in (self.slow, self.slow_found):
            if node in listed:
                listed.remove(node)

    def blamed(self, mode: Mode, node: Node | None) -> list[Node]:
        """Nodes that leave the job for a failure."""
        if node and mode.n_out == 0:
            self.renew(node)
        if mode.n_out == 0 or not self.job:
            return []
        if mode.n_out > 1:
            return self.random.sample(self.job, min(mode.n_out, len(self.job)))
        return [node or self.random.choice(self.job)]

    def leave(self, nodes: Iterable[Node], mode: Mode | None) -> None:
        """Into repair; without spares each node is repaired at once and stays."""
        shared = self.random.random() if mode and mode.together else None
        for node in nodes:
            if self.rules.spares:
                self._drop(node)
                self.n_away += 1
                source = None if shared is None else random.Random(shared)
                self.env.process(self._repair(node, mode, source))
            else:
                self._heal(node)
                self.renew(node)

    def fill(self) -> Generator:
        """Give the job the nodes it is short of, waiting where it must; answers the hours of that."""
        began, spares = self.env.now, self.rules.spares
        wait = 0.0
        ranks = ((self.hot, 0.0), (self.idle, spares.select), (self.preemptible, spares.preempt)) if spares else ()
        for depot, hours in ranks:
            while depot and self.missing:
                self.coming.append(self._choose(depot))
                wait = max(wait, hours)
        self._waiting_changed()
        self.n_open = self.missing
        if wait > 0 or not self.may_go_on(self.n_open):
            self.enough = self.env.event()
            if self.may_go_on(self.n_open):
                self.enough.succeed()
            self._check_end()
            yield self.env.timeout(wait) & self.enough
        self.n_open = 0
        coming, self.coming = self.coming, []
        for node in coming:
            self._join(node)
        return self.env.now - began

    def rejoin(self) -> None:
        """Hot spares take the places that are open."""
        while self.hot and self.missing:
            self._join(self._choose(self.hot))
        self._waiting_changed()

    def _choose(self, depot: deque[Node]) -> Node:
        """The spare that goes in; the first has waited longest."""
        choose = self.rules.spares.choose
        node = depot[0]
        if choose == "random":
            node = self.random.choice(depot)
        elif choose == "fewest_failures":
            node = min(depot, key=lambda spare: len(spare.left))
        depot.remove(node)
        return node

    def _check_end(self) -> None:
        """Where nobody is left who could come back, the job that waits is over."""
        if self.n_away == 0 and self.n_open and not self.may_go_on(self.n_open) and not self.enough.triggered:
            self.enough.succeed("over")

    @property
    def can_rejoin(self) -> bool:
        return bool(self.hot and self.missing)

    def _return(self, node: Node) -> None:
        self.n_away -= 1
        spares = self.rules.spares
        if self.n_open:
            self._join(node)
            self.n_open -= 1
            if self.may_go_on(self.n_open) and not self.enough.triggered:
                self.enough.succeed()
        elif self.missing or len(self.hot) < spares.n_hot:
            self.hot.append(node)
        elif len(self.idle) < spares.n_idle:
            self.idle.append(node)
        else:
            assert len(self.preemptible) < spares.n_preemptible
            self.preemptible.append(node)
        self._waiting_changed()
        self._check_end()

    # repair

    def _repair(self, node: Node, mode: Mode | None, source: random.Random | None = None) -> Generator:
        """``source`` has the random numbers of a repair that several nodes share."""
        rules, source = self.rules.repair, source or self.random
        node.left.append(self.env.now)
        recent = sum(self.env.now - left <= rules.retire_window for left in node.left)
        if rules.retire_after is not None and recent >= rules.retire_after:
            repaired = False
        elif mode and mode.repair is not None:
            yield self.env.timeout(self._time(mode.repair, source))
            repaired = True
        else:
            repaired = yield from self._stages(node, source)
        if not repaired and not rules.replaced:
            self.n_away -= 1
            self.n_gone += 1
            self._check_end()
            return
        if not repaired:
            yield self.env.timeout(rules.replacement)
            node = self._new_node()
        self._return(node)

    def _new_node(self) -> Node:
        clocks = self.rules.node_clocks
        return Node(bool(clocks) and self.random.random() < clocks.lemon_share)

    def _stages(self, node: Node, source: random.Random) -> Generator:
        """Automatic repair, then people; answers whether one of them helped."""
        rules = self.rules.repair
        if rules.automatic is not None:
            yield self.env.timeout(self._time(rules.automatic, source))
            if source.random() < rules.automatic_success:
                self._cure(node, 0)
                return True
        if rules.manual is None:
            return False
        hours = self._time(rules.manual, source)
        if self.crew:
            with self.crew.request() as somebody:
                yield somebody
                yield self.env.timeout(hours)
        else:
            yield self.env.timeout(hours)
        self._cure(node, 1)
        return True

    def _cure(self, node: Node, stage: int) -> None:
        if node.lemon and self.random.random() < self.rules.node_clocks.cured[stage]:
            node.lemon = False

    def _time(self, mean: float, source: random.Random) -> float:
        rules = self.rules.repair
        if rules.distribution == "exponential":
            return mean * source.expovariate(1.0)
        if rules.distribution == "gamma" and rules.cv:
            return mean * source.gammavariate(rules.cv**-2, rules.cv**2)
        return lognormal(source, mean, rules.cv)

    # planned work

    def can_roll(self) -> bool:
        return self.rules.rolling_nodes is not None and len(self.hot) >= self.rules.rolling_nodes

    def roll(self) -> None:
        """Random nodes are served while hot spares stand in."""
        for node in self.random.sample(self.job, min(self.rules.rolling_nodes, len(self.job))):
            self._drop(node)
            self.n_away += 1
            self._join(self._choose(self.hot))
            self.env.process(self._serve(node))
        self._waiting_changed()

    def _serve(self, node: Node) -> Generator:
        yield self.env.timeout(self.rules.stop)
        self._return(node)

    # slow nodes

    def one_more_is_slow(self) -> None:
        place = self.random.randrange(self.rules.n_nodes)
        if place < len(self.job) and not self.job[place].slow:
            self.job[place].slow = True
            self.slow.append(self.job[place])

    def one_is_found(self) -> None:
        node = self.slow.pop(self.random.randrange(len(self.slow)))
        self.slow_found.append(node)

    @property
    def can_swap(self) -> bool:
        return bool(self.slow_found and (self.hot or not self.rules.spares))

    def swap(self) -> None:
        """Found slow nodes leave, in the order in which they were found, while hot spares last."""
        while self.can_swap:
            self.leave([self.slow_found[0]], None)
            self.rejoin()
