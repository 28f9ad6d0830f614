"""Constants of the step-time model, fitted to published runs.

A fit uses some rows of a study and leaves the others out, so that its residuals on those are a test.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ettr.core.errors import InputError, UnknownName
from ettr.evidence.reading import columns
from ettr.scaling import Constants, Layout, Network, StepTime, Transformer, step_time

if TYPE_CHECKING:
    import pandas as pd


NAMES = tuple(field.name for field in fields(Constants))
_PRIOR = Constants(kernel_efficiency=0.75, jitter=0.05, overlap=0.5, latency_us=4.7)
PRIOR_SD = Constants(kernel_efficiency=0.15, jitter=0.03, overlap=0.3, latency_us=1.5)
"""Standard deviations of the priors of the constants (assumed; the latency is that of NCCL's cost model)."""
_LOWEST = Constants(kernel_efficiency=0.2, jitter=0.0, overlap=0.0, latency_us=0.0)
_HIGHEST = Constants(kernel_efficiency=1.0, jitter=0.3, overlap=1.0, latency_us=50.0)
IDENTIFIED_BELOW = 2 / 3
"""The data determine a constant if its standard deviation is below this share of the prior's."""
ROW_SD_POINTS = 1.5
"""Standard deviation of a row around the model: rounding and every effect left out of the model (assumed)."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Constants of the step-time model, fitted to a study.

    Attributes
    ----------
    study : str
        Name of the study.
    constants : Constants
        Most probable values.
    sd : Constants
        Standard deviations.
    rows : DataFrame
        One row per published run: ``run_id``, ``title``, ``n_gpus`` [GPUs], ``measured_pct``, ``computed_pct`` and
        ``residual_points`` (model FLOPs utilisation or, if ``relative_to`` names a run, throughput per GPU relative to
        that run) [%], ``waiting_share`` (of the computed step), ``used`` (false: left out of the fit), ``source``,
        ``status``, ``note``.

    Examples
    --------
    >>> fitted = fit("megascale")
    >>> fitted.identified
    ('kernel_efficiency',)
    >>> fitted.sample(3).jitter.shape
    (3,)
    """

    study: str
    constants: Constants
    sd: Constants
    _covariance: np.ndarray
    _runs: list[dict[str, Any]]

    @functools.cached_property
    def rows(self) -> pd.DataFrame:
        """One row per published run."""
        import pandas as pd

        names = ["run_id", "title", "n_gpus", "measured_pct", "relative_to", "used", "source", "status", "note"]
        rows = pd.DataFrame(self._runs)[names].astype({"n_gpus": int})
        computed = _computed_pct(self._runs, self.constants)
        waits = [float(_step(run, self.constants).waiting_share) for run in self._runs]
        residuals = computed - rows["measured_pct"]
        return rows.assign(computed_pct=computed, residual_points=residuals, waiting_share=waits)

    @property
    def identified(self) -> tuple[str, ...]:
        """Names of the constants that the data determine; the prior dominates the others."""
        ratio = {name: getattr(self.sd, name) / getattr(PRIOR_SD, name) for name in NAMES}
        return tuple(name for name in NAMES if ratio[name] < IDENTIFIED_BELOW)

    def sample(self, n: int, seed: int = 0, fixed: tuple[str, ...] = ()) -> Constants:
        """Draw n sets of constants from the posterior of the fit, as arrays.

        The draws are normal and clipped to the bounds of the fit. The constants named in ``fixed`` keep their value.
        That also narrows the others, because the data determine combinations of constants better than each of them.
        """
        if n < 1:
            raise InputError(f"n must be >= 1, got {n}")
        varies = np.array([name not in fixed for name in NAMES])
        draws = np.tile(_vector(self.constants), (n, 1))
        if varies.any():
            # Covariance conditional on the fixed constants: the inverse of the free block of the precision matrix.
            conditional = np.linalg.inv(np.linalg.inv(self._covariance)[np.ix_(varies, varies)])
            generator = np.random.default_rng(seed)
            draws[:, varies] += generator.multivariate_normal(np.zeros(len(conditional)), conditional, size=n)
        return Constants(*np.clip(draws, _vector(_LOWEST), _vector(_HIGHEST)).T)


@functools.cache
def studies() -> tuple[str, ...]:
    """Return the names of the published studies that constants can be fitted to.

    Examples
    --------
    >>> studies()
    ('megascale', 'megatron', 'llama3', 'fsdp', 'eos')
    """
    return tuple(dict.fromkeys(columns("scaling_runs")["study"]))


@functools.lru_cache(maxsize=16)
def fit(study: str) -> Calibration:
    r"""Fit the constants to the rows of a study that are marked as used.

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
        If there is no such study.

    Notes
    -----
    Maximum a posteriori, by least squares: normal residuals of 1.5 percentage points and wide normal priors. The
    covariance is :math:`(J^T J)^{-1}` at the optimum. Two or four rows cannot determine four constants; the priors
    supply the rest.

    Examples
    --------
    >>> fitted = fit("megascale")
    >>> bool(fitted.rows.query("used")["residual_points"].abs().max() < 3)
    True
    """
    from scipy.optimize import least_squares

    if study not in studies():
        raise UnknownName("study", study, studies())
    runs = _runs_of(study)
    measured, used = (np.array([run[name] for run in runs]) for name in ("measured_pct", "used"))
    prior_mean, prior_sd = _vector(_PRIOR), _vector(PRIOR_SD)

    def residuals(values: np.ndarray) -> np.ndarray:
        """Residuals of the rows and of the priors, each in standard deviations."""
        of_rows = (_computed_pct(runs, Constants(*values)) - measured)[used] / ROW_SD_POINTS
        return np.concatenate([of_rows, (values - prior_mean) / prior_sd])

    bounds = (_vector(_LOWEST), _vector(_HIGHEST))
    optimum = least_squares(residuals, prior_mean, bounds=bounds, x_scale=prior_sd, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    covariance = np.linalg.inv(optimum.jac.T @ optimum.jac)
    constants = Constants(*(float(value) for value in optimum.x))
    return Calibration(study, constants, Constants(*np.sqrt(np.diag(covariance))), covariance, runs)


def _vector(constants: Constants) -> np.ndarray:
    """Constants as an array, in the order of ``NAMES``."""
    return np.array([getattr(constants, name) for name in NAMES], dtype=float)


def _runs_of(study: str) -> list[dict[str, Any]]:
    """Published runs of a study, by column; NaN in an empty cell."""
    table = columns("scaling_runs")
    rows = (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))
    return [row for row in rows if row["study"] == study]


def _computed_pct(runs: list[dict[str, Any]], constants: Constants) -> np.ndarray:
    """Model FLOPs utilisation of each run, or its throughput per GPU relative to the run it refers to. [%]"""
    mfu = {run["run_id"]: float(_step(run, constants).mfu) for run in runs}
    reference = [mfu.get(run["relative_to"], 1.0) for run in runs]
    return np.array([100 * value / base for value, base in zip(mfu.values(), reference, strict=True)])


def _step(run: dict[str, Any], constants: Constants) -> StepTime:
    """Step time of a published run; an empty cell of the network is a perfect link."""

    def cell(name: str, default: float = np.inf) -> float:
        value = float(run[name])
        return default if np.isnan(value) else value

    model = Transformer(
        cell("n_parameters"), int(cell("n_layers")), cell("hidden"), cell("sequence_tokens"), cell("kv_share")
    )
    columns = ("tensor", "context", "pipeline", "virtual_stages", "micro_batch", "sharded")
    layout = Layout(*(int(cell(name)) for name in columns))
    links = Network(
        cell("inside_gb_s"),
        cell("across_gb_s"),
        int(cell("gpus_per_node")),
        cell("pod_gpus"),
        cell("oversubscription", 1.0),
    )
    return step_time(model, layout, cell("n_gpus"), cell("batch_tokens"), cell("peak_tflops"), links, constants)
