"""Charts of the book: one theme, one set of colours, one way to show them.

A chart function takes a tidy, already aggregated frame and returns an Altair chart that went through
:func:`~ettr.charts.theme.finish`. A notebook calls :func:`enable` once; a chart as the last line of a cell is
then shown with its caption, its description and a picture for places without JavaScript.
"""

from ettr.charts import (
    changing_rates,
    disagreement,
    effective_time,
    failure_log,
    failure_rates,
    failures,
    finishing,
    heat,
    how_many_gpus,
    interval,
    mechanisms,
    notice,
    one_run,
    power,
    real_runs,
    reference,
    replications,
    requirements,
    scale,
    smoothing,
    stores,
    sweeps,
    tables,
    tiers,
    uncertainty,
    ways_out,
)
from ettr.charts.render import enable
from ettr.charts.theme import CATEGORY_COLOURS, MODEL_COLOURS, PART_COLOURS, finish, need, touchable

__all__ = [
    "CATEGORY_COLOURS",
    "MODEL_COLOURS",
    "PART_COLOURS",
    "changing_rates",
    "disagreement",
    "effective_time",
    "enable",
    "failure_log",
    "failure_rates",
    "failures",
    "finish",
    "finishing",
    "heat",
    "how_many_gpus",
    "interval",
    "mechanisms",
    "need",
    "notice",
    "one_run",
    "power",
    "real_runs",
    "reference",
    "replications",
    "requirements",
    "scale",
    "smoothing",
    "stores",
    "sweeps",
    "tables",
    "tiers",
    "touchable",
    "uncertainty",
    "ways_out",
]
