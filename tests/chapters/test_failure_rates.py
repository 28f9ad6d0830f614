"""Clusters side by side: whose rate may be whose, and what a rate means for size."""

from __future__ import annotations

import pytest
from scipy import stats

from computed.chapters import NO_FAILURES, PRESETS, table
from ettr import Scenario, evidence, failures, plan, plots
from ettr.plots.mttf import mttf_data
from ettr_book.chapters import failure_rates


def test_every_scope_says_what_it_counts():
    assert set(evidence.table("failure_rates")["scope"]) == set(failure_rates.COUNTED)


@pytest.mark.parametrize("name", PRESETS)
def test_the_scenario_s_own_rate_stands_last(name):
    run, rows = Scenario.load(name), table(failure_rates.rates, name)
    last_row = rows.iloc[-1]
    assert len(rows) == len(evidence.published_rates()) + 1 and rows["title"].is_unique
    assert (last_row["cluster_id"], last_row["counted"]) == ("scenario", failure_rates.THIS_SCENARIO)
    assert last_row["rate"] == run.failure_rate and run.title in last_row["title"]
    assert (rows["low"] <= rows["rate"]).all() and (rows["rate"] <= rows["high"]).all()
    if run.failures.n_events is not None:
        exact = failures.failure_rate(run.failures.n_events, run.failures.node_days)
        assert (last_row["low"], last_row["high"]) == (exact.low, exact.high)
    else:
        assert last_row["low"] == last_row["rate"] == last_row["high"]


def test_a_gamma_distribution_gives_the_own_interval(plain_run):
    gamma_run = plain_run.override({"failures.rate_gamma": {"shape": 9.0, "node_days": 1500.0}})
    last_row = failure_rates.rates(gamma_run).iloc[-1]
    assert [last_row["low"], last_row["high"]] == pytest.approx(stats.gamma.ppf([0.025, 0.975], 9.0, scale=1000 / 1500))


def test_a_scenario_without_failures_has_no_row_and_no_line(llama3):
    never = llama3.override(NO_FAILURES)
    rows = failure_rates.rates(never)
    assert len(rows) == len(evidence.published_rates()) and failure_rates.THIS_SCENARIO not in set(rows["counted"])
    assert "no failures" in failure_rates.answer(never, 1e5).text
    assert set(mttf_data(never)["lines"]["line"]) == {"RSC-1"}
    assert plots.mttf_by_size(never).title.text == "Published MTTFs fall with the size of the job"


def test_the_points_of_the_paper_imply_rates():
    """Kokolis et al. (2025), through secondary texts: 47.7 d, 7.9 h, 10 h observed; 1.8 h and 0.23 h projected."""
    points = mttf_data(Scenario.load("rsc-2"))["points"]
    rsc = points[points["run"] == "RSC-1"]
    assert rsc["kind"].tolist() == ["RSC-1, observed"] * 3 + ["RSC-1, projected"] * 2
    by_hand = [1000 / 47.7, 24_000 / (128 * 7.9), 24_000 / (512 * 10)]
    assert rsc["rate"].head(3).tolist() == pytest.approx(by_hand)
    line = failures.job_mttf_h(6.5, rsc["n_gpus"].tail(2).to_numpy(dtype=float))
    assert ((rsc["low"].tail(2) <= line) & (line <= rsc["high"].tail(2))).all()  # the source's own formula, rounded


def test_other_runs_stand_at_their_own_size(llama3):
    points = mttf_data(llama3)["points"].set_index("run")
    assert points.loc["Llama 3 405B, unexpected", "mttf_h"] == pytest.approx(54 * 24 / 419)
    assert (points["low"] <= points["mttf_h"]).all() and (points["mttf_h"] <= points["high"]).all()
    assert not points[["n_gpus", "mttf_h"]].isna().any(axis=None)


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-2", "glm-130b"])
def test_the_lines_are_those_of_their_rates(name, check_chart):
    run = Scenario.load(name)
    check_chart(plots.mttf_by_size(run).to_dict(), run.title)
    lines = mttf_data(run)["lines"]
    rsc, own = (lines[lines["line"] == line] for line in ("RSC-1", "this run"))
    assert (rsc["mttf_h"] * rsc["n_gpus"]).to_numpy() == pytest.approx(24_000 * 8 / 6.50)
    assert (own["mttf_h"] * own["n_gpus"]).to_numpy() == pytest.approx(run.job_mttf_h * run.cluster.n_gpus, rel=1e-9)
    ends_h = plan.mttf_interval_h(run) or (run.job_mttf_h, run.job_mttf_h)
    ratios = [float((own[end] / own["mttf_h"]).iloc[0]) for end in ("low", "high")]
    assert ratios == pytest.approx([end / run.job_mttf_h for end in ends_h])
