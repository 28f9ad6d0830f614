"""A run whose stops are known, as each training framework prints it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

STEP_S, SAVE_S, LOG, SAVE = 8.0, 20.0, 10, 200
BEGIN = datetime(2025, 6, 1, tzinfo=UTC)


class Event(NamedTuple):
    """What happens, after so many seconds."""

    at_s: float
    kind: str
    step: int


class Truth(NamedTuple):
    """What a log of the events should be found to say."""

    ettr: float
    n_stops: int
    down_h: float
    rework_h: float
    n_steps: int


def run(seed: int, days: float = 4.0, mttf_h: float = 9.0, down_min: float = 18.0) -> tuple[list[Event], Truth]:
    """A run that fails by chance, waits, and goes on from its last save."""
    rng = np.random.default_rng(seed)
    at_s, step, saved, down_s, again = 300.0, 0, 0, 0.0, 0
    events = [Event(0.0, "start", 0), Event(at_s, "go", 0)]
    fails_s, n_stops = rng.exponential(mttf_h * 3600), 0
    while at_s < days * 86_400:
        if at_s + STEP_S > fails_s:
            wait_s = 300 + rng.gamma(4, down_min * 15)
            n_stops, down_s, again = n_stops + 1, down_s + fails_s + wait_s - at_s, again + step - saved
            at_s, step = fails_s + wait_s, saved
            events += [Event(at_s - 120, "start", 0), Event(at_s, "go", step)]
            fails_s = at_s + rng.exponential(mttf_h * 3600)
            continue
        at_s, step = at_s + STEP_S * (1 + 0.01 * rng.standard_normal()), step + 1
        if step % LOG == 0:
            events.append(Event(at_s, "step", step))
        if step % SAVE == 0:
            at_s, saved = at_s + SAVE_S, step
            events.append(Event(at_s, "saved", step))
    wall_h = (max(event.at_s for event in events if event.kind == "step")) / 3600
    return events, Truth(step * STEP_S / 3600 / wall_h, n_stops, down_s / 3600, again * STEP_S / 3600, step)


def stamp(at_s: float, between: str = " ") -> str:
    return f"{BEGIN + timedelta(seconds=at_s):%Y-%m-%d{between}%H:%M:%S}"


def megatron(events: list[Event], stamped: bool = True) -> Iterator[str]:
    for at_s, kind, step in events:
        if kind == "start":
            yield "using world size: 512, data-parallel size: 64, context-parallel size: 1"
        elif kind == "go":
            if step:
                yield f"  successfully loaded checkpoint from /ckpt [ t 0, p 0 ] at iteration {step}"
            yield f"[before the start of training step] datetime: {stamp(at_s)} "
        elif kind == "step":
            begin = f" [{stamp(at_s)}]" if stamped else ""
            yield (
                f"{begin} iteration {step:8d}/  500000 | consumed samples: {1024 * step:12d} | elapsed time per "
                f"iteration (ms): {1000 * STEP_S:.1f} | lm loss: 2.1E+00 | number of nan iterations:   0 |"
            )
        else:
            yield f"  successfully saved checkpoint from iteration {step:7d} to /ckpt"
            yield f"    save-checkpoint ......................: ({999 * SAVE_S:.2f}, {1000 * SAVE_S:.2f})"


def torchtitan(events: list[Event], ranks: int = 1, colour: bool = False) -> Iterator[str]:
    red, green = ("\x1b[31m", "\x1b[32m") if colour else ("", "")
    sides = "pp=1, dp_replicate=8, dp_shard=64, cp=1, tp=1, ep=1"
    for at_s, kind, step in events:
        for rank in range(ranks):
            begin = f"[rank{rank}]:[titan] {stamp(at_s)},{123 + rank} - root - INFO - "
            yield (
                begin
                + {
                    "start": f"Building device mesh with parallelism: {sides}",
                    "go": f"Training starts at step {step + 1}",
                    "step": f"{red}step: {step:2d}  {green}loss: 2.7069  memory: 30.99GiB(32.62%)  tps: 7,034",
                    "saved": f"Finished saving the checkpoint in {SAVE_S:.2f} seconds.",
                }[kind]
            )


def nemo(events: list[Event], stamped: bool = True) -> Iterator[str]:
    for at_s, kind, step in events:
        begin = f"[{stamp(at_s, 'T')}+00:00] " if stamped else ""
        if kind == "start":
            yield begin + "GPU available: True (cuda), used: True"
        elif kind == "go" and step:
            yield begin + f"Restored all states from the checkpoint at /ckpt/run--val_loss=2.1-step={step}-last"
        elif kind == "step":
            yield (
                f"{begin}Training epoch 0, iteration {step - 1}/99999 | lr: 1e-05 | global_step: {step - 1} | "
                f"reduced_train_loss: 2.2 | train_step_timing in s: {STEP_S:.3f}"
            )
        elif kind == "saved":
            yield f"{begin}Successfully saved checkpoint from iteration {step:7d} to /ckpt"


def goodput(events: list[Event]) -> Iterator[str]:
    """Newest first, as an export has them; a step's record is its start."""
    begin_s, records = BEGIN.timestamp(), []
    for at_s, kind, step in events:
        if kind == "start":
            records.append({"job_start_time": begin_s + at_s})
            records.append({"tpu_init_start_time": begin_s + at_s})
            records.append({"tpu_init_end_time": begin_s + at_s + 90})
        elif kind in ("go", "step"):
            records.append({"step_count": step, "step_start_time": begin_s + at_s})
    yield json.dumps([{"jsonPayload": {"job_name": "run", **record}} for record in records[::-1]])


