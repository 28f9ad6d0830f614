"""A GPU model: compute throughput, power, temperature, and clock."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError, model_validator

from ettr import evidence
from ettr.core.errors import InputError, UnknownName
from ettr.core.search import Searchable, search
from ettr.core.validity import MACHINE_C
from ettr.core.yaml_files import mapping_of, text_of
from ettr.scenario import field_list, fields, paths, writing
from ettr.scenario.basics import Addition, Factor, Number, Origin, Section, Share, Text
from ettr.scenario.explain import explain

if TYPE_CHECKING:
    import pandas as pd


COLDEST_C, HOTTEST_C = MACHINE_C
"""Temperatures outside these are errors: no machine works there."""

Medium = Literal["air", "cold_plate", "immersion"]
MEDIA: tuple[Medium, ...] = ("air", "cold_plate", "immersion")
"""Cooling media."""


class Compute(Section):
    """Compute throughput, memory and links of the GPU."""

    peak_tflops: Number = Field(gt=0, description="peak throughput of dense matrix products in the training precision")
    memory_gb: Number = Field(gt=0, description="memory capacity")
    link_gb_s: Number = Field(gt=0, description="bandwidth to other GPUs of the node, in one direction")


class Limits(Section):
    """Power and temperature limits of the GPU."""

    power_w: Number = Field(gt=0, description="default power limit (TDP)")
    least_power_w: Number | None = Field(None, gt=0, description="lowest power limit that can be set")
    overshoot: Factor = Field(
        1.0, ge=1, le=3, description="peak power over the power limit for some milliseconds (assumed: 1)"
    )
    throttle_c: Number = Field(
        gt=COLDEST_C, le=HOTTEST_C, description="die temperature that the GPU holds by lowering its clock"
    )
    slowdown_c: Number | None = Field(
        None, gt=COLDEST_C, le=HOTTEST_C, description="die temperature at which the hardware cuts the clock"
    )
    shutdown_c: Number | None = Field(
        None, gt=COLDEST_C, le=HOTTEST_C, description="die temperature at which the GPU shuts down"
    )
    memory_c: Number | None = Field(
        None, gt=COLDEST_C, le=HOTTEST_C, description="memory temperature that the GPU holds by lowering its clock"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Limits:
        if self.least_power_w is not None and self.least_power_w > self.power_w:
            raise ValueError(f"least_power_w must be <= {self.power_w:g} W, the power_w, got {self.least_power_w:g}")
        order = [("throttle_c", self.throttle_c), ("slowdown_c", self.slowdown_c), ("shutdown_c", self.shutdown_c)]
        limits = [(name, value) for name, value in order if value is not None]
        for (below, low), (name, high) in itertools.pairwise(limits):
            if high < low:
                raise ValueError(f"{name} must be >= {low:g} °C, the {below}, got {high:g}")
        return self


class Levels(Section):
    """Mean power in each phase of a job."""

    compute_w: Number = Field(gt=0, description="dense computation")
    communication_w: Number = Field(gt=0, description="waiting in a collective that does not overlap with computation")
    checkpoint_w: Number = Field(gt=0, description="training stalled for a checkpoint")
    hang_w: Number = Field(gt=0, description="after a failure, until it is detected")
    restart_w: Number = Field(gt=0, description="processes start and load")
    idle_w: Number = Field(gt=0, description="no process on the GPU")

    @model_validator(mode="after")
    def _compute_is_most(self) -> Levels:
        for name, value in self:
            if value > self.compute_w:
                raise ValueError(f"{name} must be <= {self.compute_w:g} W, the compute_w, got {value:g}")
        return self


class Clock(Section):
    """Clock against power: dynamic power grows as the clock to the power of the exponent."""

    highest_mhz: Number = Field(gt=0, description="maximum clock")
    sustained_mhz: Number = Field(gt=0, description="clock of dense computation at the power limit and leakage.at_c")
    exponent: Number = Field(
        ge=1, le=4, description="k in dynamic power = a clock^k; 3 if voltage is proportional to the clock"
    )

    @model_validator(mode="after")
    def _sustained_is_no_higher(self) -> Clock:
        if self.sustained_mhz > self.highest_mhz:
            raise ValueError(
                f"sustained_mhz must be <= {self.highest_mhz:g} MHz, the highest_mhz, got {self.sustained_mhz:g}"
            )
        return self


class Leakage(Section):
    """Leakage power, which grows with temperature: power_w exp((T - at_c) / rise_k)."""

    power_w: Number = Field(ge=0, description="leakage power at at_c")
    at_c: Number = Field(gt=COLDEST_C, le=HOTTEST_C, description="die temperature of that leakage power")
    rise_k: Number = Field(gt=0, description="temperature rise that multiplies it by e = 2.72")


class Cooling(Section):
    """Thermal figures of one cooling method."""

    resistance_k_per_w: Number = Field(
        gt=0, le=2, description="thermal resistance: rise of the die above its inlet, per watt"
    )
    tau_s: Number = Field(gt=0, description="thermal time constant")
    memory_resistance_k_per_w: Number | None = Field(
        None, gt=0, le=2, description="rise of the memory above the inlet, per watt of the whole GPU"
    )
    spread: Addition = Field(
        0.0, ge=0, lt=0.5, description="coefficient of variation of the resistance between GPUs (assumed: 0)"
    )


class Coolings(Section):
    """Cooling methods with which the GPU is sold or that can be fitted."""

    air: Cooling | None = Field(None, description="heat sink and fans; the inlet is the air before it")
    cold_plate: Cooling | None = Field(
        None, description="liquid through a cold plate; the inlet is the liquid before it"
    )
    immersion: Cooling | None = Field(None, description="immersion bath; the inlet is the bath")

    @model_validator(mode="after")
    def _at_least_one(self) -> Coolings:
        if not any(getattr(self, name) for name in MEDIA):
            raise ValueError(f"needs at least one of {', '.join(MEDIA)}")
        return self


class Smoothing(Section):
    """Power-smoothing features of the GPU."""

    floor: Share = Field(description="highest power floor that can be set, relative to limits.power_w")
    ramp_up_w_per_s: Number | None = Field(None, gt=0, description="slowest ramp up that can be set")
    ramp_down_w_per_s: Number | None = Field(None, gt=0, description="slowest ramp down that can be set")
    hold_s: Number | None = Field(None, ge=0, description="time that the floor is held after the load ends")
    storage_j: Number | None = Field(None, gt=0, description="energy stored in the power supply, per GPU")


class Gpu(Section):
    """A GPU: compute throughput, limits, power levels, clock, leakage and cooling, each figure with its origin.

    Examples
    --------
    >>> from ettr import Gpu
    >>> Gpu.load("h100").limits.power_w
    700.0
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$", description="short name: a-z, 0-9, dot, dash")
    title: Text = Field(description="title for headings, one line")
    aliases: tuple[Text, ...] = Field((), description="other common names, for searching")
    sources: tuple[Text, ...] = Field((), description="bibliography keys")
    compute: Compute | None = Field(None, description=Compute.__doc__)
    limits: Limits = Field(description=Limits.__doc__)
    levels: Levels = Field(description=Levels.__doc__)
    clock: Clock = Field(description=Clock.__doc__)
    leakage: Leakage = Field(description=Leakage.__doc__)
    cooling: Coolings = Field(description=Coolings.__doc__)
    smoothing: Smoothing | None = Field(None, description=Smoothing.__doc__)
    evidence: dict[str, Origin] = Field(default_factory=dict, description="origin of each value, by dotted path")

    @model_validator(mode="after")
    def _within_the_limit(self) -> Gpu:
        if self.levels.compute_w > self.limits.power_w:
            raise ValueError(
                f"levels.compute_w must be <= {self.limits.power_w:g} W, the limits.power_w, "
                f"got {self.levels.compute_w:g}"
            )
        if self.leakage.power_w >= self.limits.power_w:
            raise ValueError(
                f"leakage.power_w must be < {self.limits.power_w:g} W, the limits.power_w, got {self.leakage.power_w:g}"
            )
        return self

    @model_validator(mode="after")
    def _origins_name_fields(self) -> Gpu:
        values = self.flat()
        for path in self.evidence:
            if path not in values:
                raise UnknownName("field in evidence", path, values)
        return self

    @classmethod
    def load(cls, name_or_path: str | Path) -> Gpu:
        """Read a preset by name, or a YAML file by path.

        Parameters
        ----------
        name_or_path : str or Path
            A preset (``ettr.evidence.gpu_names()``), or a file ending in .yml or .yaml, such as ``ettr telemetry``
            writes.

        Raises
        ------
        InputError
            Unknown preset, unreadable file, broken YAML (line and column), or a value that breaks a rule.
        """
        name = str(name_or_path)
        if name.endswith((".yml", ".yaml")):
            return cls.parse(text_of(name, "part"), name)
        if name not in evidence.gpu_names():
            evidence.refuse_unlisted("gpus", name)
            raise UnknownName("part", name, evidence.gpu_names(), "or give a file ending in .yml")
        return cls.parse(evidence.gpu_text(name), f"{name}.yml")

    @classmethod
    @functools.lru_cache(maxsize=64)
    def parse(cls, text: str, place: str = "part") -> Gpu:
        """Read a GPU from YAML text; ``place`` names it in errors."""
        return cls.of(mapping_of(text, place, "part"), place)

    @classmethod
    def of(cls, values: Mapping[str, Any], place: str = "part") -> Gpu:
        """Return a GPU from nested values as in a file; ``place`` names them in errors."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise InputError(*explain(error, cls, place)) from error

    @property
    def usual_medium(self) -> Medium:
        """Air if the GPU has figures for it, else its first cooling medium."""
        return next(medium for medium in MEDIA if getattr(self.cooling, medium))

    def cooled_by(self, medium: str) -> Cooling:
        """Return the figures for one cooling method.

        Raises
        ------
        InputError
            The GPU has no figures for it; the message names those that it has.
        """
        cooling: Cooling | None = getattr(self.cooling, medium, None) if medium in MEDIA else None
        if cooling is None:
            has = [name for name in MEDIA if getattr(self.cooling, name)]
            raise InputError(f"{self.name} has no figures for cooling by {medium!r}; it has {', '.join(has)}")
        return cooling

    def flat(self) -> dict[str, Any]:
        """Return every value by its dotted path."""
        labels = {"evidence", "name", "title", "aliases", "sources"}
        return dict(paths.leaves(self.model_dump(exclude=labels, exclude_none=True)))

    def to_frame(self) -> pd.DataFrame:
        """Return every figure with its origin.

        Returns
        -------
        DataFrame
            ``field``, ``value``, ``unit``, ``status`` (primary, secondary, derived, assumed, or given for a value
            without a recorded origin), ``source``, ``note``.
        """
        import pandas as pd

        rows = [
            paths.row_of(path, path, value, self.evidence.get(path), fields.is_written(self, path), type(self))
            for path, value in self.flat().items()
        ]
        return pd.DataFrame(rows)

    @classmethod
    def dictionary(cls) -> pd.DataFrame:
        """Return the fields of a GPU file: ``field``, ``unit``, ``rule``, ``default``, ``meaning``, ``aliases``."""
        return field_list.dictionary(cls)

    @classmethod
    def search(cls, words: Sequence[str]) -> list[str]:
        """Return the names of the built-in GPUs that match all words, best match first.

        Examples
        --------
        >>> from ettr import Gpu
        >>> Gpu.search(["NVL72"]), Gpu.search(["Hopper"])
        (['gb200', 'gb300'], ['h100', 'h200'])
        """
        gpus = map(cls.load, evidence.gpu_names())
        return search(words, [Searchable(gpu.name, (gpu.name, gpu.title, *gpu.aliases)) for gpu in gpus])

    @classmethod
    def presets(cls) -> pd.DataFrame:
        """Return the built-in GPUs side by side.

        Returns
        -------
        DataFrame
            ``name``, ``title``, ``limit_w``, ``compute_w``, ``idle_w`` [W], ``media`` (ways of cooling), ``n_assumed``
            of ``n_figures``.
        """
        import pandas as pd

        rows = []
        for gpu in map(cls.load, evidence.gpu_names()):
            statuses = gpu.to_frame()["status"]
            rows.append(
                {
                    "name": gpu.name,
                    "title": gpu.title,
                    "limit_w": gpu.limits.power_w,
                    "compute_w": gpu.levels.compute_w,
                    "idle_w": gpu.levels.idle_w,
                    "media": ", ".join(name for name in MEDIA if getattr(gpu.cooling, name)),
                    "n_assumed": int((statuses == "assumed").sum()),
                    "n_figures": len(statuses),
                }
            )
        return pd.DataFrame(rows)

    def to_yaml(self) -> str:
        """Return the GPU as YAML text that :meth:`load` reads.

        Examples
        --------
        >>> from ettr import Gpu
        >>> Gpu.parse(Gpu.load("h100").to_yaml()) == Gpu.load("h100")
        True
        """
        return writing.as_yaml(self.model_dump(exclude_none=True, exclude_defaults=True))
