"""A whole log fitted: every number agrees with the statistic it comes from, and verdicts follow what was put in."""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ettr import failures, logs
from ettr.core.errors import UnknownName
from ettr.failures import Fit, dispersion, verdicts, words
from ettr.failures.gaps import MERGE_RULES_MIN, fit_gaps
from ettr.failures.window import MIN_VERDICT_EVENTS
from simulated_logs import simulate_log

BEGIN = pd.Timestamp("2025-01-01T00:00:00Z")


def log_of(table: pd.DataFrame, n_nodes: int = 400, days: float = 350.0, **options):
    """A drawn log as one that was read."""
    frame = pd.DataFrame({"start": BEGIN + pd.to_timedelta(table["start_h"], unit="h")})
    if "end_h" in table:
        frame["end"] = BEGIN + pd.to_timedelta(table["end_h"], unit="h")
    if "node" in table:
        frame["node"] = [f"host-{node}" for node in table["node"]]
    for column in table.columns.intersection(["component", "cause", "cohort", "planned"]):
        frame[column] = table[column].to_numpy()
    return logs.from_frame(frame, n_nodes, (BEGIN, BEGIN + pd.Timedelta(days=days)), **options)


@cache
def fitted(kind: str) -> Fit:
    drawn = {
        "plain": {},
        "renewal": {"shape": 0.6},
        "regular": {"shape": 1.8},
        "rising": {"trend_beta": 1.6},
        "lemons": {"lemon_share": 0.03, "lemon_factor": 40.0, "rate_per_1000_node_days": 6.0},
        "repeats": {"repeat_probability": 0.4, "repeat_within_h": 72.0, "repair_h": 2.0},
    }[kind]
    return failures.fit(log_of(simulate_log(11, **drawn)))


@cache
def n_failures(n: int, *without: str) -> Fit:
    start = np.sort(np.random.default_rng(n).uniform(100.0, 8000.0, n))
    table = pd.DataFrame({"start_h": start, "end_h": start + 2, "node": np.arange(n) % 7})
    return failures.fit(log_of(table.drop(columns=list(without))))


def test_the_rate_is_that_of_the_count():
    fit = fitted("plain")
    n, exposure = len(fit.log.failures), 400 * 350
    assert fit.rate == failures.failure_rate(n, exposure)
    assert fit.rules["n_incidents"].iloc[0] == n and fit.rules["rate"].iloc[0] == pytest.approx(1000 * n / exposure)
    assert fit.components["n_events"].sum() == n
    assert fit.trend.rates["rate"].mean() == pytest.approx(1000 * n / exposure)
    assert fit.fair_rate.per_1000_node_days == pytest.approx(fit.rate.per_1000_node_days)


def test_the_wide_interval_is_that_of_the_gamma_that_a_scenario_carries():
    fit = fitted("repeats")
    from_gamma = failures.gamma_interval(fit.knowledge.shape, fit.knowledge.node_days)
    assert (fit.fair_rate.low, fit.fair_rate.high) == pytest.approx((from_gamma.low, from_gamma.high))
    assert fit.dispersion.index > 1.3
    assert fit.fair_rate.high - fit.fair_rate.low > 1.2 * (fit.rate.high - fit.rate.low)


def test_the_wide_interval_allows_for_nodes_that_remember():
    """Each of 256 nodes a renewal process: its counts scatter more than those of months."""
    log = simulate_log(1, 256, 350, 10.0, node_shape=0.6)
    fit = failures.fit(log_of(log, n_nodes=256))
    counts = np.bincount(log["node"], minlength=256)
    assert fit.node_statistics.dispersion.measured == pytest.approx(counts.var(ddof=1) / counts.mean())
    assert fit.node_statistics.dispersion.index > 1.3 * fit.dispersion.index
    index = fit.node_statistics.dispersion.paid(0.95)
    assert fit.fair_rate == dispersion.over_dispersed_rate(len(log), 256 * 350.0, index)
    assert fit.knowledge == dispersion.rate_gamma(len(log), 256 * 350.0, index)
    assert fit.node_statistics.bad.n_beyond == 0
    said = words.rate(fit).text
    assert f"counts of 256 nodes is {fit.node_statistics.dispersion.measured:.3g} times" in said


def test_named_nodes_do_not_widen_the_interval():
    """Lemons at forty times the rate: their counts are known to be others, and the rest scatter little."""
    fit = fitted("lemons")
    assert fit.node_statistics.as_logged.dispersion_index > 3 * fit.node_statistics.dispersion.index


def rules_with(*p):
    table = pd.DataFrame({"distribution": ["weibull"], "shape": [0.8]})
    about = {"weibull_shape": 0.8, "weibull_low": 0.7, "weibull_high": 0.9, "too_coarse": False, "table": table}
    return [SimpleNamespace(within_min=i, n_incidents=50, cv=1.0, memoryless_p=p, **about) for i, p in enumerate(p)]


