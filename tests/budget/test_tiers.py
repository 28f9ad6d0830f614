"""Several tiers of checkpoints: the closed form against linear equations, and by itself."""

from __future__ import annotations

import math

import pytest
from grids import DEAD, DISK, MEMORY, MODES, PEERS, STORE, TIERED, tiers
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import markov_tiers
from agreement import same
from ettr import Scenario, budget
from ettr.budget.closed_forms import exact_at_each_rate
from ettr.core.errors import InputError, NotModelled
from ettr.core.validity import ValidityWarning
from simpy_model import rules_of


@pytest.fixture
def run_of(plain_run):
    """One interval of the store, in the steady state."""

    def run(changes: dict):
        run = plain_run.override(changes)
        return run.override({"job.productive_h": run.interval_h})

    return run


@pytest.mark.parametrize("name", TIERED)
def test_every_part_is_what_the_chain_says(run_of, name):
    run = run_of(TIERED[name])
    _follows(budget.exact(run), markov_tiers.expected(run))


def _follows(ours, expected: dict[str, float], rel: float = 1e-9) -> None:
    """Rework is a difference of larger numbers, so all are measured by the total."""
    for part, hours in expected.items():
        assert getattr(ours, part) == pytest.approx(hours, rel=rel, abs=rel * expected["total_h"]), part


@st.composite
def _any_tiers(draw):
    """Two to four tiers and up to two modes, from failures every few days to several in an interval."""
    n = draw(st.integers(1, 3))
    interval, write, tiers, survival = 60.0, 0.0, [], [0.0, 0.0]
    of_two = st.just(0.0) | st.floats(1e-6, 1)  # shorter times vanish between seconds and hours
    for number in range(n + 1):
        interval *= draw(st.integers(1, 3)) if number else 1
        write = max(write, draw(of_two) * interval)
        survival = [share + (1 - share) * draw(of_two) for share in survival]
        tiers.append(
            {
                "name": f"tier {number}",
                "interval_s": interval,
                "stall_s": draw(of_two) * 20,
                "write_s": write,
                "load_s": draw(of_two) * 300,
                "survives": {"bug": survival[0], "other": survival[1]},
            }
        )
    *faster, store = tiers
    return {
        "checkpoint.tiers": faster,
        "checkpoint.interval_min": store["interval_s"] / 60,
        "checkpoint.stall_s": store["stall_s"],
        "checkpoint.persist_s": store["write_s"],
        "checkpoint.load_s": store["load_s"],
        "failures.rate_per_1000_node_days": draw(st.floats(0.5, 100)),
        "failures.modes": [{"name": "bug", "share": draw(of_two), "restart_min": 4, "detection_min": draw(of_two) * 9}],
    }


