"""Failures that are all noticed one latency after they struck."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.budget.transforms.recoveries import (
    Exposure,
    Kind,
    kinds_of,
    missing_down,
    missing_restart,
    together,
    whole_intervals,
    widened,
)
from ettr.budget.transforms.stages import Of, Quiet
from ettr.core.units import ROUNDING
from ettr.scenario import JobInHours


def whole(run: JobInHours, starts: bool) -> Of:
    """Transform of a run whose failures are silent; nothing is computed in a restart that could be spoiled."""
    kinds, latency_h = kinds_of(run), float(run.modes.latencies[0])
    run = widened(run)
    segment_h = run.tau + run.stall

    def try_(at: Exposure, clean_h: Any, then_h: Any) -> Any:
        """Some hours unspoiled, then others in which it no longer matters."""
        again = at.strikes(clean_h) * np.exp(-at.s * latency_h) * _recovery(run, kinds, at.down)
        return at.survives(clean_h) * np.exp(-at.s * then_h) / (1 - again)

    def steady(at: Exposure) -> Any:
        return try_(at.of_whole_intervals(run), segment_h, 0.0) ** whole_intervals(run)

    def finite(at: Exposure) -> Any:
        n, left_h = _last(run, segment_h, latency_h)
        clean_h = np.maximum(left_h - latency_h, 0.0)
        begun = np.exp(-at.down * (run.first_queue + run.start)) if starts else 1.0
        return begun * try_(at, segment_h, 0.0) ** n * try_(at, clean_h, left_h - clean_h)

    return finite if run.include_start else steady


def quiet(run: JobInHours, starts: bool) -> Quiet:
    """A run in which nothing strikes that is noticed before its end."""
    latency_h, segment_h = float(run.modes.latencies[0]), run.tau + run.stall
    if not run.include_start:
        exposed_h = whole_intervals(run) * segment_h
        return Quiet(np.exp(-run.rate * exposed_h), run.work / run.tau * segment_h, exposed_h)
    n, left_h = _last(run, segment_h, latency_h)
    begun_h = run.first_queue + run.start if starts else 0.0
    all_h = n * segment_h + left_h
    exposed_h = np.maximum(all_h - latency_h, 0.0)
    return Quiet(np.exp(-run.rate * exposed_h), begun_h + all_h, exposed_h)


def _recovery(run: JobInHours, kinds: list[Kind], down: Any) -> Any:
    """Detection, queue and restart of a failure that was found."""
    lacks: Any = 0.0
    for kind in kinds:
        restart = missing_restart(run, kind.restart_h, kind.restart_cv, run.load, down)
        lacks = lacks + kind.share * together((missing_down(run, kind, down), restart))
    return 1 - lacks


def _last(run: JobInHours, segment_h: Any, latency_h: float) -> tuple[Any, Any]:
    """Segments that what struck in them is always found before the end, and the hours after them. [1, h]"""
    n_taken = np.maximum(np.ceil(run.work / run.tau - ROUNDING) - 1, 0)
    all_h = run.work + n_taken * run.stall
    n = np.clip(np.floor((all_h - latency_h) / segment_h * (1 + ROUNDING)), 0, n_taken)
    return n, all_h - n * segment_h
