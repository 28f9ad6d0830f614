"""What each mitigation alone is worth, with its report: the ranking, the best set, and what simulation adds to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from ettr import ranges
from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import about, count, number, pct, usd
from ettr.core.units import H_PER_MONTH
from ettr.mitigation import ASSUMED, NO_EVIDENCE
from ettr.ranges.assumed import condition_of
from ettr.recommendation.additions import Addition, additions
from ettr.recommendation.answer import Recommendation
from ettr.recommendation.measures import UNITS, Runs, gain
from ettr.recommendation.ranges import savings
from ettr.recommendation.study import OnProgress, Study

FAILS = "no answer"
"""State of a mitigation with which there is no answer."""
TRIED, IN_PLACE = "tried", "in place"
"""Mitigations that were compared with the scenario, by adding them or by taking them away."""
COMPARED = (TRIED, IN_PLACE)
MOST_RANKED, MOST_ASSUMED = 10, 5
"""Mitigations that a report shows, with an effect whose size is published and with one that is assumed."""
_GAINS = {
    "usd": ("1000 USD", 1e-3, 0),
    "days": ("days", 1.0, 2),
    "ettr": ("points", 1e2, 1),
    "gpu_h": ("1000 GPU h", 1e-3, 0),
    "mwh": ("MWh", 1.0, 0),
}
"""Title of a column, factor and decimals of what is gained of a measure."""
_ALWAYS = ("days", "ettr", "usd")
_WORDS = {"usd": "money", "days": "days", "ettr": "ETTR", "gpu_h": "GPU hours", "mwh": "energy"}
_IN_FULL_USD = 1e5
"""Where nobody gains this much, single dollars are shown instead of thousands."""
_MARK = " *"
"""At a range of luck alone."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Answer):
    """Mitigations, each alone.

    Attributes
    ----------
    study : Study
        Scenario, baseline and seed.
    measure : str
        What they are ranked by.
    frame : DataFrame
        A row a mitigation, as from :func:`mitigations`.
    """

    study: Study
    measure: str
    frame: pd.DataFrame

    @property
    def baseline(self) -> Runs:
        """Runs without any of them, of the scenario as it is."""
        return self.study.runs()

    @cached_property
    def completed(self) -> Study:
        """The study with all that is assumed for one or the other of those that were compared."""
        return self.study.together(self.compared["id"])

    @property
    def compared(self) -> pd.DataFrame:
        """Those that have an answer, tried or in place."""
        return self.frame[self.frame["state"].isin(COMPARED)]

    @property
    def ranked(self) -> pd.DataFrame:
        """Those with a rank: the ones that were tried, best first, and then those in place."""
        rows = self.frame[self.frame["rank"].notna()]
        return rows.sort_values(["state", "rank"], ascending=[False, True], kind="stable", ignore_index=True)

    @property
    def known(self) -> pd.DataFrame:
        """Those that were tried and whose effect is published, at least in part; best first."""
        rows = self.ranked
        return rows[(rows["state"] == TRIED) & (rows["effect"] != ASSUMED)].reset_index(drop=True)

    @property
    def assumed(self) -> pd.DataFrame:
        """Those that were tried and of whose effect nobody has published the size; best first."""
        rows = self.ranked
        return rows[(rows["state"] == TRIED) & (rows["effect"] == ASSUMED)].reset_index(drop=True)

    @property
    def placed(self) -> pd.DataFrame:
        """Those in place with a rank; what is worth most first."""
        rows = self.ranked
        return rows[rows["state"] == IN_PLACE].reset_index(drop=True)

    @property
    def unpublished(self) -> pd.DataFrame:
        """Those that were compared and about which nothing was published."""
        return self.frame[self.frame["state"].isin(COMPARED) & (self.frame["evidence"] == NO_EVIDENCE)]

    @property
    def unanswered(self) -> pd.DataFrame:
        """Those that were not compared."""
        return self.frame[~self.frame["state"].isin(COMPARED)]

    @cached_property
    def ranges(self) -> pd.DataFrame:
        """How far the gain of those that a report shows may be off.

        Returns
        -------
        DataFrame
            ``id``; ``low`` and ``high`` of the measure's gain, across the plausible range of the assumed inputs and of
            how strongly it acts (5th to 95th percentile); where the analytical model does not cover it, the 95%
            interval of the simulated mean, and ``only_simulated`` is true.
        """
        shown = [*self.known["id"].head(MOST_RANKED), *self.assumed["id"].head(MOST_ASSUMED)]
        rows = [(name, *self._range_of(name)) for name in shown]
        return pd.DataFrame(rows, columns=["id", "low", "high", "only_simulated"])

    def _range_of(self, name: str) -> tuple[float, float, bool]:
        """Ends of the range of a gain, and whether only simulation follows it."""
        own, measure = self.study.together([name]), self.measure
        gained = gain(own.runs(), own.runs([name]), measure)
        is_covered = self.frame.set_index("id")["closed_ettr_gain"].notna()[name]
        found = savings(own.baseline, [name], own.catalogue, own.interval, own.seed) if is_covered else None
        if found is None:
            return gained.low, gained.high, True
        moves = (found.shares - found.share) * own.runs().mean(measure)
        if measure == "ettr":
            moves = found.ettr_gains - found.ettr_gain
        return *ranges.range_of(gained.mean + moves, gained.mean), False

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON; what is not known is None."""
        study = self.study
        return {
            "scenario": study.scenario.name,
            "assumptions_added": self.completed.assumed,
            "n_runs": study.n_runs,
            "seed": study.seed,
            "interval": study.interval,
            "measure": self.measure,
            "baseline": {
                "interval_min": self.baseline.scenario.interval_min,
                **{name: self.baseline.mean(name) for name in UNITS},
                "time_budget": self.baseline.budget.to_dict(),
            },
            "mitigations": plain_values(self.frame),
            "ranges": plain_values(self.ranges),
        }

    @property
    def headline(self) -> str:
        """The scenario, and the mitigation that comes first."""
        first = next((rows.iloc[0] for rows in (self.known, self.assumed) if len(rows)), None)
        best = "none is ranked" if first is None else f"{first['id']} comes first by {self.measure}"
        return f"{self.study.scenario.name}: {best}"

    def only_simulated(self, found: Recommendation) -> list[str]:
        """Mitigations that were tried, and that the analytical model does not compare."""
        compared = {*found.ids, *found.unlisted}
        rows = self.frame[(self.frame["state"] == TRIED) & ~self.frame["id"].isin(compared)]
        return list(rows["id"])

    def additions_to(self, found: Recommendation, on_progress: OnProgress | None = None) -> tuple[Addition, ...]:
        """Mitigations that simulation adds to the recommended set, of those that gain by themselves."""
        gaining = self.frame.loc[self.frame["usd_low"] > 0, "id"] if "usd_low" in self.frame else []
        candidates = [name for name in self.only_simulated(found) if name in set(gaining)]
        return additions(self.study, found.ids, candidates, found.budget_usd, on_progress)

    def report(self, found: Recommendation | None = None, added: Sequence[Addition] = ()) -> Report:
        """The ranking on one screen, and the recommended set, if it is given."""
        sections: Report = [Headline(self.study.scenario.title), Note(_base(self))]
        sections += _ranking(self)
        sections += _not_ranked(self)
        if found:
            sections += [Headline("Recommended together"), *found.report(names_others=False)]
            sections += _added(self, found, added)
        return [*sections, *_footnotes(self)]


def _added(answer: Comparison, found: Recommendation, added: Sequence[Addition]) -> Report:
    """What simulation says of the recommended set, and adds to it."""
    sections: Report = []
    if found.steps:
        ettr = answer.study.together(found.ids).runs(found.ids).ettr
        sections.append(Note(f"Simulated together on the same failures: ETTR {pct(ettr)}."))
    others = " with these in place" if found.steps else ""
    n = len(answer.only_simulated(found))
    within = " and within the budget" if math.isfinite(found.budget_usd) else ""
    if not added:
        text = (
            f"Simulation adds none of the {n} mitigations that only it follows: none saves more than its price by two "
        )
        return [*sections, Note(f"{text}standard errors{others}{within}.")] if n else sections
    per = _per(answer.study)
    rows = [
        (
            addition.id,
            usd(about(addition.gained.mean * per.share)),
            f"{usd(about(addition.gained.low * per.share))} to {usd(about(addition.gained.high * per.share))}",
            usd(about(addition.price_usd)),
            addition.effect,
            ", ".join(dict.fromkeys(_section(path) for path in addition.assumed)),
        )
        for addition in added
    ]
    columns = ("simulation adds", f"net saving{per.words or ' per run'}", "95% CI", "price", "effect", "assumed for it")
    text = (
        f"Each of these saves more than its price by more than two standard errors on the same failures, with "
        f"{'the recommended set and ' if found.steps else ''}those above it in place. How much there is for them to "
        "save is assumed."
    )
    return [*sections, Table(columns, rows, words=("effect", "assumed for it")), Note(text)]


def _base(answer: Comparison) -> str:
    """How it was compared, and the run without any mitigation."""
    study, base = answer.study, answer.baseline
    at = "its best interval" if study.interval == "best" else "the given interval"
    per = _per(study)
    money = f"{usd(base.mean('usd') * per.share)}{per.words}"
    days = f"{number(base.mean('days'))} days, " if study.scenario.ends else ""
    return (
        f"{count(study.n_runs)} runs of each, seed {study.seed}, at {at}. Without any of them: ETTR {pct(base.ettr)}, "
        f"{days}{money}"
    )


@dataclass(frozen=True)
class _Per:
    """What amounts are told of: the run, or per month of a job that does not end."""

    share: float = 1.0
    words: str = ""


def _per(study: Study) -> _Per:
    """That of a study; per month as a share of the year that is simulated."""
    return _Per() if study.scenario.ends else _Per(H_PER_MONTH / float(study.runs().total_h.mean()), " per month")


def _ranking(answer: Comparison) -> Report:
    """The two tables: effects that are published, and those that are assumed."""
    sections: Report = []
    per = "per run" if answer.study.scenario.ends else "per month (its price spread over a year)"
    unit = _columns(answer)["usd"][0]
    for rows, most, title in (
        (answer.known, MOST_RANKED, f"What each alone saves {per}, by {_WORDS[answer.measure]}; prices in {unit}"),
        (answer.assumed, MOST_ASSUMED, "Effect assumed, nobody has published its size"),
    ):
        if rows.empty:
            continue
        shown = rows.head(most)
        sections += [Headline(title), _table(answer, shown)]
        if answer.measure == "usd" and not (rows["usd_gain"] > 0).any():
            sections.append(Note("Each of these costs more than it saves"))
        if len(rows) > len(shown):
            sections.append(Note(f"and {len(rows) - len(shown)} more that save less (--json has them)", dim=True))
    return sections


def _table(answer: Comparison, shown: pd.DataFrame) -> Table:
    """Mitigations with what they gain, of the measure they are ranked by with its range."""
    columns = _columns(answer)
    ends = {row.id: row for row in answer.ranges.itertuples()}
    titles, rows = [], [[row["id"]] for row in shown.to_dict("records")]
    for name, (title, factor, decimals) in columns.items():
        scale = _scale(answer, name, factor)
        titles.append(title)
        for cells, gained in zip(rows, shown[f"{name}_gain"], strict=True):
            cells.append(_digits(scale * gained, decimals))
        if name == answer.measure:
            titles.append("plausible range")
            for cells in rows:
                cells.append(_range(ends[cells[0]], scale, decimals))
    for cells, price, effect in zip(rows, shown["own_usd"], shown["effect"], strict=True):
        cells += [_digits(columns["usd"][1] * price, 0), effect]
    return Table(("mitigation", *titles, "price", "effect"), rows, words=("effect",))


def _scale(answer: Comparison, measure: str, factor: float) -> float:
    """From what is gained of a measure to what its column shows."""
    return factor * (1.0 if measure == "ettr" else _per(answer.study).share)


def _columns(answer: Comparison) -> dict[str, tuple[str, float, int]]:
    """The measure that is ranked by first, then the others that are always shown."""
    names = dict.fromkeys((answer.measure, *_ALWAYS))
    columns = {name: _GAINS[name] for name in names}
    if answer.ranked.empty:
        return columns
    amounts = answer.ranked[["usd_gain", "own_usd"]].abs().max().max()
    return columns if amounts >= _IN_FULL_USD else columns | {"usd": ("USD", 1.0, 0)}


def _range(ends: Any, scale: float, decimals: int) -> str:
    mark = _MARK if ends.only_simulated else " " * len(_MARK)
    return f"{_digits(scale * ends.low, decimals)} to {_digits(scale * ends.high, decimals)}{mark}"


def _digits(value: float, decimals: int) -> str:
    """Three digits, and no more decimals than these; a zero has no sign."""
    return f"{round(float(f'{value:.3g}'), decimals) + 0.0:,.{decimals}f}"


def _not_ranked(answer: Comparison) -> Report:
    """What is in place, straw men, and what has no answer."""
    frame, placed = answer.frame, answer.placed
    sections: Report = []
    if len(placed):
        sections.append(Note(_worths(answer, placed)))
    for row in frame[frame["straw_man"] != ""].itertuples():
        sections.append(Note(f"Straw man, not ranked: {row.id} against {row.straw_man}"))
    failed = answer.unanswered[answer.unanswered["state"] == FAILS]
    sections += [Note(f"{row.id}: {row.state}; {row.why}") for row in failed.itertuples()]
    others = answer.unanswered[answer.unanswered["state"] != FAILS]
    counts = [f"{n} {state}" for state, n in Counter(others["state"]).items()]
    counts += [f"{len(answer.unpublished)} without any published figure"] if len(answer.unpublished) else []
    return [*sections, *([Note(f"Left out: {', '.join(counts)} (--json says why)", dim=True)] if counts else [])]


def _worths(answer: Comparison, placed: pd.DataFrame) -> str:
    """What is in place with what it is worth of the measure."""
    title, factor, decimals = _columns(answer)[answer.measure]
    scale = _scale(answer, answer.measure, factor)
    worths = [f"{row['id']} {_digits(scale * row[f'{answer.measure}_gain'], decimals)}" for _, row in placed.iterrows()]
    return f"In place already, and worth ({title}): {', '.join(worths)}"


def _footnotes(answer: Comparison) -> Report:
    """How to read the ranges, and what is assumed."""
    notes = []
    shown = len(answer.known) + len(answer.assumed)
    if shown:
        notes.append(_of_ranges(answer))
    if shown and answer.measure == "ettr":
        notes.append("The ETTR counts slower training as productive, which the days do not")
    if answer.completed.assumptions:
        paths = _sections(answer.completed.assumed)
        whom = " Each only for what acts on it." if answer.completed.assumed_of_run else ""
        notes.append(
            f"Assumed beyond the scenario: {paths}.{whom} Set them with --set, or leave all out with --as-given"
        )
    return [Note(text, dim=True) for text in notes]


def _of_ranges(answer: Comparison) -> str:
    """What the ranges are over, and what the mark means."""
    condition, simulated = condition_of(answer.study.scenario), answer.ranges["only_simulated"]
    given = f", given {condition}" if condition else ""
    text = f"Plausible range: across the assumed inputs{given}, and a weaker or stronger effect"
    if not simulated.any():
        return text
    return f"{text}; *: 95% interval of the simulated mean alone, as the analytical model does not cover it"


def _sections(paths: list[str]) -> str:
    """Paths by the section that they are in, with their number where there are several, e.g. ``repair (5)``."""
    names = Counter(_section(path) for path in dict.fromkeys(paths))
    return ", ".join(name if n == 1 else f"{name} ({n})" for name, n in names.items())


def _section(path: str) -> str:
    first, *rest = path.split(".")
    return ".".join([first, *rest[:1]]) if first == "failures" else first
