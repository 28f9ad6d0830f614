"""The constants of scaling, fitted to published runs.

A fit takes some rows of a study and leaves others out, so that what it says of these is a test.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from ettr import evidence
from ettr.core.errors import InputError, UnknownName
from ettr.scaling import Constants, Layout, Network, StepTime, Transformer, step_time

if TYPE_CHECKING:
    import pandas as pd


NAMES = tuple(field.name for field in fields(Constants))
_PRIOR = Constants(kernel_efficiency=0.75, jitter=0.05, overlap=0.5, latency_us=4.7)
PRIOR_SD = Constants(kernel_efficiency=0.15, jitter=0.03, overlap=0.3, latency_us=1.5)
"""What is taken as known of the constants before a study is read (assumed; the latency from NCCL's own cost model)."""
_LOWEST = Constants(kernel_efficiency=0.2, jitter=0.0, overlap=0.0, latency_us=0.0)
_HIGHEST = Constants(kernel_efficiency=1.0, jitter=0.3, overlap=1.0, latency_us=50.0)
SAID_BY_ROWS = 2 / 3
"""Rows moved a constant where they leave less than this of its prior's standard deviation."""
ROW_SD_POINTS = 1.5
"""How far a row may lie off the model, rounding and everything that the model leaves out together (assumed)."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Constants of a study.

    Attributes
    ----------
    study : str
        Its name.
    constants : Constants
        Their most probable values.
    sd : Constants
        Their standard deviations.
    rows : DataFrame
        A row a published run: ``run_id``, ``title``, ``n_gpus`` [GPUs], ``measured_pct``, ``computed_pct`` and
        ``residual_points`` (of model FLOPs utilisation, or where ``relative_to`` names a run, of throughput a GPU over
        that run's) [%], ``waiting_share`` (of the computed step), ``used`` (false: left out of the fit), ``source``,
        ``status``, ``note``.
    """

    study: str
    constants: Constants
    sd: Constants
    rows: pd.DataFrame
    _covariance: np.ndarray

    @property
    def moved(self) -> tuple[str, ...]:
        """Names of the constants that the rows moved; the others are mostly the prior's."""
        left = {name: getattr(self.sd, name) / getattr(PRIOR_SD, name) for name in NAMES}
        return tuple(name for name in NAMES if left[name] < SAID_BY_ROWS)

    def sample(self, n: int, seed: int = 0, known: tuple[str, ...] = ()) -> Constants:
        """Constants as uncertain as the fit leaves them, as arrays of so many.

        Normal, and kept within the bounds of the fit. Those that are known from elsewhere do not vary, which also
        leaves less doubt about the others: rows tell what the constants do together better than what each does.
        """
        if n < 1:
            raise InputError(f"n must be >= 1, got {n}")
        varies = np.array([name not in known for name in NAMES])
        drawn = np.tile(_vector(self.constants), (n, 1))
        if varies.any():
            left = np.linalg.inv(np.linalg.inv(self._covariance)[np.ix_(varies, varies)])
            drawn[:, varies] += np.random.default_rng(seed).multivariate_normal(np.zeros(len(left)), left, size=n)
        return Constants(*np.clip(drawn, _vector(_LOWEST), _vector(_HIGHEST)).T)


@functools.cache
def studies() -> tuple[str, ...]:
    """Names of the studies that constants can be taken from."""
    return tuple(dict.fromkeys(evidence.table("scaling_runs")["study"]))


@functools.lru_cache(maxsize=16)
def fit(study: str) -> Calibration:
    r"""Fit the constants to the rows of a study that are to be used.

    Parameters
    ----------
    study : str
        One of :func:`studies`.

    Returns
    -------
    Calibration
        Constants, their standard deviations, and all rows with their residuals.

    Raises
    ------
    UnknownName
        No such study.

    Notes
    -----
    The most probable constants under normal residuals of 1.5 points and wide normal priors, by least squares; the
    covariance is :math:`(J^T J)^{-1}` there. Four constants are more than two or four rows can tell, and the priors
    say what the rows do not.

    Examples
    --------
    >>> fitted = fit("megascale")
    >>> bool(fitted.rows.query("used")["residual_points"].abs().max() < 3)
    True
    """
    from scipy.optimize import least_squares

    table = evidence.table("scaling_runs")
    if study not in studies():
        raise UnknownName("study", study, studies())
    table = table[table["study"] == study].reset_index(drop=True)
    measured, used = table["measured_pct"].to_numpy(float), table["used"].to_numpy(bool)
    centre, spread = _vector(_PRIOR), _vector(PRIOR_SD)

    def misfit(values: np.ndarray) -> np.ndarray:
        off = (_computed_pct(table, Constants(*values)) - measured)[used] / ROW_SD_POINTS
        return np.concatenate([off, (values - centre) / spread])

    bounds = (_vector(_LOWEST), _vector(_HIGHEST))
    optimum = least_squares(misfit, centre, bounds=bounds, x_scale=spread, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    covariance = np.linalg.inv(optimum.jac.T @ optimum.jac)
    constants = Constants(*(float(value) for value in optimum.x))
    computed = _computed_pct(table, constants)
    waits = [float(_step(row, constants).waiting_share) for row in table.itertuples()]
    columns = ["run_id", "title", "n_gpus", "measured_pct", "relative_to", "used", "source", "status", "note"]
    rows = table[columns].assign(computed_pct=computed, residual_points=computed - measured, waiting_share=waits)
    return Calibration(study, constants, Constants(*np.sqrt(np.diag(covariance))), rows, covariance)


def _vector(constants: Constants) -> np.ndarray:
    return np.array([getattr(constants, name) for name in NAMES], dtype=float)


def _computed_pct(table: pd.DataFrame, constants: Constants) -> np.ndarray:
    """Utilisation of each row, or throughput a GPU over that of the row that it names. [%]"""
    mfu = {row.run_id: float(_step(row, constants).mfu) for row in table.itertuples()}
    whole = [mfu.get(row.relative_to, 1.0) for row in table.itertuples()]
    return np.array([100 * value / of for value, of in zip(mfu.values(), whole, strict=True)])


def _step(row: object, constants: Constants) -> StepTime:
    def of(name: str, without: float = np.inf) -> float:
        value = float(getattr(row, name))
        return without if np.isnan(value) else value

    model = Transformer(of("n_parameters"), int(of("n_layers")), of("hidden"), of("sequence_tokens"), of("kv_share"))
    cuts = ("tensor", "context", "pipeline", "virtual_stages", "micro_batch", "sharded")
    layout = Layout(*(int(of(name)) for name in cuts))
    links = Network(
        of("inside_gb_s"), of("across_gb_s"), int(of("gpus_per_node")), of("pod_gpus"), of("oversubscription", 1.0)
    )
    return step_time(model, layout, of("n_gpus"), of("batch_tokens"), of("peak_tflops"), links, constants)
