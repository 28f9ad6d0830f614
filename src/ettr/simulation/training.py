"""Training, stalls and answers to alarms, from event to event, skipping whole checkpoint cycles in between."""

from __future__ import annotations

import math

import numpy as np

from ettr.core.units import ROUNDING
from ettr.simulation.checkpoint_copies import copy_row, fall_back, forget_old, promote, secure, snapshot
from ettr.simulation.compiling import inner
from ettr.simulation.failure_events import enter, hours_until, live, next_strike, replicas_share, strike
from ettr.simulation.random_numbers import RECOVERY, SOFT, block, exponential, lognormal, uniform
from ettr.simulation.recovery import is_silent, severity
from ettr.simulation.repair_stages import FOUND, HOT
from ettr.simulation.state import (
    CLEAN,
    DEGRADED,
    FAILED,
    FINISHED,
    FOUND_AT,
    INDEX,
    KEY_OF,
    MODE_OF,
    ORIGIN,
    PLACE,
    POSITION,
    SLOWED,
    STALLED,
)
from ettr.simulation.trace import CHECKPOINTING, TRAINING, write

_FAR = 1e15
"""Largest number of blocks that are skipped at once."""


@inner
def work(
    rules: np.record,
    st: np.record,
    modes: np.ndarray,
    slots: np.ndarray,
    clocks: np.ndarray,
    hidden: np.ndarray,
    trace: np.ndarray,
) -> None:
    """Advance to the next event and handle it; ``hidden`` must have room for another silent failure."""
    # hours to the next failure, and to the detection of a silent one
    if st.soft_left < 0.0:
        _set_soft(rules, st)
    speed = replicas_share(rules, st) * (1.0 - rules.slow_loss if st.n_slow > 0 else 1.0)
    found_in = _found_in(st, hidden)
    failure_in = hours_until(rules, st, next_strike(rules, st, clocks))
    until = min(min(failure_in, found_in), rules.horizon - st.now)
    if not (st.traced or st.in_action or st.in_stall) and _skip(rules, st, speed, until, slots):
        return
    if st.in_action or st.in_stall:
        hours, over = _stand(rules, st, until, trace)
    else:
        hours, over = _train(rules, st, speed, until, trace)
    if st.status == FINISHED:
        return
    # the event that came first: a failure, a detection, the end of an action, of a stall or of an interval, an alarm
    if failure_in <= hours:
        _fail(rules, st, modes, slots, clocks, hidden)
    elif found_in <= hours:
        _find(rules, st, modes, slots, clocks, hidden)
    elif st.in_action:
        if over:
            _answered(rules, st, modes, hidden)
    elif st.in_stall:
        if over:
            _take_checkpoint(rules, st)
    elif over:
        _begin_stall(rules, st)
    elif st.soft_left <= 0.0 and _is_alarm(rules, st):
        promote(rules, st)
        if _at_risk(st) >= rules.heeded_from * (1.0 - ROUNDING):
            st.in_action, st.action_left = 1, rules.action


@inner
def _stand(rules: np.record, st: np.record, until: float, trace: np.ndarray) -> tuple[float, bool]:
    """Spend a stall, or the answer to an alarm; return the hours, and whether it is over."""
    left = st.action_left if st.in_action else st.stall_left
    hours = min(left, until)
    if st.in_stall:
        hours = max(0.0, min(hours, st.durable_at[rules.n_tiers - 1] - st.trained))
    write(st, trace, CHECKPOINTING, hours)
    live(rules, st, hours)
    st.trained += hours
    st.ledger[0, STALLED] += hours
    left -= hours
    if st.in_action:
        st.action_left = left
        for tier in range(rules.n_tiers):
            st.durable_at[tier] += hours  # background writes pause during the answer to an alarm
    else:
        st.stall_left = left
    return hours, left <= 0.0 and until > hours


