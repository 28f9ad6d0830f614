from __future__ import annotations

import pytest

from ettr import Scenario

FLEET = {
    "failures.modes": [
        {"name": "GPU", "share": 0.5, "repair_h": 3},
        {"name": "rack", "share": 0.1, "n_out_nodes": 16},
        {"name": "SDC", "share": 0.01, "latency_h": 5, "latency_cv": 1},
    ],
    "failures.lemons": {"share": 0.02, "factor": 8, "left": 0.5},
    "recovery.init_s_per_1000_gpus": 2.5,
    "job.throughput_factor": 0.95,
    "recovery.person_share": 0.1,
    "recovery.person_min": 40,
    "recovery.false_alarms_per_day": 0.2,
    "checkpoint.n_kept": 10,
    "maintenance": {"per_day": 0.5, "duration_min": 60, "rolling_nodes": 4},
    "spares": {"n_nodes": 8, "n_preemptible": 16, "preempt_min": 10},
    "repair": {
        "automatic_h": 0.5,
        "automatic_success": 0.7,
        "manual_h": 24,
        "replacement_h": 120,
        "cv": 0.8,
        "n_crew": 2,
        "retire_after": 3,
        "retire_window_days": 30,
    },
    "elastic": {"n_replicas": 10, "n_least": 2},
    "slow_nodes": {"per_1000_node_days": 0.5, "loss": 0.2, "detection_h": 2},
}


@pytest.fixture
def fleet(plain_run) -> Scenario:
    """The plain run with everything that a fleet can have."""
    return plain_run.override(FLEET)
