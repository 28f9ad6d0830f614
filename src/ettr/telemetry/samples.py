"""Collection of samples while a file is read, and their conversion to a recording."""

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
"""Highest plausible power; a larger value is a blank, or in another unit."""
LONGEST_S = 1e15
"""Latest plausible time. [s]"""
_MOST_CLOCK_MHZ = 20_000.0
_MOST_GPUS = 100_000
_WARM_C = 10.0
"""Median temperature above which a reading of -1 °C is a blank."""
_MOST_ODD = 0.1
"""Largest share of impossible temperatures in a column that is still used."""


class Samples:
    """Samples in file order.

    Parameters
    ----------
    ledger : Ledger
        Ledger for values that are left out.

    Attributes
    ----------
    absolute : bool
        True if times are seconds since 1970 UTC; False if their origin is unknown.
    power_window_s : float
        Averaging time of a power reading. [s]
    columns : mapping of str to str
        The user's mapping of quantities to columns.
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
        """Add a sample with values by quantity; their plausibility is checked at the end."""
        if not abs(t_s) < LONGEST_S:
            self.ledger.not_parsed(f"a time of {LONGEST_S:g} s or more")
            return
        self._t.append(t_s)
        self._gpu.append(_interned(self._names, gpu))
        self._step.append(_interned(self._steps, step))
        for name, column in self._values.items():
            column.append(values.get(name, NAN))

    def model(self, gpu: str, name: str) -> None:
        """Record the model name of a GPU; the last name counts."""
        maker_name = name.strip().strip('"')
        if maker_name and maker_name.lower() not in SILENT and not maker_name.startswith("["):
            self._models[gpu] = maker_name[:80]

    def largest(self, quantity: str) -> float:
        """Return the largest value so far; minus infinity if there is none."""
        values = np.frombuffer(self._values[quantity], dtype=float)
        return float(np.max(values[np.isfinite(values)], initial=-np.inf))

    def scale(self, quantity: str, factor: float) -> None:
        """Multiply all values so far by a factor."""
        self._values[quantity] = array("d", np.frombuffer(self._values[quantity], dtype=float) * factor)

    @property
    def times(self) -> np.ndarray:
        """Times so far. [s]"""
        return np.frombuffer(self._t, dtype=float).copy()

    def telemetry(self, format_: str, source: str, name: str) -> Telemetry:
        """Return the recording in order of time, without impossible values.

        Raises
        ------
        InputError
            If there is no sample, no power, or too many temperatures are impossible.
        """
        if not self._t:
            raise InputError(f"{name} has no sample of a GPU{_top_reason(self.ledger)}")
        columns = {"t_s": self._t, "gpu": self._gpu, **self._values, "step": self._step}
        frame = pd.DataFrame(columns)
        self._drop_impossible(frame, name)
        empty = frame[list(QUANTITIES)].isna().all(axis=1)
        self.ledger.dropped("no value left in the sample", int(empty.sum()))
        by_gpu = (self._in_order(samples) for _, samples in frame[~empty].groupby("gpu", sort=False))
        frame = pd.concat([frame[:0], *by_gpu])
        if frame["power_w"].notna().sum() == 0:
            raise InputError(f"{name} has no power of a GPU, which every fit needs{_top_reason(self.ledger)}")
        return self._recording(frame, format_, source)

    def _recording(self, frame: pd.DataFrame, format_: str, source: str) -> Telemetry:
        """Recording of the samples, with times since the first."""
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

    def _drop_impossible(self, frame: pd.DataFrame, name: str) -> None:
        """Replace impossible values by NaN, and count them in the ledger."""
        power = frame["power_w"]
        self._blank(frame, "power_w", power == 0, "power is 0 W: a powered GPU draws more")
        self._blank(frame, "power_w", power < 0, "power is negative")
        self._blank(frame, "power_w", power > MOST_POWER_W, f"power is above {MOST_POWER_W:,.0f} W")
        for column, quantity in (("temperature_c", "temperature"), ("memory_c", "memory temperature")):
            value = frame[column]
            if value.notna().any() and (value.dropna() == 0).all():
                self._blank(frame, column, value == 0, f"{quantity} is always 0 °C: no sensor")
                continue
            if value.dropna().median() > _WARM_C:
                self._blank(frame, column, value == -1, f"{quantity} is -1: a blank")
                value = frame[column]
            odd = (value < COLDEST_C) | (value > HOTTEST_C)
            n = int(value.notna().sum())
            if column == "temperature_c" and odd.sum() > _MOST_ODD * n:
                count = f"all {n:,}" if odd.sum() == n else f"{int(odd.sum()):,} of {n:,}"
                raise InputError(
                    f"temperature must be from {COLDEST_C:g} to {HOTTEST_C:g} °C; {count} in {name} "
                    f"are outside, e.g. {value[odd].iloc[0]:g}. Are they in Fahrenheit or Kelvin?"
                )
            self._blank(frame, column, odd, f"{quantity} outside {COLDEST_C:g} to {HOTTEST_C:g} °C")
        clock, load = frame["clock_mhz"], frame["utilisation"]
        self._blank(frame, "clock_mhz", (clock <= 0) | (clock > _MOST_CLOCK_MHZ), "clock is impossible")
        self._blank(frame, "utilisation", (load < 0) | (load > 1.0001), "utilisation outside 0 to 100%")

    def _blank(self, frame: pd.DataFrame, column: str, odd: pd.Series, reason: str) -> None:
        """Replace values by NaN for a reason."""
        if odd.any():
            self.ledger.dropped(reason, int(odd.sum()), f"sample {int(odd.idxmax()) + 1:,}")
            frame.loc[odd, column] = NAN

    def _in_order(self, samples: pd.DataFrame) -> pd.DataFrame:
        """Samples of a GPU in order of time, without repetitions."""
        same = samples.duplicated()
        self.ledger.merged("the same sample twice", int(same.sum()))
        samples = samples[~same]
        late = samples["t_s"] < samples["t_s"].cummax()
        if late.sum() > len(samples) // 2:  # newest first, or a single time stamp far in the future
            self.ledger.note("samples were not in order of time and were sorted", first=True)
            samples = samples.sort_values("t_s", kind="stable")
        else:
            self.ledger.dropped("time goes backwards", int(late.sum()))
            samples = samples[~late]
        again = samples["t_s"].duplicated()
        self.ledger.dropped("repeated time stamp with other values", int(again.sum()))
        return samples[~again]


def _interned(names: dict[str, str], name: str) -> str:
    """The same object for equal names, to save memory in long recordings."""
    if name not in names:
        if len(names) >= _MOST_GPUS:
            raise InputError(f"a file must have at most {_MOST_GPUS:,} names of GPUs and steps, got {name[:40]!r}")
        names[name] = name
    return names[name]


def _top_reason(ledger: Ledger) -> str:
    """Most frequent reason in the ledger, for an error message."""
    frame = ledger.to_frame()
    top = frame.iloc[0] if len(frame) else None
    return "" if top is None else f" ({int(top['n']):,} x {top['reason']}; the first in {top['example']})"
