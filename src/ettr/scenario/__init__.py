"""A job on a cluster, as a person writes it."""

from ettr.scenario.loader import StrictLoader
from ettr.scenario.model import Scenario

__all__ = ["Scenario", "StrictLoader"]
