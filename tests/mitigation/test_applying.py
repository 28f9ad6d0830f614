"""Scenarios with mitigations: what is assumed, what changes, in whatever order."""

from __future__ import annotations

import itertools

import pytest

from ettr import Scenario, evidence, mitigation
from ettr.core.errors import InputError, UnknownName

IN_PLACE = {
    "flight-recorder",
    "fast-group-init",
    "restart-automation",
    "fast-rescheduling",
    "async-checkpoint",
    "topology-placement",
    "adaptive-routing",
}
"""What the run has already: its worth is measured by taking it away."""


def values(run: Scenario) -> dict:
    return run.model_dump(exclude={"evidence"})


def near(value, other) -> bool:
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(near(value[key], other[key]) for key in value)
    if isinstance(value, (list, tuple)):
        return len(value) == len(other) and all(map(near, value, other))
    return value == (pytest.approx(other, rel=1e-9) if isinstance(value, float) else other)


# --------------------------------------------------------------------------- assumptions


def test_a_run_that_says_nothing_is_given_what_mitigations_act_on():
    run = Scenario.load("llama3-405b-tokens")
    filled = mitigation.with_assumptions(run)
    completed = filled.scenario
    assert run.spares is None and completed.spares.n_nodes == 15  # 99.9% of a Poisson number of mean 6.0
    assert completed.failures.modes[0].heat_share == 0.5 and completed.failures.modes[2].heat_share == 0
    assert completed.evidence["recovery.person_min"].status == "assumed"
    assert completed.evidence["failures.lemons.share"].source == "pattabiraman2026airesim"
    assert {"power", "network", "cost"}.isdisjoint(filled.fields)  # it has these itself
    assert values(completed) != values(run) and completed.checkpoint == run.checkpoint


def test_assumptions_leave_what_a_run_says(completed):
    run = Scenario.load("llama3-405b").override({"failures.lemons": {"share": 0.02, "factor": 9}})
    filled = mitigation.with_assumptions(run).scenario
    assert filled.failures.lemons.share == 0.02
    repair = {"automatic_h": None, "manual_h": 10}
    repaired = mitigation.with_assumptions(run.override({"spares": {"n_nodes": 3}, "repair": repair})).scenario
    assert repaired.spares.n_nodes == 3 and repaired.repair.automatic_h is None
    nobody = run.override({"recovery.person_share": 0, "recovery.restart_min": 9}).override({"recovery.queue_min": 1})
    assert mitigation.with_assumptions(nobody).scenario.recovery.person_share == 0  # a default that is written down
    assert mitigation.with_assumptions(run).scenario.recovery.person_share > 0


SPARES = {"spares.n_nodes", "repair.automatic_h", "repair.automatic_success", "repair.manual_h"}
SPARES |= {"repair.replacement_h", "repair.cv"}


@pytest.mark.parametrize(
    ("path", "assumed"),
    [
        ("checkpoint.stall_s", set()),
        ("failures.lemons.left", {"failures.lemons"}),
        ("recovery.person_min", {"recovery.person_share", "recovery.person_min"}),
        ("spares.n_nodes", SPARES),
        ("repair.retire_after", SPARES),
        ("maintenance.per_day", set()),
        ("heat.limit_w", {"heat", "failures.modes.GPU.heat_share"}),
        ("failures.modes.*.detection_min", {"failures.modes.NCCL Watchdog Timeouts.detection_min"}),
        ("failures.modes.Faulty GPU.heat_share", {"heat", "failures.modes.GPU.heat_share"}),
    ],
)
def test_only_what_a_field_needs_is_assumed(path, assumed):
    """Modes of a category are those by its name: what fails in a GPU is called Faulty GPU in Llama 3's table."""
    assert set(mitigation.with_assumptions(Scenario.load("llama3-405b"), acting_on=[path]).fields) == assumed


@pytest.mark.parametrize("name", evidence.scenario_names())
def test_every_preset_can_be_completed_and_says_what_it_misses(name):
    run = mitigation.with_assumptions(Scenario.load(name)).scenario
    for entry in mitigation.catalogue():
        if entry.unmodelled:
            continue
        if absent := mitigation.missing(run, entry):
            with pytest.raises(InputError, match=f"{entry.id} needs {absent[0].split('.')[0]}"):
                mitigation.apply(run, entry.id)
        elif (name, entry.id) == ("byterobust", "multi-level-checkpoint"):  # which saves each minute
            with pytest.raises(InputError, match=r"interval_min must be >= 2.5 min, the interval of the faster tier"):
                mitigation.apply(run, entry.id)
        elif (name, entry.id) == ("gb200-nvl72", "repeat-offender-retirement"):
            with pytest.raises(InputError, match="retire_after needs replacement_h"):
                mitigation.apply(run, entry.id)
        else:
            mitigation.apply(run, entry.id)


