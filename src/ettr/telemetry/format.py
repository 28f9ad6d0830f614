"""Data model of a recording."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import UnknownName
from ettr.core.report import Answer, Headline, Note, Report, plain_values
from ettr.core.sentences import capital, duration
from ettr.core.units import S_PER_H

QUANTITIES = ("power_w", "temperature_c", "memory_c", "clock_mhz", "utilisation")
"""Measured quantities, in the order of the columns."""

AVERAGED_S = 1.0
"""Averaging time of NVML's power reading on Ampere and later, except on the A100. [s]"""
NOT_READ = "columns that are not read"
"""Start of the note that names them."""
GAP_STEPS = 3.0
"""Longest pause in sampling steps that is not a gap."""


@dataclass(frozen=True)
class Gaps:
    """Gaps in a recording.

    Attributes
    ----------
    n : int
        Number of pauses longer than three sampling steps, over all GPUs.
    lost_s : float
        Total length beyond one step each. [s]
    longest_s : float
        Length of the longest gap; 0 without gaps. [s]
    """

    n: int = 0
    lost_s: float = 0.0
    longest_s: float = 0.0


@dataclass(frozen=True, repr=False)
class Telemetry(Answer):
    """Power, temperature and clock of GPUs over time.

    Attributes
    ----------
    samples : DataFrame
        One row per sample, by GPU and time: ``t_s`` since the start [s], ``gpu`` (a name), ``power_w`` [W],
        ``temperature_c`` and ``memory_c`` [°C], ``clock_mhz`` [MHz], ``utilisation`` (a fraction), ``step`` (of a
        recorded plan; empty without one). NaN for missing values.
    start : Timestamp or None
        Time at ``t_s`` = 0, UTC; None if the times of the file have no known origin.
    n_gpus : int
        Number of GPUs; 1 if the file has a mean over GPUs.
    step_s : float
        Median time between two samples of a GPU; NaN if no GPU has two. [s]
    gaps : Gaps
        Gaps between samples.
    power_window_s : float
        Averaging time of a power reading for this format; 0 for instantaneous readings. [s]
    format : str
        Format of the file.
    source : str
        Path of the file.
    ledger : DataFrame
        ``action``, ``reason``, ``n``, ``example``: rows and values that were merged, dropped, or not parsed.
    notes : tuple of str
        Assumptions made while reading.
    models : mapping of str to str
        Model name of each GPU, if the file has it.

    Examples
    --------
    >>> from ettr import Gpu, telemetry
    >>> recording = telemetry.simulate(Gpu.load("h100"), telemetry.schedule(minutes=10), step_s=1.0)
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
        """Names of the GPUs, in file order."""
        return tuple(self.samples["gpu"].unique())

    @property
    def length_s(self) -> float:
        """Time from the first sample to the last. [s]"""
        return float(self.samples["t_s"].max())

    @property
    def headline(self) -> str:
        """File, number of samples and length, in a sentence."""
        return f"{self.source}: {len(self.samples):,} samples over {self.length_s:,.0f} s"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the samples as plain values for JSON."""
        names = ("source", "format", "start", "n_gpus", "length_s", "step_s", "power_window_s", "gaps", "ledger")
        record = {name: getattr(self, name) for name in names}
        return dict(plain_values({**record, "n_samples": len(self.samples), "notes": self.notes}))

    def report(self) -> Report:
        """Return the report: samples, gaps, and rows that were left out."""
        return [Headline(f"{self.source} ({self.format})"), *map(Note, _reading(self))]

    def of(self, gpu: str) -> pd.DataFrame:
        """Return the samples of a GPU.

        Raises
        ------
        UnknownName
            If there is no such GPU.
        """
        if gpu not in self.gpus:
            raise UnknownName("GPU", str(gpu), self.gpus, self.source)
        return self.samples[self.samples["gpu"] == gpu].reset_index(drop=True)


def steps_of(samples: pd.DataFrame) -> np.ndarray:
    """Return the times between the samples of each GPU. [s]"""
    steps: np.ndarray = samples.groupby("gpu", sort=False)["t_s"].diff().dropna().to_numpy()
    return steps


def gaps_of(samples: pd.DataFrame, step_s: float) -> Gaps:
    """Return the gaps, pauses longer than three sampling steps."""
    steps = steps_of(samples)
    long = steps[steps > GAP_STEPS * step_s]
    if not long.size:
        return Gaps()
    return Gaps(int(long.size), float((long - step_s).sum()), float(long.max()))


def _reading(recording: Telemetry) -> Iterator[str]:
    """Sentences on the samples, the gaps and the ledger."""
    gpus = f"{recording.n_gpus:,} GPU{'' if recording.n_gpus == 1 else 's'}"
    every = f", one every {short(recording.step_s)} s" if math.isfinite(recording.step_s) else ""
    since = f", from {recording.start:%Y-%m-%d %H:%M:%S} UTC" if recording.start is not None else ""
    yield f"{len(recording.samples):,} samples of {gpus} over {duration(recording.length_s / S_PER_H)}{every}{since}."
    gaps = recording.gaps
    if gaps.n:
        count = "1 gap" if gaps.n == 1 else f"{gaps.n:,} gaps"
        yield f"{count}, {duration(gaps.lost_s / S_PER_H)} in total, longest {duration(gaps.longest_s / S_PER_H)}."
    for row in recording.ledger.to_dict("records"):
        place = f" (first: {row['example']})" if row["example"] else ""
        yield f"{row['n']:,} {row['action']}: {row['reason']}{place}"
    yield from (f"{capital(note)}." for note in recording.notes if note.startswith(NOT_READ))


def short(value: float) -> str:
    """Return a number in four digits, or rounded to a whole number from 1,000 on."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
