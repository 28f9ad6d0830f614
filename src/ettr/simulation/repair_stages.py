"""Spares and the repair of nodes: stages, a limited crew, and the return of nodes to the spares."""

from __future__ import annotations

import math

import numpy as np

from ettr.simulation.clocks import by_hazard
from ettr.simulation.compiling import inner
from ettr.simulation.heaps import push, remove
from ettr.simulation.random_numbers import FAILURE, KIND, REPAIR, SPARES, block, exponential, lognormal, uniform

TICKET, _LIVES, _NAMES = 20, 10, 22
SPARE, TAKEN = 2, 3
"""Origin of a node, for its name: a spare, or taken at random; 0 and 1 are the kinds of nodes of the job that fail."""
OF_NODE, FOUND, OF_SPARE = 1 << 36, 1 << 37, 1 << 38
"""Added to the key of random numbers: failure of a node, silent failure when detected, failure of a spare."""
AUTOMATIC, MANUAL, REPLACEMENT, PLAIN = range(4)
"""Stages of repair; a plain stage always succeeds."""
HOT, IDLE, PREEMPTIBLE = RANKS = 0, 1, 2
"""Ranks of spares, in the order in which they are taken."""
LONGEST_IDLE, AT_RANDOM, FEWEST_FAILURES = range(3)
"""Order in which the spares of a rank are used."""


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
        ("going", "i8"),  # list of nodes that leave the job together
        # of a node
        ("kind", "i8"),  # 1 for a lemon
        ("name", "i8"),  # the same in similar scenarios, as the index of its random numbers
        ("n_lives", "i8"),
        ("n_left", "i8"),
        ("left_at", "f8", (MOST_RETURNS,)),  # ring of the last times that it left the job
        # heap of stages: end of a stage, and its slot
        ("key", "f8"),
        ("item", "i8"),
    ],
    align=True,
)
"""Independent columns of the same length: repairs by slot, lists, and nodes by number."""


