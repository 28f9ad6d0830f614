"""The failure section: rate, modes, and changes over time."""

from __future__ import annotations

import functools
import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ettr.core.units import H_PER_DAY, ROUNDING
from ettr.scenario.basics import (
    NEVER,
    Assumed,
    Count,
    Factor,
    LessIsBetter,
    Meta,
    Number,
    Section,
    Share,
    Spread,
    Text,
    With,
)
from ettr.scenario.fleet import Lemons
from ettr.scenario.paths import RATE

_COUNT = ("failures.n_events", "failures.node_days")
MEANS = ("failures.job_mttf_h", "failures.node_mttf_h", "failures.gpu_mttf_h")
"""Fields that state the failure rate as a mean time."""
_CONVERSION = "failures.exposed_share"


def _instead(*kept: str) -> tuple[str, ...]:
    """Return the alternative fields for the failure rate, which a new value replaces."""
    return tuple(path for path in (*_COUNT, RATE, *MEANS, "failures.rate_gamma") if path not in kept)


class Mode(Section):
    """A failure mode, such as faulty GPUs, with its share of all failures."""

    says = "nodes lost at once and latencies by kind of failure"

    name: Annotated[Text, Meta(aliases=("failure mode", "root cause"))] = Field(
        description="name of the failure mode, e.g. Faulty GPU"
    )
    category: Text = Field("other", description="category of the failure mode, e.g. hardware")
    n_events: Number | None = Field(None, ge=0, description="failures of this mode among failures.n_events")
    share: Number | None = Field(None, ge=0, le=1, description="fraction of all failures, instead of n_events")
    factor: Annotated[Factor, Meta(aliases=("rate multiplier", "ECC errors"))] = Field(
        1.0, ge=0, description="multiplies the rate of this mode; the other modes keep their rates"
    )
    detection_min: Annotated[Number | None, Meta(aliases=("NCCL timeout", "watchdog timeout", "timeout"))] = Field(
        None, ge=0, description="detection time of this mode, if different"
    )
    restart_min: Annotated[Number | None, Meta(aliases=("MTTR",))] = Field(
        None, ge=0, description="restart time of this mode, if different"
    )
    n_lost_nodes: Annotated[Count, Meta(idle=NEVER, aliases=("correlated failures",))] = Field(
        1, ge=0, description="nodes whose memory is lost at once; relevant for tiers with copies (assumed: 1)"
    )
    latency_h: Annotated[Number | None, Meta(aliases=("SDC", "silent data corruption", "detection latency"))] = Field(
        None, ge=0, description="silent failures: mean time from corruption to detection"
    )
    latency_cv: Spread = Field(
        0.0, description="coefficient of variation of latency_h, log-normal; 0: always the mean (assumed: 0)"
    )
    n_out_nodes: Annotated[Count, Meta(idle=NEVER, aliases=("blast radius", "switch failure", "rack failure"))] = Field(
        1,
        ge=0,
        description="nodes that leave the job for repair: 0 restarts in place, more than 1 is a rack or a switch; "
        "relevant with spares, lemons and lifetimes (assumed: 1)",
    )
    repair_h: Annotated[Number | None, Meta(aliases=("MTTR",))] = Field(
        None,
        ge=0,
        description="mean repair time of this mode; such repairs always succeed and need no technician; relevant "
        "with repair",
    )

    repaired_together: bool = Field(
        False, description="all its nodes return at once, as after repair of a rack, a switch or a cooling loop"
    )

    heat_share: Annotated[Share, Meta(aliases=("Arrhenius",))] = Field(
        0.0, description="fraction of its failures that are temperature-activated; relevant with heat (assumed: 0)"
    )
    heat_energy_ev: Annotated[
        Number,
        Meta(idle=With("heat_share"), aliases=("activation energy", "Arrhenius")),
    ] = Field(0.7, ge=0, le=3, description="activation energy of these failures in the Arrhenius model (assumed: 0.7)")

    @property
    def of_nodes(self) -> bool:
        """True if the mode affects single nodes, lemons more often than others, and is detected."""
        return self.n_out_nodes == 1 and self.latency_h is None

    @model_validator(mode="after")
    def _spread_of_a_latency(self) -> Mode:
        if self.latency_cv > 0 and self.latency_h is None:
            raise ValueError("latency_cv needs latency_h, the mean latency")
        return self


