"""Which uncertain input decides what a mitigation is worth, and which one comes first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import EttrError, InputError
from ettr.core.report import one_line
from ettr.ranges import Assumed
from ettr.recommendation import variance
from ettr.recommendation.measures import gains
from ettr.recommendation.study import Study

LEAD = "lead of the first"
"""By how much the best mitigation is ahead of the next one at the given inputs."""
_FEWEST_SAMPLES = 8
_NOTHING = "no mitigation to look at: name one or more"


@dataclass(frozen=True, eq=False, repr=False)
class Sobol:
    """Global sensitivity of gains to all inputs together.

    Attributes
    ----------
    indices : DataFrame
        ``of`` (a mitigation's id, or ``lead of the first``), ``title``, ``input``, ``first`` with ``first_error``
        (share of the variance that the input explains alone), ``total`` with ``total_error`` (also with others); errors
        are half the width of the 95% interval.
    samples : DataFrame
        A row a point: a column an input, and one a mitigation with its gain.
    best : DataFrame
        ``id``, ``title``, ``share`` (of the points at which it is the best).
    measure : str
        Which gain.
    """

    indices: pd.DataFrame
    samples: pd.DataFrame
    best: pd.DataFrame
    measure: str

    def __repr__(self) -> str:
        inputs = self.indices["input"].nunique()
        return one_line(self, f"{inputs} inputs at {len(self.samples)} points, by {self.measure}")


def sobol(
    study: Study,
    ids: Iterable[str],
    inputs: Iterable[Assumed],
    n: int = 32,
    measure: str = "days",
) -> Sobol:
    """How much of the variance of each gain each input explains, if all inputs vary together.

    Parameters
    ----------
    study : Study
        Scenario and seed.
    ids : iterable of str
        Mitigations.
    inputs : iterable of Assumed
        With their plausible ranges, as from :func:`ettr.ranges.assumed_inputs`; at most 8 or so, as the number of
        scenarios grows with them.
    n : int
        Points of a Sobol sequence, a power of 2; ``n`` times (inputs + 2) points are looked at.
    measure : str
        Which gain.

    Returns
    -------
    Sobol
        First-order and total indices of each gain, and of the lead of the mitigation that is best as given.

    Raises
    ------
    InputError
        Too few points, fewer than two inputs, or a point at which the job does not get on.

    Notes
    -----
    Inputs are independent, and spread over their ranges as in :func:`ettr.ranges.draws`. Saltelli's sampling and
    estimator, and Jansen's for the total. The seed of the runs is the same at all points, so that the chance of runs
    adds no variance.
    """
    names = study.named(ids, measure, _NOTHING)
    study = study.together(names)
    if n < _FEWEST_SAMPLES or n & (n - 1):
        raise InputError(f"n must be a power of 2 and >= {_FEWEST_SAMPLES}, got {n}")
    varied = tuple(inputs)
    if len(varied) < 2:
        raise InputError(f"at least two inputs are needed to tell them apart, got {len(varied)}")
    points = variance.points(len(varied), n, study.seed)
    values = np.array([[float(one.at(u)) for one, u in zip(varied, point, strict=True)] for point in points])
    gained = _at_points(study, names, varied, values, measure)
    first = names.index(_leader(names, _gains(study, names, measure)))
    answers = {name: (study.catalogue[name].title, gained[:, i]) for i, name in enumerate(names)}
    if len(names) > 1:
        answers[LEAD] = LEAD, gained[:, first] - np.delete(gained, first, axis=1).max(axis=1)
    rows = [row for of, (title, answer) in answers.items() for row in _indices(varied, of, title, answer, study.seed)]
    columns = dict(zip(names, gained.T, strict=True))
    samples = pd.DataFrame(values, columns=[one.field for one in varied]).assign(**columns)
    counts = np.bincount(gained.argmax(axis=1), minlength=len(names)) / len(points)
    best = pd.DataFrame({"id": names, "title": [study.catalogue[name].title for name in names], "share": counts})
    return Sobol(pd.DataFrame(rows), samples, best.sort_values("share", ascending=False, ignore_index=True), measure)


def _at_points(
    study: Study,
    names: list[str],
    varied: tuple[Assumed, ...],
    values: np.ndarray,
    measure: str,
) -> np.ndarray:
    """Gains of the mitigations, a row a point."""
    gained = np.empty((len(values), len(names)))
    for row, point in enumerate(values):
        try:
            at_point = _gains_at(study, dict(zip(varied, point.tolist(), strict=True)), names, measure)
        except EttrError as error:
            where = ", ".join(f"{one.field} = {value:.3g}" for one, value in zip(varied, point, strict=True))
            raise InputError(f"there is no answer at {where}: {error}; give inputs with narrower ranges") from error
        gained[row] = [at_point[name].mean() for name in names]
    return gained


def _indices(varied: tuple[Assumed, ...], of: str, title: str, answer: np.ndarray, seed: int) -> list[dict[str, Any]]:
    """First-order and total indices of one answer."""
    shares = variance.shares(answer, len(varied), seed + 1)  # another seed than that of the points
    return [
        {
            "of": of,
            "title": title,
            "input": one.field,
            "first": float(shares.first[i]),
            "first_error": float(shares.first_error[i]),
            "total": float(shares.total[i]),
            "total_error": float(shares.total_error[i]),
        }
        for i, one in enumerate(varied)
    ]


Gains = dict[str, np.ndarray]
"""What each mitigation gains, run by run."""


def _gains(study: Study, names: list[str], measure: str) -> Gains:
    return {name: gains(study.runs(), study.runs([name]), measure) for name in names}


def _gains_at(study: Study, values: dict[Assumed, float], names: list[str], measure: str) -> Gains:
    """Gains with other inputs."""
    run = study.bare.override({one.field: value for one, value in values.items()})
    return _gains(replace(study, baseline=run), names, measure)


def _leader(names: list[str], of_each: Gains) -> str:
    return max(names, key=lambda name: float(of_each[name].mean()))
