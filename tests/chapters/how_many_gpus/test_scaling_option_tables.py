"""Tables on larger jobs, and other ways to train."""

from __future__ import annotations

import numpy as np
import pytest

from computed.how_many_gpus import TOKENS, answer, table
from computed.how_many_gpus import run as run_of
from ettr import plan, sizing
from ettr.chapters.how_many_gpus import scaling_option_tables as options
from ettr.chapters.how_many_gpus.scaling_option_tables import ELASTIC, FEW_SPARES, by_hours, peak, restarts_times


@pytest.fixture
def run():
    return run_of(TOKENS)


@pytest.fixture
def moved():
    return table("turning")


def test_the_peak_is_where_the_next_gpu_stops_paying(run):
    best = peak(run)
    assert best.n_gpus == pytest.approx(sizing.turning_point(run), rel=2e-3)
    assert not best.ends
    quiet = peak(run, rate_factor=0.0)
    assert quiet.n_gpus > best.n_gpus
    assert quiet.tokens_per_day > best.tokens_per_day


def test_without_jitter_and_failures_the_batch_ends_before_the_curve_turns():
    best = peak(run_of("perfect"))
    assert best.ends
    assert best.n_gpus == pytest.approx(sizing.turning_point(run_of("perfect")), rel=2e-3)
    assert answer("perfect").batch_ends and not answer().batch_ends


def test_at_its_own_value_every_lever_but_the_interval_gives_one_point(moved):
    own = moved[moved["factor"] == 1].set_index("what")["n_gpus"]
    assert own.drop("interval, if it stays").to_numpy() == pytest.approx(own["failure rate"])
    assert own["interval, if it stays"] < own["failure rate"]  # ten minutes are too long for as many


def test_fewer_failures_faster_restarts_and_links_move_it_up(moved):
    for what, sign in (("failure rate", -1), ("restart", -1), ("bandwidth", 1)):
        of = moved[moved["what"] == what].sort_values("factor")
        assert (sign * np.diff(of["tokens_per_day"]) > 0).all(), what
        assert (sign * np.diff(of["n_gpus"]) > 0).all(), what
    jitter = moved[moved["what"] == "jitter"].sort_values("factor")
    assert (np.diff(jitter["tokens_per_day"]) < 0).all()


def test_a_value_of_nothing_is_moved_by_no_factor(run):
    still = run.override({"recovery.restart_min": 0, "scaling.jitter": 0})
    assert {"restart", "jitter"}.isdisjoint(options.turning_by_factor(still, (1.0,))["what"])


def test_restarts_of_modes_are_multiplied_too(run):
    changed = run.override({"failures.modes": [{"name": "GPU", "share": 0.5, "restart_min": 8}]})
    faster = restarts_times(changed, 0.25)
    assert faster.recovery.restart_min == 1.25
    assert faster.failures.modes[0].restart_min == 2


def test_what_large_jobs_need_is_what_reaches_the_target(run):
    frame = options.large_jobs(run, [30_000, 100_000.0], 0.9)
    for row in frame.itertuples():
        there = by_hours(run, int(row.n_gpus), row.days * row.ettr * 24, row.interval_min)
        assert plan.ettr_at_best(
            there.override({"failures.rate_per_1000_node_days": row.rate_needed})
        ) == pytest.approx(0.9, abs=1e-4)
    assert np.isnan(frame["restart_needed"].iloc[1])
    assert frame["restart_ettr"].iloc[1] < 0.9 <= frame["restart_ettr"].iloc[0]
    assert (frame["rate_needed"] < frame["rate_given"]).all()


def test_the_steady_state_by_hours_has_the_ettr_of_the_size(run):
    at = sizing.yields(run, np.array([100_000.0]))
    there = by_hours(run, 100_000, float(at.days[0] * 24 * at.ettr[0]), float(at.interval_min[0]))
    assert there.throughput is None
    assert plan.make(there).budget.ettr == pytest.approx(at.ettr[0], abs=1e-3)


def test_each_way_wins_at_its_peak_and_the_first_is_the_job_as_it_is(run):
    peaks = table("peaks")
    assert peaks["gain"].iloc[0] == 0
    assert (peaks["gain"].iloc[1:] > 0).all()
    lines = options.ways_out(run, options.ways(), from_gpus=2000)
    assert lines["n_gpus"].min() >= 2000 * (1 - 1e-12)
    for way, group in lines.groupby("way"):
        most = peaks.set_index("way").loc[way, "tokens_per_day"]
        assert group["tokens_per_day"].max() <= most * (1 + 1e-9)
        assert group["tokens_per_day"].max() == pytest.approx(most, rel=0.02)


def test_an_efficiency_of_one_and_a_step_each_change_nothing(run):
    same = options.ways(1, 1.0, 1, 0.0, 1.0, 1.0)
    gains = options.peaks_of_ways(run, same).set_index("way")["gain"].drop("sequences cut in two")
    assert gains.to_numpy() == pytest.approx(0, abs=1e-12)


def test_sequences_cut_in_two_are_a_layout_that_is_not_tried_by_default(run):
    cut = options.ways()[-1]
    assert cut.changes == {"layout.context": 2}
    assert set(run.throughput.candidates.context) == {1}
    changed = run.override(cut.changes)
    assert int(changed.layout_of_job.context) == 2
    assert table("peaks")["tokens_per_day"].iloc[-1] == peak(changed).tokens_per_day


def test_local_sgd_of_a_small_job_is_looked_at_where_its_replicas_fit():
    assert table("peaks", "opt-175b")["n_gpus"].notna().all()


def test_a_way_that_no_layout_fits_has_no_peak_and_no_line():
    run, tried = run_of("h100-100k"), options.ways()[:2]
    assert options.peaks_of_ways(run, tried)["n_gpus"].notna().tolist() == [True, False]
    assert set(options.ways_out(run, tried, n_sizes=12)["way"]) == {options.AS_IT_IS}


def test_elastic_jobs_lose_less_than_those_that_wait_where_failures_are_few():
    frame = table("elastic")
    wide = frame.pivot_table(index="n_gpus", columns="way", values="ettr")
    assert len(wide) == 4
    assert wide[ELASTIC].iloc[0] > wide[FEW_SPARES].iloc[0] + 0.05
    spread = (frame["high"] - frame["low"]) / 2 / frame["tokens_per_day"] * frame["ettr"]
    assert (frame["ettr"] < frame["closed_ettr"] + 2.1 * spread).all()  # four standard errors: spares run out here
    assert (np.diff(wide.index) > 0).all()


def test_nothing_is_simulated_without_failures_or_replicas(run):
    assert options.elastic_by_size(run_of("no failures"), 131_072).empty
    assert options.elastic_by_size(run, 120).empty
