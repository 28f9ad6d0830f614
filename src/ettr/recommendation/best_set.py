"""The mitigations to choose together: the set with the largest net saving, by the analytical model.

The recommendation depends on the run, the budget, the horizon and the catalogue, and on no order of choices. The pages
of the book run the same search (``book/_static/plan.js``).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ettr import mitigation
from ettr.budget.intervals import any_interval, best_h
from ettr.budget.simplify import mechanisms
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.report import Answer, Note, Report, Table, plain_values
from ettr.core.sentences import about, count, duration, listed, number, pct, roughly, usd
from ettr.core.units import H_PER_MONTH, MIN_PER_H
from ettr.mitigation import Catalogue, Mitigation
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL

LEAST_SHARE = 0.001
"""Without a price per GPU-hour, each step must save this share of the time: a tenth of a point."""
MONTHS = 12.0
"""Horizon of a job without an end, in which a mitigation must return its price (assumed). [month]"""
_ROUNDING = 1e-9
"""Differences of value below this share of the run's cost are none."""
_NO_ANSWER = (InputError, NotModelled, OutsideValidity)
EFFECTS = (mitigation.PUBLISHED, mitigation.PARTLY, mitigation.ASSUMED)
"""How much of the size of an effect is published, the best known first."""
_LEAST_OF_STEP = 0.5
"""An alternative saves at least this share of the hours that the steps in its place save."""
_MOST_NAMED = 3


@dataclass(frozen=True)
class Alternative:
    """A mitigation that could take the place of steps: cheaper, or with an effect that is better known.

    Attributes
    ----------
    id, title, effect : str
        As of a :class:`Step`.
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
class Step:
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


class RunAtBest(NamedTuple):
    """ETTR at the best interval, the wall clock that the same work takes relative to other runs, and that interval."""

    ettr: float
    cost: float
    interval_min: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation(Answer):
    """The mitigations to choose together.

    Attributes
    ----------
    scenario : Scenario
        The run.
    ettr : float
        Without any of them, at the best interval.
    steps : tuple of Step
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
    steps: tuple[Step, ...]
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
        from ettr.recommendation.ranges import savings

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
        return f"{self.months:.3g} months" if self.months >= 3 else roughly(self.months * H_PER_MONTH)

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


def _instead(saved_h: float, of_h: float) -> str:
    """Saved hours beside those that they take the place of, which may read alike."""
    saved, of = (number(about(hours)) for hours in (saved_h, of_h))
    return f"about the same {of} h per month" if saved == of else f"{saved} h instead of {of} h per month"


def recommend(
    scenario: Scenario,
    budget_usd: float = math.inf,
    of: Catalogue | None = None,
    only: Iterable[str] | None = None,
    asked: Scenario | None = None,
) -> Recommendation:
    """Return the set of mitigations with the largest net saving.

    Parameters
    ----------
    scenario : Scenario
        The run, without what the analytical model leaves out (:func:`ettr.budget.simplified`).
    budget_usd : float
        The most that the prices may sum to. [USD]
    of : Catalogue, optional
        Mitigations to choose from; the project's own if not given.
    only : iterable of str, optional
        Only these of the catalogue.
    asked : Scenario, optional
        The run as it was asked about, where ``scenario`` leaves something out.

    Returns
    -------
    Recommendation
        Empty where no set pays for itself.

    Raises
    ------
    NotModelled, OutsideValidity
        The analytical model does not cover the run itself.
    InputError
        A budget that is negative or no number, or an unknown mitigation.

    Notes
    -----
    The value of a set is the money that it saves over the horizon less its price, each run at its best interval; of a
    job whose hours cost nothing, the hours that it saves, of which each step must save a tenth of a point. Starting
    from no mitigation, the search makes the best single change (add, remove, or swap one) until none improves the
    value; equal values are decided by id. Whatever is listed therefore pays for itself with all the others in place.

    Examples
    --------
    >>> run = Scenario.of({"cluster": {"n_gpus": 4096}, "failures": {"job_mttf_h": 9}, "checkpoint": {"stall_s": 90}})
    >>> recommend(run).ids
    ('just-in-time-checkpoint', 'in-process-restart', 'faulty-machine-detection')
    """
    if not budget_usd >= 0:
        raise InputError(f"budget_usd must be >= 0 USD, got {budget_usd:g}")
    return _Search(scenario, budget_usd, of or mitigation.catalogue(), only, asked or scenario).recommendation()


