"""Every sentence on a failure log: grammatical at the extremes, and with the numbers of the fit."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from computed.logs import LOGS, first, fit, fitted, log_of
from ettr import failures, logs, plan
from ettr.core.sentences import Finding, listed
from ettr.failures import node_verdict, verdicts
from ettr.failures import words as failures_words
from ettr.failures.node_verdict import node_table
from ettr.failures.roles import RoleCheck
from ettr.failures.words import rate_table, rule_table
from ettr.plan.fitted import advice, interval, trust
from sentences_read import NUMBER, check_words, numbers
from simulated_logs import simulate_log

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
    ("memoryless", "yes"): ("poisson", "Failures are memoryless", "No rule rejects the exponential"),
    ("memoryless", "bunched"): ("bunches", "Failures come in bunches", "gaps vary more than chance lets them"),
    ("memoryless", "regular"): ("regular", "Failures come more evenly than chance", "look for something periodic"),
    ("memoryless", "depends on the rule"): (
        "bursts",
        "Whether failures are memoryless depends on what counts as one incident",
        "The rules disagree",
    ),
    ("memoryless", "alike"): ("every day", "Failures come at equal distances", "hardly differ from 24 h: look for"),
    ("memoryless", "too few"): ("19 failures", "Too few failures for a shape", "It takes 20 failures to tell how"),
    ("memoryless", "too coarse"): ("coarse", "Time stamps are too coarse for a shape", "in steps of 24 h, and"),
    ("trend", "rising"): ("rising", "Failures become more", "Both tests see a rising rate"),
    ("trend", "falling"): ("falling", "Failures become fewer", "Both tests see a falling rate"),
    ("trend", "steady"): ("poisson", "The rate has no trend", "nothing speaks against a constant rate"),
    ("trend", "not monotone"): ("up and down", "The rate goes up and down", "uneven without a lasting direction"),
    ("trend", "too few"): ("19 failures", "Too few failures for a trend", "to see a trend; there are 19."),
    ("nodes", "replace"): ("lemons", "Replace the nodes that keep failing", "more than 2 times as often as the others"),
    ("nodes", "re-test"): ("repeats", "Test nodes after repair, before replacing any", "repairs do not hold"),
    ("nodes", "watch"): ("one to watch", "Watch the nodes that fail most", "**Watch n0000**: more failures than"),
    ("nodes", "look first"): ("generations", "Look at what bad nodes share before replacing any", "but as a group"),
    ("nodes", "both"): (
        "lemons and repeats",
        "Replace the nodes that keep failing, and test after repair",
        "**Test nodes before they go back**",
    ),
    ("nodes", "nothing"): ("poisson", "No node stands out", "**Nothing to do**: no node fails more than chance"),
    ("nodes", "too few"): ("1 failures", "Too few failures to judge nodes", "to tell lemons from chance; there is 1."),
    ("nodes", "no nodes"): ("no node names", "The log names no nodes", "lemons cannot be told"),
    ("cohorts", "separate"): ("rich", "Failure rates differ by cohort", "Fit and plan them separately."),
    ("cohorts", "pool"): ("one rate", "Cohorts may share one rate", "which chance explains."),
    ("cohorts", "too few"): ("cohorts without failures", "Cohorts cannot be compared", "Nothing failed"),
    ("cohorts", "exposure unknown"): ("cohorts without nodes", "Cohorts cannot be compared", "nodes of each cohort"),
    ("cohorts", "not asked"): ("poisson", "No cohorts were named", "No column was named"),
}
WORDS = {"memoryless": JUDGED.shape, "trend": JUDGED.trend, "nodes": JUDGED.nodes, "cohorts": JUDGED.cohorts}


@pytest.mark.parametrize(("question", "answer"), VERDICTS)
def test_a_verdict_is_said_as_it_was_taken(question, answer):
    name, title, words = VERDICTS[question, answer]
    assert fit(name).verdict(question).answer == answer
    finding = WORDS[question](fit(name))
    assert finding.title == title and words in finding.text
    texts = [verdict.text for verdict in SAY.verdict_findings(fit(name))]
    assert (finding.text in texts) == (answer != "not asked")


def test_a_moving_rate_is_not_called_bunches():
    """Gaps at a rate that moves vary more than at one rate, though no failure brings on the next."""
    assert fit("falling").verdict("memoryless").answer == "bunched"
    assert JUDGED.shape(fit("falling")).title == "Gaps vary more than at one constant rate"
    assert "bunches" not in SAY.answer(fit("falling"), plan.from_fit(fit("falling"))).text


def test_a_small_job_is_forecast_by_its_own_count():
    """One node of many mostly meets no failure in a month; the fleet's range would be far too narrow for it."""
    planned = plan.from_fit(fit("poisson"), n_gpus=8)
    assert planned.ettr_high > planned.plan.budget.ettr > planned.ettr_low
    assert planned.ettr_high == pytest.approx(1, abs=2e-3)
    assert "up to less" not in SAY.trust(planned).text


