"""The kernel for runs with further mechanisms: from event to event, and over whole cycles in between.

The job walks along places, the checkpoints of the fastest tier. What it has done since is a ledger of hours; each tier
keeps the ledger of its newest durable copy, and a failure gives what the ledger shows beyond the copy to rework.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numba import njit

from ettr.simulation.columns import (
    CHECKPOINT,
    CONTROL,
    DEGRADED,
    DETECTION,
    DONE,
    MAINTENANCE,
    N_COLUMNS,
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
from ettr.simulation.draws import DIAGNOSIS, FAILURE, PLANNED, RECOVERY, SOFT, block, exponential, lognormal, uniform
from ettr.simulation.heaps import new_heap, with_room
from ettr.simulation.kernel import Kernel, sources
from ettr.simulation.ledger import add_to_row, copy_row, forget_hidden, longer_rows, promote, restore, secure, snapshot
from ettr.simulation.repairs import catch_up, leave, new_slots, next_back, roomier, spare_node
from ettr.simulation.state import DEGRADED as OUT_OF_SPEED
from ettr.simulation.state import CLEAN, FOUND_AT, INDEX, MODE_OF, PLACE, POSITION, ROW, SLOWED, STALLED
from ettr.simulation.strikes import (
    draw_first,
    draw_next_time,
    enter,
    hours_until,
    life,
    live,
    new_state,
    next_strike,
    replicas_share,
    strike,
    take_any,
)
from ettr.simulation.trace import CHECKPOINTING, DETECTING, QUEUEING, RESTARTING, SERVICE, TRAINING, lose, write

_POLL = 0xFFF
_HAIR = 1e-9
FAILED, LOADING, WORKING = range(3)
SWAPPED = 1 << 17
_MOST_BAD = 4096


@njit(error_model="numpy")
def _speed(rules: np.record, st: np.record) -> float:
    """Training of the whole job per hour, background writes aside."""
    return replicas_share(rules, st) * (1.0 - rules.slow_loss if st.n_slow > 0 else 1.0)


@njit(error_model="numpy")
def _set_soft(rules: np.record, st: np.record, seed: int, run: int) -> None:
    """Draw how many training hours pass until something happens that is no failure."""
    at_large = st.n_slow - st.n_found
    rate = rules.alarm_rate + rules.slow_rate + at_large * (rules.found_rate + rules.passed_rate)
    if rate == 0.0:
        st.soft_left = np.inf
        return
    w0, _, _, _ = block(seed, run, st.n_soft, SOFT, 0)
    st.soft_left = exponential(w0, seed, run, st.n_soft, SOFT) / rate


@njit(error_model="numpy")
def _soften(rules: np.record, st: np.record, seed: int, run: int) -> bool:
    """Let such an event happen; answers whether it is a false alarm of the predictor."""
    at_large = st.n_slow - st.n_found
    _, w1, _, _ = block(seed, run, st.n_soft, SOFT, 0)
    st.n_soft += 1
    x = uniform(w1) * (rules.alarm_rate + rules.slow_rate + at_large * (rules.found_rate + rules.passed_rate))
    st.soft_left = -1.0
    if x < rules.alarm_rate:
        return True
    x -= rules.alarm_rate
    if x < rules.slow_rate:
        st.n_slow += 1
    elif x - rules.slow_rate < at_large * rules.found_rate:
        st.n_found += 1
    else:
        st.n_slow -= 1
    return False


@njit(error_model="numpy")
def _next_request(rules: np.record, st: np.record, seed: int, run: int) -> None:
    w0, _, _, _ = block(seed, run, st.n_requests, PLANNED, 1)
    st.next_request += exponential(w0, seed, run, st.n_requests, PLANNED) / rules.request_rate
    st.n_requests += 1


@njit(error_model="numpy")
def _plan_restart(rules: np.record, tiers: np.ndarray, st: np.record, seed: int, run: int) -> None:
    """Ready to load from the store after a planned stop, or at the start."""
    w0, _, _, _ = block(seed, run, st.n_planned, PLANNED, 0)
    r = lognormal(rules.restart, rules.restart_sigma, w0, seed, run, st.n_planned, PLANNED)
    st.n_planned += 1
    st.less_restart += r - rules.restart
    st.severity = tiers.size - 1
    st.pending = r + tiers[st.severity].load


@njit(error_model="numpy")
def _severity(tiers: np.ndarray, survival: np.ndarray, st: np.record, seed: int, run: int) -> int:
    """Fastest tier that survives the failure at hand."""
    n_tiers = tiers.size
    if n_tiers == 1:
        return 0
    _, _, _, w3 = block(seed, run, st.k, RECOVERY, 0)
    x = uniform(w3)
    for tier in range(n_tiers - 1):
        if x < survival[st.mode, tier]:
            return tier
    return n_tiers - 1


@njit(error_model="numpy")
def _is_silent(modes: np.ndarray, st: np.record) -> bool:
    return not math.isnan(modes[st.mode].latency)


@njit(error_model="numpy")
def _swap_found(
    rules: np.record,
    st: np.record,
    modes: np.ndarray,
    firsts: np.ndarray,
    slots: np.ndarray,
    repairs: np.ndarray,
    history: np.ndarray,
    clocks: np.ndarray,
    at: float,
    seed: int,
    run: int,
) -> None:
    """Swap the slow nodes that were found, as far as there are hot spares."""
    n = st.n_found
    if rules.pooled:
        n = min(n, st.hot)
    general = modes.size - 1
    for one in range(n):
        node = take_any(rules, st, firsts, slots, clocks, seed, run, SWAPPED + 64 * (st.n_soft & 1023) + one)
        if rules.pooled:
            leave(
                rules,
                st,
                slots,
                repairs,
                history,
                node,
                modes[general].repair,
                True,
                at,
                SWAPPED + 64 * (st.n_soft & 1023) + one,
                seed,
                run,
            )
            st.hot -= 1
            node = spare_node(rules, st, slots, seed, run)
        enter(rules, st, slots, clocks, node, life(st, 1, seed, run), seed, run)
    st.n_found -= n
    st.n_slow -= n
    if n > 0:
        st.soft_left = -1.0


@njit(error_model="numpy")
def _replace(
    rules: np.record,
    st: np.record,
    modes: np.ndarray,
    firsts: np.ndarray,
    slots: np.ndarray,
    repairs: np.ndarray,
    history: np.ndarray,
    clocks: np.ndarray,
    n_out: int,
    seed: int,
    run: int,
) -> float:
    """Fill up the job after nodes left it; answers the wait. [h]"""
    catch_up(rules, st, slots, repairs, seed, run)
    need, wait, n_in = n_out + st.missing, 0.0, 0
    while need > 0 and st.hot + st.preemptible + st.cold > 0:
        if st.hot > 0:
            st.hot -= 1
        elif st.preemptible > 0:
            st.preemptible -= 1
            wait = max(wait, rules.preempt)
        else:
            st.cold -= 1
            wait = max(wait, rules.fetch)
        need -= 1
        node = spare_node(rules, st, slots, seed, run)
        enter(rules, st, slots, clocks, node, life(st, n_in, seed, run), seed, run)
        n_in += 1
    allowed = 0
    if rules.n_replicas > 0:
        allowed = int(math.floor((rules.n_replicas - rules.n_least) * rules.n_nodes / rules.n_replicas + _HAIR))
    while need > allowed:
        at, node = next_back(rules, st, slots, repairs, np.inf, seed, run)
        wait = max(wait, at - st.now)
        need -= 1
        enter(rules, st, slots, clocks, node, life(st, n_in, seed, run), seed, run)
        n_in += 1
    st.missing = need
    return wait


@njit(error_model="numpy")
def _exchange(
    rules: np.record,
    st: np.record,
    modes: np.ndarray,
    firsts: np.ndarray,
    slots: np.ndarray,
    repairs: np.ndarray,
    history: np.ndarray,
    clocks: np.ndarray,
    bad: np.ndarray,
    seed: int,
    run: int,
) -> float:
    """Nodes leave after a failure and others take their place; answers the wait. [h]"""
    mode, repeat = st.mode, st.mode == modes.size - 1
    n_out = modes[mode].n_out
    own = modes[mode].repair
    if n_out == 1:
        wrong = False
        if rules.misdiagnosed > 0.0 and rules.n_nodes > 1 + st.n_bad - (1 if repeat else 0):
            w0, w1, _, _ = block(seed, run, st.k, DIAGNOSIS, 0)
            wrong = uniform(w0) < rules.misdiagnosed
            if wrong != repeat:  # a bad node more, or one less
                if wrong:
                    bad[min(st.n_bad, _MOST_BAD - 1)] = (
                        st.node if st.node >= 0 else take_any(rules, st, firsts, slots, clocks, seed, run, 0)
                    )
                    st.n_bad += 1
                else:
                    st.n_bad -= 1
                    st.node = bad[min(st.n_bad, _MOST_BAD - 1)]
                draw_next_time(rules, st, w1, st.k, DIAGNOSIS, seed, run)
        elif repeat:
            st.n_bad -= 1
            st.node = bad[min(st.n_bad, _MOST_BAD - 1)]
            _, w1, _, _ = block(seed, run, st.k, DIAGNOSIS, 0)
            draw_next_time(rules, st, w1, st.k, DIAGNOSIS, seed, run)
        node = st.node
        if wrong or node < 0:
            node = take_any(rules, st, firsts, slots, clocks, seed, run, 1)
        if rules.pooled:
            leave(rules, st, slots, repairs, history, node, own, True, st.now, 0, seed, run)
        else:
            enter(rules, st, slots, clocks, node, life(st, 0, seed, run), seed, run)
    else:
        for one in range(n_out):
            node = take_any(rules, st, firsts, slots, clocks, seed, run, 2 + one)
            if rules.pooled:
                leave(rules, st, slots, repairs, history, node, own, True, st.now, one, seed, run)
            else:
                enter(rules, st, slots, clocks, node, life(st, one, seed, run), seed, run)
    if not rules.pooled:
        return 0.0
    return _replace(rules, st, modes, firsts, slots, repairs, history, clocks, n_out, seed, run)


@cache
def walking() -> Kernel:
    """Kernel for every rule; with ``trace`` of more than one row it also writes down where the hours go."""
    version = sources()

    @njit(cache=True, nogil=True, error_model="numpy")
    def walking_runs(
        rules: np.record,
        modes: np.ndarray,
        tiers: np.ndarray,
        survival: np.ndarray,
        firsts: np.ndarray,
        seed: int,
        first_run: int,
        limit: int,
        stop: np.ndarray,
        table: np.ndarray,
        trace: np.ndarray,
    ) -> np.ndarray:
        assert len(version) > 0
        n_tiers = tiers.size
        store, whole = n_tiers - 1, tiers[n_tiers - 1].every
        store_stalls = 0.0
        for tier in range(n_tiers):
            store_stalls += tiers[tier].stall * (whole // tiers[tier].every)
        traced, n_trace = trace.shape[0] > 1, 0
        largest = max(1, rules.rolling)
        for i in range(modes.size):
            largest = max(largest, modes[i].n_out)
        clocks, repairs, slots = new_heap(64), new_heap(256), new_slots(256)
        history = np.zeros((256, max(1, rules.retire_after)))
        bad = np.zeros(_MOST_BAD, np.int64)
        kept, written = np.zeros((n_tiers, ROW)), np.zeros((n_tiers, ROW))
        durable_at = np.empty(n_tiers)
        hidden = np.zeros((16, ROW))
        begin, led, per_cycle = np.zeros((1, ROW)), np.zeros((1, ROW)), np.zeros((1, ROW))
        polled = 0

        for row in range(table.shape[0]):
            run = first_run + row
            out = table[row]
            for i in range(N_COLUMNS):
                out[i] = 0.0
            for part in range(ROW):
                led[0, part] = begin[0, part] = 0.0
                for tier in range(n_tiers):
                    kept[tier, part] = 0.0
            for tier in range(n_tiers):
                durable_at[tier] = np.inf
            st = new_state()[0]
            outcome = DONE
            finish = rules.work

            # nodes and spares at the start
            st.hot, st.preemptible, st.cold = rules.hot, rules.preemptible, rules.cold
            st.fresh_0 = rules.n_nodes if rules.aged else 0
            st.fresh_spares = rules.hot + rules.preemptible + rules.cold
            if rules.lemon_share > 0.0:
                w0, w1, _, _ = block(seed, run, 0, DIAGNOSIS, 0)
                st.fresh_1 = int(math.floor(rules.lemon_share * rules.n_nodes + uniform(w0)))
                st.fresh_0 -= st.fresh_1
                st.fresh_lemons = int(math.floor(rules.lemon_share * st.fresh_spares + uniform(w1)))
            draw_first(rules, st, firsts, 0, seed, run)
            draw_first(rules, st, firsts, 1, seed, run)
            w0, _, _, _ = block(seed, run, 0, FAILURE, 0)
            draw_next_time(rules, st, w0, 0, FAILURE, seed, run)
            st.soft_left = -1.0
            if rules.request_rate > 0.0:
                _next_request(rules, st, seed, run)
            else:
                st.next_request = np.inf
            st.announced_mode = -1
            if rules.steady:
                for tier in range(n_tiers):
                    kept[tier, POSITION] = -rules.step * tiers[tier].every
                    kept[tier, PLACE] = -tiers[tier].every
                    kept[tier, INDEX] = -1.0
                    kept[tier, SLOWED] = -rules.slowdown * rules.persist
                    kept[tier, STALLED] = 0.0
                    for other in range(n_tiers):
                        stalls = max(1, tiers[tier].every // tiers[other].every)
                        kept[tier, STALLED] -= stalls * tiers[other].stall
                    snapshot(written, durable_at, tier, led, st, tiers[tier].write)
                copy_row(begin, 0, kept, store)
                promote(kept, written, durable_at, st)
                status = WORKING
            else:
                out[QUEUE] = rules.first_queue
                st.now = rules.first_queue
                if traced:
                    trace, n_trace = write(trace, n_trace, QUEUEING, 0.0, st.now)
                _plan_restart(rules, tiers, st, seed, run)
                status = LOADING

            while True:
                polled += 1
                if polled & _POLL == 0 and stop[0] != 0:
                    outcome = STOPPED
                    break
                if st.k > limit or st.n_bad >= _MOST_BAD:
                    outcome = STUCK
                    break

                if status == FAILED:
                    out[N_FAILURES] += 1.0
                    mode = st.mode
                    v0, v1, v2, _ = block(seed, run, st.k, RECOVERY, 0)
                    down = lognormal(modes[mode].detection, modes[mode].detection_sigma, v0, seed, run, st.k, RECOVERY)
                    st.less_down += down - modes[mode].detection
                    if traced:
                        trace, n_trace = write(trace, n_trace, DETECTING, st.now, st.now + down)
                    st.now += down
                    out[DETECTION] += down
                    while max(st.n_slots, st.n_ids) + 3 * largest + st.n_found + 8 > slots.size:
                        slots, history = roomier(slots, st), longer_rows(history)
                        repairs = with_room(repairs, repairs.size)
                    while st.n_heap + 3 * largest + st.n_found + st.missing + 8 > clocks.size:
                        clocks = with_room(clocks, clocks.size)
                    wait = _exchange(rules, st, modes, firsts, slots, repairs, history, clocks, bad, seed, run)
                    if wait > 0.0:
                        out[WAITING] += wait
                        out[N_WAITS] += 1.0
                    if rules.person_share > 0.0:
                        person = 0.0
                        if uniform(v1) < rules.person_share:
                            person = rules.person * exponential(v2, seed, run, st.k, RECOVERY)
                        st.less_down += person - rules.person_share * rules.person
                        wait += person
                    wait += modes[mode].queue
                    if traced:
                        trace, n_trace = write(trace, n_trace, QUEUEING, st.now, st.now + wait)
                    st.now += wait
                    out[QUEUE] += wait
                    if st.n_found > 0:
                        catch_up(rules, st, slots, repairs, seed, run)
                        _swap_found(rules, st, modes, firsts, slots, repairs, history, clocks, st.now, seed, run)
                    mean = modes[mode].restart
                    _, w1, _, _ = block(seed, run, st.k, FAILURE, 0)
                    r = lognormal(mean, modes[mode].restart_sigma, w1, seed, run, st.k, FAILURE)
                    st.less_restart += r - mean
                    st.pending = r + tiers[st.severity].load
                    status = LOADING
                    continue

                if status == LOADING:
                    left = hours_until(rules, st, next_strike(st, clocks))
                    hours = min(left, st.pending)
                    if traced:
                        trace, n_trace = write(trace, n_trace, RESTARTING, st.now, st.now + hours)
                    live(rules, st, hours)
                    out[RESTART] += hours
                    st.pending -= hours
                    if left < st.pending + hours:
                        while st.n_ids + 2 > slots.size:
                            slots, history = roomier(slots, st), longer_rows(history)
                            repairs = with_room(repairs, repairs.size)
                        st.hazard = next_strike(st, clocks)
                        strike(rules, st, modes, firsts, slots, clocks, seed, run)
                        if not _is_silent(modes, st):
                            st.severity = max(st.severity, _severity(tiers, survival, st, seed, run))
                            status = FAILED
                        continue
                    lost = restore(kept, durable_at, st, led)
                    out[REWORK] += lost
                    if traced:
                        lose(trace, n_trace, lost)
                    forget_hidden(hidden, st, led)
                    status = WORKING
                    continue

                # training, stalls and answers to alarms
                if st.soft_left < 0.0:
                    _set_soft(rules, st, seed, run)
                speed = _speed(rules, st)
                writing = durable_at[store] < np.inf and rules.slowdown > 0.0
                pace = speed * (1.0 - rules.slowdown) if writing else speed
                found = np.inf
                for i in range(st.n_hidden):
                    found = min(found, hidden[i, FOUND_AT] - st.now)
                found = max(0.0, found)
                failure = hours_until(rules, st, next_strike(st, clocks))
                if st.in_action or st.in_stall:
                    own = st.action_left if st.in_action else st.stall_left
                    hours = min(min(own, failure), found)
                    if st.in_stall:
                        hours = max(0.0, min(hours, durable_at[store] - st.trained))
                    own -= hours
                    live(rules, st, hours)
                    st.trained += hours
                    led[0, STALLED] += hours
                    if traced:
                        trace, n_trace = write(trace, n_trace, CHECKPOINTING, st.now - hours, st.now)
                    st.action_left, st.stall_left = (own, 0.0) if st.in_action else (0.0, own)
                    over = own <= 0.0 and failure > hours and found > hours
                else:
                    # whole cycles at once
                    at_store = st.since == 0.0 and st.place % whole == 0
                    at_store = at_store and (durable_at[store] < np.inf or tiers[store].write == 0.0)
                    if at_store and not traced:
                        cycle = rules.tau / speed + rules.slowdown * rules.persist + store_stalls
                        until = min(min(failure, found), min(st.soft_left, 1e15 * cycle))
                        until = min(until, st.next_request - st.now)
                        if st.n_found > 0:
                            until = 0.0
                        if st.missing > 0:
                            until = min(until, repairs[0].key - st.now if st.hot == 0 and st.n_repair > 0 else 0.0)
                        to_do = (finish - led[0, POSITION]) / rules.tau - _HAIR
                        skipped = min(math.floor(until / cycle), math.ceil(to_do) - 1) - 1
                        if skipped > 0:
                            n = float(skipped)
                            live(rules, st, n * cycle)
                            st.trained += n * cycle
                            st.soft_left -= n * (cycle - store_stalls)
                            st.place += skipped * whole
                            per_cycle[0, POSITION], per_cycle[0, STALLED] = rules.tau, store_stalls
                            per_cycle[0, SLOWED] = rules.slowdown * rules.persist
                            per_cycle[0, OUT_OF_SPEED] = rules.tau * (1.0 / speed - 1.0)
                            per_cycle[0, INDEX], per_cycle[0, PLACE] = 1.0, whole
                            add_to_row(led, 0, per_cycle, n)
                            led[0, POSITION] = st.origin + st.place * rules.step
                            for tier in range(n_tiers):
                                add_to_row(kept, tier, per_cycle, n)
                                add_to_row(written, tier, per_cycle, n)
                            for tier in range(n_tiers):
                                if durable_at[tier] < np.inf:
                                    durable_at[tier] += n * cycle
                            continue
                    last = finish - led[0, POSITION]
                    to_place = rules.step - st.since
                    ends = last <= to_place + _HAIR * rules.step and not rules.steady
                    hours = (last if ends else to_place) / pace
                    over = True
                    durable = durable_at[store] - st.trained
                    if durable < hours:
                        hours, over = durable, False
                    if min(min(failure, found), st.soft_left) < hours:
                        hours, over = min(min(failure, found), st.soft_left), False
                    hours = max(0.0, hours)
                    live(rules, st, hours)
                    st.trained += hours
                    st.soft_left -= hours
                    st.since += hours * pace
                    led[0, POSITION] += hours * pace
                    if writing:
                        led[0, SLOWED] += hours * rules.slowdown
                        led[0, OUT_OF_SPEED] += hours * (1.0 - rules.slowdown) * (1.0 - speed)
                    else:
                        led[0, OUT_OF_SPEED] += hours * (1.0 - speed)
                    if traced:
                        trace, n_trace = write(trace, n_trace, TRAINING, st.now - hours, st.now)
                    if over and ends:
                        break

                if failure <= hours:
                    while max(st.n_ids, st.n_heap) + 2 > slots.size:
                        slots, history = roomier(slots, st), longer_rows(history)
                        repairs = with_room(repairs, repairs.size)
                    st.hazard = next_strike(st, clocks)
                    strike(rules, st, modes, firsts, slots, clocks, seed, run)
                    if _is_silent(modes, st):
                        if st.n_hidden == hidden.shape[0]:
                            hidden = longer_rows(hidden)
                        i = st.n_hidden
                        st.n_hidden += 1
                        v0, _, _, _ = block(seed, run, st.k, RECOVERY, 0)
                        late = modes[st.mode].latency
                        late = lognormal(late, modes[st.mode].latency_sigma, v0, seed, run, st.k, RECOVERY)
                        if durable_at[store] < np.inf:
                            copy_row(hidden, i, written, store)
                        else:
                            copy_row(hidden, i, kept, store)
                        hidden[i, FOUND_AT], hidden[i, MODE_OF] = st.now + late, st.mode
                        hidden[i, CLEAN] = st.origin + st.place * rules.step  # the newest copy in any tier
                        continue
                    promote(kept, written, durable_at, st)
                    if modes[st.mode].announced > 0.0 and not st.in_action and not st.in_stall:
                        v0, _, _, _ = block(seed, run, st.k, RECOVERY, 3)
                        at_risk = led[0, POSITION] - kept[0, POSITION]
                        if uniform(v0) < modes[st.mode].announced and at_risk >= rules.heeded_from * (1 - _HAIR):
                            st.announced_mode, st.announced_node = st.mode, st.node
                            st.in_action, st.action_left = 1, rules.action
                            continue
                    if st.in_action and st.announced_mode >= 0:
                        if st.announced_node >= 0:  # mended with the other
                            clocks = with_room(clocks, st.n_heap)
                            enter(rules, st, slots, clocks, st.announced_node, life(st, 1, seed, run), seed, run)
                        st.announced_mode = -1
                    st.severity = _severity(tiers, survival, st, seed, run)
                    for tier in range(st.severity + 1, n_tiers):
                        if durable_at[tier] < np.inf and written[tier, POSITION] <= kept[st.severity, POSITION] + _HAIR:
                            copy_row(kept, tier, written, tier)
                    st.in_action = st.in_stall = 0
                    status = FAILED
                    continue

                if found <= hours:
                    promote(kept, written, durable_at, st)
                    i = 0
                    for other in range(1, st.n_hidden):
                        if hidden[other, FOUND_AT] < hidden[i, FOUND_AT]:
                            i = other
                    st.k += 1
                    st.mode, st.node = int(hidden[i, MODE_OF]), -1
                    st.severity = _severity(tiers, survival, st, seed, run)
                    clean = hidden[i, CLEAN] + _HAIR * rules.step
                    while st.severity < store and kept[st.severity, POSITION] > clean:
                        st.severity += 1
                    if st.severity == store and kept[store, POSITION] > clean:
                        too_old = rules.n_kept > 0 and kept[store, INDEX] - hidden[i, INDEX] >= rules.n_kept
                        if too_old:
                            copy_row(kept, store, begin, 0)
                        else:
                            copy_row(kept, store, hidden, i)
                    for tier in range(st.severity + 1, n_tiers):
                        if durable_at[tier] < np.inf and written[tier, POSITION] <= kept[st.severity, POSITION] + _HAIR:
                            copy_row(kept, tier, written, tier)
                    st.n_hidden -= 1
                    copy_row(hidden, i, hidden, st.n_hidden)
                    if st.in_action and st.announced_mode >= 0:
                        if st.announced_node >= 0:
                            clocks = with_room(clocks, st.n_heap)
                            enter(rules, st, slots, clocks, st.announced_node, life(st, 1, seed, run), seed, run)
                        st.announced_mode = -1
                    st.in_action = st.in_stall = 0
                    status = FAILED
                    continue

                if st.in_action:
                    if not over:
                        continue
                    st.in_action = 0
                    secure(kept, durable_at, st, led)
                    if st.announced_mode >= 0:
                        st.mode, st.node = st.announced_mode, st.announced_node
                        st.announced_mode = -1
                        st.severity = _severity(tiers, survival, st, seed, run)
                        status = FAILED
                    continue

                if st.in_stall and over:
                    st.in_stall = 0
                    st.place += 1
                    st.since = 0.0
                    led[0, POSITION] = st.origin + st.place * rules.step
                    promote(kept, written, durable_at, st)
                    if st.place % whole == 0:
                        led[0, INDEX] += 1.0
                    for tier in range(n_tiers):
                        if st.place % tiers[tier].every == 0:
                            snapshot(written, durable_at, tier, led, st, tiers[tier].write)
                    if rules.steady and led[0, POSITION] >= finish - _HAIR * rules.tau:
                        break
                elif over and not st.in_stall:
                    st.in_stall = 1
                    st.stall_left = 0.0
                    for tier in range(n_tiers):
                        if (st.place + 1) % tiers[tier].every == 0:
                            st.stall_left += tiers[tier].stall
                    continue
                elif not st.in_stall and st.soft_left <= 0.0 and _soften(rules, st, seed, run):
                    promote(kept, written, durable_at, st)
                    if led[0, POSITION] - kept[0, POSITION] >= rules.heeded_from * (1 - _HAIR):
                        st.in_action, st.action_left = 1, rules.action
                        continue

                # a checkpoint of the store has become durable: what waited for it is served
                if durable_at[store] <= st.trained + _HAIR * rules.tau:
                    durable_at[store] = min(durable_at[store], st.trained)
                    promote(kept, written, durable_at, st)
                    requested = st.next_request <= st.now
                    if st.missing > 0 or st.n_found > 0:
                        catch_up(rules, st, slots, repairs, seed, run)
                    rejoin = st.missing > 0 and st.hot > 0
                    swap = st.n_found > 0 and (not rules.pooled or st.hot > 0)
                    if requested or rejoin or swap:
                        while max(st.n_slots, st.n_ids) + 3 * largest + st.n_found + 8 > slots.size:
                            slots, history = roomier(slots, st), longer_rows(history)
                            repairs = with_room(repairs, repairs.size)
                        while st.n_heap + 3 * largest + st.n_found + 8 > clocks.size:
                            clocks = with_room(clocks, clocks.size)
                        out[N_PLANNED] += 1.0
                        if requested:
                            while st.next_request <= st.now:
                                _next_request(rules, st, seed, run)
                            catch_up(rules, st, slots, repairs, seed, run)
                            if rules.rolling > 0 and st.hot >= rules.rolling:
                                for one in range(rules.rolling):
                                    node = take_any(
                                        rules,
                                        st,
                                        firsts,
                                        slots,
                                        clocks,
                                        seed,
                                        run,
                                        1_000_000 + st.n_planned * 1000 + one,
                                    )
                                    leave(
                                        rules,
                                        st,
                                        slots,
                                        repairs,
                                        history,
                                        node,
                                        -max(rules.stop, 1e-300),
                                        False,
                                        st.now,
                                        0,
                                        seed,
                                        run,
                                    )
                                    st.hot -= 1
                                    node = spare_node(rules, st, slots, seed, run)
                                    enter(rules, st, slots, clocks, node, life(st, 1, seed, run), seed, run)
                            else:
                                if traced:
                                    trace, n_trace = write(trace, n_trace, SERVICE, st.now, st.now + rules.stop)
                                st.now += rules.stop
                                out[MAINTENANCE] += rules.stop
                        while st.missing > 0 and st.hot > 0:
                            st.hot -= 1
                            st.missing -= 1
                        _swap_found(rules, st, modes, firsts, slots, repairs, history, clocks, st.now, seed, run)
                        st.in_stall = 0
                        _plan_restart(rules, tiers, st, seed, run)
                        status = LOADING

            out[PRODUCTIVE], out[CHECKPOINT] = led[0, POSITION], led[0, STALLED]
            out[SLOWDOWN], out[DEGRADED] = led[0, SLOWED], led[0, OUT_OF_SPEED]
            out[N_UNDETECTED] = st.n_hidden
            out[CONTROL] = st.struck - st.expected
            out[CONTROL + 1], out[CONTROL + 2] = st.less_restart, st.less_down
            out[CONTROL + 3], out[CONTROL + 4] = st.less_repair, st.less_mix
            out[OUTCOME] = outcome
            if outcome == STOPPED:
                break
        return trace[:n_trace]

    return walking_runs
