"""Uncertainty of sizing, from the failure rate and the constants of scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ettr.core.seeds import Seed, seed_of
from ettr.scaling import Constants, calibration
from ettr.scenario import Scenario
from ettr.scenario.training import StepModel
from ettr.sizing.yields import Yields, throughput_of, yields

N_DRAWS = 200
TAILS = (0.05, 0.95)
"""Quantiles at the ends of a 90% interval."""


@dataclass(frozen=True)
class SizingDraws:
    """Draws of the failure rate and of the constants of scaling from their uncertainty.

    Attributes
    ----------
    rate_per_1000_node_days : ndarray or None
        One value per draw; None where the scenario gives no uncertainty for its rate. [1/(1000 node-days)]
    constants : Constants
        Arrays with one value per draw; constants that the scenario sets itself are fixed.
    source : str
        Origin of the draws, as part of a sentence.
    """

    rate_per_1000_node_days: np.ndarray | None
    constants: Constants
    source: str


def draws(scenario: Scenario, n_draws: int = N_DRAWS, seed: Seed = 0) -> SizingDraws:
    """Return draws of the failure rate and of the constants of scaling.

    Parameters
    ----------
    scenario : Scenario
        A job given by its tokens.
    n_draws : int
        Number of draws.
    seed : int or numpy.random.Generator
        Seed of the random numbers.

    Returns
    -------
    SizingDraws
        Rates are evenly spaced quantiles of the gamma posterior in random order; constants are normal with the
        covariance of their fit.

    Examples
    --------
    >>> drawn = draws(Scenario.load("llama3-405b-tokens"), 100)
    >>> drawn.rate_per_1000_node_days.size
    100
    """
    section = scenario.scaling or StepModel.model_validate({})
    fitted = calibration.fit(section.like)
    seed = seed_of(seed)
    constants = section.over(fitted.sample(n_draws, seed, section.fixed))
    constants = Constants(*(np.broadcast_to(value, n_draws) for value in vars(constants).values()))
    posterior = scenario.failures.posterior
    source = f"from the residuals of the study {section.like!r}"
    if posterior is None or scenario.failure_rate == 0:
        return SizingDraws(None, constants, f"{source}; the failure rate is treated as exact")
    from scipy.special import gammaincinv

    quantiles = np.random.default_rng(seed + 1).permutation((np.arange(n_draws) + 0.5) / n_draws)
    rates = gammaincinv(posterior.shape, quantiles) / posterior.node_days * 1000
    return SizingDraws(rates, constants, f"{source} and from the uncertainty of the failure rate")


def yields_of_draws(scenario: Scenario, n_gpus: np.ndarray, drawn: SizingDraws) -> Yields:
    """Return the yields of all draws (first axis) at all sizes, each size with its central layout."""
    chosen = throughput_of(scenario).fastest(n_gpus)
    constants = Constants(*(np.asarray(value)[:, None] for value in vars(drawn.constants).values()))
    rates = drawn.rate_per_1000_node_days
    return yields(scenario, n_gpus[None, :], chosen, constants, None if rates is None else rates[:, None])
