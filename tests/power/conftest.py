"""A run of a few hours with every state, and what it draws."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from ettr import Scenario, power

STATES = [
    ("queue", 0.02),
    ("restart", 0.1),
    ("training", 0.51234),
    ("checkpoint", 0.003),
    ("training", 0.50001),
    ("rework", 0.0407),
    ("detection", 0.02),
    ("restart", 0.1),
    ("training", 0.7),
    ("maintenance", 0.25),
    ("restart", 0.1),
    ("training", 0.3),
]


def timeline_of(states: list[tuple[str, float]]) -> pd.DataFrame:
    ends = pd.Series([hours for _, hours in states]).cumsum()
    return pd.DataFrame(
        {"run": 0, "start_h": [0.0, *ends[:-1]], "end_h": ends, "state": [state for state, _ in states]}
    )


@pytest.fixture
def timeline() -> pd.DataFrame:
    return timeline_of(STATES)


@pytest.fixture(scope="session")
def profile() -> power.Profile:
    return power.profile(Scenario.load("llama3-405b"))


@pytest.fixture(scope="session")
def still(profile) -> power.Profile:
    """The same with all nodes at once."""
    return replace(profile, waveform=replace(profile.waveform, jitter_s=0.0))


@pytest.fixture
def load(timeline, profile) -> power.PowerSeries:
    return power.series(timeline, profile, 0.1, at="computers")


@pytest.fixture
def steps(still) -> power.PowerSeries:
    """Ten minutes of nothing but steps."""
    return power.series(timeline_of([("training", 1 / 6)]), still, 0.05, at="computers")
