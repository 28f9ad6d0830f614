"""What a failure costs."""

from __future__ import annotations

from ettr import budget
from ettr.scenario import Scenario


def cost_of_a_failure_h(run: Scenario) -> float:
    """Hours that a failure takes in the steady state, where no start and no maintenance restarts the job. [h]

    Examples
    --------
    >>> round(cost_of_a_failure_h(Scenario.load("llama3-405b")) * 60, 1)
    11.8
    """
    hours = budget.exact(run.override({"job.include_start": False, "maintenance": None}))
    return float((hours.rework_h + hours.detection_h + hours.queue_h + hours.restart_h) / hours.n_failures)
