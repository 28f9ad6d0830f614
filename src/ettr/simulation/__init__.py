"""Monte Carlo: one training run, simulated many times.

:func:`simulate` follows the rules of the methods page from failure to failure; means, intervals and finishing dates
are in the :class:`Simulation` that it returns.
"""

from __future__ import annotations

from ettr.simulation.outcome import PERCENTILES, Simulation
from ettr.simulation.runs import MOST_FAILURES, MOST_RUNS, simulate

__all__ = ["MOST_FAILURES", "MOST_RUNS", "PERCENTILES", "Simulation", "simulate"]