def test_every_answer_has_its_words():
    docs = " ".join(vars(JUDGED)[name].__doc__ for name in ("memoryless", "trending", "replace_or_retest"))
    docs += vars(failures.verdicts)["separate"].__doc__
    assert {answer for _, answer in VERDICTS} == set(re.findall(r"``([^`]+)``", docs))


@pytest.mark.parametrize("name", [n for n in LOGS if n not in SLOW])
def test_a_verdict_of_the_paragraph_is_that_of_its_section(name):
    """The paragraph may be short, not different."""
    text = SAY.answer(fit(name), fitted(name)).text
    answers = {verdict.question: verdict.answer for verdict in fit(name).verdicts}
    assert ("they become more" in text) == (answers["trend"] == "rising")
    assert ("become fewer" in text) == (answers["trend"] == "falling")
    assert ("should be replaced" in text) == (answers["nodes"] in ("replace", "both"))
    assert ("repairs should be tested" in text) == (answers["nodes"] in ("re-test", "both"))
    assert ("rates of their own" in text) == (answers["cohorts"] == "separate")
    assert ("without the number of their nodes" in text) == (name == "cohorts without nodes")


def test_failures_at_one_instant_have_no_step_of_time():
    finding = JUDGED.shape(fit("one instant"))
    assert finding.text == "All failures have one time stamp, so there are no times between them."
    assert JUDGED.trend(fit("the last instant")).text == "All failures came at one end of the window."
    assert JUDGED.shape(fit("three instants")).text.startswith("Too many of the times between failures are equal")


def test_bad_nodes_are_named_with_what_to_do():
    known = fit("lemons")
    bad = known.nodes.bad
    names = bad.advised("replace")
    assert f"**Replace {listed([*names[:6], f'{len(names) - 6} more'])}**: each fails" in JUDGED.nodes(known).text
    table = node_table(known)
    assert [row[0] for row in table.rows] == bad.table.loc[bad.table["beyond"], "node"].tolist()
    worst = bad.table.iloc[0]
    first = known.log.window[0] + pd.Timedelta(hours=worst["first_h"])
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
        one = bad.table.head(1).assign(**changes)
        return JUDGED.nodes(replace(known, nodes=replace(known.nodes, bad=replace(bad, table=one)))).text

    node = worst["node"]
    assert f"**Test {node} again**: it fails soon after repairs." in with_worst(advice="re-test")
    n, day = worst["n_failures"], f"{first:%Y-%m-%d}"
    assert with_worst(remark="late").startswith(f"First ask whether {node} (all {n} since {day}) was there")
    assert f"{node} (none of its {n} after 2024-" in with_worst(remark="over", advice="watch")


