"""Every sentence with a number: written from results, so it stays true under other parameters."""

from ettr.findings import effective_time, failure_log, failure_rates, failures, real_runs, reference
from ettr.findings.words import Finding, duration

__all__ = [
    "Finding",
    "duration",
    "effective_time",
    "failure_log",
    "failure_rates",
    "failures",
    "real_runs",
    "reference",
]