_FIXED = settings(
    max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_FIXED
@given(changes=_any_tiers())
def test_any_run_is_what_the_chain_says(run_of, changes):
    run = run_of(changes)
    form = budget.exact(run)
    _follows(form, markov_tiers.expected(run))
    exposed_h = form.total_h - form.detection_h - form.queue_h
    assert form.n_failures == pytest.approx(run.job_rate_per_h * exposed_h, rel=1e-9)


def test_a_worked_value(run_of):
    """Half of all fast intervals fail, and a quarter of failures ask for the store: 2 + 1/4 failures in two intervals.

    One try at an interval fails once before it succeeds. The second one's failure of the store repeats the first.
    """
    tier = {"name": "memory", "interval_s": 1800, "survives": 0.75}
    rate = 2 * math.log(2) * 24_000 / 1000  # mean time to failure 0.72 h: half a chance to live through 0.5 h
    still = {"checkpoint.stall_s": 0, "recovery.restart_min": 0, "failures.rate_per_1000_node_days": rate}
    form = budget.exact(run_of(tiers(tier) | still))
    assert form.n_failures == pytest.approx(2.25, rel=1e-12)
    assert form.total_h == pytest.approx(2.25 / (2 * math.log(2)), rel=1e-12)


PLAIN = DEAD | STORE | {"checkpoint.load_s": 240, **MODES}


def test_a_tier_that_nothing_leaves_is_no_tier(run_of):
    useless = {"survives": 0, "stall_s": 0}
    expected = budget.exact(run_of(PLAIN))
    same(budget.exact(run_of(PLAIN | {"checkpoint.tiers": []})), expected)
    same(budget.exact(run_of(PLAIN | tiers(MEMORY, **useless))), expected)
    same(budget.exact(run_of(PLAIN | tiers(MEMORY, DISK, PEERS, **useless))), expected)


def test_a_tier_that_all_failures_leave_is_the_store(plain_run):
    """Where the store behind it costs nothing, the run checkpoints to the tier alone."""
    run = plain_run.override(DEAD | {"checkpoint.stall_s": 0, **MODES})
    tiered = run.override(tiers(DISK, survives=1) | {"checkpoint.persist_s": 1200, "checkpoint.load_s": 777})
    alone = {"interval_min": 15, "stall_s": 10, "persist_s": 500, "load_s": 90}
    plain = run.override({f"checkpoint.{field}": value for field, value in alone.items()})
    same(budget.exact(tiered), budget.exact(plain))


BETTER = {"survives": -1, "load_s": 1, "write_s": 1, "stall_s": 1}
"""A larger value of these fields of a tier makes the run longer (1) or shorter (-1)."""


@_FIXED
@given(changes=_any_tiers(), field=st.sampled_from(sorted(BETTER)), more=st.floats(0.1, 1), data=st.data())
def test_a_better_tier_is_never_worse(run_of, changes, field, more, data):
    tiers = changes["checkpoint.tiers"]
    loads = sorted(tier["load_s"] for tier in tiers)
    for tier, load in zip(tiers, loads, strict=True):
        tier["load_s"] = load  # a fast tier that loads slowly is none
    changes["checkpoint.load_s"] = max(changes["checkpoint.load_s"], loads[-1])
    number = data.draw(st.integers(0, len(tiers) - 1))
    behind = tiers[number + 1] if number + 1 < len(tiers) else None
    tier = dict(tiers[number])
    if field == "survives":
        most = behind["survives"] if behind else {"bug": 1, "other": 1}
        tier["survives"] = {kind: share + more * (most[kind] - share) for kind, share in tier["survives"].items()}
    elif field == "write_s":
        most = min(tier["interval_s"], behind["write_s"] if behind else changes["checkpoint.persist_s"])
        tier["write_s"] += more * (most - tier["write_s"])
    else:
        tier[field] += 60 * more
        assume(field != "load_s" or tier["load_s"] <= (behind["load_s"] if behind else changes["checkpoint.load_s"]))
    other = {**changes, "checkpoint.tiers": [*tiers[:number], tier, *tiers[number + 1 :]]}
    before, after = (budget.exact(run_of(case)).total_h for case in (changes, other))
    assert BETTER[field] * (after - before) >= -1e-9 * before
    assume(after != before)


def test_a_start_adds_its_queue_and_a_restart(plain_run):
    run = plain_run.override(TIERED["three"])
    each = markov_tiers.Recovery(rules_of(run)).per_failure
    rate, restart = run.job_rate_per_h, run.restart_h
    fails = -math.expm1(-rate * restart)
    steady, started = budget.exact(run), budget.exact(run.override({"job.include_start": True}))
    first = {"queue_h": 0.1, "restart_h": fails / rate}
    for part in ("detection_h", "queue_h", "restart_h", "n_failures"):
        expected = first.get(part, 0.0) + each[part] * fails
        assert getattr(started, part) - getattr(steady, part) == pytest.approx(expected, rel=1e-9), part
    assert started.productive_h == steady.productive_h and started.checkpoint_h == steady.checkpoint_h


@pytest.mark.parametrize("name", TIERED)
def test_no_failures_leave_only_stalls(run_of, name):
    run = run_of(TIERED[name] | {"failures.rate_per_1000_node_days": 0})
    form = budget.exact(run)
    rules = rules_of(run)
    stalls_h = sum(rules.stall_at(place) for place in range(rules.tiers[-1].every))
    assert form.checkpoint_h == pytest.approx(stalls_h, rel=1e-12)
    assert form.total_h == pytest.approx(run.interval_h + stalls_h, rel=1e-12)
    assert form.n_failures == form.restart_h == 0
    assert form.rework_h == pytest.approx(0, abs=1e-14)


def test_what_the_form_does_not_hold_for_is_refused(plain_run):
    run = plain_run.override(TIERED["three"])
    with pytest.raises(NotModelled, match=r"tiers.*persist_slowdown"):
        budget.exact(run.override({"checkpoint.persist_slowdown": 0.1}))
    ahead = {"prediction": {"recall": 0.5, "precision": 0.9, "lead_s": 60, "action_s": 20}}
    with pytest.raises(NotModelled, match=r"tiers.*prediction"):
        budget.exact(run.override(ahead))
    with pytest.raises(InputError, match="fast to safe"):
        run.override({"checkpoint.tiers.memory.survives": 0.9})
    with pytest.warns(ValidityWarning, match="1 of 2 points are NaN"):
        budget.exact(run, {"checkpoint.tiers.memory.interval_s": [300, 1000]})


@pytest.mark.parametrize("n_gpus", [100_000, 1_000_000, 10_000_000])
def test_a_tier_that_keeps_nothing_changes_no_hopeless_run(n_gpus):
    """A restart that is survived once in e^100 tries must not be taken for one that never is."""
    steady = {"cluster.n_gpus": n_gpus, "recovery.init_s_per_1000_gpus": 0, "job.include_start": False}
    run = Scenario.load("opt-175b").override({**steady, "checkpoint.interval_min": 1, "checkpoint.persist_s": 0})
    tiered = run.override({"checkpoint.tiers": [{"name": "memory", "interval_s": 1, "survives": 0}]})
    hours, of_tiers = (exact_at_each_rate(scenario.in_hours()).total_h for scenario in (run, tiered))
    assert of_tiers == pytest.approx(hours, rel=1e-9)


def test_after_a_planned_stop_a_tier_that_keeps_all_saves_what_is_redone(llama3):
    """What the write did not cover is trained again once; without such a tier failures make it more."""
    large = {"job.include_start": False, "cluster.n_gpus": 200_000, "recovery.init_s_per_1000_gpus": 0}
    often = llama3.override({**large, "checkpoint.persist_s": 500, "maintenance.per_day": 2})
    none, whole = (
        often.override({"checkpoint.tiers": [{"name": "memory", "interval_s": 1, "survives": share}]})
        for share in (0, 1)
    )
    redone = []
    for run in (none, whole):
        still = run.override({"maintenance": None})
        stops = budget.exact(run).maintenance_h / run.maintenance_h
        redone.append((budget.exact(run).rework_h - budget.exact(still).rework_h) / stops)
    assert redone[1] == pytest.approx(500 / 3600, rel=1e-6)
    assert redone[0] > redone[1] * 1.01
