"""Time budgets of a run, its finishing date, and its best checkpoint interval, by analytical models.

Each function takes a scenario and, in ``at``, arrays for some of its fields, so that a map takes one call::

    budget.exact(scenario, {"cluster.n_gpus": n_gpus, "checkpoint.interval_min": interval_min}, product=True)
"""

from ettr.budget.changing import at_mean_rate, mean_rate_per_h, over_time
from ettr.budget.closed_forms import FORMULAS, exact, first_order, rsc
from ettr.budget.finishing_date import Rates, chance, finishing, posterior_rates
from ettr.budget.intervals import (
    BAND_POINTS,
    BestInterval,
    best_interval_min,
    flat_band,
    job_mttf_h,
    shortest_interval_min,
    whole_interval_min,
)
from ettr.budget.refusals import accepted
from ettr.budget.simplify import (
    ClosedForm,
    Simplified,
    closed_form,
    simplified,
    with_immediate_detection,
    without_extras,
)
from ettr.scenario.fields import swept
from ettr.scenario.long_run import changes

__all__ = [
    "BAND_POINTS",
    "FORMULAS",
    "BestInterval",
    "ClosedForm",
    "Rates",
    "Simplified",
    "accepted",
    "at_mean_rate",
    "best_interval_min",
    "chance",
    "changes",
    "closed_form",
    "exact",
    "finishing",
    "first_order",
    "flat_band",
    "job_mttf_h",
    "mean_rate_per_h",
    "over_time",
    "posterior_rates",
    "rsc",
    "shortest_interval_min",
    "simplified",
    "swept",
    "whole_interval_min",
    "with_immediate_detection",
    "without_extras",
]
