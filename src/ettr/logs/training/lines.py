"""Logs of training frameworks as they print them: Megatron, torchtitan, NeMo, MaxText and nanotron."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.line_stamps import latest_year, stamp_or_none
from ettr.files.opening import Source
from ettr.files.times import SECOND
from ettr.logs.options import Options
from ettr.logs.training.steps import LOAD, SAVE, StepLog

_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_TIMER = rf"[ .]*:\s*(?:\({_NUMBER},\s*)?(?P<ms>{_NUMBER})"
"""A timer of Megatron: the milliseconds of the slowest rank."""
_COUNTED_FROM = {"step": 0, "after": 0, "index": 1, "next": -1}
"""Steps done beyond the number in a group of a pattern."""
_COLOUR = re.compile(r"\x1b\[[\d;]{0,12}m")
_WRITER = re.compile(r"[^|]{0,60}?\[(?:default|rank)(\d{1,6})\]:|\s*(\d{1,6}): ")
"""The rank before a line, as written by torchrun (``[rank0]:``) and srun (``0: ``)."""


@dataclass(frozen=True)
class Dialect:
    """Patterns of the lines of a framework.

    Attributes
    ----------
    step : Pattern
        Step line: groups ``step`` (steps done) or ``index`` (counted from 0), and ``ms`` or ``s``, the time of a step,
        with ``thousand`` if a K follows it.
    starts : Pattern
        Start of a process.
    goes_on : Pattern
        Step from which a process resumes: groups ``after`` (steps done) or ``next`` (the next step); without either it
        starts from the beginning.
    ends : Pattern
        End of a process by itself.
    saved : Pattern
        Saved checkpoint; group ``step`` if the line has it.
    timed : tuple of str and Pattern
        Durations by name: groups ``ms`` or ``s``.
    n_gpus : function
        Returns the GPUs of the run from the line that starts it; None if the line does not have them.
    """

    step: re.Pattern[str]
    starts: re.Pattern[str]
    goes_on: re.Pattern[str]
    ends: re.Pattern[str]
    saved: re.Pattern[str]
    timed: tuple[tuple[str, re.Pattern[str]], ...]
    n_gpus: Callable[[str], int | None] = lambda line: None


def _without_colours(line: str) -> str:
    """A line without the colours of a terminal."""
    return _COLOUR.sub("", line) if "\x1b" in line else line


def _seconds(match: re.Match[str]) -> float:
    """The duration in a match. [s]"""
    groups = match.groupdict()
    if groups.get("ms"):
        return float(groups["ms"]) * (1.0 if groups.get("thousand") else 0.001)
    return float(groups["s"]) if groups.get("s") else math.nan


def _done(match: re.Match[str]) -> int | None:
    """Steps done according to a match; None if it does not have them."""
    for name, number in match.groupdict().items():
        if number and name in _COUNTED_FROM:
            return int(number) + _COUNTED_FROM[name]
    return None


def _size(pattern: str, line: str) -> int | None:
    """The number in the group of a pattern, such as a world size."""
    match = re.search(pattern, line)
    return int(match[1]) if match else None


def _mesh(line: str) -> int | None:
    """Product of the dimensions of a device mesh; expert parallelism is within them."""
    named = re.findall(r"\b(pp|dp_replicate|dp_shard|cp|tp)=([0-9]{1,6})", line)
    bare = re.search(r"device mesh with \[[^]]*\], \[([0-9, ]+)\]", line)
    sides = [int(size) for _, size in named] or ([int(size) for size in bare[1].split(",")] if bare else [])
    return math.prod(sides) if sides else None


MEGATRON = Dialect(
    step=re.compile(
        r"\biteration\s+(?P<step>[0-9]{1,12})/\s*\d+ \|.{0,400}?elapsed time per iteration \(ms\): "
        rf"(?P<ms>{_NUMBER})"
    ),
    starts=re.compile(r"using world size: ?\d"),
    goes_on=re.compile(
        r"successfully loaded checkpoint\b.*?\bat iteration\s+(?P<after>[0-9]{1,12})|before the start of training step"
    ),
    ends=re.compile(r"exiting program (?:at iteration|after)|\[after training is done\]"),
    saved=re.compile(r"successfully saved checkpoint (?:from|at) iteration\s+(?P<step>[0-9]{1,12})"),
    timed=(
        (SAVE, re.compile(r"\bsave-checkpoint" + _TIMER)),
        (LOAD, re.compile(r"\bload-checkpoint" + _TIMER)),
    ),
    n_gpus=partial(_size, r"using world size: ?([0-9]{1,7})"),
)
TORCHTITAN = Dialect(
    step=re.compile(r"\bstep: {0,8}(?P<step>[0-9]{1,12})\s+loss:"),
    starts=re.compile(r"Building\b.{0,40}\bdevice mesh"),
    goes_on=re.compile(r"Training starts at step (?P<next>[0-9]{1,12})"),
    ends=re.compile(r"Training completed"),
    saved=re.compile(r"Finished saving the checkpoint"),
    timed=(
        (SAVE, re.compile(rf"Finished saving the checkpoint\b.*? in (?P<s>{_NUMBER}) seconds")),
        (LOAD, re.compile(rf"Finished loading the checkpoint\b.*? in (?P<s>{_NUMBER}) seconds")),
    ),
    n_gpus=_mesh,
)
NEMO = Dialect(
    step=re.compile(
        r"\bglobal_step: (?P<index>[0-9]{1,12})\b.{0,400}?\btrain_step_timing in s: "
        rf"(?P<s>{_NUMBER})"
    ),
    starts=re.compile(r"GPU available: True"),
    goes_on=re.compile(r"Restored all states from the checkpoint\b(?:.*?[-_=]step=(?P<after>[0-9]{1,12}))?"),
    ends=re.compile(r"`Trainer\.fit` stopped"),
    saved=re.compile(r"successfully saved checkpoint from iteration\s+(?P<step>[0-9]{1,12})", re.IGNORECASE),
    timed=((SAVE, re.compile(r"\bsave-checkpoint" + _TIMER)),),
)


MAXTEXT = Dialect(
    # the time stamps are used instead of the seconds in the line, which leave out the time between two steps; steps are
    # numbered from 0, as the steps of its checkpoints are
    step=re.compile(r"\bcompleted step: (?P<step>[0-9]{1,12}), seconds: "),
    starts=re.compile(r"\bNum_devices: [0-9]"),
    goes_on=re.compile(r"restoring from this run's directory (?:latest )?step (?P<after>[0-9]{1,12})"),
    ends=re.compile(r"(?!)"),
    saved=re.compile(r"(?:[Ss]aved a checkpoint at|asynchronous checkpoint save for) step (?P<step>[0-9]{1,12})"),
    timed=(),
    n_gpus=partial(_size, r"Num_devices: ([0-9]{1,7}),"),
)
NANOTRON = Dialect(
    step=re.compile(
        r"\biteration: (?P<step>[0-9]{1,12}) / [0-9]+ \|.{0,400}?\belapsed_time_per_iteration_ms: "
        rf"(?P<ms>{_NUMBER})(?P<thousand>K)?"
    ),
    starts=re.compile(r"\[Start training\]"),
    goes_on=re.compile(r"\[Start training\].{0,400}?\bstart_iteration_step: (?P<after>[0-9]{1,12})"),
    ends=re.compile(r"(?!)"),
    saved=re.compile(r"Saving checkpoint at \S{0,400}?/(?P<step>[0-9]{1,12})(?:\s|$)"),
    timed=(),
)


def _read(dialect: Dialect, source: Source, options: Options, log: StepLog, ledger: Ledger) -> None:
    """Read every line by the patterns of its framework."""
    if options.year is None:
        options = replace(options, year=latest_year(map(_without_colours, source.head()), ledger))
    clock = options.clock(ledger)
    n_other, first_other = 0, ""
    for place, raw in source.records(ledger):
        line = _without_colours(raw)
        at_us = stamp_or_none(line, clock)
        at_s = None if at_us is None else at_us / SECOND
        step = dialect.step.search(line)
        if step is None:
            if at_s is not None:
                log.seen(at_s)
            if not _mark(dialect, line, log, _rank(line)):
                n_other, first_other = n_other + 1, first_other or place
            continue
        log.reached(_done(step) or 0, at_s, _seconds(step), place, _rank(line))
    if n_other:
        ledger.dropped("line without a step", n_other, first_other)


def _rank(line: str) -> str:
    """The rank that wrote a line; empty if unknown."""
    match = _WRITER.match(line)
    return (match[1] or match[2]) if match else ""


def _mark(dialect: Dialect, line: str, log: StepLog, rank: str) -> bool:
    """Add the event of a line without a step; whether there is one."""
    is_event = False
    if dialect.starts.search(line):
        size = dialect.n_gpus(line)
        log.n_gpus = size or log.n_gpus
        log.starts(rank)
        is_event = True
    if resumed := dialect.goes_on.search(line):
        log.goes_on(_done(resumed))
        is_event = True
    if saved := dialect.saved.search(line):
        step = _done(saved)
        if step is not None or log.now.step:
            log.saves(log.now.step[-1] if step is None else step)
        is_event = True
    for name, pattern in dialect.timed:
        if match := pattern.search(line):
            log.timed(name, _seconds(match))
            is_event = True
    if dialect.ends.search(line):
        log.ends()
        is_event = True
    return is_event


def _format(name: str, title: str, dialect: Dialect, command: str, sample: str) -> Format:
    """The format of a framework."""

    def sniff(head: list[str]) -> bool:
        return any(dialect.step.search(line) or dialect.starts.search(line) for line in map(_without_colours, head))

    def read(source: Source, options: Options, log: StepLog, ledger: Ledger) -> None:
        _read(dialect, source, options, log, ledger)

    return Format(name, title, sniff, read, command, sample)


_MEGATRON_SAMPLE = "\n".join(
    f" [2025-04-13 {time}] iteration {step:8}/  500000 | consumed samples: {1024 * step:12} | elapsed time per "
    "iteration (ms): 8125.2 | learning rate: 3.000E-05 | number of nan iterations:   0 |"
    for time, step in (("23:41:12", 10), ("23:42:33", 20))
)
_TITAN_SAMPLE = "\n".join(
    f"[rank0]:[titan] 2025-06-04 {time} - root - INFO - step: {step:2}  loss: {loss}  memory: 30.99GiB(32.62%)  tps: "
    "7,034  tflops: 407.35  mfu: 41.19%"
    for time, step, loss in (("08:51:58,557", 10, 10.7069), ("08:52:10,224", 20, 8.9196))
)
_NEMO_SAMPLE = "\n".join(
    f"[2025-11-20T14:55:{second}+08:00] Training epoch 0, iteration {step}/99 | lr: 1.4e-05 | global_step: {step} | "
    "reduced_train_loss: 6.265 | train_step_timing in s: 12.22"
    for second, step in (("23", 97), ("35", 98))
)
_MAXTEXT_SAMPLE = "\n".join(
    f"I0601 {time} 138304841739136 metric_logger.py:181] completed step: {step}, seconds: 30.112, TFLOP/s/device: "
    "346.9, Tokens/s/device: 19006.4, total_weights: 1572864, loss: 12.979"
    for time, step in (("10:00:30.531340", 100), ("10:01:00.643210", 101))
)
_NANOTRON_SAMPLE = "\n".join(
    f"06/01/2025 {time} [INFO|DP=0|PP=0|TP=0]: iteration: {step} / 378950 | consumed_tokens: 85.8G | "
    "elapsed_time_per_iteration_ms: 30.1K | tokens_per_sec: 22.8K | lm_loss: 2.38"
    for time, step in (("10:00:30", 101), ("10:01:00", 102))
)

FORMATS = (
    _format(
        *("megatron", "training log of Megatron-LM or Megatron-DeepSpeed", MEGATRON),
        *("torchrun ... pretrain_gpt.py ... 2>&1 | tee -a train.log", _MEGATRON_SAMPLE),
    ),
    _format(
        *("torchtitan", "training log of torchtitan", TORCHTITAN),
        *("./run_train.sh 2>&1 | tee -a train.log", _TITAN_SAMPLE),
    ),
    _format(
        *("nemo", "training log of NeMo; its lines get times from ts, as they carry none", NEMO),
        *("torchrun ... 2>&1 | ts '%Y-%m-%dT%H:%M:%S' | tee -a train.log", _NEMO_SAMPLE),
    ),
    _format(
        *("maxtext", "training log of MaxText, with the time stamps of absl", MAXTEXT),
        *("python3 -m MaxText.train ... 2>&1 | tee -a train.log", _MAXTEXT_SAMPLE),
    ),
    _format(
        *("nanotron", "training log of nanotron", NANOTRON),
        *("torchrun ... run_train.py ... 2>&1 | tee -a train.log", _NANOTRON_SAMPLE),
    ),
)
