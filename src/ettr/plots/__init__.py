"""Charts of answers: where time goes, failures, ETTR by interval and size, finishing dates, power, spares.

Each function takes an answer or a scenario and returns an Altair chart that can be shown, changed and saved.

>>> import ettr
>>> chart = ettr.plots.ettr_by_interval(ettr.Scenario.load("llama3-405b"))
>>> chart.title.text
'ETTR by checkpoint interval'
"""

from ettr.core import extras

with extras.needed("sweep"):
    from ettr.plots import builders, columns, encodings, theme
    from ettr.plots.breakdown import failure_breakdown
    from ettr.plots.budgets import time_budget, time_budget_over
    from ettr.plots.days import power_day
    from ettr.plots.failure_log import (
        failure_forecasts,
        failure_rate_over_time,
        failures_after_repair,
        failures_by_node,
    )
    from ettr.plots.finishing import finishing_date
    from ettr.plots.interval import ettr_by_interval
    from ettr.plots.many_jobs import jobs_by_size, losses_by_size
    from ettr.plots.mttf import mttf_by_size
    from ettr.plots.pools import spare_pool
    from ettr.plots.ranking import mitigations
    from ettr.plots.size import ettr_by_size
    from ettr.plots.timelines import timeline
    from ettr.plots.training_run import goodput

__all__ = [
    "builders",
    "columns",
    "encodings",
    "ettr_by_interval",
    "ettr_by_size",
    "failure_breakdown",
    "failure_forecasts",
    "failure_rate_over_time",
    "failures_after_repair",
    "failures_by_node",
    "finishing_date",
    "goodput",
    "jobs_by_size",
    "losses_by_size",
    "mitigations",
    "mttf_by_size",
    "power_day",
    "spare_pool",
    "theme",
    "time_budget",
    "time_budget_over",
    "timeline",
]
