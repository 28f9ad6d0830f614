"""What closed forms have no term for: honoured where it is linear, else refused by name, and left out on request."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agreement import same
from ettr import Scenario, budget, evidence
from ettr.core.errors import NotModelled, OutsideValidity

FLEET = {"spares": {"n_nodes": 8}, "repair": {"manual_h": 24}}
MODES = {"failures.modes": [{"name": "crash", "share": 0.4}, {"name": "never", "share": 0.0, "latency_h": 3}]}
SILENT = {"failures.modes": [{"name": "SDC", "share": 1.0, "latency_h": 2}]}
TWO_SILENT = {
    "failures.modes": [{"name": "v. 1", "share": 0.75, "latency_h": 2}, {"name": "v. 2", "share": 0.25, "latency_h": 6}]
}
TIERS = {"checkpoint.tiers": [{"name": "memory", "interval_s": 600, "survives": 0.8}]}
PREDICTION = {"prediction": {"recall": 0.5, "precision": 0.5, "lead_s": 120, "action_s": 60}}
WRITE = {"checkpoint.persist_s": 1200}
FORMULAS = {"exact": budget.exact, "first_order": budget.first_order, "rsc": budget.rsc, "over_time": budget.over_time}

EXTRAS = {
    "latencies": (
        SILENT | {"failures.modes.SDC.latency_cv": 1},
        "latencies that vary (failures.modes.SDC.latency_cv)",
    ),
    "false alarms": (
        {"recovery.false_alarms_per_day": 0.1},
        "time-outs that kill a healthy job (recovery.false_alarms_per_day)",
    ),
    "checkpoints to keep": (SILENT | {"checkpoint.n_kept": 3}, "checkpoints that are not kept (checkpoint.n_kept)"),
    "slow nodes": (
        {"slow_nodes": {"per_1000_node_days": 0.1, "loss": 0.2, "detection_h": 3}},
        "slow nodes (slow_nodes)",
    ),
    "spares": (FLEET, "spares that run out (spares, repair)"),
    "elastic": (
        FLEET | {"elastic": {"n_replicas": 8, "n_least": 7}},
        "jobs that continue without some replicas (elastic)",
    ),
    "rolling": (
        FLEET | {"maintenance": {"per_day": 0.1, "duration_min": 30, "rolling_nodes": 2}},
        "stops for maintenance of a few nodes at a time (maintenance.rolling_nodes)",
    ),
}


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("extra", EXTRAS)
def test_what_has_no_term_is_refused_by_name(plain_run, extra, formula):
    changes, words = EXTRAS[extra]
    with pytest.raises(NotModelled) as caught:
        FORMULAS[formula](plain_run.override(changes))
    assert str(caught.value) == (
        f"budget.{formula} has no term for {words}: use ettr.simulate, or leave them out with budget.simplified"
    )


IDLE = {
    "a mode that does not occur": MODES
    | {
        "failures.modes.never.latency_cv": 1,
        "checkpoint.n_kept": 2,
    },
    "lemons like the others": {"failures.lemons": {"share": 0.1, "factor": 1}},
    "no false alarms": {"recovery.false_alarms_per_day": 0},
    "checkpoints to keep, and nothing silent": {"checkpoint.n_kept": 1},
    "a person for nothing": {"recovery.person_share": 1, "recovery.person_min": 0},
    "racks, with spares that never run out": MODES | {"failures.modes.crash.n_out_nodes": 16},
}


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("idle", IDLE)
def test_what_has_no_effect_changes_nothing(plain_run, idle, formula):
    plain = plain_run.override({"recovery.detection_min": 4, "recovery.queue_min": 6, "job.include_start": True})
    run = plain.override(IDLE[idle])
    # shares of modes sum to 1 within rounding
    same(FORMULAS[formula](run), FORMULAS[formula](plain), rounding_h=1e-15)
    assert budget.simplified(run) == budget.Simplified(run)


def test_no_preset_has_anything_to_leave_out_but_spares_of_racks():
    left_out = {name: budget.simplified(Scenario.load(name)).left_out for name in evidence.scenario_names()}
    assert left_out.pop("gb200-nvl72") == ("spares that run out (spares, repair)",)
    assert not any(left_out.values())


# --------------------------------------------------------------------------- what is linear


@pytest.mark.parametrize("formula", ["exact", "first_order", "over_time"])
@pytest.mark.parametrize("changes", [{}, TIERS, PREDICTION, SILENT], ids=["plain", "tiers", "prediction", "silent"])
def test_the_wait_for_a_person_is_a_queue_after_each_failure(plain_run, formula, changes):
    run = plain_run.override(changes | {"job.include_start": False})
    person = run.override({"recovery.person_share": 0.25, "recovery.person_min": 60, "recovery.queue_min": 3})
    queue = run.override({"recovery.queue_min": 18})
    form = FORMULAS[formula](person)
    same(form, FORMULAS[formula](queue))
    assert form.queue_h == pytest.approx(form.n_failures * 0.3, rel=1e-12)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("include_start", [True, False])
def test_a_slower_job_has_more_hours_to_train(plain_run, formula, include_start):
    run = plain_run.override({"job.include_start": include_start})
    slow = run.override({"job.throughput_factor": 0.8})
    form = FORMULAS[formula](slow)
    assert form == FORMULAS[formula](run.override({"job.productive_h": 50}))
    assert form.productive_h == pytest.approx(50)
    if not include_start:
        assert form.ettr == pytest.approx(FORMULAS[formula](run).ettr, rel=1e-12)


def test_a_sweep_of_the_work_is_of_full_speed_hours(plain_run):
    slow = plain_run.override({"job.throughput_factor": 0.5})
    swept = budget.exact(slow, {"job.productive_h": np.array([10.0, 40.0])})
    assert swept.productive_h.tolist() == [20, 80]
    young = slow.override({"failures.burn_in": {"factor": 3, "decay_days": 2}})
    assert budget.over_time(young).productive_h == pytest.approx(80)


# --------------------------------------------------------------------------- left out


def test_nothing_else_is_left_out(plain_run):
    run = plain_run.override({"maintenance": {"per_day": 0.1, "duration_min": 30}} | MODES | WRITE)
    full = run.override(
        FLEET
        | {
            "elastic": {"n_replicas": 8, "n_least": 7},
            "maintenance.rolling_nodes": 2,
            "slow_nodes": {"per_1000_node_days": 1, "loss": 0.1, "detection_h": 1},
            "recovery.false_alarms_per_day": 1,
        }
    )
    simple = budget.simplified(full)
    assert simple.scenario == run
    assert simple.left_out == (
        "time-outs that kill a healthy job (recovery.false_alarms_per_day)",
        "slow nodes (slow_nodes)",
        "jobs that continue without some replicas (elastic)",
        "stops for maintenance of a few nodes at a time (maintenance.rolling_nodes)",
        "spares that run out (spares, repair)",
    )


def test_the_rate_is_the_settled_one(plain_run):
    young = plain_run.override({"failures.burn_in": {"factor": 3, "decay_days": 2}})
    assert budget.simplified(young) == budget.Simplified(
        plain_run, ("a changing failure rate, at its long-run value here (failures.burn_in)",)
    )
    for start in ("new", "stationary"):
        nodes = plain_run.override({"failures.lifetime": {"shape": 0.7, "start": start}})
        assert budget.simplified(nodes) == budget.Simplified(
            plain_run, ("nodes whose failure rate depends on age, at their long-run rate here (failures.lifetime)",)
        )


BESIDE = {
    "tiers with prediction": (TIERS | PREDICTION, TIERS, ["predicted failures (prediction)"]),
    "silent failures among others": (
        {"failures.modes": [{"name": "SDC", "share": 0.5, "latency_h": 2, "latency_cv": 1}]},
        {"failures.modes": [{"name": "SDC", "share": 0.5}]},
        [
            "latencies that vary (failures.modes.SDC.latency_cv)",
            "silent failures, detected at once here (failures.modes.SDC.latency_h)",
        ],
    ),
    "latencies that differ": (
        TWO_SILENT,
        {"failures.modes": [{**mode, "latency_h": 3.0} for mode in TWO_SILENT["failures.modes"]]},
        ["different latencies, all the mean here (failures.modes.v. 1.latency_h, failures.modes.v. 2.latency_h)"],
    ),
    "tiers with a slowdown": (
        TIERS | WRITE | {"checkpoint.persist_slowdown": 0.2},
        TIERS | WRITE,
        ["slowdown by the background write (checkpoint.persist_slowdown)"],
    ),
    "everything": (
        TIERS | PREDICTION | SILENT | WRITE | {"checkpoint.persist_slowdown": 0.2},
        TIERS | WRITE | {"failures.modes": [{"name": "SDC", "share": 1.0}]},
        [
            "slowdown by the background write (checkpoint.persist_slowdown)",
            "predicted failures (prediction)",
            "silent failures, detected at once here (failures.modes.SDC.latency_h)",
        ],
    ),
}


@pytest.mark.parametrize("case", BESIDE)
def test_of_what_excludes_each_other_one_stays(plain_run, case):
    changes, rest, left_out = BESIDE[case]
    run = plain_run.override(changes)
    with pytest.raises(NotModelled):
        budget.exact(run)
    simple = budget.simplified(run)
    assert list(simple.left_out) == left_out
    assert simple.scenario == plain_run.override(rest)


def test_where_simulation_has_no_rule_either_it_is_not_named(plain_run):
    slowed = TIERS | WRITE | {"checkpoint.persist_slowdown": 0.2}
    for changes in (slowed, slowed | PREDICTION, slowed | SILENT):
        with pytest.raises(NotModelled) as caught:
            budget.exact(plain_run.override(changes))
        assert "checkpoint.tiers together with checkpoint.persist_slowdown: leave one out" in str(caught.value)
        assert "simulat" not in str(caught.value)


CHOICES = {
    **EXTRAS,
    **{name: (changes, "") for name, (changes, *_) in BESIDE.items()},
    "burn-in": ({"failures.burn_in": {"factor": 4, "decay_days": 1}}, ""),
    "new nodes": ({"failures.lifetime": {"shape": 0.7, "start": "new"}}, ""),
    "person": ({"recovery.person_share": 0.5, "recovery.person_min": 20}, ""),
    "slow": ({"job.throughput_factor": 0.7}, ""),
    "start": ({"job.include_start": True}, ""),
    "huge": ({"cluster.n_gpus": 800_000}, ""),
}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=st.lists(st.sampled_from(sorted(CHOICES)), min_size=1, max_size=6, unique=True))
def test_any_mixture_can_be_simplified(plain_run, chosen):
    changes = {path: value for name in chosen for path, value in CHOICES[name][0].items()}
    modes = {mode["name"]: mode for name in chosen for mode in CHOICES[name][0].get("failures.modes", ())}
    if modes:  # all kinds together
        changes["failures.modes"] = [{**mode, "share": mode["share"] / len(modes)} for mode in modes.values()]
    run = plain_run.override(dict(sorted(changes.items(), key=lambda item: item[0].count("."))))
    simple = budget.simplified(run)
    assert budget.simplified(simple.scenario) == budget.Simplified(simple.scenario)
    try:
        total_h = budget.exact(simple.scenario).total_h
    except OutsideValidity:
        return
    assert total_h > run.work_h
    if not simple.left_out:
        assert budget.exact(run).total_h == total_h
