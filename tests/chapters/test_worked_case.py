"""The worked case: a synthetic log, its rules, and what a fit makes of them."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import failures
from ettr_book.chapters import worked_case
from ettr_book.chapters.common import failure_logs


@pytest.fixture(scope="module")
def fit() -> failures.Fit:
    return failures.fit(failure_logs.synthetic_log())


def test_the_rules_of_the_synthetic_log_are_recovered(fit):
    rules = worked_case.truth(fit).set_index("what")
    assert rules.loc["Nodes to replace", "true"] == rules.loc["Nodes to replace", "found"]
    bounded = rules[rules["low"].notna()]
    assert len(bounded) == 2 and ((bounded["low"] <= bounded["true"]) & (bounded["true"] <= bounded["high"])).all()
    assert "5.0 (4.2 to 6.0)" in str(worked_case.rules(fit))


def test_a_synthetic_log_is_the_same_each_time_and_futures_have_its_true_rate():
    log = failure_logs.synthetic_log()
    assert log.failures.equals(failure_logs.synthetic_log().failures)
    counts = failure_logs.futures(30, 400)
    mean = failure_logs.true_rate(failure_logs.RULES["later_rate"]) * log.n_nodes * 30 / 1000
    assert counts.mean() == pytest.approx(mean, abs=4 * counts.std() / 20)


def test_the_chart_of_outcomes_counts_those_within_each_forecast(fit, check_chart):
    inside = round((fit.forecast.low + fit.forecast.high) / 2)
    spec = worked_case.outcomes(np.array([inside] * 3 + [500]), {"the log": fit.forecast}).to_dict()
    check_chart(spec, "4 futures")
    assert spec["title"]["text"] == "Forecasts covered 75% (the log) of the true futures"
