"""What a recording is, what a reader is given, and what one format is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.core.errors import InputError

if TYPE_CHECKING:
    from ettr.files.ledger import Ledger
    from ettr.files.opening import Source
    from ettr.telemetry.samples import Samples

QUANTITIES = ("power_w", "temperature_c", "memory_c", "clock_mhz", "utilisation")
"""What is measured, in the order of the columns."""

GAP_STEPS = 3.0
"""A pause longer than so many sampling steps is a gap."""


@dataclass(frozen=True)
class Gaps:
    """Pauses in a recording.

    Attributes
    ----------
    n : int
        Pauses longer than three sampling steps, over all GPUs.
    lost_s : float
        Their length together, beyond one step each. [s]
    longest_s : float
        The longest of them; 0 if there is none. [s]
    """

    n: int = 0
    lost_s: float = 0.0
    longest_s: float = 0.0


@dataclass(frozen=True)
class Telemetry:
    """Power, temperature and clock of GPUs over time.

    Attributes
    ----------
    samples : DataFrame
        A row a sample, by GPU and time: ``t_s`` since the start [s], ``gpu`` (a name), ``power_w`` [W],
        ``temperature_c`` and ``memory_c`` [°C], ``clock_mhz`` [MHz], ``utilisation`` (a fraction), ``step`` (of a
        recorded plan; empty where there is none), ``length_s`` (of a window that the power is the mean of, which
        begins at ``t_s``; NaN for readings) [s]. NaN where the file is silent.
    start : Timestamp or None
        The time at ``t_s`` = 0, UTC; None if the file counts from an origin that it does not name.
    n_gpus : int
        Series of samples: GPUs, or one where the file holds their mean.
    step_s : float
        Median time between two samples of a GPU; NaN if no GPU has two. [s]
    gaps : Gaps
        Pauses.
    power_window_s : float
        What one reading of power is the mean of, so far as the format says; 0 for readings of an instant. [s]
    format : str
        Format that it was read as.
    source : str
        The file.
    ledger : DataFrame
        ``action``, ``reason``, ``n``, ``example``: rows and values that were merged, dropped, or not parsed.
    notes : tuple of str
        What was assumed while reading.
    models : mapping of str to str
        What each GPU is called by its maker, where the file says it.

    Examples
    --------
    >>> from ettr import Gpu, telemetry
    >>> recording = telemetry.simulate(Gpu.load("h100"), telemetry.plan(minutes=10), step_s=1.0)
    >>> recording.n_gpus, recording.step_s, recording.gaps.n
    (1, 1.0, 0)
    """

    samples: pd.DataFrame
    start: pd.Timestamp | None
    n_gpus: int
    step_s: float
    gaps: Gaps
    power_window_s: float
    format: str
    source: str
    ledger: pd.DataFrame
    notes: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)

    @property
    def gpus(self) -> tuple[str, ...]:
        """Names of the GPUs, in the order of the file."""
        return tuple(self.samples["gpu"].unique())

    @property
    def length_s(self) -> float:
        """From the first sample to the last. [s]"""
        return float(self.samples["t_s"].max())

    def of(self, gpu: str) -> pd.DataFrame:
        """The samples of one GPU.

        Raises
        ------
        UnknownName
            No such GPU; the message names those that there are.
        """
        from ettr.core.errors import UnknownName

        if gpu not in self.gpus:
            raise UnknownName("GPU", str(gpu), self.gpus, self.source)
        return self.samples[self.samples["gpu"] == gpu].reset_index(drop=True)

    def seen(self, quantity: str) -> bool:
        """Whether any sample holds this quantity."""
        if quantity not in QUANTITIES:
            raise InputError(f"quantity must be one of {', '.join(QUANTITIES)}, got {quantity!r}")
        return bool(self.samples[quantity].notna().any())


def steps_of(samples: pd.DataFrame) -> np.ndarray:
    """Times between the samples of each GPU [s]."""
    steps: np.ndarray = samples.groupby("gpu", sort=False)["t_s"].diff().dropna().to_numpy()
    return steps


def gaps_of(samples: pd.DataFrame, step_s: float) -> Gaps:
    """Pauses longer than three steps."""
    steps = steps_of(samples)
    long = steps[steps > GAP_STEPS * step_s] if steps.size else steps
    if not long.size:
        return Gaps()
    return Gaps(int(long.size), float((long - step_s).sum()), float(long.max()))


@dataclass(frozen=True)
class Options:
    """What only the user can know.

    Attributes
    ----------
    zone : tzinfo or None
        Zone of stamps that carry none.
    """

    zone: tzinfo | None = None


@dataclass(frozen=True)
class Format:
    """One format of telemetry.

    Attributes
    ----------
    name : str
        As in ``--format``.
    title : str
        What it is, in a few words.
    sniff : callable
        From the first lines of a file, whether it is this one.
    read : callable
        Fills ``Samples`` from the file, accounting in the ledger for what becomes no sample.
    """

    name: str
    title: str
    sniff: Callable[[list[str]], bool]
    read: Callable[[Source, Options, Samples, Ledger], None] = field(repr=False)
