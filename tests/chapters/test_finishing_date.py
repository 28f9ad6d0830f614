"""Finishing dates: exact beside simulated, and by the count behind the rate."""

from __future__ import annotations

import math
from functools import cache

import pandas as pd
import pytest

from computed.chapters import NO_FAILURES
from ettr import Scenario, budget
from ettr_book.chapters.common.runs import formula_run, rack_failures
from ettr_book.chapters.finishing_date import COUNTED_RATE, KNOWN_RATE, FinishingDates, finishing_dates, range_by_count

LLAMA = "llama3-405b"
POOL = {"spares": {"n_nodes": 4}, "repair": {"manual_h": 24}}
STOPS = ("checkpoint.stall_s", "checkpoint.persist_s", "recovery.detection_min", "recovery.restart_min")
PEER = {"name": "peer", "interval_s": 300, "stall_s": 0.1, "write_s": 20, "load_s": 10, "survives": 0.9}
CASES = {
    "as it is": {},
    "no failures": NO_FAILURES,
    "elastic": POOL | {"elastic": {"n_replicas": 128, "n_least": 120}},
    "spares": POOL,
    "burn-in": {"failures.burn_in": {"factor": 3, "decay_days": 20}, "job.productive_h": 100},
    "nothing seen": {"failures.n_events": 0, "failures.modes": []},
    "tiers": {"checkpoint.tiers": [PEER]},
    "hours": {"job.productive_h": 3},
    "nothing is lost": NO_FAILURES | dict.fromkeys(STOPS, 0) | {"maintenance": None},
}
FOLLOWED = [("rsc-1",), ("glm-130b",), (LLAMA, "as it is"), (LLAMA, "hours")]


@cache
def run(name: str = LLAMA, case: str = "as it is") -> Scenario:
    return Scenario.load(name).override(CASES[case])


@cache
def dates(*which: str) -> FinishingDates:
    return finishing_dates(run(*which), 400)


def by_count(*which: str) -> pd.DataFrame:
    return range_by_count(dates(*which))


@pytest.mark.parametrize("which", FOLLOWED, ids=" ".join)
def test_the_date_is_exact_where_the_form_follows_the_run(which):
    finish = dates(*which)
    assert finish.left_out == () and finish.of_run is finish.exact
    assert finish.ends_h == pytest.approx([budget.finishing(run(*which)).quantile(p) for p in (0.05, 0.5, 0.95)])
    error_h = finish.exact.sd_h / math.sqrt(finish.runs.n_runs)
    assert abs(finish.runs.total_h.mean() - finish.exact.mean_h) < 4 * error_h


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("elastic", "elastic"),
        ("spares", "spares that run out"),
        ("tiers", "faster tiers"),
        ("burn-in", "a changing failure rate"),
    ],
)
def test_the_date_is_that_of_simulated_runs_where_it_does_not(case, words):
    finish = dates(LLAMA, case)
    assert any(words in feature for feature in finish.left_out)
    assert finish.ends_h == pytest.approx(finish.runs.finish_h([0.05, 0.5, 0.95]), rel=1e-3)
    if case not in ("burn-in", "tiers"):  # a shorter run, and another interval
        assert finish.exact.mean_h == pytest.approx(dates(LLAMA).exact.mean_h)


WARNED = {"prediction": {"recall": 0.6, "precision": 0.85, "lead_s": 120, "action_s": 30}}
SILENT = {"failures.modes": [{"name": "SDC", "share": 1.0, "latency_h": 2}], "checkpoint.persist_s": 0}


@pytest.mark.parametrize(
    ("changes", "left_out"),
    [
        (WARNED | {"cluster.n_gpus": 128, "job.productive_h": 20}, "predicted failures (prediction)"),
        (SILENT, "late detection of silent failures (failures.modes)"),
    ],
)
def test_as_much_goes_as_the_form_needs(llama3, changes, left_out):
    assert finishing_dates(llama3.override(changes), 20).left_out == (left_out,)


def test_a_rate_from_a_count_widens_the_range_the_less_the_more_were_counted():
    frame = by_count(LLAMA)
    counted = frame[frame["case"] == COUNTED_RATE].set_index("n_events")["range_days"]
    (known_days,) = set(frame.loc[frame["case"] == KNOWN_RATE, "range_days"])
    assert counted.is_monotonic_decreasing and counted.iloc[-1] > known_days and 419 in counted.index
    mixed = dates(LLAMA).counted
    assert mixed is not None
    assert counted[419] == pytest.approx((mixed.quantile(0.95) - mixed.quantile(0.05)) / 24, rel=1e-3)


def test_without_failures_there_is_nothing_to_count():
    assert set(by_count(LLAMA, "no failures")["case"]) == {KNOWN_RATE}
    assert dates(LLAMA, "no failures").counted is dates(LLAMA, "nothing seen").counted is None
    assert dates("rsc-1").counted is None


def test_racks_take_their_share_from_all_others_alike(llama3):
    base = formula_run(llama3)
    racks = base.override(rack_failures(base, 8))
    assert racks.job_rate_per_h == pytest.approx(base.job_rate_per_h)
    assert racks.failures.modes[-1].n_out_nodes == 8
    assert dict(zip(racks.mode_names, racks.mode_weights, strict=True))["Rack"] == pytest.approx(0.02)
    again = rack_failures(racks, 16)["failures.modes"]
    assert [mode["name"] for mode in again].count("Rack") == 1 and again[-1]["n_out_nodes"] == 16
    assert rack_failures(formula_run(llama3.override({"cluster.n_gpus": 8})), 16)["failures.modes"][-1]["share"] == 0.02
