"""What was measured of a run, beside what the model explains of it."""

from __future__ import annotations

from dataclasses import dataclass

from ettr.core.errors import InputError
from ettr.core.sentences import about, duration, limit, pct, roughly, usd
from ettr.core.units import H_PER_MONTH, unit_of
from ettr.plan.fields import solvable
from ettr.plan.losses import usd_per_h
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of
from ettr.scenario.paths import INTERVAL, RATE

ELSEWHERE = "loss spikes, data, slow nodes, queues and waiting for people"
"""Where runs that publish a diary lost what no failure explains (BLOOM, GLM-130B, OPT-175B)."""
_COULD_BE = (RATE, "checkpoint.stall_s", "recovery.restart_min", "recovery.detection_min")
"""Inputs that are asked, in this order, when a run does better than the model allows."""


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
            f" The other {lost}, has causes that no remedy below touches, or an input is wrong. In runs that "
            f"published theirs: {ELSEWHERE}."
        )


def unexplained(scenario: Scenario, modelled: float) -> Unexplained | None:
    """What a run loses beyond the model; None where no ETTR was measured on the size that is asked about.

    Raises
    ------
    InputError
        The run does better than the model allows: which input must be wrong, and by how much.
    """
    known = scenario.measured
    if known is None or known.ettr is None or known.n_gpus != scenario.cluster.n_gpus:
        return None
    share = known.ettr - modelled
    if share > 0:
        raise InputError(_too_good(scenario, known.ettr, modelled))
    hours = -share * H_PER_MONTH
    return Unexplained(known.ettr, modelled, -share, hours, hours * usd_per_h(scenario))


def _too_good(scenario: Scenario, measured: float, modelled: float) -> str:
    """Which inputs could be wrong, and what each would have to be."""
    from ettr.plan.needs import required  # loads the simulator, which most plans do without

    run = scenario.override({INTERVAL: "best", "measured": None})
    could = []
    for path in _COULD_BE:
        if path not in solvable(run):
            continue
        need = required(run, path, measured)
        if need.value is None or need.value <= 0:
            continue
        if path == RATE:
            mttf_h = run.job_mttf_h * run.failure_rate / need.value
            could.append(f"a time to failure of at least {duration(mttf_h)}, not {roughly(run.job_mttf_h)}")
        else:
            value = f"{limit(need.value, 'at most')} {unit_of(path)}"
            could.append(f"{amount_of(path, Scenario)} at most {value}, not {limit(need.given)}")
    remedy = f": it takes {', or '.join(could)}" if could else ": more than one input must be wrong"
    return (
        f"a measured ETTR of {pct(measured)} is more than the {pct(modelled)} that the other inputs allow{remedy} "
        "(measured.ettr)"
    )
