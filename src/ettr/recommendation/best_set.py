"""The mitigations to choose together: the set with the largest net saving, by the analytical model.

The recommendation depends on the run, the budget, the horizon and the catalogue, and on no order of choices. The pages
of the book run the same search (``book/_static/plan.js``).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ettr import mitigation
from ettr.budget.intervals import any_interval, best_h
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.sentences import listed
from ettr.core.units import H_PER_MONTH, MIN_PER_H
from ettr.mitigation import Catalogue, Mitigation
from ettr.recommendation.answer import Alternative, Recommendation, RecommendedStep, months_in_words
from ettr.recommendation.ranges import weights
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


class RunAtBest(NamedTuple):
    """ETTR at the best interval, the wall clock that the same work takes relative to other runs, and that interval."""

    ettr: float
    cost: float
    interval_min: float | None


def recommend(
    scenario: Scenario,
    budget_usd: float = math.inf,
    of: Catalogue | None = None,
    only: Iterable[str] | None = None,
    original: Scenario | None = None,
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
    original : Scenario, optional
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
    return Sets(scenario, budget_usd, of, only, original).recommendation()


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


class Sets:
    """Sets of mitigations of one run, with their savings, and the search for the best of them.

    Parameters
    ----------
    scenario, budget_usd, of, only, original
        As of :func:`recommend`.
    strengths : mapping, optional
        Factor on the saving that the model calculates for a mitigation, by id; 1 if not given. For a set, the factors
        are weighted by what each mitigation saves alone, and no set saves more than the run loses
        (:class:`ettr.recommendation.Savings`).

    Raises
    ------
    NotModelled, OutsideValidity
        The analytical model does not cover the run itself.
    """

    def __init__(
        self,
        scenario: Scenario,
        budget_usd: float = math.inf,
        of: Catalogue | None = None,
        only: Iterable[str] | None = None,
        original: Scenario | None = None,
        strengths: Mapping[str, float] | None = None,
    ) -> None:
        of, original, self.strengths = of or mitigation.catalogue(), original or scenario, strengths or {}
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
            if entry.changes and (wanted is None or entry.id in wanted) and self._is_followed(entry, original)
        }
        self.prices = {entry.id: entry.price.of(scenario.cluster.n_gpus) for entry in of}

    def _is_followed(self, entry: Mitigation, original: Scenario) -> bool:
        """Whether the analytical model covers the run with a mitigation that changes it; else the reason is kept."""
        if mitigation.missing(self.bare, entry):
            (self.undescribed if mitigation.missing(original, entry) else self.simulated).append(entry.id)
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
        after, before = self._saved(chosen), self._saved(over)
        return after - before if math.isfinite(before) else -math.inf

    def _saved(self, chosen: frozenset[str]) -> float:
        """What a set saves over none, minus infinity where the model has no answer."""
        after = self.at_best(chosen)
        if after is None:
            return -math.inf
        saved = 1 - after.cost / self.before.cost
        if not self.strengths.keys() & chosen:
            return saved
        names = sorted(chosen)
        alone = [
            max(1 - run.cost / self.before.cost, 0.0) if (run := self.at_best(frozenset([name]))) else 0.0
            for name in names
        ]
        strength = float(weights(alone) @ [self.strengths.get(name, 1.0) for name in names])
        return min(saved * strength, 1 - self.before.ettr)

    def net_usd(self, chosen: Iterable[str]) -> float:
        """Net saving of any set over the horizon, minus infinity where the model has no answer. [USD]"""
        _, saved_usd = self._per_month(self.saved_share(frozenset(chosen)))
        return saved_usd * self.months - self.price_usd(chosen)

    def saved_h(self, chosen: Iterable[str]) -> float:
        """Saved by any set per month, minus infinity where the model has no answer. [h]"""
        return self._per_month(self.saved_share(frozenset(chosen)))[0]

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
        is_bound = self.price_usd(self.candidates) > self.budget_usd
        for name in sorted(self.candidates) if is_bound else ():
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
        cheapest = min(sorted(self.candidates), key=lambda name: self.prices[name], default=None)
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

    def _step(self, name: str, chosen: frozenset[str], above: frozenset[str]) -> RecommendedStep:
        entry, others, after = self.candidates[name], chosen - {name}, self.at_best(above)
        assert after is not None
        months = self._payback_months(name, others)
        return RecommendedStep(
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
        return f"saves less than its price within {months_in_words(self.months)}"

    @functools.cached_property
    def effect(self) -> dict[str, str]:
        """How much of the size of each candidate's effect is published."""
        return {name: mitigation.effect_basis(entry.changes) for name, entry in self.candidates.items()}
