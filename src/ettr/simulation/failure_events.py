"""The next failure, and its node: the hazard clock, the clocks of nodes, and the nodes that come and go.

The hazard clock advances with exposed hours times the current failure rate over the settled one: faster during
burn-in, slower while replicas are missing. All failures are drawn on that clock.
"""

from __future__ import annotations

import math

import numpy as np

from ettr.core.units import ROUNDING
from ettr.simulation.clocks import first_time, lifetime
from ettr.simulation.compiling import inner
from ettr.simulation.heaps import push, remove
from ettr.simulation.random_numbers import FAILURE, FIRST, LEAVING, LIFETIME, block, exponential, uniform
from ettr.simulation.repair_stages import OF_NODE, TAKEN, life_of, new_node
from ettr.simulation.rules import N_KINDS


@inner
def replicas_share(rules: np.record, st: np.record) -> float:
    """Share of the replicas that are in the job."""
    if st.missing == 0 or rules.n_replicas == 0:
        return 1.0
    out = math.ceil(st.missing * rules.n_replicas / rules.n_nodes - ROUNDING)
    return (rules.n_replicas - out) / rules.n_replicas


@inner
def live(rules: np.record, st: np.record, hours: float) -> None:
    """Let exposed hours pass on all clocks except that of training."""
    passed = hours
    if rules.burn_in != 0.0:  # the integral of 1 + burn_in * e^(-t / decay)
        passed -= rules.burn_in * math.exp(-st.exposed / rules.decay) * rules.decay * math.expm1(-hours / rules.decay)
    passed *= replicas_share(rules, st)
    st.now += hours
    st.exposed += hours
    st.hazard += passed
    st.expected += passed * rules.rate


@inner
def hours_until(rules: np.record, st: np.record, hazard: float) -> float:
    """Exposed hours until the hazard clock reaches a time: the inverse of :func:`live`, by Newton's method."""
    if hazard == np.inf:
        return np.inf
    goal = max(0.0, hazard - st.hazard) / replicas_share(rules, st)
    if rules.burn_in == 0.0:
        return goal
    excess = rules.burn_in * math.exp(-st.exposed / rules.decay)
    x = goal / (1.0 + excess) if excess > 0.0 else goal  # on the side from which Newton's steps do not overshoot
    for _ in range(60):
        too_far = x - excess * rules.decay * math.expm1(-x / rules.decay) - goal
        step = too_far / (1.0 + excess * math.exp(-x / rules.decay))
        x = max(0.0, x - step)
        if abs(step) <= 1e-14 * goal:
            break
    return x


@inner
def draw_next_time(rules: np.record, st: np.record, word: np.uint64, index: int, purpose: int) -> None:
    """Draw the next failure by time alone, on the hazard clock."""
    st.next_time = np.inf
    if rules.rate > 0.0:
        st.next_time = st.hazard + exponential(word, st.seed, st.run, index, purpose) / rules.rate


@inner
def draw_first(rules: np.record, st: np.record, kind: int) -> None:
    """Draw the next failure among the nodes of a kind that never failed.

    Of n exponential variates the next larger one lies an exponential variate over n further on.
    """
    st.next_first[kind] = np.inf
    if st.fresh[kind] > 0:
        # one block of random numbers serves four nodes
        j, purpose = st.drawn[kind], FIRST + kind
        w0, w1, w2, w3 = block(st.seed, st.run, j >> 2, purpose, 0)
        lane = j & 3
        word = w0 if lane == 0 else w1 if lane == 1 else w2 if lane == 2 else w3
        st.first_hazard[kind] += exponential(word, st.seed, st.run, j, purpose) / st.fresh[kind]
        st.drawn[kind] += 1
        st.next_first[kind] = rules.scale[kind] * first_time(st.first_hazard[kind], rules)


@inner
def next_strike(rules: np.record, st: np.record, clocks: np.ndarray) -> float:
    """Time of the next failure, on the hazard clock."""
    first = min(st.next_time, min(st.next_first[0], st.next_first[1]))
    return min(first, clocks[0].key) if st.n_clocks > 0 else first


