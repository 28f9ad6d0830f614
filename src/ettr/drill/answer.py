"""Run a drill and report its measured time budget next to the predicted one."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ettr.core import durable
from ettr.core.errors import EttrError, NotModelled
from ettr.core.report import Answer, Headline, Note, Report, Table
from ettr.core.results import PARTS, TimeBudget
from ettr.core.sentences import pct
from ettr.core.units import S_PER_H
from ettr.drill import checkpoints, running
from ettr.drill.log import TRAINING, events
from ettr.drill.measured import MeasuredDrill, measured
from ettr.drill.model import undisturbed
from ettr.drill.predicted import (
    DrillCalibration,
    PredictedBand,
    band,
    calibrating,
    calibration_of,
    replayed,
    scenario_of,
)
from ettr.drill.settings import Settings

_CALIBRATION = "calibration"
_PATIENCE = (1, 3, 9)
"""Factors on the time between faults of a calibration, tried until workers have started before each (20 s to 3 min)."""
SCENARIO = "scenario.yml"


@dataclass(frozen=True, repr=False)
class Drill(Answer):
    """Time budget of a drill, next to the prediction of the model.

    Attributes
    ----------
    folder : Path
        Folder of the drill.
    settings : Settings
        Settings of the drill.
    calibration : DrillCalibration
        Durations measured on this machine before the drill.
    measured : MeasuredDrill
        Contents of the log.
    took, predicted : TimeBudget
        Measured time budget, and the budget that the model predicts from the actual fault times. [h]
    band : PredictedBand
        95% prediction interval of the run time, without knowledge of the fault times.
    is_same : bool
        True if the parameters at the end equal those of a run without faults, bit for bit.
    """

    folder: Path
    settings: Settings
    calibration: DrillCalibration
    measured: MeasuredDrill
    took: TimeBudget
    predicted: TimeBudget
    band: PredictedBand
    is_same: bool

    @property
    def took_s(self) -> float:
        """Run time, from the first start to the last step. [s]"""
        return float(S_PER_H * self.took.total_h)

    @property
    def headline(self) -> str:
        """Run time, measured ETTR and predicted ETTR, in a sentence."""
        return f"Done in {self.took_s:.1f} s: ETTR {pct(self.took.ettr)} measured, {pct(self.predicted.ettr)} predicted"

    def to_dict(self) -> dict[str, Any]:
        """Return settings, calibration, faults and budgets as plain values for JSON. [s, h]"""
        return {
            "settings": self.settings.to_dict(),
            "calibration": asdict(self.calibration),
            "strikes": [asdict(strike) for strike in self.measured.strikes],
            "took": self.took.to_dict(),
            "given": self.predicted.to_dict(),
            "band": asdict(self.band),
            "is_same": self.is_same,
            "n_lost_steps": self.measured.n_lost_steps,
            "n_resumed": self.measured.n_resumed,
        }

    def report(self) -> Report:
        """Return the report: measured and predicted seconds, prediction interval, and checks of the state."""
        budgets = (self.took, self.predicted)
        rows = [
            (
                _PARTS.get(part, part.removesuffix("_h")),
                *(f"{S_PER_H * getattr(hours, part):.1f} s" for hours in budgets),
            )
            for part in PARTS
            if getattr(self.took, part) or getattr(self.predicted, part)
        ]
        rows += [("total", *(f"{S_PER_H * hours.total_h:.1f} s" for hours in budgets))]
        rows += [("ETTR", *(pct(hours.ettr) for hours in budgets))]
        counts = Counter(strike.kind for strike in self.measured.strikes)
        faults = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) or "none"
        n_stops = self.measured.account.n_stops
        stops = f"The job stopped {_times(n_stops)}." if n_stops else "The job never stopped."
        is_in = self.band.holds(self.took_s)
        notes = [
            f"Faults: {faults}. {stops}",
            f"95% prediction interval of the run time if the fault times were unknown: {self.band.low_s:.0f} to "
            f"{self.band.high_s:.0f} s ({self.band.way}). This run is {'within' if is_in else 'outside'}.",
            "The final parameters are bit for bit those of a run without faults."
            if self.is_same
            else "The final parameters differ from those of a run without faults. This is a bug; please report it.",
            "No restart lost a step of a durable checkpoint."
            if not self.measured.n_lost_steps
            else f"Restarts lost {self.measured.n_lost_steps} steps of durable checkpoints. This is a bug; please "
            "report it.",
        ]
        return [
            Headline(self.headline),
            Table(("part", "measured", "predicted"), rows),
            *map(Note, notes + self._caveats()),
            Note(f"Log of the steps, for `ettr fit`: {self.folder / TRAINING}", dim=True),
        ]

    def _caveats(self) -> list[str]:
        """Circumstances that make the measurement less accurate."""
        n_cores = os.cpu_count() or 1
        caveats = []
        if self.settings.n_workers > n_cores:
            caveats.append(
                f"{self.settings.n_workers} workers share {n_cores} cores, so they wait for each other if a step "
                f"computes for longer than {1000 * self.settings.step_s:.0f} ms."
            )
        if self.measured.n_resumed:
            times = _times(self.measured.n_resumed)
            caveats.append(f"The drill was interrupted {times}; the time until it was resumed counts as queue.")
        return caveats


_PARTS = {
    "checkpoint_h": "checkpoint stalls",
    "rework_h": "lost work (recomputed)",
    "detection_h": "failure detection",
    "restart_h": "restarts",
}
"""Names of the parts in the report, where they differ from the fields."""


def _times(n: int) -> str:
    """A number of times in words."""
    return "once" if n == 1 else f"{n} times"


def run(
    folder: Path,
    settings: Settings,
    calibration: DrillCalibration | None = None,
    on_progress: Callable[[str, int, int], None] = lambda phase, done, total: None,
) -> Drill:
    """Run a training job, inject faults, and compare its time budget with the model.

    Parameters
    ----------
    folder : Path
        Folder of the drill, created if missing; an interrupted drill is resumed.
    settings : Settings
        Settings of the drill.
    calibration : DrillCalibration, optional
        Durations of this machine; by default measured first, in a subfolder.
    on_progress : callable
        Called with the phase, the steps done, and the total.

    Raises
    ------
    InputError
        If the folder has other files, is in use, or cannot be written.
    EttrError
        If the drill cannot continue; the message states the reason.

    Examples
    --------
    A drill of two workers with crashes about every three seconds takes half a minute, calibration included:

    >>> from pathlib import Path
    >>> settings = Settings(n_workers=2, work_s=10.0, faults={"crash": 3.0})
    >>> drill = run(Path("my-drill"), settings)  # doctest: +SKIP
    >>> drill.is_same, drill.measured.n_lost_steps  # doctest: +SKIP
    (True, 0)
    """
    running.check(folder, settings)
    if calibration is None:
        calibration = calibrated(folder / _CALIBRATION, settings, lambda *done: on_progress("calibrating", *done))
    running.run(folder, settings, lambda *done: on_progress("training", *done))
    log = measured(events(folder), settings)
    final = checkpoints.read(checkpoints.final_of(checkpoints.folder_of(folder)))
    try:
        with contextlib.suppress(NotModelled):  # some faults cannot be expressed in a scenario
            durable.write(folder / SCENARIO, scenario_of(settings, calibration).to_yaml())
    except OSError as error:
        raise EttrError(
            f"cannot write {folder / SCENARIO}: {error.strerror or error}; the drill is kept, so run it again to "
            "write the results"
        ) from error
    return Drill(
        folder=folder,
        settings=settings,
        calibration=calibration,
        measured=log,
        took=log.account.budget(calibration.step_s),
        predicted=replayed(settings, calibration, log.strikes).budget(calibration.step_s),
        band=band(settings, calibration),
        is_same=final == undisturbed(settings.seed, settings.n_workers, settings.n_steps),
    )


def calibrated(
    folder: Path, settings: Settings, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> DrillCalibration:
    """Measure the durations of this machine with a short drill.

    Parameters
    ----------
    folder : Path
        Folder for the short drill.
    settings : Settings
        Settings of the drill to calibrate.
    on_progress : callable
        Called with the steps done and the total.

    Raises
    ------
    EttrError
        If the workers take too long to start.

    Examples
    --------
    >>> from pathlib import Path
    >>> calibration = calibrated(Path("my-drill/calibration"), Settings(n_workers=2))  # doctest: +SKIP
    >>> calibration.restart_s < 5  # doctest: +SKIP
    True
    """
    for patience in _PATIENCE:
        short, subfolder = calibrating(settings, patience), folder / f"{patience}"
        running.run(subfolder, short, on_progress)
        calibration = calibration_of(measured(events(subfolder), short))
        if calibration:
            return calibration
    raise EttrError(
        "calibration failed, because the workers were still starting when each fault struck: use fewer workers or a "
        "less busy machine, and another folder"
    )
