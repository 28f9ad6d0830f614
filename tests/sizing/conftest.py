"""Jobs given by their tokens."""

from __future__ import annotations

import pytest

from ettr import Scenario, sizing

SMALL = """
name: small
title: A model of 7 billion parameters
cluster: {n_gpus: 1024}
job: {tokens: 2.0e+12}
model: {n_parameters: 7.0e+9, batch_tokens: 16777216}
failures: {rate_per_1000_node_days: 7.0}
checkpoint: {interval_min: 20, stall_s: 10}
recovery: {detection_min: 1, restart_min: 5}
"""


@pytest.fixture(scope="session")
def run() -> Scenario:
    return Scenario.load("llama3-405b-tokens")


@pytest.fixture(scope="session")
def answer(run) -> sizing.Sizing:
    return sizing.make(run)


@pytest.fixture(scope="session")
def small() -> Scenario:
    return Scenario.parse(SMALL)
