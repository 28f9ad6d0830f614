from __future__ import annotations

import pytest

from ettr import Scenario


@pytest.fixture(scope="session")
def llama3() -> Scenario:
    return Scenario.load("llama3-405b")


@pytest.fixture
def plain_run() -> Scenario:
    """A run with nothing but failures, checkpoints and restarts; MTTF 4 h."""
    return Scenario.parse(PLAIN_RUN)


PLAIN_RUN = """
name: plain
title: A plain run
cluster: {n_gpus: 8000}
job: {productive_h: 40, include_start: false}
failures: {rate_per_1000_node_days: 6.0}
checkpoint: {interval_min: 60, stall_s: 300}
recovery: {detection_min: 0, restart_min: 10}
"""
