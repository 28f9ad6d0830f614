"""Mitigations that only the simulator covers, as additions to the recommended set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ettr import mitigation
from ettr.recommendation.measures import Difference, gain
from ettr.recommendation.study import NO_ANSWER, OnProgress, Study

_RUNS = 200
"""Simulated runs per set: differences between sets are large, and many sets are simulated."""
_ERRORS = 2.0
"""Number of standard errors that the paired gain of an addition must exceed."""


@dataclass(frozen=True)
class Addition:
    """A mitigation with a significant simulated gain on top of the recommended set.

    Attributes
    ----------
    id, title, effect : str
        Id and name of the mitigation, and the evidence for the size of its effect.
    gained : Difference
        Net saving per run on top of the set and the additions before it, all costs counted. [USD]
    ettr : float
        Simulated ETTR with the set, the additions before it, and this one.
    price_usd : float
        One-off price. [USD]
    assumed : tuple of str
        Paths of the fields that are assumed for it.
    """

    id: str
    title: str
    effect: str
    gained: Difference
    ettr: float
    price_usd: float
    assumed: tuple[str, ...]


def additions(
    study: Study,
    chosen: Iterable[str],
    candidates: Iterable[str],
    budget_usd: float = float("inf"),
    on_progress: OnProgress | None = None,
) -> tuple[Addition, ...]:
    """Return the mitigations to add to a set, by simulation, the largest gain first.

    Parameters
    ----------
    study : Study
        Scenario and seed; all sets are simulated on the same failures.
    chosen : iterable of str
        The set.
    candidates : iterable of str
        Mitigations that may be added; fields that they need are assumed.
    budget_usd : float
        Upper limit of the total price of the set and the additions. [USD]
    on_progress : callable, optional
        Called with the number of simulated sets and an estimate of their total.

    Returns
    -------
    tuple of Addition
        Each saves more than its price by more than two standard errors, on top of all the others.

    Examples
    --------
    >>> from ettr import Scenario, recommendation
    >>> study = recommendation.study(Scenario.load("llama3-405b"), n_runs=20)
    >>> additions(study, chosen=["peer-checkpoint"], candidates=[])
    ()
    """
    search = _Additions(study, tuple(chosen), tuple(candidates), budget_usd, on_progress)
    added: tuple[str, ...] = ()
    while best := search.best(added):
        added = (*added, best)
    while redundant := search.redundant(added):
        added = tuple(name for name in added if name != redundant)
    return tuple(search.steps(added))


class _Additions:
    """Simulated gains of one more mitigation on top of a set."""

    def __init__(
        self,
        study: Study,
        chosen: tuple[str, ...],
        candidates: tuple[str, ...],
        budget_usd: float,
        on_progress: OnProgress | None,
    ) -> None:
        self.study = replace(study, n_runs=min(study.n_runs, _RUNS))
        self.chosen, self.candidates, self.budget_usd = chosen, candidates, budget_usd
        self.on_progress, self.n_done = on_progress, 0

    def best(self, added: tuple[str, ...]) -> str | None:
        """Return the candidate with the largest significant gain on top of the set and its additions, if any."""
        gains = {}
        for name in self.candidates:
            if name not in added and self._is_allowed((*self.chosen, *added, name)):
                gained = self.gained(name, added)
                if gained and gained.mean > _ERRORS * gained.error:
                    gains[name] = gained.mean
        return max(sorted(gains), key=lambda name: gains[name], default=None)

    def redundant(self, added: tuple[str, ...]) -> str | None:
        """Return an addition that later ones made redundant; None where each still gains."""
        for name in added:
            gained = self.gained(name, tuple(other for other in added if other != name))
            if not gained or gained.mean <= _ERRORS * gained.error:
                return name
        return None

    def steps(self, added: tuple[str, ...]) -> Iterator[Addition]:
        """Yield each addition with its gain on top of those before it."""
        for i, name in enumerate(added):
            entry, gained = self.study.catalogue[name], self.gained(name, added[:i])
            completed = self.study.together([*self.chosen, *added])
            assert gained is not None
            yield Addition(
                name,
                entry.title,
                mitigation.effect_basis(entry.changes),
                gained,
                completed.runs([*self.chosen, *added[: i + 1]]).ettr,
                self.study.price_usd(entry),
                tuple(self.study.together([name]).assumed_of_run),
            )

    def gained(self, name: str, added: tuple[str, ...]) -> Difference | None:
        """Return the net saving of one more mitigation, paired run by run; None where a run has no answer. [USD]"""
        before = (*self.chosen, *added)
        completed = self.study.together([*before, name])
        try:
            return gain(completed.runs(before), completed.runs([*before, name]), "usd")
        except NO_ANSWER:
            return None
        finally:
            self.n_done += 1
            if self.on_progress:
                self.on_progress(self.n_done, max(self.n_done, len(self.candidates)))

    def _is_allowed(self, ids: tuple[str, ...]) -> bool:
        """Return whether the last mitigation is compatible with the others, and all are within the budget."""
        *others, last = ids
        if any(self.study.catalogue.conflict(last, other) for other in others):
            return False
        return sum(self.study.price_usd(self.study.catalogue[name]) for name in ids) <= self.budget_usd
