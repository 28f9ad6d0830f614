"""The kernel for runs with the core mechanisms: from failure to failure, skipping whole checkpoint cycles.

It covers exponential failures of the job or Weibull lifetimes of nodes, hot spares with stages of repair, waits for a
person, and maintenance. Each failure takes one block of random numbers, plus one per stage of repair after the first.

A segment is tau hours of work and the stall of a checkpoint. The background write of a checkpoint runs into the next
segment, which it slows down by ``slow`` hours; the checkpoint becomes durable ``head`` hours of training after its
stall. So checkpoint n is durable ``n * cycle + head`` hours after a restart, with ``cycle = tau + stall + slow``.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ettr.simulation.checkpoint_copies import longer_rows
from ettr.simulation.clocks import lifetime, next_firsts
from ettr.simulation.columns import (
    CHECKPOINT,
    CONTROL,
    DETECTION,
    DONE,
    MAINTENANCE,
    N_COLUMNS,
    N_FAILURES,
    N_PLANNED,
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
from ettr.simulation.compiling import Kernel, compiled, inner, maker, sources
from ettr.simulation.failure_events import pick_of_nodes, pick_of_time
from ettr.simulation.heaps import new_heap, push, remove, with_room
from ettr.simulation.random_numbers import FAILURE, PLANNED, RECOVERY, REPAIR, block, exponential, uniform
from ettr.simulation.repair_stages import AUTOMATIC, HOT, MANUAL, TICKET, repair_time
from ettr.simulation.rules import MOST_EVENTS

_POLL = 0xFFFF
"""The stop flag is read once per 65,536 events."""


@inner
def still_out(back: np.ndarray, n: int, now: float) -> int:
    """Drop the nodes that are back by now from the first ``n`` times of return; return how many are left."""
    left = 0
    for i in range(n):
        back[left] = back[i]
        left += back[i] > now
    return left


@inner
def earliest(back: np.ndarray, n: int) -> int:
    """Index of the node that comes back first, among the first ``n``."""
    first = 0
    for i in range(1, n):
        first = i if back[i] < back[first] else first
    return first


@inner
def later_stages(rules: np.record, seed: int, run: int, k: int, number: int) -> tuple[float, float]:
    """Hours of the stages of a repair after the automatic one, and by how much they exceed their means.

    ``number`` numbers the nodes that leave at failure ``k``.
    """
    ticket = (k << TICKET) | number
    _, w1, _, _ = block(seed, run, ticket, REPAIR, AUTOMATIC)
    if uniform(w1) < rules.automatic_success:
        return 0.0, 0.0
    if math.isnan(rules.manual):
        return rules.replacement, 0.0
    w0, _, _, _ = block(seed, run, ticket, REPAIR, MANUAL)
    hours = repair_time(rules, rules.manual, w0, seed, run, ticket, REPAIR)
    return hours, hours - rules.manual


@maker
def longer(times: np.ndarray) -> np.ndarray:
    """Copy of an array, with twice the room."""
    copy = np.empty(2 * times.size)
    for i in range(times.size):
        copy[i] = times[i]
    return copy


@cache
def fast_kernel(aged: bool, pooled: bool) -> Kernel:
    """Kernel for the core rules: ``aged`` with a clock per node instead of one of the job, ``pooled`` with spares.

    Each combination is compiled on its own, without the code of the other mechanism.
    """
    version = sources()

    @compiled
    def straight_runs(
        rules: np.record,
        modes: np.ndarray,
        seed: int,
        first_run: int,
        limit: int,
        stop: np.ndarray,
        table: np.ndarray,
    ) -> None:
        assert len(version) > 0  # part of the closure, so that compiled code is void once a source changes
        # lengths of the first, the middle and the last segment, from one restart to the end of the work
        tau, stall, slow = rules.tau, rules.stall, rules.slowdown * rules.persist
        cycle, head = tau + stall + slow, (1.0 - rules.slowdown) * rules.persist
        if rules.steady:
            only, last = tau + stall, tau + slow + stall
        else:
            only = rules.rest
            last = rules.rest + slow if rules.rest >= head else rules.rest / (1.0 - rules.slowdown)
        staged = rules.pooled != 0 and rules.automatic_success < 1.0 and not math.isnan(rules.automatic)
        mean_repair = rules.manual if math.isnan(rules.automatic) else rules.automatic
        maintained = rules.request_rate > 0.0
        mean_person = rules.person_share * rules.person
        mttf = 1.0 / rules.rate
        if pooled:
            keys = np.empty(64)
        if aged:
            clocks = new_heap(64)
            far, ahead = np.empty((64, 2)), np.empty(9)  # renewals beyond the horizon; the next eight first failures
        rate, n_segments = rules.rate, rules.n_segments
        shape, scale = rules.shape, rules.scale[0]
        varies = rules.repair_sigma > 0.0 or rules.tabled != 0
        exposed = rules.unexposed == 0
        steady, load, only_mode = rules.steady != 0, rules.load, rules.only_mode
        person_share, mean_recovery = rules.person_share, rules.mean_recovery
        polled = 0

        for row in range(table.shape[0]):
            # --- start of a run: totals are 0; done counts durable segments, credit is work already in the segment
            run = first_run + row
            done, free, n_repair, k = 0, rules.stock[HOT], 0, 0
            detection = queue = restart = rework = slowed = waiting = maintenance = 0.0
            n_waits = n_planned = 0
            less_person = less_repair = less_mix = 0.0
            now = u = strikes_at = 0.0
            pending = 0.0
            credit = 0.0
            if steady:  # begins with the stall over and the write of checkpoint 0 still to become durable
                done, credit = -1, tau + stall
            else:  # begins with the queue and a restart
                now = queue = rules.queue
                pending = rules.restart + load
            next_request = np.inf
            if maintained:
                w0, _, _, _ = block(seed, run, 0, PLANNED, 1)
                next_request = exponential(w0, seed, run, 0, PLANNED) / rules.request_rate
            # gap is the exposed time to the next failure
            w0, _, _, _ = block(seed, run, 0, FAILURE, 0)
            if aged:
                # failures by time alone, and those of nodes: the earliest of the nodes that never failed (ahead), of
                # the renewed nodes in a heap, and of those renewed for longer than the horizon, kept aside unsorted
                next_time = np.inf
                if rate > 0.0:
                    next_time = exponential(w0, seed, run, 0, FAILURE) / rate
                n_fresh, j, n_heap, n_far = rules.n_nodes, 0, 0, 0
                horizon = 1.5 * rules.work
                soon = (horizon / scale) ** shape
                next_firsts(ahead, 0, n_fresh, seed, run, rules)
                next_fresh = scale * ahead[0]
                strikes_at = min(next_time, next_fresh)
                gap = strikes_at
            else:
                gap = exponential(w0, seed, run, 0, FAILURE) / rate if rate > 0.0 else np.inf
            outcome = DONE

            while True:
                # --- one pass: a restart, then training until a failure, a maintenance stop, or the end of the work
                if exposed and gap < pending:  # a failure during the restart
                    restart += gap
                    now += gap
                else:
                    restart += pending
                    now += pending
                    pending = pending if exposed else 0.0
                    # hours until the failure and until the end of the work, both from the start of the segment
                    lived = gap - pending + credit
                    left = n_segments - done
                    finish = only if left == 1 else (left - 1) * (tau + stall) + (left - 2) * slow + last
                    if maintained and next_request < now + min(lived, finish):
                        # served at the first checkpoint that is durable afterwards: the smallest n with
                        # n * cycle + head >= the hours until the request
                        n = max(1.0, math.ceil((next_request - now + credit - head) / cycle))
                        at = n * cycle + head
                        if n < left and at < min(lived, finish):
                            # n segments are done; the training during the last write is repeated after the stop
                            slower = (n - 1.0) * slow
                            slowed += slower
                            rework += at - (n * (tau + stall) + slower)
                            done += int(n)
                            if not aged:
                                u += pending + at - credit
                            gap -= pending + at - credit
                            now += at - credit
                            credit = 0.0
                            n_planned += 1
                            w0, _, _, _ = block(seed, run, n_planned, PLANNED, 1)
                            next_request = now + exponential(w0, seed, run, n_planned, PLANNED) / rules.request_rate
                            now += rules.stop
                            maintenance += rules.stop
                            pending = rules.restart + load
                            polled += 1
                            if polled & _POLL == 0 and stop[0] != 0:
                                outcome = STOPPED
                                break
                            if k + n_planned > MOST_EVENTS * limit:
                                outcome = STUCK
                                break
                            continue
                    if lived >= finish:  # no further failure before the end of the work
                        u += pending + finish - credit
                        if left > 1:
                            slowed += (left - 2) * slow + (last - (tau + stall if steady else rules.rest))
                        break
                    # the failure undoes all but the durable segments; the slowdown of the last write becomes rework
                    durable = min(max(0.0, math.floor((lived - head) / cycle)), left - 1.0)
                    slower = max(durable - 1.0, 0.0) * slow
                    slowed += slower
                    rework += lived - (durable * (tau + stall) + slower)
                    now += lived - credit
                    done += int(durable)
                    credit = 0.0
                u = strikes_at if aged else u + gap
                k += 1
                polled += 1
                if polled & _POLL == 0 and stop[0] != 0:
                    outcome = STOPPED
                    break
                if k > limit:
                    outcome = STUCK
                    break

                # --- what failed, and when the next failure comes
                w0, _, w2, w3 = block(seed, run, k, FAILURE, 0)
                if aged:
                    number = exponential(w0, seed, run, k, FAILURE)
                    if next_time <= u:  # a failure by time alone, which renews no node
                        mode = only_mode if only_mode >= 0 else pick_of_time(w3, modes)
                        next_time = u + number / rate
                    else:
                        mode = only_mode if only_mode >= 0 else pick_of_nodes(w3, modes)
                        # take the node that failed from its list, and put it back with a new lifetime
                        if n_heap > 0 and clocks[0].key <= u:
                            remove(clocks, n_heap, 0)
                            n_heap -= 1
                        else:
                            j += 1
                            if j & 7 == 0:
                                next_firsts(ahead, j, n_fresh, seed, run, rules)
                            next_fresh = scale * ahead[j & 7]
                        again = u + lifetime(number, shape, scale) if number < soon else np.inf
                        if again < horizon:
                            clocks = with_room(clocks, n_heap)
                            push(clocks, n_heap, again, 0)
                            n_heap += 1
                        else:  # only its start and its exponential number are needed before the horizon moves
                            if n_far == far.shape[0]:
                                far = longer_rows(far)
                            far[n_far, 0], far[n_far, 1] = u, number
                            n_far += 1
                    strikes_at = min(next_time, next_fresh)
                    if n_heap > 0 and clocks[0].key < strikes_at:
                        strikes_at = clocks[0].key
                    while strikes_at >= horizon and n_far > 0:  # double the horizon, and sort in the nodes within it
                        horizon *= 2.0
                        soon = (horizon / scale) ** shape
                        n_left = 0
                        for i in range(n_far):
                            again = far[i, 0] + lifetime(far[i, 1], shape, scale)
                            if again < horizon:
                                clocks = with_room(clocks, n_heap)
                                push(clocks, n_heap, again, 0)
                                n_heap += 1
                                strikes_at = min(strikes_at, again)
                            else:
                                far[n_left, 0], far[n_left, 1] = far[i, 0], far[i, 1]
                                n_left += 1
                        n_far = n_left
                    gap = strikes_at - u
                else:
                    mode = only_mode if only_mode >= 0 else pick_of_time(w3, modes)
                    gap = exponential(w0, seed, run, k, FAILURE) * mttf

                # --- recovery: detection, replacement of nodes, queue, restart
                down = modes[mode].detection
                wait = rules.queue
                if person_share > 0.0:
                    _, v1, v2, _ = block(seed, run, k, RECOVERY, 0)
                    person = 0.0
                    if uniform(v1) < person_share:
                        person = rules.person * exponential(v2, seed, run, k, RECOVERY)
                    less_person += person - mean_person
                    wait += person
                if not aged:  # control variate: excess of the recovery over the mean of the modes
                    less_mix += modes[mode].recovery - mean_recovery
                detection += down
                now += down
                if pooled:
                    n_out = modes[mode].n_out
                    if n_out > 0:
                        mean = modes[mode].repair
                        general = math.isnan(mean)
                        if general:
                            mean = mean_repair
                        # nodes that leave go to repair, each until its time of return in keys
                        ready = now
                        for i_out in range(n_out):
                            repair = mean
                            ticket = 0 if modes[mode].together else i_out
                            if varies:
                                x2 = w2
                                if ticket > 0:
                                    x2, _, _, _ = block(seed, run, k, FAILURE, ticket)
                                repair = repair_time(rules, mean, x2, seed, run, k, FAILURE)
                                less_repair += repair - mean
                            if staged and general:
                                later_h, excess_h = later_stages(rules, seed, run, k, ticket)
                                repair += later_h
                                less_repair += excess_h
                            if n_repair == keys.size:
                                keys = longer(keys)
                            keys[n_repair] = now + repair
                            n_repair += 1
                        # each is replaced by a free spare, or else by the next node that returns, which is waited for
                        for _ in range(n_out):
                            if free == 0:
                                n_left = still_out(keys, n_repair, now)
                                free += n_repair - n_left
                                n_repair = n_left
                            if free > 0:
                                free -= 1
                            else:
                                first = earliest(keys, n_repair)
                                n_repair -= 1
                                ready = keys[first]
                                keys[first] = keys[n_repair]
                        if ready > now:
                            waiting += ready - now
                            n_waits += 1
                            wait += ready - now
                queue += wait
                now += wait
                pending = modes[mode].restart + load

            # --- totals of the run; the controls are sums less their expectation: failures less rate times exposure
            out = table[row]
            for i in range(N_COLUMNS):
                out[i] = 0.0
            out[PRODUCTIVE] = rules.work
            out[CHECKPOINT] = (n_segments if steady else n_segments - 1) * stall
            out[SLOWDOWN], out[REWORK], out[DETECTION] = slowed, rework, detection
            out[QUEUE], out[RESTART], out[MAINTENANCE] = queue, restart, maintenance
            out[N_FAILURES], out[N_PLANNED], out[WAITING], out[N_WAITS] = k, n_planned, waiting, n_waits
            out[CONTROL] = 0.0 if aged else k - rate * u
            out[CONTROL + 1], out[CONTROL + 2], out[CONTROL + 3] = less_person, less_repair, less_mix
            out[OUTCOME] = outcome
            if outcome != DONE:
                return

    return straight_runs
