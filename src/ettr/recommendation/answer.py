"""The recommended set of mitigations with its alternatives, and its report."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ettr.budget.simplify import mechanisms
from ettr.core.report import Answer, Note, Report, Table, plain_values
from ettr.core.sentences import about, count, duration, joined_range, listed, number, pct, roughly, usd
from ettr.core.units import H_PER_MONTH, MIN_PER_H
from ettr.mitigation import Catalogue
from ettr.recommendation.ranges import savings
from ettr.scenario import Scenario

EACH_SAVING = "Each row's saving assumes that the other rows are in place, so the savings do not add up."
_MOST_NAMED = 3


@dataclass(frozen=True)
class Alternative:
    """A mitigation that could replace steps of the set: cheaper, or with better evidence for its effect.

    Attributes
    ----------
    id, title, effect : str
        As in :class:`RecommendedStep`.
    replaces : tuple of str
        Ids of the steps that it would replace.
    saved_h, of_h : float
        Saving per month of the alternative and of the steps that it replaces, each with all other steps in place. [h]
    price_usd : float
        One-off price. [USD]
    is_cheaper : bool
        Whether its price is below that of the steps.
    """

    id: str
    title: str
    effect: str
    replaces: tuple[str, ...]
    saved_h: float
    of_h: float
    price_usd: float
    is_cheaper: bool


@dataclass(frozen=True)
class RecommendedStep:
    """One mitigation of the recommended set.

    Attributes
    ----------
    id, title : str
        Id and name of the mitigation.
    saved_h, saved_usd : float
        Marginal saving per month of the same work, relative to the set without this step. [h], [USD]
    total_h, total_usd : float
        Cumulative saving per month: this step and those listed above it. [h], [USD]
    alone_h : float
        Saving per month without any other step. [h]
    ettr, interval_min : float
        ETTR with this step and those above it, at the best interval, and that interval; None with faster tiers. [min]
    price_usd : float
        One-off price. [USD]
    payback_months : float
        Time until the marginal saving has paid back the price. [month]
    needed_share : float
        Break-even: the share of the marginal saving that pays back the price exactly within the horizon.
    effect : {"published", "published in part", "assumed"}
        Evidence for the size of the effect.
    """

    id: str
    title: str
    saved_h: float
    saved_usd: float
    total_h: float
    total_usd: float
    alone_h: float
    ettr: float
    interval_min: float | None
    price_usd: float
    payback_months: float
    needed_share: float
    effect: str


class JobsOfASize(NamedTuple):
    """The jobs of one size on a cluster: their run, their share of the GPU-hours, and the mitigations that apply."""

    scenario: Scenario
    share: float
    applicable: frozenset[str] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation(Answer):
    """The mitigations to choose together.

    Attributes
    ----------
    scenario : Scenario
        The run.
    ettr : float
        ETTR without any of them, at the best interval.
    steps : tuple of RecommendedStep
        The set, ordered by the saving of each on top of those above it.
    alternatives : tuple of Alternative
        Profitable replacements of steps: the best cheaper one, and the best one with better evidence.
    months : float
        Horizon: the length of the run, ``cost.payback_months``, or :data:`MONTHS` for a job without an end. [month]
    budget_usd : float
        Upper limit of the total price; infinite without one. [USD]
    unlisted : dict
        The reason why each other mitigation covered by the analytical model is not in the set, by id.
    simulated : tuple of str
        Mitigations that only the simulator covers.
    undescribed : tuple of str
        Mitigations that act on something the scenario does not describe.
    quickest : tuple of (str, float) or None
        The mitigation that would pay back soonest alone, with that time [month]; None where none saves anything.
    cheapest : tuple of (str, float) or None
        The mitigation with the lowest price, with that price. [USD]
    catalogue : Catalogue
        The catalogue of all mitigations.
    jobs : tuple of JobsOfASize
        The jobs of a cluster, or the run alone.

    Examples
    --------
    >>> from ettr import plan
    >>> recommendation = plan.make("llama3-405b").recommendation
    >>> recommendation.steps[0].title == recommendation.catalogue[recommendation.ids[0]].title
    True
    """

    scenario: Scenario
    ettr: float
    steps: tuple[RecommendedStep, ...]
    alternatives: tuple[Alternative, ...]
    months: float
    budget_usd: float
    unlisted: dict[str, str]
    simulated: tuple[str, ...]
    undescribed: tuple[str, ...]
    quickest: tuple[str, float] | None
    cheapest: tuple[str, float] | None
    catalogue: Catalogue
    jobs: tuple[JobsOfASize, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the set, in its order."""
        return tuple(step.id for step in self.steps)

    @property
    def titles(self) -> list[str]:
        """Names of the set, in its order."""
        return [step.title for step in self.steps]

    @property
    def has_price(self) -> bool:
        """Whether an hour of the job has a price; otherwise the set saves the most hours."""
        return self.scenario.usd_per_h > 0

    @property
    def price_usd(self) -> float:
        """Price of the set. [USD]"""
        return sum(step.price_usd for step in self.steps)

    @property
    def saved_h(self) -> float:
        """Saving of the set per month. [h]"""
        return self.steps[-1].total_h if self.steps else 0.0

    @property
    def saved_usd(self) -> float:
        """Saving of the set per month, before its price. [USD]"""
        return self.steps[-1].total_usd if self.steps else 0.0

    @property
    def net_usd(self) -> float:
        """Saving of the set over the horizon, less its price. [USD]"""
        return self.saved_usd * self.months - self.price_usd

    @functools.cached_property
    def plausible_net_usd(self) -> tuple[float, float] | None:
        """Net saving across the plausible range of the assumed inputs and the effects; None without one. [USD]"""
        ids_of = [[name for name in self.ids if ids is None or name in ids] for _, _, ids in self.jobs]
        of_jobs = [
            savings(job.scenario, ids, self.catalogue) if ids else None
            for job, ids in zip(self.jobs, ids_of, strict=True)
        ]
        ends = [saved.range for saved in of_jobs if saved is not None]
        if not ends or None in ends:
            return None
        # the assumed inputs are those of all jobs, so that their ends come together; a job without an answer saves none
        shares = [job.share for saved, job in zip(of_jobs, self.jobs, strict=True) if saved is not None]
        per_share_usd = self.months * H_PER_MONTH * self.scenario.usd_per_h
        low, high = (np.dot(shares, [end[i] for end in ends if end]) * per_share_usd - self.price_usd for i in (0, 1))
        return float(low), float(high)

    @property
    def ettr_with_all(self) -> float:
        """ETTR with the set at the best interval."""
        return self.steps[-1].ettr if self.steps else self.ettr

    @property
    def headline(self) -> str:
        """The names of the set, and the ETTR with it."""
        if not self.steps:
            return "no mitigation pays for itself"
        return f"{listed(self.titles)}: ETTR {pct(self.ettr_with_all)}"

    @property
    def horizon(self) -> str:
        """The horizon in words."""
        return months_in_words(self.months)

    def to_dict(self) -> dict[str, Any]:
        """Return the set, its alternatives and its savings for JSON."""
        record = {
            "ettr": self.ettr,
            "ettr_with_all": self.ettr_with_all,
            "ids": self.ids,
            "steps": [vars(step) for step in self.steps],
            "alternatives": [vars(alternative) for alternative in self.alternatives],
            "months": self.months,
            "budget_usd": self.budget_usd,
            "price_usd": self.price_usd,
            "saved_h_per_month": self.saved_h,
            "saved_usd_per_month": self.saved_usd,
            "net_usd": self.net_usd,
            "plausible_net_usd": self.plausible_net_usd,
            "unlisted": self.unlisted,
            "only_simulated": self.simulated,
            "undescribed": self.undescribed,
        }
        return dict(plain_values(record))

    def report(self, left_out: Sequence[str] = (), names_others: bool = True) -> Report:
        """Return a table of the set, the total saving and the alternatives.

        Parameters
        ----------
        left_out : sequence of str
            Mechanisms of the run that the analytical model leaves out.
        names_others : bool
            Whether to add which mitigations are not compared here.
        """
        sections: Report = []
        if left_out:
            text = f"Savings are calculated without {mechanisms(left_out)}; `ettr compare` simulates the mitigations."
            sections.append(Note(text))
        if self.steps:
            sections += [self._table(), Note(self._totals(left_out))]
            sections += [Note(line) for line in self._alternatives()]
        else:
            sections.append(Note(self._nothing()))
        return [*sections, Note(self.elsewhere, dim=True)] if names_others and self.elsewhere else sections

    def details(self) -> Report:
        """Return the id and break-even of each step, and why other mitigations are not in the set."""
        sections: Report = []
        if self.steps:
            columns = {
                "recommended": [step.title for step in self.steps],
                "id": [step.id for step in self.steps],
            }
            if self.has_price:
                heading = f"breaks even in {self.horizon} at this share of the saving"
                columns[heading] = [f"{max(math.ceil(100 * step.needed_share), 1)}%" for step in self.steps]
            sections.append(Table(tuple(columns), list(zip(*columns.values(), strict=True)), words=("id",)))
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.unlisted.items():
            by_reason.setdefault(f"Not recommended ({reason})", []).append(name)
        by_reason |= {
            "Not applicable (acts on something the scenario does not describe)": list(self.undescribed),
            "Not compared here (only the simulator covers it)": list(self.simulated),
        }
        for reason, names in by_reason.items():
            if names:
                titles = (f"{self.catalogue[name].title} ({name})" for name in names)
                sections.append(Note(f"{reason}: {', '.join(titles)}.", dim=True))
        return sections

    def _table(self) -> Table:
        """Return the steps with their savings, on top of the others and in total; money only where hours cost some."""
        columns = {
            "recommended": [f"{i}. {step.title}" for i, step in enumerate(self.steps, 1)],
            "saves per month": [f"{number(about(step.saved_h))} h" for step in self.steps],
            "": [usd(about(step.saved_usd)) for step in self.steps],
            "total so far": [f"{number(about(step.total_h))} h" for step in self.steps],
            "price (assumed)": [usd(about(step.price_usd)) for step in self.steps],
            "pays back in": [
                roughly(step.payback_months * H_PER_MONTH) if 0 < step.payback_months < math.inf else ""
                for step in self.steps
            ],
            "effect size": [step.effect for step in self.steps],
        }
        if not self.has_price:
            del columns[""], columns["pays back in"]
        return Table(tuple(columns), list(zip(*columns.values(), strict=True)), words=("effect size",))

    def _totals(self, left_out: Sequence[str]) -> str:
        """Return the ETTR and the net saving of the whole set, and how to read the columns."""
        without = f" without {mechanisms(left_out)}" if left_out else ""
        last, n = self.steps[-1], len(self.steps)
        every = f" with a checkpoint every {roughly(last.interval_min / MIN_PER_H)}" if last.interval_min else ""
        steps = {1: "it", 2: "both"}.get(n, f"all {count(n)}")
        saved = f", net saving {usd(about(self.net_usd))}{self._plausible} in {self.horizon}"
        net = saved if self.has_price else ""
        note = "" if n == 1 else f" {EACH_SAVING}"
        ettr = pct(self.ettr_with_all, 1 if self.ettr_with_all > 0.985 else 0)
        return f"With {steps}: ETTR {ettr}{without}{every}{net}.{note}"

    @property
    def _plausible(self) -> str:
        """The plausible range of the net saving in parentheses; empty where there is none."""
        if self.plausible_net_usd is None:
            return ""
        return f" (plausible range {joined_range(*(usd(about(end)) for end in self.plausible_net_usd))})"

    def _alternatives(self) -> Iterator[str]:
        """Yield a sentence for each mitigation that could replace steps."""
        place = {step.id: str(i) for i, step in enumerate(self.steps, 1)}
        for alternative in self.alternatives[:_MOST_NAMED]:
            yield (
                f"Alternative to {listed([place[name] for name in alternative.replaces])}: {alternative.title} "
                f"(price {usd(about(alternative.price_usd))}) saves {_instead(alternative.saved_h, alternative.of_h)}; "
                f"effect size {alternative.effect}."
            )

    def _nothing(self) -> str:
        """Return why the set is empty."""
        if self.cheapest and self.cheapest[1] > self.budget_usd:
            name, price = self.cheapest
            return (
                f"No mitigation is recommended: the budget of {usd(self.budget_usd)} is below the price of the "
                f"cheapest, {self.catalogue[name].title} ({usd(price)})."
            )
        if not self.unlisted:
            return "No mitigation is recommended: the analytical model covers none of these."
        within = f"within {self.horizon}" if self.has_price else "even without a price"
        text = f"No mitigation pays for itself {within}"
        if self.quickest and self.has_price:
            name, months = self.quickest
            text += f"; the quickest, {self.catalogue[name].title}, needs {duration(months * H_PER_MONTH, about)}"
        return f"{text}."

    @property
    def elsewhere(self) -> str:
        """The mitigations that are not compared, as a sentence; empty if all are."""
        parts = []
        if self.simulated:
            titles = [self.catalogue[name].title for name in self.simulated]
            rest = titles[_MOST_NAMED:]
            names = [*titles[:_MOST_NAMED], f"{len(rest)} others"] if rest else titles
            parts.append(f"{listed(names)} (only the simulator covers these)")
        if n := len(self.undescribed):
            parts.append(f"{n} that act{'s' if n == 1 else ''} on something the scenario does not describe")
        if not parts:
            return ""
        assumed = ", with assumed values where needed" if self.undescribed else ""
        return f"Mitigations not compared here: {'; '.join(parts)}. `ettr compare` simulates them{assumed}."


def months_in_words(months: float) -> str:
    """Return a horizon as words, a short one in smaller units."""
    return f"{months:.3g} months" if months >= 3 else roughly(months * H_PER_MONTH)


def _instead(saved_h: float, replaced_h: float) -> str:
    """Return the saving of an alternative next to that of the steps it replaces."""
    saved, replaced = (number(about(hours)) for hours in (saved_h, replaced_h))
    return f"about the same {saved} h per month" if saved == replaced else f"{saved} instead of {replaced} h per month"
