from __future__ import annotations

import pytest

from ettr import Scenario, mitigation


@pytest.fixture(scope="session")
def completed() -> Scenario:
    """The run that mitigations are compared on, with what it says nothing of."""
    return mitigation.with_assumptions(Scenario.load("llama3-405b-tokens")).scenario


@pytest.fixture(scope="session")
def applicable(completed) -> tuple[str, ...]:
    """Mitigations that change something in it, or say how it would be without them."""
    catalogue = mitigation.catalogue()
    return tuple(entry.id for entry in catalogue if not entry.unmodelled and not mitigation.missing(completed, entry))
