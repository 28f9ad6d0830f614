"""The best batch of a size."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import Scenario, sizing
from ettr.core.errors import InputError
from ettr.scaling import tokens_factor


@pytest.fixture(scope="module")
def batches(run):
    return sizing.best_batch(run, [16384, 100_000, 200_000])


def test_no_other_doubling_yields_more(run, batches):
    for row in batches.itertuples():
        at = np.array([row.n_gpus])
        for factor in (0.5, 1.0, 2.0):
            if row.batch_tokens * factor >= run.model.batch_tokens:
                other = sizing.yields(run, at, batch_tokens=row.batch_tokens * factor).useful_tokens_per_day[0]
                assert other <= row.useful_tokens_per_day * (1 + 1e-12)


def test_larger_jobs_take_larger_batches_and_pay_for_them_in_tokens(run, batches):
    assert (np.diff(batches["batch_tokens"]) >= 0).all()
    assert batches["batch_tokens"].iloc[-1] > batches["batch_tokens"].iloc[0]
    expected = tokens_factor(batches["batch_tokens"].to_numpy(), 120e6, 2**24)
    assert batches["tokens_factor"].to_numpy() == pytest.approx(expected)
    days = run.job.tokens / batches["useful_tokens_per_day"]
    assert batches["days"].to_numpy() == pytest.approx(days.to_numpy(), rel=2e-3)  # days count the start, too


def test_a_batch_that_costs_nothing_is_as_large_as_can_be(run):
    (row,) = sizing.best_batch(run.override({"model.critical_batch_tokens": 1e15}), 131_072).itertuples()
    assert row.batch_tokens == 2**34 > sizing.best_batch(run, 131_072)["batch_tokens"].iloc[0]
    assert row.tokens_factor == pytest.approx(1, abs=1e-4)


def test_failures_come_as_often_as_the_size_says(run, batches):
    own = batches.set_index("n_gpus")["mttf_h"]
    assert own[16384] == pytest.approx(run.job_mttf_h)
    assert own[200_000] == pytest.approx(run.job_mttf_h * 16384 / 2e5)
    quiet = run.override({"failures": {"rate_per_1000_node_days": 0}})
    assert sizing.best_batch(quiet, 16384)["mttf_h"].iloc[0] == np.inf


def test_what_makes_no_sense_is_refused(run):
    with pytest.raises(InputError, match="n_gpus must be finite"):
        sizing.best_batch(run, [np.inf])
    with pytest.raises(InputError, match="sizing needs the job as tokens"):
        sizing.best_batch(Scenario.load("rsc-1"), 16)
