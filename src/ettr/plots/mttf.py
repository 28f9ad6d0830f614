"""Mean time to failure over the size of a job."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget, evidence, plan
from ettr.core.sentences import say
from ettr.core.units import H_PER_DAY
from ettr.failures import job_mttf_h, rate_intervals
from ettr.failures.rates import NODE_DAYS
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.named import Datasets
from ettr.plots.theme import BRICK, STEEL, VIOLET, finish, layered
from ettr.scenario import Scenario

OBSERVED, PROJECTED, OTHERS = "RSC-1, observed", "RSC-1, projected", "other runs"
_RUN, _RSC = "this run", "RSC-1"
_LINES = {_RSC: (BRICK, [6, 3]), _RUN: (VIOLET, [1, 0])}
_POINTS = {OBSERVED: "circle", PROJECTED: "diamond", OTHERS: "square"}
_SIZES = (8, 1e6, 60)
_RSC_SIZES = ("8_gpus_days", "1024_gpus_h", "4096_gpus_h", "16384_gpus_h", "131072_gpus_h")
_PROJECTED_FROM = 16_384


def mttf_data(run: Scenario) -> Datasets:
    """Return MTTF by job size: ``lines`` of constant failure rates, and ``points`` of published runs.

    ``lines``: ``line``, ``n_gpus``, ``mttf_h``, ``low``, ``high`` [h] (equal without an interval). ``points``: the
    same, with ``run``, ``kind`` and ``rate`` [1 / (1000 node-days)]; the ends are those of the count or of the
    printed digits.

    Examples
    --------
    >>> points = mttf_data(Scenario.load("rsc-2"))["points"]
    >>> points[points["kind"] == "RSC-1, observed"]["rate"].round(1).tolist()
    [21.0, 23.7, 4.7]
    """
    n_gpus = np.geomspace(*_SIZES)
    per_node = evidence.figure("rsc_gpus_per_node").value
    mttf_h = job_mttf_h(evidence.figure("rsc1_rate_per_1000_node_days").value, n_gpus, per_node)
    lines = [pd.DataFrame({"line": _RSC, "n_gpus": n_gpus, "mttf_h": mttf_h, "low": mttf_h, "high": mttf_h})]
    if run.job_rate_per_h > 0:
        mttf_h = budget.job_mttf_h(run, n_gpus)
        low, high = plan.mttf_interval_h(run) or (run.job_mttf_h, run.job_mttf_h)
        ends = {"low": mttf_h * low / run.job_mttf_h, "high": mttf_h * high / run.job_mttf_h}
        lines.append(pd.DataFrame({"line": _RUN, "n_gpus": n_gpus, "mttf_h": mttf_h, **ends}))
    return {
        "lines": pd.concat(lines, ignore_index=True),
        "points": pd.concat([_rsc_points(per_node), _points_of_others()], ignore_index=True),
    }


def _rsc_points(per_node: float) -> pd.DataFrame:
    """Return the MTTFs that the RSC paper reports for single sizes, with half a unit of the last printed digit."""
    rows = []
    for name in _RSC_SIZES:
        printed, n_gpus = evidence.figure(f"rsc_mttf_{name}"), int(name.partition("_")[0])
        unit_h = H_PER_DAY if printed.unit == "d" else 1.0
        half = 0.5 * 10.0 ** -len(f"{printed.value:g}".partition(".")[2])
        kind = PROJECTED if n_gpus >= _PROJECTED_FROM else OBSERVED
        low, mttf_h, high = (unit_h * (printed.value + off) for off in (-half, 0, half))
        rate = NODE_DAYS * H_PER_DAY * per_node / (mttf_h * n_gpus)
        rows.append(
            {"run": _RSC, "kind": kind, "n_gpus": n_gpus, "rate": rate, "mttf_h": mttf_h, "low": low, "high": high}
        )
    return pd.DataFrame(rows)


def _points_of_others() -> pd.DataFrame:
    """Return the MTTF of other published runs at their own sizes, one per cluster, where a size is stated."""
    rates = rate_intervals(evidence.cluster_rates())
    rates = rates[rates["n_gpus"].notna() & (rates["cluster_id"] != "rsc-1")]
    n_gpus, per_node = rates["n_gpus"].astype(float), rates["gpus_per_node"]
    ends = {"mttf_h": "rate", "low": "high", "high": "low"}
    mttf_h = {name: job_mttf_h(rates[rate].astype(float), n_gpus, per_node) for name, rate in ends.items()}
    return pd.DataFrame({"run": rates["title"], "kind": OTHERS, "n_gpus": n_gpus, "rate": rates["rate"], **mttf_h})


def mttf_by_size(run: Scenario, n_gpus: float = 100_000, *, title: str = "", subtitle: str = "") -> Any:
    """Draw the MTTF of a job over its size, at the failure rate of a run, beside published runs.

    Parameters
    ----------
    run : Scenario
        The run whose failure rate per node gives the line. Without failures only published values are drawn.
    n_gpus : float
        Size of the job that the title is about. [GPUs]
    title : str
        Finding of the chart; by default the MTTF of a job of ``n_gpus``.
    subtitle : str
        Whose numbers these are; by default the title of the run.

    Examples
    --------
    >>> mttf_by_size(Scenario.load("llama3-405b")).title.text
    'At the same failure rate per node, a job on 100,000 GPUs has an MTTF of 30 min'
    """
    rows = mttf_data(run)
    lines, points = rows["lines"], rows["points"]
    x = builders.across("n_gpus", padding=8).axis(format="~s", values=_powers(lines["n_gpus"]))
    y = builders.up("mttf_h", log=True, title="MTTF [h]").axis(format="~g", values=_powers(lines["mttf_h"]))
    tips = tooltips("line", "n_gpus", "mttf_h", "low", "high", line="Rate of")
    curves = builders.lines(lines, x, y, "line", _LINES, tips, "Failure rate of")
    band = alt.Chart(lines[lines["line"] == _RUN]).mark_area(opacity=0.18, color=VIOLET)
    band = band.encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    published = alt.Chart(points)
    tips = tooltips("run", "kind", "n_gpus", "mttf_h", "low", "high", "rate", kind="Kind")
    scale = alt.Scale(domain=[*_POINTS], range=[*_POINTS.values()])
    shape = alt.Shape("kind:N", title="Published", scale=scale, legend=alt.Legend(columns=1))
    dots = published.mark_point(size=80, opacity=1, color=STEEL).encode(x=x, y=y, shape=shape, tooltip=tips)
    whiskers = published.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    of_run = run.job_rate_per_h > 0
    sizes = "; ".join(f"{row.run} on {row.n_gpus:,.0f} GPUs {row.mttf_h:.3g} h" for row in points.itertuples())
    return finish(
        layered(*([band] if of_run else []), curves, whiskers, dots),
        title=title or _finding(run, n_gpus),
        subtitle=subtitle or run.title,
        description=(
            "Falling lines of the MTTF over the job size, both axes logarithmic, at the failure rates of "
            f"{' and '.join(lines['line'].unique())}, and points of published runs: {sizes}."
        ),
        height=380,
        beside=list(dict.fromkeys(["kokolis2025", *evidence.cluster_rates()["source"]])),
    )


def _finding(run: Scenario, n_gpus: float) -> str:
    return say(
        "At the same failure rate per node, a job on {n_gpus:gpus} has an MTTF of {mttf:roughly}",
        "Published MTTFs fall with the size of the job",
        n_gpus=n_gpus,
        mttf=float(budget.job_mttf_h(run, n_gpus)) if run.job_rate_per_h > 0 else None,
    )


def _powers(values: pd.Series) -> list[float]:
    """Return the powers of ten within a range, as ticks of a logarithmic axis."""
    low, high = math.ceil(math.log10(values.min())), math.floor(math.log10(values.max()))
    return [10.0**power for power in range(low, high + 1)]
