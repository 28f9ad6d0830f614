"""What a job draws in each of its states, from the scenario."""

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
"""States of a timeline in which steps are taken."""

_LEVELS = {
    "checkpoint": "checkpoint_w",
    "detection": "hang_w",
    "restart": "restart_w",
    "queue": "idle_w",
    "maintenance": "idle_w",
}
"""Level of a GPU in each other state."""
_NO_PROCESS = "idle_w"
COMMUNICATION_SHARE = 0.2
"""Share of a step that waits in communication that nothing overlaps (assumed); sizing computes its own."""
JITTER_S = 0.02
"""Standard deviation of the moment at which nodes change phase (assumed). [s]"""
LOSS_SHARE = 0.05
"""Lost in transformers and backup supplies, per power used (assumed); a facility with a lower PUE loses no more."""
COOLANT_S = 180.0
"""Time constant with which cooling follows the computers: heat takes minutes from the chip to the chiller (assumed).
[s]"""


@dataclass(frozen=True)
class Profile:
    """Power of a job by state.

    Attributes
    ----------
    n_gpus, gpus_per_node : int
        Size of the job and of a node. [GPUs]
    waveform : Waveform
        A training step, per GPU.
    levels_w : mapping of str to float
        Power of a GPU in each state without steps. [W]
    rated_w : float
        Power limit of a GPU. [W]
    overshoot : float
        Peak of a GPU over its limit for some milliseconds, which no series here holds.
    other_w : float
        Power of the rest of the computers, for each GPU; taken as constant. [W]
    pue : float
        Mean power of the facility over that of its computers.
    g_per_kwh : float
        Carbon intensity of the electricity. [g/kWh]
    title : str
        Name of the GPU.
    smoothing : Smoothing or None
        What the GPU itself can do against swings.
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
        """States whose power is known."""
        return (*TRAINING, *self.levels_w)

    @property
    def loss_share(self) -> float:
        """Lost between grid and computers, per power used."""
        return min(LOSS_SHARE, self.pue - 1)

    @property
    def cooling_share(self) -> float:
        """Mean power of cooling over that of the computers: what the PUE leaves beside the losses."""
        return self.pue - 1 - self.loss_share

    @property
    def rated_mw(self) -> float:
        """Power limits of all GPUs together. [MW]"""
        return self.n_gpus * self.rated_w / W_PER_MW

    @property
    def other_mw(self) -> float:
        """The rest of the computers. [MW]"""
        return self.n_gpus * self.other_w / W_PER_MW

    def gpu_w(self, state: str) -> float:
        """Mean power of a GPU in a state. [W]

        Raises
        ------
        UnknownName
            A state that a timeline does not have.
        """
        if state in TRAINING:
            return self.waveform.mean_w
        if state not in self.levels_w:
            raise UnknownName("state", state, self.states)
        return self.levels_w[state]

    def it_mw(self, state: str) -> float:
        """Mean power of the computers in a state. [MW]"""
        return self.n_gpus * (self.gpu_w(state) + self.other_w) / W_PER_MW

    def facility_mw(self, state: str) -> float:
        """Power of the facility after a long time in a state. [MW]"""
        return self.pue * self.it_mw(state)

    @property
    def incoherent_mw(self) -> float:
        r"""Root mean square of what the nodes' own moments add to the smooth sum of a step [MW].

        Notes
        -----
        Independent nodes vary about their mean as :math:`\sqrt{N}`: a change of phase by :math:`\Delta` adds
        :math:`\sigma/\sqrt{\pi}` times :math:`\Delta^2` to a node's variance, integrated over the step, if phases are
        longer than the jitter. It is not in any series.
        """
        phases = [phase for phase in self.waveform.phases if phase.share > 0]
        changes = [after.gpu_w - before.gpu_w for before, after in zip(phases, phases[1:] + phases[:1], strict=True)]
        area = sum(change**2 for change in changes) * self.waveform.jitter_s / math.sqrt(math.pi)
        n_nodes = self.n_gpus / self.gpus_per_node
        of_node_w = self.gpus_per_node * (area / self.waveform.step_s) ** 0.5
        return float(n_nodes**0.5 * of_node_w / W_PER_MW)


def profile(scenario: Scenario, part: str | Gpu | None = None) -> Profile:
    """What a scenario's job draws in each state [W per GPU].

    Parameters
    ----------
    scenario : Scenario
        Its section ``power``, or the assumed values where it has none.
    part : str or Gpu, optional
        Another GPU than the scenario's: a preset, a file or a ``Gpu``.

    Returns
    -------
    Profile
        With the GPU's levels: compute and communication make up a step, a hung collective waits for detection,
        and a queue or maintenance finds no process. A floor lifts the levels of states with processes, and a limit
        set below the GPU's own (``heat.limit_w``) cuts them all.

    Raises
    ------
    InputError
        An unknown GPU, or a file that cannot be read.

    Examples
    --------
    >>> from ettr import Scenario
    >>> llama3 = profile(Scenario.load("llama3-405b"))
    >>> round(llama3.it_mw("training"), 2), round(llama3.it_mw("queue"), 2)
    (16.07, 6.99)
    """
    section = scenario.power or Power.model_validate({})
    gpu = scenario.part if part is None else part if isinstance(part, Gpu) else Gpu.load(part)
    most_w = (scenario.heat.limit_w if scenario.heat else None) or math.inf
    floor_w = section.floor_share * gpu.limits.power_w

    def drawn_w(level: str) -> float:
        least_w = 0.0 if level == _NO_PROCESS else floor_w
        return min(max(float(getattr(gpu.levels, level)), least_w), most_w)

    wave = Waveform(
        (
            Phase("compute", 1 - COMMUNICATION_SHARE, drawn_w("compute_w")),
            Phase("communication", COMMUNICATION_SHARE, drawn_w("communication_w")),
        ),
        section.step_s,
        min(JITTER_S, section.step_s),
    )
    return Profile(
        n_gpus=scenario.cluster.n_gpus,
        gpus_per_node=scenario.cluster.gpus_per_node,
        waveform=wave,
        levels_w=MappingProxyType({state: drawn_w(level) for state, level in _LEVELS.items()}),
        rated_w=gpu.limits.power_w,
        overshoot=gpu.limits.overshoot,
        other_w=section.other_w,
        pue=section.pue,
        g_per_kwh=section.carbon_g_per_kwh,
        title=gpu.title,
        smoothing=gpu.smoothing,
    )