@inner
def strike(
    rules: np.record,
    st: np.record,
    modes: np.ndarray,
    slots: np.ndarray,
    clocks: np.ndarray,
) -> int:
    """Set mode and node of the failure that strikes now, and advance the clocks; return the node, or -1 for none."""
    # the node: a renewed one from the heap, one that never failed, or none for a failure by time alone
    st.k += 1
    st.node = -1
    kind = 1 if st.next_first[1] <= st.next_first[0] else 0
    first = st.next_first[kind]
    if st.n_clocks > 0 and clocks[0].key <= min(first, st.next_time):
        st.node = clocks[0].item
        remove(clocks, st.n_clocks, 0)
        st.n_clocks -= 1
    elif first <= st.next_time and first < np.inf:
        st.fresh[kind] -= 1
        st.node = new_node(slots, st, kind, kind, st.drawn[kind]) if rules.tracked else 0
        draw_first(rules, st, kind)
    # the index of its random numbers is the same in a similar scenario: by node if nodes are tracked
    if not rules.tracked:
        st.key = st.k
    elif st.node >= 0:
        st.key = OF_NODE | life_of(slots, st.node)
    else:
        st.n_time += 1
        st.key = st.n_time
    w0, _, _, w3 = block(st.seed, st.run, st.key, FAILURE, 0)
    if st.node >= 0:
        st.mode = pick_of_nodes(w3, modes)
        return st.node
    st.struck += 1.0
    st.mode = pick_of_time(w3, modes)
    st.less_mix += modes[st.mode].recovery - rules.mean_recovery
    draw_next_time(rules, st, w0, st.key, FAILURE)
    return -1


@inner
def pick_of_time(word: np.uint64, modes: np.ndarray) -> int:
    """Mode of a failure by time alone, by the alias method."""
    x = uniform(word) * modes.size
    i = min(int(x), modes.size - 1)
    return i if x - i < modes[i].keep_of_time else modes[i].else_of_time


@inner
def pick_of_nodes(word: np.uint64, modes: np.ndarray) -> int:
    """Mode of a failure of a node, by the alias method."""
    x = uniform(word) * modes.size
    i = min(int(x), modes.size - 1)
    return i if x - i < modes[i].keep_of_nodes else modes[i].else_of_nodes


@inner
def _life(rules: np.record, st: np.record, slots: np.ndarray, node: int, number: int) -> float:
    """Exponential variate behind the lifetime of a node that enters.

    A tracked node has random numbers by its name, independent of other failures. Otherwise the first node that enters
    after a failure takes those of the failure.
    """
    if rules.tracked:
        slots[node].n_lives += 1
        index = life_of(slots, node)
        w0, _, _, _ = block(st.seed, st.run, index, LIFETIME, 0)
        return exponential(w0, st.seed, st.run, index, LIFETIME)
    if number == 0 and st.node >= 0:
        w0, _, _, _ = block(st.seed, st.run, st.key, FAILURE, 0)
        return exponential(w0, st.seed, st.run, st.key, FAILURE)
    st.n_lives += 1
    w0, _, _, _ = block(st.seed, st.run, st.n_lives, LIFETIME, 0)
    return exponential(w0, st.seed, st.run, st.n_lives, LIFETIME)


@inner
def enter(
    rules: np.record,
    st: np.record,
    slots: np.ndarray,
    clocks: np.ndarray,
    node: int,
    number: int,
) -> None:
    """Begin the life of a new or renewed node, one of several numbered in an exchange; the heap must have room."""
    if not rules.aged:
        return
    variate = _life(rules, st, slots, node, number)
    kind = slots[node].kind if rules.tracked else 0
    push(clocks, st.n_clocks, st.hazard + lifetime(variate, rules.shape, rules.scale[kind]), node)
    st.n_clocks += 1


@inner
def take_any(rules: np.record, st: np.record, slots: np.ndarray, clocks: np.ndarray, index: int) -> int:
    """Take a random node out of the job; 0 if nodes are not tracked."""
    if not rules.aged:
        return 0
    w0, w1, _, _ = block(st.seed, st.run, st.key, LEAVING, 1 + index)
    n = st.fresh[0] + st.fresh[1] + st.n_clocks
    i = min(int(uniform(w0) * n), n - 1)
    for kind in range(N_KINDS):
        fresh = st.fresh[kind]
        if i < fresh:
            st.fresh[kind] -= 1
            if uniform(w1) * fresh < 1.0:  # with probability 1/fresh it was the next to fail, so draw that again
                draw_first(rules, st, kind)
            return new_node(slots, st, kind, TAKEN, st.n_ids) if rules.tracked else 0
        i -= fresh
    node = clocks[i].item
    remove(clocks, st.n_clocks, i)
    st.n_clocks -= 1
    return node
