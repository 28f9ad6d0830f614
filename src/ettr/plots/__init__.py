"""Charts of answers: where time goes, ETTR by interval and size, finishing dates, failures, mitigations and spares.

Each function takes an answer or a scenario and returns an Altair chart that can be shown, changed and saved.

>>> import ettr
>>> chart = ettr.plots.ettr_by_interval(ettr.Scenario.load("llama3-405b"))
>>> chart.title.text
'ETTR by checkpoint interval'
"""

from ettr.core import extras

with extras.needed("sweep"):
    from ettr.plots import builders, columns, encodings, theme
    from ettr.plots.budgets import time_budget, time_budget_over
    from ettr.plots.finishing import finishing_date
    from ettr.plots.interval import ettr_by_interval
    from ettr.plots.pools import spares
    from ettr.plots.size import ettr_by_size

__all__ = [
    "builders",
    "columns",
    "encodings",
    "ettr_by_interval",
    "ettr_by_size",
    "finishing_date",
    "spares",
    "theme",
    "time_budget",
    "time_budget_over",
]
