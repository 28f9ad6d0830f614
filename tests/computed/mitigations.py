"""Comparisons on small runs, with a catalogue of eight that is known, what two chapters make of them, and sets."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pandas as pd

from ettr import Scenario, mitigation, plan, recommendation
from ettr_book.chapters import portfolio
from ettr_book.chapters.common.runs import followed, loaded

CATALOGUE = """
assumptions:
  - {path: cost, value: {usd_per_gpu_h: 2.0, usd_per_kwh: 0.08}, status: assumed, note: round}
  - {path: recovery.person_share, value: 0.01, status: secondary, source: dubey2024, note: round}
mitigations:
  - id: faster-restart
    title: Faster restart
    group: restart
    mechanism: Starts in two fifths of the time.
    asked_by: [dubey2024, kokolis2025]
    changes: [{path: recovery.restart_min, op: scale, value: 0.4, status: assumed, note: round}]
    price: {usd: 100000, status: assumed, note: round}
    published:
      - &one
        {quantity: something, before: 2, after: 1, unit: "1", status: primary, source: dubey2024, why: not stated}
  - id: shorter-stall
    title: Shorter stall
    group: checkpoint
    mechanism: The stall takes a tenth.
    asked_by: [kokolis2025]
    changes: [{path: checkpoint.stall_s, op: scale, value: 0.1, status: secondary, source: dubey2024, note: round}]
    price: {usd_per_gpu: 100, status: assumed, note: round}
    published:
      - quantity: time lost to saving
        after: 0.0037
        unit: "1"
        status: primary
        source: dubey2024
        verdict: reproduced
        rows: [bloom-stall]
        why: stall over interval
  - id: slower-training
    title: Slower training
    group: speed
    mechanism: Takes 1% of the throughput, for nothing.
    changes: [{path: job.throughput_factor, op: scale, value: 0.99, status: assumed, note: round}]
    published: [*one]
  - id: other-stall
    title: Another stall
    group: checkpoint
    mechanism: The stall takes 5 s.
    changes: [{path: checkpoint.stall_s, op: set, value: 5, status: assumed, note: round}]
    price: {usd: 5000, status: assumed, note: round}
    published: [*one]
    conflicts: {shorter-stall: "both change the stall"}
  - id: in-place
    title: Quick detection
    group: detection
    mechanism: Failures are noticed within 5 min.
    changes: [{path: recovery.detection_min, op: cap, value: 5, status: assumed, note: round}]
    before: [{path: recovery.detection_min, op: set, value: 30, status: assumed, note: "a time-out"}]
    published: [*one]
  - id: needs-spares
    title: More spares
    group: nodes
    mechanism: Twice the spares.
    changes: [{path: spares.n_nodes, op: scale, value: 2, status: assumed, note: round}]
    published: [*one]
  - id: unknown-worth
    title: Untried
    group: detection
    mechanism: Nobody has measured it.
    changes:
      - {path: recovery.detection_min, op: scale, value: 0.2, status: assumed, note: round}
      - {path: recovery.person_share, op: scale, value: 0.5, status: assumed, note: round}
  - id: not-a-field
    title: Not modelled
    group: speed
    mechanism: No scenario can say it.
    unmodelled: no field of a scenario stands for it
    published: [*one]
"""

CASES = {
    "usual": {"job.productive_h": 120.0},
    "tiny": {"job.productive_h": 6.0, "cluster.n_gpus": 64},
}
"""Runs that a chapter must bear: as usual, and too small to meet any failure."""


@cache
def small_catalogue() -> mitigation.Catalogue:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "known.yml"
        path.write_text(CATALOGUE)
        return mitigation.catalogue(path)


@cache
def comparison(case: str = "usual", n_runs: int = 60) -> recommendation.Comparison:
    """Each of the catalogue alone."""
    run = Scenario.load("llama3-405b").override(CASES[case])
    return recommendation.mitigations(run, n_runs=n_runs, of=small_catalogue())


@cache
def recommended(name: str = "llama3-405b") -> recommendation.Recommendation | None:
    """What the chapter on mitigations together recommends for a preset."""
    return plan.make(followed(loaded(name)), simulate=False).recommend(1e9)


@cache
def ends(name: str = "llama3-405b") -> pd.DataFrame:
    """Its set with one assumption at a time at either end of its range: of two inputs and every effect."""
    best_set = recommended(name)
    inputs = plan.make(followed(loaded(name)), simulate=False).assumptions.inputs
    few = [entry for entry in inputs if entry.field in ("recovery.restart_min", "recovery.detection_min")]
    return portfolio.ends(best_set, few)
