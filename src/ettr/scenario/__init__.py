"""A job on a cluster, and the part it runs on, as a person writes them."""

from ettr.scenario.gpu import Part
from ettr.scenario.loader import StrictLoader
from ettr.scenario.model import Scenario

__all__ = ["Part", "Scenario", "StrictLoader"]
