"""What to conclude from a fit: an answer to each question, with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ettr.core.results import OF_EVERY_NODE
from ettr.failures.bad_nodes import BadNodes
from ettr.failures.gaps import GapFit
from ettr.failures.groups import CohortTest
from ettr.failures.lemons import Lemons
from ettr.failures.repeats import RepeatRisk
from ettr.failures.roles import RoleCheck
from ettr.failures.trend import Trend

Question = Literal["memoryless", "trend", "nodes", "cohorts"]

SIGNIFICANT = 0.05
"""A chance smaller than this is taken as a finding."""

LEAST_EVENTS = 20
"""Fewer failures than this carry no verdict on shape, trend or nodes."""

_ALIKE = 0.01
"""Gaps whose spread is less than this share of their mean are no matter of chance."""


@dataclass(frozen=True)
class Verdict:
    """An answer with its evidence.

    Attributes
    ----------
    question : str
        ``memoryless``, ``trend``, ``nodes`` or ``cohorts``.
    answer : str
        One of the answers of the function that gives it.
    evidence : dict
        The numbers that decided, by name.
    """

    question: Question
    answer: str
    evidence: dict[str, Any] = field(default_factory=dict)


def memoryless(gaps: Sequence[GapFit]) -> Verdict:
    """Whether the next failure depends on the last.

    Answers
    -------
    ``yes``: no merge rule rejects the exponential. ``bunched``: all reject it, for gaps that vary more. ``regular``:
    all reject it, for gaps that vary less. ``depends on the rule``: some do. ``alike``: the gaps hardly differ, so
    that no chance is in them. ``too few`` and ``too coarse``: cannot be said.

    The rules are tests of one log, so they are judged together by the step-up rule of Hochberg (1988): if the k-th
    largest p-value is below 5%/k, its rule and those with smaller ones reject. It keeps the chance of any false
    rejection at 5%, as the tests agree with each other more than independent ones, and takes nothing from logs that
    all rules reject at 5%.
    """
    able = [fit for fit in gaps if not fit.too_coarse and not fit.table.empty]
    evidence: dict[str, Any] = {
        f"within_{fit.within_min:g}_min": {
            "n_incidents": fit.n_incidents,
            "weibull_shape": fit.weibull_shape,
            "low": fit.weibull_low,
            "high": fit.weibull_high,
            "p": fit.memoryless_p,
        }
        for fit in able
    }
    if all(fit.n_incidents >= LEAST_EVENTS and fit.cv is not None and fit.cv < _ALIKE for fit in gaps):
        return Verdict("memoryless", "alike", {"mean_gap_h": gaps[0].mean_gap_h, "cv": gaps[0].cv})
    if not able or max(fit.n_incidents for fit in able) < LEAST_EVENTS:
        coarse = any(fit.too_coarse for fit in gaps) and min(fit.n_incidents for fit in gaps) >= LEAST_EVENTS
        return Verdict("memoryless", "too coarse" if coarse else "too few", evidence)
    rejected = _rejected(able)
    if not rejected:
        return Verdict("memoryless", "yes", evidence)
    sides = {(fit.weibull_shape or 0.0) < 1 for fit in rejected}
    if len(rejected) < len(able) or len(sides) > 1:
        return Verdict("memoryless", "depends on the rule", evidence)
    return Verdict("memoryless", "bunched" if sides.pop() else "regular", evidence)


def _rejected(fits: Sequence[GapFit]) -> list[GapFit]:
    """The fits whose exponential is rejected, at 5% over all of them (Hochberg 1988)."""
    by_p = sorted(fits, key=lambda fit: fit.memoryless_p or 0.0)
    for n_larger in range(len(by_p)):
        if (by_p[-1 - n_larger].memoryless_p or 0.0) < SIGNIFICANT / (n_larger + 1):
            return by_p[: len(by_p) - n_larger]
    return []


def trending(trend: Trend, n_events: int) -> Verdict:
    """Whether failures become more or fewer: ``rising``, ``falling``, ``steady``, ``not monotone`` or ``too few``."""
    if trend.laplace is None or trend.crow_amsaa is None or n_events < LEAST_EVENTS:
        return Verdict("trend", "too few")
    evidence = {
        "laplace_z": trend.laplace.z,
        "laplace_p": trend.laplace.p,
        "crow_amsaa_beta": trend.crow_amsaa.beta,
        "crow_amsaa_p": trend.crow_amsaa.p,
        "uneven_p": trend.uneven_p,
    }
    return Verdict("trend", trend.direction, evidence)


def replace_or_retest(
    lemons: Lemons | None,
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


def separate(test: CohortTest | None, split: str | None, known: bool) -> Verdict:
    """Whether cohorts need rates of their own.

    Answers
    -------
    ``separate`` or ``pool``; ``exposure unknown`` where the nodes of fewer than two cohorts are known; ``too few``
    without failures; ``not asked``, also for parts that every node has.
    """
    if split is None or split in OF_EVERY_NODE:
        return Verdict("cohorts", "not asked")
    if test is None:
        return Verdict("cohorts", "too few" if known else "exposure unknown", {"column": split})
    evidence = {
        "column": split,
        "highest": test.highest,
        "lowest": test.lowest,
        "ratio": test.ratio,
        "low": test.low,
        "high": test.high,
        "p": test.p,
    }
    return Verdict("cohorts", "separate" if test.p < SIGNIFICANT else "pool", evidence)
