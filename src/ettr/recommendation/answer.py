"""The recommended set of mitigations: its steps and their alternatives, as a report."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ettr.budget.simplify import mechanisms
from ettr.core.report import Answer, Note, Report, Table, plain_values
from ettr.core.sentences import about, count, duration, listed, number, pct, roughly, usd
from ettr.core.units import H_PER_MONTH, MIN_PER_H
from ettr.mitigation import Catalogue
from ettr.recommendation.ranges import savings
from ettr.scenario import Scenario

_MOST_NAMED = 3


@dataclass(frozen=True)
class Alternative:
    """A mitigation that could take the place of steps: cheaper, or with an effect that is better known.

    Attributes
    ----------
    id, title, effect : str
        As of a :class:`RecommendedStep`.
    replaces : tuple of str
        The steps whose place it would take.
    saved_h, of_h : float
        Saved per month in their place, with all other steps in place; and what these steps save there. [h]
    price_usd : float
        Once. [USD]
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
        Of the mitigation.
    saved_h, saved_usd : float
        Marginal saving per month of the same work: over the set without this step. [h], [USD]
    total_h, total_usd : float
        Cumulative saving per month: this step and those listed above it. [h], [USD]
    alone_h : float
        Saving per month without any other step. [h]
    ettr, interval_min : float
        With this step and those above it, at the best interval, and that interval; None beside faster tiers. [min]
    price_usd : float
        Once. [USD]
    payback_months : float
        Until the marginal saving has returned the price. [month]
    needed_share : float
        Share of the marginal saving that would just return the price within the horizon.
    effect : {"published", "published in part", "assumed"}
        How much of the size of its effect is published.
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


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation(Answer):
    """The mitigations to choose together.

    Attributes
    ----------
    scenario : Scenario
        The run.
    ettr : float
        Without any of them, at the best interval.
    steps : tuple of RecommendedStep
        The set, in the order of what each adds to those above it.
    alternatives : tuple of Alternative
        Mitigations that would pay in the place of steps, for each place the best cheaper one, and the best one whose
        effect is better known.
    months : float
        Horizon: the length of the run, ``cost.payback_months``, or :data:`MONTHS` for a job without an end. [month]
    budget_usd : float
        The most that the prices may sum to; infinite without a limit. [USD]
    unlisted : dict
        Why each other mitigation that the model follows is not in the set, by id.
    simulated : tuple of str
        Mitigations that only simulation follows.
    undescribed : tuple of str
        Mitigations that act on something the scenario does not describe.
    quickest : tuple of (str, float) or None
        The mitigation that would pay back soonest alone, and after how many months; None where none saves anything.
    cheapest : tuple of (str, float) or None
        The mitigation with the lowest price, and that. [USD]
    catalogue : Catalogue
        Where the mitigations stand.
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

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the set, in its order."""
        return tuple(step.id for step in self.steps)

    @property
    def has_price(self) -> bool:
        """Whether an hour of the job costs anything: else the set saves the most hours."""
        return self.scenario.usd_per_h > 0

    @property
    def price_usd(self) -> float:
        """Price of the set. [USD]"""
        return sum(step.price_usd for step in self.steps)

    @property
    def saved_h(self) -> float:
        """Saved by the set per month. [h]"""
        return self.steps[-1].total_h if self.steps else 0.0

    @property
    def saved_usd(self) -> float:
        """The same in money, its price not counted. [USD]"""
        return self.steps[-1].total_usd if self.steps else 0.0

    @property
    def net_usd(self) -> float:
        """Saved by the set over the horizon, its price counted. [USD]"""
        return self.saved_usd * self.months - self.price_usd

    @functools.cached_property
    def plausible_net_usd(self) -> tuple[float, float] | None:
        """Net saving across the plausible range of the assumed inputs and the effects; None without one. [USD]"""
        found = savings(self.scenario, self.ids, self.catalogue) if self.steps else None
        if found is None or found.range is None:
            return None
        low, high = (end * self.months * H_PER_MONTH * self.scenario.usd_per_h - self.price_usd for end in found.range)
        return low, high

    @property
    def ettr_with_all(self) -> float:
        """ETTR with the set at the best interval."""
        return self.steps[-1].ettr if self.steps else self.ettr

    @property
    def headline(self) -> str:
        """The set, and the ETTR with it."""
        if not self.steps:
            return "no mitigation pays for itself"
        return f"{listed(list(self.ids))}: ETTR {pct(self.ettr_with_all)}"

    @property
    def horizon(self) -> str:
        """The horizon in words."""
        return months_in_words(self.months)

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        record = {
            "ettr": self.ettr,
            "ettr_with_all": self.ettr_with_all,
            "ids": self.ids,
            "steps": [vars(step) for step in self.steps],
            "alternatives": [vars(other) for other in self.alternatives],
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
        """The set and its alternatives.

        Parameters
        ----------
        left_out : sequence of str
            What the run has and the analytical model does without.
        names_others : bool
            Whether to say which mitigations are not compared here.
        """
        sections: Report = []
        if left_out:
            text = f"What mitigations save is calculated without {mechanisms(left_out)}; `ettr compare` simulates them."
            sections.append(Note(text))
        if self.steps:
            sections += [self._table(), Note(self._totals(left_out))]
            sections += [Note(line) for line in self._alternatives()]
        else:
            sections.append(Note(self._nothing()))
        return [*sections, Note(self.elsewhere, dim=True)] if names_others and self.elsewhere else sections

    def details(self) -> Report:
        """Break-even of each step, and why other mitigations are not in the set."""
        sections: Report = []
        if self.steps and self.has_price:
            rows = [(step.id, f"{max(math.ceil(100 * step.needed_share), 1)}%") for step in self.steps]
            title = f"Part of the saving that still returns the price within {self.horizon}"
            sections.append(Table(("recommended", "breaks even at"), rows, title=title))
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.unlisted.items():
            by_reason.setdefault(reason, []).append(name)
        reasons = {f"Not recommended, {reason}": names for reason, names in by_reason.items()}
        reasons |= {
            "Act on something the scenario does not describe": list(self.undescribed),
            "Only simulation follows them": list(self.simulated),
        }
        return [*sections, *(Note(f"{why}: {', '.join(names)}.", dim=True) for why, names in reasons.items() if names)]

    def _table(self) -> Table:
        """The steps, with their marginal and cumulative savings; money only where an hour of the job costs some."""
        columns = {
            "recommended": [f"{i}. {step.id}" for i, step in enumerate(self.steps, 1)],
            "saves": [f"{number(about(step.saved_h))} h" for step in self.steps],
            "per month": [usd(about(step.saved_usd)) for step in self.steps],
            "cumulative": [f"{number(about(step.total_h))} h" for step in self.steps],
            "price (assumed)": [usd(about(step.price_usd)) for step in self.steps],
            "pays back in": [
                roughly(step.payback_months * H_PER_MONTH) if 0 < step.payback_months < math.inf else ""
                for step in self.steps
            ],
            "effect": [step.effect for step in self.steps],
        }
        if not self.has_price:
            columns = {
                {"saves": "saves per month"}.get(name, name): cells
                for name, cells in columns.items()
                if name not in ("per month", "pays back in")
            }
        return Table(tuple(columns), list(zip(*columns.values(), strict=True)), words=("pays back in", "effect"))

    def _totals(self, left_out: Sequence[str]) -> str:
        """What the set reaches together, and how to read the columns."""
        without = f" without {mechanisms(left_out)}" if left_out else ""
        last, n = self.steps[-1], len(self.steps)
        every = f" with a checkpoint every {roughly(last.interval_min / MIN_PER_H)}" if last.interval_min else ""
        them = {1: "it", 2: "both"}.get(n, f"all {count(n)}")
        saved = f", a net saving of {usd(about(self.net_usd))}{self._plausible} in {self.horizon}"
        net = saved if self.has_price else ""
        note = "" if n == 1 else " Each saves what is shown with all the others in place; cumulative is in this order."
        ettr = pct(self.ettr_with_all, 1 if self.ettr_with_all > 0.985 else 0)
        return f"With {them}: ETTR {ettr}{without}{every}{net}.{note}"

    @property
    def _plausible(self) -> str:
        """The plausible range of the net saving in parentheses; empty where there is none."""
        if self.plausible_net_usd is None:
            return ""
        low, high = (usd(about(end)) for end in self.plausible_net_usd)
        return f" (plausible range {low} to {high})"

    def _alternatives(self) -> Iterator[str]:
        """A sentence for each mitigation that could take the place of steps."""
        place = {step.id: str(i) for i, step in enumerate(self.steps, 1)}
        for other in self.alternatives[:_MOST_NAMED]:
            yield (
                f"Instead of {listed([place[name] for name in other.replaces])}: {other.id}, "
                f"{usd(about(other.price_usd))}, saves {_instead(other.saved_h, other.of_h)} (effect {other.effect})."
            )

    def _nothing(self) -> str:
        """Why the set is empty."""
        if self.cheapest and self.cheapest[1] > self.budget_usd:
            name, price = self.cheapest
            return (
                f"No mitigation is recommended: the budget of {usd(self.budget_usd)} is below the cheapest compared, "
                f"{name} for {usd(price)}."
            )
        if not self.unlisted:
            return "No mitigation is recommended: the analytical model compares none of these."
        within = f"within {self.horizon}" if self.has_price else "even without a price"
        text = f"No mitigation pays for itself {within}"
        if self.quickest and self.has_price:
            name, months = self.quickest
            text += f"; {name} would need {duration(months * H_PER_MONTH, about)}"
        return f"{text}."

    @property
    def elsewhere(self) -> str:
        """Which mitigations are not compared, as a sentence; empty if all are."""
        parts = []
        if self.simulated:
            rest = len(self.simulated) - _MOST_NAMED
            more = f" and {rest} more" if rest > 0 else ""
            names = ", ".join(self.simulated[:_MOST_NAMED]) if rest > 0 else listed(list(self.simulated))
            parts.append(f"{names}{more}, which only simulation follows")
        if self.undescribed:
            parts.append(f"{len(self.undescribed)} that act on something the scenario does not describe")
        if not parts:
            return ""
        assumed = ", with assumed values where it needs them" if self.undescribed else ""
        return f"Not compared here: {'; '.join(parts)}. `ettr compare` simulates them{assumed}."


def months_in_words(months: float) -> str:
    """Return a horizon as words, a short one in smaller units."""
    return f"{months:.3g} months" if months >= 3 else roughly(months * H_PER_MONTH)


def _instead(saved_h: float, of_h: float) -> str:
    """Saved hours beside those that they take the place of, which may read alike."""
    saved, of = (number(about(hours)) for hours in (saved_h, of_h))
    return f"about the same {of} h per month" if saved == of else f"{saved} h instead of {of} h per month"
