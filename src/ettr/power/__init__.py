"""Power: draw of a run over time, its swings at the grid, and the cost of smoothing them."""

from ettr.power.bills import bill, carbon_by_country, energy
from ettr.power.binning import Place, PowerSeries, series
from ettr.power.limits import EXCEEDED, UNKNOWN, WITHIN, check, specification, specifications
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
    "CRITICAL_HZ",
    "EXCEEDED",
    "UNKNOWN",
    "WITHIN",
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
