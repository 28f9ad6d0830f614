"""Small studies on the Llama 3 run, with the catalogue that is known, at prices of their own."""

from __future__ import annotations

import pytest

from computed.mitigations import CATALOGUE
from ettr import Scenario, mitigation, recommendation

PRICES = {"usd: 100000,": "usd: 1000000,", "usd_per_gpu: 100,": "usd_per_gpu: 10,", "usd: 5000,": "usd: 0,"}
"""At which one does not pay on a run of a few days, and another costs nothing."""


@pytest.fixture(scope="session")
def catalogue(tmp_path_factory) -> mitigation.Catalogue:
    path = tmp_path_factory.mktemp("catalogue") / "known.yml"
    text = CATALOGUE
    for price, here in PRICES.items():
        assert price in text
        text = text.replace(price, here)
    path.write_text(text)
    return mitigation.catalogue(path)


@pytest.fixture(scope="session")
def run() -> Scenario:
    """Of a few failures, so that a study takes no time."""
    return Scenario.load("llama3-405b").override({"job.productive_h": 120})


@pytest.fixture(scope="session")
def study(run, catalogue) -> recommendation.Study:
    return recommendation.study(run, n_runs=200, of=catalogue)
