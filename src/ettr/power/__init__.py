"""Power: what a run draws, what the grid sees of it, and what smoothing costs."""

from ettr.power.bills import bill, carbon_by_country, energy
from ettr.power.binning import Place, PowerSeries, series
from ettr.power.limits import BROKEN, KEPT, UNKNOWN, check, specification, specifications
from ettr.power.measures import Metrics, largest_swing_mw, metrics
from ettr.power.profiles import Profile, profile
from ettr.power.report import Drawn, drawn
from ettr.power.smoothing import (
    Battery,
    PowerFloor,
    RackStorage,
    SecondaryLoad,
    Sized,
    Smoothed,
    Target,
    compare,
    floor_overhead,
    floor_range,
    option_figure,
    options,
    size,
    smooth,
)
from ettr.power.spectra import CRITICAL_HZ, band_share, spectrum
from ettr.power.waveform import Phase, Waveform

__all__ = [
    "BROKEN",
    "CRITICAL_HZ",
    "KEPT",
    "UNKNOWN",
    "Battery",
    "Drawn",
    "Metrics",
    "Phase",
    "Place",
    "PowerFloor",
    "PowerSeries",
    "Profile",
    "RackStorage",
    "SecondaryLoad",
    "Sized",
    "Smoothed",
    "Target",
    "Waveform",
    "band_share",
    "bill",
    "carbon_by_country",
    "check",
    "compare",
    "drawn",
    "energy",
    "floor_overhead",
    "floor_range",
    "largest_swing_mw",
    "metrics",
    "option_figure",
    "options",
    "profile",
    "series",
    "size",
    "smooth",
    "specification",
    "specifications",
    "spectrum",
]
