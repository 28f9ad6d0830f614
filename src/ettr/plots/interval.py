"""ETTR over the checkpoint interval."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget
from ettr.budget.closed_forms import quiet_budget
from ettr.budget.intervals import flat_band
from ettr.core.units import MIN_PER_H
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.named import Datasets, chart, ettr_axis, interval_looks, touched
from ettr.plots.theme import GREEN, MODEL_COLOURS, ORANGE, finish, layered
from ettr.scenario import Scenario

_INTERVALS, _FARTHEST = 81, 30.0
"""Number of intervals drawn, and ratio of the shortest and longest to the best one."""


def interval_data(run: Scenario) -> Datasets:
    """Return steady-state ETTR by interval, maintenance included: ``lines``, and ``marks``.

    ``band`` has the range that costs half a point.
    """
    band, steady = flat_band(run), replace(budget.accepted(run), include_start=False)
    low, high = (float(end) * MIN_PER_H for end in steady.interval_ends)
    ends = max(low, band.interval_min / _FARTHEST), min(high, band.interval_min * _FARTHEST)
    minutes = np.geomspace(*ends, _INTERVALS)
    ettr = quiet_budget(replace(steady, tau=minutes / MIN_PER_H)).ettr
    marks = [{"interval_min": band.interval_min, "what": "best"}]
    if not isinstance(run.checkpoint.interval_min, str):
        marks.append({"interval_min": run.checkpoint.interval_min, "what": "current"})
    lines = pd.DataFrame({"interval_min": minutes, "ettr": ettr})
    return {
        "lines": lines[np.isfinite(lines["ettr"])],
        "band": pd.DataFrame([{"low_min": band.low_min, "high_min": band.high_min}]),
        "marks": pd.DataFrame(marks),
    }


def ettr_by_interval(run: Scenario, *, title: str = "ETTR by checkpoint interval", subtitle: str = "") -> Any:
    """Draw ETTR over the checkpoint interval, with the range that costs at most half a point.

    Parameters
    ----------
    run : Scenario
        A run that the exact model covers.
    title : str
        Finding of the chart.
    subtitle : str
        Whose numbers these are; by default the title of the run.
    """
    rows = interval_data(run)
    band = chart(rows, "band").mark_rect(color=GREEN, opacity=0.18)
    band = band.encode(x=alt.X("low_min:Q"), x2="high_min:Q", tooltip=tooltips("low_min", "high_min"))
    line = chart(rows, "lines").mark_line(color=MODEL_COLOURS["exact"])
    line = line.encode(x=builders.across("interval_min"), y=ettr_axis())
    marks = chart(rows, "marks").mark_rule(strokeWidth=2)
    marks = marks.encode(
        x=alt.X("interval_min:Q"),
        tooltip=[alt.Tooltip("what:N", title="Interval"), *tooltips("interval_min")],
        **interval_looks("what", [GREEN, ORANGE], [[1, 0], [6, 3]]),
    )
    return finish(
        layered(band, *touched(line, tooltips("interval_min", "ettr")), marks),
        title=title,
        subtitle=subtitle or run.title,
        description=(
            "ETTR of the steady state with planned maintenance over the checkpoint interval on a logarithmic axis; "
            "lines mark the best and the current interval, the shaded range costs at most half a point."
        ),
    )
