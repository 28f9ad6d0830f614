"""A cluster of many jobs, by job size: jobs, GPU-hours and losses."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.cluster.answer import PART_WORDS, ClusterPlan
from ettr.core.sentences import listed, pct
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.theme import BLUE, PALE_GREY, PART_COLOURS, RUST, finish

_KINDS = {"jobs": PALE_GREY, "GPU-hours": BLUE, "lost to failures": RUST}
_COLOURS = {"lost_work": "rework", "restart": "restart", "checkpoint": "checkpoint", "preemption": "maintenance"}
"""Parts of a time budget whose colours the losses have."""


def jobs_by_size(answer: ClusterPlan, *, title: str = "", subtitle: str = "") -> Any:
    """Draw the share of each job size in the jobs, in the GPU-hours, and in the GPU-hours lost to failures.

    Parameters
    ----------
    answer : ClusterPlan
        As from :func:`ettr.cluster.make`.
    title : str
        Finding of the chart; by default the share of the two sizes that lose the most.
    subtitle : str
        Whose jobs these are; by default the file or the mix.

    Examples
    --------
    >>> from ettr import cluster
    >>> jobs_by_size(cluster.make("rsc-1")).title.text
    'Jobs of 2,048 and 4,096 GPUs are 28% of the GPU-hours and 77% of the losses to failures'
    """
    table = answer.by_size
    columns = {"GPU-hours": table["share"], "lost to failures": answer.lost_shares}
    if table["job_share"].notna().all():
        columns = {"jobs": table["job_share"], **columns}
    wide = pd.DataFrame(columns).assign(size=table["size"])
    frame = wide.melt("size", var_name="kind", value_name="share")
    looks = builders.present(_KINDS, frame["kind"])
    bars = alt.Chart(frame).mark_bar()
    chart = bars.encode(
        x=_sizes(table),
        xOffset=alt.XOffset("kind:N", sort=[*looks]),
        y=builders.up("share", title="Share of the cluster [%]"),
        color=builders.squares("kind", looks, "Share of"),
        tooltip=tooltips("size", "kind", "share", kind="Share of"),
    )
    top = answer.most_costly
    finding = (
        f"Jobs of {listed(top['size'].tolist())} GPUs are {pct(top['share'].sum(), 0)} of the GPU-hours and "
        f"{pct(top['lost'].sum(), 0)} of the losses to failures"
    )
    finding = finding if len(top) else "No GPU-hours are lost to failures"
    return finish(
        chart,
        title=title or finding,
        subtitle=subtitle or answer.name,
        description=f"Bars by job size of the shares of jobs, GPU-hours and losses to failures. {finding}.",
    )


def losses_by_size(answer: ClusterPlan, *, title: str = "", subtitle: str = "") -> Any:
    """Draw the lost share of the GPU-hours of each job size, stacked by kind of loss.

    Parameters
    ----------
    answer, title, subtitle
        As for :func:`jobs_by_size`; the default title has the lost share of the largest jobs.

    Examples
    --------
    >>> from ettr import cluster
    >>> losses_by_size(cluster.make("rsc-1")).title.text
    'Jobs of 4,096 GPUs lose 15% of their GPU-hours'
    """
    table = answer.by_size
    looks = {PART_WORDS[part]: PART_COLOURS[colour] for part, colour in _COLOURS.items()}
    frame = table.rename(columns=PART_WORDS).melt("size", [*looks], var_name="part", value_name="part_share")
    frame = frame.rename(columns={"part_share": "share"}).assign(order=frame["part"].map([*looks].index))
    bars = alt.Chart(frame).mark_bar()
    chart = bars.encode(
        x=_sizes(table),
        y=builders.up("share", title="Lost share of the GPU-hours [%]").stack("zero"),  # noqa: PD013  (of Altair)
        color=builders.squares("part", looks, "Loss"),
        order=alt.Order("order:Q"),
        tooltip=tooltips("size", "part", "share"),
    )
    lost = [f"{row.size} GPUs {pct(1 - row.productive)}" for row in table.itertuples()]
    largest = table.iloc[-1]
    return finish(
        chart,
        title=title or f"Jobs of {largest['size']} GPUs lose {pct(1 - largest['productive'], 0)} of their GPU-hours",
        subtitle=subtitle or answer.name,
        description=f"Stacked bars of the lost share of the GPU-hours by job size: {', '.join(lost)}.",
    )


def _sizes(table: pd.DataFrame) -> alt.X:
    """Return a horizontal axis with a label for each size."""
    axis = alt.Axis(labelAngle=0, labelOverlap="greedy")
    return alt.X("size:N", sort=table["size"].tolist(), title="Job size [GPUs]", axis=axis)
