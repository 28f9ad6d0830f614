"""Clusters side by side: whose rate may be whose, what a rate means for size, and what age would do."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from scipy import stats

from computed.chapters import NO_FAILURES, PRESETS, table
from ettr import Scenario, evidence, failures, plan
from ettr.chapters.failure_rates import tables
from ettr.core.errors import DataError, InputError, UnknownName


@pytest.fixture
def frame() -> pd.DataFrame:
    return table(tables.rates, "glm-130b")


def test_every_scope_says_what_it_counts():
    assert set(evidence.table("failure_rates")["scope"]) == set(tables.COUNTED)


def test_a_new_scope_is_refused_by_name(monkeypatch, llama3):
    monkeypatch.delitem(tables.COUNTED, "machines that break")
    with pytest.raises(DataError, match="the scope 'machines that break' is not in COUNTED"):
        tables.rates(llama3)


@pytest.mark.parametrize("name", PRESETS)
def test_the_scenario_s_own_rate_stands_last(name):
    run = Scenario.load(name)
    rows = table(tables.rates, name)
    own = rows.iloc[-1]
    assert len(rows) == len(evidence.published_rates()) + 1 and rows["title"].is_unique
    assert (own["cluster_id"], own["counted"]) == ("scenario", tables.OWN)
    assert own["rate"] == run.failure_rate and run.title in own["title"]
    assert (rows["low"] <= rows["rate"]).all() and (rows["rate"] <= rows["high"]).all()
    if run.failures.n_events is not None:
        exact = failures.failure_rate(run.failures.n_events, run.failures.node_days)
        assert (own["low"], own["high"]) == (exact.low, exact.high)
    else:
        assert own["low"] == own["rate"] == own["high"]


def test_a_gamma_distribution_gives_the_own_interval(plain_run):
    known = plain_run.override({"failures.rate_gamma": {"shape": 9.0, "node_days": 1500.0}})
    own = tables.rates(known).iloc[-1]
    assert [own["low"], own["high"]] == pytest.approx(stats.gamma.ppf([0.025, 0.975], 9.0, scale=1000 / 1500))


def test_a_scenario_without_failures_has_no_row(llama3):
    rows = tables.rates(llama3.override(NO_FAILURES))
    assert len(rows) == len(evidence.published_rates()) and tables.OWN not in set(rows["counted"])


# --------------------------------------------------------------------------- two clusters


def test_glm_against_llama(frame):
    """11 in 5,255.5 node-days against 419 in 110,592, by the beta quantiles of Clopper and Pearson."""
    row = tables.ratios(frame).set_index("cluster_id").loc["scenario"]
    low, high = stats.beta.ppf(0.025, 11, 420), stats.beta.ppf(0.975, 12, 419)
    exposures = 110_592 / 5255.5
    assert [row["low"], row["high"]] == pytest.approx([p / (1 - p) * exposures for p in (low, high)], rel=1e-6)
    assert row["ratio"] == pytest.approx(11 / 419 * exposures)
    assert (row["basis"], row["verdict"]) == ("counts", tables.DIFFERENT) and row["high"] < 1


def test_the_verdicts(frame):
    compared = tables.ratios(frame).set_index("cluster_id")
    assert compared["verdict"].drop("scenario").to_dict() == {
        "rsc-1": tables.UNTOLD,
        "rsc-2": tables.UNTOLD,
        "byterobust-dense": tables.DIFFERENT,
        "byterobust-dense-faults": tables.DIFFERENT,
        "byterobust-moe": tables.COMPATIBLE,
        "byterobust-moe-faults": tables.DIFFERENT,
        "megascale": tables.COMPATIBLE,
        "opt-175b-manual": tables.COMPATIBLE,
        "opt-175b-all": tables.DIFFERENT,
        "bloom-176b": tables.COMPATIBLE,
        "glm-130b": tables.DIFFERENT,
        "imbue-70b": tables.UNTOLD,
    }
    assert set(compared["reference"]) == {"Llama 3 405B, unexpected"}


def test_a_verdict_and_an_exact_p_value_agree(frame):
    compared = tables.ratios(frame).set_index("cluster_id")
    rows = frame.set_index("cluster_id")
    base, n_known = rows.loc["llama3-unexpected"], 0
    for name, row in rows.loc[compared.index[compared["basis"] == "counts"]].iterrows():
        alone = failures.failure_rate(row["n_events"], row["node_days"])
        if row["low"] < alone.low or row["high"] > alone.high:
            continue  # the exposure is not known, so that a p-value of the counts is none of the rates
        n_known += 1
        p_value = failures.rate_ratio(
            int(row["n_events"]), row["node_days"], int(base["n_events"]), base["node_days"]
        ).p_value
        if not 0.04 <= p_value <= 0.06:  # the two exact tests differ a little at the edge
            assert (p_value > 0.05) == (compared.loc[name, "verdict"] == tables.COMPATIBLE)
    assert n_known > 5


def test_what_is_open_of_the_exposure_widens_the_ratio(frame):
    """MegaScale's window is assumed to be 21 to 42 days instead of 28: the count's interval times 28/42 and 28/21."""
    row = tables.ratios(frame).set_index("cluster_id").loc["megascale"]
    alone = failures.rate_ratio(100, 1536 * 28, 419, 110_592)
    assert row["low"] == pytest.approx(alone.low * 28 / 42) and row["high"] == pytest.approx(alone.high * 28 / 21)
    assert row["at_least"]


def test_a_stated_range_is_held_against_the_reference_s_interval(frame):
    row = tables.ratios(frame).set_index("cluster_id").loc["bloom-176b"]
    llama = failures.failure_rate(419, 110_592)
    week = 1000 / (7 * 48)
    assert (row["low"], row["high"]) == pytest.approx((week / llama.high, 2 * week / llama.low))
    assert row["basis"] == "range"


def test_rows_of_the_same_events_and_of_other_things_are_not_compared(frame, llama3):
    compared = set(tables.ratios(frame)["cluster_id"])
    assert not compared & {"llama3-unexpected", "llama3-all", "delta-a100-memory", "epoch-h100", "aegis-h100"}
    assert "scenario" not in set(tables.ratios(tables.rates(llama3))["cluster_id"])  # made from that very count
    others = tables.ratios(frame, "llama3-all")
    assert "llama3-unexpected" not in set(others["cluster_id"]) and set(others["reference"]) == {"Llama 3 405B, all"}


def test_a_reference_alone_leaves_an_empty_comparison(frame):
    alone = frame[frame["cluster_id"] == "llama3-unexpected"]
    compared = tables.ratios(alone)
    assert compared.empty
    pd.testing.assert_series_equal(compared.dtypes, tables.ratios(frame).dtypes)


@pytest.mark.parametrize("reference", ["rsc-1", "lama3-unexpected"])
def test_a_reference_needs_a_count(frame, reference):
    with pytest.raises(UnknownName, match=f"unknown cluster with a count '{reference}'"):
        tables.ratios(frame, reference)


# --------------------------------------------------------------------------- size


def test_the_points_of_the_paper_imply_rates():
    """Kokolis et al. (2025), through secondary texts: 47.7 d, 7.9 h, 10 h observed; 1.8 h and 0.23 h projected."""
    points = tables.rsc_points()
    assert points["rate"].round(1).tolist() == [21.0, 23.7, 4.7, 6.5, 6.4]
    assert points["kind"].tolist() == ["observed"] * 3 + ["projected"] * 2
    by_hand = [1000 / 47.7, 24_000 / (128 * 7.9), 24_000 / (512 * 10)]
    assert points["rate"].head(3).tolist() == pytest.approx(by_hand)
    assert points["times_rsc1"].tolist() == pytest.approx([3.2, 3.7, 0.7, 1.0, 1.0], abs=0.06)  # as printed
    projected = points[points["kind"] == "projected"]
    line = failures.job_mttf_h(6.5, projected["n_gpus"].to_numpy())
    assert ((projected["low"] <= line) & (line <= projected["high"])).all()  # the source's own formula, rounded
    assert set(points["status"]) == {"secondary"}


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-2", "glm-130b"])
def test_the_lines_are_those_of_their_rates(name):
    run = Scenario.load(name)
    lines = tables.mttf_by_size(run, n_points=9)
    for line, rate in (("RSC-1", 6.50), ("RSC-2", 2.34)):
        rows = lines[lines["line"] == line]
        assert (rows["mttf_h"] * rows["n_gpus"]).to_numpy() == pytest.approx(24_000 * 8 / rate)
    own = lines[lines["line"] == tables.OWN]
    assert own["mttf_h"].to_numpy() * own["n_gpus"].to_numpy() == pytest.approx(
        run.job_mttf_h * run.cluster.n_gpus, rel=1e-9
    )
    known = plan.mttf_interval_h(run)
    ratios = (own["low"] / own["mttf_h"]).iloc[0], (own["high"] / own["mttf_h"]).iloc[0]
    assert ratios == pytest.approx((known[0] / run.job_mttf_h, known[1] / run.job_mttf_h) if known else (1, 1))
    assert {8, 1e4, 1e5, 1e6} <= set(own["n_gpus"].round(6))


def test_a_run_that_never_fails_has_no_line(llama3):
    assert set(tables.mttf_by_size(llama3.override(NO_FAILURES))["line"]) == {"RSC-1", "RSC-2"}


def test_projections_divide_by_size(frame):
    projected = tables.projections(frame, [100_000, 1_000_000])
    small, large = (projected[projected["n_gpus"] == size].reset_index(drop=True) for size in (1e5, 1e6))
    for column in ("mttf_h", "mttf_low_h", "mttf_high_h"):
        assert small[column].to_numpy() == pytest.approx(10 * large[column].to_numpy())
    llama = small.set_index("cluster_id").loc["llama3-unexpected"]
    assert llama["mttf_h"] * 60 == pytest.approx(30.4, abs=0.05)
    low, high = failures.poisson_interval(419)
    assert (llama["mttf_low_h"], llama["mttf_high_h"]) == pytest.approx(
        (0.50677 * 419 / high, 0.50677 * 419 / low), rel=1e-4
    )
    assert small.set_index("cluster_id").loc["rsc-1", "mttf_h"] * 60 == pytest.approx(17.7, abs=0.05)
    with pytest.raises(InputError, match="n_gpus must be > 0"):
        tables.projections(frame, [0])


# --------------------------------------------------------------------------- age


def test_a_new_fleet_of_llama_s_nodes(llama3):
    """846 failures in 54 days at shape 0.7, against 419 settled."""
    by_shape = tables.first_failures(llama3, 54).set_index("shape")
    assert by_shape["n_failures"].round().tolist() == [846, 419, 160]
    assert by_shape["settled"].to_numpy() == pytest.approx(419)


def test_the_weeks_sum_to_the_first_days(llama3):
    weekly, first = (
        tables.by_age(llama3, days=56),
        tables.first_failures(llama3, 56).set_index("shape"),
    )
    for shape, rows in weekly.groupby("shape"):
        total = (rows["rate"] * 7 / 1000 * llama3.n_nodes).sum()
        assert total == pytest.approx(first.loc[shape, "n_failures"], rel=1e-3)
    assert weekly["age_end_days"].max() == 56 and weekly.groupby("shape").size().eq(8).all()


def test_all_shapes_settle_at_the_scenario_s_rate(llama3):
    old = tables.by_age(llama3, days=7000).groupby("shape")["rate"].last()
    assert old.to_numpy() == pytest.approx(llama3.failure_rate, rel=0.01)
    young = tables.by_age(llama3).groupby("shape")["rate"].first()
    assert young[0.7] > 2 * llama3.failure_rate > young[1.0] > 2 * young[1.5]


def test_without_failures_no_age_has_any(llama3):
    never = llama3.override(NO_FAILURES)
    assert (tables.by_age(never)["rate"] == 0).all()
    assert (tables.first_failures(never, 54)[["n_failures", "settled"]] == 0).all(axis=None)


@pytest.mark.parametrize("days", [0, -3, math.nan])
def test_days_must_pass(llama3, days):
    with pytest.raises(InputError, match="days must be > 0 d"):
        tables.first_failures(llama3, days)
    with pytest.raises(InputError, match="days must be > 0 d"):
        tables.by_age(llama3, days=days)
