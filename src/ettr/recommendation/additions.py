"""Mitigations that only simulation can add to the recommended set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ettr import mitigation
from ettr.recommendation.measures import Difference, gain
from ettr.recommendation.study import NO_ANSWER, OnProgress, Study

_RUNS = 200
"""Differences between sets are large, and many sets are simulated."""
_ERRORS = 2.0
"""A mitigation is added whose paired gain exceeds this many standard errors."""


@dataclass(frozen=True)
class Addition:
    """A mitigation whose simulated gain over the recommended set is certain.

    Attributes
    ----------
    id, title, effect : str
        Of the mitigation, and how much of the size of its effect is published.
    gained : Difference
        Net saving over the set and the additions before it, all costs counted, per run. [USD]
    ettr : float
        Simulated, with the set, the additions before it, and this one.
    price_usd : float
        Once. [USD]
    assumed : tuple of str
        Paths that the scenario does not have, and that are assumed for it.
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
    """Return the mitigations that simulation adds to a set, the one that gains most first.

    Parameters
    ----------
    study : Study
        Scenario and seed; a set and the same set with one more are simulated on the same failures.
    chosen : iterable of str
        The set.
    candidates : iterable of str
        Mitigations that may be added, each from the scenario completed with what it needs.
    budget_usd : float
        The most that the prices of the set and of the additions may sum to. [USD]
    on_progress : callable, optional
        Called with how many sets are done, and how many there will be at most.

    Returns
    -------
    tuple of Addition
        Each saves more than its price by more than two standard errors, with all the others in place.
    """
    search = _Additions(study, tuple(chosen), tuple(candidates), budget_usd, on_progress)
    added: tuple[str, ...] = ()
    while best := search.best(added):
        added = (*added, best)
    while extra := search.no_longer_paying(added):
        added = tuple(name for name in added if name != extra)
    return tuple(search.steps(added))


class _Additions:
    """Simulated gains of one more mitigation over a set."""

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
        """The candidate that certainly gains most over a set with what was added to it; None where none does."""
        gains = {}
        for name in self.candidates:
            if name not in added and self._is_allowed((*self.chosen, *added, name)):
                gained = self.gained(name, added)
                if gained and gained.mean > _ERRORS * gained.error:
                    gains[name] = gained.mean
        return max(sorted(gains), key=lambda name: gains[name], default=None)

    def no_longer_paying(self, added: tuple[str, ...]) -> str | None:
        """An addition that the later ones made redundant; None where each still gains."""
        for name in added:
            gained = self.gained(name, tuple(other for other in added if other != name))
            if not gained or gained.mean <= _ERRORS * gained.error:
                return name
        return None

    def steps(self, added: tuple[str, ...]) -> Iterator[Addition]:
        """What each addition gains over those before it."""
        for i, name in enumerate(added):
            entry, gained = self.study.catalogue[name], self.gained(name, added[:i])
            own = self.study.together([*self.chosen, *added])
            assert gained is not None
            yield Addition(
                name,
                entry.title,
                mitigation.effect_basis(entry.changes),
                gained,
                own.runs([*self.chosen, *added[: i + 1]]).ettr,
                self.study.own_usd(entry),
                tuple(self.study.together([name]).assumed_of_run),
            )

    def gained(self, name: str, added: tuple[str, ...]) -> Difference | None:
        """Net saving of one more mitigation, paired run by run; None where a run has no answer. [USD]"""
        before = (*self.chosen, *added)
        own = self.study.together([*before, name])
        try:
            return gain(own.runs(before), own.runs([*before, name]), "usd")
        except NO_ANSWER:
            return None
        finally:
            self.n_done += 1
            if self.on_progress:
                self.on_progress(self.n_done, max(self.n_done, len(self.candidates)))

    def _is_allowed(self, ids: tuple[str, ...]) -> bool:
        """Whether mitigations go together, and their prices keep to the budget."""
        *others, last = ids
        if any(self.study.catalogue.conflict(last, other) for other in others):
            return False
        return sum(self.study.own_usd(self.study.catalogue[name]) for name in ids) <= self.budget_usd
