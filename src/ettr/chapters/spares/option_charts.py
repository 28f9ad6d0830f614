"""Charts on what else there is than a pool of nodes: racks, fewer replicas, and the jobs of others."""

from __future__ import annotations

import itertools
from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import FINE_SHARES, Column, tooltips
from ettr.chapters.common.encodings import rounded, with_marks
from ettr.chapters.common.theme import BLUE, GREEN, GREY, MODEL_COLOURS, ORANGE, VIOLET, finish, layered, need

_RACKS = {
    "spares in each rack": (ORANGE, [1, 0]),
    "the same, and racks fail whole": (VIOLET, [2, 3]),
    "a pool of servers": (GREEN, [8, 2]),
    "a pool of whole racks": (BLUE, [6, 3]),
}
_DOMAINS = (ORANGE, [8, 2]), (BLUE, [6, 3]), (VIOLET, [2, 3])
_ALONE = {"goes on with the GPUs left": (GREEN, [1, 0])}
_MOST_POINTS = 2.0
"""Differences above this are beyond the second panel, which is about where they vanish."""
_JOBS = {"waits for a node": ("waits", (ORANGE, "circle")), "fewer replicas": ("shrinks", (GREEN, "square"))}
_CLASSES = {"large_more": ("large job", BLUE), "small_more": ("small jobs", ORANGE), "total_more": ("both", GREEN)}


def racks(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """How often something is missing, by the spare GPUs held.

    Parameters
    ----------
    frame : DataFrame
        As the frame of ``option_tables.rack_choices``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "way", "held", "n_spares", "short")
    x = builders.along("held", title="Spare GPUs over GPUs of the job").axis(format="%")
    y = builders.up("short", log=True, title="Time in which something is missing", ticks=7)
    held = Column("Of the job's GPUs", format=".2~%")
    tips = tooltips("way", "n_spares", "held", "short", way="Spares", n_spares="How many", held=held)
    point = alt.OverlayMarkDef(size=26, filled=True)
    lines = builders.lines(rounded(frame, 4), x, y, "way", _RACKS, tips, point=point)
    ends = "; ".join(
        f"{way} {rows['short'].iloc[0]:.2%} with none and {rows['short'].iloc[-1]:.2g} at {rows['held'].iloc[-1]:.1%}"
        for way, rows in frame.groupby("way", sort=False)
    )
    return finish(
        lines,
        title=title,
        subtitle=subtitle,
        description=(
            f"Lines of the share of time in which something is missing, on a logarithmic axis, over the spare GPUs "
            f"held: {ends}."
        ),
        height=320,
    )


def losses(
    frame: pd.DataFrame, own_share: float, published: tuple[float, float], title: str, subtitle: str = ""
) -> Any:
    """Throughput lost over the share of GPUs that are down.

    Parameters
    ----------
    frame : DataFrame
        As from ``option_tables.domain_losses``.
    own_share : float
        Share of time that a GPU of this run is in repair.
    published : tuple of float
        Shares of GPUs down and of throughput lost, of a published example.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "way", "unavailable", "lost")
    domains = [way for way in dict.fromkeys(frame["way"]) if way not in _ALONE]
    looks = dict(zip(domains, itertools.cycle(_DOMAINS))) | _ALONE
    x, y = builders.across("unavailable", ticks=5), builders.up("lost", log=True, ticks=6)
    tips = tooltips("way", "unavailable", "lost", way="The job")
    lines = builders.lines(rounded(frame, 4), x, y, "way", looks, tips, "The job")
    example = pd.DataFrame({"unavailable": [published[0]], "lost": [published[1]], "name": ["published"]})
    point = alt.Chart(example).encode(x=alt.X("unavailable:Q"), y=alt.Y("lost:Q"))
    layers = [
        *builders.named_rule("unavailable", own_share, "this run"),
        lines,
        point.mark_point(shape="diamond", size=130, color=MODEL_COLOURS["published"], opacity=1),
        point.mark_text(align="right", dx=-10).encode(text=alt.Text("name:N")),
    ]
    near = frame.iloc[(frame["unavailable"] - published[0]).abs().groupby(frame["way"], sort=False).idxmin()]
    values = "; ".join(f"{row.way} {row.lost:.2%}" for row in near.itertuples())
    return finish(
        layered(*layers),
        title=title,
        subtitle=subtitle,
        description=(
            f"Lines of the throughput lost over the share of GPUs that are down, both logarithmic. Near "
            f"{published[0]:.1%} down: {values}; a published job lost nearly {published[1]:.0%}. A dashed rule marks "
            f"this run's {own_share:.3%}."
        ),
        height=300,
    )


