"""One scenario with any of the mitigations, simulated on the same failures; what was simulated once is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import get_args

from ettr import mitigation
from ettr.core.errors import InputError, NoProgress, OutsideValidity, UnknownName
from ettr.core.seeds import Seed, seed_of
from ettr.mitigation import Assumption, Catalogue, Mitigation
from ettr.recommendation.measures import UNITS, Interval, Runs, run_scenario
from ettr.scenario import Scenario
from ettr.spares.simulated import check_runs

OnProgress = Callable[[int, int], None]
"""Called with how many scenarios are done, and how many there will be."""
_OF_MONEY = ("cost", "power")
"""Sections that decide what any run costs, and not how it goes."""
NO_ANSWER = (InputError, NoProgress, OutsideValidity)
"""Why a scenario is not compared: something does not fit, the job does not get on, or no formula holds."""


@dataclass(frozen=True, eq=False)
class Study:
    """A scenario to compare mitigations on.

    Attributes
    ----------
    scenario : Scenario
        As it was given.
    baseline : Scenario
        The same, with prices and power where it says nothing of them; of :meth:`together` with what any of these
        mitigations needs to act on, too.
    assumptions : tuple of Assumption
        What that is.
    catalogue : Catalogue
        Where the mitigations stand.
    n_runs, seed : int
        Runs of each scenario; all share the random numbers of one seed.
    interval : {"best", "given"}
        Checkpoint at the best interval of each scenario, or at the given one.
    assumes : bool
        Whether each set of mitigations is compared from a scenario of its own: the baseline, completed with what they
        need; otherwise all from the baseline.
    """

    scenario: Scenario
    baseline: Scenario
    assumptions: tuple[Assumption, ...]
    catalogue: Catalogue
    n_runs: int
    seed: int
    interval: Interval
    assumes: bool = False
    _known: dict[frozenset[str], Runs] = field(default_factory=dict, init=False, repr=False)
    _completed: dict[frozenset[str], Study] = field(default_factory=dict, init=False, repr=False)

    @property
    def assumed(self) -> list[str]:
        """Paths of what is assumed."""
        return [assumption.path for assumption in self.assumptions]

    @property
    def assumed_of_run(self) -> list[str]:
        """The same without prices and power, which change no run; each once."""
        return [path for path in dict.fromkeys(self.assumed) if not path.startswith(_OF_MONEY)]

    def together(self, ids: Iterable[str]) -> Study:
        """The study of mitigations all from one scenario, completed with what any of them needs."""
        if not self.assumes:
            return self
        changed = frozenset(path for name in ids for path in self.catalogue[name].acts_on)
        if changed not in self._completed:
            completed = mitigation.with_assumptions(self.scenario, self.catalogue, {*changed, *_OF_MONEY})
            alike = (one for one in self._completed.values() if one.assumptions == completed.assumptions)
            own = replace(self, baseline=completed.scenario, assumptions=completed.assumptions, assumes=False)
            self._completed[changed] = next(alike, own)
        return self._completed[changed]

    def runs(self, ids: Iterable[str] = ()) -> Runs:
        """Runs with these mitigations, on the scenario completed with what they need; none gives the baseline.

        Raises
        ------
        InputError
            As :func:`ettr.mitigation.apply`.
        NoProgress
            The job makes practically no progress.
        """
        chosen = frozenset(ids)
        if self.assumes:
            return self.together(chosen).runs(chosen)
        if chosen not in self._known:
            order = [name for name in self.catalogue.ids if name in chosen]
            order += sorted(chosen - set(order))  # unknown ones, for the error
            run = mitigation.apply(self.bare, order, self.catalogue) if order else self.bare
            self._known[chosen] = self.simulated(run, sum(self.own_usd(self.catalogue[name]) for name in order))
        return self._known[chosen]

    def before(self, ids: Iterable[str]) -> Runs:
        """Runs without these mitigations, on the scenario that they are compared from."""
        return self.together(ids).runs()

    @cached_property
    def bare(self) -> Scenario:
        """The baseline without the origins of its values, which no run depends on: each change of it is quicker."""
        return self.baseline.override({"evidence": {}}) if self.baseline.evidence else self.baseline

    def simulated(self, run: Scenario, own_usd: float = 0.0) -> Runs:
        """Runs of another scenario with the same random numbers."""
        return run_scenario(run, self.n_runs, self.seed, self.interval, own_usd)

    def own_usd(self, one: Mitigation) -> float:
        """Price of a mitigation for this job. [USD]"""
        return one.price.of(self.baseline.cluster.n_gpus)


def study(
    scenario: Scenario,
    n_runs: int = 1000,
    seed: Seed = 0,
    interval: Interval = "best",
    of: Catalogue | None = None,
    as_given: bool = False,
) -> Study:
    """Set out to compare mitigations on a scenario.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_runs : int
    seed : int or numpy.random.Generator
        Runs of each scenario; the same seed gives all of them the same failures.
    interval : {"best", "given"}
        Checkpoint at the closed form's best interval of each scenario, or at the scenario's own.
    of : Catalogue, optional
        Where the mitigations stand; the project's own without.
    as_given : bool
        Assume nothing where the scenario says nothing.

    Returns
    -------
    Study
        Nothing is simulated yet.

    Raises
    ------
    InputError
        Fewer than two runs, which have no error, or an interval that is neither.
    """
    check_runs(n_runs)
    if interval not in get_args(Interval):
        raise InputError(f"interval must be {' or '.join(get_args(Interval))}, got {interval!r}")
    known = of or mitigation.catalogue()
    given = Study(scenario, scenario, (), known, int(n_runs), seed_of(seed), interval, assumes=not as_given)
    priced = given.together(())
    return replace(given, baseline=priced.baseline, assumptions=priced.assumptions)


def check_measure(measure: str) -> None:
    """Refuse a measure that there is not."""
    if measure not in UNITS:
        raise UnknownName("measure", measure, UNITS)
