"""Run the recorded drills again on this machine, and print what each took beside what it should take.

Run as ``make drill``, on a machine with nothing else to do; a run that was stopped goes on. ``--quick`` takes four
drills, a third as long. ``--record`` writes what was measured to ``data/drill.csv``, from which the book takes it.
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
SHOWN = ("n_stops", "took_s", "low_s", "high_s", "ettr", "ettr_given", "largest_points", "is_same", "n_lost_steps")
OF_CALIBRATION = ("n_workers", "step_s", "write_s", "background", "heartbeat_s")
"""Settings on which what is measured of the machine depends."""


def machine() -> str:
    """What it ran on, in a few words."""
    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}; {platform.system()} {platform.release()}"


def other_than_default(settings: Settings) -> dict[str, object]:
    """What a drill is asked beyond what every drill is."""
    usual = Settings().to_dict()
    return {name: value for name, value in settings.to_dict().items() if value != usual[name]}


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []


def row(folder: Path, setting_id: str, title: str, settings: Settings) -> dict[str, object]:
    """One drill, as the recorded table has it."""
    alike = "-".join(f"{getattr(settings, name):g}" for name in OF_CALIBRATION)
    known = calibrated(folder / f"calibration-{alike}", settings)
    done = run(folder / setting_id, settings, known)
    began_s = events(folder / setting_id)[0]["at_s"]
    parts = {name: round(S_PER_H * getattr(done.took, part), 3) for name, part in chapter.PARTS.items()}
    strikes = [[one.attempt, round(one.into_s, 4), one.kind, one.in_start] for one in done.found.strikes]
    return {
        "setting_id": setting_id,
        "title": title,
        "settings": json.dumps(other_than_default(settings)),
        "calibration": json.dumps(asdict(known)),
        "strikes": json.dumps(strikes),
        **parts,
        "is_same": done.is_same,
        "n_lost_steps": done.found.n_lost_steps,
        "machine": machine(),
        "n_cores": os.cpu_count(),
        "recorded_on": datetime.datetime.fromtimestamp(began_s, datetime.UTC).date().isoformat(),
        "source": "ettr2026drill",
        "status": "primary",
    }


def main() -> int:
    """Run them all, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four drills, a third as long")
    parser.add_argument("--record", action="store_true", help="write data/drill.csv")
    parser.add_argument("--fresh", action="store_true", help="begin anew, whatever was done before")
    options = parser.parse_args()
    if options.quick and options.record:
        parser.error("--quick runs four of twenty, which is no record")
    asked = evidence.table("drill")
    if options.quick:
        asked = asked[asked["setting_id"].isin(QUICK)]
    folder = FOLDER / ("quick" if options.quick else "full")
    if options.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    rows = []
    for number, one in enumerate(asked.itertuples(), 1):
        settings = Settings.of(json.loads(one.settings))
        if options.quick:
            settings = replace(settings, work_s=SHARE * settings.work_s)
        print(f"{number} of {len(asked)}: {one.title}", flush=True)
        rows.append(row(folder, one.setting_id, one.title, settings))
    taken = pd.DataFrame(rows)
    beside = chapter.beside(taken)
    print(beside.set_index("setting_id")[[*SHOWN]].round(3).to_string())
    print(f"{int(beside['is_near'].sum())} of {len(beside)} within two points, faults given; ", end="")
    print(f"{int(beside['is_in_band'].sum())} within the band of the finishing time without them")
    print(f"{machine()}, {os.cpu_count()} cores")
    if options.record:
        taken.to_csv(DATA / "drill.csv", index=False)
    return int(not (beside["is_same"].all() and (beside["n_lost_steps"] == 0).all()))


if __name__ == "__main__":
    sys.exit(main())
