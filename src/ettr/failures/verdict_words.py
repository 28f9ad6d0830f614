"""What the verdicts on a failure log say, with their evidence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ettr.core.errors import InputError
from ettr.core.sentences import Finding, capital, count, duration, listed, number, pct
from ettr.failures.gaps import MIN_GAPS
from ettr.failures.log_words import (
    between,
    counted,
    failures,
    named,
    probability,
    shortened,
    times,
    too_few,
)
from ettr.failures.verdicts import LEAST_EVENTS

if TYPE_CHECKING:
    from ettr.failures.fitting import Fit, NodeStatistics
    from ettr.failures.lemons import Lemons
    from ettr.failures.roles import RoleCheck


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
    drawn = next(one for one in fit.gaps if one.draws)
    how = f" Goodness of fit is by parametric bootstrap: {drawn.draws} draws"
    most = f" of at most {counted(drawn.n_bootstrap_gaps, 'gap')}."
    return Finding(title=title, text=f"{meaning} The Weibull shape is {shapes}, where 1 is memoryless.{how}{most}")


def rate_moves(fit: Fit) -> bool:
    """Whether the rate changes over the log, which alone makes gaps vary more than at one rate."""
    return fit.verdict("trend").answer in ("rising", "falling", "not monotone")


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


def gaps(fit: Fit, within_min: float = 10.0) -> Finding:
    """Which distribution fits best under one merge rule."""
    by_rule = {one.within_min: one for one in fit.gaps}
    if within_min not in by_rule:
        raise InputError(
            f"within_min must be one of {', '.join(f'{rule:g}' for rule in by_rule)} min, got {within_min}"
        )
    fitted, dots = by_rule[within_min], f"Dots: the times between failures, {_rule(within_min)}."
    if fitted.too_coarse:
        return Finding(title="Time stamps are too coarse for a distribution", text=dots)
    if fitted.table.empty:
        few = f"Fewer than {MIN_GAPS} different times between failures are left, {_rule(within_min)}"
        return Finding(title="Too few gaps to fit a distribution", text=f"{few}: too few to fit a distribution.")
    ranked = fitted.table.sort_values("aic")
    best, second = (distribution(name) for name in ranked["distribution"].head(2))
    lead = float(ranked["delta_aic"].iloc[1])
    title = f"The {best} distribution fits best"
    if lead < 2:
        title = f"The {best} and the {second} distribution fit about equally well"
    return Finding(title=title, text=f"{dots} The {second} distribution is {number(lead)} behind in AIC.")


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
            f"In {len(span)} equal stretches the rate {lies} per 1000 node-days."
        ),
    )


def nodes(fit: Fit) -> Finding:
    """What to do about nodes: replace, test after repair, or nothing."""
    answer, statistics = fit.verdict("nodes").answer, fit.nodes
    if statistics is None and len(fit.start_h):
        return Finding(title="The log names no nodes", text="The log names no nodes, so lemons cannot be told.")
    if statistics is None or answer == "too few":
        named_ones = (
            ""
            if statistics is None or not statistics.deduplicated.n_unknown
            else (f" {capital(failures(statistics.deduplicated.n_unknown))} without a node cannot be judged.")
        )
        few = too_few(fit, "to tell lemons from chance", n=statistics.deduplicated.n_events if statistics else None)
        return Finding(title="Too few failures to judge nodes", text=f"{few}{named_ones}")
    title, advice = _NODES[answer]
    sentences = [advice, _uneven(statistics), _lasting(statistics.deduplicated), _soon(fit)]
    if answer in ("replace", "both", "look first"):
        sentences.append(_worst(statistics.deduplicated))
    sentences.append(_role(statistics.role))
    if answer != "nothing":
        sentences.append(
            "All this takes every node as watched for the whole window: nodes that came, went or were swapped "
            "look like lemons or bad repairs."
        )
    if statistics.deduplicated.n_unknown:
        sentences.append(f"{capital(failures(statistics.deduplicated.n_unknown))} without a node are left out.")
    return Finding(title=title, text=" ".join(sentence for sentence in sentences if sentence))


_NODES = {
    "replace": ("Replace the worst nodes", "The nodes that failed most keep failing: replace them."),
    "re-test": (
        "Test nodes after repair, before replacing any",
        "Nodes fail again soon after a repair, and no bad node is shown to stay bad: test nodes before they go back, "
        "and replace none for its count.",
    ),
    "look first": (
        "Look at what bad nodes share before replacing any",
        "Some nodes fail more than others and keep doing so, but as a group: look at what they share (hardware, place, "
        "use, time in service) before replacing any.",
    ),
    "both": (
        "Replace the worst nodes, and test after repair",
        "Some nodes keep failing and should be replaced; others fail again soon after a repair and should be "
        "tested before they go back.",
    ),
    "nothing": (
        "No node stands out in a way that lasts",
        "This log supports neither replacing nodes nor testing more after repair.",
    ),
}


def _uneven(statistics: NodeStatistics) -> str:
    raw, clean, n = statistics.as_logged, statistics.deduplicated, statistics.n_repeats
    chance = f"Failures per node vary {times(raw.dispersion_index, 'as much as')} chance lets them"
    if not n:
        return f"{chance}; no failure repeats within a day."
    return f"{chance}, and {times(clean.dispersion_index, 'as much')} without {counted(n, 'repeat')} within a day."


def _lasting(clean: Lemons) -> str:
    """Whether bad nodes stay bad, from the halves of the log."""
    if clean.rank_correlation is None or clean.worst_share is None:
        return ""
    correlation = f"{round(clean.rank_correlation, 2) + 0.0:.2f}"  # no -0.00
    return (
        f"Between the halves of the log the nodes' ranks correlate by {correlation} ({probability(clean.rank_p)}), "
        f"and the worst {pct(clean.chance_share, 0)} of nodes of the first half have {pct(clean.worst_share, 0)} of "
        f"the failures of the second ({probability(clean.worst_p)})."
    )


def _since(fit: Fit) -> str:
    """What the days are counted from: where no end is known, a node counts as back at once."""
    return "a repair" if np.isfinite(fit.log.hours("end")).any() else "a failure"


def _soon(fit: Fit) -> str:
    risk = fit.nodes.risk if fit.nodes else None
    if risk is None or not math.isfinite(risk.ratio):
        return ""
    return (
        f"In the {risk.within_d:g} days after {_since(fit)} there are {failures(risk.n_soon)}, where "
        f"{number(risk.n_expected)} would come from the same nodes' own rates "
        f"({probability(risk.p_same_nodes)}); against all other times the rate is {times(risk.ratio, 'as high')}."
    )


def _worst(clean: Lemons) -> str:
    worst = clean.worst[clean.worst["p_adjusted"] < 0.05]
    if worst.empty:
        most = [f"{named(row.node)} ({count(row.n_events)})" for row in clean.worst.head(3).itertuples()]
        return f"No node is beyond chance by itself; the most failures are of {listed(most)}."
    more = clean.n_significant - len(worst)
    names = [named(name) for name in worst["node"]] + ([f"{count(more)} more"] if more > 0 else [])
    return f"Beyond chance by {'itself' if len(names) == 1 else 'themselves'}: {listed(names)}."


def _role(role: RoleCheck | None) -> str:
    if role is None or role.p >= 0.05:
        return ""
    where = f"whose number is {role.value}" if role.kind == "number" else f"named {named(role.value)}"
    often = f"fail {times(role.ratio, 'as often as')} others" if math.isfinite(role.ratio) else "alone fail"
    return f"Nodes {where} {often}: look at what they are used for."


def after_repair(fit: Fit) -> Finding:
    """How the failure rate depends on the time since a repair."""
    risk = fit.nodes.risk if fit.nodes else None
    if risk is None or not math.isfinite(risk.ratio):
        unknown = "Nothing is known of the time after repairs"
        return Finding(title=unknown, text=f"{unknown}.")
    days = f"in the {risk.within_d:g} days after {_since(fit)}"
    if risk.n_soon == 0:
        often = f"No node failed {days}"
    elif risk.repairs_fail:
        often = (
            f"{capital(days)} nodes fail {times(risk.n_soon / risk.n_expected, 'as often as')} they do by themselves"
        )
    else:
        often = f"{capital(days)} nodes fail no more often than they do by themselves"
    return Finding(title=often, text=f"{often}.")


def lives(fit: Fit) -> Finding:
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
    differ = fit.nodes is not None and fit.nodes.deduplicated.overdispersed
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
