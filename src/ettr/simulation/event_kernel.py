"""The kernel for runs with any mechanism: from event to event, skipping whole checkpoint cycles in between.

The job advances from place to place, the checkpoints of its fastest tier. A ledger adds up the hours of training,
stalls and slowdown. Each tier keeps the ledger of its newest durable copy; after a failure, the difference between the
ledger of the job and that of the copy becomes rework.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ettr.core.units import ROUNDING
from ettr.simulation.checkpoint_copies import copy_row, promote, restore, snapshot
from ettr.simulation.columns import (
    CHECKPOINT,
    CONTROL,
    DEGRADED,
    DETECTION,
    DONE,
    MAINTENANCE,
    N_ENDED,
    N_FAILURES,
    N_PLANNED,
    N_UNDETECTED,
    N_WAITS,
    OUTCOME,
    PRODUCTIVE,
    QUEUE,
    RESTART,
    REWORK,
    SLOWDOWN,
    STOPPED,
    STUCK,
    WAITING,
)
from ettr.simulation.compiling import Kernel, compiled, inner, sources
from ettr.simulation.failure_events import draw_first, draw_next_time
from ettr.simulation.heaps import HEAP
from ettr.simulation.random_numbers import FAILURE, LEAVING, block, uniform
from ettr.simulation.recovery import in_time, load, next_request, plan_restart, recover, serve
from ettr.simulation.repair_stages import HOT, IDLE, RANKS, SLOT, draw_idle
from ettr.simulation.rules import MOST_EVENTS, Rules
from ettr.simulation.state import DEGRADED as OUT_OF_SPEED
from ettr.simulation.state import (
    FAILED,
    FINISHED,
    INDEX,
    LOADING,
    PLACE,
    POSITION,
    ROW,
    SLOWED,
    STALLED,
    STATE,
    WORKING,
)
from ettr.simulation.trace import QUEUEING, lose, write
from ettr.simulation.training import work

_POLL = 0xFFF
"""The stop flag is read once per 4,096 events."""
_SPARE_ROWS = 8
"""Largest number of stretches that one event adds to a trace."""
_CRAMPED = -1.0
"""Outcome of a run that is not at its end, but needs longer arrays."""


@inner
def _begin(rules: np.record, st: np.record, trace: np.ndarray) -> None:
    """Set up nodes, spares and the first draws; then the queue and the start, or the middle of a steady run."""
    for rank in RANKS:
        st.stock[rank] = st.fresh_spares[rank] = rules.stock[rank]
    n_nodes = rules.n_nodes if rules.aged else 0
    # numbers of lemons in the job and among the spares, rounded at random so that their mean is exact
    n_lemons = spare_lemons = 0
    if rules.lemon_share > 0.0:
        w0, w1, _, _ = block(st.seed, st.run, 0, LEAVING, 0)
        n_lemons = int(math.floor(rules.lemon_share * n_nodes + uniform(w0)))
        spare_lemons = int(math.floor(rules.lemon_share * rules.n_spares + uniform(w1)))
    st.fresh[0], st.fresh[1] = n_nodes - n_lemons, n_lemons
    st.fresh_kinds[0], st.fresh_kinds[1] = rules.n_spares - spare_lemons, spare_lemons
    # first failures of nodes of each kind, of spares, and by time alone; first request for maintenance
    draw_first(rules, st, 0)
    draw_first(rules, st, 1)
    draw_idle(rules, st, 0.0)
    w0, _, _, _ = block(st.seed, st.run, 0, FAILURE, 0)
    draw_next_time(rules, st, w0, 0, FAILURE)
    st.soft_left, st.next_request = -1.0, np.inf
    if rules.request_rate > 0.0:
        next_request(rules, st)
    st.announced_mode = -1
    st.oldest = -1
    for tier in range(rules.n_tiers):
        st.durable_at[tier] = np.inf
    if rules.steady:
        _begin_in_the_middle(rules, st)
        st.status = WORKING
        return
    queue = in_time(rules, st, rules.queue)
    write(st, trace, QUEUEING, queue)
    st.queue = queue
    st.now = queue
    plan_restart(rules, st)


@inner
def _begin_in_the_middle(rules: np.record, st: np.record) -> None:
    """Begin in the steady state: every tier starts to write at place 0, and its durable copy is one interval older."""
    for tier in range(rules.n_tiers):
        st.kept[tier, POSITION] = -rules.step * rules.every[tier]
        st.kept[tier, PLACE] = -rules.every[tier]
        st.kept[tier, INDEX] = -1.0
        for other in range(rules.n_tiers):
            st.kept[tier, STALLED] -= rules.tier_stall[other] * max(1, rules.every[tier] // rules.every[other])
        snapshot(st, tier, rules.tier_write[tier])
    copy_row(st.begin, 0, st.kept, rules.n_tiers - 1)
    promote(rules, st)


@inner
def _write_down(st: np.record, out: np.ndarray, outcome: float) -> None:
    """Write the totals of a run to its row."""
    # a steady run may repeat work from before its beginning, whose stalls are then rework and no checkpoints
    before = min(0.0, st.ledger[0, STALLED])
    out[PRODUCTIVE], out[CHECKPOINT] = st.ledger[0, POSITION], st.ledger[0, STALLED] - before
    out[SLOWDOWN], out[DEGRADED] = st.ledger[0, SLOWED], st.ledger[0, OUT_OF_SPEED]
    out[REWORK], out[DETECTION], out[QUEUE] = st.rework + before, st.detection, st.queue
    out[RESTART], out[MAINTENANCE] = st.restart, st.maintenance
    out[N_FAILURES], out[N_PLANNED], out[N_UNDETECTED] = st.n_failures, st.n_planned, st.n_hidden
    out[WAITING], out[N_WAITS], out[N_ENDED] = st.waiting, st.n_waits, st.ended
    out[CONTROL] = st.struck - st.expected
    out[CONTROL + 1], out[CONTROL + 2], out[CONTROL + 3] = st.less_person, st.less_repair, st.less_mix
    out[OUTCOME] = outcome


@inner
def _room(st: np.record, most: int) -> int:
    """Largest number of entries that one event adds: for the nodes that leave, and for those that replace them."""
    return 2 * (most + st.n_found) + 5


@inner
def _stop_here(rules: np.record, st: np.record, hidden: np.ndarray, trace: np.ndarray) -> None:
    """End a run before its work is done: work undone by a failure becomes rework, work in memory counts."""
    if st.status != WORKING:
        lost = restore(rules, st, hidden)
        st.rework += lost
        if st.traced:
            lose(st, trace, lost)
    st.status = FINISHED


@inner
def _go_on(
    rules: np.record,
    st: np.record,
    modes: np.ndarray,
    slots: np.ndarray,
    clocks: np.ndarray,
    hidden: np.ndarray,
    trace: np.ndarray,
    most: int,
    limit: int,
    stop: np.ndarray,
) -> float:
    """Go from event to event, to the end of the run or until an array is full; return the outcome."""
    while st.status != FINISHED:
        if st.n_events & _POLL == 0 and stop[0] != 0:
            return STOPPED
        if st.k > limit or st.n_events > MOST_EVENTS * limit:
            return STUCK
        st.room = _room(st, most)
        if (
            max(st.n_slots, st.n_ids) + st.room > slots.size
            or st.n_clocks + st.room + st.missing > clocks.size
            or st.n_hidden == hidden.shape[0]
            or (st.traced and st.n_trace + _SPARE_ROWS > trace.shape[0])
        ):
            return _CRAMPED
        # the job is waiting to recover, restarting, or training; maintenance waits for a checkpoint in the store
        st.n_events += 1
        if st.now >= rules.horizon:
            _stop_here(rules, st, hidden, trace)
        elif st.status == FAILED:
            recover(rules, st, modes, slots, clocks, trace)
        elif st.status == LOADING:
            load(rules, st, modes, slots, clocks, hidden, trace)
        else:
            work(rules, st, modes, slots, clocks, hidden, trace)
            durable_at = st.durable_at[rules.n_tiers - 1]
            if st.status == WORKING and not st.in_action and durable_at <= st.trained + ROUNDING * rules.step:
                serve(rules, st, modes, slots, clocks, trace)
    if st.ended:
        _stop_here(rules, st, hidden, trace)
    return DONE


@cache
def event_kernel() -> Kernel:
    """Kernel for every mechanism; with a ``trace`` of more than one row it also records the stretches of a run.

    It allocates no arrays: if one is full it returns the row that it was working on, and continues from there when it
    is called again with longer arrays. It returns the number of rows when all are done.
    """
    version = sources()

    @compiled
    def walking_runs(
        rules: np.record,
        modes: np.ndarray,
        st: np.record,
        bytes_of_st: np.ndarray,
        slots: np.ndarray,
        clocks: np.ndarray,
        hidden: np.ndarray,
        trace: np.ndarray,
        seed: int,
        first_run: int,
        row: int,
        limit: int,
        stop: np.ndarray,
        table: np.ndarray,
    ) -> int:
        assert len(version) > 0
        most = max(1, min(rules.rolling, rules.stock[HOT]))  # nodes that may leave at one event
        if rules.idle_rate > 0.0:
            most += rules.stock[HOT] + rules.stock[IDLE]
        for i in range(modes.size):
            most = max(most, modes[i].n_out)
        while row < table.shape[0]:
            if st.begun == 0:
                for i in range(bytes_of_st.size):
                    bytes_of_st[i] = 0
                st.seed, st.run, st.traced, st.begun = seed, first_run + row, trace.shape[0] > 1, 1
                _begin(rules, st, trace)
            outcome = _go_on(rules, st, modes, slots, clocks, hidden, trace, most, limit, stop)
            if outcome == _CRAMPED:
                return row
            _write_down(st, table[row], outcome)
            st.begun = 0
            row += 1
            if outcome != DONE:
                break
        return table.shape[0]

    return walking_runs


def _longer(rows: np.ndarray) -> np.ndarray:
    """Copy of an array, with twice the rows."""
    return np.concatenate((rows, np.zeros_like(rows)))


def _roomier(slots: np.ndarray, state: np.void) -> np.ndarray:
    """Copy with twice the room, whose rings begin at 0. Sizes are powers of two, as rings count modulo the size."""
    copy, size = _longer(slots), slots.size
    n, first = state["n_queued"], state["first_queued"]
    copy["queued"][:n] = slots["queued"][(first + np.arange(n)) % size]
    state["first_queued"] = 0
    for rank in RANKS:
        n, first = state["n_waiting"][rank], state["first_waiting"][rank]
        copy["waiting"][:n, rank] = slots["waiting"][(first + np.arange(n)) % size, rank]
        state["first_waiting"][rank] = 0
    return copy


def walk(
    rules: Rules,
    seed: int,
    first_run: int,
    limit: int,
    stop: np.ndarray,
    table: np.ndarray,
    trace: np.ndarray,
    state: np.ndarray | None = None,
) -> np.ndarray:
    """Simulate runs with the kernel for every mechanism; return the trace of the last one."""
    state = np.zeros(1, STATE) if state is None else state  # allocated here, as compiled code would not keep it alive
    slots, clocks, hidden = np.zeros(64, SLOT), np.zeros(64, HEAP), np.zeros((16, ROW))
    row = 0
    while True:
        row = event_kernel()(
            rules.run,
            rules.modes,
            state[0],
            state.view(np.uint8),
            slots,
            clocks,
            hidden,
            trace,
            seed,
            first_run,
            row,
            limit,
            stop,
            table,
        )
        at = state[0]
        if row == table.shape[0]:
            return trace[: at["n_trace"]]
        while max(at["n_slots"], at["n_ids"]) + at["room"] > slots.size:
            slots = _roomier(slots, at)
        while at["n_clocks"] + at["room"] + at["missing"] > clocks.size:
            clocks = _longer(clocks)
        if at["n_hidden"] == hidden.shape[0]:
            hidden = _longer(hidden)
        if at["traced"] and at["n_trace"] + _SPARE_ROWS > trace.shape[0]:
            trace = _longer(trace)
