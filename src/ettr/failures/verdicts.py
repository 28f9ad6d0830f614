"""What to conclude from a fit: an answer to each question, with the numbers that it rests on and its wording."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ettr.core.results import OF_EVERY_NODE
from ettr.core.sentences import Finding, duration, listed, number
from ettr.failures.gaps import GapFit
from ettr.failures.groups import CohortTest
from ettr.failures.log_statistics import LogStatistics, Verdict
from ettr.failures.log_words import between, counted, named, probability, shortened, times, too_few
from ettr.failures.trend import Trend
from ettr.failures.window import LEAST_EVENTS, SIGNIFICANT

_ALIKE = 0.01
"""Gaps whose spread is less than this share of their mean are no matter of chance."""


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
    fitted = [fit for fit in gaps if not fit.too_coarse and not fit.table.empty]
    evidence: dict[str, Any] = {
        f"within_{fit.within_min:g}_min": {
            "n_incidents": fit.n_incidents,
            "weibull_shape": fit.weibull_shape,
            "low": fit.weibull_low,
            "high": fit.weibull_high,
            "p": fit.memoryless_p,
        }
        for fit in fitted
    }
    if all(fit.n_incidents >= LEAST_EVENTS and fit.cv is not None and fit.cv < _ALIKE for fit in gaps):
        return Verdict("memoryless", "alike", {"mean_gap_h": gaps[0].mean_gap_h, "cv": gaps[0].cv})
    if not fitted or max(fit.n_incidents for fit in fitted) < LEAST_EVENTS:
        coarse = any(fit.too_coarse for fit in gaps) and min(fit.n_incidents for fit in gaps) >= LEAST_EVENTS
        return Verdict("memoryless", "too coarse" if coarse else "too few", evidence)
    rejected = _rejected(fitted)
    if not rejected:
        return Verdict("memoryless", "yes", evidence)
    sides = {(fit.weibull_shape or 0.0) < 1 for fit in rejected}
    if len(rejected) < len(fitted) or len(sides) > 1:
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


# --------------------------------------------------------------------------- in words


def shape(fit: LogStatistics) -> Finding:
    """Whether failures are memoryless, under each merge rule."""
    answer = fit.verdict("memoryless").answer
    if answer in ("alike", "too few", "too coarse"):
        return _no_shape(fit, answer)
    shapes = listed(
        [
            f"{one.weibull_shape:.2f} ({one.weibull_low:.2f} to {one.weibull_high:.2f}) {_rule(one.within_min)}"
            for one in fit.gaps
            if not one.too_coarse and not one.table.empty
        ]
    )
    title, meaning = _SHAPES["moving" if answer == "bunched" and rate_moves(fit) else answer]
    if answer == "yes" and (reasons := against_memoryless(fit)):
        title = "Gaps look memoryless, but failures are not"
        meaning = f"No rule rejects the exponential for the gaps of the whole cluster, but {listed(reasons)}."
    drawn = next(one for one in fit.gaps if one.draws)
    how = f" Goodness of fit is by parametric bootstrap: {drawn.draws} draws"
    most = f" of at most {counted(drawn.n_bootstrap_gaps, 'gap')}."
    return Finding(title=title, text=f"{meaning} The Weibull shape is {shapes}, where 1 is memoryless.{how}{most}")


def rate_moves(fit: LogStatistics) -> bool:
    """Whether the rate changes over the log, which alone makes gaps vary more than at one rate."""
    return fit.verdict("trend").answer in ("rising", "falling", "not monotone")


def against_memoryless(fit: LogStatistics) -> list[str]:
    """Why failures have a memory that the gaps between all of them do not show, in words; empty if nothing says so."""
    reasons = ["the rate itself moves"] if rate_moves(fit) else []
    if fit.verdict("nodes").answer in ("re-test", "both"):
        reasons.append("nodes fail again soon after a repair")
    return reasons


_SHAPES = {
    "moving": (
        "Gaps vary more than at one constant rate",
        "Under every rule gaps vary more than at one constant rate. The rate itself moves, which alone can do this: "
        "whether a failure brings on the next cannot be told from it.",
    ),
    "yes": (
        "Failures are memoryless",
        "No rule rejects the exponential: when the last failure was says nothing about the next.",
    ),
    "bunched": (
        "Failures come in bunches",
        "Under every rule gaps vary more than chance lets them: soon after a failure the next is more likely.",
    ),
    "regular": (
        "Failures come more evenly than chance",
        "Under every rule gaps vary less than chance lets them: look for something periodic.",
    ),
    "depends on the rule": (
        "Whether failures are memoryless depends on what counts as one incident",
        "The rules disagree on the exponential, so the shape is a matter of what counts as one incident.",
    ),
}


def _no_shape(fit: LogStatistics, answer: str) -> Finding:
    n, stamps = len(fit.start_h), np.unique(fit.start_h)
    if answer == "alike":
        return Finding(
            title="Failures come at equal distances",
            text=f"The times between failures hardly differ from {duration(float(np.diff(fit.start_h).mean()))}: look "
            f"for a timer, or for a report that is written on a schedule.",
        )
    if n >= LEAST_EVENTS and len(stamps) == 1:
        one = "All failures have one time stamp"
        return Finding(title=one, text=f"{one}, so there are no times between them.")
    if answer == "too coarse":
        step, each = duration(fit.log.resolution_h), duration(fit.log.window_h / n)
        return Finding(
            title="Time stamps are too coarse for a shape",
            text=f"Time stamps go in steps of {step}, and failures come every {each}: too coarse to tell a shape.",
        )
    text = "Too many of the times between failures are equal to tell how they are distributed."
    if n < LEAST_EVENTS:
        text = too_few("to tell how the times between them are distributed", n)
    return Finding(title="Too few failures for a shape", text=text)


def none_fits(fitted: GapFit) -> bool:
    """Whether each family is refused at 5%, by its own goodness of fit."""
    return not fitted.table.empty and bool((fitted.table["ks_p"] < SIGNIFICANT).all())


def distribution(name: str) -> str:
    """Name of a distribution."""
    return "Weibull" if name == "weibull" else name


def _rule(within_min: float) -> str:
    return f"with starts within {within_min:g} min merged" if within_min else "as logged"


def trend(fit: LogStatistics) -> Finding:
    """Whether the rate moves, with both tests and the rate over time."""
    verdict = fit.verdict("trend")
    if verdict.answer == "too few":
        text = "All failures came at one end of the window."
        if len(fit.start_h) < LEAST_EVENTS:
            text = too_few("to see a trend", len(fit.start_h))
        return Finding(title="Too few failures for a trend", text=text)
    title, meaning = {
        "rising": ("Failures become more", "Both tests see a rising rate."),
        "falling": ("Failures become fewer", "Both tests see a falling rate."),
        "steady": ("The rate has no trend", "Once bursts are allowed for, nothing speaks against a constant rate."),
        "not monotone": (
            "The rate goes up and down",
            "The rate is uneven without a lasting direction: look at it over time, a single verdict hides it.",
        ),
    }[verdict.answer]
    evidence, span = verdict.evidence, fit.trend.rates["rate"]
    low, high = number(span.min()), number(span.max())
    lies = f"lies between {low} and {high}" if low != high else f"is {low}"
    return Finding(
        title=title,
        text=(
            f"{meaning} Laplace's test: {probability(evidence['laplace_p'])}. Exponent of the power law of Crow and "
            f"AMSAA, 1 at a constant rate: {number(evidence['crow_amsaa_beta'])} "
            f"({probability(evidence['crow_amsaa_p'])}). Evenness over time: {probability(evidence['uneven_p'])}. "
            f"In {len(span)} equal stretches the rate {lies} per 1,000 node-days."
        ),
    )


def cohorts(fit: LogStatistics) -> Finding:
    """Whether cohorts need rates of their own."""
    verdict, test = fit.verdict("cohorts"), fit.cohort_test
    if verdict.answer == "not asked":
        return Finding(title="No cohorts were named", text="No column was named to split by.")
    if test is None:
        return _no_comparison(fit)
    highest, lowest = named(test.highest), named(test.lowest)
    if math.isfinite(test.ratio):
        ratio = f"{highest} fails {times(test.ratio, 'as often as')} {lowest} ({between(test.low, test.high)}; "
    elif test.low >= 1:
        ratio = f"{highest} fails at least {times(test.low, 'as often as')} {lowest}, which never failed ("
    else:
        ratio = f"{highest} failed and {lowest} never did ("
    if verdict.answer == "separate":
        return Finding(
            title=f"Failure rates differ by {shortened(fit.split)}",
            text=f"{ratio}{probability(test.p)}): one rate for all hides both. Fit and plan them separately.",
        )
    return Finding(title="Cohorts may share one rate", text=f"{ratio}{probability(test.p)}), which chance explains.")


def _no_comparison(fit: LogStatistics) -> Finding:
    title, name = "Cohorts cannot be compared", named(fit.split)
    if fit.verdict("cohorts").answer == "too few":
        return Finding(title=title, text=f"Nothing failed, so there is nothing to compare by {name}.")
    return Finding(
        title=title,
        text=f"How many nodes of each {name} were watched is not known, so their rates are not: give the number of "
        f"nodes of each value with the column.",
    )