@inner
def new_node(slots: np.ndarray, st: np.record, kind: int, origin: int, index: int) -> int:
    """Number a node when it first matters, and name it by its origin and its index there.

    The name is the same in a similar scenario, so that the node has the same random numbers there.
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
    """Index of random numbers for the current life of a node."""
    return (slots[node].name << _LIVES) | (slots[node].n_lives & ((1 << _LIVES) - 1))


@inner
def kind_of_new(rules: np.record, st: np.record) -> int:
    """Kind of a new node, drawn at random: 1 for a lemon."""
    if rules.lemon_share == 0.0:
        return 0
    w0, _, _, _ = block(st.seed, st.run, st.n_kinds, KIND, 0)
    st.n_kinds += 1
    return 1 if uniform(w0) < rules.lemon_share else 0


@inner
def repair_time(rules: np.record, mean: float, word: np.uint64, seed: int, run: int, index: int, purpose: int) -> float:
    """Random repair time with this mean: log-normal, or from a table of the gamma distribution."""
    if rules.tabled:
        return mean * by_hazard(exponential(word, seed, run, index, purpose), rules.repair_log, rules.repair_slope)
    return lognormal(mean, rules.repair_sigma, word, seed, run, index, purpose)


@inner
def _stage_hours(rules: np.record, st: np.record, slots: np.ndarray, slot: int, mean: float) -> float:
    """Random hours of a stage; the excess over the mean is a control variate."""
    # the first stage of the first node takes a word of the failure's block; other nodes and stages have their own block
    stage, ticket = slots[slot].stage, slots[slot].ticket
    k, number = ticket >> TICKET, ticket & ((1 << TICKET) - 1)
    first = stage in (PLAIN, AUTOMATIC) or math.isnan(rules.automatic)
    if first and number == 0:
        _, _, word, _ = block(st.seed, st.run, k, FAILURE, 0)
        hours = repair_time(rules, mean, word, st.seed, st.run, k, FAILURE)
    elif first:
        word, _, _, _ = block(st.seed, st.run, k, FAILURE, number)
        hours = repair_time(rules, mean, word, st.seed, st.run, k, FAILURE)
    else:
        word, _, _, _ = block(st.seed, st.run, ticket, REPAIR, stage)
        hours = repair_time(rules, mean, word, st.seed, st.run, ticket, REPAIR)
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
    """Begin a stage of repair, or queue for the crew."""
    slots[slot].stage = stage
    if stage == MANUAL and rules.n_crew > 0 and st.busy >= rules.n_crew:
        slots[(st.first_queued + st.n_queued) & (slots.size - 1)].queued = slot
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
def _free(st: np.record, slots: np.ndarray, slot: int) -> None:
    """Put a slot on the stack of free slots."""
    slots[st.n_free_slots].free = slot
    st.n_free_slots += 1


@inner
def _retires(rules: np.record, slots: np.ndarray, node: int, at: float) -> bool:
    """Count that a node leaves the job; return whether it now retires."""
    n, after = slots[node].n_left, rules.retire_after
    slots[node].n_left = n + 1
    if after == 0:
        return False
    if rules.retire_window == np.inf:
        return n + 1 >= after
    slots[node].left_at[n % after] = at
    oldest = slots[node].left_at[(n + 1) % after]
    return n + 1 >= after and at - oldest <= rules.retire_window


@inner
def leave(
    rules: np.record,
    st: np.record,
    slots: np.ndarray,
    node: int,
    repair_h: float,
    counts: bool,
    at: float,
    number: int,
) -> None:
    """Send a node to repair; the arrays must have room.

    With ``repair_h`` of its mode it takes a single plain stage of that mean, or exactly ``-repair_h`` if negative; with
    NaN the general stages. ``number`` numbers the nodes that leave at the same failure.
    """
    if st.n_free_slots > 0:
        st.n_free_slots -= 1
        slot = slots[st.n_free_slots].free
    else:
        slot = st.n_slots
        st.n_slots += 1
    slots[slot].node = node
    slots[slot].ticket = (st.key << TICKET) | number
    if counts and rules.tracked and _retires(rules, slots, node, at):
        if rules.unreplaced:
            _free(st, slots, slot)
            st.n_gone += 1
        else:
            _begin(rules, st, slots, slot, REPLACEMENT, at)
        return
    if not math.isnan(repair_h):
        slots[slot].stage = PLAIN
        hours = -repair_h if repair_h < 0.0 else _stage_hours(rules, st, slots, slot, repair_h)
        push(slots, st.n_repair, at + hours, slot)
        st.n_repair += 1
    else:
        stage = MANUAL if math.isnan(rules.automatic) else AUTOMATIC
        _begin(rules, st, slots, slot, stage, at)


@inner
def next_back(rules: np.record, st: np.record, slots: np.ndarray, until: float) -> tuple[float, int]:
    """Time and number of the next node that returns by ``until``; -1 if none does, with the end of the last stage."""
    last = -np.inf
    while st.n_repair > 0 and slots[0].key <= until:
        at, slot = slots[0].key, slots[0].item
        last = at
        remove(slots, st.n_repair, 0)
        st.n_repair -= 1
        stage, node = slots[slot].stage, slots[slot].node
        _, w1, w2, _ = block(st.seed, st.run, slots[slot].ticket, REPAIR, stage)
        # a stage ends: it succeeds or not, may cure a lemon, and a manual one frees the crew for the next in the queue
        works, cured = True, 0.0
        if stage == AUTOMATIC:
            works, cured = uniform(w1) < rules.automatic_success, rules.cured_automatic
        if stage == MANUAL:
            cured = rules.cured_manual
            st.busy -= 1
            if st.n_queued > 0:
                following = slots[st.first_queued].queued
                st.first_queued = (st.first_queued + 1) & (slots.size - 1)
                st.n_queued -= 1
                _begin(rules, st, slots, following, MANUAL, at)
        if not works:  # on to the next stage
            if stage == AUTOMATIC and not math.isnan(rules.manual):
                _begin(rules, st, slots, slot, MANUAL, at)
            elif rules.unreplaced:
                _free(st, slots, slot)
                st.n_gone += 1
            else:
                _begin(rules, st, slots, slot, REPLACEMENT, at)
            continue
        if rules.tracked:
            if stage == REPLACEMENT:
                slots[node].kind = kind_of_new(rules, st)
                slots[node].n_left = 0
            elif cured > 0.0 and slots[node].kind == 1 and uniform(w2) < cured:
                slots[node].kind = 0
        _free(st, slots, slot)
        return at, node
    return last, -1


@inner
def draw_idle(rules: np.record, st: np.record, at: float) -> None:
    """Draw the next failure of a spare, again whenever their number changes: their lifetimes are exponential."""
    n = st.stock[HOT] + st.stock[IDLE]
    st.next_idle = np.inf
    if rules.idle_rate > 0.0 and n > 0:
        w0, _, _, _ = block(st.seed, st.run, st.n_idle_draws, SPARES, 0)
        st.next_idle = at + exponential(w0, st.seed, st.run, st.n_idle_draws, SPARES) / (rules.idle_rate * n)
        st.n_idle_draws += 1


@inner
def _lose_idle(rules: np.record, st: np.record, slots: np.ndarray) -> None:
    """Send the hot or idle spare that fails next to repair."""
    at, key = st.next_idle, st.key
    w0, w1, _, _ = block(st.seed, st.run, st.n_idle_failures, SPARES, 1)
    rank = HOT if uniform(w0) * (st.stock[HOT] + st.stock[IDLE]) < st.stock[HOT] else IDLE
    node = _take_spare(rules, st, slots, rank, AT_RANDOM, w1)
    st.key = OF_SPARE | st.n_idle_failures
    st.n_idle_failures += 1
    st.stock[rank] -= 1
    leave(rules, st, slots, node, np.nan, True, at, 0)
    st.key = key
    draw_idle(rules, st, at)


@inner
def catch_up(rules: np.record, st: np.record, slots: np.ndarray) -> None:
    """Return repaired nodes to the spares up to now, and send spares that failed to repair, in the order of time."""
    while True:
        while rules.idle_rate > 0.0 and st.next_idle <= min(st.now, slots[0].key if st.n_repair > 0 else np.inf):
            _lose_idle(rules, st, slots)
        if st.n_repair == 0 or slots[0].key > st.now:
            return
        until = min(st.now, st.next_idle) if rules.idle_rate > 0.0 else st.now
        at, node = next_back(rules, st, slots, until)
        if node >= 0:
            _shelve(rules, st, slots, node, at)


@inner
def _shelve(rules: np.record, st: np.record, slots: np.ndarray, node: int, at: float) -> None:
    """Make a repaired node a spare of the first rank that is not full."""
    rank = PREEMPTIBLE
    if st.missing > 0 or st.stock[HOT] < rules.stock[HOT]:
        rank = HOT
    elif st.stock[IDLE] < rules.stock[IDLE]:
        rank = IDLE
    st.stock[rank] += 1
    if rules.tracked:
        slots[(st.first_waiting[rank] + st.n_waiting[rank]) & (slots.size - 1)].waiting[rank] = node
        st.n_waiting[rank] += 1
    draw_idle(rules, st, at)


@inner
def spare_node(rules: np.record, st: np.record, slots: np.ndarray, rank: int) -> int:
    """Spare of a rank that joins the job; 0 if nodes are not tracked."""
    if not rules.tracked:
        return 0
    word = np.uint64(0)
    if rules.choice == AT_RANDOM:
        word, _, _, _ = block(st.seed, st.run, st.n_chosen, SPARES, 2)
        st.n_chosen += 1
    return _take_spare(rules, st, slots, rank, rules.choice, word)


@inner
def _take_spare(rules: np.record, st: np.record, slots: np.ndarray, rank: int, choice: int, word: np.uint64) -> int:
    """Remove a spare of a rank; spares that were never used have waited longest and never failed."""
    if not rules.tracked:
        return 0
    fresh, used = st.fresh_spares[rank], st.n_waiting[rank]
    place = 0  # in the ring
    if choice == AT_RANDOM:
        place = min(int(uniform(word) * (fresh + used)), fresh + used - 1) - fresh
        if place < 0:
            return _fresh_spare(st, slots, rank)
    elif fresh > 0:
        return _fresh_spare(st, slots, rank)
    first, ring = st.first_waiting[rank], slots.size - 1
    if choice == FEWEST_FAILURES:
        for i in range(1, used):
            node, fewest = slots[(first + i) & ring].waiting[rank], slots[(first + place) & ring].waiting[rank]
            if slots[node].n_left < slots[fewest].n_left:
                place = i
    node = slots[(first + place) & ring].waiting[rank]
    if rules.choice == AT_RANDOM:  # the order of the ring does not matter
        slots[(first + place) & ring].waiting[rank] = slots[first].waiting[rank]
        place = 0
    for i in range(place, 0, -1):
        slots[(first + i) & ring].waiting[rank] = slots[(first + i - 1) & ring].waiting[rank]
    st.first_waiting[rank] = (first + 1) & ring
    st.n_waiting[rank] -= 1
    return node


@inner
def _fresh_spare(st: np.record, slots: np.ndarray, rank: int) -> int:
    """Number a spare that was never used, and draw its kind among those that are left."""
    n_fresh = 0
    for other in RANKS:
        n_fresh += st.fresh_spares[other]
    kind = 0
    if st.fresh_kinds[1] > 0:
        w0, _, _, _ = block(st.seed, st.run, st.n_kinds, KIND, 1)
        st.n_kinds += 1
        kind = 1 if uniform(w0) * n_fresh < st.fresh_kinds[1] else 0
    st.fresh_spares[rank] -= 1
    st.fresh_kinds[kind] -= 1
    st.n_spares_seen += 1
    return new_node(slots, st, kind, SPARE, st.n_spares_seen)
