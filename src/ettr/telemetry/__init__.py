"""Recordings of GPU power, temperature and clock: record, read, fit and simulate them."""

from ettr.telemetry.estimates import Estimate
from ettr.telemetry.fitted import Level, TelemetryFit
from ettr.telemetry.fitting import fit
from ettr.telemetry.format import Gaps, Telemetry
from ettr.telemetry.loads import LoadFailed
from ettr.telemetry.plans import Step, schedule
from ettr.telemetry.reading import formats, read
from ettr.telemetry.recording import Recording, record
from ettr.telemetry.simulating import simulate

__all__ = [
    "Estimate",
    "Gaps",
    "Level",
    "LoadFailed",
    "Recording",
    "Step",
    "Telemetry",
    "TelemetryFit",
    "fit",
    "formats",
    "read",
    "record",
    "schedule",
    "simulate",
]