def test_a_run_without_hours_of_its_modes_is_not_given_them():
    completed = mitigation.with_assumptions(Scenario.load("rsc-1"))
    assert not any(path.startswith("failures.modes") for path in completed.fields)
    sdc = mitigation.catalogue()["sdc-checks"]
    assert mitigation.missing(completed.scenario, sdc) == (
        "failures.modes.Silent Data Corruption.latency_h",
        "failures.modes.Silent Data Corruption.latency_cv",
    )
    assert "sync" not in completed.fields
    assert mitigation.missing(completed.scenario, mitigation.catalogue()["local-sgd"]) == ("sync",)


# --------------------------------------------------------------------------- one mitigation


def test_every_modelled_mitigation_changes_something_or_is_in_place(completed, applicable):
    catalogue = mitigation.catalogue()
    same = {name for name in applicable if values(mitigation.apply(completed, name)) == values(completed)}
    assert same == IN_PLACE == {entry.id for entry in catalogue if entry.before}
    for name in same:
        assert values(mitigation.without(completed, catalogue[name])) != values(completed)
    assert mitigation.without(completed, catalogue["lemon-removal"]) is None


def test_rack_spares_are_modelled_where_there_are_racks():
    gb200 = Scenario.load("gb200-nvl72")
    entry = mitigation.catalogue()["rack-spares"]
    assert mitigation.missing(Scenario.load("llama3-405b"), entry) == ("rack",)
    run = mitigation.apply(gb200.override({"rack.n_used": None}), entry.id)
    assert run.rack.n_used == 64 and run.cluster == gb200.cluster
    small = Scenario.of({"cluster": {"n_gpus": 512}, "failures": {"job_mttf_h": 20}, "rack": {"n_gpus": 32}})
    with pytest.raises(InputError, match="n_used must be <= 32"):  # the entry is about racks of 72
        mitigation.apply(small, entry.id)


def test_what_was_taken_away_comes_back(completed):
    """The fields that a mitigation caps or sets are those that are there without it."""
    for name in IN_PLACE - {"async-checkpoint", "adaptive-routing"}:  # these take something else away as well
        entry = mitigation.catalogue()[name]
        back = mitigation.apply(mitigation.without(completed, entry), name)
        for change in entry.changes:
            section, field = change.path.split(".")
            restored, had = (getattr(getattr(run, section), field) for run in (back, completed))
            assert restored == (change.value if change.op == "cap" else had), change.path


def test_operations_by_hand(completed):
    assert mitigation.apply(completed, "lemon-removal").failures.lemons.left == pytest.approx(0.15)
    both = mitigation.apply(completed, ["lemon-removal", "pre-launch-checks"])
    assert both.failures.lemons.left == pytest.approx(0.15 * 0.31) and both.repair.automatic_h == 3
    assert mitigation.apply(completed, "spare-pool").spares.n_nodes == 15 + 41  # 2% of 2,048, rounded up
    assert mitigation.apply(completed, "rolling-maintenance").maintenance.rolling_nodes == 9  # 0.4%, rounded up
    seen = mitigation.apply(completed, "faulty-machine-detection")
    assert seen.recovery.detection_min == pytest.approx(0.117)
    hang = next(mode for mode in seen.failures.modes if mode.name == "NCCL Watchdog Timeouts")
    assert hang.detection_min == pytest.approx(10 * 0.117)
    assert seen.failures.modes[0].detection_min is None  # those without a time of their own stay without


