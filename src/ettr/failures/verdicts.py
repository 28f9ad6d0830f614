"""Verdicts on a fitted log: an answer to each question, with the numbers behind it and its wording."""

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
from ettr.failures.window import MIN_VERDICT_EVENTS, SIGNIFICANT

_ALIKE = 0.01
"""Coefficient of variation below which gaps are equal rather than random."""


def memoryless(gaps: Sequence[GapFit]) -> Verdict:
    """Return the verdict on whether times between failures are exponential, that is, whether failures are memoryless.

    Answers
    -------
    ``yes``: no merge rule rejects the exponential. ``bunched``: all reject it because gaps vary more. ``regular``: all
    reject it because gaps vary less. ``depends on the rule``: only some rules reject it. ``alike``: the gaps are
    practically equal, so they are not random. ``too few`` failures or ``too coarse`` time stamps: no verdict.

    The merge rules are tests on one log, so they are judged together by the step-up procedure of Hochberg (1988): if
    the k-th largest p-value is below 5%/k, its rule and all with smaller p-values reject. This keeps the probability
    of any false rejection at 5%, because the tests are positively correlated, and a log that every rule rejects at 5%
    stays rejected.
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
    if all(fit.n_incidents >= MIN_VERDICT_EVENTS and fit.cv is not None and fit.cv < _ALIKE for fit in gaps):
        return Verdict("memoryless", "alike", {"mean_gap_h": gaps[0].mean_gap_h, "cv": gaps[0].cv})
    if not fitted or max(fit.n_incidents for fit in fitted) < MIN_VERDICT_EVENTS:
        coarse = any(fit.too_coarse for fit in gaps) and min(fit.n_incidents for fit in gaps) >= MIN_VERDICT_EVENTS
        return Verdict("memoryless", "too coarse" if coarse else "too few", evidence)
    rejected = _rejected(fitted)
    if not rejected:
        return Verdict("memoryless", "yes", evidence)
    sides = {(fit.weibull_shape or 0.0) < 1 for fit in rejected}
    if len(rejected) < len(fitted) or len(sides) > 1:
        return Verdict("memoryless", "depends on the rule", evidence)
    return Verdict("memoryless", "bunched" if sides.pop() else "regular", evidence)


def _rejected(fits: Sequence[GapFit]) -> list[GapFit]:
    """Return the fits that reject the exponential at a family-wise 5%: the step-up procedure of Hochberg (1988)."""
    by_p = sorted(fits, key=lambda fit: fit.memoryless_p or 0.0)
    for n_larger in range(len(by_p)):
        # the largest p-value is compared with 5%, the second largest with 5%/2, and so on
        if (by_p[-1 - n_larger].memoryless_p or 0.0) < SIGNIFICANT / (n_larger + 1):
            return by_p[: len(by_p) - n_larger]
    return []


def trending(trend: Trend, n_events: int) -> Verdict:
    """Return the verdict on the trend: ``rising``, ``falling``, ``steady``, ``not monotone`` or ``too few``."""
    if trend.laplace is None or trend.crow_amsaa is None or n_events < MIN_VERDICT_EVENTS:
        return Verdict("trend", "too few")
    evidence = {
        "laplace_z": trend.laplace.z,
        "laplace_p": trend.laplace.p,
        "crow_amsaa_beta": trend.crow_amsaa.beta,
        "crow_amsaa_p": trend.crow_amsaa.p,
        "uneven_p": trend.uneven_p,
    }
    return Verdict("trend", trend.direction, evidence)


def separate(test: CohortTest | None, split: str | None, has_exposure: bool) -> Verdict:
    """Return the verdict on whether cohorts fail at different rates.

    Answers
    -------
    ``separate`` or ``pool``; ``exposure unknown`` if the number of nodes is known for fewer than two cohorts; ``too
    few`` without failures; ``not asked`` without a column to split by, or if every node has the parts in it.
    """
    if split is None or split in OF_EVERY_NODE:
        return Verdict("cohorts", "not asked")
    if test is None:
        return Verdict("cohorts", "too few" if has_exposure else "exposure unknown", {"column": split})
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
    """Return the finding on whether failures are memoryless, under each merge rule."""
    answer = fit.verdict("memoryless").answer
    if answer in ("alike", "too few", "too coarse"):
        return _no_shape(fit, answer)
    shapes = listed(
        [
            f"{gap_fit.weibull_shape:.2f} ({gap_fit.weibull_low:.2f} to {gap_fit.weibull_high:.2f}) "
            f"{_rule(gap_fit.within_min)}"
            for gap_fit in fit.gaps
            if not gap_fit.too_coarse and not gap_fit.table.empty
        ]
    )
    title, meaning = _SHAPES["moving" if answer == "bunched" and rate_moves(fit) else answer]
    if answer == "yes" and (reasons := against_memoryless(fit)):
        title = "Times between failures look exponential, but failures are not memoryless"
        meaning = (
            f"No merge rule rejects an exponential distribution for the times between failures of the whole cluster, "
            f"but {listed(reasons)}."
        )
    bootstrapped = next(gap_fit for gap_fit in fit.gaps if gap_fit.draws)
    bootstrap = (
        f"Goodness of fit comes from a parametric bootstrap ({bootstrapped.draws} draws of at most "
        f"{counted(bootstrapped.n_bootstrap_gaps, 'gap')})."
    )
    return Finding(title=title, text=f"{meaning} The Weibull shape is {shapes}; memoryless means 1. {bootstrap}")


def rate_moves(fit: LogStatistics) -> bool:
    """Return whether the rate changes over the log, which by itself makes gaps vary more than at a constant rate."""
    return fit.verdict("trend").answer in ("rising", "falling", "not monotone")


def against_memoryless(fit: LogStatistics) -> list[str]:
    """Return the reasons, if any, why failures have a memory that the times between them do not show."""
    reasons = ["the failure rate changes over the log"] if rate_moves(fit) else []
    if fit.verdict("nodes").answer in ("re-test", "both"):
        reasons.append("failures cluster after repairs")
    return reasons


_SHAPES = {
    "moving": (
        "Times between failures vary more than at a constant rate",
        "Under every merge rule, times between failures vary more than at a constant rate. The rate itself changes "
        "over the log, which is enough to explain this, so the log does not show whether one failure causes the next.",
    ),
    "yes": (
        "Failures look memoryless",
        "No merge rule rejects an exponential distribution: the time since the last failure does not change the "
        "probability of the next.",
    ),
    "bunched": (
        "Failures come in bursts",
        "Under every merge rule, times between failures vary more than exponential ones: the next failure is more "
        "likely soon after the last.",
    ),
    "regular": (
        "Failures are more regular than random ones",
        "Under every merge rule, times between failures vary less than exponential ones: look for a periodic cause.",
    ),
    "depends on the rule": (
        "Whether failures look memoryless depends on which ones are merged into one incident",
        "Some merge rules reject an exponential distribution and others do not.",
    ),
}


def _no_shape(fit: LogStatistics, answer: str) -> Finding:
    n, stamps = len(fit.start_h), np.unique(fit.start_h)
    if answer == "alike":
        return Finding(
            title="Failures come at equal intervals",
            text=f"The times between failures are all close to {duration(float(np.diff(fit.start_h).mean()))}: look "
            f"for a timer, or for a report that is written on a schedule.",
        )
    if n >= MIN_VERDICT_EVENTS and len(stamps) == 1:
        title = "All failures have the same time stamp"
        return Finding(title=title, text=f"{title}, so there are no times between failures.")
    if answer == "too coarse":
        step, mtbf = duration(fit.log.resolution_h), duration(fit.log.window_h / n)
        return Finding(
            title="Time stamps are too coarse to fit a distribution",
            text=f"The time stamps have a resolution of {step}, too coarse for a distribution with a mean of {mtbf}.",
        )
    text = "Too many of the times between failures are equal to fit a distribution."
    if n < MIN_VERDICT_EVENTS:
        text = too_few("A verdict on the distribution of times between failures", n)
    return Finding(title="Too few failures to fit a distribution", text=text)


def none_fits(fitted: GapFit) -> bool:
    """Return whether the goodness-of-fit test rejects every distribution at 5%."""
    return not fitted.table.empty and bool((fitted.table["ks_p"] < SIGNIFICANT).all())


def distribution(name: str) -> str:
    """Return the name of a distribution as it is written in a sentence."""
    return "Weibull" if name == "weibull" else name


def _rule(within_min: float) -> str:
    return f"after merging failures within {within_min:g} min" if within_min else "as logged"


def trend(fit: LogStatistics) -> Finding:
    """Return the finding on the trend: both tests, and the rate over time."""
    verdict = fit.verdict("trend")
    if verdict.answer == "too few":
        text = "All failures lie at one end of the window."
        if len(fit.start_h) < MIN_VERDICT_EVENTS:
            text = too_few("A verdict on the trend", len(fit.start_h))
        return Finding(title="Too few failures for a trend", text=text)
    title, meaning = {
        "rising": ("The failure rate is rising", "Both trend tests find a rising rate."),
        "falling": ("The failure rate is falling", "Both trend tests find a falling rate."),
        "steady": (
            "The failure rate has no trend",
            "After allowing for bursts, the failures are consistent with a constant rate.",
        ),
        "not monotone": (
            "The failure rate goes up and down",
            "The rate changes without a lasting direction: look at the rate over time.",
        ),
    }[verdict.answer]
    evidence, rates = verdict.evidence, fit.trend.rates["rate"]
    low, high = number(rates.min()), number(rates.max())
    span = f"varies between {low} and {high}" if low != high else f"is {low}"
    return Finding(
        title=title,
        text=(
            f"{meaning} Laplace test: {probability(evidence['laplace_p'])}. Crow-AMSAA exponent (1 at a constant "
            f"rate): {number(evidence['crow_amsaa_beta'])}, {probability(evidence['crow_amsaa_p'])}. Chi-square test "
            f"of a constant rate: {probability(evidence['uneven_p'])}. Over {len(rates)} equal periods the rate {span} "
            f"per 1,000 node-days."
        ),
    )


def cohorts(fit: LogStatistics) -> Finding:
    """Return the finding on whether cohorts fail at different rates."""
    verdict, test = fit.verdict("cohorts"), fit.cohort_test
    if verdict.answer == "not asked":
        return Finding(title="No cohorts to compare", text="No column to split by was given.")
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
            text=f"{ratio}{probability(test.p)}): fit and plan the cohorts separately.",
        )
    return Finding(
        title="Cohorts may share one failure rate", text=f"{ratio}{probability(test.p)}): no significant difference."
    )


def _no_comparison(fit: LogStatistics) -> Finding:
    title, name = "Cohorts cannot be compared", named(fit.split)
    if fit.verdict("cohorts").answer == "too few":
        return Finding(title=title, text=f"Nothing failed, so there is nothing to compare by {name}.")
    return Finding(
        title=title,
        text=f"The number of nodes of each {name} is not known, so neither are their failure rates: give the number of "
        f"nodes of each value along with the column.",
    )
