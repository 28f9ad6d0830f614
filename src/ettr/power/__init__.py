"""Power: what a run draws, what the grid sees of it, and what smoothing costs."""

from ettr.power.energy import bill, carbon_by_country, energy
from ettr.power.profile import Profile, profile
from ettr.power.series import PowerSeries, pieces, series
from ettr.power.waveform import Phase, Waveform

__all__ = [
    "Phase",
    "PowerSeries",
    "Profile",
    "Waveform",
    "bill",
    "carbon_by_country",
    "energy",
    "pieces",
    "profile",
    "series",
]
