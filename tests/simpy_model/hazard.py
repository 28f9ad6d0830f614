"""The hazard clock, which all failures run on."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from .fleet import Fleet, Node
from .rules import Mode, Rules


@dataclass(eq=False)
class Failure:
    """What stops the job; ``node`` where its own clock struck, ``struck`` when, for a silent one that was found."""

    mode: Mode
    node: Node | None = None
    struck: float | None = None


class Hazard:
    """The hazard clock u: du = h(t) dt over exposed hours t, with h from burn-in and from the replicas in the job."""

    def __init__(self, rules: Rules, fleet: Fleet, source: random.Random) -> None:
        self.rules, self.fleet, self.random = rules, fleet, source
        self.u = 0.0
        self.exposed = 0.0
        self.next_u = math.inf
        self.next_node: Node | None = None

    def hours_to_next_strike(self) -> float:
        """Exposed hours until something strikes, if they are lived through without a break.

        What is Poisson has no memory, so it is drawn anew each time.
        """
        rate = sum(mode.rate for mode in self._poisson())
        self.next_u = self.u + self.random.expovariate(rate) if rate > 0 else math.inf
        self.next_node = self.fleet.next_to_fail()
        if self.next_node and self.next_node.fails_at < self.next_u:
            self.next_u = self.next_node.fails_at
        else:
            self.next_node = None
        return self._hours_for(self.next_u - self.u)

    def advance(self, hours: float) -> None:
        """Live through exposed hours."""
        self.u += self._u_in(hours)
        self.exposed += hours
        self.fleet.u = self.u

    def strike(self) -> Failure:
        """What it is that strikes now."""
        self.u = self.fleet.u = self.next_u
        if self.next_node:
            self.fleet.clock_ran_out(self.next_node)
            modes = self.rules.by_node
            mode = self.random.choices(modes, [mode.rate for mode in modes])[0]
            return Failure(mode, self.next_node)
        modes = self._poisson()
        return Failure(self.random.choices(modes, [mode.rate for mode in modes])[0])

    def _poisson(self) -> list[Mode]:
        time_out = self.rules.time_out
        return [*self.rules.poisson, *([time_out] if time_out.rate > 0 else [])]

    def _u_in(self, hours: float) -> float:
        burn_in = self.rules.burn_in
        if burn_in is None:
            return hours * self.fleet.share
        return self.fleet.share * (hours - self._excess() * math.expm1(-hours / burn_in.decay))

    def _excess(self) -> float:
        """What burn-in would still add to u in all the time to come."""
        burn_in = self.rules.burn_in
        return (burn_in.factor - 1) * burn_in.decay * math.exp(-(self.exposed + burn_in.age) / burn_in.decay)

    def _hours_for(self, du: float) -> float:
        """Exposed hours in which u grows by du: the inverse of ``_u_in``, by Newton's method.

        u(hours) is concave for an excess above 0 and convex below, and the first guess lies on the side from which the
        steps never cross the root.
        """
        if self.rules.burn_in is None or math.isinf(du):
            return du / self.fleet.share
        excess, decay, share = self._excess(), self.rules.burn_in.decay, self.fleet.share
        hours = du / share + max(0.0, -excess)
        if excess > 0:
            hours = 0.0
        while True:
            change = (du - self._u_in(hours)) / (share * (1 + excess / decay * math.exp(-hours / decay)))
            hours += change
            if abs(change) <= 1e-12 * (1 + hours):
                return max(hours, 0.0)