def table(events: list[Event]) -> Iterator[str]:
    yield "time,step,step_s"
    for at_s, kind, step in events:
        if kind == "step":
            yield f"{stamp(at_s)},{step},{STEP_S}"


def maxtext(events: list[Event]) -> Iterator[str]:
    for at_s, kind, step in events:
        begin = f"I{BEGIN + timedelta(seconds=at_s):%m%d %H:%M:%S.%f} 138304841739136 max_logging.py:28] "
        if kind == "start":
            yield f"{begin}Num_devices: 512, shape (1, 512, 1)"
        elif kind == "go" and step:
            yield f"{begin}restoring from this run's directory step {step}"
        elif kind == "step":
            yield f"{begin}completed step: {step}, seconds: {STEP_S - 0.1:.3f}, TFLOP/s/device: 346.9, loss: 2.1"
        elif kind == "saved":
            yield f"{begin}Saved a checkpoint at step {step}."


def nanotron(events: list[Event]) -> Iterator[str]:
    for at_s, kind, step in events:
        begin = f"{BEGIN + timedelta(seconds=at_s):%m/%d/%Y %H:%M:%S} [INFO|DP=0|PP=0|TP=0]: "
        if kind == "go":
            yield f"{begin}[Start training] datetime: {stamp(at_s)} | mbs: 4 | start_iteration_step: {step} | more: 1"
        elif kind == "step":
            yield f"{begin}iteration: {step} / 99999 | elapsed_time_per_iteration_ms: {STEP_S:.3g}K | lm_loss: 2.1"
        elif kind == "saved":
            yield f"{begin}Saving checkpoint at /ckpt/{step}"


def tensorboard(events: list[Event]) -> Iterator[str]:
    yield "Wall time,Step,Value"
    yield from (f"{BEGIN.timestamp() + at_s:.6f},{step},2.1" for at_s, kind, step in events if kind == "step")


def wandb(events: list[Event]) -> Iterator[str]:
    """The history of a run as lines of JSON, with another metric of each step right after it."""
    for at_s, kind, step in events:
        if kind == "step":
            yield json.dumps({"_step": step, "_timestamp": BEGIN.timestamp() + at_s, "_runtime": at_s, "loss": 2.1})
            yield json.dumps({"_step": step, "_timestamp": BEGIN.timestamp() + at_s + 0.2, "eval/loss": 2.2})
