"""Heat: from outdoor air to die temperature, clock and failure rate.

Plain formulas on numbers and arrays; the ``heat`` section of a scenario combines them.
"""

from ettr.thermal.chip import Chip, OperatingPoint, operating_point, speed
from ettr.thermal.hazard import arrhenius_factor
from ettr.thermal.inlet import daily_c, inlet_c
from ettr.thermal.slowest import largest_of, largest_of_many

__all__ = [
    "Chip",
    "OperatingPoint",
    "arrhenius_factor",
    "daily_c",
    "inlet_c",
    "largest_of",
    "largest_of_many",
    "operating_point",
    "speed",
]
