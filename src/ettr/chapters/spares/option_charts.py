"""Charts on what else there is than a pool of nodes: racks, fewer replicas, and the jobs of others."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import AT_COMMAS, PERCENT, dash, line_colour, logarithmic, rounded, with_marks
from ettr.chapters.common.theme import MODEL_COLOURS, finish, layered, need, touchable

_RACKS = {
    "spares in each rack": ("#e46d09", [1, 0]),
    "the same, and racks fail whole": ("#8449bc", [2, 3]),
    "a pool of servers": ("#289561", [8, 2]),
    "a pool of whole racks": ("#1f95ec", [6, 3]),
}
_DOMAINS = ["#e46d09", "#1f95ec", "#8449bc"]
_DOMAIN_DASHES = [[8, 2], [6, 3], [2, 3]]
_ALONE = ("goes on with the GPUs left", "#289561", [1, 0])
_INK = "#636562"
_MOST_POINTS = 2.0
"""Differences above this are beyond the second panel, which is about where they vanish."""
_JOBS = {"waits": ("waits for a node", "#e46d09", "circle"), "shrinks": ("fewer replicas", "#289561", "square")}
_CLASSES = {
    "large_more": ("large job", "#1f95ec"),
    "small_more": ("small jobs", "#e46d09"),
    "total_more": ("both", "#289561"),
}


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
    there = [way for way in _RACKS if way in set(frame["way"])]
    line = (
        alt.Chart(rounded(frame, 4))
        .mark_line(point=alt.OverlayMarkDef(size=26, filled=True))
        .encode(
            x=alt.X("held:Q", title="Spare GPUs over GPUs of the job", axis=PERCENT),
            y=alt.Y(
                "short:Q",
                title="Time in which something is missing",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format=".2~p", tickCount=7),
            ),
            color=line_colour("way", None, {way: _RACKS[way][0] for way in there}),
            strokeDash=dash("way", None, {way: _RACKS[way][1] for way in there}),
            tooltip=[
                alt.Tooltip("way:N", title="Spares"),
                alt.Tooltip("n_spares:Q", title="How many", format=",.0f"),
                alt.Tooltip("held:Q", title="Of the job's GPUs", format=".2~%"),
                alt.Tooltip("short:Q", title="Something is missing", format=".3~%"),
            ],
        )
    )
    ends = "; ".join(
        f"{way} {rows['short'].iloc[0]:.2%} with none and {rows['short'].iloc[-1]:.2g} at {rows['held'].iloc[-1]:.1%}"
        for way, rows in frame.groupby("way", sort=False)
    )
    return finish(
        touchable(line),
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
    need(frame, "way", "domain_gpus", "unavailable", "lost")
    domains = [way for way in dict.fromkeys(frame["way"]) if way != _ALONE[0]]
    looks = {way: (_DOMAINS[i % 3], _DOMAIN_DASHES[i % 3]) for i, way in enumerate(domains)}
    looks[_ALONE[0]] = _ALONE[1:]
    line = (
        alt.Chart(rounded(frame, 4))
        .mark_line()
        .encode(
            x=logarithmic("unavailable", "GPUs down, of all").copy(),
            y=alt.Y(
                "lost:Q",
                title="Throughput lost",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format=".2~p", tickCount=6),
            ),
            color=line_colour("way", "The job", {way: look[0] for way, look in looks.items()}),
            strokeDash=dash("way", "The job", {way: look[1] for way, look in looks.items()}),
            tooltip=[
                alt.Tooltip("way:N", title="The job"),
                alt.Tooltip("unavailable:Q", title="GPUs down", format=".2~%"),
                alt.Tooltip("lost:Q", title="Throughput lost", format=".3~%"),
            ],
        )
    )
    line.encoding.x.axis = alt.Axis(format=".2~p", labelOverlap=True, tickCount=5)
    own = alt.Chart(pd.DataFrame({"unavailable": [own_share], "name": ["this run"]}))
    point = alt.Chart(pd.DataFrame({"unavailable": [published[0]], "lost": [published[1]], "name": ["published"]}))
    layers = [
        own.mark_rule(strokeDash=[3, 3]).encode(x=alt.X("unavailable:Q")),
        own.mark_text(align="right", dx=-5, baseline="top").encode(
            x=alt.X("unavailable:Q"), y=alt.value(4), text=alt.Text("name:N")
        ),
        touchable(line),
        point.mark_point(shape="diamond", size=130, color=MODEL_COLOURS["published"], opacity=1).encode(
            x=alt.X("unavailable:Q"), y=alt.Y("lost:Q")
        ),
        point.mark_text(align="right", dx=-10).encode(
            x=alt.X("unavailable:Q"), y=alt.Y("lost:Q"), text=alt.Text("name:N")
        ),
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
    needed = [f"ettr_{kind}{end}" for kind in _JOBS for end in ("", "_low", "_high")]
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
    return alt.X("n_spares:Q", title="Hot spares [nodes]", axis=alt.Axis(format=",d", tickMinStep=1, tickCount=6))


def _both_jobs(frame: pd.DataFrame) -> Any:
    """The ETTR of both jobs."""
    rows = [
        {
            "job": name,
            "n_spares": row["n_spares"],
            **{end: row[f"ettr_{kind}{tail}"] for end, tail in (("ettr", ""), ("low", "_low"), ("high", "_high"))},
        }
        for kind, (name, _, _) in _JOBS.items()
        for row in frame.to_dict("records")
    ]
    domain, colours, shapes = zip(*_JOBS.values(), strict=True)
    base = alt.Chart(rounded(pd.DataFrame(rows), 6)).encode(
        x=_spares_axis(),
        color=alt.Color("job:N", title="Without a spare, the job", scale=alt.Scale(domain=domain, range=colours)),
    )
    y = alt.Y("ettr:Q", title="ETTR", axis=PERCENT, scale=alt.Scale(domain=[0, 1]))
    tips = [
        alt.Tooltip("job:N", title="The job"),
        alt.Tooltip("n_spares:Q", title="Hot spares"),
        alt.Tooltip("ettr:Q", title="ETTR", format=".2%"),
        alt.Tooltip("low:Q", title="95%: from", format=".2%"),
        alt.Tooltip("high:Q", title="to", format=".2%"),
    ]
    shape = alt.Shape("job:N", title="Without a spare, the job", scale=alt.Scale(domain=domain, range=shapes))
    return alt.layer(
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_line(strokeWidth=1.5).encode(y=y),
        base.mark_point(size=60, opacity=1).encode(y=y, shape=shape, tooltip=tips),
    )


def _difference(frame: pd.DataFrame) -> Any:
    """What the second job has more, where that is little."""
    names = ["more", "more_low", "more_high"]
    points = frame.assign(**{name: 100 * frame[name] for name in names})[["n_spares", *names]]
    near = points[points["more_low"] <= _MOST_POINTS]
    base = alt.Chart(rounded(near, 4)).encode(x=_spares_axis())
    y = alt.Y("more:Q", title="ETTR more with fewer replicas [points]")
    zero = alt.Chart(pd.DataFrame({"more": [0.0]})).mark_rule(strokeDash=[3, 3])
    tips = [
        alt.Tooltip("n_spares:Q", title="Hot spares"),
        alt.Tooltip("more:Q", title="More [points]", format="+.3~f"),
        alt.Tooltip("more_low:Q", title="95%: from", format="+.3~f"),
        alt.Tooltip("more_high:Q", title="to", format="+.3~f"),
    ]
    return alt.layer(
        zero.encode(y=y),
        base.mark_rule(strokeWidth=2, color=_INK).encode(y=alt.Y("more_low:Q"), y2=alt.Y2("more_high:Q")),
        base.mark_point(size=60, opacity=1, color=_INK, shape="diamond").encode(y=y, tooltip=tips),
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
        y=alt.Y(
            "option:N",
            sort=list(rest["option"]),
            title=None,
            axis=alt.Axis(labelLimit=230, labelExpr=AT_COMMAS),
        ),
        yOffset=alt.YOffset("class:N", sort=names),
    )
    x = alt.X("more:Q", title="Useful nodes more than in the first option")
    tips = [
        alt.Tooltip("option:N", title="Option"),
        alt.Tooltip("class:N", title="Of"),
        alt.Tooltip("more:Q", title="Useful nodes more", format="+,.3~r"),
        alt.Tooltip("low:Q", title="95%: from", format="+,.3~r"),
        alt.Tooltip("high:Q", title="to", format="+,.3~r"),
        alt.Tooltip("preemptions:Q", title="Pre-empted jobs a day", format=",.3~r"),
    ]
    colour = alt.Color("class:N", title=None, scale=alt.Scale(domain=names, range=[c for _, c in _CLASSES.values()]))
    layers = [
        base.mark_bar().encode(x=x, color=colour, tooltip=tips),
        base.mark_bar(height=alt.RelativeBandSize(band=0.18), color=_INK).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
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
