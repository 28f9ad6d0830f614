"""What smoothing is for: a limit on the swing."""

from __future__ import annotations

from dataclasses import dataclass

from ettr.core.errors import InputError
from ettr.core.validity import above_zero
from ettr.power.binning import PowerSeries
from ettr.power.measures import largest_swing_mw


@dataclass(frozen=True)
class Target:
    """Limits that a smoothed series must keep.

    Attributes
    ----------
    range_share : float
        Largest swing within ``window_s``, over the rated power of the GPUs.
    window_s : float
        Time within which a swing counts. [s]

    Examples
    --------
    >>> Target(0.2).range_share
    0.2
    """

    range_share: float
    window_s: float = 10.0

    def __post_init__(self) -> None:
        above_zero("range_share", self.range_share)
        above_zero("window_s", self.window_s, unit="s")

    def load(self, series: PowerSeries) -> float:
        """How much of its limits a series uses; it keeps them up to 1.

        Raises
        ------
        InputError
            A series whose rated power or swing is not known.
        """
        if series.profile is None:
            raise InputError("a target is a share of the rated power, which a series without profile does not have")
        return largest_swing_mw(series, self.window_s) / (self.range_share * series.profile.rated_mw)
