"""The mitigations to choose together: the set with the largest net saving, by the analytical model.

The result depends on the run, the budget, the horizon and the catalogue, but not on any order of choices. The pages of
the book run the same search (``book/_static/plan.js``).
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ettr import mitigation
from ettr.budget.intervals import any_interval, best_h
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.sentences import listed
from ettr.core.units import H_PER_MONTH, MIN_PER_H
from ettr.mitigation import Catalogue, Mitigation
from ettr.recommendation.answer import Alternative, JobsOfASize, Recommendation, RecommendedStep, months_in_words
from ettr.recommendation.ranges import weights
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.job_in_hours import stacked
from ettr.scenario.paths import INTERVAL

LEAST_SHARE = 0.001
"""Share of the time that each step must save where GPU-hours have no price: a tenth of a point."""
MONTHS = 12.0
"""Payback horizon of a job without an end (assumed). [month]"""
_ROUNDING = 1e-9
"""Differences of value below this share of the run's cost are ignored."""
_NO_ANSWER = (InputError, NotModelled, OutsideValidity)
EFFECTS = (mitigation.PUBLISHED, mitigation.PARTLY, mitigation.ASSUMED)
"""Evidence for the size of an effect, the best first."""
_LEAST_OF_STEP = 0.5
"""An alternative must save at least this share of the hours that the replaced steps save."""


class RunAtBest(NamedTuple):
    """ETTR at the best interval, relative wall-clock time of the same work, and that interval."""

    ettr: float
    cost: float
    interval_min: float | None


def recommend(
    scenario: Scenario,
    budget_usd: float = math.inf,
    of: Catalogue | None = None,
    only: Iterable[str] | None = None,
    original: Scenario | None = None,
    jobs: Sequence[JobsOfASize] = (),
) -> Recommendation:
    """Return the set of mitigations with the largest net saving.

    Parameters
    ----------
    scenario : Scenario
        The run, without what the analytical model leaves out (:func:`ettr.budget.simplified`).
    budget_usd : float
        Upper limit of the total price. [USD]
    of : Catalogue, optional
        Catalogue of mitigations; that of the project by default.
    only : iterable of str, optional
        Ids of mitigations to choose from; all by default.
    original : Scenario, optional
        The run as the user describes it, where ``scenario`` leaves something out.
    jobs : sequence of JobsOfASize
        The jobs of a cluster, whose savings are added by their shares of the GPU-hours; ``scenario`` then only has the
        size and the prices of the cluster. By default the scenario is the only job.

    Returns
    -------
    Recommendation
        Empty where no set pays for itself.

    Raises
    ------
    NotModelled, OutsideValidity
        The analytical model does not cover the run itself.
    InputError
        A negative or invalid budget, or an unknown mitigation.

    Notes
    -----
    The value of a set is the money that it saves over the horizon less its price, with each run at its best interval.
    Where hours have no price, the value is the hours saved, and each step must save a tenth of a point. Starting from
    no mitigation, the search makes the best single change (add, remove, or swap one) until none improves the value;
    ties are broken by id. Each recommended mitigation therefore pays for itself on top of all the others.

    Examples
    --------
    >>> run = Scenario.of({"cluster": {"n_gpus": 4096}, "failures": {"job_mttf_h": 9}, "checkpoint": {"stall_s": 90}})
    >>> recommend(run).ids
    ('just-in-time-checkpoint', 'in-process-restart', 'faulty-machine-detection')
    """
    if not budget_usd >= 0:
        raise InputError(f"budget_usd must be >= 0 USD, got {budget_usd:g}")
    return Sets(scenario, budget_usd, of, only, original, jobs=jobs).recommendation()


def at_best_interval(scenario: Scenario) -> RunAtBest:
    """Return ETTR and relative cost of a run at its best interval.

    Raises
    ------
    OutsideValidity
        The run practically never ends.
    """
    answer = _run_at_best(scenario, *best_h(any_interval(scenario)))
    if answer is None:
        raise OutsideValidity("the job practically never ends")
    return answer


def at_best_intervals(scenarios: Sequence[Scenario]) -> list[RunAtBest | None]:
    """Return many runs at their best intervals, runs of one kind together; None where the model has no answer."""
    answers: list[RunAtBest | None] = [None] * len(scenarios)
    by_kind: dict[tuple[Any, ...], dict[int, JobInHours]] = defaultdict(dict)
    for place, scenario in enumerate(scenarios):
        try:
            run = any_interval(scenario)
        except _NO_ANSWER:
            continue
        by_kind[run.kind][place] = run
    for runs in by_kind.values():
        tau_h, ettrs = (np.broadcast_to(values, len(runs)) for values in best_h(stacked(list(runs.values()))))
        for place, tau, ettr in zip(runs, tau_h, ettrs, strict=True):
            answers[place] = _run_at_best(scenarios[place], tau, ettr)
    return answers