def test_a_role_is_named_as_people_name_it():
    known = fit("poisson")
    role = RoleCheck("number", "0 mod 32", 9.0, 0.01, 9, 0.03, 100, True)

    def finding(**changes):
        return JUDGED.nodes(replace(known, nodes=replace(known.nodes, role=replace(role, **changes)))).text

    often = "Nodes whose number is 0 mod 32 fail 9 times as often as others: look at what they are used for."
    assert often in finding()
    assert "Nodes named login alone fail: look" in finding(kind="prefix", value="login", ratio=np.inf)
    assert "look at what they are used for" not in finding(p=0.2)


def test_time_after_a_repair_is_time_after_a_failure_where_no_repair_is_known():
    assert "In the 7 days after a repair there are" in JUDGED.nodes(fit("poisson")).text
    assert "In the 7 days after a failure there are" in JUDGED.nodes(fit("no ends")).text
    known = fit("poisson")
    never = replace(known, nodes=replace(known.nodes, risk=replace(known.nodes.risk, n_soon=0)))
    assert JUDGED.after_repair(never).title == "No node failed in the 7 days after a repair"
    assert JUDGED.after_repair(fit("no node names")).title == "Nothing is known of the time after repairs"
    assert JUDGED.lives(fit("no node names")).title == "How long repairs hold is not known"
    assert JUDGED.lives(fit("rich")).text.startswith("Half of the repairs hold for less than ")


def test_nodes_that_never_came_back_are_no_missing_names():
    known = fit("poisson")
    verdict = node_verdict.replace_or_retest(
        known.nodes.apart, known.nodes.bad, None, None, known.verdict("cohorts"), len(known.start_h)
    )
    assert verdict.answer == "nothing" and "repeat_ratio" not in verdict.evidence
    finding = JUDGED.nodes(replace(known, nodes=replace(known.nodes, risk=None), verdicts=(verdict,)))
    assert finding.title == "No node stands out" and "In the 7 days after" not in finding.text
    check_all({"nodes": finding})


def test_cohorts_that_never_failed_have_no_endless_ratio():
    known = fit("rich")
    test = replace(known.cohort_test, ratio=np.inf, low=3.25, high=np.inf)
    finding = JUDGED.cohorts(replace(known, cohort_test=test))
    assert finding.text.startswith(
        "A100 fails at least 3.25 times as often as V100, which never failed (p < 0.001): one"
    )
    finding = JUDGED.cohorts(replace(known, cohort_test=replace(test, low=0.4)))
    assert finding.text.startswith("A100 failed and V100 never did (p < 0.001): one")
    assert "Nothing failed" in JUDGED.cohorts(fit("cohorts without failures")).text
    assert fit("no ends").verdict("cohorts").answer == "not asked"  # each component has the whole exposure


# --------------------------------------------------------------------------- numbers read back

THREE_DIGITS = {"rel": 5.1e-3, "abs": 5.1e-3}


def minutes(text: str) -> list[float]:
    scale = {"s": 1 / 60, "min": 1.0, "h": 60.0, "days": 1440.0}
    return [float(n.replace(",", "")) * scale[unit] for n, unit in re.findall(rf"({NUMBER}) (s|min|h|days)\b", text)]


@pytest.mark.parametrize("name", ["rich", "poisson", "coarse", "20 failures"])
def test_rates_are_told_as_fitted(name):
    known = fit(name)
    text = SAY.rate(known).text
    exact, fair = known.rate, known.fair_rate
    assert numbers("^# failures per", text) == pytest.approx([exact.per_1000_node_days], **THREE_DIGITS)
    expected = [exact.low, exact.high]
    assert numbers("independent, the 95% interval is # to #", text) == pytest.approx(expected, **THREE_DIGITS)
    if "the interval is" in text:  # it stands there once where both are one
        assert numbers("the interval is # to #\\.$", text) == pytest.approx([fair.low, fair.high], **THREE_DIGITS)
    else:
        assert [fair.low, fair.high] == pytest.approx(expected, **THREE_DIGITS)
    scatter = max(known.dispersion, known.nodes.dispersion, key=lambda scatter: scatter.paid(0.95))
    uneven = scatter.p < 0.05 and scatter.measured > 1.05
    assert ("They come more unevenly" in text) == uneven
    if uneven:
        assert numbers("vary # times", text) == pytest.approx([scatter.measured], **THREE_DIGITS)


