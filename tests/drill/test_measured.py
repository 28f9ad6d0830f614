"""A log, written by hand, and where its seconds went."""

from __future__ import annotations

import pytest

from ettr.core.errors import InputError
from ettr.drill.measured import Strike, measured
from ettr.drill.settings import Settings


def log(*rows):
    return [{"event": event, "at_s": at_s, **values} for event, at_s, values in rows]


def step(at_s, number, checked=False):
    return ("step", at_s, {"step": number, "checked": checked})


def crash(at_s, kind="crash", **values):
    return ("fault", at_s, {"kind": kind, "missed": False, **values})


STARTED = [
    ("start", 0.0, {"step": 0}),
    ("ready", 1.0, {"step": 0}),
    step(2.0, 1),
    step(3.0, 2),
    ("durable", 3.5, {"step": 2}),
    ("stalled", 3.5, {"step": 2, "writing": False}),
    step(4.5, 3),
]
AGAIN = [("start", 7.0, {"step": 2}), ("ready", 8.5, {"step": 2}), step(9.5, 3), step(10.5, 4), ("end", 10.6, {})]
SETTINGS = Settings(work_s=0.08)


def parts(reading):
    account = reading.account
    lost = {name: getattr(account, f"{name}_s") for name in ("rework", "detection", "queue", "restart")}
    return {"steps": sum(account.step_s.values()), "stalls": sum(account.stall_s.values()), **lost}


def test_a_crash():
    result = measured(log(*STARTED, crash(5.0), ("down", 5.2, {"why": "crash"}), *AGAIN), SETTINGS)
    assert parts(result) == pytest.approx(
        {"steps": 4.0, "stalls": 0.5, "rework": 1.5, "detection": 2.0, "queue": 0.0, "restart": 2.5}
    )
    assert sum(parts(result).values()) == pytest.approx(10.5)  # to the last step
    assert result.strikes == [Strike(0, 4.0, "crash")]  # since training began
    assert (result.account.n_stops, result.n_lost_steps, result.n_resumed) == (1, 0, 0)


def test_what_stopped_it_from_outside_is_queue():
    result = measured(log(*STARTED, *AGAIN), SETTINGS)
    assert result.n_resumed == 1 and result.account.n_stops == 0
    assert result.account.queue_s == 2.5 and result.account.rework_s == 1.0


def test_a_durable_checkpoint_that_was_not_found_counts():
    lost = [("start", 7.0, {"step": 0}), *AGAIN[1:2], *(step(8.5 + i, i) for i in range(1, 5)), ("end", 13.0, {})]
    stopped = [crash(5.0), ("down", 5.2, {"why": "crash"})]
    assert measured(log(*STARTED, *stopped, *lost), SETTINGS).n_lost_steps == 2
    spoilt = crash(4.0, "corrupt", spoilt_step=2)
    assert measured(log(*STARTED, spoilt, *stopped, *lost), SETTINGS).n_lost_steps == 0


def test_a_supervisor_that_dies_after_a_flip_was_found():
    result = measured(log(*STARTED, ("spoilt", 5.0, {"step": 4}), *AGAIN), SETTINGS)
    assert result.account.rework_s == 1.5 and result.account.detection_s == 2.0


def test_a_drill_that_is_not_done_is_refused():
    with pytest.raises(InputError, match="not done"):
        measured(log(*STARTED), SETTINGS)