class BurnIn(Section):
    """Burn-in of a new fleet: rate(t) = rate x [1 + (factor - 1) exp(-(t + age) / decay)].

    The scenario's rate, also one that was counted, is that of the settled fleet.
    """

    says = "burn-in"

    factor: Annotated[Number, Meta(aliases=("infant mortality",))] = Field(
        ge=0, description="failure rate of a new fleet relative to the settled rate"
    )
    decay_days: Number = Field(gt=0, description="exposed time in which the excess rate falls to 37%")
    age_days: Annotated[Assumed, Meta(aliases=("burn-in test",))] = Field(
        0.0, ge=0, description="exposed time of the fleet before the job starts"
    )


class Lifetime(Section):
    """Weibull lifetimes of nodes, renewed after each failure.

    A given rate is the long-run rate; a counted rate is the rate of nodes that were new when the count began.
    """

    says = "lifetimes of the nodes"

    shape: Annotated[Number, Meta(aliases=("Weibull", "wear-out"))] = Field(
        ge=0.2,
        le=5,
        description="Weibull shape: below 1 most failures come early, above 1 late; 1 is exponential (memoryless)",
    )
    start: Literal["stationary", "new"] = Field(
        "stationary",
        description="age of the nodes at the start: stationary (mixed ages) or all new (assumed: stationary)",
    )


class Gamma(Section):
    """A gamma distribution of the failure rate: mean shape / node_days."""

    shape: Annotated[
        Number, Meta(says="uncertainty in the failure rate", aliases=("uncertainty of the failure rate",))
    ] = Field(ge=0.001, description="equivalent number of observed failures")
    node_days: Annotated[
        Number, Meta(says="uncertainty in the failure rate", aliases=("uncertainty of the failure rate",))
    ] = Field(gt=0, description="equivalent observed exposure")


