"""Statistics of failures: rates, shapes, trend, nodes, repairs, and what to conclude."""

from ettr.failures.dispersion import Dispersion, Gamma
from ettr.failures.fitting import Fit, NodeStatistics, fit
from ettr.failures.gaps import GapFit
from ettr.failures.groups import CohortTest
from ettr.failures.hazards import burn_in_count, settled_rate
from ettr.failures.lemons import Lemons
from ettr.failures.lifetimes import LifetimeFit
from ettr.failures.prediction import Forecast, ForecastScore
from ettr.failures.rates import (
    FailureRate,
    RateRatio,
    count_intervals,
    failure_rate,
    gamma_interval,
    job_mttf_h,
    poisson_interval,
    rate_intervals,
    rate_ratio,
    without_each,
)
from ettr.failures.repairs import RepairTimes
from ettr.failures.repeats import RepeatRisk
from ettr.failures.roles import RoleCheck
from ettr.failures.trend import Trend
from ettr.failures.verdicts import Verdict
from ettr.failures.views import forecasts_made, gaps_fitted, gaps_seen, lives_after_repair, node_counts, since_repair

__all__ = [
    "CohortTest",
    "Dispersion",
    "FailureRate",
    "Fit",
    "Forecast",
    "ForecastScore",
    "Gamma",
    "GapFit",
    "Lemons",
    "LifetimeFit",
    "NodeStatistics",
    "RateRatio",
    "RepairTimes",
    "RepeatRisk",
    "RoleCheck",
    "Trend",
    "Verdict",
    "burn_in_count",
    "count_intervals",
    "failure_rate",
    "fit",
    "forecasts_made",
    "gamma_interval",
    "gaps_fitted",
    "gaps_seen",
    "job_mttf_h",
    "lives_after_repair",
    "node_counts",
    "poisson_interval",
    "rate_intervals",
    "rate_ratio",
    "settled_rate",
    "since_repair",
    "without_each",
]
