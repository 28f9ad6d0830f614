"""Ways to smooth a power series, each with what it costs: a second load, a floor, and stores of energy."""

from ettr.power.smoothing.battery import Battery
from ettr.power.smoothing.comparing import compare
from ettr.power.smoothing.figures import option_figure
from ettr.power.smoothing.power_floor import PowerFloor
from ettr.power.smoothing.rack_storage import RackStorage
from ettr.power.smoothing.result import Smoothed
from ettr.power.smoothing.secondary_load import SecondaryLoad
from ettr.power.smoothing.sizing import Sized, options, size, smooth
from ettr.power.smoothing.target import Target

__all__ = [
    "Battery",
    "PowerFloor",
    "RackStorage",
    "SecondaryLoad",
    "Sized",
    "Smoothed",
    "Target",
    "compare",
    "option_figure",
    "options",
    "size",
    "smooth",
]