def test_no_failure_is_an_upper_bound():
    known = fit("0 failures")
    text = SAY.rate(known).text
    assert numbers("in # node-days: the 95% interval of the rate is 0 to #", text) == pytest.approx(
        [18_000, known.rate.high], **THREE_DIGITS
    )
    assert "so at most 0.2 per 1000.**" in SAY.answer(known, fitted("0 failures")).text


def test_the_level_of_intervals_is_the_one_asked_for():
    known = failures.fit(first(20), level=0.9)
    assert "the 90% interval" in SAY.rate(known).text and "such 90% intervals" in SAY.forecast(known).text


def test_the_paragraph_tells_count_time_and_interval():
    known, planned = fit("rich"), fitted("rich")
    text = SAY.answer(known, planned).text
    values = numbers(r"shows # failures per 1,000 node-days: # in # days, one every # h\.\*\*", text)
    n = len(known.start_h)
    assert values == pytest.approx([known.rate.per_1000_node_days, n, 200, 4800 / n], **THREE_DIGITS)
    assert numbers("A job on # GPUs", text) == [1600]
    expected = [planned.plan.band.interval_min]
    assert minutes(text.partition("checkpoint every")[2]) == pytest.approx(expected, **THREE_DIGITS)


@pytest.mark.parametrize("name", ["rich", "bursts", "poisson"])
def test_shapes_are_told_as_fitted(name):
    triples = re.findall(rf"({NUMBER}) \(({NUMBER}) to ({NUMBER})\) (?:as|with)", JUDGED.shape(fit(name)).text)
    for values, one in zip(triples, fit(name).gaps, strict=True):
        expected = [one.weibull_shape, one.weibull_low, one.weibull_high]
        assert [float(value) for value in values] == pytest.approx(expected, abs=0.0051)


def test_components_are_told_by_their_share():
    known = fit("poisson")
    table = known.components
    text = SAY.components(known).text
    assert numbers(f"^{table['group'][0]} accounts for # of # failures \\(#%\\), then", text) == pytest.approx(
        [table["n_events"][0], len(known.start_h), 100 * table["share"][0]], abs=0.051
    )
    assert SAY.components(fit("no components")).text == "The log names no components."
    assert SAY.components(fit("1 failures")).text == "GPU accounts for 1 of 1 failure (100.0%)."
    text = SAY.components(failures.fit(first(4, component=["NIC", None, "GPU", "NIC"]))).text
    assert text == "NIC accounts for 2 of 4 failures (50.0%), then GPU 25.0%. For 1 failure the log names no component."


@pytest.mark.parametrize("name", ["rich", "repeats", "lemons"])
def test_nodes_are_told_with_their_evidence(name):
    text, statistics = JUDGED.nodes(fit(name)).text, fit(name).nodes
    raw, clean, risk = statistics.as_logged, statistics.apart, statistics.risk
    values = numbers("per node vary # times as much as chance lets them, and # times as much without # repeat", text)
    assert values == pytest.approx([raw.dispersion_index, clean.dispersion_index, statistics.n_repeats], **THREE_DIGITS)
    values = numbers(r"there are # failures, # times as many as the same nodes have at other times \(# to #\)", text)
    assert values == pytest.approx([risk.n_soon, risk.ratio, risk.low, risk.high], **THREE_DIGITS)


