"""Samples as they are read, and the recording that they become."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.scenario.gpu import COLDEST_C, HOTTEST_C
from ettr.telemetry.columns import NAN, SILENT
from ettr.telemetry.format import QUANTITIES, Telemetry, gaps_of, steps_of

MOST_POWER_W = 10_000.0
"""No GPU draws so much; what claims to is a blank, or another unit."""
LONGEST_S = 1e15
"""Later times than this are taken for mistakes. [s]"""
_MOST_CLOCK_MHZ = 20_000.0
_MOST_GPUS = 100_000
_WARM_C = 10.0
"""Where GPUs are warmer than this, one of -1 °C is a blank."""
_MOST_ODD = 0.1
"""Where more of the temperatures than this are impossible, the rest is not to be trusted either."""


class Samples:
    """Samples in the order of the file.

    Parameters
    ----------
    ledger : Ledger
        Takes counts of what is set aside.

    Attributes
    ----------
    absolute : bool
        Whether times are seconds since 1970 UTC; they count from an unnamed origin if not.
    power_window_s : float
        What a reading of power is the mean of. [s]
    columns : mapping of str to str
        Quantities, each with the column that holds it, as the user says.
    """

    def __init__(self, ledger: Ledger, columns: Mapping[str, str] | None = None) -> None:
        self.ledger, self.columns = ledger, dict(columns or {})
        self.absolute = True
        self.power_window_s = 0.0
        self.start: float | None = None
        self._t = array("d")
        self._gpu: list[str] = []
        self._step: list[str] = []
        self._values = {name: array("d") for name in QUANTITIES}
        self._names: dict[str, str] = {}
        self._steps = {"": ""}
        self._models: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._t)

    def add(self, t_s: float, gpu: str, values: Mapping[str, float], *, step: str = "") -> None:
        """Take one sample, with values by quantity; what they may be is checked for all together, at the end."""
        if not abs(t_s) < LONGEST_S:
            self.ledger.not_parsed(f"a time of {LONGEST_S:g} s or more")
            return
        self._t.append(t_s)
        self._gpu.append(_once(self._names, gpu))
        self._step.append(_once(self._steps, step))
        for name, column in self._values.items():
            column.append(values.get(name, NAN))

    def model(self, gpu: str, name: str) -> None:
        """Note what a GPU is called by its maker; the last name counts."""
        maker_name = name.strip().strip('"')
        if maker_name and maker_name.lower() not in SILENT and not maker_name.startswith("["):
            self._models[gpu] = maker_name[:80]

    def largest(self, quantity: str) -> float:
        """The largest value so far; minus infinity if there is none."""
        values = np.frombuffer(self._values[quantity], dtype=float)
        return float(np.max(values[np.isfinite(values)], initial=-np.inf))

    def scale(self, quantity: str, factor: float) -> None:
        """Multiply all values so far."""
        self._values[quantity] = array("d", np.frombuffer(self._values[quantity], dtype=float) * factor)

    @property
    def times(self) -> np.ndarray:
        """Times so far [s]."""
        return np.frombuffer(self._t, dtype=float).copy()

    def telemetry(self, format_: str, source: str, name: str) -> Telemetry:
        """The recording: in order of time, with impossible values set aside.

        Raises
        ------
        InputError
            No sample, no power, or nothing but impossible temperatures.
        """
        if not self._t:
            raise InputError(f"{name} holds no sample of a GPU{_mostly(self.ledger)}")
        columns = {"t_s": self._t, "gpu": self._gpu, **self._values, "step": self._step}
        frame = pd.DataFrame(columns)
        self._set_aside(frame, name)
        silent = frame[list(QUANTITIES)].isna().all(axis=1)
        self.ledger.dropped("no value left in the sample", int(silent.sum()))
        frame = pd.concat([frame[:0], *(self._forward(one) for _, one in frame[~silent].groupby("gpu", sort=False))])
        if frame["power_w"].notna().sum() == 0:
            raise InputError(f"{name} holds no power of a GPU, which everything else rests on{_mostly(self.ledger)}")
        return self._whole(frame, format_, source)

    def _whole(self, frame: pd.DataFrame, format_: str, source: str) -> Telemetry:
        first = float(frame["t_s"].min())
        frame["t_s"] -= first
        steps = steps_of(frame)
        step_s = float(np.median(steps)) if steps.size else NAN
        since = (first if self.absolute else None) if self.start is None else self.start
        return Telemetry(
            samples=frame.reset_index(drop=True),
            start=None if since is None else pd.Timestamp(round(since * 1e6), unit="us", tz="UTC"),
            n_gpus=int(frame["gpu"].nunique()),
            step_s=step_s,
            gaps=gaps_of(frame, step_s),
            power_window_s=self.power_window_s,
            format=format_,
            source=source,
            ledger=self.ledger.to_frame(),
            notes=tuple(self.ledger.notes),
            models={gpu: self._models[gpu] for gpu in frame["gpu"].unique() if gpu in self._models},
        )

    def _set_aside(self, frame: pd.DataFrame, name: str) -> None:
        """Replace what cannot be by silence, and count it."""
        power = frame["power_w"]
        self._blank(frame, "power_w", power == 0, "power is 0 W: a powered GPU draws more")
        self._blank(frame, "power_w", power < 0, "power is negative")
        self._blank(frame, "power_w", power > MOST_POWER_W, f"power is over {MOST_POWER_W:,.0f} W")
        for column, what in (("temperature_c", "temperature"), ("memory_c", "memory temperature")):
            value = frame[column]
            if value.notna().any() and (value.dropna() == 0).all():
                self._blank(frame, column, value == 0, f"{what} is 0 °C throughout: no sensor")
                continue
            if value.median() > _WARM_C:
                self._blank(frame, column, value == -1, f"{what} is -1: a blank")
                value = frame[column]
            odd = (value < COLDEST_C) | (value > HOTTEST_C)
            n = int(value.notna().sum())
            if column == "temperature_c" and odd.sum() > _MOST_ODD * n:
                many = f"all {n:,}" if odd.sum() == n else f"{int(odd.sum()):,} of {n:,}"
                raise InputError(
                    f"temperature must be within {COLDEST_C:g} and {HOTTEST_C:g} °C; {many} in {name} "
                    f"are outside, e.g. {value[odd].iloc[0]:g}. Fahrenheit or Kelvin?"
                )
            self._blank(frame, column, odd, f"{what} outside {COLDEST_C:g} to {HOTTEST_C:g} °C")
        clock, load = frame["clock_mhz"], frame["utilisation"]
        self._blank(frame, "clock_mhz", (clock <= 0) | (clock > _MOST_CLOCK_MHZ), "clock is impossible")
        self._blank(frame, "utilisation", (load < 0) | (load > 1.0001), "utilisation outside 0 to 100%")

    def _blank(self, frame: pd.DataFrame, column: str, odd: pd.Series, reason: str) -> None:
        if odd.any():
            self.ledger.dropped(reason, int(odd.sum()), f"sample {int(odd.idxmax()) + 1:,}")
            frame.loc[odd, column] = NAN

    def _forward(self, one: pd.DataFrame) -> pd.DataFrame:
        """One GPU's samples with growing times."""
        same = one.duplicated()
        self.ledger.merged("the same sample twice", int(same.sum()))
        one = one[~same]
        late = one["t_s"] < one["t_s"].cummax()
        if late.sum() > len(one) // 2:  # newest first, or one stamp in a far future
            self.ledger.note("samples do not stand in order of time and were sorted", first=True)
            one = one.sort_values("t_s", kind="stable")
        else:
            self.ledger.dropped("time goes backwards", int(late.sum()))
            one = one[~late]
        again = one["t_s"].duplicated()
        self.ledger.dropped("time stamp seen before, with other values", int(again.sum()))
        return one[~again]


def _once(known: dict[str, str], name: str) -> str:
    """The same text for the same name, so that a long recording holds each once."""
    if name not in known:
        if len(known) >= _MOST_GPUS:
            raise InputError(f"a file may name at most {_MOST_GPUS:,} GPUs and steps; {name[:40]!r} would be one more")
        known[name] = name
    return known[name]


def _mostly(ledger: Ledger) -> str:
    """The most frequent reason in the ledger, for a refusal."""
    frame = ledger.to_frame()
    return f" ({int(frame['n'].iloc[0]):,} x {frame['reason'].iloc[0]})" if len(frame) else ""