def at_best_interval(scenario: Scenario) -> RunAtBest:
    """Return what a run does at its best interval.

    Raises
    ------
    OutsideValidity
        It practically never ends.
    """
    tau_h, ettrs = best_h(any_interval(scenario))
    ettr = float(ettrs)
    if not ettr > 0:
        raise OutsideValidity("the job practically never ends")
    work = scenario.productive_h if scenario.job.tokens is not None else 1.0  # a mitigation may change the hours
    interval_min = None if scenario.checkpoint.tiers else float(tau_h) * MIN_PER_H
    return RunAtBest(ettr, work / (scenario.speed * ettr), interval_min)


class _Search:
    """The sets of one run."""

    def __init__(
        self, scenario: Scenario, budget_usd: float, of: Catalogue, only: Iterable[str] | None, asked: Scenario
    ) -> None:
        self.catalogue, self.budget_usd, self.scenario = of, budget_usd, scenario
        self.bare = scenario.override({"evidence": {}}) if scenario.evidence else scenario
        self.before = at_best_interval(self.bare)
        run_h = scenario.work_h / self.before.ettr if scenario.ends else MONTHS * H_PER_MONTH
        self.months = scenario.prices.payback_months or run_h / H_PER_MONTH
        self._at_best: dict[frozenset[str], RunAtBest | None] = {}
        self.simulated: list[str] = []
        self.undescribed: list[str] = []
        wanted = None if only is None else {of[name].id for name in only}
        self.candidates = {
            entry.id: entry
            for entry in of
            if entry.changes and (wanted is None or entry.id in wanted) and self._is_followed(entry, asked)
        }
        self.prices = {name: entry.price.of(scenario.cluster.n_gpus) for name, entry in self.candidates.items()}

    def _is_followed(self, entry: Mitigation, asked: Scenario) -> bool:
        """Whether the analytical model covers the run with a mitigation that changes it; else the reason is kept."""
        if mitigation.missing(self.bare, entry):
            (self.undescribed if mitigation.missing(asked, entry) else self.simulated).append(entry.id)
            return False
        try:
            changed = mitigation.apply(self.bare, entry.id, self.catalogue)
            if changed.override({INTERVAL: "best"}) == self.bare.override({INTERVAL: "best"}):
                return False
            at_best_interval(changed)
        except NotModelled:
            self.simulated.append(entry.id)
            return False
        except InputError:  # it needs something else of the scenario
            self.undescribed.append(entry.id)
            return False
        except OutsideValidity:
            return False
        return True

    def at_best(self, chosen: frozenset[str]) -> RunAtBest | None:
        """What the run does with a set, calculated once; None where the model has no answer."""
        if not chosen:
            return self.before
        if chosen not in self._at_best:
            try:
                with_set = mitigation.apply(self.bare, sorted(chosen), self.catalogue)
                self._at_best[chosen] = at_best_interval(with_set)
            except _NO_ANSWER:
                self._at_best[chosen] = None
        return self._at_best[chosen]

    def price_usd(self, chosen: Iterable[str]) -> float:
        """Price of a set. [USD]"""
        return sum(self.prices[name] for name in sorted(chosen))

    def saved_share(self, chosen: frozenset[str], over: frozenset[str] = frozenset()) -> float:
        """Share of the wall clock of the run without any mitigation that a set saves over another."""
        after, before = self.at_best(chosen), self.at_best(over)
        if after is None or before is None:
            return -math.inf
        return (before.cost - after.cost) / self.before.cost

    def value(self, chosen: frozenset[str]) -> float:
        """Net saving of a set as a share of the cost of the run over the horizon; minus infinity if not allowed."""
        price = self.price_usd(chosen)
        if price > self.budget_usd:
            return -math.inf
        cost_usd = self.scenario.usd_per_h * self.months * H_PER_MONTH
        return self.saved_share(chosen) - (price / cost_usd if cost_usd > 0 else LEAST_SHARE * len(chosen))

    @functools.cached_property
    def _apart(self) -> dict[str, set[str]]:
        """The candidates that each does not go together with."""
        names = list(self.candidates)
        return {name: {other for other in names if self.catalogue.conflict(name, other)} for name in names}

    def go_together(self, chosen: Iterable[str]) -> bool:
        """Whether no two of a set conflict."""
        names = set(chosen)
        return not any(self._apart[name] & names for name in names)

    def _neighbours(self, chosen: frozenset[str]) -> Iterator[frozenset[str]]:
        """The sets that one addition, removal or swap away from a set, of mitigations that go together."""
        for name in chosen:
            yield chosen - {name}
        for name in self.candidates.keys() - chosen:
            if self.go_together(chosen | {name}):
                yield chosen | {name}
            for other in chosen:
                if self.go_together(swapped := (chosen - {other}) | {name}):
                    yield swapped

    def best(self) -> frozenset[str]:
        """The set that no single change improves, nor one more mitigation in the place of all that exclude it.

        Within a budget a cheaper mitigation may leave room for another one, so that a search begins with each, too.
        """
        chosen = self._climbed(frozenset())
        for name in sorted(self.candidates) if math.isfinite(self.budget_usd) else ():
            if self.prices[name] <= self.budget_usd:
                chosen = self._better(chosen, self._climbed(self._climbed(frozenset([name]), name)))
        tried: set[frozenset[str]] = set()
        while chosen not in tried:
            tried.add(chosen)
            for name in sorted(self.candidates.keys() - chosen):
                if excluded := self._apart[name] & chosen:
                    forced = self._climbed((chosen - excluded) | {name}, name)
                    chosen = self._better(chosen, forced)
        return chosen

    def _better(self, one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
        """The set of the larger value; of equals the first by id."""
        gained = self.value(other) - self.value(one)
        if abs(gained) <= _ROUNDING:
            return min(one, other, key=sorted)
        return other if gained > 0 else one

    def _climbed(self, chosen: frozenset[str], held: str = "") -> frozenset[str]:
        """The set that the best single change leads to, again and again, until none improves it; ``held`` stays."""
        while True:
            best = chosen
            for other in self._neighbours(chosen):
                if not held or held in other:
                    best = self._better(best, other)
            if self.value(best) <= self.value(chosen) + _ROUNDING:
                return chosen
            chosen = best

    def recommendation(self) -> Recommendation:
        """The best set in order, with its alternatives and what is not in it."""
        chosen = self.best()
        steps, above = [], frozenset[str]()
        while above != chosen:
            left = sorted(chosen - above)
            name = max(left, key=lambda name: self.value(above | {name}))  # the first of equals
            above |= {name}
            steps.append(self._step(name, chosen, above))
        alone = {name: self._payback_months(name, frozenset()) for name in sorted(self.candidates)}
        quickest = min(alone, key=lambda name: alone[name], default=None)
        cheapest = min(sorted(self.prices), key=lambda name: self.prices[name], default=None)
        return Recommendation(
            self.scenario,
            self.before.ettr,
            tuple(steps),
            self._alternatives(tuple(step.id for step in steps)),
            self.months,
            self.budget_usd,
            {name: self._why_not(name, chosen) for name in self.candidates if name not in chosen},
            tuple(self.simulated),
            tuple(self.undescribed),
            (quickest, alone[quickest]) if quickest and math.isfinite(alone[quickest]) else None,
            (cheapest, self.prices[cheapest]) if cheapest else None,
            self.catalogue,
        )

    def _per_month(self, share: float) -> tuple[float, float]:
        """A saved share of the wall clock, in hours and in money per month. [h], [USD]"""
        return share * H_PER_MONTH, share * H_PER_MONTH * self.scenario.usd_per_h

    def _payback_months(self, name: str, others: frozenset[str]) -> float:
        """Until a mitigation has returned its price, with others in place; infinite if it never does. [month]"""
        _, saved_usd = self._per_month(self.saved_share(others | {name}, others))
        if not self.prices[name]:
            return 0.0
        return self.prices[name] / saved_usd if saved_usd > 0 else math.inf

    def _step(self, name: str, chosen: frozenset[str], above: frozenset[str]) -> Step:
        entry, others, after = self.candidates[name], chosen - {name}, self.at_best(above)
        assert after is not None
        months = self._payback_months(name, others)
        return Step(
            entry.id,
            entry.title,
            *self._per_month(self.saved_share(chosen, others)),
            *self._per_month(self.saved_share(above)),
            self._per_month(self.saved_share(frozenset({name})))[0],
            after.ettr,
            after.interval_min,
            self.prices[name],
            months,
            months / self.months,
            self.effect[name],
        )

    def _alternatives(self, order: tuple[str, ...]) -> tuple[Alternative, ...]:
        """The best mitigations in the place of steps: cheaper ones, and those whose effect is better known."""
        chosen = frozenset(order)
        found: dict[tuple[tuple[str, ...], bool], tuple[float, Alternative]] = {}
        for name in sorted(self.candidates.keys() - chosen):
            excluded = self._apart[name] & chosen
            for replaced in [excluded] if excluded else [{step} for step in order]:
                others = chosen - replaced
                gained = self.value(others | {name}) - self.value(others)
                saved, of = self.saved_share(others | {name}, others), self.saved_share(chosen, others)
                if gained <= _ROUNDING or saved < _LEAST_OF_STEP * of:
                    continue
                is_cheaper = self.prices[name] < self.price_usd(replaced)
                is_known = EFFECTS.index(self.effect[name]) < max(EFFECTS.index(self.effect[one]) for one in replaced)
                alternative = Alternative(
                    name,
                    self.candidates[name].title,
                    self.effect[name],
                    tuple(one for one in order if one in replaced),
                    self._per_month(saved)[0],
                    self._per_month(of)[0],
                    self.prices[name],
                    is_cheaper,
                )
                for kind, applies in ((False, is_cheaper), (True, is_known)):
                    key = alternative.replaces, kind
                    if applies and gained > found.get(key, (0.0,))[0]:
                        found[key] = gained, alternative
        best = sorted(found.items(), key=lambda item: (order.index(item[0][0][0]), item[0][1]))
        return tuple(dict.fromkeys(alternative for _, (_, alternative) in best))

    def _why_not(self, name: str, chosen: frozenset[str]) -> str:
        """Why a mitigation is not in the set, as part of a sentence."""
        if against := sorted(self._apart[name] & chosen):
            return f"not together with {listed(against)}"
        if self.price_usd(chosen | {name}) > self.budget_usd:
            return "over the budget"
        if self.saved_share(chosen | {name}, chosen) == -math.inf:
            return "the analytical model does not cover it with the others"
        return f"saves less than its price within {self._horizon}"

    @property
    def _horizon(self) -> str:
        return f"{self.months:.3g} months" if self.months >= 3 else roughly(self.months * H_PER_MONTH)

    @functools.cached_property
    def effect(self) -> dict[str, str]:
        """How much of the size of each candidate's effect is published."""
        return {name: mitigation.effect_basis(entry.changes) for name, entry in self.candidates.items()}