def test_bad_nodes_that_stay_bad_as_a_group_are_told_with_their_share():
    clean = fit("generations").nodes.apart
    values = numbers("worst #% of nodes of the first half have #% of the", JUDGED.nodes(fit("generations")).text)
    assert values == pytest.approx([100 * clean.chance_share, 100 * clean.worst_share], abs=0.51)


def test_repairs_are_told_with_what_is_not_known():
    known = fit("rich")
    overall = known.repairs.overall
    text = SAY.repairs(known).text
    assert [m / 60 for m in minutes(text)] == pytest.approx([overall["median_h"], overall["p90_h"]], **THREE_DIGITS)
    assert numbers("in service #%", text) == pytest.approx([100 * known.repairs.availability], abs=0.051)
    assert SAY.repairs(fit("1 failures")).title.startswith("The one known repair took ")
    assert "one in ten" not in SAY.repairs(fit("9 failures")).text
    assert SAY.repairs(fit("no ends")).title == "The log does not say how long failures last"

    def with_overall(availability: float | None, **counts):
        table = known.repairs.table.copy()
        for column, n in counts.items():
            table.loc[0, column] = n
        return SAY.repairs(replace(known, repairs=replace(known.repairs, table=table, availability=availability))).text

    text = with_overall(0.0, n_open=1, n_unknown=3)
    assert text.endswith("in service at most 0.0% of the time. 1 was still open at the end. 3 have no known end.")
    assert "in service" not in with_overall(None)


def test_the_forecast_is_told_with_its_past():
    known = fit("rich")
    ahead, score = known.forecast, known.score
    text = SAY.forecast(known).text
    values = numbers("next # days expect # failures, between # and #. Made again at # moments", text)
    assert values == [ahead.horizon_d, round(ahead.mean), ahead.low, ahead.high, score.n_forecasts]
    values = numbers("intervals held in #% of the cases; .*independent held in #%.*worth about # independent", text)
    shares = [100 * score.over_dispersed_coverage, 100 * score.poisson_coverage]
    assert values == pytest.approx([*shares, score.n_independent], abs=0.51)
    assert "In the next 4 h expect" in SAY.forecast(fit("a day")).text
    assert SAY.forecast(fit("9 failures")).text == "It takes 10 failures to forecast from; there are 9."
    assert (SAY.horizon_d(known), SAY.horizon_d(fit("9 failures"))) == (ahead.horizon_d, 30.0)


@pytest.mark.parametrize("name", ["rich", "a day", "coarse", "2 failures"])
def test_the_plan_is_told_with_its_band_and_assumptions(name):
    planned = fitted(name)
    band, rules, run = planned.plan.band, planned.by_rule, planned.scenario
    recovery_min = run.recovery.detection_min + run.recovery.queue_min + run.recovery.restart_min
    expected = [band.interval_min, band.low_min, band.high_min]
    expected += [rules["interval_min"].min(), rules["interval_min"].max()]
    expected += [run.checkpoint.stall_s / 60, recovery_min]
    assert minutes(SAY.plan(planned).text) == pytest.approx(expected, **THREE_DIGITS)


def test_trust_is_told_with_the_worst_of_the_past():
    planned = fitted("rich")
    splits = planned.splits
    text = SAY.trust(planned).text
    assert numbers(r"^Planned # times .* by the # days that", text) == [len(splits), splits["horizon_d"][0]]
    expected = [100 * splits["level_error"].abs().max()]
    assert numbers("off by at most # points", text) == pytest.approx(expected, abs=0.051)
    values = numbers("The ETTR is #% at .* from #% to #%", text)
    ettr = [planned.plan.budget.ettr, planned.ettr_low, planned.ettr_high]
    assert values == pytest.approx([100 * value for value in ettr], abs=0.051)
    worse = replace(planned, splits=splits.assign(interval_loss=0.5, level_error=0.1))
    assert SAY.trust(planned).title == "Trust the interval more than the ETTR"
    assert SAY.trust(worse).title == "The interval held no better than the ETTR"
    assert "at most 50.0 points" in SAY.trust(worse).text
    free = replace(planned, splits=splits.assign(interval_loss=0.0))
    assert "the interval cost less than 0.1 points of ETTR" in SAY.trust(free).text