def _run_at_best(scenario: Scenario, tau_h: Any, ettr: Any) -> RunAtBest | None:
    """Return a run at its best interval; None if it practically never ends."""
    if not ettr > 0:
        return None
    # a mitigation may change the hours that the tokens take
    work = scenario.productive_h if scenario.job.tokens is not None else 1.0
    interval_min = None if scenario.checkpoint.tiers else float(tau_h) * MIN_PER_H
    return RunAtBest(float(ettr), work / (scenario.speed * float(ettr)), interval_min)


class Sets:
    """Sets of mitigations for one run, with their savings, and the search for the best set.

    Parameters
    ----------
    scenario, budget_usd, of, only, original, jobs
        As for :func:`recommend`.

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
        jobs: Sequence[JobsOfASize] = (),
    ) -> None:
        of, original = of or mitigation.catalogue(), original or scenario
        self.strengths: Mapping[str, float] = {}
        self.catalogue, self.budget_usd, self.scenario = of, budget_usd, scenario
        self._described = tuple(jobs) or (JobsOfASize(scenario, 1.0),)
        # no number depends on evidence
        self.jobs = [job.scenario.override({"evidence": {}}) for job in self._described]
        self._any_interval = [run.override({INTERVAL: "best"}) for run in self.jobs]
        self._applicable: list[set[str]] = [set() for _ in self.jobs]
        self._before_by_job = [at_best_interval(run) for run in self.jobs]
        self.before = self._together(self._before_by_job)
        run_h = scenario.work_h / self.before.ettr if scenario.ends else MONTHS * H_PER_MONTH
        self.months = scenario.prices.payback_months or run_h / H_PER_MONTH
        self._at_best: dict[frozenset[str], RunAtBest | None] = {frozenset(): self.before}
        self._job_at_best: dict[tuple[int, frozenset[str]], RunAtBest | None] = {
            (i, frozenset()): None for i in range(len(self.jobs))
        }
        self.simulated: list[str] = []
        self.undescribed: list[str] = []
        selected = None if only is None else {of[name].id for name in only}
        self.candidates = {
            entry.id: entry
            for entry in of
            if entry.changes and (selected is None or entry.id in selected) and self._is_covered(entry, original)
        }
        self.prices = {entry.id: entry.price.of(scenario.cluster.n_gpus) for entry in of}

    def with_strengths(self, strengths: Mapping[str, float]) -> Sets:
        """Return the same sets with a factor on the calculated saving of some mitigations, by id.

        For a set, the factors are weighted by the saving of each mitigation alone, and no set saves more than the run
        loses (:class:`ettr.recommendation.Savings`). What the model has answered is kept.
        """
        other = copy.copy(self)
        other.strengths = strengths
        return other

    def _is_covered(self, entry: Mitigation, original: Scenario) -> bool:
        """Return whether the analytical model covers some job with a mitigation; otherwise note the reason."""
        if all(mitigation.missing(run, entry) for run in self.jobs):
            (self.undescribed if mitigation.missing(original, entry) else self.simulated).append(entry.id)
            return False
        errors = []
        for i, (run, applicable) in enumerate(zip(self.jobs, self._applicable, strict=True)):
            try:
                changed = mitigation.apply(run, entry.id, self.catalogue)
                if changed.override({INTERVAL: "best"}) != self._any_interval[i]:
                    self._job_at_best[i, frozenset([entry.id])] = at_best_interval(changed)
                    applicable.add(entry.id)
            except _NO_ANSWER as error:
                errors.append(error)
        if any(entry.id in applicable for applicable in self._applicable):
            return True
        if any(isinstance(error, NotModelled) for error in errors):
            self.simulated.append(entry.id)
        elif any(isinstance(error, InputError) for error in errors):  # it needs another part of the scenario
            self.undescribed.append(entry.id)
        return False

    def at_best(self, chosen: frozenset[str]) -> RunAtBest | None:
        """Return the run with a set, cached; None where the model has no answer."""
        if chosen not in self._at_best:
            self._answer([chosen])
        return self._at_best[chosen]

    def _answer(self, sets: Iterable[frozenset[str]]) -> None:
        """Evaluate sets together: many take little longer than one."""
        keys_of = {chosen: [self._job_with(i, chosen) for i in range(len(self.jobs))] for chosen in sets}
        changed = {}
        for i, names in dict.fromkeys(key for keys in keys_of.values() for key in keys):
            if (i, names) not in self._job_at_best:
                self._job_at_best[i, names] = None
                with contextlib.suppress(*_NO_ANSWER):
                    changed[i, names] = mitigation.apply(self.jobs[i], sorted(names), self.catalogue)
        self._job_at_best.update(zip(changed, at_best_intervals(list(changed.values())), strict=True))
        for chosen, keys in keys_of.items():
            by_job = [self._job_at_best[key] for key in keys]
            self._at_best[chosen] = self._together(by_job) if any(by_job) else None

    def _job_with(self, i: int, chosen: frozenset[str]) -> tuple[int, frozenset[str]]:
        """Return the index of a job and the members of a set that apply to it."""
        return i, chosen if len(self.jobs) == 1 else chosen & self._applicable[i]

    def _together(self, by_job: Sequence[RunAtBest | None]) -> RunAtBest:
        """Return all jobs as one run; mitigations do not change those without an answer.

        The cost is the wall-clock time of the same work relative to that without mitigations, by the shares of the
        GPU-hours.
        """
        runs = [after or before for after, before in zip(by_job, self._before_by_job, strict=True)]
        parts = zip(runs, self._before_by_job, self._described, strict=True)
        costs = [job.share * run.cost / before.cost for run, before, job in parts]
        interval_min = runs[0].interval_min if len(runs) == 1 else None
        return RunAtBest(float(np.average([run.ettr for run in runs], weights=costs)), sum(costs), interval_min)

    def price_usd(self, chosen: Iterable[str]) -> float:
        """Return the price of a set. [USD]"""
        return sum(self.prices[name] for name in sorted(chosen))

    def saved_share(self, chosen: frozenset[str], over: frozenset[str] = frozenset()) -> float:
        """Return the saving of a set relative to another, as a share of the wall clock without mitigations."""
        after, before = self._saved(chosen), self._saved(over)
        return after - before if math.isfinite(before) else -math.inf

    def _saved(self, chosen: frozenset[str]) -> float:
        """Return the saving of a set relative to none; minus infinity where the model has no answer."""
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
        """Return the net saving of any set over the horizon; minus infinity where the model has no answer. [USD]"""
        _, saved_usd = self._per_month(self.saved_share(frozenset(chosen)))
        return saved_usd * self.months - self.price_usd(chosen)

    def saved_h(self, chosen: Iterable[str]) -> float:
        """Return the saving of any set per month; minus infinity where the model has no answer. [h]"""
        return self._per_month(self.saved_share(frozenset(chosen)))[0]

    def value(self, chosen: frozenset[str]) -> float:
        """Return the net saving of a set relative to the cost of the run; minus infinity if over the budget."""
        price = self.price_usd(chosen)
        if price > self.budget_usd:
            return -math.inf
        cost_usd = self.scenario.usd_per_h * self.months * H_PER_MONTH
        return self.saved_share(chosen) - (price / cost_usd if cost_usd > 0 else LEAST_SHARE * len(chosen))

    @functools.cached_property
    def _incompatible(self) -> dict[str, set[str]]:
        """The incompatible candidates of each candidate."""
        names = list(self.candidates)
        return {name: {other for other in names if self.catalogue.conflict(name, other)} for name in names}

    def go_together(self, chosen: Iterable[str]) -> bool:
        """Return whether no two mitigations of a set conflict."""
        names = set(chosen)
        return not any(self._incompatible[name] & names for name in names)

    def _neighbours(self, chosen: frozenset[str]) -> Iterator[frozenset[str]]:
        """Yield the compatible sets that are one addition, removal or swap away."""
        for name in chosen:
            yield chosen - {name}
        for name in self.candidates.keys() - chosen:
            if self.go_together(chosen | {name}):
                yield chosen | {name}
            for other in chosen:
                if self.go_together(swapped := (chosen - {other}) | {name}):
                    yield swapped

    def best(self) -> frozenset[str]:
        """Return the set that no single change improves, nor one more mitigation instead of all that exclude it.

        With a binding budget a search also starts from each mitigation alone, because a cheaper one may leave room for
        another.
        """
        chosen = self._climbed(frozenset())
        is_binding = self.price_usd(self.candidates) > self.budget_usd
        for name in sorted(self.candidates) if is_binding else ():
            if self.prices[name] <= self.budget_usd:
                chosen = self._better(chosen, self._climbed(self._climbed(frozenset([name]), name)))
        tried: set[frozenset[str]] = set()
        while chosen not in tried:
            tried.add(chosen)
            for name in sorted(self.candidates.keys() - chosen):
                if excluded := self._incompatible[name] & chosen:
                    forced = self._climbed((chosen - excluded) | {name}, name)
                    chosen = self._better(chosen, forced)
        return chosen

    def _better(self, first: frozenset[str], second: frozenset[str]) -> frozenset[str]:
        """Return the set with the larger value; ties are broken by id."""
        gained = self.value(second) - self.value(first)
        if abs(gained) <= _ROUNDING:
            return min(first, second, key=sorted)
        return second if gained > 0 else first

    def _climbed(self, chosen: frozenset[str], fixed: str = "") -> frozenset[str]:
        """Return the set after repeated best single changes, until none improves it; ``fixed`` stays."""
        while True:
            best = chosen
            others = [other for other in self._neighbours(chosen) if not fixed or fixed in other]
            new = [other for other in others if other not in self._at_best]
            self._answer(other for other in new if self.price_usd(other) <= self.budget_usd)
            for other in others:
                best = self._better(best, other)
            if self.value(best) <= self.value(chosen) + _ROUNDING:
                return chosen
            chosen = best

    def recommendation(self) -> Recommendation:
        """Return the best set in order, with its alternatives and the mitigations not in it."""
        chosen = self.best()
        steps, above = [], frozenset[str]()
        while above != chosen:
            left = sorted(chosen - above)
            name = max(left, key=lambda name: self.value(above | {name}))  # ties: the first by id
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
            tuple(
                job._replace(applicable=frozenset(ids))
                for job, ids in zip(self._described, self._applicable, strict=True)
            ),
        )

    def _per_month(self, share: float) -> tuple[float, float]:
        """Return a saved share of the wall clock in hours and in money per month. [h], [USD]"""
        return share * H_PER_MONTH, share * H_PER_MONTH * self.scenario.usd_per_h

    def _payback_months(self, name: str, others: frozenset[str]) -> float:
        """Return the payback time of a mitigation on top of others; infinite if it never pays back. [month]"""
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
        """Return the best replacements of steps: cheaper ones, and those with better evidence."""
        chosen = frozenset(order)
        best_by_kind: dict[tuple[tuple[str, ...], bool], tuple[float, Alternative]] = {}
        for name in sorted(self.candidates.keys() - chosen):
            excluded = self._incompatible[name] & chosen
            for replaced in [excluded] if excluded else [{step} for step in order]:
                others = chosen - replaced
                gained = self.value(others | {name}) - self.value(others)
                saved, replaced_share = self.saved_share(others | {name}, others), self.saved_share(chosen, others)
                if gained <= _ROUNDING or saved < _LEAST_OF_STEP * replaced_share:
                    continue
                is_cheaper = self.prices[name] < self.price_usd(replaced)
                is_better_known = self._evidence(name) < max(map(self._evidence, replaced))
                alternative = Alternative(
                    name,
                    self.candidates[name].title,
                    self.effect[name],
                    tuple(step for step in order if step in replaced),
                    self._per_month(saved)[0],
                    self._per_month(replaced_share)[0],
                    self.prices[name],
                    is_cheaper,
                )
                for kind, applies in ((False, is_cheaper), (True, is_better_known)):
                    key = alternative.replaces, kind
                    if applies and gained > best_by_kind.get(key, (0.0,))[0]:
                        best_by_kind[key] = gained, alternative
        best = sorted(best_by_kind.items(), key=lambda item: (order.index(item[0][0][0]), item[0][1]))
        return tuple(dict.fromkeys(alternative for _, (_, alternative) in best))

    def _evidence(self, name: str) -> int:
        """Return the place of a mitigation's evidence in :data:`EFFECTS`, 0 for the best."""
        return EFFECTS.index(self.effect[name])

    def _why_not(self, name: str, chosen: frozenset[str]) -> str:
        """Return why a mitigation is not in the set, as part of a sentence."""
        if against := sorted(self._incompatible[name] & chosen):
            return f"not compatible with {listed([self.catalogue[other].title for other in against])}"
        if self.price_usd(chosen | {name}) > self.budget_usd:
            return "over the budget"
        if self.saved_share(chosen | {name}, chosen) == -math.inf:
            return "not covered by the analytical model together with the others"
        return f"saving below its price within {months_in_words(self.months)}"

    @functools.cached_property
    def effect(self) -> dict[str, str]:
        """Evidence for the size of each candidate's effect."""
        return {name: mitigation.effect_basis(entry.changes) for name, entry in self.candidates.items()}
