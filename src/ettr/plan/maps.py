"""Where a target is reached, over two fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ettr.budget.intervals import at_best
from ettr.core.errors import InputError
from ettr.core.report import one_line
from ettr.plan.fields import Field, Sense, field_of
from ettr.plan.needs import check_target, run_of
from ettr.plan.solving import last_reaching
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL

if TYPE_CHECKING:
    import pandas as pd


_AROUND = 10.0
"""A field is shown from a tenth of the scenario's own value to ten times it."""


@dataclass(frozen=True, repr=False, eq=False)
class Frontier:
    """The line on which a target is just reached.

    Attributes
    ----------
    x, y : str
        Dotted paths of the two fields.
    sense : {"at most", "at least"}
        Whether the target is reached below the line, or above.
    target_ettr : float
        The target.
    points : DataFrame
        A row a value of x: both fields by their paths, in their units (y infinite where every value reaches the
        target), ``reaches`` (False where none does; y is NaN there), ``best_ettr`` (ETTR with y at its ideal),
        ``interval_min`` (best interval on the line [min]; NaN where there is none).
    """

    x: str
    y: str
    sense: Sense
    target_ettr: float
    points: pd.DataFrame

    def __repr__(self) -> str:
        return one_line(self, f"{self.y} for an ETTR of {self.target_ettr:.6g}, at {len(self.points)} of {self.x}")


def frontier(
    scenario: Scenario | str | Path, x: str, y: str, target_ettr: float, x_values: Any = None, n: int = 200
) -> Frontier:
    """For each value of one field, the last value of another that reaches a target, at the best interval everywhere.

    Parameters
    ----------
    scenario : Scenario, or its name or file
        The run.
    x, y : str
        Two of :func:`solvable`; ``y`` no interval, which has two ends.
    target_ettr : float
        The target, in (0, 1).
    x_values : array-like, optional
        Values of ``x`` in its unit; from a tenth of the scenario's own to ten times it if not given.
    n : int
        How many, if they are not given.

    Returns
    -------
    Frontier
        The largest ``y`` of a cost, the smallest of a benefit, each within 10⁻⁶ of itself; GPUs need not fill nodes.

    Raises
    ------
    InputError
        An unknown field, the same field twice, a value that breaks the field's rule, a target outside (0, 1), or
        arguments in another order.

    Examples
    --------
    >>> from ettr import Scenario, plan
    >>> run = Scenario.load("llama3-405b")
    >>> line = plan.frontier(run, "cluster.n_gpus", "recovery.restart_min", 0.9, x_values=[8192, 16_384])
    >>> line.points["recovery.restart_min"].round(1).tolist()
    [18.1, 6.8]
    """
    import pandas as pd

    given = {"first_field": x, "second_field": y, "target": target_ettr, "x_values": x_values}
    scenario = run_of("frontier", scenario=scenario, **given)
    check_target(target_ettr)
    across, up = _two(scenario, x, y)
    if up.sense == "between":
        raise InputError(f"y must be no interval, which has two ends, got {y}: ask plan.required or plan.ettr_map")
    values = _values(scenario, across, x_values, n)
    reach = last_reaching(scenario, up, target_ettr, {x: values})
    reaches = ~np.isnan(reach.value)
    y_values = np.where(reaches, np.minimum(reach.value, up.top), up.steps()[0])
    interval = at_best(scenario, {x: values, y: y_values}).interval_min
    points = pd.DataFrame(
        {
            x: values,
            y: reach.value,
            "reaches": reaches,
            "best_ettr": reach.best_ettr,
            "interval_min": np.where(reaches, interval, np.nan),
        }
    )
    return Frontier(x, y, up.sense, target_ettr, points)


def ettr_map(
    scenario: Scenario | str | Path, x: str, y: str, x_values: Any = None, y_values: Any = None, n: int = 200
) -> pd.DataFrame:
    """ETTR at the best interval over two fields.

    Parameters
    ----------
    scenario : Scenario, or its name or file
        The run.
    x, y : str
        Two of :func:`solvable`; with ``checkpoint.interval_min`` among them, that interval is used instead.
    x_values, y_values : array-like, optional
        Values in the fields' units; from a tenth of the scenario's own to ten times it if not given.
    n : int
        How many of each, if they are not given.

    Returns
    -------
    DataFrame
        A row a pair, y varying fastest: both fields by their paths, in their units, ``interval_min`` [min], ``ettr``
        in [0, 1], ``answered`` (False where the exact form has no answer, as for a run that would never end: ``ettr``
        is 0 there).

    Raises
    ------
    InputError
        An unknown field, the same field twice, a value that breaks the field's rule, or arguments in another order.

    Examples
    --------
    >>> from ettr import Scenario, plan
    >>> run = Scenario.load("llama3-405b")
    >>> plan.ettr_map(run, "cluster.n_gpus", "checkpoint.stall_s", n=2).round(3)["ettr"].tolist()
    [0.98, 0.943, 0.457, 0.302]
    """
    import pandas as pd

    scenario = run_of("ettr_map", scenario=scenario, first_field=x, second_field=y, x_values=x_values)
    across, up = _two(scenario, x, y)
    x_grid = _values(scenario, across, x_values, n)
    y_grid = _values(scenario, up, y_values, n)
    best = at_best(scenario, {x: x_grid[:, None], y: y_grid})
    shape = (x_grid.size, y_grid.size)
    return pd.DataFrame(
        {
            x: np.repeat(x_grid, y_grid.size),
            y: np.tile(y_grid, x_grid.size),
            "interval_min": np.broadcast_to(best.interval_min, shape).ravel(),
            "ettr": best.ettr.ravel(),
            "answered": best.ettr.ravel() > 0,
        }
    )


def _two(scenario: Scenario, x: str, y: str) -> tuple[Field, Field]:
    if x == y:
        raise InputError(f"x and y must be different fields, got {x} twice")
    return field_of(scenario, x), field_of(scenario, y)


def _values(scenario: Scenario, field: Field, given: Any, n: int) -> np.ndarray:
    if given is not None:
        values = np.atleast_1d(scenario.check_values(field.path, given))
        if values.ndim != 1 or not values.size:
            raise InputError(f"values of {field.path} must be a list of numbers, got an array of shape {values.shape}")
        return values
    if n < 2:
        raise InputError(f"n must be >= 2, got {n}")
    if not field.given:
        raise InputError(f"values of {field.path} must be given: the scenario's own is 0, nothing to show around")
    low, high = field.given / _AROUND, min(field.given * _AROUND, field.top)
    least = field.low if field.path == INTERVAL or field.low > 0 else 0.0
    return np.geomspace(max(low, least), high, n)
