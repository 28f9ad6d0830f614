"""What a failure costs."""

from __future__ import annotations

from ettr import budget
from ettr.plan.assumed import steady_state
from ettr.scenario import Scenario


def cost_of_a_failure_h(run: Scenario) -> float:
    """Hours that a failure takes in the steady state, where no start and no maintenance restarts the job. [h]

    Examples
    --------
    >>> round(cost_of_a_failure_h(Scenario.load("llama3-405b")) * 60, 1)
    11.8
    """
    hours = budget.exact(steady_state(run))
    return float((hours.rework_h + hours.detection_h + hours.queue_h + hours.restart_h) / hours.n_failures)
