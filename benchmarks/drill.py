"""Repeat the recorded drills on this machine, and print measured next to predicted values.

Run as ``make drill`` on an idle machine; an interrupted run is resumed. ``--quick`` runs four drills at a third of
their length. ``--record`` writes the measurements to ``data/drill.csv``, the source of the book.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd

from ettr import evidence
from ettr.core.units import S_PER_H
from ettr.drill import Settings, calibrated, run
from ettr.drill.log import events
from ettr.evidence import DATA
from ettr_book.chapters import drill as chapter

FOLDER = Path("_build/drill")
QUICK, SHARE = ("crash-4", "write-background", "hang", "flip"), 1 / 3
COLUMNS = ("n_stops", "took_s", "low_s", "high_s", "ettr", "ettr_given", "largest_points", "is_same", "n_lost_steps")
OF_CALIBRATION = ("n_workers", "step_s", "write_s", "background", "heartbeat_s")
"""Settings that the calibration of the machine depends on."""


def machine() -> str:
    """Return processor and operating system."""
    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}; {platform.system()} {platform.release()}"


def other_than_default(settings: Settings) -> dict[str, object]:
    """Return the settings that differ from the defaults."""
    defaults = Settings().to_dict()
    return {name: value for name, value in settings.to_dict().items() if value != defaults[name]}


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []


def row(folder: Path, setting_id: str, title: str, settings: Settings) -> dict[str, object]:
    """Run a drill, and return its row of the recorded table."""
    key = "-".join(f"{getattr(settings, name):g}" for name in OF_CALIBRATION)
    calibration = calibrated(folder / f"calibration-{key}", settings)
    done = run(folder / setting_id, settings, calibration)
    began_s = events(folder / setting_id)[0]["at_s"]
    parts = {name: round(S_PER_H * getattr(done.took, part), 3) for name, part in chapter.PARTS.items()}
    strikes = [[fault.attempt, round(fault.into_s, 4), fault.kind, fault.in_start] for fault in done.measured.strikes]
    return {
        "setting_id": setting_id,
        "title": title,
        "settings": json.dumps(other_than_default(settings)),
        "calibration": json.dumps(asdict(calibration)),
        "strikes": json.dumps(strikes),
        **parts,
        "is_same": done.is_same,
        "n_lost_steps": done.measured.n_lost_steps,
        "machine": machine(),
        "n_cores": os.cpu_count(),
        "recorded_on": datetime.datetime.fromtimestamp(began_s, datetime.UTC).date().isoformat(),
        "source": "ettr2026drill",
        "status": "primary",
    }


def main() -> int:
    """Run all drills, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four drills at a third of their length")
    parser.add_argument("--record", action="store_true", help="write data/drill.csv")
    parser.add_argument("--fresh", action="store_true", help="start from scratch instead of resuming")
    options = parser.parse_args()
    if options.quick and options.record:
        parser.error("--record conflicts with --quick, which runs only four of twenty drills")
    drills = evidence.table("drill")
    if options.quick:
        drills = drills[drills["setting_id"].isin(QUICK)]
    folder = FOLDER / ("quick" if options.quick else "full")
    if options.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    rows = []
    for number, drill in enumerate(drills.itertuples(), 1):
        settings = Settings.of(json.loads(drill.settings))
        if options.quick:
            settings = replace(settings, work_s=SHARE * settings.work_s)
        print(f"{number} of {len(drills)}: {drill.title}", flush=True)
        rows.append(row(folder, drill.setting_id, drill.title, settings))
    measured = pd.DataFrame(rows)
    beside = chapter.beside(measured)
    print(beside.set_index("setting_id")[[*COLUMNS]].round(3).to_string())
    print(
        f"{int(beside['is_near'].sum())} of {len(beside)} within two points of the model with the fault times; ",
        end="",
    )
    print(f"{int(beside['is_in_band'].sum())} within the 95% prediction interval without the fault times")
    print(f"{machine()}, {os.cpu_count()} cores")
    if options.record:
        measured.to_csv(DATA / "drill.csv", index=False)
    return int(not (beside["is_same"].all() and (beside["n_lost_steps"] == 0).all()))


if __name__ == "__main__":
    sys.exit(main())
