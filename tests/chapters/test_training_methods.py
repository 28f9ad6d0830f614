"""Tables on larger jobs, and other ways to train."""

from __future__ import annotations

import pytest

from computed.how_many_gpus import TOKENS, answer, table
from computed.how_many_gpus import run as run_of
from ettr import sizing
from ettr_book.chapters.how_many_gpus import training_methods as options
from ettr_book.chapters.how_many_gpus.training_methods import peak


@pytest.fixture
def run():
    return run_of(TOKENS)


@pytest.mark.parametrize("name", [TOKENS, "perfect"])
def test_the_peak_is_where_the_next_gpu_stops_paying_or_the_batch_ends(name):
    n_gpus, tokens_per_day = peak(run_of(name))
    assert n_gpus == pytest.approx(sizing.turning_point(run_of(name)), rel=2e-3)
    assert answer(name).batch_ends == (name == "perfect")
    quiet_gpus, quiet_tokens_per_day = peak(run_of(name), rate_factor=0.0)
    assert (quiet_gpus > n_gpus and quiet_tokens_per_day > tokens_per_day) == (name == TOKENS)


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


def test_sequences_cut_in_two_are_a_layout_that_is_not_tried_by_default(run):
    cut = options.ways()[-1]
    assert cut.changes == {"layout.context": 2}
    assert set(run.throughput.candidates.context) == {1}
    changed = run.override(cut.changes)
    assert int(changed.layout_of_job.context) == 2
    assert table("peaks")["tokens_per_day"].iloc[-1] == peak(changed)[1]


def test_local_sgd_of_a_small_job_is_looked_at_where_its_replicas_fit():
    assert table("peaks", "opt-175b")["n_gpus"].notna().all()


def test_a_way_that_no_layout_fits_has_no_peak_and_no_line():
    run, tried = run_of("h100-100k"), options.ways()[:2]
    assert options.peaks_of_ways(run, tried)["n_gpus"].notna().tolist() == [True, False]
    assert set(options.ways_out(run, tried, n_sizes=12)["way"]) == {options.UNCHANGED}
