"""Spares, repair, going on without some nodes, lemons, slow nodes, and times that vary: what a scenario may hold."""

from __future__ import annotations

import pytest

from refusals import refusal

RULES = {
    "spares without repair": (
        {"repair": None},
        "spares needs repair, the time until failed nodes return, e.g. repair: {manual_h: 24}",
    ),
    "repair without spares": (
        {"spares": None},
        "repair needs spares, e.g. spares: {n_nodes: 0}; without them it has no effect",
    ),
    "rolling maintenance without either": (
        {"spares": None, "repair": None, "elastic": None},
        "maintenance.rolling_nodes needs spares and repair; without them no node is ever missing",
    ),
    "no stage of repair": (
        {"repair.automatic_h": None, "repair.manual_h": None},
        "repair needs automatic_h or manual_h, the time that a repair takes",
    ),
    "automatic repair that may fail": (
        {"repair": {"automatic_h": 1, "automatic_success": 0.7}},
        "repair.automatic_success = 0.7 needs manual_h or replacement_h, for the nodes that automatic repair does not "
        "help",
    ),
    "retirement without a new node": (
        {"repair": {"manual_h": 1, "retire_after": 3, "retire_window_days": 30}},
        "repair.retire_after needs replacement_h, or replaced: false where retired nodes are gone for good",
    ),
    "gone, and replaced": (
        {"repair": {"manual_h": 1, "retire_after": 3, "replacement_h": 90, "replaced": False}},
        "repair.replaced: false conflicts with replacement_h = 90; use one of them",
    ),
    "gone for no reason": (
        {"repair": {"manual_h": 1, "replaced": False}},
        "repair.replaced: false needs retire_after, or automatic repair that may fail and no manual_h",
    ),
    "two spreads": (
        {"repair": {"manual_h": 1, "distribution": "exponential", "cv": 0.5}},
        "repair.distribution: exponential has a fixed cv of 1: leave out cv = 0.5",
    ),
    "more replicas than nodes": (
        {"elastic.n_replicas": 1001},
        "elastic.n_replicas must be <= 1000, the nodes of the job, got 1001",
    ),
    "more nodes out than there are": (
        {"failures.modes.rack.n_out_nodes": 1001},
        "failures.modes.rack.n_out_nodes must be <= 1000, the nodes of the job, got 1001",
    ),
    "a spread around nothing": (
        {"failures.modes.rack.latency_cv": 0.5},
        "failures.modes.1.latency_cv needs latency_h, the mean latency",
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_what_belongs_together_comes_together(fleet, rule):
    values, message = RULES[rule]
    assert refusal(fleet.override, values).startswith(message)


# --------------------------------------------------------------------------- the table of values


def test_a_value_with_an_effect_is_shown(fleet):
    rows = fleet.to_frame().set_index("field")
    others = {"checkpoint.n_kept", "failures.lemons.left", "maintenance.rolling_nodes"}
    assert {"elastic.n_least", "slow_nodes.loss", "spares.n_nodes", *others} <= set(rows.index)
    assert rows.loc["repair.n_crew", ["value", "unit", "status"]].tolist() == [2, "people", "given"]
    assert rows.loc["slow_nodes.per_1000_node_days", "unit"] == "nodes per 1,000 node-days"


@pytest.mark.parametrize(
    ("path", "idle", "hidden"),
    [
        ("job.throughput_factor", 1, []),
        ("recovery.person_share", 0, ["recovery.person_min"]),
        ("recovery.false_alarms_per_day", 0, []),
        ("spares.n_preemptible", 0, ["spares.preempt_min"]),
        ("repair.automatic_success", 1, []),
        ("repair.cv", 0, []),
        ("repair.retire_after", None, ["repair.retire_window_days"]),
    ],
)
def test_a_value_without_effect_is_not(fleet, path, idle, hidden):
    before, after = set(fleet.to_frame()["field"]), set(fleet.override({path: idle}).to_frame()["field"])
    assert before - after == {path, *hidden}


# --------------------------------------------------------------------------- hours


def test_work_takes_longer_at_a_lower_speed(plain_run):
    assert plain_run.work_h == 40
    assert plain_run.override({"job.throughput_factor": 0.8}).work_h == pytest.approx(50)


def test_the_wait_for_a_person_is_in_the_queue_of_a_failure_but_not_in_the_first(plain_run):
    run = plain_run.override({"recovery.queue_min": 6, "recovery.person_share": 0.1, "recovery.person_min": 120})
    assert run.in_hours().person_share * run.in_hours().person == pytest.approx(0.2)
    assert run.queue_h == pytest.approx(0.3)
    assert run.first_queue_h == pytest.approx(0.1)
    assert run.recovery_h == pytest.approx(0.3 + 10 / 60)


WALL = {"failures.rate_clock": "wall", "recovery.queue_min": 30, "recovery.detection_min": 12}
PER_H = 6 / 24  # 6 per 1,000 node-days, on 1000 nodes


def test_a_wall_clock_rate_knows_of_people_and_false_alarms(plain_run):
    """One wall-clock hour = e exposed + dead after failures + e x (dead after false alarms)."""
    person = {"recovery.person_share": 0.5, "recovery.person_min": 12}
    run = plain_run.override(WALL | person)
    assert run.failures.exposed_share == pytest.approx(1 - PER_H * (0.2 + 0.5 + 0.1))
    run = plain_run.override(WALL | person | {"recovery.false_alarms_per_day": 2.4})
    exposed = run.failures.exposed_share
    assert exposed + PER_H * (0.2 + 0.5 + 0.1) + exposed * 0.1 * (0.5 + 0.1) == pytest.approx(1)


def test_rolling_maintenance_takes_no_time_from_a_wall_clock_rate(plain_run):
    stops = {"maintenance": {"per_day": 2, "duration_min": 60}, "spares": {"n_nodes": 4}, "repair": {"manual_h": 9}}
    full = plain_run.override(WALL | stops)
    rolling = plain_run.override(WALL | stops | {"maintenance.rolling_nodes": 4})
    assert rolling.failures.exposed_share - full.failures.exposed_share == pytest.approx(2 / 24)
