"""A job on a cluster, and the GPU it runs on, as a person writes them."""

from ettr.core.yaml_files import StrictLoader
from ettr.scenario.gpu import Gpu
from ettr.scenario.job_in_hours import JobInHours
from ettr.scenario.model import Scenario

__all__ = ["Gpu", "JobInHours", "Scenario", "StrictLoader"]
