"""Every sentence with a number: written from results, so it stays true under other parameters."""

from ettr.findings import (
    changing_rates,
    disagreement,
    effective_time,
    failure_log,
    failure_rates,
    failures,
    interval,
    notice,
    real_runs,
    reference,
    requirements,
    scale,
    stores,
    tiers,
    uncertainty,
)
from ettr.findings.words import Finding, duration

__all__ = [
    "Finding",
    "changing_rates",
    "disagreement",
    "duration",
    "effective_time",
    "failure_log",
    "failure_rates",
    "failures",
    "interval",
    "notice",
    "real_runs",
    "reference",
    "requirements",
    "scale",
    "stores",
    "tiers",
    "uncertainty",
]
