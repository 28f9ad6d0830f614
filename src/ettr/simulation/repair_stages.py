"""Spares and the repair of nodes: stages, a limited crew, and who comes back when."""

from __future__ import annotations

import math

import numpy as np

from ettr.simulation.compiling import inner, maker
from ettr.simulation.heaps import push, remove
from ettr.simulation.random_numbers import FAILURE, KIND, REPAIR, block, lognormal, uniform

TICKET, _LIVES, _NAMES = 20, 10, 22
SPARE, TAKEN = 2, 3
"""Where a node was before it was seen; 0 and 1 are nodes of the job, by their kind, that failed by their own clocks."""
OF_NODE, FOUND = 1 << 36, 1 << 37
"""Added to the number of what strikes through a node, and of a silent failure that is found."""
AUTOMATIC, MANUAL, REPLACEMENT, PLAIN = range(4)
"""Stages; a plain one always works."""
HOT, PREEMPTIBLE, COLD = range(3)
"""Ranks of spares."""


MOST_RETURNS = 16
"""Largest ``repair.retire_after``."""

SLOT = np.dtype(
    [
        # of a slot: a node under repair
        ("node", "i8"),
        ("ticket", "i8"),
        ("stage", "i8"),
        # lists of slots and nodes
        ("free", "i8"),  # stack of free slots
        ("queued", "i8"),  # ring of slots that wait for a crew
        ("waiting", "i8", (3,)),  # rings of spares, by number, for each rank
        ("bad", "i8"),  # list of bad nodes that stayed in the job
        ("going", "i8"),  # list of nodes that are leaving it together
        # of a node
        ("kind", "i8"),  # 1 for a lemon
        ("name", "i8"),  # by which it is known in scenarios that differ
        ("n_lives", "i8"),
        ("n_left", "i8"),
        ("left_at", "f8", (MOST_RETURNS,)),  # ring of the last times
        # heap of stages: when one ends, and of which slot
        ("key", "f8"),
        ("item", "i8"),
    ],
    align=True,
)
"""Columns that share nothing but their length: what is under repair, and what is known of nodes."""


@maker
def new_slots(size: int) -> np.ndarray:
    """Room for so many nodes under repair, and so many with a number."""
    return np.zeros(size, SLOT)


@maker
def roomier(slots: np.ndarray, st: np.record) -> np.ndarray:
    """The same with twice the room; rings begin at 0 again."""
    size = slots.size
    more = new_slots(2 * size)
    for i in range(size):
        more[i] = slots[i]
    for i in range(st.n_queued):
        more[i].queued = slots[(st.first_queued + i) % size].queued
    st.first_queued = 0
    for rank in range(3):
        for i in range(st.n_waiting[rank]):
            more[i].waiting[rank] = slots[(st.first_waiting[rank] + i) % size].waiting[rank]
        st.first_waiting[rank] = 0
    return more


@inner
def new_node(slots: np.ndarray, st: np.record, kind: int, origin: int, index: int) -> int:
    """Give a number to a node that is seen for the first time, and a name by where it comes from and its index there.

    The name is the same in a scenario that differs a little, so that the node draws the same random numbers there.
    """
    node = st.n_ids
    st.n_ids += 1
    slots[node].kind = kind
    slots[node].n_left = 0
    slots[node].name = (origin << _NAMES) | index
    slots[node].n_lives = 0
    return node


@inner
def life_of(slots: np.ndarray, node: int) -> int:
    """A number for the life that a node leads."""
    return (slots[node].name << _LIVES) | (slots[node].n_lives & ((1 << _LIVES) - 1))


@inner
def kind_of_new(rules: np.record, st: np.record) -> int:
    """Whether a node that nobody has used is a lemon."""
    if rules.lemon_share == 0.0:
        return 0
    w0, _, _, _ = block(st.seed, st.run, st.n_kinds, KIND, 0)
    st.n_kinds += 1
    return 1 if uniform(w0) < rules.lemon_share else 0


@inner
def _stage_hours(rules: np.record, st: np.record, slots: np.ndarray, slot: int, mean: float) -> float:
    stage, ticket = slots[slot].stage, slots[slot].ticket
    k, one = ticket >> TICKET, ticket & ((1 << TICKET) - 1)
    first = stage in (PLAIN, AUTOMATIC) or math.isnan(rules.automatic)
    if first and one == 0:
        _, _, word, _ = block(st.seed, st.run, k, FAILURE, 0)
        hours = lognormal(mean, rules.repair_sigma, word, st.seed, st.run, k, FAILURE)
    elif first:
        word, _, _, _ = block(st.seed, st.run, k, FAILURE, one)
        hours = lognormal(mean, rules.repair_sigma, word, st.seed, st.run, k, FAILURE)
    else:
        word, _, _, _ = block(st.seed, st.run, ticket, REPAIR, stage)
        hours = lognormal(mean, rules.repair_sigma, word, st.seed, st.run, ticket, REPAIR)
    st.less_repair += hours - mean
    return hours


