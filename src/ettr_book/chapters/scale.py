"""What ETTR can a run of N GPUs reach, and what would it take to reach 0.9?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget, evidence, plan
from ettr.budget.intervals import best_interval_min
from ettr.core.errors import OutsideValidity
from ettr.core.sentences import Finding, about, capital, gpus, limit, listed, say
from ettr.core.units import MIN_PER_H
from ettr.failures import gamma_interval
from ettr.plan.fields import field_of
from ettr.plan.needs import whole_nodes
from ettr.plan.solving import last_reaching
from ettr.plots import builders, time_budget_over
from ettr.plots.columns import tooltips
from ettr.plots.encodings import but_size, rounded
from ettr.plots.theme import GREEN, PALE_GREY, NoChart, finish, layered
from ettr.ranges import across_clusters, assumptions
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE
from ettr_book.chapters.common.steady_state import mtbf_h, part_shares, quietly, sizes_of_curve, without_start
from ettr_book.chapters.common.table import CaptionedTable, named

_POINTS = 120
_LEVEL = 0.95
_NO_RANGE = (math.nan, math.nan)


def ettr_of_sizes(run: Scenario, sizes: Iterable[float]) -> pd.DataFrame:
    """Return the ETTR at the best interval of several sizes, with plausible ranges.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], in order and including the run's own, ``ettr``, ``low``, ``high`` at this node failure rate
        (missing if no range has sources), ``clusters_low``, ``clusters_high`` across published clusters (missing if the
        rate is the run's own), ``published`` (published result of another run of similar size, or empty). Sizes
        without an answer are left out.

    Raises
    ------
    OutsideValidity
        No size has an answer.
    """
    rows = []
    for size in sorted({run.cluster.n_gpus, *(run.cluster.nearest_n_gpus(size) for size in sizes)}):
        grown = run.override({N_GPUS: size})
        assumed, others = assumptions(grown), across_clusters(grown)
        if assumed.ettr > 0:
            (low, high), (clusters_low, clusters_high) = (
                ranges.range if ranges and ranges.range else _NO_RANGE for ranges in (assumed, others)
            )
            ends = {"low": low, "high": high, "clusters_low": clusters_low, "clusters_high": clusters_high}
            rows.append({"n_gpus": size, "ettr": assumed.ettr, **ends, "published": _published(grown, run)})
    if not rows:
        raise OutsideValidity(f"{run.name} practically never ends at any of these sizes")
    return pd.DataFrame(rows)


def _published(grown: Scenario, run: Scenario) -> str:
    """Return what another run of this size published; empty for the run itself."""
    near = evidence.published_near(grown.cluster.n_gpus)
    is_itself = grown.cluster.n_gpus == run.cluster.n_gpus and near is not None and near.source in run.sources
    return near.words if near and not is_itself else ""


def reach_gpus(run: Scenario, target: float) -> dict[str, float]:
    """Return the largest size that reaches a target at the best interval, also at the 95% CI of the failure rate.

    Returns
    -------
    dict
        ``reach``, ``low`` and ``high`` in full nodes [GPUs]; NaN if no size reaches the target, infinite if every size
        does. The ends are NaN without an uncertainty of the rate.
    """
    posterior, rates = run.failures.posterior, [run.failure_rate]
    if posterior is not None and run.failure_rate > 0:
        ends = gamma_interval(posterior.shape, posterior.node_days, _LEVEL)
        rates += [ends.high, ends.low]
    solution = last_reaching(run, field_of(run, N_GPUS), target, {RATE: np.array(rates)}).value
    sizes = [whole_nodes(run, size) if math.isfinite(size) else size for size in solution.tolist()]
    return {"low": math.nan, "high": math.nan} | dict(zip(("reach", "low", "high"), sizes, strict=False))


_SIZE = "{ettr:share0} on {n_gpus:gpus}"


def answer(run: Scenario, sizes: pd.DataFrame, target: float) -> Finding:
    """Return the reachable ETTR, its ranges, and the measured one; ``sizes`` as from :func:`ettr_of_sizes`."""
    each = [say(_SIZE, ettr=row.ettr, n_gpus=row.n_gpus) for row in sizes.itertuples()]
    published = list(dict.fromkeys(words for words in sizes["published"] if words))
    reach = reach_gpus(run, target)
    texts = [
        f"**Scaled to other sizes, the run reaches an ETTR of {listed(each)}, with the best interval at each size.**",
        say("With this node failure rate the plausible range is {ranges:list}.", ranges=_ranges(sizes, "low", "high")),
        say(
            "Across the failure rates of published clusters it is {ranges:list}.",
            ranges=_ranges(sizes, "clusters_low", "clusters_high"),
        ),
        *(f"{words}{_why(run, words)}." for words in published),
        say("{target:share0} holds up to {#reach:gpus2}", target=target, reach=reach["reach"])
        + say(
            " ({ends:gpus_span}, 95% CI of the failure rate)", ends=tuple(about(reach[end]) for end in ("low", "high"))
        )
        + ("." if math.isfinite(reach["reach"]) else say("No size crosses {target:share0}.", target=target)),
    ]
    return Finding("; ".join([", ".join(each), *published]), " ".join(filter(None, texts)))


def _ranges(sizes: pd.DataFrame, low: str, high: str) -> list[str] | None:
    """Return the ranges by size, in words; None if there are none."""
    complete = sizes.dropna(subset=[low, high]).to_dict("records")
    return [say("{range:shares} on {n_gpus:gpus}", range=(row[low], row[high]), **row) for row in complete] or None


def _why(run: Scenario, words: str) -> str:
    """Return how often the published run of about 100,000 GPUs failed, and how often this one would."""
    measured, size = (evidence.figure(f"fthsdp_{key}").value for key in ("mtbf_min", "n_gpus"))
    if gpus(size) not in words:
        return ""
    return say(
        ", which failed every {measured:roughly}; here a failure is expected every {#mtbf_larger:roughly}",
        measured=measured / MIN_PER_H,
        mtbf_larger=mtbf_h(run, size),
    )


def parts_by_size(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Return the exact shares of wall-clock time over job size, at the best interval of each size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``part``, ``share`` in [0, 1]; parts that are zero everywhere are left out.
    """
    steady = without_start(scenario)
    n_gpus = sizes_of_curve(steady, n_points)
    at = {N_GPUS: n_gpus, INTERVAL: best_interval_min(steady, {N_GPUS: n_gpus})}
    return part_shares(quietly(budget.exact, steady, at), steady, n_gpus=n_gpus)


def losses_near(parts: pd.DataFrame, n_gpus: float) -> pd.Series:
    """Return the lost shares at the curve's size nearest to a given size, largest first, by part."""
    sizes = parts["n_gpus"].unique()
    nearest = sizes[np.abs(np.log(sizes / n_gpus)).argmin()]
    lost = parts[(parts["n_gpus"] == nearest) & (parts["part"] != "productive")]
    return lost.set_index("part")["share"].sort_values(ascending=False)


def losses_by_size(run: Scenario, n_gpus: float) -> Any:
    """Draw the lost shares of wall-clock time over job size; the title names the largest one at a size."""
    parts = parts_by_size(run)
    size = min(float(n_gpus), float(parts["n_gpus"].max()))
    losses = losses_near(parts, size)
    title = say("On {size:gpus2} {first} is the largest loss", size=size, first=losses.index[0])
    return time_budget_over(parts, "n_gpus", title=title, subtitle=run.title)


def needs_alone(run: Scenario, target: float) -> pd.DataFrame:
    """Return the ETTR with each field at its ideal, one at a time.

    Returns
    -------
    DataFrame
        ``field``, ``name``, ``unit``, ``given`` (current value), ``value`` (needed for the target; NaN if none is
        enough), ``ettr`` with the field at its ideal; fields already at their ideal are left out.
    """
    rows = [
        {
            "field": need.field,
            "name": amount_of(need.field, Scenario).removeprefix("the "),
            "unit": need.unit,
            "given": need.given,
            "value": math.nan if need.value is None else need.value,
            "ettr": need.best_ettr,
        }
        for need in plan.requirements(run, target)
        if need.given > 0 or need.sense != "at most"
    ]
    columns = ["field", "name", "unit", "given", "value", "ettr"]
    return pd.DataFrame(rows, columns=columns).sort_values("ettr", ascending=False, ignore_index=True)


def needs(run: Scenario, target: float) -> Any:
    """Draw the ETTR with each field at its ideal, one at a time, from the current ETTR to the target.

    Parameters
    ----------
    run : Scenario
        The run, at the size that is examined.
    target : float
        The ETTR to reach.
    """
    frame, current = needs_alone(run, target), assumptions(run).ettr
    if frame.empty:
        return NoChart("every input is at its ideal.")
    drawn = rounded(frame)
    drawn["needed"] = [_needed(row) for row in frame.itertuples()]
    units = ["per 1,000 node-days" if row.field == RATE else row.unit for row in frame.itertuples()]
    drawn["named"] = [f"{name} [{unit}]" if unit else name for name, unit in zip(frame["name"], units, strict=True)]
    drawn["from"] = current
    drawn["reaches"] = ["yes" if pd.notna(value) else "no" for value in frame["value"]]
    y = alt.Y("named:N", sort=None, title=None, axis=alt.Axis(labelLimit=200))
    x = alt.X(
        "from:Q", title="ETTR with this input at its ideal [%]", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)
    )
    colour = builders.colours("reaches", {"yes": GREEN, "no": PALE_GREY}, "Enough alone", symbolType="square")
    bars = (
        alt.Chart(drawn).mark_bar(size=16).encode(x=x, x2="ettr:Q", y=y, color=colour, tooltip=tooltips("name", "ettr"))
    )
    text = alt.Chart(drawn).mark_text(align="left", dx=5, dy=-15).encode(x="from:Q", y=y, text="needed:N")
    each = ", ".join(f"{row.name} {row.ettr:.0%}" for row in frame.itertuples())
    return finish(
        layered(bars, text, builders.rule(alt.X("from:Q"), target, strokeDash=[3, 3])),
        title=_needs_title(frame, run, current, target),
        subtitle=but_size(run.title),
        description=f"Bars from the current ETTR, {current:.0%}, to the ETTR with one field at its ideal: {each}. "
        f"A dashed line marks the target of {target:.0%}.",
        height=46 * len(frame) + 16,
    )


