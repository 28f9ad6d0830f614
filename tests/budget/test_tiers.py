"""Several tiers of checkpoints: the closed form against a simulation, against linear equations, and by itself."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import markov_tiers
import monte_carlo_tiers
from ettr import Scenario, budget
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.results import PARTS
from ettr.core.validity import ValidityWarning

DEAD = {"recovery.detection_min": 4, "recovery.queue_min": 6}
MEMORY = {"name": "memory", "interval_s": 300, "stall_s": 3, "write_s": 40, "load_s": 20, "survives": 0.6}
DISK = {"name": "disk", "interval_s": 900, "stall_s": 10, "write_s": 500, "load_s": 90, "survives": 0.8}
PEERS = {"name": "peers", "interval_s": 1800, "stall_s": 0, "write_s": 700, "load_s": 200, "survives": 0.95}
MODES = [
    {"name": "bug", "share": 0.5, "detection_min": 12, "restart_min": 25},
    {"name": "hang", "share": 0.2, "queue_min": 20, "n_lost_nodes": 0},
    {"name": "rack", "share": 0.2, "restart_min": 2, "n_lost_nodes": 16},
]
STORE = {"checkpoint.stall_s": 60, "checkpoint.persist_s": 1200}


def _tiers(*tiers: dict, **changes) -> dict:
    return {"checkpoint.tiers": [tier | changes for tier in tiers]}


GRID = {
    "two tiers, no write": _tiers(MEMORY, write_s=0),
    "two tiers": _tiers(MEMORY) | DEAD | STORE,
    "writes as long as the intervals": _tiers(MEMORY, write_s=300) | {"checkpoint.persist_s": 3600},
    "three tiers": _tiers(MEMORY, DISK) | DEAD | STORE,
    "four tiers": _tiers(MEMORY, DISK, PEERS) | DEAD | STORE | {"checkpoint.load_s": 600},
    "four tiers, low ETTR": _tiers(MEMORY, DISK, PEERS)
    | STORE
    | {"checkpoint.load_s": 600, "failures.rate_per_1000_node_days": 60},
    "failures while loading": _tiers(MEMORY | {"load_s": 1200}, DISK | {"load_s": 2400})
    | DEAD
    | STORE
    | {"checkpoint.load_s": 3600, "failures.rate_per_1000_node_days": 12},
    "modes": _tiers(
        MEMORY | {"survives": {"bug": 1, "rack": 0.1, "all": 0.4}}, DISK | {"survives": {"bug": 1, "all": 0.5}}
    )
    | DEAD
    | STORE
    | {"failures.modes": MODES, "checkpoint.load_s": 300},
    "copies in groups": _tiers(MEMORY | {"survives": None, "copies": 2}) | {"failures.modes": MODES} | STORE,
    "copies in a ring": _tiers(MEMORY | {"survives": None, "copies": 2, "placement": "ring"}, DISK | {"survives": 1})
    | {"failures.modes": MODES, "failures.rate_per_1000_node_days": 20}
    | STORE,
    "just in time": _tiers({"name": "replicas", "interval_s": 120, "load_s": 400, "survives": {"bug": 0.9, "all": 0.7}})
    | DEAD
    | STORE
    | {"failures.modes": MODES, "checkpoint.interval_min": 30},
    "rare failures": _tiers(MEMORY | {"interval_s": 900}, DISK | {"interval_s": 1800})
    | DEAD
    | STORE
    | {"failures.rate_per_1000_node_days": 1.5},
    "a tier of no use": _tiers(MEMORY | {"survives": 0}, DISK) | STORE,
    "a tier that keeps all": _tiers(MEMORY | {"survives": 0.3}, DISK | {"survives": 1}) | DEAD | STORE,
    "tiers with one interval": _tiers(DISK | {"name": "fast", "write_s": 100, "survives": 0.5}, DISK) | STORE,
    "a store with a size": _tiers(DISK)
    | {
        "checkpoint.store": {"n_parameters": 2e12, "write_gb_s": 20, "read_gb_s": 200, "node_gb_s": 0.1},
        "checkpoint.stall_s": 60,
    },
}
N_FAILURES = 15_000


@pytest.fixture
def run_of(plain_run):
    """One interval of the store, in the steady state."""

    def run(changes: dict):
        run = plain_run.override(changes)
        return run.override({"job.productive_h": run.interval_h})

    return run


@pytest.mark.parametrize("name", GRID)
def test_every_part_agrees_with_the_simulation(run_of, name):
    run = run_of(GRID[name])
    form = budget.exact(run)
    n_cycles = math.ceil(N_FAILURES / min(form.n_failures, 2))
    rules = monte_carlo_tiers.rules_of(run)
    hours = monte_carlo_tiers.Run(**rules, random=random.Random(len(name))).simulate(n_cycles)
    for part in (*PARTS, "n_failures", "total_h"):
        if part not in hours:
            assert getattr(form, part) == 0, part
            continue
        error = hours[part].std(ddof=1) / n_cycles**0.5
        # four standard errors; parts that never vary differ by rounding only
        assert getattr(form, part) == pytest.approx(hours[part].mean(), abs=4 * error + 1e-9), part
        assert error <= 0.02 * hours[part].mean() + 1e-9, part  # sharp enough to see a term that is missing


@pytest.mark.parametrize("name", GRID)
def test_every_part_is_what_the_chain_says(run_of, name):
    run = run_of(GRID[name])
    _same(budget.exact(run), markov_tiers.expected(monte_carlo_tiers.Run(**monte_carlo_tiers.rules_of(run))))


def _same(ours, expected: dict[str, float], rel: float = 1e-9) -> None:
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
        interval *= draw(st.integers(1, 4)) if number else 1
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
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_FIXED
@given(changes=_any_tiers())
def test_any_run_is_what_the_chain_says(run_of, changes):
    run = run_of(changes)
    form = budget.exact(run)
    _same(form, markov_tiers.expected(monte_carlo_tiers.Run(**monte_carlo_tiers.rules_of(run))))
    exposed_h = form.total_h - form.detection_h - form.queue_h
    assert form.n_failures == pytest.approx(run.job_rate_per_h * exposed_h, rel=1e-9)


def test_a_worked_value(run_of):
    """Half of all fast intervals fail, and a quarter of failures ask for the store: 2 + 1/4 failures in two intervals.

    One try at an interval fails once before it succeeds. The second one's failure of the store repeats the first.
    """
    tier = {"name": "memory", "interval_s": 1800, "survives": 0.75}
    rate = 2 * math.log(2) * 24_000 / 1000  # mean time to failure 0.72 h: half a chance to live through 0.5 h
    still = {"checkpoint.stall_s": 0, "recovery.restart_min": 0, "failures.rate_per_1000_node_days": rate}
    form = budget.exact(run_of(_tiers(tier) | still))
    assert form.n_failures == pytest.approx(2.25, rel=1e-12)
    assert form.total_h == pytest.approx(2.25 / (2 * math.log(2)), rel=1e-12)


PLAIN = DEAD | STORE | {"checkpoint.load_s": 240, "failures.modes": MODES}


def _budgets_agree(ours, expected, rel: float = 1e-12) -> None:
    for part in (*PARTS, "n_failures", "total_h"):
        assert getattr(ours, part) == pytest.approx(getattr(expected, part), rel=rel, abs=1e-14), part


def test_a_tier_that_nothing_leaves_is_no_tier(run_of):
    useless = {"survives": 0, "stall_s": 0}
    expected = budget.exact(run_of(PLAIN))
    _budgets_agree(budget.exact(run_of(PLAIN | {"checkpoint.tiers": []})), expected)
    _budgets_agree(budget.exact(run_of(PLAIN | _tiers(MEMORY, **useless))), expected)
    _budgets_agree(budget.exact(run_of(PLAIN | _tiers(MEMORY, DISK, PEERS, **useless))), expected)


def test_a_tier_that_all_failures_leave_is_the_store(plain_run):
    """Where the store behind it costs nothing, the run checkpoints to the tier alone."""
    run = plain_run.override(DEAD | {"checkpoint.stall_s": 0, "failures.modes": MODES})
    tiered = run.override(_tiers(DISK, survives=1) | {"checkpoint.persist_s": 1200, "checkpoint.load_s": 777})
    alone = {"interval_min": 15, "stall_s": 10, "persist_s": 500, "load_s": 90}
    plain = run.override({f"checkpoint.{field}": value for field, value in alone.items()})
    _budgets_agree(budget.exact(tiered), budget.exact(plain))


def test_a_tier_like_the_store_is_the_store(run_of):
    twin = {"name": "twin", "interval_s": 3600, "stall_s": 0, "write_s": 1200, "load_s": 240, "survives": 0.4}
    _budgets_agree(budget.exact(run_of(PLAIN | _tiers(twin))), budget.exact(run_of(PLAIN)))


def test_a_tier_no_better_than_the_faster_one_is_no_tier(run_of):
    between = {"name": "between", "interval_s": 900, "stall_s": 0, "write_s": 50, "load_s": 1000, "survives": 0.6}
    expected = budget.exact(run_of(PLAIN | _tiers(MEMORY)))
    _budgets_agree(budget.exact(run_of(PLAIN | _tiers(MEMORY, between))), expected)


def test_a_mode_cut_in_two_is_the_mode(run_of):
    tiers = _tiers(MEMORY | {"survives": {"all": 0.3, "net": 0.9}}, DISK | {"survives": 0.9})
    whole = [{"name": "a", "category": "net", "share": 0.5, "restart_min": 3}]
    halves = [whole[0] | {"name": name, "share": 0.25} for name in ("a", "b")]
    form, expected = (budget.exact(run_of(tiers | STORE | {"failures.modes": modes})) for modes in (halves, whole))
    _budgets_agree(form, expected)


@pytest.mark.parametrize("name", GRID)
def test_only_ratios_of_times_matter(run_of, name):
    """Every time three times as long: so is every part, and the failures are as many."""
    run = run_of(GRID[name])
    changes = {
        "failures.rate_per_1000_node_days": run.failures.rate / 3,
        "job.productive_h": run.job.productive_h * 3,
        "failures.modes": [_thrice(mode) for mode in run.model_dump()["failures"]["modes"]],
        "checkpoint.tiers": [_thrice(tier) for tier in run.model_dump()["checkpoint"]["tiers"]],
        "checkpoint.interval_min": run.checkpoint.interval_min * 3,
    }
    for path in ("checkpoint.stall_s", "checkpoint.persist_s", "checkpoint.load_s", *DEAD, "recovery.restart_min"):
        section, field = path.split(".")
        changes[path] = getattr(getattr(run, section), field) * 3
    if run.checkpoint.store:
        for field in ("write_gb_s", "read_gb_s", "node_gb_s"):
            changes[f"checkpoint.store.{field}"] = getattr(run.checkpoint.store, field) / 3
    longer, expected = budget.exact(run.override(changes)), budget.exact(run)
    assert longer.n_failures == pytest.approx(expected.n_failures, rel=1e-11)
    for part in PARTS:
        assert getattr(longer, part) == pytest.approx(3 * getattr(expected, part), rel=1e-11, abs=1e-14), part


def _thrice(item: dict) -> dict:
    return {
        key: value * 3 if key.endswith(("_s", "_min", "_h")) and value is not None else value
        for key, value in item.items()
    }


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
    before, after = (budget.exact(run_of(each)).total_h for each in (changes, other))
    assert BETTER[field] * (after - before) >= -1e-9 * before
    assume(after != before)


def test_each_cost_of_a_tier_is_felt(run_of):
    """The test above would pass for a form that ignores a field."""
    run = run_of(GRID["three tiers"])
    for field, sign in BETTER.items():
        base = getattr(run.checkpoint.tiers[0], field)
        value = 0.7 if field == "survives" else base + 100
        other = run.override({f"checkpoint.tiers.memory.{field}": value})
        assert sign * (budget.exact(other).total_h - budget.exact(run).total_h) > 1e-5, field


SWEEPS = {
    "checkpoint.tiers.memory.survives": [0.0, 0.3, 0.8],
    "checkpoint.tiers.disk.survives": [0.6, 0.9, 1.0],
    "checkpoint.tiers.memory.interval_s": [60.0, 300.0, 900.0],
    "checkpoint.tiers.disk.interval_s": [600.0, 1800.0, 3600.0],
    "checkpoint.tiers.memory.stall_s": [0.0, 9.0, 20.0],
    "checkpoint.tiers.disk.write_s": [40.0, 500.0, 900.0],
    "checkpoint.tiers.disk.load_s": [0.0, 60.0, 900.0],
    "checkpoint.load_s": [0.0, 60.0, 900.0],
    "checkpoint.interval_min": [20.0, 60.0, 180.0],
    "checkpoint.persist_s": [500.0, 900.0, 3600.0],
    "checkpoint.stall_s": [0.0, 9.0, 20.0],
    "cluster.n_gpus": [800, 8000, 40_000],
    "failures.rate_per_1000_node_days": [0.0, 1.0, 40.0],
    "recovery.restart_min": [0.0, 5.0, 60.0],
}


@pytest.mark.parametrize("path", SWEEPS)
def test_arrays_give_what_single_runs_give(plain_run, path):
    run = plain_run.override(GRID["three tiers"])
    others = np.array([0.0, 6.0])
    grid = budget.exact(run, {path: np.array(SWEEPS[path])[:, None], "recovery.detection_min": others})
    assert grid.total_h.shape == (3, 2)
    for i, value in enumerate(SWEEPS[path]):
        single = budget.exact(run.override({path: value, "recovery.detection_min": others[1]}))
        for part in (*PARTS, "n_failures"):
            assert getattr(grid, part)[i, 1] == pytest.approx(getattr(single, part), rel=1e-12), part


def test_copies_are_worth_what_the_placement_says_at_each_size(plain_run):
    run = plain_run.override(GRID["copies in groups"])
    sizes = np.array([160, 1600, 16_000])
    grid = budget.exact(run, {"cluster.n_gpus": sizes})
    for i, size in enumerate(sizes):
        assert grid.total_h[i] == pytest.approx(budget.exact(run.override({"cluster.n_gpus": size})).total_h, rel=1e-12)
    more = run.override({"checkpoint.tiers.memory.copies": 4})
    assert budget.exact(more).ettr > budget.exact(run).ettr


def test_between_whole_numbers_the_form_interpolates(run_of):
    """More of the faster interval in one of the store is more failures, without a jump."""
    run = run_of(_tiers(MEMORY, write_s=0) | DEAD)
    intervals = np.linspace(5, 20, 61)  # of the store; 5 min are those of the tier
    n_failures = budget.exact(run, {"checkpoint.interval_min": intervals}).n_failures * intervals
    steps = np.diff(n_failures)
    assert (steps > 0).all()
    assert steps.max() < 1.2 * steps.min()


def test_a_start_adds_its_queue_and_a_restart(plain_run):
    run = plain_run.override(GRID["three tiers"] | {"job.first_queue_min": 90})
    rules = monte_carlo_tiers.rules_of(run)
    each = markov_tiers.Recovery(monte_carlo_tiers.Run(**rules)).per_failure
    rate, restart = run.job_rate_per_h, run.restart_h
    fails = -math.expm1(-rate * restart)
    steady, started = budget.exact(run), budget.exact(run.override({"job.include_start": True}))
    first = {"queue_h": 1.5, "restart_h": fails / rate}
    for part in ("detection_h", "queue_h", "restart_h", "n_failures"):
        expected = first.get(part, 0.0) + each[part] * fails
        assert getattr(started, part) - getattr(steady, part) == pytest.approx(expected, rel=1e-9), part
    assert started.productive_h == steady.productive_h and started.checkpoint_h == steady.checkpoint_h


@pytest.mark.parametrize("tiers", [{}, _tiers(MEMORY, DISK)], ids=["store alone", "tiers"])
def test_loading_from_the_store_is_a_longer_restart(plain_run, tiers):
    """Of the start, and of each mode."""
    modes = [{"name": "bug", "share": 0.5, "restart_min": 25}]
    run = plain_run.override(DEAD | STORE | tiers | {"failures.modes": modes, "job.include_start": True})
    loads = [f"checkpoint.tiers.{tier.name}.load_s" for tier in run.checkpoint.tiers] + ["checkpoint.load_s"]
    loading = run.override(dict.fromkeys(loads, 240))
    longer = {"recovery.restart_min": 14, "failures.modes.bug.restart_min": 29} | dict.fromkeys(loads, 0)
    _budgets_agree(budget.exact(loading), budget.exact(run.override(longer)))


@pytest.mark.parametrize("name", GRID)
def test_no_failures_leave_only_stalls(run_of, name):
    run = run_of(GRID[name] | {"failures.rate_per_1000_node_days": 0})
    form = budget.exact(run)
    rules = monte_carlo_tiers.Run(**monte_carlo_tiers.rules_of(run))
    stalls_h = sum(rules.stall_at(place) for place in range(rules.tiers[-1].every))
    assert form.checkpoint_h == pytest.approx(stalls_h, rel=1e-12)
    assert form.total_h == pytest.approx(run.interval_h + stalls_h, rel=1e-12)
    assert form.n_failures == form.restart_h == 0
    assert form.rework_h == pytest.approx(0, abs=1e-14)


def test_what_the_form_does_not_hold_for_is_refused(plain_run):
    run = plain_run.override(GRID["three tiers"])
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
    run = Scenario.load("opt-175b").override(
        {"cluster.n_gpus": n_gpus, "job.include_start": False, "checkpoint.interval_min": 1, "checkpoint.persist_s": 0}
    )
    tiered = run.override({"checkpoint.tiers": [{"name": "memory", "interval_s": 1, "survives": 0}]})
    assert budget.exact(tiered).total_h == pytest.approx(budget.exact(run).total_h, rel=1e-9)


def test_sweeps_of_size_and_survival_broadcast_as_one_run_each():
    """Shares of modes depend on the size where some belong to the job; each point must get its own."""
    run = Scenario.load("llama3-405b").override(
        {
            "maintenance": None,
            "failures.observed_nodes": 2048,
            "failures.modes": [{"name": "j", "share": 0.5, "scales_with": "job", "restart_min": 60}],
            "failures.rate_per_1000_node_days": 3.8,
            "checkpoint.tiers": [{"name": "peer", "interval_s": 60, "survives": 0.5}],
        }
    )
    sizes, shares = [1024, 65536], [0.2, 0.9, 1.0]
    at = {"cluster.n_gpus": np.array(sizes), "checkpoint.tiers.peer.survives": np.array(shares)[:, None]}
    ettr = budget.exact(run, at).ettr
    for i, share in enumerate(shares):
        for j, size in enumerate(sizes):
            one = run.override({"cluster.n_gpus": size, "checkpoint.tiers.peer.survives": share})
            assert ettr[i, j] == pytest.approx(budget.exact(one).ettr, rel=1e-12)


def test_planned_stops_beside_tiers_that_keep_nothing_are_as_without_them(llama3):
    steady = llama3.override({"job.include_start": False})
    tiered = steady.override({"checkpoint.tiers": [{"name": "memory", "interval_s": 10, "survives": 0}]})
    for part in PARTS:
        assert getattr(budget.exact(tiered), part) == pytest.approx(getattr(budget.exact(steady), part), rel=1e-9)


def test_after_a_planned_stop_a_tier_that_keeps_all_saves_what_is_redone(llama3):
    """What the write did not cover is trained again once; without such a tier failures make it more."""
    often = llama3.override(
        {"job.include_start": False, "cluster.n_gpus": 200_000, "checkpoint.persist_s": 500, "maintenance.per_day": 2}
    )
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


def test_a_hopeless_run_is_refused_at_any_size():
    tiers = [{"name": "p", "interval_s": 60, "stall_s": 0.05, "survives": 0.7}]
    run = Scenario.load("llama3-405b").override({"maintenance": None, "checkpoint.tiers": tiers})
    for n_gpus in (400_000_000, 1_600_000_000, 800_000_000_000):
        with pytest.raises(OutsideValidity):
            budget.exact(run.override({"cluster.n_gpus": n_gpus}))


def test_first_order_loads_from_the_tier_that_survived(llama3):
    slow = llama3.override({"checkpoint.load_s": 600, "job.include_start": False, "maintenance": None})
    near = slow.override({"checkpoint.tiers": [{"name": "memory", "interval_s": 600, "load_s": 60, "survives": 1}]})
    away, here = (budget.first_order(run) for run in (slow, near))
    per_failure = [hours.restart_h / hours.n_failures for hours in (away, here)]
    assert per_failure[0] - per_failure[1] == pytest.approx(540 / 3600)