def test_a_save_that_the_job_waits_for_is_changed_itself():
    run = mitigation.with_assumptions(Scenario.load("rsc-1")).scenario
    assert (run.checkpoint.stall_s, run.persist_h) == (300, 0)
    background = mitigation.apply(run, "async-checkpoint").checkpoint
    assert (background.stall_s, background.persist_s) == (10, 300)  # the write takes as long as it did
    smaller = mitigation.apply(run, "incremental-checkpoint").checkpoint
    assert (smaller.stall_s, smaller.persist_s) == (pytest.approx(300 * 0.167), 0)
    both = mitigation.apply(run, ["async-checkpoint", "incremental-checkpoint"]).checkpoint
    assert (both.stall_s, both.persist_s) == (10, pytest.approx(300 * 0.167))
    names = ["async-checkpoint", "incremental-checkpoint", "quantised-checkpoint", "checkpoint-storage"]
    for order in (names, names[::-1], [names[i] for i in (2, 0, 3, 1)]):
        last = run
        for name in order:
            last = mitigation.apply(last, name)
        assert near(values(last), values(mitigation.apply(run, names))), order


def test_a_section_that_a_mitigation_makes_is_not_missing(completed):
    shrink = mitigation.apply(completed, "elastic-shrink")
    assert (shrink.elastic.n_replicas, shrink.elastic.n_least) == (128, 116)  # nine tenths, rounded up
    assert mitigation.n_replicas(completed) == 128 and mitigation.n_replicas(Scenario.load("llama3-405b")) == 128
    by_node = mitigation.apply(completed, "replica-rerouting").elastic
    assert (by_node.n_replicas, by_node.n_least) == (2048, 1844)
    assert mitigation.apply(Scenario.load("llama3-405b"), "failure-prediction").prediction.recall == 0.4


def test_saves_to_a_store_change_its_bandwidth(completed):
    store = {"n_parameters": 405e9, "write_gb_s": 100.0}
    run = completed.override({"checkpoint.persist_s": 0, "checkpoint.store": store})
    faster = mitigation.apply(run, "parallel-checkpoint")
    assert faster.checkpoint.store.write_gb_s == pytest.approx(605) and faster.checkpoint.persist_s == 0
    assert mitigation.apply(run, "quantised-checkpoint").persist_h == pytest.approx(run.persist_h / 2.5)
    assert mitigation.apply(run, "incremental-checkpoint").persist_h == pytest.approx(run.persist_h * 0.167)
    waits = mitigation.without(run, mitigation.catalogue()["async-checkpoint"])
    assert waits.checkpoint.stall_s == 70 and waits.checkpoint.store is not None


# --------------------------------------------------------------------------- several


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_order_does_not_matter(completed, applicable, every):
    """Pairs that go together, all or those that change a section both, give one scenario in either order."""
    catalogue = mitigation.catalogue()
    alone = {name: mitigation.apply(completed, name) for name in applicable}
    sections = {name: {change.path.split(".")[0] for change in catalogue[name].changes} for name in applicable}
    for first, second in itertools.combinations(applicable, 2):
        if catalogue.conflict(first, second) or not (every or sections[first] & sections[second]):
            continue
        forward, backward = mitigation.apply(alone[first], second), mitigation.apply(alone[second], first)
        assert near(values(forward), values(backward)), f"{first} and {second}"


def test_all_at_once_is_one_after_the_other(completed):
    names = ["peer-checkpoint", "multi-level-checkpoint", "lemon-removal", "warm-standby", "gradient-compression"]
    chain = completed
    for name in names:
        chain = mitigation.apply(chain, name)
    at_once = mitigation.apply(completed, names)
    assert near(values(at_once), values(chain))
    assert near(values(mitigation.apply(completed, reversed(names))), values(at_once))
    assert [tier.name for tier in at_once.checkpoint.tiers] == ["peer memory", "neighbour disks"]
    assert mitigation.apply(completed, ["lemon-removal", "lemon-removal"]) == mitigation.apply(
        completed, "lemon-removal"
    )
    assert mitigation.apply(completed, []) == completed


# --------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ("lemon-removel", UnknownName, "did you mean 'lemon-removal'"),
        (
            ["peer-checkpoint", "just-in-time-checkpoint"],
            InputError,
            "peer-checkpoint and just-in-time-checkpoint do not go together: both define the fastest checkpoint tier",
        ),
        (["cold-plate-cooling", "immersion-cooling"], InputError, "a GPU has one cooling method"),
        (["elastic-shrink", "lemon-removal", "replica-drop"], InputError, "elastic-shrink and replica-drop"),
        ("optical-network", InputError, "optical-network is not modelled: A scenario's network"),
        ("burn-in", InputError, "burn-in needs failures.burn_in, which llama3-405b-tokens does not have"),
    ],
)
def test_what_cannot_be_applied(completed, names, error, message):
    with pytest.raises(error, match=message):
        mitigation.apply(completed, names)
