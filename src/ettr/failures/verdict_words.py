"""What the verdicts on a failure log say, with their evidence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ettr.core.sentences import Finding, duration, listed, number
from ettr.failures.gaps import GapFit
from ettr.failures.log_words import (
    between,
    counted,
    named,
    probability,
    shortened,
    times,
    too_few,
)
from ettr.failures.verdicts import LEAST_EVENTS, SIGNIFICANT

if TYPE_CHECKING:
    from ettr.failures.fitting import Fit


def shape(fit: Fit) -> Finding:
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


def rate_moves(fit: Fit) -> bool:
    """Whether the rate changes over the log, which alone makes gaps vary more than at one rate."""
    return fit.verdict("trend").answer in ("rising", "falling", "not monotone")


def against_memoryless(fit: Fit) -> list[str]:
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


def _no_shape(fit: Fit, answer: str) -> Finding:
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
        text = too_few(fit, "to tell how the times between them are distributed")
    return Finding(title="Too few failures for a shape", text=text)


def none_fits(fitted: GapFit) -> bool:
    """Whether each family is refused at 5%, by its own goodness of fit."""
    return not fitted.table.empty and bool((fitted.table["ks_p"] < SIGNIFICANT).all())


def distribution(name: str) -> str:
    """Name of a distribution."""
    return "Weibull" if name == "weibull" else name


def _rule(within_min: float) -> str:
    return f"with starts within {within_min:g} min merged" if within_min else "as logged"


def trend(fit: Fit) -> Finding:
    """Whether the rate moves, with both tests and the rate over time."""
    verdict = fit.verdict("trend")
    if verdict.answer == "too few":
        text = "All failures came at one end of the window."
        if len(fit.start_h) < LEAST_EVENTS:
            text = too_few(fit, "to see a trend")
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


def cohorts(fit: Fit) -> Finding:
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


def _no_comparison(fit: Fit) -> Finding:
    title, name = "Cohorts cannot be compared", named(fit.split)
    if fit.verdict("cohorts").answer == "too few":
        return Finding(title=title, text=f"Nothing failed, so there is nothing to compare by {name}.")
    return Finding(
        title=title,
        text=f"How many nodes of each {name} were watched is not known, so their rates are not: give the number of "
        f"nodes of each value with the column.",
    )
