"""Recovery from a failure or a planned stop, up to the next training."""

from __future__ import annotations

import math

import numpy as np

from ettr.simulation.checkpoint_copies import copy_row, promote, restore
from ettr.simulation.compiling import inner
from ettr.simulation.failure_events import hours_until, live, next_strike, strike
from ettr.simulation.random_numbers import PLANNED, RECOVERY, block, exponential, uniform
from ettr.simulation.repair_stages import HOT, catch_up
from ettr.simulation.replacement import exchange, rejoin, serve_rolling, swap_found
from ettr.simulation.state import FAILED, FINISHED, LOADING, WORKING
from ettr.simulation.trace import DETECTING, QUEUEING, RESTARTING, SERVICE, lose, write


@inner
def is_silent(st: np.record, modes: np.ndarray) -> bool:
    """Whether the current failure is silent: not detected when it strikes."""
    return not math.isnan(modes[st.mode].latency)


@inner
def severity(rules: np.record, st: np.record, modes: np.ndarray, fastest: int) -> int:
    """Fastest tier, from ``fastest`` on, that survives the current failure and has a usable copy."""
    st.tried = 0.0
    if rules.n_tiers == 1:
        return 0
    _, _, _, w3 = block(st.seed, st.run, st.key, RECOVERY, 0)
    x, tier = uniform(w3), 0
    while tier < rules.n_tiers - 1 and x >= modes[st.mode].survival[tier]:
        tier += 1
    tier = max(tier, fastest)
    if rules.corrupts:  # a corrupt copy costs its load, and the next slower tier is tried
        while tier < rules.n_tiers - 1:
            w0, _, _, _ = block(st.seed, st.run, st.key, RECOVERY, 8 + tier)
            if uniform(w0) >= rules.tier_corrupt[tier]:
                break
            st.tried += rules.tier_load[tier]
            tier += 1
    return tier


@inner
def recover(
    rules: np.record, st: np.record, modes: np.ndarray, slots: np.ndarray, clocks: np.ndarray, trace: np.ndarray
) -> None:
    """Detection, replacement of nodes and queue of the current failure, up to its restart."""
    mode = st.mode
    down = in_time(rules, st, modes[mode].detection)
    write(st, trace, DETECTING, down)
    st.n_failures += 1
    st.now += down
    st.detection += down
    queue = in_time(rules, st, exchange(rules, st, modes, slots, clocks))
    write(st, trace, QUEUEING, queue)
    st.now += queue
    if queue > 0.0:
        st.waiting += queue
        st.n_waits += 1
    if st.ended:
        st.queue += queue
        st.status = FINISHED
        return
    if st.n_found > 0:
        catch_up(rules, st, slots)
        swap_found(rules, st, modes, slots, clocks)
    wait = rules.queue
    if rules.person_share > 0.0:
        _, v1, v2, _ = block(st.seed, st.run, st.key, RECOVERY, 0)
        person = 0.0
        if uniform(v1) < rules.person_share:
            person = rules.person * exponential(v2, st.seed, st.run, st.key, RECOVERY)
        st.less_person += person - rules.person_share * rules.person
        wait += person
    wait = in_time(rules, st, wait)
    write(st, trace, QUEUEING, wait)
    st.now += wait
    st.queue += queue + wait
    st.pending = modes[mode].restart + rules.tier_load[st.severity] + st.tried
    st.is_planned = 0
    st.status = LOADING


@inner
def plan_restart(rules: np.record, st: np.record) -> None:
    """Prepare the restart after a planned stop or at the start: all tiers go back to the copy in the store."""
    st.severity = rules.n_tiers - 1
    for tier in range(st.severity):
        copy_row(st.kept, tier, st.kept, st.severity)
    st.pending = rules.restart + rules.tier_load[st.severity]
    st.is_planned = 1
    st.status = LOADING


@inner
def in_time(rules: np.record, st: np.record, hours: float) -> float:
    """Hours, cut off at the horizon."""
    return max(0.0, min(hours, rules.horizon - st.now))


@inner
def load(
    rules: np.record,
    st: np.record,
    modes: np.ndarray,
    slots: np.ndarray,
    clocks: np.ndarray,
    hidden: np.ndarray,
    trace: np.ndarray,
) -> None:
    """Restart until it is done or a failure strikes; a silent failure during a restart corrupts nothing."""
    left = np.inf if rules.unexposed else hours_until(rules, st, next_strike(rules, st, clocks))
    ends = min(left, st.pending)
    hours = in_time(rules, st, ends)
    write(st, trace, RESTARTING, hours)
    fails = left < st.pending
    if rules.unexposed:
        st.now += hours
    else:
        live(rules, st, hours)
    st.restart += hours
    st.pending -= hours
    if hours < ends:
        return
    if fails:
        st.hazard = next_strike(rules, st, clocks)
        strike(rules, st, modes, slots, clocks)
        if not is_silent(st, modes):
            st.severity = severity(rules, st, modes, 0 if st.is_planned else st.severity)
            st.status = FAILED
        return
    lost = restore(rules, st, hidden)
    st.rework += lost
    if st.traced:
        lose(st, trace, lost)
    st.status = WORKING


@inner
def next_request(rules: np.record, st: np.record) -> None:
    """Draw the next request for maintenance, after an exponential time."""
    w0, _, _, _ = block(st.seed, st.run, st.n_requests, PLANNED, 1)
    st.next_request = st.now + exponential(w0, st.seed, st.run, st.n_requests, PLANNED) / rules.request_rate
    st.n_requests += 1


@inner
def serve(
    rules: np.record, st: np.record, modes: np.ndarray, slots: np.ndarray, clocks: np.ndarray, trace: np.ndarray
) -> None:
    """Stop at a durable checkpoint of the store, if maintenance, returning nodes or swaps are waiting for it."""
    promote(rules, st)
    if st.missing > 0 or st.n_found > 0:
        catch_up(rules, st, slots)
    requested = st.next_request <= st.now
    swaps = st.n_found > 0 and (not rules.pooled or st.stock[HOT] > 0)
    if not (requested or swaps or (st.missing > 0 and st.stock[HOT] > 0)):
        return
    st.n_planned += 1
    if requested:
        catch_up(rules, st, slots)
    rejoin(rules, st, slots, clocks)
    swap_found(rules, st, modes, slots, clocks)
    if requested:
        next_request(rules, st)
        if rules.rolling > 0 and st.stock[HOT] >= rules.rolling:
            serve_rolling(rules, st, slots, clocks)
        else:
            hours = in_time(rules, st, rules.stop)
            write(st, trace, SERVICE, hours)
            st.now += hours
            st.maintenance += hours
    st.in_stall = 0
    plan_restart(rules, st)
