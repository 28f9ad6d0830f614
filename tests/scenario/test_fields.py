"""What is known of a field stands with it: its idle value, its unit, which way it is better, its name."""

from __future__ import annotations

import pytest

from ettr import Gpu, Scenario, evidence
from ettr.core.units import COUNTED, OF_ENDING, PLAIN, ending_of
from ettr.scenario import fields
from ettr.scenario.basics import UNSAID
from ettr.scenario.bounds import bounds, is_number
from ettr.scenario.paths import each_field

ADDED = {
    "prediction": {"recall": 0.5, "precision": 0.5, "lead_s": 60, "action_s": 10},
    "checkpoint.store": {"n_parameters": 405e9, "write_gb_s": 2000},
    "checkpoint.tiers": [{"name": "memory", "interval_s": 60, "survives": 0.8}],
    "checkpoint.persist_s": 0,
}


@pytest.fixture(scope="module")
def rich(llama3) -> Scenario:
    return llama3.override(ADDED)


ENDINGS = {**OF_ENDING, **COUNTED, **dict.fromkeys(PLAIN)}


@pytest.mark.parametrize("model", [Scenario, Gpu])
def test_every_number_says_at_which_value_it_does_nothing_and_ends_in_a_unit(model):
    for path, field in each_field(model, items=True):
        if not is_number(field.annotation):
            continue
        name, meta, limits = path.rpartition(".")[2], fields.meta_of(field), dict(bounds(path, field))
        # or give it Meta(idle=...), or Meta(idle=NEVER) if every value has an effect
        assert meta.idle is not UNSAID or field.is_required() or field.default is None, path
        fraction = limits.get("<=", limits.get("<", 2)) <= 1
        # or give its ending a unit in ettr/core/units.py, or call it a share or factor
        assert fraction or name.startswith("n_") or ending_of(name, ENDINGS), path
        assert not meta.better or meta.says or meta.amount, f"{path} can be solved for: give it Meta(says=...)"


def test_a_field_has_the_facts_of_its_kind_and_its_own():
    facts = fields.meta_at("recovery.restart_min", Scenario)
    assert (facts.better, facts.swept, facts.says) == ("less", True, "restart")
    assert fields.meta_at("repair.cv", Scenario).idle == 0.0
    assert fields.meta_at("checkpoint.store.read_gb_s", Scenario).better == "more"  # may be left out


def test_what_is_swept_goes_from_every_scenario_to_its_own(rich):
    *always, last = fields.swept(Scenario.load("rsc-1"))
    assert last == "maintenance.duration_min" and "checkpoint.persist_s" in always  # also without maintenance
    of_rich = fields.swept(rich)
    assert "checkpoint.persist_s" not in of_rich and "checkpoint.load_s" in of_rich  # the store has no read_gb_s
    specific = [path for path in of_rich if path not in (*always, last)]
    assert specific[:4] == [
        f"checkpoint.store.{name}"
        for name in ("n_parameters", "bytes_per_parameter", "changed_share", "compression_ratio")
    ]
    assert specific[4:6] == ["checkpoint.store.write_gb_s", "checkpoint.tiers.memory.interval_s"]
    assert specific[-5:] == [
        "checkpoint.tiers.memory.survives",
        *(f"prediction.{name}" for name in ADDED["prediction"]),
    ]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("checkpoint.stall_s", "stall"),
        ("heat.compute_share", "cooling and temperatures of the hall"),
        ("failures.burn_in.factor", "burn-in"),
        ("checkpoint.tiers.memory.stall_s", "faster tiers"),
        ("prediction.recall", "predictions"),
    ],
)
def test_a_list_names_the_field_or_the_section_that_stands_for_its_fields(path, name):
    assert fields.name_of(path, Scenario) == name


def test_every_value_in_force_has_a_name(rich):
    assert all(fields.name_of(path, Scenario) != path for path in rich.to_frame()["field"])


def test_a_field_rests_with_the_one_that_switches_it_on(llama3):
    assert {"recovery.person_share", "recovery.person_min"} <= fields.idle(llama3)
    run = llama3.override({"recovery.person_share": 0.1})
    assert not {"recovery.person_share", "recovery.person_min"} & fields.idle(run)


def test_a_field_rests_where_it_follows_from_another(llama3, rich):
    assert "checkpoint.persist_s" in fields.idle(rich) and "checkpoint.persist_s" not in fields.idle(llama3)


# --------------------------------------------------------------------------- values far outside what is plausible


@pytest.mark.parametrize("name", evidence.scenario_names())
def test_no_preset_has_an_implausible_value(name):
    assert fields.implausible(Scenario.load(name)) == ()


@pytest.mark.parametrize(
    ("path", "value", "hint"),
    [
        ("recovery.restart_min", 20 * fields.FAR * 0.999, None),
        ("recovery.restart_min", 20 * fields.FAR * 1.001, "seconds"),
        ("recovery.restart_min", 2.5 / fields.FAR * 1.001, None),
        ("recovery.restart_min", 2.5 / fields.FAR * 0.999, "hours"),
        ("recovery.restart_min", 1e9, ""),
        ("checkpoint.stall_s", 90_000, "milliseconds"),
        ("checkpoint.stall_s", 0, None),
        ("checkpoint.interval_min", "best", None),
        ("maintenance.duration_min", 1e6, None),  # has no plausible range
    ],
)
def test_a_value_far_outside_its_plausible_range_is_named_with_the_unit_that_would_fit(llama3, path, value, hint):
    said = fields.implausible(llama3.override({path: value, "checkpoint.persist_s": 0}))
    assert len(said) == (hint is not None)
    for sentence in said:
        assert sentence.startswith(f"{path} = ") and sentence.endswith(f"were {hint} meant?" if hint else ")")


def test_a_time_that_follows_from_the_store_is_not_warned_of(llama3):
    store = {"n_parameters": 1e14, "write_gb_s": 1e-3}
    assert fields.implausible(llama3.override({"checkpoint.interval_min": "best", "checkpoint.persist_s": 1e6}))
    slow = {"checkpoint.store": store, "checkpoint.persist_s": None, "checkpoint.interval_min": "best"}
    assert fields.implausible(llama3.override(slow)) == ()
