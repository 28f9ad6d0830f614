"""A drill from start to end, and what it says."""

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
"""A calibration waits longer between its faults where the one before found workers still starting: 20 s to 3 min."""
SCENARIO = "scenario.yml"


@dataclass(frozen=True, repr=False)
class Drill(Answer):
    """What a drill took, beside what it should have taken.

    Attributes
    ----------
    folder : Path
        Where it is.
    settings : Settings
        What it was asked to do.
    calibration : DrillCalibration
        What was measured of the machine before.
    found : MeasuredDrill
        Its log, read.
    took, given : TimeBudget
        Its hours by part, and those by the rules of a run, with the faults as they struck. [h]
    band : PredictedBand
        Where its finishing time should lie, if nobody knows when faults strike.
    is_same : bool
        Whether it ended with the parameters of an undisturbed run, bit for bit.
    """

    folder: Path
    settings: Settings
    calibration: DrillCalibration
    found: MeasuredDrill
    took: TimeBudget
    given: TimeBudget
    band: PredictedBand
    is_same: bool

    @property
    def took_s(self) -> float:
        """From the first start to the last step. [s]"""
        return float(S_PER_H * self.took.total_h)

    @property
    def headline(self) -> str:
        """Its seconds and its ETTR, beside the ETTR by the rules."""
        return f"Done in {self.took_s:.1f} s: ETTR {pct(self.took.ettr)}, by the rules {pct(self.given.ettr)}"

    def to_dict(self) -> dict[str, Any]:
        """Everything but the samples. [s, h]"""
        return {
            "settings": self.settings.to_dict(),
            "calibration": asdict(self.calibration),
            "strikes": [asdict(strike) for strike in self.found.strikes],
            "took": self.took.to_dict(),
            "given": self.given.to_dict(),
            "band": asdict(self.band),
            "is_same": self.is_same,
            "n_lost_steps": self.found.n_lost_steps,
            "n_resumed": self.found.n_resumed,
        }

    def report(self) -> Report:
        """Seconds by part beside those by the rules, the finishing time, and what proves that no work was lost."""
        rows = [
            (part.removesuffix("_h"), *(f"{S_PER_H * getattr(hours, part):.1f} s" for hours in (self.took, self.given)))
            for part in PARTS
            if getattr(self.took, part) or getattr(self.given, part)
        ]
        rows += [("total", *(f"{S_PER_H * hours.total_h:.1f} s" for hours in (self.took, self.given)))]
        rows += [("ETTR", *(pct(hours.ettr) for hours in (self.took, self.given)))]
        counts = Counter(strike.kind for strike in self.found.strikes)
        struck = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) or "none"
        n_stops = self.found.account.n_stops
        stopped = f"The job stopped {_times(n_stops)}." if n_stops else "The job never stopped."
        is_in = self.band.holds(self.took_s)
        notes = [
            f"Faults: {struck}. {stopped}",
            f"Without knowing when they strike: 95 of 100 such runs take {self.band.low_s:.0f} to "
            f"{self.band.high_s:.0f} s ({self.band.way}); this one is {'within' if is_in else 'outside'}.",
            "The parameters are, bit for bit, those of an undisturbed run."
            if self.is_same
            else "The parameters differ from those of an undisturbed run. This is a bug: please report it.",
            "No restart lost a step that a durable checkpoint held."
            if not self.found.n_lost_steps
            else f"Restarts lost {self.found.n_lost_steps} steps that durable checkpoints held. This is a bug: please "
            "report it.",
        ]
        return [
            Headline(self.headline),
            Table(("part", "measured", "by the rules, faults given"), rows),
            *map(Note, notes + self._marks()),
            Note(f"The log of the steps is at {self.folder / TRAINING}, for `ettr fit`.", dim=True),
        ]

    def _marks(self) -> list[str]:
        """What makes it less of a measurement."""
        n_cores = os.cpu_count() or 1
        marks = []
        if self.settings.n_workers > n_cores:
            marks.append(
                f"{self.settings.n_workers} workers share {n_cores} cores: where a step computes for longer than "
                f"{1000 * self.settings.step_s:.0f} ms, they wait for each other."
            )
        if self.found.n_resumed:
            times = _times(self.found.n_resumed)
            marks.append(f"It was ended from outside {times}; the time until it went on counts as queue.")
        return marks


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def run(
    folder: Path,
    settings: Settings,
    known: DrillCalibration | None = None,
    on_progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Drill:
    """Train for real, disturb it, and hold what it took against the rules.

    Parameters
    ----------
    folder : Path
        Made if it is not there; a drill that was cut off goes on in it.
    settings : Settings
        What is asked.
    known : DrillCalibration, optional
        What is known of the machine; measured first, in a folder below, by default.
    on_progress : callable
        Told what is being done, the steps that are done, and all.

    Raises
    ------
    InputError
        The folder holds something else, is in use, or cannot be written.
    EttrError
        The drill cannot go on, for a reason that is said.
    """
    running.check(folder, settings)
    if known is None:
        known = calibrated(folder / _CALIBRATION, settings, lambda *done: on_progress("calibrating", *done))
    running.run(folder, settings, lambda *done: on_progress("training", *done))
    found = measured(events(folder), settings)
    ended = checkpoints.read(checkpoints.final_of(checkpoints.folder_of(folder)))
    try:
        with contextlib.suppress(NotModelled):  # a drill can be more than a scenario says
            durable.write(folder / SCENARIO, scenario_of(settings, known).to_yaml())
    except OSError as error:
        raise EttrError(
            f"cannot write {folder / SCENARIO}: {error.strerror or error}; the drill is kept, and the same command "
            "answers from it"
        ) from error
    return Drill(
        folder=folder,
        settings=settings,
        calibration=known,
        found=found,
        took=found.account.budget(known.step_s),
        given=replayed(settings, known, found.strikes).budget(known.step_s),
        band=band(settings, known),
        is_same=ended == undisturbed(settings.seed, settings.n_workers, settings.n_steps),
    )


def calibrated(
    folder: Path, settings: Settings, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> DrillCalibration:
    """What a short drill measures of this machine, for such settings.

    Raises
    ------
    EttrError
        Its workers take too long to start.
    """
    for patience in _PATIENCE:
        short, place = calibrating(settings, patience), folder / f"{patience}"
        running.run(place, short, on_progress)
        known = calibration_of(measured(events(place), short))
        if known:
            return known
    raise EttrError(
        "the calibration found the workers still starting when each fault came: use fewer of them, or a machine "
        "with less to do, and another folder"
    )