@inner
def _train(rules: np.record, st: np.record, speed: float, until: float, trace: np.ndarray) -> tuple[float, bool]:
    """Train to the next place or event; return the hours, and whether the place was reached."""
    # pace: productive hours per hour, less while a background write runs or nodes are missing or slow
    durable_in = st.durable_at[rules.n_tiers - 1] - st.trained
    writing = durable_in < np.inf and rules.slowdown > 0.0
    pace = speed * (1.0 - rules.slowdown) if writing else speed
    last, to_place = rules.work - st.ledger[0, POSITION], rules.step - st.since
    ends = last <= to_place + ROUNDING * rules.step and (not rules.steady or rules.heeded_from < np.inf)
    hours, over = (last if ends else to_place) / pace, True
    first = min(min(until, st.soft_left), durable_in)
    if first < hours:
        hours, over = max(0.0, first), False
    hours = max(0.0, hours)
    write(st, trace, TRAINING, hours)
    live(rules, st, hours)
    st.trained += hours
    st.soft_left -= hours
    st.since += hours * pace
    st.ledger[0, POSITION] += hours * pace
    taken = rules.slowdown if writing else 0.0
    st.ledger[0, SLOWED] += hours * taken
    st.ledger[0, DEGRADED] += hours * (1.0 - taken) * (1.0 - speed)
    if over and ends:
        st.status = FINISHED
    return hours, over


@inner
def _is_due(rules: np.record, place: int, tier: int) -> bool:
    """Whether a tier takes a checkpoint at a place."""
    return rules.every[tier] == 1 or place % rules.every[tier] == 0


