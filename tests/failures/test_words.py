"""Every sentence on a failure log: grammatical at the extremes, and with the numbers of the fit."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from computed.logs import LOGS, first, fit, fitted
from ettr import failures, plan
from ettr.core.sentences import Finding, listed
from ettr.failures import node_verdict, verdicts
from ettr.failures import words as failures_words
from ettr.failures.node_verdict import node_table
from ettr.failures.words import rate_table, rule_table
from ettr.plan.fitted import advice, interval, trust
from sentences_read import NUMBER, check_words, numbers

SAY = SimpleNamespace(**(vars(failures_words) | {"plan": interval, "trust": trust}))
SAY.answer = lambda fit, planned: advice(replace(planned, fit=fit))
JUDGED = SimpleNamespace(**(vars(node_verdict) | vars(verdicts)))
OF_FIT = (
    "reading",
    "rate",
    "components",
    "shape",
    "trend",
    "nodes",
    "after_repair",
    "lives",
    "cohorts",
    "repairs",
    "forecast",
)
OF_PLAN = ("plan", "trust")


def sentences(fitted: failures.Fit, planned: plan.FittedPlan | None = None) -> dict[str, Finding]:
    findings = {name: getattr(SAY, name, None) or getattr(JUDGED, name) for name in OF_FIT}
    findings = {name: say(fitted) for name, say in findings.items()}
    findings |= {f"verdict {number}": verdict for number, verdict in enumerate(SAY.verdict_findings(fitted))}
    if planned:
        findings |= {name: getattr(SAY, name)(planned) for name in OF_PLAN} | {"answer": SAY.answer(fitted, planned)}
    return findings


WRONG = {
    "signs": r" :|[.,;:][.,;:]|\(\)|-0\.00",
    "one of many": r"(?<![\d.,])1 (failures|nodes|events|records|repeats|moments|gaps|GPUs|node-days|were|have|are)\b",
    "many of one": r"\b(0|[2-9]|\d\d+) (failure|node|event|record|repeat|was|has|is)\b(?!-)",
    "no less than nothing": r"at most (less|no)|(?<![\d.,])1 times|\b0 (failures|nodes) ",
    "a range of one": r"between (\S+) and \1(?![.,]?\d)",
}


def check_all(findings: dict[str, Finding]) -> None:
    for name, finding in findings.items():
        for text in (finding.title, finding.text):
            check_words(text, signed=True)  # counts of nodes may be correlated negatively
            for why, pattern in WRONG.items():
                assert not re.search(pattern, text), f"{why}: {text}"
            assert all(float(share.replace(",", "")) <= 100 for share in re.findall(r"([\d,.]+)%", text)), text
            assert text.count("**") % 2 == 0 and "****" not in text, text
        assert re.match(r"(\*\*)?[A-Za-z\d]", finding.text) and finding.text.endswith("."), (name, finding.text)
        assert not finding.title.endswith(".") and len(finding.title) < 120, (name, finding.title)
        assert finding.title[0] == finding.title[0].upper(), finding.title


SLOW = ("one node", "10 failures")  # fitted for this alone


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in LOGS])
def test_every_sentence_is_sane_for_every_log(name):
    check_all(sentences(fit(name), fitted(name)))
    groups = fit(name).components
    for table in (rule_table(fit(name)), rate_table("component", groups), rate_table("component", groups, 2)):
        for cell in (cell for row in table.rows for cell in row):
            assert isinstance(cell, str) and not re.search(r"nan|inf|None|\de[+-]", cell)


# --------------------------------------------------------------------------- what verdicts say

VERDICTS = {
    ("memoryless", "yes"): ("poisson", "memoryless"),
    ("memoryless", "bunched"): ("bunches", "bursts"),
    ("memoryless", "regular"): ("regular", "more regular"),
    ("memoryless", "depends on the rule"): ("bursts", "depends on"),
    ("memoryless", "alike"): ("every day", "equal intervals"),
    ("memoryless", "too few"): ("19 failures", "Too few"),
    ("memoryless", "too coarse"): ("coarse", "too coarse"),
    ("trend", "rising"): ("rising", "rising"),
    ("trend", "falling"): ("falling", "falling"),
    ("trend", "steady"): ("poisson", "no trend"),
    ("trend", "not monotone"): ("up and down", "up and down"),
    ("trend", "too few"): ("19 failures", "Too few"),
    ("nodes", "replace"): ("lemons", "Replace the nodes"),
    ("nodes", "re-test"): ("repeats", "Test nodes after repair"),
    ("nodes", "watch"): ("one to watch", "Watch"),
    ("nodes", "look first"): ("generations", "share"),
    ("nodes", "both"): ("lemons and repeats", "and test"),
    ("nodes", "nothing"): ("poisson", "No node stands out"),
    ("nodes", "too few"): ("1 failures", "Too few"),
    ("nodes", "no nodes"): ("no node names", "No nodes"),
    ("cohorts", "separate"): ("rich", "differ by cohort"),
    ("cohorts", "pool"): ("one rate", "share one"),
    ("cohorts", "too few"): ("cohorts without failures", "cannot be compared"),
    ("cohorts", "exposure unknown"): ("cohorts without nodes", "cannot be compared"),
    ("cohorts", "not asked"): ("poisson", "No cohorts"),
}
WORDS = {"memoryless": JUDGED.shape, "trend": JUDGED.trend, "nodes": JUDGED.nodes, "cohorts": JUDGED.cohorts}


@pytest.mark.parametrize(("question", "answer"), VERDICTS)
def test_a_verdict_is_said_as_it_was_taken(question, answer):
    name, title = VERDICTS[question, answer]
    assert fit(name).verdict(question).answer == answer
    finding = WORDS[question](fit(name))
    assert title in finding.title
    texts = [verdict.text for verdict in SAY.verdict_findings(fit(name))]
    assert (finding.text in texts) == (answer != "not asked")


def test_a_moving_rate_is_not_called_bunches():
    """Gaps at a rate that moves vary more than at one rate, though no failure brings on the next."""
    assert fit("falling").verdict("memoryless").answer == "bunched"
    assert "constant rate" in JUDGED.shape(fit("falling")).title
    assert "bursts" not in SAY.answer(fit("falling"), plan.from_fit(fit("falling"))).text


def test_every_answer_has_its_words():
    docs = "".join(vars(JUDGED)[name].__doc__ for name in ("memoryless", "trending", "replace_or_retest", "separate"))
    documented = {" ".join(words.split()) for words in re.findall(r"``([^`]+)``", docs)}
    assert {answer for _, answer in VERDICTS} == documented


def test_bad_nodes_are_named_with_what_to_do():
    log_fit = fit("lemons")
    bad = log_fit.node_statistics.bad
    names = bad.advised("replace")
    assert f"**Replace {listed([*names[:6], f'{len(names) - 6} more'])}**: each fails" in JUDGED.nodes(log_fit).text
    assert log_fit.nodes["node"].tolist() == bad.table["node"].tolist()
    assert log_fit.nodes["stands_out"].sum() == bad.n_beyond
    assert log_fit.nodes["ratio_low"].le(log_fit.nodes["ratio"]).all() and fit("no node names").nodes.empty
    table = node_table(log_fit)
    assert [row[0] for row in table.rows] == bad.table.loc[bad.table["beyond"], "node"].tolist()
    worst = bad.table.iloc[0]
    first = log_fit.log.window[0] + pd.Timedelta(hours=worst["first_h"])
    again = f"{worst['n_soon']} of {worst['n_returns']}"
    assert [*table.rows[0][:2], *table.rows[0][5:]] == [
        worst["node"],
        str(worst["n_failures"]),
        f"{first:%Y-%m-%d}",
        again,
        "replace",
    ]
    assert table.rows[0][4] == "p < 0.001" and node_table(fit("poisson")) is None

    def with_worst(**changes):
        first_row = bad.table.head(1).assign(**changes)
        return JUDGED.nodes(
            replace(log_fit, node_statistics=replace(log_fit.node_statistics, bad=replace(bad, table=first_row)))
        ).text

    node = worst["node"]
    assert f"**Re-test {node}**: it fails soon" in with_worst(advice="re-test")
    n, day = worst["n_failures"], f"{first:%Y-%m-%d}"
    assert with_worst(remark="late").startswith(f"First check that {node} (all {n} since {day}) was")
    assert f"{node} (none of its {n} after 2024-" in with_worst(remark="over", advice="watch")


def test_cohorts_that_never_failed_have_no_endless_ratio():
    log_fit = fit("rich")
    test = replace(log_fit.cohort_test, ratio=np.inf, low=3.25, high=np.inf)
    finding = JUDGED.cohorts(replace(log_fit, cohort_test=test))
    assert finding.text.startswith("A100 fails at least 3.25 times as often as V100, which never failed (p < 0.001):")
    finding = JUDGED.cohorts(replace(log_fit, cohort_test=replace(test, low=0.4)))
    assert finding.text.startswith("A100 failed and V100 never did (p < 0.001):")
    assert "Nothing failed" in JUDGED.cohorts(fit("cohorts without failures")).text
    assert fit("no ends").verdict("cohorts").answer == "not asked"  # each component has the whole exposure


# --------------------------------------------------------------------------- numbers read back

THREE_DIGITS = {"rel": 5.1e-3, "abs": 5.1e-3}


def minutes(text: str) -> list[float]:
    scale = {"s": 1 / 60, "min": 1.0, "h": 60.0, "days": 1440.0}
    return [float(n.replace(",", "")) * scale[unit] for n, unit in re.findall(rf"({NUMBER}) (s|min|h|days)\b", text)]


@pytest.mark.parametrize("name", ["rich", "poisson", "coarse", "20 failures"])
def test_rates_are_told_as_fitted(name):
    log_fit = fit(name)
    text = SAY.rate(log_fit).text
    exact, fair = log_fit.rate, log_fit.fair_rate
    assert numbers("^# failures per", text) == pytest.approx([exact.per_1000_node_days], **THREE_DIGITS)
    expected = [exact.low, exact.high]
    assert numbers("independent, the 95% CI is # to #", text) == pytest.approx(expected, **THREE_DIGITS)
    if "interval" in text:  # it stands there once where both are one
        assert numbers("interval (?:is|to) # to #\\.$", text) == pytest.approx([fair.low, fair.high], **THREE_DIGITS)
    else:
        assert [fair.low, fair.high] == pytest.approx(expected, **THREE_DIGITS)
    scatter = max(log_fit.dispersion, log_fit.node_statistics.dispersion, key=lambda scatter: scatter.paid(0.95))
    uneven = scatter.p < 0.05 and scatter.measured > 1.05
    assert ("overdispersed" in text) == uneven
    if uneven:
        assert numbers("is # times", text) == pytest.approx([scatter.measured], **THREE_DIGITS)


def test_the_forecast_is_told_with_its_past():
    log_fit = fit("rich")
    ahead, score = log_fit.forecast, log_fit.score
    text = SAY.forecast(log_fit).text
    values = numbers(r"Expect # failures in the next # days .*interval # to #\).*backtest of # forecasts", text)
    assert values == [round(ahead.mean), ahead.horizon_d, ahead.low, ahead.high, score.n_forecasts]
    values = numbers(r"covered #% of outcomes \(#% if .*independent\).*worth about # independent", text)
    shares = [100 * score.over_dispersed_coverage, 100 * score.poisson_coverage]
    assert values == pytest.approx([*shares, score.n_independent], abs=0.51)
    assert "in the next 4 h" in SAY.forecast(fit("a day")).text
    assert re.search("10 failures.* 9", SAY.forecast(fit("9 failures")).text)
    assert (SAY.horizon_d(log_fit), SAY.horizon_d(fit("9 failures"))) == (ahead.horizon_d, 30.0)


# --------------------------------------------------------------------------- what was read


def test_reading_counts_every_record():
    log_fit = fit("poisson")
    ledger = pd.DataFrame(
        [("merged", "exact duplicate", 3, "line 7"), ("dropped", "a step of a job", 1, "")],
        columns=["action", "reason", "n", "example"],
    )
    notes = ("columns read: start from 'at'", "faults.csv ends early; the rest is missing")
    text = SAY.reading(replace(log_fit, log=replace(log_fit.log, ledger=ledger, n_records=160, notes=notes))).text
    assert "Of 160 records, 3 were merged (exact duplicate; first: line 7) and 1 was dropped (a step of a job)." in text
    assert "Columns read: start from 'at'. faults.csv ends early; the rest is missing." in text


ODD = "a*b_ [x](y) <i>`z` $w$ | \\"


def test_signs_of_markdown_in_names_are_only_signs():
    log_fit = failures.fit(first(4, component=ODD))
    text, title = SAY.components(log_fit).text, SAY.components(log_fit).title
    assert title.startswith(ODD + " accounts for")
    assert re.sub(r"\\(\W|_)", r"\1", text).startswith(ODD + " accounts for")
    assert not re.search(r"(?<!\\)[*`<\[$|]", text)
    renamed = replace(log_fit, log=replace(log_fit.log, source="my_odd_name"))
    assert "my_odd_name" in SAY.answer(renamed, fitted("poisson")).text


# --------------------------------------------------------------------------- any log
