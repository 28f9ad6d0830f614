"""Every sentence with a number: written from results, so it stays true under other parameters."""

from ettr.findings import effective_time, failures, reference
from ettr.findings.words import Finding, duration

__all__ = ["Finding", "duration", "effective_time", "failures", "reference"]