@pytest.mark.parametrize(
    ("p", "answer"),
    [
        ((0.03, 0.3, 0.4), "yes"),  # one of three tests at 5%
        ((0.03, 0.04, 0.3), "yes"),
        ((0.01, 0.3, 0.4), "depends on the rule"),
        ((0.02, 0.024, 0.4), "depends on the rule"),
        ((0.049, 0.049, 0.049), "bunched"),
        ((0.049,), "bunched"),
    ],
)
def test_merge_rules_are_judged_together(p, answer):
    assert verdicts.memoryless(rules_with(*p)).answer == answer


@pytest.mark.parametrize(
    ("n_logs", "rate"),
    [(5, 43.0), pytest.param(100, 43.0, marks=pytest.mark.slow), pytest.param(100, 4.0, marks=pytest.mark.slow)],
)
def test_memoryless_logs_are_doubted_in_5_percent(n_logs, rate):
    """At 43 failures per 1,000 node-days gaps are as short as the merge rules, so that these differ most."""
    answers = []
    for seed in range(n_logs):
        start = simulate_log(seed, 400, 350, rate)["start_h"].to_numpy()
        fits = [fit_gaps(start, 350 * 24.0, within, draws=99) for within in MERGE_RULES_MIN]
        answers.append(verdicts.memoryless(fits).answer)
    assert sum(answer != "yes" for answer in answers) <= stats.binom.isf(1e-3, n_logs, 0.05)


@pytest.mark.parametrize(
    ("kind", "question", "answer"),
    [
        ("plain", "memoryless", "yes"),
        ("plain", "trend", "steady"),
        ("plain", "nodes", "nothing"),
        ("plain", "cohorts", "not asked"),
        ("renewal", "memoryless", "bunched"),
        ("regular", "memoryless", "regular"),
        ("rising", "trend", "rising"),
        ("lemons", "nodes", "replace"),
        ("repeats", "nodes", "re-test"),
    ],
)
def test_the_verdict_is_what_was_put_in(kind, question, answer):
    assert fitted(kind).verdict(question).answer == answer


def test_repeats_are_taken_out_before_lemons_are_looked_for():
    nodes = fitted("repeats").node_statistics
    assert nodes.as_logged.overdispersed and nodes.n_repeats > 50
    assert nodes.apart.dispersion_index < nodes.as_logged.dispersion_index
    assert not nodes.apart.persistent and nodes.risk.repairs_fail


def test_lemons_do_not_pass_for_bad_repairs():
    nodes = fitted("lemons").node_statistics
    assert nodes.risk.ratio < 1.5 and not nodes.risk.repairs_fail
    assert set(nodes.bad.advised("replace")) <= {f"host-{number}" for number in range(12)}
    assert len(nodes.bad.advised("replace")) >= 8


def test_bad_nodes_that_share_a_cohort_are_looked_at_first():
    """Hardware that fails three times as often is no reason to replace nodes one by one."""
    table = simulate_log(6, rate_per_1000_node_days=8.0, cohorts={"old": (0.75, 1.0), "new": (0.25, 4.0)})
    fit = failures.fit(log_of(table, cohort_nodes={"cohort": {"old": 300, "new": 100}}), split="cohort")
    assert fit.node_statistics.apart.persistent and fit.verdict("nodes").answer == "look first"


def test_few_named_nodes_carry_no_verdict():
    start = BEGIN + pd.to_timedelta(np.random.default_rng(0).uniform(0, 8000, 60), unit="h")
    frame = pd.DataFrame({"start": start, "node": ["a", "b"] + [None] * 58})
    fit = failures.fit(logs.from_frame(frame, 400, (BEGIN, BEGIN + pd.Timedelta(days=350))))
    assert fit.verdict("nodes").answer == "too few" and fit.node_statistics.as_logged.n_unknown == 58


def test_two_generations_are_told_apart():
    generations = {"old": (0.5, 1.0), "new": (0.5, 27.0)}
    unknown = failures.fit(log_of(simulate_log(3, days=60.0, cohorts=generations)), split="cohort")
    assert unknown.verdict("cohorts").answer == "exposure unknown" and unknown.cohorts["rate"].isna().all()
    table = simulate_log(3, cohorts=generations)
    fit = failures.fit(log_of(table, cohort_nodes={"cohort": {"old": 200, "new": 200}}), split="cohort")
    test = fit.cohort_test
    assert fit.verdict("cohorts").answer == "separate"
    assert (test.highest, test.lowest) == ("new", "old") and test.low < 27 < test.high
    by_name = fit.cohorts.set_index("group")["rate"]
    assert by_name["old"] < fit.rate.per_1000_node_days / 5 and by_name["new"] > 1.5 * fit.rate.per_1000_node_days


def test_cohorts_alike_are_pooled_and_bursts_allowed_for(exact_ratio):
    """Bursts strike one cohort or the other by chance, so that plain counts differ too easily."""
    table = simulate_log(8, burst_mean=6.0, cohorts={"left": (0.5, 1.0), "right": (0.5, 1.0)})
    fit = failures.fit(log_of(table, cohort_nodes={"cohort": {"left": 200, "right": 200}}), split="cohort")
    assert fit.verdict("cohorts").answer == "pool"
    left, right = (int((table["cohort"] == name).sum()) for name in ("left", "right"))
    plain = exact_ratio(left, 70_000, right, 70_000)
    assert fit.cohort_test.high / fit.cohort_test.low > 1.5 * plain.high / plain.low


