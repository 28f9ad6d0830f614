"""One scenario with different mitigations, simulated on the same failures; results are cached."""

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
"""Called with the number of simulated scenarios and their total."""
_OF_MONEY = ("cost", "power")
"""Sections that affect the cost of a run but not its course."""
NO_ANSWER = (InputError, NoProgress, OutsideValidity)
"""Errors for which a scenario is not compared: invalid changes, no progress, or no answer of the model."""


@dataclass(frozen=True, eq=False)
class Study:
    """A scenario to compare mitigations on.

    Attributes
    ----------
    scenario : Scenario
        The scenario of the user.
    baseline : Scenario
        The scenario with assumed prices and power where it has none; after :meth:`together` also with the fields that
        the mitigations act on.
    assumptions : tuple of Assumption
        The assumed fields.
    catalogue : Catalogue
        The catalogue of all mitigations.
    n_runs, seed : int
        Simulated runs of each scenario; all share the random numbers of one seed.
    interval : {"best", "given"}
        Checkpoint at the best interval of each scenario, or at the current one.
    assumes : bool
        Whether each set of mitigations gets its own baseline, with the fields that they need; otherwise all share one.

    Examples
    --------
    >>> runs = study(Scenario.load("llama3-405b"), n_runs=20).runs(["peer-checkpoint"])
    >>> runs.n_runs
    20
    """

    scenario: Scenario
    baseline: Scenario
    assumptions: tuple[Assumption, ...]
    catalogue: Catalogue
    n_runs: int
    seed: int
    interval: Interval
    assumes: bool = False
    _simulated: dict[frozenset[str], Runs] = field(default_factory=dict, init=False, repr=False)
    _completed: dict[frozenset[str], Study] = field(default_factory=dict, init=False, repr=False)

    @property
    def assumed(self) -> list[str]:
        """Paths of the assumed fields."""
        return [assumption.path for assumption in self.assumptions]

    @property
    def assumed_of_run(self) -> list[str]:
        """Paths of the assumed fields that affect a run, without prices and power."""
        return [path for path in dict.fromkeys(self.assumed) if not path.startswith(_OF_MONEY)]

    def together(self, ids: Iterable[str]) -> Study:
        """Return a study with one baseline that has the fields all of these mitigations act on."""
        if not self.assumes:
            return self
        changed = frozenset(path for name in ids for path in self.catalogue[name].acts_on)
        if changed not in self._completed:
            completed = mitigation.with_assumptions(self.scenario, self.catalogue, {*changed, *_OF_MONEY})
            alike = (study for study in self._completed.values() if study.assumptions == completed.assumptions)
            with_fields = replace(self, baseline=completed.scenario, assumptions=completed.assumptions, assumes=False)
            self._completed[changed] = next(alike, with_fields)
        return self._completed[changed]

    def runs(self, ids: Iterable[str] = ()) -> Runs:
        """Return runs with these mitigations, on a baseline with the fields they act on; without any of the baseline.

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
        if chosen not in self._simulated:
            order = [name for name in self.catalogue.ids if name in chosen]
            order += sorted(chosen - set(order))  # unknown ids, so that they are refused
            run = mitigation.apply(self.bare, order, self.catalogue) if order else self.bare
            self._simulated[chosen] = self.simulated(run, sum(self.price_usd(self.catalogue[name]) for name in order))
        return self._simulated[chosen]

    def before(self, ids: Iterable[str]) -> Runs:
        """Return runs of the baseline that these mitigations are compared with."""
        return self.together(ids).runs()

    @cached_property
    def bare(self) -> Scenario:
        """The baseline without the origins of its values, which makes changes faster."""
        return self.baseline.override({"evidence": {}}) if self.baseline.evidence else self.baseline

    def simulated(self, run: Scenario, price_usd: float = 0.0) -> Runs:
        """Return runs of another scenario with the same random numbers."""
        return run_scenario(run, self.n_runs, self.seed, self.interval, price_usd)

    def price_usd(self, entry: Mitigation) -> float:
        """Return the price of a mitigation for this job. [USD]"""
        return entry.price.of(self.baseline.cluster.n_gpus)


def study(
    scenario: Scenario,
    n_runs: int = 1000,
    seed: Seed = 0,
    interval: Interval = "best",
    of: Catalogue | None = None,
    as_given: bool = False,
) -> Study:
    """Return a study that compares mitigations on a scenario.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_runs : int
    seed : int or numpy.random.Generator
        Seed, and simulated runs of each scenario; the same seed gives all scenarios the same failures.
    interval : {"best", "given"}
        Checkpoint at the best interval of each scenario by the analytical model, or at the current one.
    of : Catalogue, optional
        Catalogue of mitigations; that of the project by default.
    as_given : bool
        Whether to assume no fields that the scenario does not have.

    Returns
    -------
    Study
        Nothing is simulated until runs are requested.

    Raises
    ------
    InputError
        Fewer than two runs, which have no standard error, or an unknown interval.

    Examples
    --------
    >>> study(Scenario.load("llama3-405b"), n_runs=20).assumed_of_run
    []
    """
    check_runs(n_runs)
    if interval not in get_args(Interval):
        raise InputError(f"interval must be {' or '.join(get_args(Interval))}, got {interval!r}")
    catalogue = of or mitigation.catalogue()
    unpriced = Study(scenario, scenario, (), catalogue, int(n_runs), seed_of(seed), interval, assumes=not as_given)
    priced = unpriced.together(())
    return replace(unpriced, baseline=priced.baseline, assumptions=priced.assumptions)


def check_measure(measure: str) -> None:
    """Refuse an unknown measure."""
    if measure not in UNITS:
        raise UnknownName("measure", measure, UNITS)
