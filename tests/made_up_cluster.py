"""Accounting of a made-up cluster whose failures and lost work are known, job by job."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ettr import cluster

SIZES = {4: (0.5, 5.0), 8: (0.27, 20.0), 64: (0.18, 24.0), 512: (0.04, 30.0), 2048: (0.01, 50.0)}
"""GPUs of a job: its share of the jobs, and the mean hours of work."""
PER_NODE, WINDOW_H = 8, 60 * 24.0
LARGE_GPUS, PREEMPTED_SHARE = 512, 0.2


@dataclass
class MadeUp:
    """A cluster of many jobs.

    Each run of a job fails at a constant rate per node, saves every ``interval_h``, and starts again after a wait. When
    a large job starts again, it pre-empts each small job that runs at the time with the same probability.
    """

    seed: int
    n_jobs: int = 5000
    per_node_day: float = 0.0065
    interval_h: float = 1.0
    stall_h: float = 60 / 3600
    detection_h: float = 5 / 60
    restart_h: float = 10 / 60
    wait_h: float = 0.25
    rows: list[tuple] = field(default_factory=list)
    truth: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.again: list[tuple[float, int]] = []
        self.restarts: np.ndarray | None = None
        sizes = self.rng.choice(list(SIZES), self.n_jobs, p=[share for share, _ in SIZES.values()])
        for job in np.argsort(-sizes, kind="stable"):  # large jobs first, which pre-empt the others
            self.run_job(int(job), int(sizes[job]))

    def run_job(self, job: int, gpus: int) -> None:
        rng = self.rng
        work = rng.exponential(SIZES[gpus][1])
        start, first, rate_h = rng.uniform(0, WINDOW_H), True, self.per_node_day / 24 * -(-gpus // PER_NODE)
        taken = self.preemptions(gpus)
        while True:
            overhead = 0.0 if first else self.restart_h
            n_saves = int(work / self.interval_h)
            end_if_undisturbed = overhead + work + n_saves * self.stall_h
            fails = rng.exponential(1 / rate_h)
            after = np.searchsorted(taken, start, side="right")
            stopped = taken[after] - start if after < taken.size else np.inf
            lasts = min(end_if_undisturbed, fails, stopped)
            trained = max(lasts - overhead, 0.0)
            cycle = self.interval_h + self.stall_h
            saved = min(int(trained / cycle) * self.interval_h, work)
            stalls = int(trained / cycle) * self.stall_h
            state, noticed, kept = "COMPLETED", 0.0, work
            if lasts < end_if_undisturbed:
                kept = saved
                state, noticed = ("NODE_FAIL", self.detection_h) if fails < stopped else ("PREEMPTED", 0.0)
            else:
                stalls = n_saves * self.stall_h
            lost = max(trained - kept - stalls, 0.0) if state != "COMPLETED" else 0.0
            end = start + lasts + noticed
            self.rows.append((job, gpus, start, end, state))
            self.count(gpus, lasts + noticed, kept, lost + noticed if state == "NODE_FAIL" else 0.0, state, lost)
            if state == "COMPLETED":
                return
            work -= kept
            start = end + self.wait_h * rng.exponential() + 0.05
            first = False
            if state == "NODE_FAIL" and gpus >= LARGE_GPUS:
                self.again.append((start, gpus))

    def preemptions(self, gpus: int) -> np.ndarray:
        """Times at which a small job, if it runs then, makes room for a large one."""
        if gpus >= LARGE_GPUS:
            return np.empty(0)
        small = 6000.0  # GPUs in small jobs, about
        if self.restarts is None:  # all large jobs have run
            self.restarts = np.array(self.again).reshape(-1, 2).T
        at, large = self.restarts
        taken = self.rng.random(at.size) < PREEMPTED_SHARE * large / small
        return np.sort(at[taken] - self.rng.uniform(0, 2 / 60, taken.sum()))

    def count(self, gpus: int, hours: float, kept: float, lost: float, state: str, work: float) -> None:
        of = self.truth.setdefault(gpus, dict.fromkeys(("gpu_h", "productive", "lost_work", "preemption"), 0.0))
        of["gpu_h"] += gpus * hours
        of["productive"] += gpus * kept
        of["lost_work"] += gpus * lost
        of["preemption"] += gpus * work if state == "PREEMPTED" else 0.0

    def accounting(self) -> cluster.Accounting:
        """The accounting, without what only the model knows."""
        frame = pd.DataFrame(self.rows, columns=["job", "gpus", "start", "end", "state"])
        return cluster.from_frame(frame, PER_NODE)
