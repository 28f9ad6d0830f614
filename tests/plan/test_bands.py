"""What is known of the rate, carried to every quantity of a plan, against samples of the rate."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ettr import Scenario, budget, plan
from ettr.core.errors import OutsideValidity
from ettr.scenario.paths import INTERVAL, RATE
from mechanisms import PEER, WARNED

ENDS = ["low_95", "low_50", "high_50", "high_95"]


def vague(run: Scenario, shape: float) -> Scenario:
    """The same rate, known as if from so many failures."""
    return run.override(
        {
            RATE: run.failure_rate,
            "failures.rate_gamma": {"shape": shape, "node_days": 1000 * shape / run.failure_rate},
        }
    )


def of(answer: plan.Plan) -> pd.DataFrame:
    return pd.DataFrame(answer.bands.rows).set_index("quantity")


def test_the_frame_has_each_quantity_with_its_unit_and_point(llama3):
    answer = plan.make(llama3)
    table = of(answer)
    assert list(answer.bands.rows[0]) == ["quantity", "unit", "value", "low_50", "high_50", "low_95", "high_95"]
    assert {name: tuple(row) for name, row in table[["unit", "value"]].iterrows()} == {
        "job_mttf_h": ("h", llama3.job_mttf_h),
        "best_interval_min": ("min", answer.band.interval_min),
        "ettr_at_best": ("", answer.budget.ettr),
        "ettr_as_given": ("", answer.budget_at_current.ettr),
        "failures_per_day": ("1/d", answer.failures_per_day),
    }
    assert (np.diff(table[["low_95", "low_50", "value", "high_50", "high_95"]].to_numpy(float)) > 0).all()
    row = table.loc["job_mttf_h"]
    assert (row["low_95"], row["high_95"]) == pytest.approx(answer.job_mttf_95_h, rel=1e-12)
    assert (row["low_50"], row["high_50"]) == pytest.approx(plan.mttf_interval_h(llama3, 0.5), rel=1e-12)


@pytest.mark.parametrize(
    "changes",
    [{}, {"maintenance": None, "prediction": WARNED}, {"maintenance": None, "checkpoint.tiers": [PEER]}],
    ids=["llama3", "prediction", "tiers"],
)
def test_samples_of_the_rate_have_these_quantiles(llama3, changes):
    """A second road: rates drawn from the gamma distribution, each through the closed form."""
    run = vague(llama3.override(changes), 12)
    answer = plan.make(run)
    posterior = run.failures.posterior
    rates = stats.gamma.rvs(posterior.shape, scale=1000 / posterior.node_days, size=20_000, random_state=1)
    at_best = budget.exact(run, {RATE: rates, INTERVAL: answer.band.interval_min})
    drawn = {
        "job_mttf_h": run.job_mttf_h * run.failure_rate / rates,
        "best_interval_min": budget.best_interval_min(run, {RATE: rates}),
        "ettr_at_best": at_best.ettr,
        "ettr_as_given": budget.exact(run, {RATE: rates}).ettr,
        "failures_per_day": 24 * at_best.n_failures / at_best.total_h,
    }
    table = of(answer)
    for quantity, values in drawn.items():
        shares = [(values < end).mean() for end in table.loc[quantity, ENDS]]
        # four standard errors of a share of 20,000 draws
        assert shares == pytest.approx([0.025, 0.25, 0.75, 0.975], abs=4 * math.sqrt(0.25 / 20_000)), quantity


def test_the_ends_are_the_closed_form_at_the_quantiles(llama3):
    table = of(plan.make(llama3))
    low, high = stats.gamma.ppf([0.025, 0.975], 419.5, scale=1000 / 110_592)
    for rate, end, other in ((high, "low_95", "high_95"), (low, "high_95", "low_95")):
        run = llama3.override({RATE: rate})
        assert table.loc["ettr_as_given", end] == pytest.approx(budget.exact(run).ettr, rel=1e-12)
        # the exposure of a count is what was observed, whatever the true rate
        strikes_per_h = rate / 24_000 / llama3.failures.exposed_share * llama3.n_nodes
        assert table.loc["job_mttf_h", end] == pytest.approx(1 / strikes_per_h, rel=1e-12)
        assert table.loc["best_interval_min", end] == pytest.approx(budget.best_interval_min(run), rel=1e-9)
        kept = budget.exact(run.override({INTERVAL: table.loc["best_interval_min", "value"]}))
        assert table.loc["ettr_at_best", end] == pytest.approx(kept.ettr, rel=1e-12)
        assert table.loc["failures_per_day", other] == pytest.approx(24 * kept.n_failures / kept.total_h, rel=1e-12)


def test_a_job_that_may_never_end_has_an_ettr_of_zero_there(plain_run):
    lost = vague(plain_run.override({"cluster.n_gpus": 40_000, INTERVAL: 600}), 1)
    answer = plan.make(lost)
    table = of(answer)
    assert table.loc["ettr_as_given", "low_95"] == 0 and table.loc["ettr_as_given", "value"] > 0
    assert answer.bands.source.endswith("the job would practically never end")
    assert "never end" not in plan.make(vague(plain_run, 50)).bands.source
    # at an interval with which it never ends there is still a failure in each mean time between two, downtime included
    slow = lost.override({"recovery.detection_min": 6})
    kept = pd.DataFrame(plan.bands_of(slow, 600, budget.exact(slow), None).rows).set_index("quantity")
    assert kept.loc["ettr_at_best", "low_95"] == 0 and kept.loc["failures_per_day", "high_95"] < 240
    mttf_h = kept.loc["job_mttf_h", "low_95"]
    assert kept.loc["failures_per_day", "high_95"] == pytest.approx(24 / (mttf_h + 0.1), rel=1e-9)


def test_no_failure_seen_is_still_knowledge(plain_run):
    clean = plain_run.override({"failures.n_events": 0, "failures.node_days": 5000})
    answer = plan.make(clean)
    assert answer.is_bound and answer.original == clean
    table = of(answer)
    for quantity, row in table.iterrows():  # the answer is inside its own band
        assert row["low_95"] <= row["value"] <= row["high_95"], quantity
    # the rate that is exceeded with 5%: of half a failure by Jeffreys' prior
    rate = 1000 * stats.gamma(0.5, scale=1 / 5000).ppf(0.95)
    assert answer.scenario.failure_rate == pytest.approx(rate, rel=1e-9)


def test_an_interval_without_an_answer_has_no_row(llama3):
    rare = llama3.override({INTERVAL: 60 * 48})
    with pytest.raises(OutsideValidity):
        budget.exact(rare)
    assert "ettr_as_given" not in of(plan.make(rare)).index


def test_bands_hold_the_plan_even_where_alarms_serve_as_checkpoints():
    """Alarms that cost nothing make long intervals good at high rates too, so the best interval is not monotone."""
    run = Scenario.load("llama3-405b").override(
        {
            "maintenance": None,
            "failures.rate_per_1000_node_days": 60,
            "failures.rate_gamma": {"shape": 3, "node_days": 50},
            "checkpoint.stall_s": 300,
            "prediction": {"recall": 0.95, "precision": 1, "lead_s": 1, "action_s": 0.2},
        }
    )
    for quantity, row in of(plan.make(run)).iterrows():
        assert row.low_95 <= row.low_50 <= row.high_50 <= row.high_95, quantity
        assert row.low_95 <= row.value <= row.high_95, quantity
