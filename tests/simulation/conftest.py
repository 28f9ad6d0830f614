from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ettr import Scenario

sys.path.insert(0, str(Path(__file__).parent))

SMALL_RUN = """
name: small
title: Sixteen nodes that fail often
cluster: {n_gpus: 128}
job: {productive_h: 30}
failures: {rate_per_1000_node_days: 400}
checkpoint: {interval_min: 45, stall_s: 90, persist_s: 600}
recovery: {detection_min: 6, queue_min: 4, restart_min: 9}
"""


@pytest.fixture
def small_run() -> Scenario:
    """A failure every 3.75 h on one of 16 nodes, so that few runs show what a rule does."""
    return Scenario.parse(SMALL_RUN)


@pytest.fixture
def counting_run(plain_run) -> Scenario:
    """A run without rework and waits, whose exposed hours are its productive ones: it only counts failures.

    A checkpoint every 6 ms costs nothing, and a failure loses 3 ms on average.
    """
    return plain_run.override({"checkpoint.interval_min": 1e-4, "checkpoint.stall_s": 0, "recovery.restart_min": 0})