# --------------------------------------------------------------------------- what was read


def test_reading_counts_every_record():
    known = fit("poisson")
    ledger = pd.DataFrame(
        [("merged", "exact duplicate", 3, "line 7"), ("dropped", "a step of a job", 1, "")],
        columns=["action", "reason", "n", "example"],
    )
    notes = ("columns read: start from 'at'", "faults.csv ends early; the rest is missing")
    text = SAY.reading(replace(known, log=replace(known.log, ledger=ledger, n_records=160, notes=notes))).text
    assert "Of 160 records, 3 were merged (exact duplicate; first: line 7) and 1 was dropped (a step of a job)." in text
    assert "Columns read: start from 'at'. faults.csv ends early; the rest is missing." in text


@pytest.mark.parametrize(
    ("n", "sentence"), [(1, "1 more event is planned work"), (3, "3 more events are planned work")]
)
def test_planned_work_is_counted_apart(n, sentence):
    known = failures.fit(first(4, planned=[number < n for number in range(4)]))
    assert re.search(rf": {4 - n} failures?\. {sentence}", SAY.reading(known).text)


def test_one_node_for_a_moment_is_told_in_the_singular():
    log = logs.from_frame(pd.DataFrame({"start": ["2024-01-01T06:00Z"]}), 1, "2024-01-01/2024-01-01")
    text = SAY.reading(failures.fit(log)).text
    assert text.startswith("1 node watched for 24 h, 1 node-day: 1 failure.")


ODD = "a*b_ [x](y) <i>`z` $w$ | \\"


def test_signs_of_markdown_in_names_are_only_signs():
    known = failures.fit(first(4, component=ODD))
    text, title = SAY.components(known).text, SAY.components(known).title
    assert title.startswith(ODD + " accounts for")
    assert re.sub(r"\\(\W|_)", r"\1", text).startswith(ODD + " accounts for")
    assert not re.search(r"(?<!\\)[*`<\[$|]", text)
    renamed = replace(known, log=replace(known.log, source="my_odd_name"))
    assert "my_odd_name" in SAY.answer(renamed, fitted("poisson")).text


def test_a_long_name_does_not_fill_the_sentence():
    finding = SAY.components(failures.fit(first(4, component="a component of " * 50)))
    assert len(finding.title) < 120 and "…" in finding.title


def test_rows_of_a_long_table_end_with_the_rest():
    table = fit("a day").components
    rows = rate_table("component", table, 2).rows
    assert [row[0] for row in rows] == [*table["group"][:2], f"({len(table) - 2} more)"]
    assert sum(int(row[1].replace(",", "")) for row in rows) == table["n_events"].sum()
    assert rows[0][3] == f"{table['rate'][0]:,.0f}"


# --------------------------------------------------------------------------- any log


@pytest.mark.slow
@settings(max_examples=8)
@given(
    seed=st.integers(0, 10_000),
    n_nodes=st.sampled_from([1, 2, 7, 64]),
    n_expected=st.sampled_from([3, 15, 25, 60]),
    days=st.sampled_from([0.2, 9, 70, 900]),
    burst=st.sampled_from([1.0, 4.0]),
    again=st.sampled_from([0.0, 0.6]),
    silent=st.sets(st.sampled_from(["node", "end", "component"])),
)
def test_sentences_hold_for_any_log(seed, n_nodes, n_expected, days, burst, again, silent):
    rate = 1000 * n_expected / (n_nodes * days)
    table = simulate_log(seed, n_nodes, days, rate, burst_mean=burst, repeat_probability=again)
    check_all(sentences(failures.fit(log_of(table, n_nodes, days, tuple(silent)))))
