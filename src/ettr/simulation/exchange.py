"""Nodes leave the job and others take their place."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ettr.simulation.draws import DIAGNOSIS, block, uniform
from ettr.simulation.ledger import HAIR
from ettr.simulation.repairs import COLD, HOT, PREEMPTIBLE, catch_up, leave, next_back, spare_node
from ettr.simulation.state import MOST_BAD
from ettr.simulation.strikes import draw_next_time, enter, life, take_any

_SWAPPED, _SERVED, _LEFT, _STRUCK = 1 << 17, 1 << 18, 1 << 19, 1 << 20
"""Where random numbers of nodes begin that leave for other reasons than a failure."""


@njit(error_model="numpy")
def exchange(rules: np.record, st: np.record, modes: np.ndarray, slots: np.ndarray, clocks: np.ndarray) -> float:
    """The nodes of the failure at hand leave, and the job is filled up; answers the wait. [h]"""
    n_out = modes[st.mode].n_out
    if rules.pooled:
        catch_up(rules, st, slots)
    for one in range(n_out):
        node = -1
        if n_out == 1:
            node = _suspect(rules, st, modes, slots, clocks)
            _loses_slowness(rules, st, one)
        if node < 0:
            node = take_any(rules, st, slots, clocks, 1 + one)
        if n_out > 1:
            _loses_slowness(rules, st, one)
            _loses_badness(rules, st, one)
        if rules.pooled:
            leave(rules, st, slots, node, modes[st.mode].repair, True, st.now, one)
        else:
            enter(rules, st, slots, clocks, node, life(st, one))
    return _fill_up(rules, st, slots, clocks, n_out) if rules.pooled else 0.0


@njit(error_model="numpy")
def _suspect(rules: np.record, st: np.record, modes: np.ndarray, slots: np.ndarray, clocks: np.ndarray) -> int:
    """The node that is taken for the bad one; -1 if that is any node of the job."""
    repeat = st.mode == modes.size - 1
    if st.n_bad > 0 and not (repeat or rules.aged):  # an ordinary failure may strike a bad node
        w0, _, _, _ = block(st.seed, st.run, st.k, DIAGNOSIS, _STRUCK)
        repeat = uniform(w0) * (rules.n_nodes - st.missing) < st.n_bad
    _, w1, _, _ = block(st.seed, st.run, st.k, DIAGNOSIS, 0)
    if _is_wrong(rules, st, repeat):
        if not repeat:  # one more bad node stays
            st.bad[min(st.n_bad, MOST_BAD - 1)] = st.node if st.node >= 0 else take_any(rules, st, slots, clocks, 0)
            st.n_bad += 1
            draw_next_time(rules, st, w1, st.k, DIAGNOSIS)
        return -1
    if repeat:
        st.n_bad -= 1
        st.node = st.bad[min(st.n_bad, MOST_BAD - 1)]
        draw_next_time(rules, st, w1, st.k, DIAGNOSIS)
    return st.node


@njit(error_model="numpy")
def _loses_slowness(rules: np.record, st: np.record, one: int) -> None:
    """A node that leaves may be a slow one."""
    if st.n_slow > 0:
        w0, w1, _, _ = block(st.seed, st.run, st.k, DIAGNOSIS, _LEFT + one)
        if uniform(w0) * (rules.n_nodes - st.missing) < st.n_slow:
            if uniform(w1) * st.n_slow < st.n_found:
                st.n_found -= 1
            st.n_slow -= 1
            st.soft_left = -1.0


@njit(error_model="numpy")
def _loses_badness(rules: np.record, st: np.record, one: int) -> None:
    """A node that leaves with others may be a bad one."""
    if st.n_bad > 0 and not rules.aged:  # with clocks of their own, bad nodes are none of the others
        _, _, w2, w3 = block(st.seed, st.run, st.k, DIAGNOSIS, _LEFT + one)
        if uniform(w2) * (rules.n_nodes - st.missing) < st.n_bad:
            st.n_bad -= 1
            draw_next_time(rules, st, w3, st.k, DIAGNOSIS)


@njit(error_model="numpy")
def _is_wrong(rules: np.record, st: np.record, repeat: bool) -> bool:
    """Whether a healthy node is taken for the bad one; there must be one."""
    n_healthy = rules.n_nodes - st.missing - st.n_bad - (0 if repeat else 1)
    if rules.misdiagnosed == 0.0 or n_healthy < 1:
        return False
    w0, _, _, _ = block(st.seed, st.run, st.k, DIAGNOSIS, 0)
    return uniform(w0) < rules.misdiagnosed


@njit(error_model="numpy")
def _fill_up(rules: np.record, st: np.record, slots: np.ndarray, clocks: np.ndarray, n_out: int) -> float:
    """Replace nodes that left, and those that are missing, as far as can be; answers the wait. [h]"""
    catch_up(rules, st, slots)
    need, wait, n_in = n_out + st.missing, 0.0, 0
    while need > 0 and st.hot + st.preemptible + st.cold > 0:
        rank = HOT
        if st.hot > 0:
            st.hot -= 1
        elif st.preemptible > 0:
            st.preemptible -= 1
            rank, wait = PREEMPTIBLE, max(wait, rules.preempt)
        else:
            st.cold -= 1
            rank, wait = COLD, max(wait, rules.fetch)
        enter(rules, st, slots, clocks, spare_node(rules, st, slots, rank), life(st, n_in))
        need -= 1
        n_in += 1
    allowed = 0
    if rules.n_replicas > 0:
        allowed = int(math.floor((rules.n_replicas - rules.n_least) * rules.n_nodes / rules.n_replicas + HAIR))
    while need > 0:  # who returns while the job waits is taken; who is needed is waited for
        at, node = next_back(rules, st, slots, np.inf if need > allowed else st.now + wait)
        if node < 0:
            break
        wait = max(wait, at - st.now)
        enter(rules, st, slots, clocks, node, life(st, n_in))
        need -= 1
        n_in += 1
    st.missing = need
    return wait


@njit(error_model="numpy")
def swap_found(rules: np.record, st: np.record, modes: np.ndarray, slots: np.ndarray, clocks: np.ndarray) -> None:
    """Swap the slow nodes that were found, as far as there are hot spares."""
    n = st.n_found
    if rules.pooled:
        n = min(n, st.hot)
    for one in range(n):
        index = _SWAPPED + 64 * (st.n_soft & 1023) + one
        node = take_any(rules, st, slots, clocks, index)
        if rules.pooled:
            leave(rules, st, slots, node, modes[modes.size - 1].repair, True, st.now, index)
            st.hot -= 1
            node = spare_node(rules, st, slots, HOT)
        enter(rules, st, slots, clocks, node, life(st, 1))
    st.n_found -= n
    st.n_slow -= n
    if n > 0:
        st.soft_left = -1.0


@njit(error_model="numpy")
def serve_rolling(rules: np.record, st: np.record, slots: np.ndarray, clocks: np.ndarray) -> None:
    """Nodes go to their service, which takes its time, and hot spares stand in."""
    for one in range(rules.rolling):
        node = take_any(rules, st, slots, clocks, _SERVED + 64 * (st.n_planned & 1023) + one)
        leave(rules, st, slots, node, -max(rules.stop, 1e-300), False, st.now, one)
        st.hot -= 1
        enter(rules, st, slots, clocks, spare_node(rules, st, slots, HOT), life(st, 1))
