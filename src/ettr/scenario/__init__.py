"""Scenarios: a job on a cluster, and the GPU that it runs on, in user-facing units."""

from ettr.core.yaml_files import StrictLoader
from ettr.scenario.gpu import Gpu
from ettr.scenario.job_in_hours import JobInHours
from ettr.scenario.model import Scenario

__all__ = ["Gpu", "JobInHours", "Scenario", "StrictLoader"]
