"""Scenarios with many rules at once, as changes to a small run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

MEMORY = {"name": "memory", "interval_s": 900, "stall_s": 5, "write_s": 60, "load_s": 20, "survives": 0.6}
DISK = {"name": "disk", "interval_s": 1350, "stall_s": 9, "write_s": 300, "load_s": 90, "survives": 0.8}
HANG = {"name": "hang", "share": 0.2, "detection_min": 25, "restart_min": 15}
PROGRAM = {"name": "program", "share": 0.1, "n_out_nodes": 0}
RACK = {"name": "rack", "share": 0.1, "n_out_nodes": 4, "repair_h": 2}
STOPS = {"maintenance": {"per_day": 6, "duration_min": 45}}
STAGES = {
    "automatic_h": 1,
    "automatic_success": 0.5,
    "manual_h": 6,
    "cv": 0.7,
}
SILENT = {"name": "silent", "share": 0.2, "latency_h": 1.5, "latency_cv": 1}


def mixture(choose: Callable[[Sequence[Any]], Any]) -> dict[str, Any]:
    """Any rules that a scenario can hold together; ``choose`` picks one of several values."""

    def maybe(*values: Any) -> Any:
        return choose([None, None, *values])

    changes: dict[str, Any] = {
        "failures.rate_per_1000_node_days": choose([100, 400, 800]),
        "job.productive_h": choose([6.0, 12.3, 0.5]),
        "recovery.queue_min": choose([0, 20]),
        "job.throughput_factor": choose([1, 0.8]),
        "checkpoint.interval_min": choose([45, 22.5]),
        "checkpoint.stall_s": choose([0, 90]),
        "checkpoint.persist_s": choose([600, 1200]),
        "checkpoint.load_s": choose([0, 300]),
        "checkpoint.n_kept": maybe(1, 2),
        "recovery.person_share": choose([0, 0.3]),
        "recovery.person_min": 30,
        "recovery.false_alarms_per_day": choose([0, 3]),
        "failures.modes": [mode for mode in (HANG, PROGRAM, RACK, SILENT) if choose([True, False])],
        "failures.burn_in": maybe({"factor": 4, "decay_days": 0.5}, {"factor": 0, "decay_days": 0.2, "age_days": 0.1}),
        "maintenance": maybe({"per_day": 3, "duration_min": 40}),
        "prediction": maybe(
            {"recall": 0.6, "precision": 0.5, "lead_s": 600, "action_s": 60},
            {"recall": 1, "precision": 0.2, "lead_s": 600, "action_s": 0},
        ),
        "slow_nodes": maybe(
            {"per_1000_node_days": 300, "loss": 0.4, "detection_h": 2},
            {"per_1000_node_days": 300, "loss": 0.1, "detection_h": 4},
        ),
    }
    tiers = choose([(), (), (MEMORY,), (MEMORY, DISK)])
    if tiers and changes["checkpoint.interval_min"] == 45:
        # an interval of a tier is a whole part of the next
        changes["checkpoint.tiers"] = [MEMORY | {"interval_s": 450}, *tiers[1:]]
    else:
        changes["checkpoint.persist_slowdown"] = choose([0, 0.3])
    if choose([True, True, False]):
        _pool(choose, maybe, changes)
    elif choose([True, False]):
        _clocks(choose, maybe, changes)
    return changes


def _pool(choose: Callable, maybe: Callable, changes: dict[str, Any]) -> None:
    changes["spares"] = {
        "n_nodes": choose([0, 2, 5]),
        "n_preemptible": choose([0, 1]),
        "preempt_min": 15,
    }
    repair = choose(
        [
            {"automatic_h": 3},
            {"manual_h": 3, "n_crew": 1},
            {"automatic_h": 0.5, "automatic_success": 0.5, "manual_h": 4, "replacement_h": 8},
        ]
    )
    repair = repair | {"cv": choose([0, 1])}
    if changes["maintenance"]:
        changes["maintenance"] = changes["maintenance"] | {"rolling_nodes": maybe(1, 2)}
    if choose([True, False]):
        changes["elastic"] = {"n_replicas": 8, "n_least": choose([5, 8])}
    else:
        if repair.get("replacement_h"):
            repair |= choose([{}, {"retire_after": 2, "retire_window_days": 1}])
        _clocks(choose, maybe, changes)
    changes["repair"] = repair


def _clocks(choose: Callable, maybe: Callable, changes: dict[str, Any]) -> None:
    changes["failures.lifetime"] = maybe({"shape": 0.6, "start": "new"}, {"shape": 3}, {"shape": 1})
    changes["failures.lemons"] = maybe({"share": 0.2, "factor": 5}, {"share": 0.3, "factor": 5, "left": 0.4})


def policies(choose: Callable[[Sequence[Any]], Any]) -> dict[str, Any]:
    """A mixture with what policies there are beside."""
    changes = mixture(choose)
    changes["recovery.exposed"] = choose([True, False])
    if changes.get("spares"):
        changes["spares"] = changes["spares"] | {
            "n_idle": choose([0, 2]),
            "select_min": 10,
            "choose": choose(["longest_idle", "random", "fewest_failures"]),
            "per_1000_node_days": choose([0, 1000]),
        }
        changes["repair"] = changes["repair"] | {"distribution": choose(["lognormal", "gamma"])}
    if changes.get("failures.lemons"):
        changes["failures.lemons"] = changes["failures.lemons"] | {"cured_automatic": choose([0, 0.4])}
    return changes
