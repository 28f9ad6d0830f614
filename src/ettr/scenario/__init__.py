"""A job on a cluster, as a person writes it."""

from ettr.scenario.model import Scenario

__all__ = ["Scenario"]