@inner
def _skip(rules: np.record, st: np.record, speed: float, until: float, slots: np.ndarray) -> bool:
    """Skip whole blocks of one tier in which nothing happens; return whether any were skipped.

    A block is the stretch between two checkpoints of a tier. The tier is the slowest one that has just begun to write,
    and the blocks end before the next slower tier is due.
    """
    store = rules.n_tiers - 1
    if st.since != 0.0:
        return False
    tier = store
    while not _is_due(rules, st.place, tier):
        tier -= 1
    fresh = st.durable_at[tier] == np.inf and rules.tier_write[tier] > 0.0
    if fresh and (store > 0 or rules.slowdown > 0.0):
        return False  # right after a recovery no write is under way, so the first block differs from the others
    places = rules.every[tier]
    stalls = 0.0
    for faster in range(tier + 1):
        stalls += rules.tier_stall[faster] * (1 if faster == tier else places // rules.every[faster])
    work_h = rules.step * places
    slowed, degraded = rules.slowdown * rules.persist, work_h * (1.0 / speed - 1.0)
    block_h = work_h + degraded + slowed + stalls
    free = min(min(until, st.soft_left), _FAR * block_h)
    if tier == store:  # stop before an event that is served at a checkpoint of the store: a swap, maintenance, a return
        free = min(free, 0.0 if st.n_found > 0 else st.next_request - st.now)
        if st.missing > 0:
            back = slots[0].key - st.now if st.n_repair > 0 else np.inf
            free = min(free, back if st.stock[HOT] == 0 else 0.0)
    most = math.ceil((rules.work - st.ledger[0, POSITION]) / work_h - ROUNDING) - 1
    if tier < store:
        free = min(free, st.durable_at[store] - st.trained)
        slower = rules.every[tier + 1]
        most = min(most, (slower - st.place % slower) // places - 1)
    n = min(math.floor(free / block_h), most)
    uneven = slowed > 0.0 or degraded > 0.0
    if fresh:  # no write is under way: the durable copy and the one to be written start from the current state
        st.ledger[0, PLACE], st.ledger[0, ORIGIN] = st.place, st.origin
        copy_row(st.written, store, st.ledger, 0)
        copy_row(st.kept, store, st.ledger, 0)
    for faster in range(tier + 1):
        uneven = uneven or st.written[faster, DEGRADED] != st.kept[faster, DEGRADED]
    if uneven:
        n -= 1  # the last two copies are not a regular block apart; simulate one block to make them so
    if n < 1:
        return False
    live(rules, st, n * block_h)
    st.trained += n * block_h
    st.soft_left -= n * (block_h - stalls)
    st.place += n * places
    taken = n if tier == store else 0
    _add_blocks(st.ledger, 0, n, taken, work_h, stalls, slowed, degraded, places)
    for faster in range(tier + 1):
        _add_blocks(st.kept, faster, n, taken, work_h, stalls, slowed, degraded, places)
        _add_blocks(st.written, faster, n, taken, work_h, stalls, slowed, degraded, places)
        st.durable_at[faster] += n * block_h
    if fresh:
        _add_blocks(st.kept, store, -1, -1, work_h, stalls, slowed, degraded, places)
        st.durable_at[store] = st.trained + rules.tier_write[store]
    st.ledger[0, POSITION] = st.origin + st.place * rules.step
    return True


@inner
def _add_blocks(
    rows: np.ndarray,
    i: int,
    n: int,
    taken: int,
    work_h: float,
    stalls: float,
    slowed: float,
    degraded: float,
    places: int,
) -> None:
    """Advance a ledger by n blocks."""
    rows[i, POSITION] += n * work_h
    rows[i, STALLED] += n * stalls
    rows[i, SLOWED] += n * slowed
    rows[i, DEGRADED] += n * degraded
    rows[i, INDEX] += taken
    rows[i, PLACE] += n * places


@inner
def _at_risk(st: np.record) -> float:
    """Productive hours since the newest durable copy of the fastest tier."""
    return st.ledger[0, POSITION] - st.kept[0, POSITION]


@inner
def _begin_stall(rules: np.record, st: np.record) -> None:
    """Begin the stall at a place, for each tier that is due."""
    st.in_stall, st.stall_left = 1, 0.0
    for tier in range(rules.n_tiers):
        if _is_due(rules, st.place + 1, tier):
            st.stall_left += rules.tier_stall[tier]


@inner
def _take_checkpoint(rules: np.record, st: np.record) -> None:
    """End the stall: begin to write a copy of the current state to each tier that is due."""
    store = rules.n_tiers - 1
    st.in_stall, st.since = 0, 0.0
    st.place += 1
    st.ledger[0, POSITION] = st.origin + st.place * rules.step
    promote(rules, st)
    if _is_due(rules, st.place, store):
        st.ledger[0, INDEX] += 1.0
    for tier in range(rules.n_tiers):
        if _is_due(rules, st.place, tier):
            snapshot(st, tier, rules.tier_write[tier])
    if rules.steady and st.ledger[0, POSITION] >= rules.work - ROUNDING * rules.tau:
        st.status = FINISHED


@inner
def _answered(rules: np.record, st: np.record, modes: np.ndarray, hidden: np.ndarray) -> None:
    """Finish the answer to an alarm; after a true alarm the failure strikes now."""
    st.in_action = 0
    secure(rules, st, hidden)
    if st.announced_mode >= 0:
        st.mode, st.node = st.announced_mode, st.announced_node
        st.announced_mode = -1
        st.severity = severity(rules, st, modes, 0)
        st.status = FAILED


@inner
def _forestall(rules: np.record, st: np.record, slots: np.ndarray, clocks: np.ndarray) -> None:
    """Cancel an announced failure because another came first; its node is repaired along with the other."""
    if st.in_action and st.announced_mode >= 0:
        if st.announced_node >= 0:
            enter(rules, st, slots, clocks, st.announced_node, 1)
        st.announced_mode = -1


@inner
def _fail(
    rules: np.record, st: np.record, modes: np.ndarray, slots: np.ndarray, clocks: np.ndarray, hidden: np.ndarray
) -> None:
    """Handle a failure in training or in a stall: silent, announced by an alarm, or detected at once."""
    st.hazard = next_strike(rules, st, clocks)
    strike(rules, st, modes, slots, clocks)
    if is_silent(st, modes):
        _hide(rules, st, modes, hidden)
        return
    promote(rules, st)
    if modes[st.mode].announced > 0.0 and not st.in_action and not st.in_stall:
        v0, _, _, _ = block(st.seed, st.run, st.key, RECOVERY, 3)
        if uniform(v0) < modes[st.mode].announced and _at_risk(st) >= rules.heeded_from * (1.0 - ROUNDING):
            st.announced_mode, st.announced_node = st.mode, st.node
            st.in_action, st.action_left = 1, rules.action
            return
    _forestall(rules, st, slots, clocks)
    st.severity = severity(rules, st, modes, 0)
    fall_back(rules, st)
    st.status = FAILED


@inner
def _hide(rules: np.record, st: np.record, modes: np.ndarray, hidden: np.ndarray) -> None:
    """Record a silent failure: the time of its detection, and the newest copy from before it."""
    store, i = rules.n_tiers - 1, st.n_hidden
    st.n_hidden += 1
    v0, _, _, _ = block(st.seed, st.run, st.key, RECOVERY, 0)
    mode = modes[st.mode]
    latency = lognormal(mode.latency, mode.latency_sigma, v0, st.seed, st.run, st.key, RECOVERY)
    if st.durable_at[store] < np.inf:
        copy_row(hidden, i, st.written, store)
    else:
        copy_row(hidden, i, st.kept, store)
    hidden[i, FOUND_AT], hidden[i, MODE_OF], hidden[i, KEY_OF] = st.now + latency, st.mode, st.key
    hidden[i, CLEAN] = st.origin + st.place * rules.step  # of any tier


@inner
def _found_in(st: np.record, hidden: np.ndarray) -> float:
    """Hours until the next silent failure is detected."""
    first = np.inf
    for i in range(st.n_hidden):
        first = min(first, hidden[i, FOUND_AT] - st.now)
    return max(0.0, first)


@inner
def _find(
    rules: np.record, st: np.record, modes: np.ndarray, slots: np.ndarray, clocks: np.ndarray, hidden: np.ndarray
) -> None:
    """Detect a silent failure: go back to the fastest clean copy, or to an older checkpoint of the store."""
    promote(rules, st)
    _forestall(rules, st, slots, clocks)
    i, store = 0, rules.n_tiers - 1
    forget_old(rules, st)
    for other in range(1, st.n_hidden):
        if hidden[other, FOUND_AT] < hidden[i, FOUND_AT]:
            i = other
    st.k += 1
    st.key = FOUND | int(hidden[i, KEY_OF]) if rules.tracked else st.k
    st.mode, st.node = int(hidden[i, MODE_OF]), -1
    st.severity = severity(rules, st, modes, 0)
    clean = hidden[i, CLEAN] + ROUNDING * rules.step
    while st.severity < store and st.kept[st.severity, POSITION] > clean:
        st.severity += 1
    if st.kept[st.severity, POSITION] > clean:
        if hidden[i, INDEX] < st.oldest:
            copy_row(st.kept, store, st.begin, 0)
            st.oldest = -1
        else:
            copy_row(st.kept, store, hidden, i)
    st.n_hidden -= 1
    copy_row(hidden, i, hidden, st.n_hidden)
    fall_back(rules, st)
    st.status = FAILED


@inner
def _set_soft(rules: np.record, st: np.record) -> None:
    """Draw the training hours to the next false alarm, node that becomes slow, or detection of one."""
    rate = _soft_rate(rules, st)
    st.soft_left = np.inf
    if rate > 0.0:
        st.n_soft += 1
        w0, _, _, _ = block(st.seed, st.run, st.n_soft, SOFT, 0)
        st.soft_left = exponential(w0, st.seed, st.run, st.n_soft, SOFT) / rate


@inner
def _is_alarm(rules: np.record, st: np.record) -> bool:
    """Handle that event; return whether it is a false alarm of the predictor."""
    _, w1, _, _ = block(st.seed, st.run, st.n_soft, SOFT, 0)
    st.soft_left = -1.0
    x = _soft_rate(rules, st) * uniform(w1)
    if x < rules.alarm_rate:
        return True
    x -= rules.alarm_rate
    if x < rules.slow_rate:
        n_fast = rules.n_nodes - st.missing - st.n_slow
        if x * rules.n_nodes < rules.slow_rate * n_fast:  # no event if the node drawn is already slow, or missing
            st.n_slow += 1
    else:
        st.n_found += 1
    return False


@inner
def _soft_rate(rules: np.record, st: np.record) -> float:
    """Rate of false alarms, of nodes that become slow, and of their detection. [1/h of training]"""
    return rules.alarm_rate + rules.slow_rate + (st.n_slow - st.n_found) * rules.found_rate
