"""What is each mitigation worth, alone, on this cluster?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from ettr import recommendation
from ettr.core.results import PARTS
from ettr.core.sentences import Finding, about, count, days, listed, number, say, usd
from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.ranking import names, ranking_data, rows_chart
from ettr.plots.theme import GREY, PALE_GREY, PART_COLOURS, NoChart
from ettr.recommendation import break_even
from ettr_book.chapters.common.mitigations import PARTS_IN_WORDS, small, span

if TYPE_CHECKING:
    from ettr.recommendation import Comparison, Study

_NONE_PAYS = "No mitigation pays for itself in one such run"
_DRAWN_H = 1e-6
_DARK, _LIGHT = "#1d2327", "#ffffff"
_SHARES = {
    "under 1%": ("#cfe3f5", _DARK),
    "1 to 5%": ("#8fc1ea", _DARK),
    "5 to 20%": ("#2a79c9", _LIGHT),
    "over 20%": ("#0f4c8a", _LIGHT),
    "does not pay": ("#c9cccd", _DARK),
    "no progress": (GREY, _LIGHT),
    "does not fit": (PALE_GREY, _DARK),
}
"""Fill and text colour of a cell by the share of time saved."""
_MARKS = {"no progress": "×", "does not fit": "–"}
_NO_ANSWER = {break_even.NO_PROGRESS: "no progress", break_even.NO_FIT: "does not fit"}


def answer(comparison: Comparison) -> Finding:
    """Return the single mitigation that saves most, with its range, and the next two."""
    base, best = comparison.baseline, ranking_data(comparison)
    takes = say(
        "{days} at an ETTR of {#best_ettr:share0}, at its best interval",
        days=days(round(base.mean("days"), 1)),
        best_ettr=base.ettr,
    )
    if best.empty:
        return Finding("No mitigation saves time", f"**No mitigation saves time here: the run takes {takes}.**")
    first = best.iloc[0]
    if first["gain"] < 0:
        return Finding(_NONE_PAYS, f"**{_NONE_PAYS}. {_nearest(first)}** The run takes {takes}.")
    others = [f"{small(row.title)} ({_span(row)})" for row in best.iloc[1:3].itertuples()]
    n = len(comparison.completed.assumed)
    sentences = [
        say(
            "**{first} saves most alone: {range} per run across plausible inputs, {#saves_most} with the values used "
            "here, of a run that costs {total:usd}.**",
            first=small(first["title"]),
            range=_span(first),
            saves_most=_usd(first["gain"]),
            total=base.mean("usd"),
        ),
        f"The size of its effect is {first['effect']}. The run takes {takes}; with it, {_time(first['days'])} less.",
        f"Next {'come' if len(others) > 1 else 'comes'} {listed(others)}." if others else "",
        f"{count(n)} inputs of these mitigations are not published for this run and are assumed." if n else "",
    ]
    return Finding(f"{first['title']} saves most alone: {_span(first)} per run", " ".join(filter(None, sentences)))


def _nearest(first: pd.Series) -> str:
    """Return how far the best mitigation is from paying back in one run."""
    saved_usd = 1e6 * first["gain"] + first["price_usd"]
    return say(
        "{title} comes nearest: it saves {time}, worth {worth:usd}, for {price:usd}; {n} such runs would pay it back.",
        "{title} comes nearest: it saves {time}, and costs {loss:usd} more than it saves.",
        title=small(first["title"]),
        time=_time(first["days"]),
        worth=saved_usd,
        price=first["price_usd"],
        n=number(about(first["price_usd"] / saved_usd)) if saved_usd > 0 else None,
        loss=-1e6 * first["gain"],
    )


def _usd(millions: float) -> str:
    return usd(about(1e6 * millions))


def _span(row: Any) -> str:
    return span(_usd(row.low), _usd(row.high))


def _time(value_d: float) -> str:
    """Return a saved time to two digits, without a sign."""
    size = about(abs(value_d))
    if size < 1:
        return f"{number(about(24 * abs(value_d)))} h"
    return f"{number(size)} day{'' if number(size) == '1' else 's'}"


def leading(comparison: Comparison, n: int) -> tuple[str, ...]:
    """Return the mitigations to examine: those that save most money, or else time.

    Only mitigations with a significant saving and an effect that is published at least in part.
    """
    by = "usd" if (comparison.published["usd_low"] > 0).any() else "days"
    best = comparison.published[comparison.published[f"{by}_low"] > 0]
    return tuple(best.sort_values(f"{by}_gain", ascending=False)["id"].iloc[:n])


def hours_by_part(comparison: Comparison, ids: Iterable[str]) -> pd.DataFrame:
    """Return the hours of each part of the time budget that mitigations save.

    Returns
    -------
    DataFrame
        ``id``, ``title``, ``part``, ``hours`` (decrease of the part, negative for an increase) [h]; parts that no
        mitigation changes are left out. The hours of a mitigation add up to its saving.
    """
    study = comparison.study
    rows = [
        {
            "id": name,
            "title": study.catalogue[name].title,
            "part": part.removesuffix("_h"),
            "hours": getattr(study.before([name]).budget, part) - getattr(study.runs([name]).budget, part),
        }
        for name in ids
        for part in PARTS
    ]
    frame = pd.DataFrame(rows, columns=["id", "title", "part", "hours"])
    moved = frame["hours"].abs().groupby(frame["part"]).transform("max") > _DRAWN_H
    return frame[moved].reset_index(drop=True)


def hours(comparison: Comparison, ids: Iterable[str]) -> Any:
    """Draw the hours of each part of the time budget that mitigations save."""
    frame = hours_by_part(comparison, ids)
    if frame.empty:
        return NoChart("no mitigation saves hours here.")
    colours = builders.present(PART_COLOURS, frame["part"])
    bars = alt.Chart(rounded(frame.assign(order=frame["part"].map(list(colours).index)), 4)).mark_bar()
    bars = bars.encode(
        y=names(frame["title"].unique()),
        x=alt.X("hours:Q", title="Time saved per run [h]", stack="zero", axis=alt.Axis(tickCount=6)),
        color=builders.squares("part", colours),
        order=alt.Order("order:Q"),
        tooltip=tooltips("title", "part", "hours", title="Mitigation", hours=Column("Hours saved", format="+.1f")),
    )
    largest = frame.loc[frame.groupby("title", sort=False)["hours"].idxmax()]
    by_part = frame.groupby("part")["hours"].sum()
    return rows_chart(
        [bars],
        len(largest),
        title=f"Most hours saved are {PARTS_IN_WORDS[str(by_part.idxmax())]}",
        subtitle=with_marks(comparison.study.scenario.title, "left of zero: an increase"),
        description="Stacked bars of the hours per run that mitigations save, by part of the time budget",
        rows=(f"{row.title} mostly {row.part}, {row.hours:.1f} h" for row in largest.itertuples()),
    )


_COLUMNS = ["id", "title", "value", "ettr_before", "ettr", "saved", "low", "high", "saved_usd", "state", "why"]


def worth_by_size(study: Study, ids: Iterable[str], sizes: Iterable[float], n_runs: int = 20) -> pd.DataFrame:
    """Return the share of time that mitigations save on jobs of other sizes, as :func:`ettr.recommendation.along`.

    Sizes are rounded to full nodes, and the job's own is added. [GPUs]
    """
    chosen, job = tuple(ids), study.baseline
    in_nodes = {float(job.cluster.nearest_n_gpus(size)) for size in (*sizes, job.cluster.n_gpus)}
    if not chosen:
        return pd.DataFrame(columns=_COLUMNS)
    return recommendation.along(study, chosen, sorted(in_nodes), n_runs)


def by_size(study: Study, ids: Iterable[str], sizes: Iterable[float], n_runs: int = 20) -> Any:
    """Draw a map of the share of time that mitigations save, by job size."""
    frame = worth_by_size(study, ids, sizes, n_runs)
    if frame.empty:
        return NoChart("no mitigation saves a significant amount here.")
    titles, job_gpus = list(dict.fromkeys(frame["title"])), study.baseline.cluster.n_gpus
    labels = {value: _short(value) + ("*" if value == job_gpus else "") for value in sorted(set(frame["value"]))}
    kinds = [_kind(row) for row in frame.to_dict("records")]
    texts = [_MARKS.get(kind, f"{saved:.0%}") for kind, saved in zip(kinds, frame["saved"] + 0.0, strict=True)]
    cells = frame.assign(
        kind=kinds,
        label=[text.replace("-0%", "0%") for text in texts],
        ink=[_SHARES[kind][1] for kind in kinds],
        size=frame["value"].map(labels),
    )
    share = {"saved": "Time saved", "low": "95% CI from", "high": "95% CI to"}
    tips = tooltips(
        *("title", "value", *share, "saved_usd", "state", "why"),
        **{name: Column(title, format=".1%") for name, title in share.items()},
        title="Mitigation",
        state="Result",
    )
    x = alt.X(
        "size:N", title="Job size [GPUs]", sort=[*labels.values()], axis=alt.Axis(labelAngle=0, labelOverlap=False)
    )
    base = alt.Chart(rounded(cells, 3)).encode(x=x, y=names(titles), tooltip=tips)
    colour = builders.squares("kind", builders.present(_SHARES, kinds), "Time saved", symbolOpacity=1)
    squares = base.mark_rect(stroke=PALE_GREY, strokeWidth=0.5).encode(color=colour)
    written = base.mark_text(fontSize=11).encode(text=alt.Text("label:N"), color=alt.Color("ink:N", scale=None))
    most = frame[frame["state"] == break_even.PAYS].groupby("title", sort=False)["saved"].max()
    marks = "* the job's size" + ("; ×: the job makes no progress" if "no progress" in kinds else "")
    return rows_chart(
        [squares, written],
        len(titles),
        title=_size_finding(frame),
        subtitle=with_marks(study.scenario.title, marks),
        description=f"A map of the share of time saved, mitigations by job sizes {', '.join(labels.values())}",
        rows=(f"{name} at most {most[name]:.0%}" if name in most else f"{name} pays nowhere" for name in titles),
    )


def _size_finding(frame: pd.DataFrame) -> str:
    """Return which mitigation saves most on the smallest and the largest job where one pays."""
    paying = frame[frame["state"] == break_even.PAYS]
    if paying.empty:
        return "None pays at any of these sizes"
    best = paying.loc[paying.groupby("value")["saved"].idxmax()].sort_values("value")
    if len(set(best["title"])) == 1:
        return f"Largest saving at every size: {best['title'].iloc[0]}"
    return f"Largest saving on more GPUs: {best['title'].iloc[-1]}"


def _kind(row: dict[str, Any]) -> str:
    if row["state"] in _NO_ANSWER:
        return _NO_ANSWER[row["state"]]
    if row["state"] != break_even.PAYS:
        return "does not pay"
    limits = ((0.01, "under 1%"), (0.05, "1 to 5%"), (0.2, "5 to 20%"))
    return next((name for limit, name in limits if row["saved"] < limit), "over 20%")


def _short(n_gpus: float) -> str:
    """Return a number of GPUs in few characters, e.g. ``16k``."""
    for scale, letter in ((1e6, "M"), (1e3, "k")):
        if n_gpus >= scale:
            return f"{n_gpus / scale:.2g}{letter}" if n_gpus / scale < 10 else f"{n_gpus / scale:.0f}{letter}"
    return f"{n_gpus:.0f}"
