"""The verdict on nodes that fail often: which to replace, test or watch, and the evidence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.report import Table
from ettr.core.sentences import Finding, capital, count, duration, listed, number, pct
from ettr.failures.bad_nodes import REPLACE_LIFT, BadNodes
from ettr.failures.lemons import LemonTest
from ettr.failures.log_statistics import LogStatistics, NodeStatistics, Verdict
from ettr.failures.log_words import between, counted, coverage, failures, named, probability, times, too_few
from ettr.failures.repeats import RepeatRisk
from ettr.failures.roles import RoleCheck
from ettr.failures.window import MIN_VERDICT_EVENTS, SIGNIFICANT

_MOST_NAMED = 6
_TITLES = {
    "replace": "Replace the nodes that keep failing",
    "re-test": "Test nodes after repair before replacing any",
    "both": "Replace the nodes that keep failing, and test nodes after repair",
    "watch": "Watch the nodes that fail most",
    "look first": "Look for what the bad nodes share before replacing any",
    "nothing": "No node stands out",
}


def replace_or_retest(
    lemons: LemonTest | None,
    bad: BadNodes | None,
    risk: RepeatRisk | None,
    role: RoleCheck | None,
    cohorts: Verdict,
    n_events: int,
) -> Verdict:
    """Return the verdict on nodes that fail often.

    Answers
    -------
    ``replace``, ``re-test``, ``both`` or ``watch``: the advice for the nodes that fail significantly more than the
    others (see `find_bad_nodes`); ``re-test`` also if failures cluster after repairs on all nodes. ``look first``: no
    single node is significant, but bad nodes stay bad in a log without memory, or bad nodes share a role or a cohort.
    ``nothing``: no node stands out. ``too few`` failures. ``no nodes``: the log names no nodes.
    """
    if lemons is None or bad is None:
        return Verdict("nodes", "no nodes" if n_events else "too few")
    advised = set(bad.table["advice"]) - {""}
    if lemons.n_events < MIN_VERDICT_EVENTS and not advised:
        return Verdict("nodes", "too few", {"n_events": lemons.n_events})
    retest = "re-test" in advised or (risk is not None and risk.repairs_fail)
    # memory alone makes a node fail repeatedly for a while, so the halves of a log correlate even without bad nodes
    as_a_group = lemons.overdispersed and lemons.persistent and not bad.has_memory
    shared = (role is not None and role.p < SIGNIFICANT) or cohorts.answer == "separate"
    answer = {(True, True): "both", (True, False): "replace", (False, True): "re-test"}.get(
        ("replace" in advised, retest)
    )
    if answer is None:
        answer = "watch" if advised else "look first" if as_a_group or shared else "nothing"
    evidence: dict[str, Any] = {
        "dispersion_index": lemons.dispersion_index,
        "dispersion_p": lemons.dispersion_p,
        "rank_correlation": lemons.rank_correlation,
        "rank_p": lemons.rank_p,
        "worst_p": lemons.worst_p,
        "worst_share": lemons.worst_share,
        "chance_share": lemons.chance_share,
        "n_beyond": bad.n_beyond,
        "memory_p": bad.memory_p,
        "replace": bad.advised("replace"),
        "re_test": bad.advised("re-test"),
        "watch": bad.advised("watch"),
    }
    if risk is not None:
        evidence |= {
            "repeat_ratio": risk.ratio,
            "repeat_low": risk.low,
            "repeat_high": risk.high,
            "repeat_p": risk.p,
            "repeats_soon": risk.n_soon,
            "repeats_expected": risk.n_expected,
        }
    return Verdict("nodes", answer, evidence)


def nodes(fit: LogStatistics) -> Finding:
    """Return the finding on nodes: the advice for each, then the evidence."""
    answer, statistics = fit.verdict("nodes").answer, fit.node_statistics
    if statistics is None and len(fit.start_h):
        title = "No nodes in the log"
        return Finding(title=title, text="The log has no node names, so lemon nodes cannot be identified.")
    if statistics is None or answer == "too few":
        few = too_few("A verdict on nodes", statistics.apart.n_events if statistics else 0)
        silent = f" {_silent(statistics)}" if statistics else ""
        return Finding(title="Too few failures to judge nodes", text=f"{few}{silent}".rstrip())
    sentences = [*_to_do(fit, statistics, answer), _soon(fit), _uneven(statistics), _clustered(statistics)]
    if answer in ("look first", "nothing"):
        sentences.append(_lasting(statistics.apart))
    sentences += [_role(statistics.role), _silent(statistics)]
    return Finding(title=_TITLES[answer], text=" ".join(sentence for sentence in sentences if sentence))


def _to_do(fit: LogStatistics, statistics: NodeStatistics, answer: str) -> list[str]:
    """The advice: what to check first, and what to do with which nodes."""
    bad, risk = statistics.bad, statistics.risk
    replace, retest, watch = (bad.advised(advice) for advice in ("replace", "re-test", "watch"))
    lines = [_present(fit, statistics)]
    if replace:
        lines.append(
            f"**Replace {listed_nodes(replace)}**: {_each(replace, 'it fails', 'each fails')} more than "
            f"{REPLACE_LIFT:g} times as often as the others, even without failures soon after a repair."
        )
    if retest:
        lines.append(
            f"**Re-test {listed_nodes(retest)}**: {_each(retest, 'it fails', 'they fail')} soon after repairs."
        )
    if risk is not None and risk.repairs_fail:
        lines.append("**Test nodes before returning them to service**: failures cluster after repairs.")
    if watch:
        lines.append(
            f"**Watch {listed_nodes(watch)}**: more failures than chance explains, but not enough to replace "
            f"{_each(watch, 'it', 'them')}."
        )
    if answer == "look first":
        lines.append(
            "**Look for what the bad nodes share**, such as hardware, location, use or age: no single node is "
            "significant, but as a group some nodes keep failing more than others."
        )
    if answer == "nothing":
        repaired = ", and failures do not cluster after repairs" if risk is not None else ""
        lines.append(f"**Nothing to do**: no node fails more than chance explains{repaired}.")
    return lines


def _present(fit: LogStatistics, statistics: NodeStatistics) -> str:
    """A check of nodes whose failures all lie in one part of the window: were they in service throughout?"""
    table = statistics.bad.table
    one_sided = table[(table["advice"] != "") & (table["remark"] != "")].head(_MOST_NAMED)
    if one_sided.empty:
        return ""
    nodes = [
        f"{named(row.node)} (all {count(row.n_failures)} since {_day(fit, row.first_h)})"
        if row.remark == "late"
        else f"{named(row.node)} (none of its {count(row.n_failures)} after {_day(fit, row.last_h)})"
        for row in one_sided.itertuples()
    ]
    return (
        f"First check that {listed(nodes)} {_each(nodes, 'was', 'were')} in service for the whole window: a new, moved "
        "or renamed node looks like this."
    )


def _each(nodes: list[Any], singular: str, plural: str) -> str:
    return singular if len(nodes) == 1 else plural


def listed_nodes(nodes: list[Any]) -> str:
    """Return the names of nodes as a list; from the seventh on only how many more there are."""
    more = len(nodes) - _MOST_NAMED
    return listed([*(named(node) for node in nodes[:_MOST_NAMED]), *([f"{count(more)} more"] if more > 0 else [])])


def _day(fit: LogStatistics, at_h: float) -> str:
    if fit.log.calendar:
        return f"{fit.log.window[0] + pd.Timedelta(hours=at_h):%Y-%m-%d}"
    return f"day {number(round(at_h / 24, 1))}"


def node_table(fit: LogStatistics) -> Table | None:
    """Return a table of the nodes that stand out: failures, expected failures, failures after repairs and advice."""
    if fit.node_statistics is None:
        return None
    bad = fit.node_statistics.bad
    table = bad.table[bad.table["beyond"]].head(2 * _MOST_NAMED)
    if table.empty:
        return None
    rows = [
        [
            " ".join(str(row.node).split()),
            count(row.n_failures),
            number(row.expected),
            f"{number(row.low)} to {number(row.high)}" if math.isfinite(row.high) else f"at least {number(row.low)}",
            probability(row.p),
            _day(fit, row.first_h),
            f"{count(row.n_soon)} of {count(row.n_returns)}" if row.n_returns else "",
            row.advice,
        ]
        for row in table.itertuples()
    ]
    repeats = f"repeats within {bad.within_d:g} d"
    columns = ("node", "failures", "expected", "ratio (95% CI)", "p-value", "since", repeats, "advice")
    return Table(columns, rows, words=("node", "since", "advice"))


def _soon(fit: LogStatistics) -> str:
    risk = fit.node_statistics.risk if fit.node_statistics else None
    if risk is None:
        return ""
    were = "was" if risk.n_soon == 1 else "were"
    return (
        f"There {were} {failures(risk.n_soon)} within {risk.within_d:g} days of {_since(fit)}, against "
        f"{number(risk.n_expected)} expected from the rates of the same nodes (ratio {number(risk.ratio)}, "
        f"{coverage(risk.level)} CI {between(risk.low, risk.high)})."
    )


def _since(fit: LogStatistics) -> str:
    """The event that the days are counted from: without end times a node counts as back in service at once."""
    return "a repair" if np.isfinite(fit.log.hours("end")).any() else "a failure"


def _uneven(statistics: NodeStatistics) -> str:
    n_repeats, within = statistics.n_repeats, f"within {statistics.bad.within_d:g} days"
    variance = (
        f"The variance of failures per node is {times(statistics.as_logged.dispersion_index, 'that of')} independent "
        "failures at one rate"
    )
    if not n_repeats:
        return f"{variance}; no node failed twice {within}."
    index = number(statistics.apart.dispersion_index)
    return f"{variance} ({index} without the {counted(n_repeats, 'repeat')} {within})."


def _clustered(statistics: NodeStatistics) -> str:
    """The overdispersion that a node must exceed to stand out, where failures of a node cluster."""
    index = statistics.bad.index
    if index == 1:
        return ""
    return (
        "Failures of a node come in clusters, so a node stands out only if it also exceeds counts with "
        f"{times(index, 'the variance of')} independent ones."
    )


def _lasting(clean: LemonTest) -> str:
    """Evidence from the two halves of the log on whether bad nodes stay bad."""
    if clean.rank_correlation is None or clean.worst_share is None:
        return ""
    return (
        f"The worst {pct(clean.chance_share, 0)} of nodes in the first half of the log have "
        f"{pct(clean.worst_share, 0)} of the failures in the second half ({probability(clean.worst_p)})."
    )


def _role(role: RoleCheck | None) -> str:
    if role is None or role.p >= 0.05:
        return ""
    which = f"whose number is {role.value}" if role.kind == "number" else f"named {named(role.value)}"
    rate = (
        f"fail {times(role.ratio, 'as often as')} the others"
        if math.isfinite(role.ratio)
        else "are the only ones to fail"
    )
    return f"Nodes {which} {rate}: check their role. The comparison of single nodes allows for this."


def _silent(statistics: NodeStatistics) -> str:
    n = statistics.as_logged.n_unknown
    return f"{capital(failures(n))} without a node {'is' if n == 1 else 'are'} left out." if n else ""


def after_repair(fit: LogStatistics) -> Finding:
    """Return the finding on the failure rate soon after a repair."""
    risk = fit.node_statistics.risk if fit.node_statistics else None
    if risk is None:
        title = "The log has no failures after a repair"
        return Finding(title=title, text=f"{title}.")
    days = f"in the {risk.within_d:g} days after {_since(fit)}"
    if risk.n_soon == 0:
        title = f"No node failed {days}"
    elif risk.repairs_fail:
        title = f"Nodes fail {times(risk.ratio, 'as often as')} usual {days}"
    else:
        title = f"Nodes fail no more often than usual {days}"
    return Finding(title=title, text=f"{title}.")


def lives(fit: LogStatistics) -> Finding:
    """Return the finding on the time from a repair to the node's next failure, and its hazard."""
    nodes = fit.node_statistics
    lifetime, table = (nodes.lifetime, nodes.survival) if nodes else (None, None)
    if lifetime is None or table is None:
        return Finding(
            title="Too few failures after repairs",
            text="Too few nodes failed again after a repair to estimate the time from repair to next failure.",
        )
    half = table.loc[table["survival"] <= 0.5, "time_h"]
    last = table.iloc[-1]
    median = (
        f"The median time from repair to the node's next failure is {duration(half.iloc[0])}"
        if len(half)
        else f"{pct(last['survival'], 0)} of repaired nodes run longer than {duration(last['time_h'])}"
    )
    differ = nodes is not None and nodes.apart.overdispersed
    title, meaning = {
        "falling": (
            "The longer a node has run since its repair, the lower its failure rate",
            "the hazard falls with the time since the repair",
        ),
        "rising": (
            "The longer a node has run since its repair, the higher its failure rate",
            "the hazard rises with the time since the repair",
        ),
        "flat": (
            "The failure rate does not depend on the time since the repair",
            "the hazard does not significantly change with the time since the repair",
        ),
    }[lifetime.hazard]
    mixed = " (a mix of better and worse nodes has the same effect)" if lifetime.hazard == "falling" and differ else ""
    shape = f"{lifetime.shape:.2f} ({lifetime.low:.2f} to {lifetime.high:.2f})"
    return Finding(title=title, text=f"{median}. The Weibull shape is {shape}: {meaning}{mixed}.")
