"""The gap between a measured ETTR and the modelled one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ettr import budget
from ettr.budget.intervals import any_interval, best_h
from ettr.budget.simplify import mechanisms
from ettr.core.errors import InputError
from ettr.core.sentences import about, limit, pct, roughly, usd
from ettr.core.units import H_PER_MONTH, unit_of
from ettr.ranges.drawing import current_interval_h, ettr_at
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of, given_at
from ettr.scenario.paths import RATE

ELSEWHERE = "loss spikes, data, slow nodes, queues and waiting for people"
"""Causes of lost time other than failures in published training diaries (BLOOM, GLM-130B, OPT-175B)."""
_SUSPECTS = (RATE, "checkpoint.stall_s", "recovery.restart_min", "recovery.detection_min")
"""Inputs that may be wrong, in this order, when a run does better than the model allows."""
_SMALLEST, _STEPS = 1e-3, 400
"""Smallest fraction of its value that an input is tried at, and the number of steps."""
_TOLERANCE = 0.005
"""A model and a measurement may differ by half a point (assumed)."""


@dataclass(frozen=True)
class Unexplained:
    """The lost time that the model does not explain.

    Attributes
    ----------
    measured, modelled : float
        Measured ETTR, and modelled ETTR at the current interval.
    share : float
        Their difference, as a share of the wall clock.
    h_per_month, usd_per_month : float
        Unexplained loss per month. [h], [USD]

    Examples
    --------
    >>> run = Scenario.of({"cluster": {"n_gpus": 4096}, "failures": {"job_mttf_h": 9}, "measured": {"ettr": 0.8}})
    >>> round(unexplained(run, 0.9).share, 2)
    0.1
    """

    measured: float
    modelled: float
    share: float
    h_per_month: float
    usd_per_month: float

    @property
    def words(self) -> str:
        """The unexplained loss and its usual causes, in sentences."""
        lost = f"{roughly(self.h_per_month)} or {usd(about(self.usd_per_month))} per month"
        return (
            f"You measured an ETTR of {pct(self.measured, 0)}; failures and checkpoints alone explain a drop to "
            f"{pct(self.modelled, 0)}. The remaining {pct(self.share, 0)} of the time ({lost}) has causes that no "
            f"mitigation below addresses, or an input is wrong. Causes that other runs published: {ELSEWHERE}."
        )


def unexplained(scenario: Scenario, modelled: float) -> Unexplained | None:
    """Return the lost time that the model does not explain; None without an ETTR that was measured on this size.

    Parameters
    ----------
    scenario : Scenario
        The run, with ``measured.ettr``.
    modelled : float
        Modelled ETTR at the current interval.

    Raises
    ------
    InputError
        The measured ETTR is above the modelled one. The message names the inputs that could be wrong.

    Examples
    --------
    >>> run = Scenario.of({"cluster": {"n_gpus": 4096}, "failures": {"job_mttf_h": 9}, "measured": {"ettr": 0.8}})
    >>> round(unexplained(run, 0.9).h_per_month, 2)
    73.05
    """
    measured = scenario.measured
    if measured is None or measured.ettr is None or measured.n_gpus != scenario.cluster.n_gpus:
        return None
    share = modelled - measured.ettr
    if abs(share) < _TOLERANCE:
        return None
    if share < 0:
        raise InputError(_too_good(scenario, measured.ettr, modelled))
    hours = share * H_PER_MONTH
    return Unexplained(measured.ettr, modelled, share, hours, hours * scenario.usd_per_h)


def _too_good(scenario: Scenario, measured: float, modelled: float) -> str:
    """Return which inputs could be wrong, with the value that each would need at the current interval."""
    covered = budget.without_extras(scenario)
    suspects = list(_suspects(covered.scenario, measured))
    remedy = f": it needs {', or '.join(suspects)}" if suspects else ": more than one input must be wrong"
    if covered.left_out and not suspects:
        remedy = f": check {mechanisms(covered.left_out)}"
    return (
        f"measured.ettr must be at most {pct(modelled)}, the ETTR that the other inputs allow, got {pct(measured)}"
        f"{remedy}"
    )


def _suspects(scenario: Scenario, measured: float) -> Iterator[str]:
    """Yield each input that alone would allow the measured ETTR, with the value that it needs."""
    for path in _SUSPECTS:
        current = scenario.failure_rate if path == RATE else float(given_at(scenario, path) or 0.0)
        if current <= 0 or path not in scenario.swept:
            continue
        values = current * np.geomspace(1.0, _SMALLEST, _STEPS)
        at = {path: values}
        enough = ettr_at(scenario, at, current_interval_h(scenario, any_interval(scenario, at))) >= measured
        if not enough.any() or enough[0]:  # this input is not the obstacle
            continue
        value = float(values[enough.argmax()])
        if path == RATE:
            mttf_h = scenario.job_mttf_h
            yield f"an MTTF of at least {roughly(mttf_h * current / value)}, not {roughly(mttf_h)}"
        else:
            yield f"{amount_of(path, Scenario)} at most {limit(about(value))} {unit_of(path)}, not {limit(current)}"
    interval_h, ettr = best_h(any_interval(scenario))
    at_current = 1.0 if isinstance(scenario.checkpoint.interval_min, str) else float(ettr_at(scenario, {})[0])
    if at_current < measured <= float(ettr):
        yield f"a checkpoint every {roughly(float(interval_h))}, not {roughly(scenario.interval_h)}"
