"""Statistics of failures: rates, shapes, trend, nodes, repairs, and what to conclude."""

from ettr.failures.fitting import Fit, NodeStatistics, fit, plain
from ettr.failures.gaps import GapFit
from ettr.failures.rates import (
    FailureRate,
    RateRatio,
    count_intervals,
    failure_rate,
    gamma_interval,
    gpu_rate_per_h,
    job_mttf_h,
    poisson_interval,
    rate_intervals,
    rate_ratio,
    without_each,
)
from ettr.failures.verdicts import Verdict
from ettr.failures.views import forecasts_made, gaps_fitted, gaps_seen, lives_after_repair, node_counts, since_repair

__all__ = [
    "FailureRate",
    "Fit",
    "GapFit",
    "NodeStatistics",
    "RateRatio",
    "Verdict",
    "count_intervals",
    "failure_rate",
    "fit",
    "forecasts_made",
    "gamma_interval",
    "gaps_fitted",
    "gaps_seen",
    "gpu_rate_per_h",
    "job_mttf_h",
    "lives_after_repair",
    "node_counts",
    "plain",
    "poisson_interval",
    "rate_intervals",
    "rate_ratio",
    "since_repair",
    "without_each",
]
