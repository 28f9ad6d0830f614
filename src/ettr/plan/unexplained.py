"""What was measured of a run, beside what the model explains of it."""

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
from ettr.ranges.drawing import ettr_at, own_interval_h
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of, given_at
from ettr.scenario.paths import RATE

ELSEWHERE = "loss spikes, data, slow nodes, queues and waiting for people"
"""Where runs that publish a diary lost what no failure explains (BLOOM, GLM-130B, OPT-175B)."""
_COULD_BE = (RATE, "checkpoint.stall_s", "recovery.restart_min", "recovery.detection_min")
"""Inputs that are asked, in this order, when a run does better than the model allows."""
_SMALLEST, _STEPS = 1e-3, 400
"""Down to which part of its value an input is asked, and in how many steps."""
_LEAST = 0.005
"""Half a point is no more than the model and a measurement may differ by (assumed)."""


@dataclass(frozen=True)
class Unexplained:
    """The part of what a run loses that the model does not explain.

    Attributes
    ----------
    measured, modelled : float
        ETTR by the run's own records, and by the model at the run's own interval.
    share : float
        Their difference: of the wall clock.
    h_per_month, usd_per_month : float
        The same a month. [h], [USD]
    """

    measured: float
    modelled: float
    share: float
    h_per_month: float
    usd_per_month: float

    @property
    def words(self) -> str:
        """What it is, and where such time goes, in two sentences."""
        share = f"{pct(self.share, 0)} of the time"
        lost = f"{share}, {roughly(self.h_per_month)} and {usd(about(self.usd_per_month))} a month"
        return (
            f"You measured {pct(self.measured, 0)}; failures and checkpoints alone would leave {pct(self.modelled, 0)}."
            f" The other {lost}, have causes that no remedy below touches, or an input is wrong. In runs that "
            f"published theirs: {ELSEWHERE}."
        )


def unexplained(scenario: Scenario, modelled: float) -> Unexplained | None:
    """What a run loses beyond the model; None where no ETTR was measured on the size that is asked about.

    Raises
    ------
    InputError
        The run does better than the model allows: which input must be wrong, and by how much.
    """
    measured = scenario.measured
    if measured is None or measured.ettr is None or measured.n_gpus != scenario.cluster.n_gpus:
        return None
    share = modelled - measured.ettr
    if abs(share) < _LEAST:
        return None
    if share < 0:
        raise InputError(_too_good(scenario, measured.ettr, modelled))
    hours = share * H_PER_MONTH
    return Unexplained(measured.ettr, modelled, share, hours, hours * scenario.usd_per_h)


def _too_good(scenario: Scenario, measured: float, modelled: float) -> str:
    """Which inputs could be wrong, and what each would have to be at the run's own interval."""
    plain = budget.without_extras(scenario)
    could = list(_could_be(plain.scenario, measured))
    remedy = f": it takes {', or '.join(could)}" if could else ": more than one input must be wrong"
    if plain.left_out and not could:
        remedy = f": check {mechanisms(plain.left_out)}"
    return (
        f"a measured ETTR of {pct(measured)} is more than the {pct(modelled)} that the other inputs allow{remedy} "
        "(measured.ettr)"
    )


def _could_be(scenario: Scenario, measured: float) -> Iterator[str]:
    """Each input that alone would allow the measured ETTR, with the value that would."""
    for path in _COULD_BE:
        given = scenario.failure_rate if path == RATE else float(given_at(scenario, path) or 0.0)
        if given <= 0 or path not in scenario.swept:
            continue
        values = given * np.geomspace(1.0, _SMALLEST, _STEPS)
        at = {path: values}
        enough = ettr_at(scenario, at, own_interval_h(scenario, any_interval(scenario, at))) >= measured
        if not enough.any() or enough[0]:  # the value is no obstacle
            continue
        value = float(values[enough.argmax()])
        if path == RATE:
            mttf_h = scenario.job_mttf_h
            yield f"a time to failure of at least {roughly(mttf_h * given / value)}, not {roughly(mttf_h)}"
        else:
            yield f"{amount_of(path, Scenario)} at most {limit(about(value))} {unit_of(path)}, not {limit(given)}"
    interval_h, ettr = best_h(any_interval(scenario))
    own = 1.0 if isinstance(scenario.checkpoint.interval_min, str) else float(ettr_at(scenario, {})[0])
    if own < measured <= float(ettr):
        yield f"a checkpoint every {roughly(float(interval_h))}, not {roughly(scenario.interval_h)}"
