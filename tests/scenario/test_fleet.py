"""Spares, repair, going on without some nodes, lemons, slow nodes, and times that vary: what a scenario may hold."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import Scenario, evidence
from ettr.core.errors import InputError
from ettr.core.units import unit_of

FLEET = {
    "failures.modes": [
        {"name": "GPU", "share": 0.5, "detection_cv": 0.5, "restart_cv": 0.2, "repair_h": 3},
        {"name": "rack", "share": 0.1, "n_out_nodes": 16},
        {"name": "SDC", "share": 0.01, "latency_h": 5, "latency_cv": 1},
    ],
    "failures.lemons": {"share": 0.02, "factor": 8, "left": 0.5},
    "recovery.init_s_per_1000_gpus": 2.5,
    "job.throughput_factor": 0.95,
    "recovery.detection_cv": 1,
    "recovery.restart_cv": 0.3,
    "recovery.person_share": 0.1,
    "recovery.person_min": 40,
    "recovery.false_alarms_per_day": 0.2,
    "checkpoint.n_kept": 10,
    "maintenance": {"per_day": 0.5, "duration_min": 60, "rolling_nodes": 4},
    "spares": {"n_nodes": 8, "n_preemptible": 16, "preempt_min": 10, "n_cold": 4, "fetch_min": 90},
    "repair": {
        "automatic_h": 0.5,
        "automatic_success": 0.7,
        "manual_h": 24,
        "manual_success": 0.9,
        "replacement_h": 120,
        "cv": 0.8,
        "n_crew": 2,
        "misdiagnosed": 0.1,
        "recurrence_h": 50,
        "retire_after": 3,
        "retire_window_days": 30,
    },
    "elastic": {"n_replicas": 10, "n_least": 8},
    "slow_nodes": {"per_1000_node_days": 0.5, "loss": 0.2, "detection_h": 2, "lasts_h": 12},
}


@pytest.fixture
def fleet(plain_run) -> Scenario:
    """The plain run with everything that a fleet can have."""
    return plain_run.override(FLEET)


def refusal(run: Scenario, values: dict) -> str:
    with pytest.raises(InputError) as caught:
        run.override(values)
    return str(caught.value).rpartition(" (")[0]


def test_a_fleet_is_written_as_it_is_read(fleet):
    assert Scenario.parse(fleet.to_yaml()) == fleet
    for name in ("spares", "repair", "elastic", "slow_nodes"):
        assert f"\n{name}: {{" in fleet.to_yaml()


@pytest.mark.parametrize("name", evidence.scenario_names())
def test_presets_do_without_and_say_nothing_of_it(name):
    """Fields at the values with which they do nothing are neither written nor shown."""
    run = Scenario.load(name)
    added = {path.rpartition(".")[2] for path in BOUNDS if path.startswith(("job", "recovery", "checkpoint"))}
    added |= {"spares", "repair", "elastic", "slow_nodes", "lemons", "latency_cv", "n_out_nodes"}
    names = {part for field in run.to_frame()["field"] for part in field.split(".")}
    assert not added & names
    assert not [name for name in added if f"{name}:" in run.to_yaml()]


BOUNDS = {
    "job.throughput_factor": ("> 0", [1e-9, 1], [0, -1]),
    "failures.modes.GPU.detection_cv": (">= 0", [0, 10], [-0.1]),
    "failures.modes.GPU.restart_cv": (">= 0", [0, 10], [-0.1]),
    "failures.modes.SDC.latency_cv": (">= 0", [0, 10], [-0.1]),
    "failures.modes.rack.n_out_nodes": (">= 0 nodes", [0, 1000], [-1]),
    "failures.modes.GPU.repair_h": (">= 0 h", [0], [-1]),
    "failures.lemons.share": ("> 0", [1e-9, 0.99], [0]),
    "failures.lemons.factor": (">= 1", [1], [0.99]),
    "failures.lemons.left": ("<= 1", [0, 1], [1.01]),
    "recovery.init_s_per_1000_gpus": (">= 0 s per 1000 GPUs", [0], [-1]),
    "recovery.detection_cv": ("<= 10", [0, 10], [10.1]),
    "recovery.restart_cv": (">= 0", [0, 10], [-0.1]),
    "recovery.person_share": ("<= 1", [0, 1], [1.01]),
    "recovery.person_min": (">= 0 min", [0], [-1]),
    "recovery.false_alarms_per_day": (">= 0 1/day", [0], [-1]),
    "checkpoint.n_kept": (">= 1 checkpoints", [1], [0]),
    "maintenance.rolling_nodes": (">= 1 nodes", [1], [0]),
    "spares.n_nodes": (">= 0 nodes", [0], [-1]),
    "spares.n_preemptible": (">= 0 nodes", [0], [-1]),
    "spares.preempt_min": (">= 0 min", [0], [-1]),
    "spares.n_cold": (">= 0 nodes", [0], [-1]),
    "spares.fetch_min": (">= 0 min", [0], [-1]),
    "repair.automatic_h": (">= 0 h", [0], [-1]),
    "repair.automatic_success": ("<= 1", [0, 1], [1.01]),
    "repair.manual_h": (">= 0 h", [0], [-1]),
    "repair.manual_success": (">= 0", [0, 1], [-0.01]),
    "repair.replacement_h": (">= 0 h", [0], [-1]),
    "repair.cv": (">= 0", [0, 10], [-1]),
    "repair.n_crew": (">= 1 people", [1], [0]),
    "repair.misdiagnosed": ("< 1", [0, 0.99], [1]),
    "repair.recurrence_h": ("> 0 h", [1e-9], [0]),
    "repair.retire_after": (">= 1", [1], [0]),
    "repair.retire_window_days": ("> 0 days", [1e-9], [0]),
    "elastic.n_replicas": (">= 2 replicas", [8], [1]),
    "elastic.n_least": (">= 1 replicas", [1], [0]),
    "slow_nodes.per_1000_node_days": (">= 0 nodes per 1000 node-days", [0], [-1]),
    "slow_nodes.loss": ("< 1", [1e-9, 0.99], [1]),
    "slow_nodes.detection_h": ("> 0 h", [1e-9], [0]),
    "slow_nodes.lasts_h": ("> 0 h", [1e-9], [0]),
}
WHOLE = ("_nodes", "n_kept", "n_preemptible", "n_cold", "n_crew", "retire_after", "n_replicas", "n_least")


@pytest.mark.parametrize("path", BOUNDS)
def test_bounds_hold_on_both_sides(fleet, path):
    rule, good, bad = BOUNDS[path]
    for value in good:
        fleet.override({path: value})
        Scenario.check_values(path, [value])
    for value in bad:
        assert refusal(fleet, {path: value}).endswith(f"{path.rpartition('.')[2]} must be {rule}, got {value}")
        with pytest.raises(InputError, match=f"{path} must be {rule}, got {value:g}"):
            Scenario.check_values(path, [value])


@pytest.mark.parametrize("path", BOUNDS)
def test_what_is_no_number_is_refused(fleet, path):
    for value in (True, np.bool_(False), float("nan"), float("inf"), "many", [1]):
        assert f"{path.rpartition('.')[2]} must be" in refusal(fleet, {path: value})
    if path.endswith(WHOLE):
        assert "must be a whole number" in refusal(fleet, {path: 1.5})


def test_every_field_is_in_the_dictionary(fleet):
    table = Scenario.dictionary().set_index("field")
    for path, (rule, *_) in BOUNDS.items():
        parts = path.split(".")
        of_list = f"failures.modes.<name>.{parts[-1]}" if "modes" in parts else path
        assert rule.removesuffix(unit_of(path)).strip() in table.loc[of_list, "rule"]
        # what is no fraction, coefficient of variation or factor is counted in something
        plain = path.endswith(
            ("_cv", ".cv", "share", "success", "factor", "loss", "misdiagnosed", "retire_after", "left")
        )
        assert bool(unit_of(path)) != plain


RULES = {
    "spares without repair": (
        {"repair": None},
        "spares needs repair: nodes that leave the job come back, e.g. repair: {manual_h: 24}",
    ),
    "repair without spares": (
        {"spares": None},
        "repair needs spares: without them nothing is tracked, e.g. spares: {n_nodes: 0}",
    ),
    "elastic without either": (
        {"spares": None, "repair": None, "maintenance": None},
        "elastic needs spares and repair: without them no node is ever missing",
    ),
    "rolling maintenance without either": (
        {"spares": None, "repair": None, "elastic": None},
        "maintenance.rolling_nodes needs spares and repair: without them no node is ever missing",
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
    "manual repair that may fail": (
        {"repair": {"manual_h": 1, "manual_success": 0.7}},
        "repair.manual_success = 0.7 needs replacement_h, for the nodes that nobody can repair",
    ),
    "retirement without a window": (
        {"repair.retire_window_days": None},
        "repair.retire_after needs retire_window_days and replacement_h",
    ),
    "retirement without a new node": (
        {"repair": {"manual_h": 1, "retire_after": 3, "retire_window_days": 30}},
        "repair.retire_after needs retire_window_days and replacement_h",
    ),
    "the wrong node without a return": (
        {"repair.recurrence_h": None},
        "repair.misdiagnosed needs recurrence_h, the time until the bad node strikes again",
    ),
    "slow for ever": (
        {"slow_nodes.detection_h": None, "slow_nodes.lasts_h": None},
        "slow_nodes needs detection_h or lasts_h: a slow node is found, or recovers by itself",
    ),
    "more replicas than nodes": (
        {"elastic.n_replicas": 1001},
        "elastic.n_replicas must be <= 1000, the nodes of the job, got 1001",
    ),
    "more replicas needed than there are": (
        {"elastic.n_least": 11},
        "elastic.n_least must be <= 10, the n_replicas of the job, got 11",
    ),
    "more nodes out than there are": (
        {"failures.modes.rack.n_out_nodes": 1001},
        "failures.modes.rack.n_out_nodes must be <= 1000, the nodes of the job, got 1001",
    ),
    "a spread around nothing": (
        {"failures.modes.rack.latency_cv": 0.5},
        "failures.modes.1.latency_cv needs latency_h, the mean that it spreads around",
    ),
    "misspelt": (
        {"spares.n_node": 3},
        "unknown field 'spares.n_node'; did you mean 'spares.n_nodes'? Near it: spares.n_nodes, ",
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_what_belongs_together_comes_together(fleet, rule):
    values, message = RULES[rule]
    with pytest.raises(InputError) as caught:
        fleet.override(values)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "values",
    [
        {"elastic": None, "maintenance": None, "spares": None, "repair": None},
        {"repair": {"automatic_h": 1}},
        {"repair": {"automatic_h": 1, "automatic_success": 0.5, "replacement_h": 9}},
        {"repair": {"automatic_h": 1, "automatic_success": 0.5, "manual_h": 9}},
        {"repair": {"manual_h": 1, "manual_success": 0.5, "replacement_h": 9}},
        {"spares": {"n_nodes": 0}},
        {"slow_nodes.detection_h": None},
        {"slow_nodes.lasts_h": None},
        {"elastic": {"n_replicas": 1000, "n_least": 1000}},
    ],
)
def test_what_is_complete_is_accepted(fleet, values):
    run = fleet.override(values)
    assert Scenario.parse(run.to_yaml()) == run


# --------------------------------------------------------------------------- the table of values


def test_a_value_with_an_effect_is_shown(fleet):
    rows = fleet.to_frame().set_index("field")
    assert {path for path in BOUNDS if "modes" not in path} <= set(rows.index)
    assert rows.loc["repair.n_crew", ["value", "unit", "status"]].tolist() == [2, "people", "given"]
    assert rows.loc["slow_nodes.per_1000_node_days", "unit"] == "nodes per 1000 node-days"


@pytest.mark.parametrize(
    ("path", "idle", "hidden"),
    [
        ("job.throughput_factor", 1, []),
        ("recovery.detection_cv", 0, []),
        ("recovery.restart_cv", 0, []),
        ("recovery.person_share", 0, ["recovery.person_min"]),
        ("recovery.false_alarms_per_day", 0, []),
        ("spares.n_preemptible", 0, ["spares.preempt_min"]),
        ("spares.n_cold", 0, ["spares.fetch_min"]),
        ("repair.automatic_success", 1, []),
        ("repair.manual_success", 1, []),
        ("repair.cv", 0, []),
        ("repair.misdiagnosed", 0, ["repair.recurrence_h"]),
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
PER_H = 6 / 24  # 6 per 1000 node-days, on 1000 nodes


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
