"""ETTR over the size of a job."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import evidence
from ettr.budget.closed_forms import quiet_budget
from ettr.budget.intervals import at_best
from ettr.evidence.published import EFFECTIVE
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import shared_names
from ettr.plots.named import DEFAULTS, Datasets, chart, ettr_axis, interval_looks, target_line
from ettr.plots.theme import BLUE, LINE_DASHES, MODEL_COLOURS, ORANGE, finish, layered
from ettr.ranges.assumed import assumptions
from ettr.scenario import Scenario

_SIZES = (64, 2**20, 57)
_DRAWS = 2048
"""Draws of the assumed inputs for a plotted range; the page repeats them at each change."""
VALUE = "value"
"""Kind of a published figure that is no bound."""
_PLACES = {
    "!=": {"align": "right", "dx": -8, "dy": 6, "baseline": "top"},
    "==": {"align": "left", "dx": 8, "baseline": "middle"},
}
"""Place of the name beside its point, for those that are no upper bound and those that are."""
_NAME_ETTR = 0.05
"""Difference in ETTR below which two names would overlap, if their sizes differ by less than a factor of ten."""


def size_data(run: Scenario) -> Datasets:
    """Return ETTR by size, at the best and the current interval: ``lines``, ``here`` and ``target``.

    ``here`` has the plausible range at its failure rate; ``published`` has the ETTRs of other runs.
    """
    sizes = np.geomspace(*_SIZES)
    lines = [pd.DataFrame({"n_gpus": sizes, "ettr": at_best(run, {"cluster.n_gpus": sizes}).ettr, "interval": "best"})]
    if not isinstance(run.checkpoint.interval_min, str):
        ettr_current = quiet_budget(run, {"cluster.n_gpus": sizes}).ettr
        lines.append(pd.DataFrame({"n_gpus": sizes, "ettr": np.nan_to_num(ettr_current), "interval": "current"}))
    drawn = pd.concat(lines, ignore_index=True).sort_values(["n_gpus", "interval"], ignore_index=True)
    ettr = float(at_best(run).ettr)
    low, high = assumptions(run, _DRAWS).range or (ettr, ettr)
    return {
        "lines": drawn[drawn["ettr"] > 0],
        "here": pd.DataFrame([{"n_gpus": run.cluster.n_gpus, "ettr": ettr, "low": low, "high": high}]),
        "target": pd.DataFrame({"ettr": [DEFAULTS["target"]]}),
        "published": _published_ettr()
        .rename(columns={"share": "ettr"})[["run", "n_gpus", "ettr", "bound"]]
        .replace({"bound": {"": VALUE}}),
    }


def ettr_by_size(run: Scenario, *, title: str = "ETTR at other job sizes", subtitle: str = "") -> Any:
    """Draw ETTR over the number of GPUs, with the job itself, a target of 90% and the values of other runs.

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
    >>> chart = ettr_by_size(Scenario.load("llama3-405b"), title="ETTR falls with size")
    >>> chart.title.text, chart.title.subtitle
    ('ETTR falls with size', 'Llama 3 405B on 16,384 H100')
    """
    rows = size_data(run)
    look = interval_looks("interval", [BLUE, ORANGE], [*LINE_DASHES[:2]])
    line = chart(rows, "lines").mark_line().encode(x=builders.across("n_gpus"), y=ettr_axis(), **look)
    unseen = line.mark_point(size=160).encode(
        opacity=alt.value(0),
        strokeDash=alt.Undefined,
        tooltip=[alt.Tooltip("interval:N", title="Interval"), *tooltips("n_gpus", "ettr")],
    )
    here = chart(rows, "here").mark_point(size=140, color=MODEL_COLOURS["exact"], filled=True, opacity=1)
    here = here.encode(x="n_gpus:Q", y="ettr:Q", tooltip=tooltips("n_gpus", "ettr"))
    assumed = chart(rows, "here").mark_rule(strokeWidth=5, opacity=0.45, color=MODEL_COLOURS["exact"])
    assumed = assumed.encode(x="n_gpus:Q", y=alt.Y("low:Q"), y2="high:Q")
    published = rows["published"]
    names = shared_names(published, np.log10(published["n_gpus"]), published["ettr"] / _NAME_ETTR, "run")
    rows = rows | {"published": published.assign(names=names)}
    bounds = alt.Scale(domain=["more than", "up to", VALUE], range=["triangle-up", "triangle-down", "square"])
    reported = chart(rows, "published").mark_point(size=90, color=MODEL_COLOURS["published"], filled=True, opacity=1)
    reported = reported.encode(
        x="n_gpus:Q",
        y="ettr:Q",
        shape=alt.Shape("bound:N", title="Reported", scale=bounds),
        tooltip=tooltips("run", "bound", "n_gpus", "ettr"),
    )
    # the curves fall: free space is above and to the right of them, or below and to the left
    named = layered(
        *(
            chart(rows, "published")
            .mark_text(fontSize=11, lineBreak="\n", **place)
            .encode(x="n_gpus:Q", y="ettr:Q", text="names:N")
            .transform_filter(f"datum.bound {sign} 'up to'")
            for sign, place in _PLACES.items()
        )
    )
    named.name = "names"  # a phone has no room for them
    return finish(
        layered(
            target_line(rows, "target"), line.encode(tooltip=alt.value(None)), unseen, reported, named, assumed, here
        ),
        title=title,
        subtitle=subtitle or run.title,
        description=(
            "ETTR over the number of GPUs on a logarithmic axis, at the best and the current interval. The dot is the "
            "job itself, with its plausible range, the dashed line the target; triangles and squares are reported by "
            "other runs."
        ),
        beside=ettr_sources(),
    )


def _published_ettr() -> pd.DataFrame:
    """Return the published useful shares that are an ETTR."""
    reported = evidence.published_ettr()
    return reported[reported["quantity"] == EFFECTIVE]


def ettr_sources() -> list[str]:
    """Return the bibliography keys of the published ETTRs."""
    return list(dict.fromkeys(_published_ettr()["source"]))
