"""Mitigations beside each other on the same failures: each alone, several together, and what the answer rests on."""

from ettr.recommendation.advice import Advice, advise
from ettr.recommendation.alone import COMPARED, IN_PLACE, TRIED, Comparison, mitigations
from ettr.recommendation.attribution import Attribution, interactions, shapley
from ettr.recommendation.break_even import along, at_prices, break_evens
from ettr.recommendation.closed import closed_gain
from ettr.recommendation.inputs import Input, effects, uncertain
from ettr.recommendation.measures import UNITS, Difference, Runs, difference, gain, run_scenario
from ettr.recommendation.portfolios import EXACT, GREEDY, Portfolio, cost_usd, portfolio
from ettr.recommendation.sensitivity import Sobol, sobol, tornado
from ettr.recommendation.study import Study, study
from ettr.scenario.paths import N_GPUS as SIZE
from ettr.scenario.paths import RATE

__all__ = [
    "COMPARED",
    "EXACT",
    "GREEDY",
    "IN_PLACE",
    "RATE",
    "SIZE",
    "TRIED",
    "UNITS",
    "Advice",
    "Attribution",
    "Comparison",
    "Difference",
    "Input",
    "Portfolio",
    "Runs",
    "Sobol",
    "Study",
    "advise",
    "along",
    "at_prices",
    "break_evens",
    "closed_gain",
    "cost_usd",
    "difference",
    "effects",
    "gain",
    "interactions",
    "mitigations",
    "portfolio",
    "run_scenario",
    "shapley",
    "sobol",
    "study",
    "tornado",
    "uncertain",
]
