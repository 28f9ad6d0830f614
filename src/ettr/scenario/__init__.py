"""A job on a cluster, as a person writes it."""

from ettr.scenario.model import Scenario, StrictLoader

__all__ = ["Scenario", "StrictLoader"]
