"""What a run really did: the ETTR that its steps imply, and where the rest of the time went.

A training diary says which step was reached when. Steps times the time of one step are productive hours, whatever
the diary tells or leaves out, so their share of the wall clock is the ETTR that the run really had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.core.errors import UnknownName
from ettr.core.units import MIN_PER_H, S_PER_H
from ettr.logs import training_logs
from ettr.logs.training_logs import HARDWARE, RealisedETTR, lost_by_kind, realised_ettr
from ettr.scenario import Scenario

MIXED = training_logs.MIXED
CHECKPOINT, EVALUATION, UNNAMED = "checkpoint", "evaluation", "not named"
"""Losses of several kinds; reasons that a diary gives, and what it gives none for."""
MODELLED, NOT_MODELLED, NOT_TOLD = "modelled", "not modelled", "not told"
"""Whether a model of failures, checkpoints and restarts has a term for a reason."""

DIARY_SOURCES = ("bigscience2022chronicles", "zeng2022glm")
"""Keys of the diaries."""
REASONS = {HARDWARE: MODELLED, CHECKPOINT: MODELLED, MIXED: NOT_TOLD, UNNAMED: NOT_TOLD}


@dataclass(frozen=True)
class PublishedRun:
    """A run whose diary is public.

    Attributes
    ----------
    realised : RealisedETTR
        What the run really did.
    losses : DataFrame
        Where its lost hours went, the largest first: ``reason``, ``lost_h`` [h], ``share`` of what is lost, ``n``
        (stops, checkpoints or evaluations; missing where nobody counted) and ``term`` (``modelled`` where a model of
        failures, checkpoints and restarts has a term for it, ``not modelled``, or ``not told``: of several kinds, or
        without a reason). They sum to ``realised.lost_h``, to the minute.
    scenario : Scenario
        The preset of the same name.
    """

    realised: RealisedETTR
    losses: pd.DataFrame
    scenario: Scenario


def published_run_names() -> tuple[str, ...]:
    """Names of the runs whose diary is in ``data/``."""
    return tuple(_RUNS)


def published_run(name: str) -> PublishedRun:
    """A run whose diary is public, with what it really did.

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


GLM130B_FIRST_STEP = 7300
"""GLM-130B reached this on 11 May 2022; before it the batch grew, and a step took less time."""


def _glm130b() -> PublishedRun:
    events = evidence.table("glm130b_events")
    events = events[np.maximum.accumulate(events["restart_step"].fillna(0)) >= GLM130B_FIRST_STEP]
    step_s = evidence.figure("glm130b_step_s").value
    progress = events.dropna(subset="restart_step").rename(columns={"restart_step": "step"})
    losses = lost_by_kind(events, step_s).rename(columns={"group": "reason", "n_stops": "n"})
    return _published("glm-130b", progress, step_s, 0.0, losses[["reason", "lost_h", "n"]])


def _bloom176b() -> PublishedRun:
    progress = evidence.table("bloom176b_progress").rename(columns={"date": "time", "iteration": "step"})
    step_s = evidence.figure("bloom_iteration_s").value
    steps = int(progress["step"].iloc[-1] - progress["step"].iloc[0])
    reported = evidence.table("bloom176b_losses").groupby("kind")["lost_h"].agg(["sum", "count"])
    rows = [(kind, row["sum"], int(row["count"])) for kind, row in reported.iterrows()]
    for reason, every, length_h in (
        (CHECKPOINT, "bloom_checkpoint_iterations", evidence.figure("bloom_checkpoint_s").value / S_PER_H),
        (EVALUATION, "bloom_evaluation_iterations", evidence.figure("bloom_evaluation_min").value / MIN_PER_H),
    ):
        n = int(steps // evidence.figure(every).value)
        rows.append((reason, n * length_h, n))
    losses = pd.DataFrame(rows, columns=["reason", "lost_h", "n"])
    return _published("bloom-176b", progress, step_s, 24.0, losses)


_RUNS: dict[str, Callable[[], PublishedRun]] = {"bloom-176b": _bloom176b, "glm-130b": _glm130b}


def _published(
    name: str, progress: pd.DataFrame, step_s: float, resolution_h: float, named: pd.DataFrame
) -> PublishedRun:
    """A run with its losses made whole: what no reason is given for is a row of its own."""
    realised = realised_ettr(progress["time"], progress["step"], step_s, resolution_h)
    rest_h = realised.lost_h - named["lost_h"].sum()
    losses = named.astype({"n": "Int64"})
    if rest_h > resolution_h / 100:
        rest = pd.DataFrame({"reason": [UNNAMED], "lost_h": [rest_h], "n": pd.array([pd.NA], dtype="Int64")})
        losses = pd.concat([losses, rest], ignore_index=True)
    losses = losses.sort_values("lost_h", ascending=False, ignore_index=True)
    losses.insert(2, "share", losses["lost_h"] / losses["lost_h"].sum())
    losses["term"] = losses["reason"].map(REASONS).fillna(NOT_MODELLED)
    return PublishedRun(realised, losses, Scenario.load(name))


def against_model() -> pd.DataFrame:
    """The ETTR that published runs really had, beside the one that hardware failures and checkpoints alone would leave.

    Returns
    -------
    DataFrame
        ``name``, ``run`` (title), ``realised``, ``low``, ``high`` (from the resolution of the diary's time stamps),
        ``modelled`` (:func:`ettr.budget.exact` of the preset of the same name), ``difference`` (modelled less
        realised), ``lost_h`` and ``modelled_lost_h`` (what the model would lose of the same wall clock) [h].

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
