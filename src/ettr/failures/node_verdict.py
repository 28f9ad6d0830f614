"""What to do about nodes that fail often, and what it rests on."""

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
from ettr.failures.log_words import between, counted, failures, named, probability, times, too_few
from ettr.failures.repeats import RepeatRisk
from ettr.failures.roles import RoleCheck
from ettr.failures.window import LEAST_EVENTS, SIGNIFICANT

_MOST_NAMED = 6
_TITLES = {
    "replace": "Replace the nodes that keep failing",
    "re-test": "Test nodes after repair, before replacing any",
    "both": "Replace the nodes that keep failing, and test after repair",
    "watch": "Watch the nodes that fail most",
    "look first": "Look at what bad nodes share before replacing any",
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
    """What to do about nodes that fail often.

    Answers
    -------
    ``replace``, ``re-test``, ``both`` or ``watch``: what is advised for the nodes that are beyond chance, each by
    itself (see `find_bad_nodes`); ``re-test`` also where failures follow repairs on all nodes. ``look first``: no node
    is beyond chance by itself, but bad nodes stay bad and nodes have no memory, or bad nodes share a role or a cohort.
    ``nothing``; ``too few``;
    ``no nodes`` where the log names none.
    """
    if lemons is None or bad is None:
        return Verdict("nodes", "no nodes" if n_events else "too few")
    advised = set(bad.table["advice"]) - {""}
    if lemons.n_events < LEAST_EVENTS and not advised:
        return Verdict("nodes", "too few", {"n_events": lemons.n_events})
    retest = "re-test" in advised or (risk is not None and risk.repairs_fail)
    # a node that remembers keeps failing for a while, so that halves of a log resemble each other without bad nodes
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
    """What to do with which nodes, then why."""
    answer, statistics = fit.verdict("nodes").answer, fit.nodes
    if statistics is None and len(fit.start_h):
        return Finding(title="The log names no nodes", text="The log names no nodes, so lemons cannot be told.")
    if statistics is None or answer == "too few":
        few = too_few("to tell lemons from chance", statistics.apart.n_events if statistics else 0)
        silent = f" {_silent(statistics)}" if statistics else ""
        return Finding(title="Too few failures to judge nodes", text=f"{few}{silent}".rstrip())
    sentences = [*_to_do(fit, statistics, answer), _soon(fit), _uneven(statistics), _clustered(statistics)]
    if answer in ("look first", "nothing"):
        sentences.append(_lasting(statistics.apart))
    sentences += [_role(statistics.role), _silent(statistics)]
    return Finding(title=_TITLES[answer], text=" ".join(sentence for sentence in sentences if sentence))


def _to_do(fit: LogStatistics, statistics: NodeStatistics, answer: str) -> list[str]:
    """Two lines for whoever acts: what to ask first, and what to do with which nodes."""
    bad, risk = statistics.bad, statistics.risk
    replace, retest, watch = (bad.advised(advice) for advice in ("replace", "re-test", "watch"))
    lines = [_present(fit, statistics)]
    if replace:
        lines.append(
            f"**Replace {_names(replace)}**: {_each(replace, 'it fails', 'each fails')} more than {REPLACE_LIFT:g} "
            "times as often as the others, failures soon after a repair left out."
        )
    if retest:
        lines.append(f"**Test {_names(retest)} again**: {_each(retest, 'it fails', 'they fail')} soon after repairs.")
    if risk is not None and risk.repairs_fail:
        lines.append("**Test nodes before they go back**: repairs do not hold.")
    if watch:
        lines.append(f"**Watch {_names(watch)}**: more failures than chance, not yet enough to replace.")
    if answer == "look first":
        lines.append(
            "**Look at what bad nodes share**, hardware, place, use or time in service: no node is beyond chance by "
            "itself, but as a group some keep failing more than others."
        )
    if answer == "nothing":
        hold = ", and repairs hold" if risk is not None else ""
        lines.append(f"**Nothing to do**: no node fails more than chance explains{hold}.")
    return lines


def _present(fit: LogStatistics, statistics: NodeStatistics) -> str:
    """Nodes whose failures all lie in one part of the window may not have been there in the other."""
    table = statistics.bad.table
    odd = table[(table["advice"] != "") & (table["remark"] != "")].head(_MOST_NAMED)
    if odd.empty:
        return ""
    nodes = [
        f"{named(row.node)} (all {count(row.n_failures)} since {_day(fit, row.first_h)})"
        if row.remark == "late"
        else f"{named(row.node)} (none of its {count(row.n_failures)} after {_day(fit, row.last_h)})"
        for row in odd.itertuples()
    ]
    return f"First ask whether {listed(nodes)} {_each(nodes, 'was', 'were')} there all the time: new, moved or renamed?"


def _each(nodes: list[Any], one: str, more: str) -> str:
    return one if len(nodes) == 1 else more


def _names(nodes: list[Any]) -> str:
    more = len(nodes) - _MOST_NAMED
    return listed([*(named(node) for node in nodes[:_MOST_NAMED]), *([f"{count(more)} more"] if more > 0 else [])])


def _day(fit: LogStatistics, at_h: float) -> str:
    if fit.log.calendar:
        return f"{fit.log.window[0] + pd.Timedelta(hours=at_h):%Y-%m-%d}"
    return f"day {number(round(at_h / 24, 1))}"


def node_table(fit: LogStatistics) -> Table | None:
    """The nodes with the most failures: how many, against how many, since when, and what came after repairs."""
    if fit.nodes is None:
        return None
    bad = fit.nodes.bad
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
    again = f"again in {bad.within_d:g} d"
    columns = ("node", "failures", "expected", "times as many", "by chance", "since", again, "do")
    return Table(columns, rows, words=("node", "since", "do"))


def _soon(fit: LogStatistics) -> str:
    risk = fit.nodes.risk if fit.nodes else None
    if risk is None:
        return ""
    return (
        f"In the {risk.within_d:g} days after {_since(fit)} there are {failures(risk.n_soon)}, "
        f"{times(risk.ratio, 'as many as')} the same nodes have at other times ({between(risk.low, risk.high)})."
    )


def _since(fit: LogStatistics) -> str:
    """What the days are counted from: where no end is known, a node counts as back at once."""
    return "a repair" if np.isfinite(fit.log.hours("end")).any() else "a failure"


def _uneven(statistics: NodeStatistics) -> str:
    raw, clean, n = statistics.as_logged, statistics.apart, statistics.n_repeats
    chance = f"Failures per node vary {times(raw.dispersion_index, 'as much as')} chance lets them"
    if not n:
        return f"{chance}; none follows another of its node within {statistics.bad.within_d:g} days."
    without = f"{counted(n, 'repeat')} within {statistics.bad.within_d:g} days"
    return f"{chance}, and {times(clean.dispersion_index, 'as much')} without {without}."


def _clustered(statistics: NodeStatistics) -> str:
    """Memory that single nodes are judged with, where there is any."""
    index = statistics.bad.index
    if index == 1:
        return ""
    return (
        "Failures of one node come in clusters, so nodes are called bad only beyond counts that vary "
        f"{times(index, 'as much as')} independent ones."
    )


def _lasting(clean: LemonTest) -> str:
    """Whether bad nodes stay bad, from the halves of the log."""
    if clean.rank_correlation is None or clean.worst_share is None:
        return ""
    return (
        f"The worst {pct(clean.chance_share, 0)} of nodes of the first half have {pct(clean.worst_share, 0)} of the "
        f"failures of the second ({probability(clean.worst_p)})."
    )


def _role(role: RoleCheck | None) -> str:
    if role is None or role.p >= 0.05:
        return ""
    where = f"whose number is {role.value}" if role.kind == "number" else f"named {named(role.value)}"
    often = f"fail {times(role.ratio, 'as often as')} others" if math.isfinite(role.ratio) else "alone fail"
    return f"Nodes {where} {often}: look at what they are used for. Single nodes are judged with that allowed for."


def _silent(statistics: NodeStatistics) -> str:
    n = statistics.as_logged.n_unknown
    return f"{capital(failures(n))} without a node are left out." if n else ""


def after_repair(fit: LogStatistics) -> Finding:
    """How the failure rate depends on the time since a repair."""
    risk = fit.nodes.risk if fit.nodes else None
    if risk is None:
        unknown = "Nothing is known of the time after repairs"
        return Finding(title=unknown, text=f"{unknown}.")
    days = f"in the {risk.within_d:g} days after {_since(fit)}"
    if risk.n_soon == 0:
        often = f"No node failed {days}"
    elif risk.repairs_fail:
        often = f"{capital(days)} nodes fail {times(risk.ratio, 'as often as')} the same nodes do by themselves"
    else:
        often = f"{capital(days)} nodes fail no more often than the same nodes do by themselves"
    return Finding(title=often, text=f"{often}.")


def lives(fit: LogStatistics) -> Finding:
    """How long a repair holds, and whether the hazard falls or rises with the time since it."""
    lifetime, table = (fit.nodes.lifetime, fit.nodes.survival) if fit.nodes else (None, None)
    if lifetime is None or table is None:
        return Finding(
            title="How long repairs hold is not known",
            text="Too few nodes failed again after a repair to say how long repairs hold.",
        )
    half = table.loc[table["survival"] <= 0.5, "time_h"]
    last = table.iloc[-1]
    median = (
        f"Half of the repairs hold for less than {duration(half.iloc[0])}"
        if len(half)
        else f"{pct(last['survival'], 0)} of the repairs hold longer than {duration(last['time_h'])}"
    )
    differ = fit.nodes is not None and fit.nodes.apart.overdispersed
    title, meaning = {
        "falling": (
            "The longer a repair has held, the longer it will",
            "the hazard falls with the time since the repair",
        ),
        "rising": (
            "The longer a repair has held, the sooner it fails",
            "the hazard rises with the time since the repair",
        ),
        "flat": ("Repairs fail at any age alike", "the hazard does not visibly change with the time since the repair"),
    }[lifetime.hazard]
    mixed = ", which a mix of better and worse nodes does too" if lifetime.hazard == "falling" and differ else ""
    shape = f"{lifetime.shape:.2f} ({lifetime.low:.2f} to {lifetime.high:.2f})"
    return Finding(title=title, text=f"{median}. With a Weibull shape of {shape}, {meaning}{mixed}.")
