"""Two runs with a public diary: their measured ETTR, their losses, and those that the model expects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.checkpoint.achieved import RealisedETTR, realised_ettr
from ettr.core.errors import UnknownName
from ettr.core.sentences import Finding, points, say
from ettr.core.units import MIN_PER_H, S_PER_H
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.theme import BLUE, BRICK, GREY, MODEL_COLOURS, OCHRE, ORANGE, PALE_GREY, PURPLE, RUST, finish, layered
from ettr.scenario import Scenario
from ettr_book.chapters.common.diaries import EXPERIMENT, GROUPS, HARDWARE, LOSS, MIXED, PLANNED, lost_by_kind

SOURCES = ("bigscience2022chronicles", "zeng2022glm")
"""Bibliography keys of the diaries."""
HANG, CHECKPOINT, EVALUATION, UNNAMED = "software hang", "checkpoint", "evaluation", "not named"
"""Reasons of losses that occur in a diary only, and losses without a reason."""
MODELLED, NOT_MODELLED, NOT_STATED = "modelled", "not modelled", "not stated"
"""Classes of reasons: covered by a model of failures, checkpoints and restarts or not."""
TERMS = {HARDWARE: MODELLED, CHECKPOINT: MODELLED, MIXED: NOT_STATED, UNNAMED: NOT_STATED}
GLM130B_FIRST_STEP = 7300
"""Step of GLM-130B on 11 May 2022; before, the batch size grew and a step took less time."""
_FULL_DAY_H = 24.0


@dataclass(frozen=True)
class PublishedRun:
    """A run whose diary is public.

    Attributes
    ----------
    realised : RealisedETTR
        Measured ETTR of the run.
    losses : DataFrame
        Lost hours, largest first: ``reason``, ``lost_h`` [h], ``share`` of all losses, ``n`` (stops, checkpoints or
        evaluations; missing without a count) and ``term``: ``modelled`` (by a model of failures, checkpoints and
        restarts), ``not modelled``, or ``not stated`` (several kinds, or without a reason). They add up to
        ``realised.lost_h``, to the minute.
    events : DataFrame
        Stops in the diary: ``time`` and ``reason``.
    resolution_h : float
        Resolution of the diary's time stamps. [h]
    scenario : Scenario
        The preset of the same name.
    """

    realised: RealisedETTR
    losses: pd.DataFrame
    events: pd.DataFrame
    resolution_h: float
    scenario: Scenario

    @property
    def name(self) -> str:
        """Name of the model that was trained."""
        return self.scenario.title.partition(" on ")[0]


def published_run_names() -> tuple[str, ...]:
    """Return the names of the runs whose diaries are in ``data/``."""
    return tuple(_RUNS)


def published_run(name: str) -> PublishedRun:
    """Return a run with a public diary, with its measured times.

    Parameters
    ----------
    name : str
        ``"bloom-176b"`` or ``"glm-130b"``.

    Returns
    -------
    PublishedRun
        The realised ETTR, its losses, and the preset of the same name.

    Raises
    ------
    UnknownName
        If there is no such run.

    Examples
    --------
    >>> run = published_run("glm-130b")
    >>> round(run.realised.ettr, 3), run.realised.n_steps
    (0.846, 40800)
    """
    if name not in _RUNS:
        raise UnknownName("published run", name, _RUNS)
    return _RUNS[name]()


def _glm130b() -> PublishedRun:
    events = evidence.table("glm130b_events")
    events = events[np.maximum.accumulate(events["restart_step"].fillna(0)) >= GLM130B_FIRST_STEP]
    step_s = evidence.figure("glm130b_step_s").value
    progress = events.dropna(subset="restart_step").rename(columns={"restart_step": "step"})
    losses = lost_by_kind(events, step_s).rename(columns={"group": "reason", "n_stops": "n"})
    stopped = events.iloc[1:].query("kind != 'suspect_slow_node'")
    stops = pd.DataFrame({"time": pd.to_datetime(stopped["time"]), "reason": stopped["kind"].map(GROUPS)})
    return _published("glm-130b", progress, step_s, 0.0, losses[["reason", "lost_h", "n"]], stops)


def _bloom176b() -> PublishedRun:
    progress = evidence.table("bloom176b_progress").rename(columns={"date": "time", "iteration": "step"})
    step_s = evidence.figure("bloom_iteration_s").value
    steps = int(progress["step"].iloc[-1] - progress["step"].iloc[0])
    reported = evidence.table("bloom176b_losses")
    by_kind = reported.groupby("kind")["lost_h"].agg(["sum", "count"])
    rows = [(kind, row["sum"], int(row["count"])) for kind, row in by_kind.iterrows()]
    for reason, every, length_h in (
        (CHECKPOINT, "bloom_checkpoint_iterations", evidence.figure("bloom_checkpoint_s").value / S_PER_H),
        (EVALUATION, "bloom_evaluation_iterations", evidence.figure("bloom_evaluation_min").value / MIN_PER_H),
    ):
        n = int(steps // evidence.figure(every).value)
        rows.append((reason, n * length_h, n))
    losses = pd.DataFrame(rows, columns=["reason", "lost_h", "n"])
    stops = pd.DataFrame({"time": pd.to_datetime(reported["date"]), "reason": reported["kind"]})
    return _published("bloom-176b", progress, step_s, _FULL_DAY_H, losses, stops)


_RUNS: dict[str, Callable[[], PublishedRun]] = {"bloom-176b": _bloom176b, "glm-130b": _glm130b}


def _published(
    name: str, progress: pd.DataFrame, step_s: float, resolution_h: float, named: pd.DataFrame, events: pd.DataFrame
) -> PublishedRun:
    """Return a published run with complete losses: unexplained ones get their own row."""
    realised = realised_ettr(progress["time"], progress["step"], step_s, resolution_h)
    rest_h = realised.lost_h - named["lost_h"].sum()
    losses = named.astype({"n": "Int64"})
    if rest_h > resolution_h / 100:
        rest = pd.DataFrame({"reason": [UNNAMED], "lost_h": [rest_h], "n": pd.array([pd.NA], dtype="Int64")})
        losses = pd.concat([losses, rest], ignore_index=True)
    losses = losses.sort_values("lost_h", ascending=False, ignore_index=True)
    losses.insert(2, "share", losses["lost_h"] / losses["lost_h"].sum())
    losses["term"] = losses["reason"].map(TERMS).fillna(NOT_MODELLED)
    return PublishedRun(realised, losses, events.reset_index(drop=True), resolution_h, Scenario.load(name))


def against_model() -> pd.DataFrame:
    """Return the measured ETTR of published runs, and the ETTR with hardware failures and checkpoints alone.

    Returns
    -------
    DataFrame
        ``name``, ``run`` (title), ``realised``, ``low``, ``high`` (from the resolution of the diary's time stamps),
        ``modelled`` (:func:`ettr.budget.exact` of the preset of the same name), ``difference`` (modelled minus
        realised), ``lost_h`` and ``modelled_lost_h`` (modelled loss over the same wall-clock time) [h].

    Examples
    --------
    >>> against_model().set_index("name")["realised"].round(3).to_dict()
    {'bloom-176b': 0.926, 'glm-130b': 0.846}
    """
    rows = []
    for name in published_run_names():
        run = published_run(name)
        done, modelled = run.realised, float(budget.exact(run.scenario).ettr)
        rows.append(
            {
                "name": name,
                "run": run.scenario.title,
                "realised": done.ettr,
                "low": done.low,
                "high": done.high,
                "modelled": modelled,
                "difference": modelled - done.ettr,
                "lost_h": done.lost_h,
                "modelled_lost_h": (1 - modelled) * done.wall_h,
            }
        )
    return pd.DataFrame(rows)


def answer() -> Finding:
    """Return the gap between the two runs and the model."""
    runs = against_model()
    times = float(runs["lost_h"].sum() / runs["modelled_lost_h"].sum())
    each = [
        say("{run} reached {realised:share0}, against {modelled:share0} in the model", **row._asdict())
        for row in runs.itertuples()
    ]
    return Finding(
        title=say("Two open runs lost {times:about} times as much as failures explain", times=times),
        text=say(
            "**The two runs with a public diary lost {#unexplained:about} times as many hours as hardware failures, "
            "checkpoints and restarts account for.** {each}. Treat every ETTR in this book as an upper bound: bugs, "
            "experiments and waiting for people come on top.",
            unexplained=times,
            each="; ".join(each),
        ),
    )


_KINDS = {"realised": "measured", "modelled": "modelled"}
_LOOKS = {_KINDS["realised"]: (BRICK, "circle"), _KINDS["modelled"]: (MODEL_COLOURS["exact"], "diamond")}


def measured() -> Any:
    """Draw the measured ETTR of both runs against the modelled one."""
    frame = against_model()
    tidy = frame.melt(
        id_vars=["run", "low", "high"], value_vars=list(_KINDS), var_name="kind", value_name="ettr"
    ).assign(kind=lambda rows: rows["kind"].map(_KINDS))
    y = builders.rows("run", frame["run"], labelLimit=170, labelExpr="split(datum.label, ' on ')")
    x = builders.along("ettr", zero=False, padding=30).axis(format="%", tickCount=6)
    dots = builders.shapes(tidy, x, y, "kind", _LOOKS, 130, tooltips("run", "kind", "ettr", kind="Value"))
    labels = alt.Chart(tidy).mark_text(dy=-16).encode(x=x, y=y, text=alt.Text("ettr:Q", format=".1%"))
    published = alt.Chart(frame).encode(y=y)
    links = published.mark_rule(strokeDash=[3, 3]).encode(x="realised:Q", x2="modelled:Q")
    whiskers = published.mark_rule(strokeWidth=3).encode(x="low:Q", x2="high:Q")
    pairs = "; ".join(f"{row.run} {row.realised:.1%} against {row.modelled:.1%}" for row in frame.itertuples())
    gaps = frame["difference"]
    return finish(
        links + whiskers + dots + labels,
        title=f"The model is {points(gaps.min())} and {points(gaps.max())} above the two diaries",
        subtitle="Thick line: a day of uncertainty in the dates",
        description=f"Pairs of dots of measured against modelled ETTR: {pairs}.",
        height=70 * len(frame) + 20,
        sources=SOURCES,
    )


def lost_so_far(run: PublishedRun) -> pd.DataFrame:
    """Return the hours lost since the first entry of a diary, measured and modelled.

    Returns
    -------
    DataFrame
        ``time``, ``hours`` (wall clock minus steps times their duration) [h], ``low`` and ``high`` from the resolution
        of the time stamps [h], ``modelled`` (the model's mean loss by then) [h].
    """
    done = run.realised
    wall_h = np.append(0.0, done.segments["wall_h"].cumsum())
    per_step_h = done.productive_h / done.n_steps
    hours = wall_h - per_step_h * np.append(0.0, done.segments["steps"].cumsum())
    spread_h = np.where(wall_h > 0, run.resolution_h, 0.0)
    return pd.DataFrame(
        {
            "time": [done.first, *done.segments["end"]],
            "hours": hours,
            "low": hours - spread_h,
            "high": hours + spread_h,
            "modelled": (1 - float(budget.exact(run.scenario).ettr)) * wall_h,
        }
    )


_REASONS = {
    HARDWARE: (RUST, "circle"),
    LOSS: (PURPLE, "triangle-up"),
    EXPERIMENT: (BLUE, "square"),
    HANG: (ORANGE, "diamond"),
    PLANNED: (GREY, "cross"),
}


def timeline(name: str) -> Any:
    """Draw the hours that a run lost over time, with the stops in its diary and the model's expectation.

    Parameters
    ----------
    name : str
        ``"bloom-176b"`` or ``"glm-130b"``.
    """
    run = published_run(name)
    lost = lost_so_far(run)
    for_charts = {"time": [stamp.strftime("%Y-%m-%dT%H:%M:%S") for stamp in lost["time"]]}
    curve = rounded(lost.assign(**for_charts), 4)
    seconds = [stamp.timestamp() for stamp in lost["time"]]
    at = np.interp([stamp.timestamp() for stamp in run.events["time"]], seconds, lost["hours"])
    stamps = [stamp.strftime("%Y-%m-%dT%H:%M:%S") for stamp in run.events["time"]]
    stops = pd.DataFrame({"time": stamps, "reason": run.events["reason"], "hours": at})
    x = alt.X("time:T", title="Date in 2022", axis=alt.Axis(format="%-d %b", tickCount=6, labelOverlap=True))
    y = alt.Y("hours:Q", title="Hours lost since the first entry [h]")
    band = alt.Chart(curve).mark_area(opacity=0.2, color=BRICK).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    line = alt.Chart(curve).mark_line(color=BRICK).encode(x=x, y=y)
    ends = curve.iloc[[0, -1]]
    expected = alt.Chart(ends).mark_line(color=MODEL_COLOURS["exact"], strokeDash=[6, 3]).encode(x=x, y="modelled:Q")
    tips = [alt.Tooltip("time:T", title="Stopped", format="%-d %b %H:%M"), alt.Tooltip("reason:N", title="Reason")]
    looks = builders.present(_REASONS, stops["reason"])
    marks = builders.shapes(rounded(stops, 4), x, y, "reason", looks, 90, tips, "Stop")
    total, modelled = lost["hours"].iloc[-1], lost["modelled"].iloc[-1]
    layers = [band, line, expected, marks] if run.resolution_h else [line, expected, marks]
    counted = ", ".join(f"{reason} {n}" for reason, n in stops["reason"].value_counts().items())
    return finish(
        layered(*layers),
        title=f"{run.name} lost {total:.0f} h; the model expects {modelled:.0f} h",
        subtitle=with_marks(
            run.scenario.title, f"dashed: model{'; shaded: a day of uncertainty' if run.resolution_h else ''}"
        ),
        description=f"A rising line of the hours lost since the first entry of the diary, up to {total:.0f} h, above a "
        f"dashed line of the model, up to {modelled:.0f} h. Marks are stops in the diary: {counted}.",
        sources=[source for source in SOURCES if source in run.scenario.sources],
    )


_TERM_COLOURS = {MODELLED: MODEL_COLOURS["exact"], NOT_MODELLED: OCHRE, NOT_STATED: PALE_GREY}


def losses() -> Any:
    """Draw the lost hours of both runs by reason, coloured by whether the model covers it."""
    runs = [published_run(name) for name in published_run_names()]
    frame = pd.concat([run.losses.assign(run=run.name) for run in runs], ignore_index=True)
    frame["row"] = frame["run"] + ", " + frame["reason"]
    y = builders.rows("row", frame["row"], labelLimit=200, labelExpr=builders.AT_COMMAS)
    x = alt.X("lost_h:Q", title="Lost time [h]")
    tips = [alt.Tooltip("reason:N", title="Reason"), alt.Tooltip("lost_h:Q", title="Lost [h]", format=",.1f")]
    colour = builders.squares("term", _TERM_COLOURS, "Covered by the model")
    bars = alt.Chart(rounded(frame, 4)).mark_bar().encode(x=x, y=y, color=colour, tooltip=tips)
    labels = alt.Chart(frame).mark_text(align="left", dx=4).encode(x=x, y=y, text=alt.Text("lost_h:Q", format=".0f"))
    share = frame.loc[frame["term"] == MODELLED, "lost_h"].sum() / frame["lost_h"].sum()
    each = "; ".join(f"{row.row} {row.lost_h:.0f} h" for row in frame.itertuples())
    return finish(
        bars + labels,
        title=say("Failures and checkpoints are named for {share:share0} of the lost hours", share=share),
        subtitle="BLOOM-176B and GLM-130B, from their diaries",
        description=f"Bars of the lost hours by reason: {each}.",
        height=38 * len(frame) + 10,
        sources=SOURCES,
    )
