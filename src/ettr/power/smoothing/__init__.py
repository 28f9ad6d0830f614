"""Options to smooth power swings, with their cost: a secondary load, a GPU power floor, rack storage, a battery."""

from ettr.power.smoothing.comparing import compare, options, size, smooth
from ettr.power.smoothing.floors import PowerFloor, SecondaryLoad, floor_overhead, floor_range
from ettr.power.smoothing.option import Sized, Smoothed, Target, option_figure
from ettr.power.smoothing.stores import Battery, RackStorage

__all__ = [
    "Battery",
    "PowerFloor",
    "RackStorage",
    "SecondaryLoad",
    "Sized",
    "Smoothed",
    "Target",
    "compare",
    "floor_overhead",
    "floor_range",
    "option_figure",
    "options",
    "size",
    "smooth",
]