def elastic(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """ETTR over the number of hot spares of a job that waits and of one that goes on with fewer replicas.

    Parameters
    ----------
    frame : DataFrame
        As from ``option_tables.elastic_pools``.
    title, subtitle : str
        The statement, and the scenario.
    """
    needed = [f"ettr_{kind}{end}" for kind, _ in _JOBS.values() for end in ("", "_low", "_high")]
    need(frame, "n_spares", "more", "more_low", "more_high", *needed)
    pairs = "; ".join(
        f"{row.n_spares:,.0f} spares {row.ettr_waits:.1%} and {row.ettr_shrinks:.1%}" for row in frame.itertuples()
    )
    return finish(
        alt.hconcat(_both_jobs(frame), _difference(frame)),
        title=title,
        subtitle=with_marks(subtitle, "simulated; bars: 95%, in the second panel paired run by run"),
        description=(
            f"Two panels over hot spares: ETTR of a job that waits and of one that goes on with fewer replicas, and "
            f"what the second has more, which vanishes as spares grow. {pairs}."
        ),
        height=260,
    )


def _spares_axis() -> alt.X:
    return builders.along("n_spares").axis(format=",d", tickMinStep=1, tickCount=6)


def _both_jobs(frame: pd.DataFrame) -> Any:
    """The ETTR of both jobs."""
    jobs = [
        frame[["n_spares"]].assign(
            job=name, ettr=frame[f"ettr_{kind}"], low=frame[f"ettr_{kind}_low"], high=frame[f"ettr_{kind}_high"]
        )
        for name, (kind, _) in _JOBS.items()
    ]
    looks, y = {name: look for name, (_, look) in _JOBS.items()}, builders.up("ettr", domain=[0, 1])
    tips = tooltips("job", "n_spares", "ettr", "low", "high", **FINE_SHARES, job="The job")
    rows = rounded(pd.concat(jobs, ignore_index=True), 6)
    title = "Without a spare, the job"
    return alt.layer(*builders.measured(rows, _spares_axis(), y, ("low", "high"), "job", looks, 60, tips, title))


def _difference(frame: pd.DataFrame) -> Any:
    """What the second job has more, where that is little."""
    names = ["more", "more_low", "more_high"]
    points = frame.assign(**{name: 100 * frame[name] for name in names})[["n_spares", *names]]
    near = points[points["more_low"] <= _MOST_POINTS]
    base = alt.Chart(rounded(near, 4)).encode(x=_spares_axis())
    y = builders.up("more")
    return alt.layer(
        builders.rule(y, 0.0, strokeDash=[3, 3]),
        base.mark_rule(strokeWidth=2, color=GREY).encode(y=alt.Y("more_low:Q"), y2=alt.Y2("more_high:Q")),
        base.mark_point(size=60, opacity=1, color=GREY, shape="diamond").encode(
            y=y, tooltip=tooltips("n_spares", *names)
        ),
    )


def shared(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """What each option adds to the useful nodes of a large job, of small ones, and of both.

    Parameters
    ----------
    frame : DataFrame
        As from ``option_tables.shared_options``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "option", "order", "total_more_low", "total_more_high", "preemptions_per_day", *_CLASSES)
    rest = frame[frame["order"] > 0]
    rows = [
        {
            "option": row["option"],
            "class": name,
            "more": row[field],
            "low": row["total_more_low"] if field == "total_more" else row[field],
            "high": row["total_more_high"] if field == "total_more" else row[field],
            "place": place,
            "preemptions": row["preemptions_per_day"],
        }
        for row in rest.to_dict("records")
        for place, (field, (name, _)) in enumerate(_CLASSES.items())
    ]
    names = [name for name, _ in _CLASSES.values()]
    base = alt.Chart(rounded(pd.DataFrame(rows), 4)).encode(
        y=builders.rows("option", rest["option"], labelLimit=230, labelExpr=builders.AT_COMMAS),
        yOffset=alt.YOffset("class:N", sort=names),
    )
    x = alt.X("more:Q", title="Useful nodes more than in the first option")
    nodes = Column("Useful nodes more", format="+,.3~r")
    low, high = (Column(f"95%: {end}", format="+,.3~r") for end in ("from", "to"))
    of = {"more": nodes, "low": low, "high": high}
    tips = tooltips("option", "class", "more", "low", "high", "preemptions", **of)
    layers = [
        base.mark_bar().encode(x=x, color=builders.colours("class", dict(_CLASSES.values())), tooltip=tips),
        base.mark_bar(height=alt.RelativeBandSize(band=0.18), color=GREY).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
    ]
    first = frame.loc[frame["order"] == 0, "option"].iloc[0]
    gains = "; ".join(
        f"{row.option}: large {row.large_more:+,.1f}, small {row.small_more:+,.1f}, both {row.total_more:+,.1f}"
        for row in rest.itertuples()
    )
    return finish(
        layered(*layers),
        title=title,
        subtitle=with_marks(subtitle, f"first option: {first}; line below: 95% of the rate"),
        description=f"Bars of useful nodes more or fewer than with {first}, by option. {gains}.",
        height=62 * len(rest) + 20,
    )