@inner
def _begin(
    rules: np.record,
    st: np.record,
    slots: np.ndarray,
    slot: int,
    stage: int,
    at: float,
) -> None:
    """Begin a general stage, or wait for a crew to begin it."""
    slots[slot].stage = stage
    if stage == MANUAL and rules.n_crew > 0 and st.busy >= rules.n_crew:
        slots[(st.first_queued + st.n_queued) % slots.size].queued = slot
        st.n_queued += 1
        return
    if stage == REPLACEMENT:
        hours = rules.replacement
    else:
        mean = rules.manual if stage == MANUAL else rules.automatic
        hours = _stage_hours(rules, st, slots, slot, mean)
    if stage == MANUAL:
        st.busy += 1
    push(slots, st.n_repair, at + hours, slot)
    st.n_repair += 1


@inner
def leave(
    rules: np.record,
    st: np.record,
    slots: np.ndarray,
    node: int,
    own: float,
    counts: bool,
    at: float,
    one: int,
) -> None:
    """A node goes to repair, by a plain stage of ``own`` mean hours if that is a number; the shop must have room.

    A plain stage of a negative number takes exactly its size. ``one`` numbers the nodes that leave at one failure.
    """
    if st.n_free_slots > 0:
        st.n_free_slots -= 1
        slot = slots[st.n_free_slots].free
    else:
        slot = st.n_slots
        st.n_slots += 1
    slots[slot].node = node
    slots[slot].ticket = (st.key << TICKET) | one
    if rules.retire_after > 0 and counts:
        n = slots[node].n_left
        slots[node].left_at[n % rules.retire_after] = at
        slots[node].n_left = n + 1
        oldest = slots[node].left_at[(n + 1) % rules.retire_after]
        if n + 1 >= rules.retire_after and at - oldest <= rules.retire_window:
            _begin(rules, st, slots, slot, REPLACEMENT, at)
            return
    if not math.isnan(own):
        slots[slot].stage = PLAIN
        hours = -own if own < 0.0 else _stage_hours(rules, st, slots, slot, own)
        push(slots, st.n_repair, at + hours, slot)
        st.n_repair += 1
    else:
        stage = MANUAL if math.isnan(rules.automatic) else AUTOMATIC
        _begin(rules, st, slots, slot, stage, at)


@inner
def next_back(rules: np.record, st: np.record, slots: np.ndarray, until: float) -> tuple[float, int]:
    """The next node that returns by then, with its time; node -1 if none does."""
    while st.n_repair > 0 and slots[0].key <= until:
        at, slot = slots[0].key, slots[0].item
        remove(slots, st.n_repair, 0)
        st.n_repair -= 1
        stage = slots[slot].stage
        _, w1, _, _ = block(st.seed, st.run, slots[slot].ticket, REPAIR, stage)
        works = True
        if stage == AUTOMATIC:
            works = uniform(w1) < rules.automatic_success
        if stage == MANUAL:
            works = uniform(w1) < rules.manual_success
            st.busy -= 1
            if st.n_queued > 0:
                following = slots[st.first_queued].queued
                st.first_queued = (st.first_queued + 1) % slots.size
                st.n_queued -= 1
                _begin(rules, st, slots, following, MANUAL, at)
        if not works:
            manual = stage == AUTOMATIC and not math.isnan(rules.manual)
            _begin(rules, st, slots, slot, MANUAL if manual else REPLACEMENT, at)
            continue
        node = slots[slot].node
        if stage == REPLACEMENT and rules.tracked:
            slots[node].kind = kind_of_new(rules, st)
            slots[node].n_left = 0
        slots[st.n_free_slots].free = slot
        st.n_free_slots += 1
        return at, node
    return np.inf, -1


@inner
def catch_up(rules: np.record, st: np.record, slots: np.ndarray) -> None:
    """Put every node that is back by now among the spares."""
    while st.n_repair > 0 and slots[0].key <= st.now:
        _, node = next_back(rules, st, slots, st.now)
        if node < 0:
            return
        rank = COLD
        if st.missing > 0 or st.hot < rules.hot:
            st.hot += 1
            rank = HOT
        elif st.preemptible < rules.preemptible:
            st.preemptible += 1
            rank = PREEMPTIBLE
        else:
            st.cold += 1
        if rules.tracked:
            slots[(st.first_waiting[rank] + st.n_waiting[rank]) % slots.size].waiting[rank] = node
            st.n_waiting[rank] += 1


@inner
def spare_node(rules: np.record, st: np.record, slots: np.ndarray, rank: int) -> int:
    """The spare of a rank that has waited longest; 0 where nodes are all alike."""
    if not rules.tracked:
        return 0
    if st.fresh_spares[rank] > 0:
        kind = 0
        if st.fresh_lemons > 0:
            fresh = st.fresh_spares[HOT] + st.fresh_spares[PREEMPTIBLE] + st.fresh_spares[COLD]
            w0, _, _, _ = block(st.seed, st.run, st.n_kinds, KIND, 1)
            st.n_kinds += 1
            kind = 1 if uniform(w0) * fresh < st.fresh_lemons else 0
        st.fresh_spares[rank] -= 1
        st.fresh_lemons -= kind
        st.n_spares_seen += 1
        return new_node(slots, st, kind, SPARE, st.n_spares_seen)
    node = slots[st.first_waiting[rank]].waiting[rank]
    st.first_waiting[rank] = (st.first_waiting[rank] + 1) % slots.size
    st.n_waiting[rank] -= 1
    return node
