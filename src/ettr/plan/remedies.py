"""What to do first about the hours that are lost, by the closed forms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ettr import mitigation
from ettr.budget.intervals import any_interval, best_h
from ettr.budget.simplify import mechanisms
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.report import Answer, Note, Report, Table, plain_values
from ettr.core.sentences import about, listed, number, pct, roughly, usd
from ettr.core.units import H_PER_MONTH, MIN_PER_H
from ettr.mitigation import Catalogue, Mitigation
from ettr.plan.losses import usd_per_h
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL

PUBLISHED, PARTLY, ASSUMED = "published", "published in part", "assumed"
LEAST_POINTS = 0.001
"""A remedy that gains less than a tenth of a point of the wall clock is none."""
_MONTHS = 12.0
"""Time in which a remedy must return its price, of a job that has no end (assumed)."""
_NO_ANSWER = (InputError, OutsideValidity)


@dataclass(frozen=True)
class Remedy:
    """One thing to do.

    Attributes
    ----------
    id, title : str
        Of the mitigation.
    saved_h, saved_usd : float
        Wall clock and money that a month of the same work takes less, over what was done before. [h], [USD]
    gained : float
        Share of the wall clock that is saved over what was done before.
    ettr, interval_min : float
        With it and all before it, at the best interval, and that; None beside faster tiers. [min]
    price_usd : float
        Once. [USD]
    payback_months : float
        Until it has returned its price. [month]
    needed_share : float
        Share of its effect at which it would return just its price in :attr:`Remedies.months`.
    basis : {"published", "published in part", "assumed"}
        Whether anybody published how much it does.
    """

    id: str
    title: str
    saved_h: float
    saved_usd: float
    gained: float
    ettr: float
    interval_min: float | None
    price_usd: float
    payback_months: float
    needed_share: float
    basis: str

    @property
    def pays_from(self) -> str:
        """The condition that would reverse it: the least part of its effect that returns its price."""
        return f"{max(math.ceil(100 * self.needed_share), 1)}% of it" if self.price_usd else "any of it"


@dataclass(frozen=True, eq=False, repr=False)
class Remedies(Answer):
    """What to do first, in the order of what a dollar returns; effects that nobody published come after those known.

    Attributes
    ----------
    scenario : Scenario
        The run.
    ettr : float
        Without any of them, at the best interval.
    steps : tuple of Remedy
        One after the other, each over those before it.
    months : float
        Time in which a remedy must return its price. [month]
    simulated : tuple of str
        Mitigations that no closed form follows: `ettr compare` does.
    silent : tuple of str
        Mitigations that act on something that the scenario says nothing of.
    at_a_loss : tuple of str
        Mitigations that help and do not return their price in that time.
    """

    scenario: Scenario
    ettr: float
    steps: tuple[Remedy, ...]
    months: float
    simulated: tuple[str, ...]
    silent: tuple[str, ...]
    at_a_loss: tuple[str, ...]

    @property
    def headline(self) -> str:
        """What to do first, and the ETTR with all of it."""
        if not self.steps:
            return "nothing that pays by the closed forms"
        return f"{listed([one.id for one in self.steps])}, ETTR {pct(self.steps[-1].ettr)}"

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        record = {
            "ettr": self.ettr,
            "months": self.months,
            "steps": [vars(one) for one in self.steps],
            "ask_compare": self.simulated,
            "says_nothing_of": self.silent,
            "at_a_loss": self.at_a_loss,
        }
        return dict(plain_values(record))

    def report(self, left_out: Sequence[str] = ()) -> Report:
        """The steps, and where the others are answered; ``left_out`` is what the run has and the model leaves out."""
        sections: Report = []
        if left_out:
            sections.append(
                Note(
                    f"What mitigations save is calculated without {mechanisms(left_out)}; `ettr compare` simulates "
                    "them with it."
                )
            )
        if self.steps:
            rows = [
                (
                    f"{i}. {one.id}",
                    f"{number(about(one.saved_h))} h",
                    usd(about(one.saved_usd)),
                    usd(about(one.price_usd)),
                    roughly(one.payback_months * H_PER_MONTH) if one.price_usd else "",
                    one.basis,
                    one.pays_from,
                )
                for i, one in enumerate(self.steps, 1)
            ]
            columns = ("do first, each over the last", "saves", "a month", "costs once", "back in", "effect", "pays at")
            sections.append(Table(columns, rows, words=("back in", "effect", "pays at")))
            sections.append(Note(self._notes, dim=True))
        else:
            sections.append(Note(f"Nothing that a closed form follows returns its price in {self.within}."))
        return sections

    @property
    def _notes(self) -> str:
        """What the columns leave out."""
        first, last = self.steps[0], self.steps[-1]
        every = f", a checkpoint every {roughly(first.interval_min / MIN_PER_H)}" if first.interval_min else ""
        only = f"With the first {pct(first.ettr, 0)}{every}"
        both = f"; with all {pct(last.ettr, 0)}" if len(self.steps) > 1 else ""
        return f"{only}{both}. Pays at: the part of that effect that still returns the price in {self.within}."

    @property
    def within(self) -> str:
        """The time in which a price must come back, in words."""
        return f"{self.months:.3g} months" if self.months >= 3 else roughly(self.months * H_PER_MONTH)

    @property
    def elsewhere(self) -> str:
        """Where what is not ranked is answered, as a sentence; empty if nothing is."""
        if not self.simulated:
            return ""
        some = listed(list(self.simulated[:3])) + (" and others" if len(self.simulated) > 3 else "")
        return f"Not ranked, as no formula follows them: {some}; ask `ettr compare`."


def remedies(scenario: Scenario, n: int = 3, of: Catalogue | None = None, asked: Scenario | None = None) -> Remedies:
    """What to do first about the hours that are lost.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n : int
        How many steps.
    of : Catalogue, optional
        Mitigations to choose from; the project's own without.
    asked : Scenario, optional
        The run with what no closed form follows, where ``scenario`` is without that.

    Returns
    -------
    Remedies
        Fewer steps where nothing more returns its price.

    Raises
    ------
    NotModelled, OutsideValidity
        The run itself has no closed form.

    Notes
    -----
    Each step is the one that returns most for its price, of those whose size was published; then of the others. Both
    sides stand at their best interval. A mitigation must gain a tenth of a point, and return its price within
    ``cost.payback_months``, else while the job lasts, else in a year.

    Examples
    --------
    >>> run = Scenario.of({"cluster": {"n_gpus": 4096}, "failures": {"job_mttf_h": 9}, "checkpoint": {"stall_s": 90}})
    >>> remedies(run).steps[0].id
    'async-checkpoint'
    """
    search = _Search(scenario, of or mitigation.catalogue(), asked or scenario)
    steps: list[Remedy] = []
    while len(steps) < n and (one := search.next_step()):
        steps.append(one)
    return Remedies(
        scenario,
        search.first.ettr,
        tuple(steps),
        search.months,
        tuple(search.simulated),
        tuple(search.silent),
        tuple(name for name in search.at_a_loss if name not in search.chosen),
    )


class AtBest(NamedTuple):
    """ETTR at the best interval, what the work takes there relative to others, and that, where it is the only one."""

    ettr: float
    cost: float
    interval_min: float | None


def at_best_interval(scenario: Scenario) -> AtBest:
    """What a run does at its best interval."""
    tau_h, ettrs = best_h(any_interval(scenario))
    ettr = float(ettrs)
    if not ettr > 0:
        raise OutsideValidity("the job practically never ends")
    work = scenario.productive_h if scenario.job.tokens is not None else 1.0  # a mitigation may change the hours
    interval_min = None if scenario.checkpoint.tiers else float(tau_h) * MIN_PER_H
    return AtBest(ettr, work / (scenario.speed * ettr), interval_min)


class _Search:
    """Mitigations, one after the other."""

    def __init__(self, scenario: Scenario, known: Catalogue, asked: Scenario) -> None:
        self.known, self.asked = known, asked
        self.bare = scenario.override({"evidence": {}}) if scenario.evidence else scenario
        self.first = self.now = at_best_interval(self.bare)
        self.usd_per_h = usd_per_h(scenario)
        job_h = scenario.work_h / self.first.ettr if scenario.ends else _MONTHS * H_PER_MONTH
        self.months = scenario.prices.payback_months or job_h / H_PER_MONTH
        self.chosen: tuple[str, ...] = ()
        self.simulated: list[str] = []
        self.silent: list[str] = []
        self.at_a_loss: list[str] = []
        self._known: dict[tuple[str, ...], AtBest] = {}
        self.left = [one for one in known if one.changes and self._is_followed(one)]
        self.basis = {one.id: self._basis(one) for one in self.left}

    def _is_followed(self, one: Mitigation) -> bool:
        """Whether a closed form holds for the run with a mitigation; else the reason is kept."""
        if mitigation.missing(self.bare, one):
            absent = mitigation.missing(self.asked, one)
            (self.silent if absent else self.simulated).append(one.id)
            return False
        try:
            if not self._differs(self._with((one.id,))):
                return False
            self._at((one.id,))
        except NotModelled:
            self.simulated.append(one.id)
            return False
        except InputError:  # it needs something else beside
            self.silent.append(one.id)
            return False
        except OutsideValidity:
            return False
        return True

    def _differs(self, changed: Scenario) -> bool:
        """Whether more than the interval changes, which is the best of each."""
        return changed.override({INTERVAL: "best"}) != self.bare.override({INTERVAL: "best"})

    def _with(self, ids: tuple[str, ...]) -> Scenario:
        return mitigation.apply(self.bare, ids, self.known)

    def _at(self, ids: tuple[str, ...]) -> AtBest:
        """What the run does with mitigations, worked out once."""
        if ids not in self._known:
            self._known[ids] = at_best_interval(self._with(ids))
        return self._known[ids]

    def next_step(self) -> Remedy | None:
        """The mitigation that returns most for its price over those chosen so far."""
        paying: list[Remedy] = []
        for one in self._open():
            if (remedy := self._remedy(one)) and remedy.gained >= LEAST_POINTS:
                pays = remedy.needed_share < 1
                if pays:
                    paying.append(remedy)
                elif one.id not in self.at_a_loss:
                    self.at_a_loss.append(one.id)
        if not paying:
            return None
        best = min(paying, key=lambda remedy: (remedy.basis == ASSUMED, remedy.payback_months))
        self.chosen = (*self.chosen, best.id)
        self.now = self._at(self.chosen)
        return best

    def _open(self) -> Iterator[Mitigation]:
        for one in self.left:
            if one.id not in self.chosen and not any(self.known.conflict(one.id, other) for other in self.chosen):
                yield one

    def _remedy(self, one: Mitigation) -> Remedy | None:
        try:
            after = self._at((*self.chosen, one.id))
        except _NO_ANSWER:
            return None
        saved = 1 - after.cost / self.now.cost
        saved_h = H_PER_MONTH * saved
        saved_usd = saved_h * self.usd_per_h
        price = one.price.of(self.bare.cluster.n_gpus)
        payback = price / saved_usd if saved_usd > 0 else float("inf") if price else 0.0
        return Remedy(
            one.id,
            one.title,
            saved_h,
            saved_usd,
            saved,
            after.ettr,
            after.interval_min,
            price,
            payback,
            payback / self.months,
            self.basis[one.id],
        )

    def _basis(self, one: Mitigation) -> str:
        """Whether the changes that have an effect here are somebody's figures: all, some or none."""
        assumed = [
            change.status == "assumed"
            for change in one.changes
            if mitigation.changed(self.bare, [(change, 1.0)], one.id) != self.bare
        ]
        return ASSUMED if all(assumed) else PARTLY if any(assumed) else PUBLISHED
