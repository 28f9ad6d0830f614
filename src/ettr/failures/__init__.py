"""Statistics of failures."""

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

__all__ = [
    "FailureRate",
    "RateRatio",
    "count_intervals",
    "failure_rate",
    "gamma_interval",
    "gpu_rate_per_h",
    "job_mttf_h",
    "poisson_interval",
    "rate_intervals",
    "rate_ratio",
    "without_each",
]
