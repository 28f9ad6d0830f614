"""Clusters side by side: whose rate may be whose, what a rate means for size, and for a new fleet."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy import stats

from computed.chapters import NO_FAILURES, PRESETS, table
from ettr import Scenario, evidence, failures, plan
from ettr_book.chapters.failure_rates import tables


@pytest.fixture
def frame() -> pd.DataFrame:
    return table(tables.rates, "glm-130b")


def test_every_scope_says_what_it_counts():
    assert set(evidence.table("failure_rates")["scope"]) == set(tables.COUNTED)


@pytest.mark.parametrize("name", PRESETS)
def test_the_scenario_s_own_rate_stands_last(name):
    run = Scenario.load(name)
    rows = table(tables.rates, name)
    last_row = rows.iloc[-1]
    assert len(rows) == len(evidence.published_rates()) + 1 and rows["title"].is_unique
    assert (last_row["cluster_id"], last_row["counted"]) == ("scenario", tables.THIS_SCENARIO)
    assert last_row["rate"] == run.failure_rate and run.title in last_row["title"]
    assert (rows["low"] <= rows["rate"]).all() and (rows["rate"] <= rows["high"]).all()
    if run.failures.n_events is not None:
        exact = failures.failure_rate(run.failures.n_events, run.failures.node_days)
        assert (last_row["low"], last_row["high"]) == (exact.low, exact.high)
    else:
        assert last_row["low"] == last_row["rate"] == last_row["high"]


def test_a_gamma_distribution_gives_the_own_interval(plain_run):
    gamma_run = plain_run.override({"failures.rate_gamma": {"shape": 9.0, "node_days": 1500.0}})
    last_row = tables.rates(gamma_run).iloc[-1]
    assert [last_row["low"], last_row["high"]] == pytest.approx(stats.gamma.ppf([0.025, 0.975], 9.0, scale=1000 / 1500))


def test_a_scenario_without_failures_has_no_row(llama3):
    rows = tables.rates(llama3.override(NO_FAILURES))
    assert len(rows) == len(evidence.published_rates()) and tables.THIS_SCENARIO not in set(rows["counted"])


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
    scenario_line = lines[lines["line"] == tables.THIS_SCENARIO]
    assert scenario_line["mttf_h"].to_numpy() * scenario_line["n_gpus"].to_numpy() == pytest.approx(
        run.job_mttf_h * run.cluster.n_gpus, rel=1e-9
    )
    interval_h = plan.mttf_interval_h(run)
    ratios = (
        (scenario_line["low"] / scenario_line["mttf_h"]).iloc[0],
        (scenario_line["high"] / scenario_line["mttf_h"]).iloc[0],
    )
    assert ratios == pytest.approx(
        (interval_h[0] / run.job_mttf_h, interval_h[1] / run.job_mttf_h) if interval_h else (1, 1)
    )
    assert {8, 1e4, 1e5, 1e6} <= set(scenario_line["n_gpus"].round(6))


def test_a_run_that_never_fails_has_no_line(llama3):
    assert set(tables.mttf_by_size(llama3.override(NO_FAILURES))["line"]) == {"RSC-1", "RSC-2"}


def test_a_new_fleet_of_llama_s_nodes(llama3):
    """846 failures in 54 days at shape 0.7, against 419 settled."""
    by_shape = tables.first_failures(llama3, 54).set_index("shape")
    assert by_shape["n_failures"].round().tolist() == [846, 419, 160]
    assert by_shape["settled"].to_numpy() == pytest.approx(419)


def test_without_failures_no_age_has_any(llama3):
    never = llama3.override(NO_FAILURES)
    assert (tables.first_failures(never, 54)[["n_failures", "settled"]] == 0).all(axis=None)
