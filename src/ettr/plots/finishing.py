"""Distribution of the finishing date."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget
from ettr.core.errors import InputError
from ettr.core.sentences import count
from ettr.core.units import H_PER_DAY
from ettr.plan import dates_of
from ettr.plots import builders
from ettr.plots.named import Datasets, chart, probability_axis, touched
from ettr.plots.theme import MODEL_COLOURS, ORANGE, finish, layered
from ettr.scenario import Scenario

_DAYS, _TAIL, _EDGE = 101, 1e-3, 0.1
_LEVELS = (0.5, 0.9, 0.99)


def finishing_data(run: Scenario) -> Datasets:
    """Return the probability of being done by days since submission: ``lines``, ``points``, and ``by`` a day.

    ``simulated`` has the number of runs if the probability is simulated.
    """
    if not run.ends:
        raise InputError("the job has no end and therefore no date (job.productive_h)")
    best_min = budget.whole_interval_min(run, float(budget.best_interval_min(run)))
    dates = dates_of(run.override({"checkpoint.interval_min": best_min}))
    assert dates is not None
    finish = dates.reported
    low, high = (float(finish.quantile(p)) for p in (_TAIL, 1 - _TAIL))
    edge = _EDGE * (high - low) or 1.0
    hours = low - edge + (high - low + 2 * edge) * np.arange(_DAYS) / (_DAYS - 1)
    points = pd.DataFrame({"days": [finish.quantile(p) / H_PER_DAY for p in _LEVELS], "chance": _LEVELS})
    day = float(f"{finish.quantile(_LEVELS[1]) / H_PER_DAY:.3g}")
    runs = dates.simulation
    return {
        **({"simulated": pd.DataFrame([{"n_runs": runs.n_runs}])} if runs else {}),
        "lines": pd.DataFrame({"days": hours / H_PER_DAY, "chance": finish.cdf(hours)}),
        "points": points[np.isfinite(points["days"])],
        "by": pd.DataFrame([{"days": day, "chance": finish.cdf(day * H_PER_DAY)}]),
    }


def finishing_date(run: Scenario, *, title: str = "Probability of being done by a day", subtitle: str = "") -> Any:
    """Draw the probability that the run has finished, over the days since submission.

    Parameters
    ----------
    run : Scenario
        A run that the exact model covers.
    title : str
        Finding of the chart.
    subtitle : str
        Whose numbers these are; by default the title of the run.

    Examples
    --------
    >>> chart = finishing_date(Scenario.load("rsc-1"))
    >>> chart.title.subtitle
    'RSC-1, one job on all 16,000 A100'
    """
    rows = finishing_data(run)
    tips = [alt.Tooltip("days:Q", title="Days", format=",.2f"), alt.Tooltip("chance:Q", title="Done", format=".1%")]
    line = chart(rows, "lines").mark_line(color=MODEL_COLOURS["exact"])
    x = builders.along("days", title="Time since submission [days]", zero=False, nice=False)
    x = x.axis(tickCount=6, labelOverlap=True)
    line = line.encode(x=x, y=probability_axis("Probability of being done [%]"))
    points = chart(rows, "points").mark_point(size=90, filled=True, color=MODEL_COLOURS["exact"], opacity=1)
    points = points.encode(x="days:Q", y="chance:Q", tooltip=tips)
    by = chart(rows, "by").mark_point(size=170, filled=True, shape="diamond", color=ORANGE, opacity=1)
    by = by.encode(x="days:Q", y="chance:Q", tooltip=tips)
    runs = f", {count(rows['simulated']['n_runs'].iloc[0])} simulated runs" if "simulated" in rows else ""
    return finish(
        layered(*touched(line, tips), points, by),
        title=title,
        subtitle=f"{subtitle or run.title}{runs}",
        description=(
            "Probability of being done over the days since submission; dots mark 50%, 90% and 99% of runs, the "
            "diamond another day."
        ),
    )