class Failures(Section):
    """The failure rate: a count with its exposure, a rate, or a mean time to failure; and its modes."""

    n_events: Annotated[
        Number | None,
        Meta(
            says="number of failures",
            voids=(*_instead(*_COUNT), _CONVERSION),
            aliases=("failure count", "interruptions"),
        ),
    ] = Field(None, ge=0, description="number of failures observed")
    node_days: Annotated[
        Number | None, Meta(says="node-days observed", voids=(*_instead(*_COUNT), _CONVERSION), aliases=("exposure",))
    ] = Field(None, gt=0, description="node-days over which n_events was counted")
    rate_per_1000_node_days: Annotated[
        LessIsBetter | None,
        Meta(says="failure rate", voids=_instead(RATE), aliases=("failure rate", "AFR")),
    ] = Field(None, ge=0, description="failure rate, instead of a count")
    rate_gamma: Gamma | None = Field(None, description="uncertainty of a given rate, as a gamma distribution")
    job_mttf_h: Annotated[
        Number | None,
        Meta(
            says="time to failure",
            voids=(*_instead(MEANS[0]), _CONVERSION, "failures.observed_nodes"),
            aliases=("MTBF", "MTTF", "mean time between failures", "mean time to failure"),
        ),
    ] = Field(None, gt=0, description="mean time between failures of the job on observed_nodes, instead of a count")
    node_mttf_h: Annotated[
        Number | None,
        Meta(
            says="time to failure of a node",
            voids=(*_instead(MEANS[1]), _CONVERSION),
            aliases=("MTBF", "MTTF", "mean time between failures", "mean time to failure", "spot instance lifetime"),
        ),
    ] = Field(None, gt=0, description="mean time between failures of one node, instead of a count")
    gpu_mttf_h: Annotated[
        Number | None,
        Meta(
            says="time to failure of a GPU",
            voids=(*_instead(MEANS[2]), _CONVERSION),
            aliases=("MTBF", "MTTF", "mean time between failures", "mean time to failure"),
        ),
    ] = Field(
        None,
        gt=0,
        description="mean time between failures of one GPU, its share of the node included, instead of a count",
    )
    rate_clock: Annotated[
        Literal["exposed", "wall"], Meta(says="clock of the failure rate", voids=("failures.exposed_share",))
    ] = Field(
        "exposed",
        description="clock of the rate: exposed counts only time in which failures can strike (training, stalls, "
        "restarts), wall counts all (assumed: exposed; wall for an MTBF)",
    )
    exposed_share: Annotated[Number | None, Meta(says="share of time at risk")] = Field(
        None,
        gt=0,
        le=1,
        description="fraction of the observed wall clock in which failures could strike; computed from the "
        "original scenario if rate_clock is wall",
    )
    observed_nodes: Annotated[
        Count | None, Meta(says="nodes observed", aliases=("scaling the failure rate", "observed cluster size"))
    ] = Field(
        None,
        gt=0,
        description="nodes of the job on which failures and recovery were observed (assumed: those of the cluster "
        "before any change of its size)",
    )
    modes: Annotated[tuple[Mode, ...], Meta(aliases=("failure causes", "root causes"))] = Field(
        (), description="failure modes; the remaining failures form a mode named other"
    )
    burn_in: BurnIn | None = Field(None, description=BurnIn.__doc__)
    lifetime: Lifetime | None = Field(None, description=Lifetime.__doc__)
    lemons: Lemons | None = Field(None, description=Lemons.__doc__)

    @property
    def ways(self) -> tuple[str, ...]:
        """Names of the fields that state the failure rate: one, if they are consistent."""
        counted = ("n_events with node_days",) if self.n_events is not None or self.node_days is not None else ()
        names = (path.removeprefix("failures.") for path in (RATE, *MEANS))
        return (*counted, *(name for name in names if getattr(self, name) is not None))

    @property
    def of_a_job(self) -> bool:
        """True if the failures of a job are stated: their count, or the time between them."""
        return self.n_events is not None or self.job_mttf_h is not None

    @model_validator(mode="after")
    def _one_way_to_give_the_rate(self) -> Failures:
        ways = self.ways
        if len(ways) != 1:
            raise ValueError(
                "needs exactly one of n_events with node_days, rate_per_1000_node_days, job_mttf_h, node_mttf_h or "
                f"gpu_mttf_h; got {' and '.join(ways) or 'none'}"
            )
        if (self.n_events is None) != (self.node_days is None):
            raise ValueError("needs n_events and node_days together")
        if self.rate_gamma is not None and self.rate_per_1000_node_days is None:
            raise ValueError("takes rate_gamma only with rate_per_1000_node_days; a count has its own")
        if self.rate_clock == "exposed" and self.exposed_share not in (None, 1.0):
            raise ValueError("takes exposed_share only with rate_clock: wall")
        return self

    @model_validator(mode="after")
    def _modes_add_up(self) -> Failures:
        names = [mode.name for mode in self.modes]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"has two modes named {name!r}")
        if "other" in names:
            raise ValueError("has a mode named 'other', which is reserved for the remaining failures")
        for mode in self.modes:
            if (mode.n_events is None) == (mode.share is None):
                raise ValueError(f"mode {mode.name!r} needs exactly one of n_events or share")
            if mode.n_events is not None and self.n_events is None:
                raise ValueError(f"mode {mode.name!r} counts events, but failures.n_events is not given")
            if mode.n_events and not self.n_events:
                raise ValueError(f"mode {mode.name!r} counts {mode.n_events:g} events, but failures.n_events is 0")
        if sum(self.shares) > 1 + ROUNDING:
            raise ValueError(f"has modes whose shares sum to {sum(self.shares):.4g}; at most 1")
        return self

    @functools.cached_property
    def shares(self) -> tuple[float, ...]:
        """Share of each mode among all failures, in the order of ``modes``."""
        return tuple(
            mode.share if mode.share is not None else (mode.n_events or 0.0) / max(self.n_events or 0.0, 1e-300)
            for mode in self.modes
        )

    def rate_of(self, gpus_per_node: int, n_nodes: int) -> float:
        """Return failures per 1,000 node-days on the clock of ``rate_clock``, for a job of ``n_nodes`` nodes."""
        if self.rate_per_1000_node_days is not None:
            return self.rate_per_1000_node_days
        if self.n_events is not None:
            return 1000.0 * self.n_events / (self.node_days or math.nan)
        per_node_h = 0.0
        for mttf_h, n in ((self.job_mttf_h, 1 / n_nodes), (self.node_mttf_h, 1), (self.gpu_mttf_h, gpus_per_node)):
            per_node_h += n / mttf_h if mttf_h else 0.0
        return 1000.0 * H_PER_DAY * per_node_h

    def per_node_h(self, rate_per_1000_node_days: Any) -> Any:
        """Return a rate on this clock as failures per node and exposed hour. [1/h]"""
        return rate_per_1000_node_days / (1000 * H_PER_DAY) / (self.exposed_share or 1.0)

    @property
    def posterior(self) -> Gamma | None:
        """Posterior of the rate: from the count (Jeffreys prior), or as stated."""
        if self.n_events is not None and self.node_days is not None:
            return Gamma(shape=self.n_events + 0.5, node_days=self.node_days)
        return self.rate_gamma
