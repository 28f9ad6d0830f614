"""Formulas in use for ETTR or goodput, each applied to a run as its users apply it.

A calculator uses the inputs it has and ignores the others. All use the run's mean time to failure M = 1/λ.
:data:`CALCULATORS` lists them with author, source and limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr.budget.closed_forms import rsc as rsc_budget
from ettr.checkpoint.waiting import growth
from ettr.core.validity import valid_only
from ettr.scenario import JobInHours

INPUTS = {
    "interval": "checkpoint.interval_min",
    "stall": "checkpoint.stall_s",
    "detection": "recovery.detection_min",
    "queue": "recovery.queue_min",
    "restart": "recovery.restart_min",
}
"""Inputs of a calculator besides the MTTF, and their fields."""

_LOSSES = "losses below the whole time"


def young(run: JobInHours) -> Any:
    r"""Return the first-order share: one stall per interval, and half an interval and a recovery per failure.

    Notes
    -----
    :math:`1 - w/\tau - \lambda(\tau/2 + R)`. Young (1974) has the first two losses; later users added the recovery R.
    """
    return _some("young", 1 - run.stall / run.tau - run.rate * (run.tau / 2 + run.recovery))


def daly(run: JobInHours) -> Any:
    r"""Return Daly's share: expected run time of a job whose failures also strike stalls and restarts.

    Notes
    -----
    :math:`\tau / [M e^{\lambda R}(e^{\lambda(\tau+w)} - 1)]`, the solution time over wall-clock time. Detection and
    queue are part of R.
    """
    with np.errstate(over="ignore"):
        grown = np.exp(run.rate * run.recovery) * growth(run.rate, run.tau + run.stall)
    return _some("daly", run.tau / grown)


def rsc(run: JobInHours) -> Any:
    r"""Return the RSC share: failure losses on top of training and stalls, with the queue as a separate factor.

    Notes
    -----
    :math:`[1 - \lambda(u_0 + \tau/2)] / [(1 + w/\tau)(1 + \lambda q)]` with detection and restart as :math:`u_0`.
    """
    kept = replace(run, persist=0.0, slowdown=0.0, stops_per_h=0.0, silent=0.0, tiers=(), prediction=None)
    return rsc_budget(replace(kept, include_start=False)).ettr


def availability(run: JobInHours) -> Any:
    r"""Return the availability: MTTF less stalls, over MTTF, recovery and half a cycle.

    Notes
    -----
    :math:`M(1 - w/L)/(M + R + L/2)` with :math:`L = \tau + w`: the ratio whose maximum over L is the interval that the
    paper prints (:func:`ettr.checkpoint.availability_interval`).
    """
    cycle = run.tau + run.stall
    return _some("availability", (1 - run.stall / cycle) / (1 + run.rate * (run.recovery + cycle / 2)))


def google(run: JobInHours) -> Any:
    r"""Return the runtime goodput: lost work and restarts, over the time in which all machines are available.

    Notes
    -----
    :math:`1 - \lambda(\tau/2 + r)/(1 - \lambda t_{re})`: an evaluation window less the cost of its failures. Detection
    and queue are the time to reschedule :math:`t_{re}`, which the window excludes.
    """
    available = 1 - run.rate * run.downtime
    lost = run.rate * (run.tau / 2 + run.restart_after)
    return valid_only("google", _LOSSES, 1 - lost / np.where(available > 0, available, 1.0), lost >= available)


def tco_cold(run: JobInHours) -> Any:
    r"""Return one minus the goodput expense with cold spares: all GPUs wait until the node is replaced.

    Notes
    -----
    :math:`1 - \lambda(t_{id} + \tau/2 + t_{init} + t_{repair})`. The queue of the run is the wait for a replacement.
    """
    return _some("tco_cold", 1 - run.rate * (run.detection + run.tau / 2 + run.restart_after + run.queue))


def tco_hot(run: JobInHours) -> Any:
    r"""Return one minus the goodput expense with hot spares: only the failed node waits for its replacement.

    Notes
    -----
    :math:`1 - \lambda(t_{id} + \tau/2 + t_{init} + t_{repair}\,b/j)`; one node is the blast radius b of the job j.
    """
    lost = run.detection + run.tau / 2 + run.restart_after + run.queue / run.n_nodes
    return _some("tco_hot", 1 - run.rate * lost)


def tco_tolerant(run: JobInHours) -> Any:
    r"""Return one minus the goodput expense of a fault-tolerant job, which never returns to a checkpoint.

    Notes
    -----
    :math:`1 - \lambda(t_{id} + t_{failover} + t_{repair}\,b/j)`; the restart of the run is the failover.
    """
    return _some("tco_tolerant", 1 - run.rate * (run.detection + run.restart_after + run.queue / run.n_nodes))


def airesim(run: JobInHours) -> Any:
    r"""Return compute time over training time in a repair simulator, while spares last.

    Notes
    -----
    :math:`1/(1 + \lambda R)`: nothing fails during recovery, and lost compute counts as compute.
    """
    return _some("airesim", 1 / (1 + run.rate * run.recovery))


def netcap(run: JobInHours) -> Any:
    r"""Return the renewal formula: time between failures less lost work and stalls.

    Notes
    -----
    :math:`\tau / [(M + R)(e^{\lambda(\tau+w)} - 1)]`, its sum of expected losses as one fraction, with enough spares
    and no node in repair.
    """
    with np.errstate(over="ignore"):
        tries = growth(run.rate, run.tau + run.stall)
    return _some("netcap", run.tau / ((1 + run.rate * run.recovery) * tries))


def mlsysim(run: JobInHours) -> Any:
    r"""Return one minus a stall per Young interval and a recovery per failure; the run's own interval is ignored.

    Notes
    -----
    :math:`1 - w/\sqrt{2wM} - \lambda R`: its reliability model. No work is lost.
    """
    stall_share = np.sqrt(np.asarray(run.stall * run.rate) / 2)
    return _some("mlsysim", 1 - stall_share - run.rate * run.recovery)


def mlsysim_checkpoint(run: JobInHours) -> Any:
    r"""Return one minus the share of stalls: the checkpoint model of mlsysim, which ignores failures.

    Notes
    -----
    :math:`1 - w/\tau`.
    """
    return _some("mlsysim_checkpoint", 1 - run.stall / run.tau)


def mtbi(run: JobInHours) -> Any:
    r"""Return the useful hours per mean time between interruptions, over that time and the recovery.

    Notes
    -----
    :math:`[M\tau/(\tau + w) - \tau/2]/(M + R)`.
    """
    useful = run.tau / (run.tau + run.stall) - run.rate * run.tau / 2
    return _some("mtbi", useful / (1 + run.rate * run.recovery))


def ubc(run: JobInHours) -> Any:
    r"""Return the renewal formula of a course, in which an epoch ends in a checkpoint or a failure.

    Notes
    -----
    :math:`\tau / [w + (e^{\lambda\tau} - 1)(M + R)]`: nothing fails in a stall or a recovery.
    """
    with np.errstate(over="ignore"):
        failed = growth(run.rate, run.tau) * (1 + run.rate * run.recovery)
    return _some("ubc", run.tau / (run.stall + failed))


def _some(name: str, share: Any) -> Any:
    """Return a share above zero; at or below zero, where most originals clip, there is no answer."""
    return valid_only(name, _LOSSES, share, np.asarray(share) <= 0)


@dataclass(frozen=True)
class Calculator:
    """A formula in use, with its source and its limits.

    Attributes
    ----------
    title : str
        Common name.
    ettr : callable
        Function from a run in hours to its share; NaN (OutsideValidity for a single run) without an answer.
    who : str
        Author.
    year : int
        Year of publication.
    source : str
        Bibliography key.
    how_read : str
        Document in which the formula was read.
    formula : str
        Formula in the symbols of the methods page, with R for the total recovery.
    reads : tuple of str
        Its inputs besides the MTTF, by names of :data:`INPUTS`.
    leaves_out : str
        Losses of the exact model that it leaves out.
    """

    title: str
    ettr: Callable[[JobInHours], Any]
    who: str
    year: int
    source: str
    how_read: str
    formula: str
    reads: tuple[str, ...]
    leaves_out: str


_RECOVERY = "detection", "queue", "restart"
_ALL = tuple(INPUTS)
_NO_STALL = "interval", *_RECOVERY

CALCULATORS = {
    "young": Calculator(
        "First order",
        young,
        "Young",
        1974,
        "young1974",
        "as quoted by later papers, which added the recovery",
        "1 - w/τ - λ(τ/2 + R)",
        _ALL,
        "overlapping losses (it assumes rare failures); the background write",
    ),
    "daly": Calculator(
        "Expected run time",
        daly,
        "Daly",
        2006,
        "daly2006",
        "as quoted by later papers; reproduces its printed cases",
        "τ / [M e^(λR) (e^(λ(τ+w)) - 1)]",
        _ALL,
        "the background write; that no failure strikes in detection and queue",
    ),
    "rsc": Calculator(
        "RSC formula",
        rsc,
        "Meta",
        2025,
        "kokolis2025",
        "the paper, version 2",
        "[1 - λ(d + r + τ/2)] / [(1 + w/τ)(1 + λq)]",
        _ALL,
        "overlapping losses; failures in restarts; the background write",
    ),
    "availability": Calculator(
        "Availability",
        availability,
        "NVIDIA",
        2024,
        "saxena2024",
        "the abstract; the ratio is derived from its printed interval",
        "M(1 - w/L) / (M + R + L/2), L = τ + w",
        _ALL,
        "failures in restarts; the smaller loss at short MTTFs; the background write",
    ),
    "google": Calculator(
        "Runtime goodput",
        google,
        "Google Cloud",
        2024,
        "google2024goodput",
        "a transcript of the article's figures; another text quotes the formula for a single interval",
        "1 - λ(τ/2 + r) / [1 - λ(d + q)]",
        _NO_STALL,
        "stalls; detection and queue (part of its scheduling goodput); the background write",
    ),
    "tco_cold": Calculator(
        "Goodput expense, cold spares",
        tco_cold,
        "SemiAnalysis",
        2026,
        "semianalysis2026tco",
        "a stored copy of the article; the calculator itself not seen",
        "1 - λ(d + τ/2 + r + q)",
        _NO_STALL,
        "stalls; failures in restarts; the background write",
    ),
    "tco_hot": Calculator(
        "Goodput expense, hot spares",
        tco_hot,
        "SemiAnalysis",
        2026,
        "semianalysis2026tco",
        "a stored copy of the article; the calculator itself not seen",
        "1 - λ(d + τ/2 + r + q/nodes)",
        _NO_STALL,
        "stalls; the queue, except for one node; failures in restarts; the background write",
    ),
    "tco_tolerant": Calculator(
        "Goodput expense, fault tolerant",
        tco_tolerant,
        "SemiAnalysis",
        2026,
        "semianalysis2026tco",
        "a stored copy of the article; the calculator itself not seen",
        "1 - λ(d + r + q/nodes)",
        _RECOVERY,
        "stalls and lost work (the job never returns to a checkpoint); the queue, except for one node",
    ),
    "airesim": Calculator(
        "AIReSim's ETR",
        airesim,
        "Pattabiraman and others",
        2026,
        "pattabiraman2026airesim",
        "its code",
        "1 / (1 + λR)",
        _RECOVERY,
        "stalls and lost work; failures in recoveries",
    ),
    "netcap": Calculator(
        "netcap",
        netcap,
        "dimaggi-ai",
        2026,
        "nanyonga2026netcap",
        "its code",
        "τ / [(M + R)(e^(λ(τ+w)) - 1)]",
        _ALL,
        "failures in restarts; the background write",
    ),
    "mlsysim": Calculator(
        "mlsysim, reliability",
        mlsysim,
        "Harvard, Machine Learning Systems",
        2026,
        "reddi2026mlsysim",
        "its code",
        "1 - w/√(2wM) - λR",
        ("stall", *_RECOVERY),
        "lost work; the run's own interval; the background write",
    ),
    "mlsysim_checkpoint": Calculator(
        "mlsysim, checkpoints",
        mlsysim_checkpoint,
        "Harvard, Machine Learning Systems",
        2026,
        "reddi2026mlsysim",
        "its code",
        "1 - w/τ",
        ("interval", "stall"),
        "failures; the background write",
    ),
    "mtbi": Calculator(
        "goodput-mtbi",
        mtbi,
        "inigogonzalezgarcia",
        2026,
        "gonzalezgarcia2026goodput",
        "its code",
        "[Mτ/(τ+w) - τ/2] / (M + R)",
        _ALL,
        "failures in restarts; repeated stalls; the background write",
    ),
    "ubc": Calculator(
        "A course's simulator",
        ubc,
        "University of British Columbia",
        2026,
        "ubc2026checkpoint",
        "its code",
        "τ / [w + (e^(λτ) - 1)(M + R)]",
        _ALL,
        "failures in stalls and restarts; the background write",
    ),
}
"""Formulas in use, by name."""
