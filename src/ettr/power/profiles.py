"""Power profile of a job: the power of its GPUs in each state, from the scenario."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ettr.core.errors import UnknownName
from ettr.core.units import W_PER_MW
from ettr.power.waveform import Phase, Waveform
from ettr.scenario import Gpu, Scenario
from ettr.scenario.electricity import OTHER_W, Power
from ettr.scenario.gpu import Smoothing

TRAINING = ("training", "rework")
"""States of a timeline with training steps."""

_LEVELS = {
    "checkpoint": "checkpoint_w",
    "detection": "hang_w",
    "restart": "restart_w",
    "queue": "idle_w",
    "maintenance": "idle_w",
}
"""Power level of a GPU in each other state."""
_NO_PROCESS = "idle_w"
COMMUNICATION_SHARE = 0.2
"""Share of a step in exposed communication (assumed); sizing computes its own value."""
JITTER_S = 0.02
"""Standard deviation of the time at which a node changes phase (assumed). [s]"""
LOSS_SHARE = 0.05
"""Losses in transformers and uninterruptible power supplies, relative to IT power (assumed); at most PUE - 1."""
COOLANT_S = 180.0
"""Time constant of cooling: heat takes minutes from the chip to the chiller (assumed). [s]"""


@dataclass(frozen=True)
class Profile:
    """Power of a job by state.

    Attributes
    ----------
    n_gpus, gpus_per_node : int
        Size of the job and of a node. [GPUs]
    waveform : Waveform
        Power of a GPU over a training step.
    levels_w : mapping of str to float
        Power of a GPU in each state without training steps. [W]
    rated_w : float
        Power limit of a GPU. [W]
    overshoot : float
        Peak of a GPU over some milliseconds, relative to its limit; not part of any series.
    other_w : float
        Power of the other IT equipment per GPU, assumed constant. [W]
    pue : float
        Power usage effectiveness: mean facility power divided by IT power.
    g_per_kwh : float
        Carbon intensity of the electricity. [g/kWh]
    title : str
        Name of the GPU.
    smoothing : Smoothing or None
        Power smoothing built into the GPU.
    """

    n_gpus: int
    gpus_per_node: int
    waveform: Waveform
    levels_w: Mapping[str, float]
    rated_w: float
    overshoot: float = 1.0
    other_w: float = OTHER_W
    pue: float = 1.1
    g_per_kwh: float = 369.0
    title: str = ""
    smoothing: Smoothing | None = None

    @property
    def states(self) -> tuple[str, ...]:
        """States that have a power."""
        return (*TRAINING, *self.levels_w)

    @property
    def loss_share(self) -> float:
        """Losses between the grid and the IT equipment, relative to IT power."""
        return min(LOSS_SHARE, self.pue - 1)

    @property
    def cooling_share(self) -> float:
        """Mean cooling power relative to IT power: PUE - 1 minus the losses."""
        return self.pue - 1 - self.loss_share

    @property
    def rated_mw(self) -> float:
        """Sum of the power limits of all GPUs. [MW]"""
        return self.n_gpus * self.rated_w / W_PER_MW

    @property
    def other_mw(self) -> float:
        """Power of the other IT equipment. [MW]"""
        return self.n_gpus * self.other_w / W_PER_MW

    def gpu_w(self, state: str) -> float:
        """Return the mean power of a GPU in a state. [W]

        Raises
        ------
        UnknownName
            If a timeline has no such state.
        """
        if state in TRAINING:
            return self.waveform.mean_w
        if state not in self.levels_w:
            raise UnknownName("state", state, self.states)
        return self.levels_w[state]

    def it_mw(self, state: str) -> float:
        """Return the mean IT power in a state. [MW]"""
        return self.n_gpus * (self.gpu_w(state) + self.other_w) / W_PER_MW

    def facility_mw(self, state: str) -> float:
        """Return the facility power after a long time in a state. [MW]"""
        return self.pue * self.it_mw(state)

    @property
    def incoherent_mw(self) -> float:
        r"""RMS fluctuation of power from the random phase changes of individual nodes. [MW]

        Notes
        -----
        Independent nodes fluctuate around their mean in proportion to :math:`\sqrt{N}`: a phase change by
        :math:`\Delta` adds :math:`\Delta^2\sigma/\sqrt{\pi}` to the variance of a node, integrated over the step, if
        phases are longer than the jitter. A series shows the mean of many nodes and leaves this fluctuation out.
        """
        phases = [phase for phase in self.waveform.phases if phase.share > 0]
        changes = [after.gpu_w - before.gpu_w for before, after in zip(phases, phases[1:] + phases[:1], strict=True)]
        variance = sum(change**2 for change in changes) * self.waveform.jitter_s / math.sqrt(math.pi)
        n_nodes = self.n_gpus / self.gpus_per_node
        node_rms_w = self.gpus_per_node * (variance / self.waveform.step_s) ** 0.5
        return float(n_nodes**0.5 * node_rms_w / W_PER_MW)


def profile(scenario: Scenario, part: str | Gpu | None = None) -> Profile:
    """Return the power of a scenario's job in each state. [W per GPU]

    Parameters
    ----------
    scenario : Scenario
        Scenario; without a ``power`` section the assumed values apply.
    part : str or Gpu, optional
        GPU instead of the scenario's: a preset, a file or a ``Gpu``.

    Returns
    -------
    Profile
        Power levels of the GPU: a step consists of compute and communication, GPUs hang in a collective until the
        failure is detected, and no process runs in the queue or during maintenance. A power floor raises the levels of
        states with processes, and a lower power limit (``heat.limit_w``) caps all levels.

    Raises
    ------
    InputError
        If the GPU is unknown, or its file cannot be read.

    Examples
    --------
    >>> from ettr import Scenario
    >>> llama3 = profile(Scenario.load("llama3-405b"))
    >>> round(llama3.it_mw("training"), 2), round(llama3.it_mw("queue"), 2)
    (16.07, 6.99)
    """
    section = scenario.power or Power.model_validate({})
    gpu = scenario.part if part is None else part if isinstance(part, Gpu) else Gpu.load(part)
    cap_w = (scenario.heat.limit_w if scenario.heat else None) or math.inf
    floor_w = section.floor_share * gpu.limits.power_w

    def level_w(level: str) -> float:
        lowest_w = 0.0 if level == _NO_PROCESS else floor_w
        return min(max(float(getattr(gpu.levels, level)), lowest_w), cap_w)

    wave = Waveform(
        (
            Phase("compute", 1 - COMMUNICATION_SHARE, level_w("compute_w")),
            Phase("communication", COMMUNICATION_SHARE, level_w("communication_w")),
        ),
        section.step_s,
        min(JITTER_S, section.step_s),
    )
    return Profile(
        n_gpus=scenario.cluster.n_gpus,
        gpus_per_node=scenario.cluster.gpus_per_node,
        waveform=wave,
        levels_w=MappingProxyType({state: level_w(level) for state, level in _LEVELS.items()}),
        rated_w=gpu.limits.power_w,
        overshoot=gpu.limits.overshoot,
        other_w=section.other_w,
        pue=section.pue,
        g_per_kwh=section.carbon_g_per_kwh,
        title=gpu.title,
        smoothing=gpu.smoothing,
    )
