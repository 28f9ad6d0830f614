"""Every number of a scenario has its bounds, in an override, in an array and in the dictionary."""

from __future__ import annotations

import math
import re

import pytest

from ettr import Scenario
from ettr.core.errors import UnknownName
from ettr.core.units import unit_of
from ettr.core.yaml_files import inline
from ettr.scenario.bounds import SMALLEST
from ettr.scenario.paths import list_of
from refusals import refusal

BOUNDS = {
    ">= 0.0001": {"checkpoint": "interval_min"},
    ">= 1e-06": {
        "job": "productive_h",
        "repair": "retire_window_days",
        "slow_nodes": "detection_h",
    },
    ">= 1e-15": {"job": "throughput_factor", "failures.lemons": "share"},
    "<= 1e+09": {"job": "productive_h", "repair": "manual_h"},
    "<= 1e+11": {"checkpoint": "interval_min", "recovery": "restart_min"},
    "<= 1e+13": {"checkpoint": "stall_s"},
    ">= 0": {
        "failures": "rate_per_1000_node_days",
        "failures.modes.GPU": "repair_h",
        "failures.modes.SDC": "latency_cv",
        "failures.modes.rack": "n_out_nodes n_lost_nodes latency_h",
        "checkpoint": "stall_s persist_s",
        "recovery": "detection_min queue_min restart_min person_min init_s_per_1000_gpus false_alarms_per_day",
        "maintenance": "per_day duration_min",
        "spares": "n_nodes n_preemptible preempt_min",
        "repair": "automatic_h manual_h replacement_h cv",
        "slow_nodes": "per_1000_node_days",
    },
    ">= 1": {
        "cluster": "n_gpus gpus_per_node",
        "failures": "observed_nodes",
        "failures.lemons": "factor",
        "checkpoint": "n_kept",
        "maintenance": "rolling_nodes",
        "repair": "n_crew retire_after",
        "elastic": "n_least",
    },
    ">= 2": {"elastic": "n_replicas"},
    "< 1": {"checkpoint": "persist_slowdown", "slow_nodes": "loss"},
    "<= 1": {
        "failures": "exposed_share",
        "failures.lemons": "left",
        "recovery": "person_share",
        "repair": "automatic_success",
    },
    "<= 10": {"repair": "cv"},
}
"""Rules of fields that the fleet has, by their sections."""
OF_TOKENS = {
    ">= 1e-06": {
        "checkpoint.tiers.peer": "interval_s",
        "checkpoint.store": "write_gb_s",
        "failures.burn_in": "decay_days",
        "power": "step_s",
    },
    ">= 1e-15": {"sync": "efficiency", "prediction": "recall precision"},
    "<= 1e+06": {"power": "other_w"},
    "<= 1e+12": {"checkpoint.store": "write_gb_s"},
    "<= 1e+18": {"job": "tokens"},
    ">= 0": {
        "scaling": "jitter",
        "failures.burn_in": "factor",
        "prediction": "lead_s",
        "cost": "usd_per_kwh",
    },
    ">= 0.2": {"failures.lifetime": "shape"},
    ">= 1": {
        "job": "tokens",
        "model": "n_parameters",
        "network": "oversubscription",
        "checkpoint.tiers.peer": "copies",
        "checkpoint.store": "compression_ratio",
    },
    "< 1": {"network": "failed_share"},
    "<= 1": {"checkpoint.store": "changed_share", "prediction": "recall"},
    "<= 5": {"failures.lifetime": "shape"},
    "<= 60": {"heat": "mean_c"},
}
"""Rules of fields that a job given by its tokens has, with all that stands below."""
WITH_TOKENS = {
    "checkpoint.persist_s": 0,
    "checkpoint.store": {"n_parameters": 405e9, "write_gb_s": 2000},
    "checkpoint.tiers": [{"name": "peer", "interval_s": 60, "write_s": 2, "copies": 2}],
    "failures.burn_in": {"factor": 5, "decay_days": 20},
    "failures.lifetime": {"shape": 0.7},
    "prediction": {"recall": 0.6, "precision": 0.85, "lead_s": 120, "action_s": 30},
    "heat": {"mean_c": 20},
}
WHOLE = re.compile(r"n_(?!parameters).*|.*_nodes|gpus_per_node|copies|retire_after")
"""Names of what is counted."""


def each(table: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    """Path and rule of every field."""
    return [
        (f"{section}.{name}", rule)
        for rule, sections in table.items()
        for section, names in sections.items()
        for name in names.split()
    ]


def bound_holds(run: Scenario, path: str, rule: str) -> None:
    """A value at the limit, or one beyond it, is taken or refused as its sign says."""
    name, unit = path.rpartition(".")[2], f" {unit_of(path)}".rstrip()
    sign, limit = rule.split()
    last = int(limit) if limit.isdecimal() else float(limit)
    bad = {"<": last, "<=": 2 * last, ">=": last - 1 if last in (0, 1, 2) else last / 2}[sign]
    if "=" in sign:
        Scenario.check_values(path, [last])
    # GPUs come in whole nodes, and a width agrees with the weights
    if "=" in sign and limit.isdecimal() and path not in ("cluster.n_gpus", "model.hidden"):
        run.override({path: last})
    words = f"must be {rule}{unit}, got"
    assert refusal(run.override, {path: bad}).endswith(f"{name} {words} {inline(bad)} ({path}={inline(bad)})")
    assert refusal(Scenario.check_values, path, [bad]) == f"{path} {words} {bad:g}"
    assert f"{name} must be a number, got true" in refusal(run.override, {path: True})
    if WHOLE.fullmatch(name):
        assert f"{name} must be a whole number" in refusal(run.override, {path: 1.5})


def test_bounds_hold_on_both_sides(fleet):
    for path, rule in each(BOUNDS):
        clock = {} if path == "failures.rate_per_1000_node_days" else {"failures.rate_clock": "wall"}
        bound_holds(fleet.override(clock), path, rule)
    tokens = Scenario.load("llama3-405b-tokens").override({**WITH_TOKENS, "model.hidden": None})
    for path, rule in each(OF_TOKENS):
        bound_holds(tokens, path, rule)


def test_every_bound_is_in_the_dictionary():
    table = Scenario.dictionary().set_index("field")
    for path, rule in [*each(BOUNDS), *each(OF_TOKENS)]:
        listed, name = list_of(path), path.rpartition(".")[2]
        row = table.loc[f"{listed}.<name>.{name}" if listed else path]
        assert rule in row["rule"].split(", ") and row["unit"] == unit_of(path)
    assert table.loc["checkpoint.tiers.<name>.survives", "rule"] == ">= 0, <= 1"  # of each value of a table


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["5"], "must be numbers, got"),
        ([[1, 2], [3]], "must be numbers, got"),
        ([5, math.nan], "must be finite, got nan"),
        ([5, -1, 0], "must be >= 0.0001 min, got -1"),
    ],
)
def test_arrays_are_checked_by_the_rule_of_their_field(values, words):
    message = refusal(Scenario.check_values, "checkpoint.interval_min", values)
    assert message.startswith(f"checkpoint.interval_min {words}")


def test_good_arrays_come_back_as_floats():
    sizes = Scenario.check_values("cluster.n_gpus", [[8], [12]])
    assert sizes.dtype == float and sizes.tolist() == [[8.0], [12.0]]
    assert Scenario.check_values("checkpoint.interval_min", [1e11]) == 1e11
    assert Scenario.check_values("checkpoint.stall_s", [SMALLEST]) == SMALLEST
    with pytest.raises(UnknownName, match=r"'cluster.n_gpus'"):
        Scenario.check_values("cluster.gpus", [1])