def test_planned_work_is_no_failure():
    table = simulate_log(2, days=50.0)
    table["planned"] = np.arange(len(table)) % 2 == 0
    fit = failures.fit(log_of(table, days=50.0))
    assert len(fit.start_h) == (~table["planned"]).sum() == round(fit.rate.per_1000_node_days * 20.0)
    assert fit.components["n_events"].sum() == len(fit.start_h)


@pytest.mark.parametrize(
    ("n", "without"),
    [
        *((n, ()) for n in (0, 1, 9, MIN_VERDICT_EVENTS - 1, MIN_VERDICT_EVENTS)),
        *((n, ("node", "end_h")) for n in (0, 2, MIN_VERDICT_EVENTS)),
        (10, ("node",)),
        (10, ("end_h",)),
    ],
)
def test_a_short_log_has_a_rate_and_says_what_it_cannot_say(n, without):
    fit = n_failures(n, *without)
    assert fit.rate.low <= 1000 * n / (400 * 350) <= fit.rate.high < np.inf
    assert fit.fair_rate.high > 0 and fit.knowledge.shape > 0
    for question in ("memoryless", "trend"):
        assert (fit.verdict(question).answer == "too few") == (n < MIN_VERDICT_EVENTS)
    if n == 0:
        assert fit.verdict("nodes").answer == "too few"
    elif "node" in without:
        assert fit.node_statistics is None and fit.verdict("nodes").answer == "no nodes"
    else:
        few = n < MIN_VERDICT_EVENTS and not fit.node_statistics.bad.n_beyond
        assert (fit.verdict("nodes").answer == "too few") == few
    json.dumps(fit.to_dict(), allow_nan=False)


def test_failures_by_the_clock_are_called_alike():
    """A job that is killed every night is no matter of chance."""
    fit = failures.fit(log_of(pd.DataFrame({"start_h": np.arange(2.0, 2400.0, 24.0)}), days=100.0))
    assert fit.verdict("memoryless").answer == "alike"
    assert fit.verdict("memoryless").evidence["mean_gap_h"] == pytest.approx(24.0)


def test_stamps_of_whole_days_show_no_shape():
    table = simulate_log(4, rate_per_1000_node_days=20.0)
    fit = failures.fit(log_of(table.assign(start_h=table["start_h"] // 24 * 24).drop(columns="end_h")))
    assert fit.log.resolution_h == 24.0 and fit.verdict("memoryless").answer == "too coarse"


def test_a_fit_names_its_steps_and_repeats_itself():
    log, steps = log_of(simulate_log(9, days=30.0), days=30.0), []
    fit = failures.fit(log, seed=3, progress=steps.append)
    assert steps[0] == "rates" and "nodes" in steps and len(steps) == len(set(steps))
    assert fit.to_dict() == failures.fit(log, seed=3).to_dict()


def test_what_cannot_be_asked():
    with pytest.raises(UnknownName, match="unknown column to split by 'rack'"):
        failures.fit(log_of(simulate_log(1, days=20.0), days=20.0), split="rack")
    with pytest.raises(UnknownName, match="unknown question 'lemons'"):
        fitted("plain").verdict("lemons")
    with pytest.raises(ValueError, match="level must be between 0 and 1, got 1"):
        failures.fit(log_of(simulate_log(1, days=20.0), days=20.0), level=1.0)


# --------------------------------------------------------------------------- tables for charts


def test_nodes_are_counted_with_the_healthy_ones():
    fit = fitted("lemons")
    counts = failures.node_counts(fit)
    for _, group in counts.groupby(["log", "kind"]):
        assert group["nodes"].sum() == pytest.approx(400)
    raw = counts[(counts["log"] == "as logged") & (counts["kind"] == "seen")]
    assert raw["nodes"].iloc[0] == 400 - fit.log.failures["node"].nunique()
    assert raw["failures"].iloc[-1] == "10+"
    assert failures.node_counts(n_failures(10, "node")).empty


def test_time_since_repair_has_a_row_for_the_rest():
    table = failures.since_repair(fitted("repeats"))
    assert table["since"].iloc[0] == "0 to 1" and table["since"].iloc[-1] == "later"
    assert table["elsewhere"].tolist() == [False] * (len(table) - 1) + [True]
    assert table["rate"].iloc[0] > 5 * table["rate"].iloc[-1]


def test_forecasts_made_are_in_days():
    fit = fitted("plain")
    table = failures.forecasts_made(fit)
    assert table["inside"].mean() == fit.score.over_dispersed_coverage
    assert table["origin_d"].min() == pytest.approx(350 / 3) and table["origin_d"].max() <= 320
    assert failures.forecasts_made(n_failures(1)).empty
