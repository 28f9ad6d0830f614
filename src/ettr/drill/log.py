"""Logs of a drill: every event as JSON, and the training steps in the format of Megatron-LM."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ettr.core.errors import InputError
from ettr.drill.settings import STOPPING, Settings

EVENTS, TRAINING = "events.jsonl", "train.log"


def events(folder: Path) -> list[dict[str, Any]]:
    """Return the events of a drill in order of time, without an incomplete last one."""
    path = folder / EVENTS
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is damaged: it is not UTF-8 text. Use a new folder") from error
    complete = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            event = json.loads(line)
            complete.append({**event, "event": str(event["event"]), "at_s": float(event["at_s"])})
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"{path}, line {number:,}, is damaged: it is not an event of a drill. Use a new folder"
            ) from error
    return complete


def _truncate_partial_line(path: Path) -> None:
    """Remove an incomplete last line."""
    if path.exists():
        content = path.read_bytes()
        if not content.endswith(b"\n"):
            os.truncate(path, content.rfind(b"\n") + 1)


class Log:
    """Writer of the two logs; the log of events is also the state from which a drill is resumed.

    Parameters
    ----------
    folder : Path
        Folder of the drill.
    settings : Settings
        Settings of the drill.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings, self._before = folder, settings, events(folder)
        for name in (EVENTS, TRAINING):
            _truncate_partial_line(folder / name)
        self._stepped_s = 0.0

    def progress(self) -> tuple[float, int, int]:
        """Return the exposed seconds so far, the number of faults, and the last step with verified parameters."""
        exposed_s, base_s, begun_s, n_faults, sound, is_struck = 0.0, 0.0, 0.0, 0, 0, False
        for event in self._before:
            if event["event"] == "start":
                base_s, begun_s, sound, is_struck = event["exposed_s"], event["at_s"], event["step"], False
            if not is_struck:
                exposed_s = base_s + event["at_s"] - begun_s
            if event["event"] == "fault":
                n_faults += 1
                is_struck = event["kind"] in STOPPING
            if event["event"] == "step" and event["checked"]:
                sound = event["step"]
        return exposed_s, n_faults, sound

    def write(self, event: str, **values: Any) -> None:
        """Write an event, at its time ``at_s`` or now. [s]"""
        at_s = values.pop("at_s", time.time())
        self._add(EVENTS, json.dumps({"event": event, "at_s": at_s, **values}))
        text = self._megatron_line(event, at_s, values)
        if text:
            stamp = datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
            self._add(TRAINING, f"[{stamp}] {text}")
        if event in ("ready", "step", "stalled"):
            self._stepped_s = at_s
        if event == "step":
            print(values["step"], flush=True)  # progress for the parent process

    def _add(self, name: str, line: str) -> None:
        """Append a line to a log."""
        with (self._folder / name).open("a") as file:
            file.write(f"{line}\n")

    def _megatron_line(self, event: str, at_s: float, values: dict[str, Any]) -> str:
        """Line that Megatron-LM prints for an event; empty if there is none."""
        if event == "start":
            return f"using world size: {self._settings.n_workers}"
        if event == "ready":
            from_step = values["step"]
            return (
                f"successfully loaded checkpoint at iteration {from_step}"
                if from_step
                else "before the start of training step"
            )
        if event == "step":
            took_ms = 1000 * (at_s - self._stepped_s)
            return (
                f"iteration {values['step']:8d}/{self._settings.n_steps:8d} | elapsed time per iteration (ms): "
                f"{took_ms:.1f} | lm loss: {values['loss']:.6E} |"
            )
        if event == "stalled":
            stall_ms = 1000 * (at_s - self._stepped_s)
            return f"    save-checkpoint ................................: ({stall_ms:.2f}, {stall_ms:.2f})"
        if event == "durable":
            return f"successfully saved checkpoint from iteration {values['step']:7d}"
        return "[after training is done]" if event == "end" else ""
