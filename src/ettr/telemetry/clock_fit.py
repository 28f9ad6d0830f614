"""How dynamic power grows with the clock, at high load."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr.telemetry.estimates import Estimate, with_errors

BUSY = 0.9
"""Utilisation from which load is high."""
LEAST_RANGE = 1.08
"""Highest over lowest clock that it takes."""
LEAST_SAMPLES = 50
_LEAST, _MOST = 1.0, 4.0
"""What an exponent may be; a GPU takes no other."""


def exponent(samples: pd.DataFrame, leak_w: np.ndarray, settled: np.ndarray) -> Estimate:
    """k in P - L(T) = a f^k, by least squares of the logarithms.

    Parameters
    ----------
    samples : DataFrame
        Of one GPU, as in ``Telemetry.samples``.
    leak_w : ndarray
        Leakage at its temperature, which is taken off. [W]
    settled : ndarray of bool
        Whether it stands on a plateau.

    Returns
    -------
    Estimate
        The exponent. It takes the same work at every clock.
    """
    power_w, clock_mhz, load = (samples[name].to_numpy() for name in ("power_w", "clock_mhz", "utilisation"))
    known = settled & np.isfinite(power_w) & np.isfinite(leak_w)
    if not np.isfinite(clock_mhz[known]).any():
        return _not("the clock is not recorded")
    if not np.isfinite(load[known]).any():
        return _not("utilisation is not recorded, so that a lower clock cannot be told from less work")
    use = known & (load >= BUSY) & np.isfinite(clock_mhz) & (power_w > leak_w)
    n = int(use.sum())
    if n < LEAST_SAMPLES:
        return _not(f"{n} settled samples at a utilisation of {BUSY:.0%} or more; it takes {LEAST_SAMPLES}", n)
    low, high = np.quantile(clock_mhz[use], [0.02, 0.98])
    if high < LEAST_RANGE * low:
        return _not(f"at high load the clock moves by {high / low - 1:.1%}; it takes {LEAST_RANGE - 1:.0%}", n)
    log_clock, log_power = np.log(clock_mhz[use]), np.log(power_w[use] - leak_w[use])
    design = np.column_stack([np.ones(n), log_clock - log_clock.mean()])
    values = np.linalg.lstsq(design, log_power, rcond=None)[0]
    solution = with_errors(values, design, log_power - design @ values)
    k, (first, last) = float(values[1]), solution.interval(1)
    if not _LEAST <= k <= _MOST:
        return _not(f"{k:.2g} is no exponent of a clock: the work was not the same at each clock", n)
    if (last - first) / 2 > k:
        return _not(f"the interval is as wide as the value, {k:.2g} ({first:.2g} to {last:.2g})", n)
    return Estimate("clock exponent", "", k, first, last, n, note="the same work at each clock")


def _not(why: str, n: int = 0) -> Estimate:
    return Estimate("clock exponent", "", n=n, why_not=why)