def _needs_title(frame: pd.DataFrame, run: Scenario, current: float, target: float) -> str:
    values = {"n_gpus": run.cluster.n_gpus, "target": target}
    if current >= target:
        return say("The run already reaches {target:share0} on {n_gpus:gpus}", **values)
    enough = frame.loc[frame["value"].notna(), "name"].tolist()
    if not enough:
        return say("No single input reaches {target:share0} on {n_gpus:gpus}", **values)
    first = capital(f"the {enough[0]}")
    inputs = listed([first, *(f"the {name}" for name in enough[1:])])
    return say("{inputs} alone can reach {target:share0} on {n_gpus:gpus}", inputs=inputs, **values)


def _needed(row: Any) -> str:
    now = f"(now {row.given:.2g})"
    return f"not enough at its ideal {now}" if pd.isna(row.value) else f"at most {limit(row.value, 'at most')} {now}"


def reported() -> CaptionedTable:
    """Return the useful shares that operators reported, each with its denominator."""
    published = evidence.published_ettr()
    cells = published.assign(
        percent=[f"{row.bound} {100 * row.share:.4g}%".strip() for row in published.itertuples()],
        size=[_size(row.n_gpus, row.n_gpus_high) for row in published.itertuples()],
    )
    heads = {"run": "Run or platform", "percent": "Share", "quantity": "Quantity", "size": "Size"}
    return named(cells, heads | {"status": "Status", "source": "Source"}, "Useful shares reported by operators")


def _size(low: float, high: float) -> str:
    if pd.isna(low):
        return "not stated"
    return gpus(low) if low == high else f"{low:,.0f} to {gpus(high)}"
