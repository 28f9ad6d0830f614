"""Replacement of nodes: nodes leave the job, and spares or repaired nodes join it."""

from __future__ import annotations

import math

import numpy as np

from ettr.core.units import ROUNDING
from ettr.simulation.compiling import inner
from ettr.simulation.failure_events import enter, take_any
from ettr.simulation.random_numbers import LEAVING, block, uniform
from ettr.simulation.repair_stages import HOT, RANKS, catch_up, draw_idle, leave, next_back, spare_node

_LEFT, _PLANNED = 1 << 21, 1 << 19
"""First indices of the random numbers of nodes that leave, and of nodes that leave for maintenance or a swap."""


@inner
def exchange(rules: np.record, st: np.record, modes: np.ndarray, slots: np.ndarray, clocks: np.ndarray) -> float:
    """Replace the nodes of the current failure; return the wait for nodes. [h]"""
    n_out = _take_out(rules, st, modes, slots, clocks)
    return _fill_up(rules, st, slots, clocks, n_out) if rules.pooled else 0.0


@inner
def _take_out(rules: np.record, st: np.record, modes: np.ndarray, slots: np.ndarray, clocks: np.ndarray) -> int:
    """Take the nodes of the current failure out of the job; return their number."""
    if rules.pooled:
        catch_up(rules, st, slots)
    n_job = rules.n_nodes - st.missing
    n_out = min(modes[st.mode].n_out, n_job)
    for i in range(n_out):  # all leave before any joins
        node = st.node if n_out == 1 else -1
        if node < 0:
            node = take_any(rules, st, slots, clocks, 1 + i)
        _loses_slowness(rules, st, _LEFT + i, n_job - i)
        slots[i].going = node
    for i in range(n_out):
        if rules.pooled:
            ticket = 0 if modes[st.mode].together else i
            leave(rules, st, slots, slots[i].going, modes[st.mode].repair, True, st.now, ticket)
        else:  # without a pool each node is renewed in place
            enter(rules, st, slots, clocks, slots[i].going, i)
    return n_out


@inner
def _loses_slowness(rules: np.record, st: np.record, index: int, n_job: int) -> None:
    """Decide at random whether a node that leaves, one of ``n_job``, is a slow one."""
    if st.n_slow > 0:
        w0, w1, _, _ = block(st.seed, st.run, st.key, LEAVING, index)
        if uniform(w0) * n_job < st.n_slow:
            if uniform(w1) * st.n_slow < st.n_found:
                st.n_found -= 1
            st.n_slow -= 1
            st.soft_left = -1.0


@inner
def _fill_up(rules: np.record, st: np.record, slots: np.ndarray, clocks: np.ndarray, n_out: int) -> float:
    """Replace nodes that left and nodes that are missing, as far as possible; return the wait. [h]"""
    # spares first, rank by rank: the wait is that of the slowest rank used
    catch_up(rules, st, slots)
    need, wait, n_in = n_out + st.missing, 0.0, 0
    for rank in RANKS:
        while need > 0 and st.stock[rank] > 0:
            wait = max(wait, rules.spare_wait[rank])
            enter(rules, st, slots, clocks, take_spare(rules, st, slots, rank), n_in)
            need -= 1
            n_in += 1
    allowed = _may_miss(rules)
    # then nodes from repair: those that return during the wait, and while too few are there, the next to return
    while need > 0:
        at, node = next_back(rules, st, slots, np.inf if need > allowed else st.now + wait)
        if node < 0 and need > allowed:  # no node is left that could return
            st.ended = 1
            wait = max(wait, at - st.now)
        if node < 0:
            break
        wait = max(wait, at - st.now)
        enter(rules, st, slots, clocks, node, n_in)
        need -= 1
        n_in += 1
    st.missing = need
    draw_idle(rules, st, st.now)
    return wait


@inner
def _may_miss(rules: np.record) -> int:
    """Largest number of nodes that may be missing from the job."""
    if rules.n_replicas == 0:
        return 0
    return int(math.floor((rules.n_replicas - rules.n_least) * rules.n_nodes / rules.n_replicas + ROUNDING))


@inner
def take_spare(rules: np.record, st: np.record, slots: np.ndarray, rank: int) -> int:
    """Take a spare of a rank, which must have one."""
    node = spare_node(rules, st, slots, rank)
    st.stock[rank] -= 1
    return node


@inner
def _planned_index(st: np.record) -> int:
    """First index of random numbers for another node that leaves for maintenance or a swap."""
    st.n_taken += 1
    return _PLANNED + (st.n_taken & (_PLANNED - 1))


@inner
def rejoin(rules: np.record, st: np.record, slots: np.ndarray, clocks: np.ndarray) -> None:
    """Replace missing nodes by hot spares, as far as there are any."""
    while st.missing > 0 and st.stock[HOT] > 0:
        st.missing -= 1
        enter(rules, st, slots, clocks, take_spare(rules, st, slots, HOT), 1)
    draw_idle(rules, st, st.now)


@inner
def swap_found(rules: np.record, st: np.record, modes: np.ndarray, slots: np.ndarray, clocks: np.ndarray) -> None:
    """Swap detected slow nodes for hot spares, as far as there are any."""
    n = st.n_found
    if rules.pooled:
        n = min(n, st.stock[HOT])
    if n == 0:
        return
    for i in range(n):
        index = _planned_index(st)
        slots[i].going = take_any(rules, st, slots, clocks, index)
        if rules.pooled:
            leave(rules, st, slots, slots[i].going, modes[modes.size - 1].repair, True, st.now, index)
    for i in range(n):
        node = slots[i].going
        if rules.pooled:
            node = take_spare(rules, st, slots, HOT)
        enter(rules, st, slots, clocks, node, 1)
    draw_idle(rules, st, st.now)
    st.n_found -= n
    st.n_slow -= n
    st.soft_left = -1.0


@inner
def serve_rolling(rules: np.record, st: np.record, slots: np.ndarray, clocks: np.ndarray) -> None:
    """Rolling maintenance: nodes leave for the duration of the service, and hot spares replace them."""
    n_job = rules.n_nodes - st.missing
    n = min(rules.rolling, n_job)
    for i in range(n):
        index = _planned_index(st)
        node = take_any(rules, st, slots, clocks, index)
        _loses_slowness(rules, st, _LEFT + index, n_job - i)
        leave(rules, st, slots, node, -max(rules.stop, 1e-300), False, st.now, index)
    for _ in range(n):
        enter(rules, st, slots, clocks, take_spare(rules, st, slots, HOT), 1)
    draw_idle(rules, st, st.now)
