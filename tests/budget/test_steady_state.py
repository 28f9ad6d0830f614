"""A segment of the steady state, lived through: what longer runs take more than shorter ones."""

from __future__ import annotations

import math

import pytest

from ettr import budget
from ettr.core.results import PARTS
from monte_carlo import means, rules_of

MODES = [
    {"name": "hang", "share": 0.3, "detection_min": 30, "restart_min": 20},
    {"name": "crash", "share": 0.5, "detection_min": 1, "queue_min": 12},
]
WRITE = {"checkpoint.persist_s": 1200, "checkpoint.persist_slowdown": 0.2}
DEAD = {"recovery.detection_min": 6, "recovery.queue_min": 9}
TABLE = {
    "plain": {},
    "detection and queue": DEAD,
    "background write": WRITE | DEAD,
    "long background write": {"checkpoint.persist_s": 4500, "checkpoint.persist_slowdown": 0.2},
    "modes": DEAD | {"failures.modes": MODES},
    "background write and modes": WRITE | DEAD | {"failures.modes": MODES},
    "low ETTR": {"cluster.n_gpus": 24_000} | WRITE,
}
LONG, SHORT, N_RUNS = 20, 4, 4000
"""Both start, and both end with the same last segment: sixteen whole segments of the steady state lie between them."""


@pytest.mark.parametrize("name", TABLE)
def test_every_line_of_the_printed_table_is_what_a_segment_takes(plain_run, name):
    run = plain_run.override({**TABLE[name], "job.include_start": False})
    segment = budget.exact(run.override({"job.productive_h": run.interval_h}))
    rules = rules_of(run)
    longer, error = means(N_RUNS, 1, **rules | {"work": LONG * run.interval_h})
    shorter, other_error = means(N_RUNS, 2, **rules | {"work": SHORT * run.interval_h})
    for part in (*PARTS, "n_failures", "total_h"):
        if part not in longer:
            assert getattr(segment, part) == 0, part
            continue
        simulated = (longer[part] - shorter[part]) / (LONG - SHORT)
        deviation = math.hypot(error[part], other_error[part]) / (LONG - SHORT)
        # four standard errors; parts that never vary differ by rounding only
        assert getattr(segment, part) == pytest.approx(simulated, abs=4 * deviation + 1e-9), part
        assert deviation <= 0.015 * simulated, part  # sharp enough to see a term that is missing
