"""The rules step by step: by hand, and against the closed forms that know nothing of steps."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import budget
from ettr.core.errors import EttrError, NotModelled
from ettr.drill import DrillCalibration, Settings, Strike, answer, band, calibrated, replayed, scenario_of
from ettr.drill.measured import Account, MeasuredDrill
from ettr.drill.predicted import drawn

KNOWN = DrillCalibration(
    step_s=0.02,
    writing_step_s=0.025,
    stall_s=0.1,
    write_s=0.1,
    restart_s=0.3,
    detection_s={"crash": 0.01, "hang": 0.5, "supervisor": 0.2, "flip": 0.01},
)


def seconds(account):
    hours = account.budget(KNOWN.step_s)
    return {part: 3600 * getattr(hours, f"{part}_h") for part in ("productive", "checkpoint", "rework", "slowdown")}


def test_undisturbed():
    account = replayed(Settings(work_s=4.0), KNOWN, [])
    assert seconds(account) == pytest.approx({"productive": 4.0, "checkpoint": 0.3, "rework": 0.0, "slowdown": 0.0})
    assert account.restart_s == 0.3 and account.n_stops == 0


def test_a_crash_by_hand():
    # a start of 0.3 s, a second of training, a stall of 0.1 s, then 0.6 s in vain
    account = replayed(Settings(work_s=4.0), KNOWN, [Strike(0, 1.7, "crash")])
    assert seconds(account) == pytest.approx({"productive": 4.0, "checkpoint": 0.3, "rework": 0.6, "slowdown": 0.0})
    assert account.restart_s == pytest.approx(0.6)
    assert account.detection_s == 0.01


def test_a_crash_in_a_start_by_hand():
    account = replayed(Settings(work_s=4.0), KNOWN, [Strike(0, 0.1, "crash", True), Strike(1, 0.2, "hang", True)])
    assert account.restart_s == pytest.approx(0.6)  # 0.1, 0.2 and 0.3
    assert account.detection_s == pytest.approx(0.01 + Settings().start_timeout_s - 0.2)


def test_a_corrupt_checkpoint_costs_the_interval_before():
    crash, spoilt = Strike(0, 2.6, "crash"), Strike(0, 2.3, "corrupt")
    plain, worse = (replayed(Settings(work_s=4.0), KNOWN, strikes) for strikes in ([crash], [spoilt, crash]))
    assert worse.rework_s - plain.rework_s == pytest.approx(1.1)  # and the stall that was in vain
    healed = replayed(Settings(work_s=4.0), KNOWN, [Strike(0, 1.2, "corrupt"), crash])
    assert healed.rework_s == plain.rework_s  # the next checkpoint was whole


def test_a_flipped_bit_costs_what_was_trained_until_it_is_found():
    settings = Settings(work_s=4.0, faults={"flip": 9.0}, check_steps=10)
    account = replayed(settings, KNOWN, [Strike(0, 1.21, "flip")])
    # it trains again since 1.1 s; 0.11 s and the rest of ten steps are lost, and no stall
    assert account.rework_s == pytest.approx(0.2)
    assert account.n_stops == 1


def test_a_slow_worker_slows_all():
    account = replayed(Settings(work_s=10.0), KNOWN, [Strike(0, 1.7, "slow")])
    assert seconds(account)["slowdown"] == pytest.approx((4.0 - 2 * 0.1) / 2)  # half of 4 s without two stalls


def test_no_checkpoint_while_the_disk_is_full():
    strikes = [Strike(0, 0.9, "disk"), Strike(0, 3.7, "crash")]
    account = replayed(Settings(work_s=6.0), KNOWN, strikes)
    assert account.rework_s == pytest.approx(3.7)  # all of it
    assert account.n_stops == 1


@pytest.mark.parametrize(
    "options",
    [
        {"faults": {"crash": 9.0, "hang": 9.0, "supervisor": 15.0}},
        {"faults": {"crash": 5.0}, "background": True, "write_s": 0.5},
        pytest.param({"faults": {"crash": 5.0}, "interval_s": 3.0}, marks=pytest.mark.slow),
    ],
)
def test_drawn_plans_agree_with_the_exact_form(options):
    settings = Settings(work_s=6.0, **options)
    calibration = (
        KNOWN if not settings.background else DrillCalibration(**{**KNOWN.__dict__, "stall_s": 0.0, "write_s": 0.5})
    )
    n = 600
    accounts = [drawn(settings, calibration, draw) for draw in range(n)]
    budgets = [account.budget(calibration.step_s) for account in accounts]
    expected = budget.exact(scenario_of(settings, calibration))
    for part in ("rework_h", "restart_h", "detection_h", "total_h", "n_failures"):
        values = np.array([getattr(drawn_budget, part) for drawn_budget in budgets])
        error = values.std() / np.sqrt(n)
        # a write ends within a step, whose length the rules count in whole
        slack = 0.01 * expected.total_h if settings.background else 0.0
        assert values.mean() == pytest.approx(getattr(expected, part), abs=4 * error + slack), part
    total_s = 3600 * np.array([drawn_budget.total_h for drawn_budget in budgets])
    predicted = band(settings, calibration)
    assert predicted.way == "exact model"
    inside = ((total_s >= predicted.low_s - 1e-6) & (total_s <= predicted.high_s)).mean()
    assert inside == pytest.approx(0.95, abs=0.04)


def test_what_no_field_expresses_is_drawn():
    settings = Settings(work_s=2.0, faults={"crash": 4.0, "corrupt": 4.0})
    with pytest.raises(NotModelled, match="corrupt"):
        scenario_of(settings, KNOWN)
    assert band(settings, KNOWN).way == "simulated fault plans"


def test_a_run_without_a_fault_is_within_its_band():
    settings = Settings(work_s=4.0, faults={"crash": 60.0})
    predicted = band(settings, KNOWN)
    least_s = 3600 * replayed(settings, KNOWN, []).budget(KNOWN.step_s).total_h
    assert predicted.low_s == pytest.approx(least_s)
    assert (
        predicted.holds(0.995 * least_s)
        and not predicted.holds(0.98 * least_s)
        and not predicted.holds(1.02 * predicted.high_s)
    )


def test_a_calibration_waits_three_times_as_long_where_workers_were_still_starting(tmp_path, monkeypatch):
    settings, busy = [], MeasuredDrill(Account(), [], [], [], [], [], [], {}, 0, 0)
    monkeypatch.setattr(answer.running, "run", lambda place, short, on_progress: settings.append((place, short)))
    monkeypatch.setattr(answer, "events", lambda place: [])
    monkeypatch.setattr(answer, "measured", lambda log, short: busy)
    with pytest.raises(EttrError, match="use fewer workers or a less busy machine, and another folder"):
        calibrated(tmp_path, Settings())
    apart_s = [short.plan[1].at_s - short.plan[0].at_s for _, short in settings]
    assert np.divide(apart_s, apart_s[0]) == pytest.approx([1, 3, 9])
    assert len({place for place, _ in settings}) == 3
