"""The comparison of mitigations, with its report: ranking, recommended set, and additions by simulation."""

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
from ettr.core.sentences import about, count, joined_range, number, pct, usd
from ettr.core.units import H_PER_MONTH
from ettr.mitigation import ASSUMED, NO_EVIDENCE
from ettr.ranges.assumed import condition_of
from ettr.recommendation.additions import Addition, additions
from ettr.recommendation.answer import Recommendation
from ettr.recommendation.measures import UNITS, Runs, gain
from ettr.recommendation.ranges import savings
from ettr.recommendation.study import OnProgress, Study

FAILS = "no answer"
"""State of a mitigation for which there is no answer."""
TRIED, IN_PLACE = "tried", "in place"
"""States of mitigations that were compared with the scenario, by adding or removing them."""
COMPARED = (TRIED, IN_PLACE)
MOST_RANKED, MOST_ASSUMED = 10, 5
"""Number of mitigations in a report, with published and with assumed effect sizes."""
_GAINS = {
    "usd": ("1000 USD", 1e-3, 0),
    "days": ("days", 1.0, 2),
    "ettr": ("ETTR points", 1e2, 1),
    "gpu_h": ("1000 GPU h", 1e-3, 0),
    "mwh": ("MWh", 1.0, 0),
}
"""Heading, factor and decimals of the gain of each measure."""
_ALWAYS = ("days", "ettr", "usd")
_NAMES = {"usd": "money", "days": "days", "ettr": "ETTR", "gpu_h": "GPU hours", "mwh": "energy"}
_IN_FULL_USD = 1e5
"""Below this largest gain, amounts are shown in dollars instead of thousands."""
_ASSUMED_COLUMNS = ("effect size", "assumed for it")
_MARK = " *"
"""Mark of a range that is only the CI of the simulated mean."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Answer):
    """A comparison of mitigations, each alone.

    Attributes
    ----------
    study : Study
        Scenario, baseline and seed.
    measure : str
        Measure that they are ranked by.
    frame : DataFrame
        A row per mitigation, as described in :func:`mitigations`.

    Examples
    --------
    >>> from ettr import Scenario, recommendation
    >>> comparison = recommendation.mitigations(Scenario.load("llama3-405b"), ["peer-checkpoint"], n_runs=20)
    >>> comparison.frame["state"].tolist()
    ['tried']
    """

    study: Study
    measure: str
    frame: pd.DataFrame

    @property
    def baseline(self) -> Runs:
        """Runs of the scenario without any of the mitigations."""
        return self.study.runs()

    @cached_property
    def completed(self) -> Study:
        """The study with all fields that are assumed for the compared mitigations."""
        return self.study.together(self.compared["id"])

    @property
    def compared(self) -> pd.DataFrame:
        """Mitigations with an answer, tried or in place."""
        return self.frame[self.frame["state"].isin(COMPARED)]

    @property
    def ranked(self) -> pd.DataFrame:
        """Mitigations with a rank: those tried, best first, and then those in place."""
        rows = self.frame[self.frame["rank"].notna()]
        return rows.sort_values(["state", "rank"], ascending=[False, True], kind="stable", ignore_index=True)

    @property
    def published(self) -> pd.DataFrame:
        """Tried mitigations whose effect size is published at least in part, best first."""
        rows = self.ranked
        return rows[(rows["state"] == TRIED) & (rows["effect"] != ASSUMED)].reset_index(drop=True)

    @property
    def assumed(self) -> pd.DataFrame:
        """Tried mitigations whose effect size is assumed, best first."""
        rows = self.ranked
        return rows[(rows["state"] == TRIED) & (rows["effect"] == ASSUMED)].reset_index(drop=True)

    @property
    def in_place(self) -> pd.DataFrame:
        """Ranked mitigations that the scenario already has, the most valuable first."""
        rows = self.ranked
        return rows[rows["state"] == IN_PLACE].reset_index(drop=True)

    @property
    def without_evidence(self) -> pd.DataFrame:
        """Compared mitigations without any published figure."""
        return self.frame[self.frame["state"].isin(COMPARED) & (self.frame["evidence"] == NO_EVIDENCE)]

    @property
    def not_compared(self) -> pd.DataFrame:
        """Mitigations that were not compared."""
        return self.frame[~self.frame["state"].isin(COMPARED)]

    @cached_property
    def ranges(self) -> pd.DataFrame:
        """Plausible ranges of the gains that a report shows.

        Returns
        -------
        DataFrame
            ``id``; ``low`` and ``high`` of the gain across the plausible ranges of the assumed inputs and of the
            effect size (5th to 95th percentile). Where the analytical model does not cover a mitigation they are the
            95% CI of the simulated mean, and ``only_simulated`` is true.
        """
        ids = [*self.published["id"].head(MOST_RANKED), *self.assumed["id"].head(MOST_ASSUMED)]
        rows = [(name, *self._range_of(name)) for name in ids]
        return pd.DataFrame(rows, columns=["id", "low", "high", "only_simulated"])

    def _range_of(self, name: str) -> tuple[float, float, bool]:
        """Return the range of a gain, and whether it is only the CI of the simulated mean."""
        study, measure = self.study.together([name]), self.measure
        gained = gain(study.runs(), study.runs([name]), measure)
        is_covered = self.frame.set_index("id")["closed_ettr_gain"].notna()[name]
        saved = savings(study.baseline, [name], study.catalogue, study.interval, study.seed) if is_covered else None
        if saved is None:
            return gained.low, gained.high, True
        moves = (saved.shares - saved.share) * study.runs().mean(measure)
        if measure == "ettr":
            moves = saved.ettr_gains - saved.ettr_gain
        return *ranges.range_of(gained.mean + moves, gained.mean), False

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON; unknown values are None."""
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
        """The scenario, and the best mitigation."""
        first = next((rows.iloc[0] for rows in (self.published, self.assumed) if len(rows)), None)
        best = "no mitigation is ranked" if first is None else f"{first['title']} ranks first by {_NAMES[self.measure]}"
        return f"{self.study.scenario.name}: {best}"

    def only_simulated(self, recommendation: Recommendation) -> list[str]:
        """Return the ids of tried mitigations that the analytical model does not cover."""
        compared = {*recommendation.ids, *recommendation.unlisted}
        rows = self.frame[(self.frame["state"] == TRIED) & ~self.frame["id"].isin(compared)]
        return list(rows["id"])

    def additions_to(
        self, recommendation: Recommendation, on_progress: OnProgress | None = None
    ) -> tuple[Addition, ...]:
        """Return the mitigations to add to the recommended set by simulation, of those that gain alone."""
        gaining = self.frame.loc[self.frame["usd_low"] > 0, "id"] if "usd_low" in self.frame else []
        candidates = [name for name in self.only_simulated(recommendation) if name in set(gaining)]
        return additions(self.study, recommendation.ids, candidates, recommendation.budget_usd, on_progress)

    def report(self, recommendation: Recommendation | None = None, added: Sequence[Addition] = ()) -> Report:
        """Return the ranking on one screen, with the recommended set if there is one."""
        sections: Report = [Headline(self.study.scenario.title), *map(Note, self.study.scenario.cautions)]
        sections.append(Note(_base(self)))
        sections += _ranking(self)
        sections += _not_ranked(self)
        if recommendation:
            sections += [Headline("Recommended together"), *recommendation.report(names_others=False)]
            sections += _added(self, recommendation, added)
        return [*sections, *_footnotes(self)]


def _added(answer: Comparison, recommendation: Recommendation, added: Sequence[Addition]) -> Report:
    """Return the simulated ETTR of the recommended set, and the additions to it."""
    sections: Report = []
    if recommendation.steps:
        ids = recommendation.ids
        ettr = answer.study.together(ids).runs(ids).ettr
        sections.append(Note(f"Simulated ETTR with all of them, on the same failures: {pct(ettr)}."))
    others = " on top of these" if recommendation.steps else ""
    n = len(answer.only_simulated(recommendation))
    within = " within the budget" if math.isfinite(recommendation.budget_usd) else ""
    if not added:
        text = (
            f"Of the {n} mitigations that only the simulator covers, none saves significantly more than its price "
            f"(two standard errors){others}{within}."
        )
        return [*sections, Note(text)] if n else sections
    per = _per(answer.study)
    rows = [
        (
            addition.title,
            usd(about(addition.gained.mean * per.share)),
            joined_range(*(usd(about(end * per.share)) for end in (addition.gained.low, addition.gained.high))),
            usd(about(addition.price_usd)),
            addition.effect,
            ", ".join(dict.fromkeys(_section(path) for path in addition.assumed)),
        )
        for addition in added
    ]
    columns = ("added by simulation", f"net saving{per.words or ' per run'}", "95% CI", "price", *_ASSUMED_COLUMNS)
    text = (
        "Each of these saves more than its price by more than two standard errors, on the same failures and on top of "
        f"{'the recommended set and ' if recommendation.steps else ''}the rows above. The losses that they reduce are "
        "assumed."
    )
    return [*sections, Table(columns, rows, words=_ASSUMED_COLUMNS), Note(text)]


def _base(answer: Comparison) -> str:
    """Return the settings of the comparison, and the run without any mitigation."""
    study, base = answer.study, answer.baseline
    at = "its best checkpoint interval" if study.interval == "best" else "the current checkpoint interval"
    per = _per(study)
    money = f"{usd(base.mean('usd') * per.share)}{per.words}"
    days = f"{number(base.mean('days'))} days, " if study.scenario.ends else ""
    return (
        f"{count(study.n_runs)} simulated runs of each scenario (seed {study.seed}), each at {at}. Without "
        f"mitigations: ETTR (Effective Training Time Ratio: productive time / wall-clock time) {pct(base.ettr)}, "
        f"{days}{money}."
    )


@dataclass(frozen=True)
class _Per:
    """The period of amounts: the run, or a month of a job without an end."""

    share: float = 1.0
    words: str = ""


def _per(study: Study) -> _Per:
    """Return the period of a study; a month is a share of the simulated year."""
    return _Per() if study.scenario.ends else _Per(H_PER_MONTH / float(study.runs().total_h.mean()), " per month")


def _ranking(answer: Comparison) -> Report:
    """Return the two tables: mitigations with published and with assumed effect sizes."""
    sections: Report = []
    per = "per run" if answer.study.scenario.ends else "per month (price spread over a year)"
    unit = _columns(answer)["usd"][0]
    ranked_by = _NAMES[answer.measure]
    for rows, most, title in (
        (
            answer.published,
            MOST_RANKED,
            f"Saving of each mitigation alone {per}, ranked by {ranked_by}; prices in {unit}",
        ),
        (answer.assumed, MOST_ASSUMED, "Mitigations with an assumed effect size"),
    ):
        if rows.empty:
            continue
        top = rows.head(most)
        sections += [Headline(title), _table(answer, top)]
        if answer.measure == "usd" and not (rows["usd_gain"] > 0).any():
            sections.append(Note("Each of these costs more than it saves."))
        if len(rows) > len(top):
            sections.append(Note(f"{len(rows) - len(top)} more save less (see `to_dict()`).", dim=True))
    return sections


def _table(answer: Comparison, rows_shown: pd.DataFrame) -> Table:
    """Return mitigations with their gains, and the range of the gain that they are ranked by."""
    columns = _columns(answer)
    ends = {row.id: row for row in answer.ranges.itertuples()}
    titles, rows = [], [[title] for title in rows_shown["title"]]
    for name, (title, factor, decimals) in columns.items():
        scale = _scale(answer, name, factor)
        titles.append(title)
        for cells, gained in zip(rows, rows_shown[f"{name}_gain"], strict=True):
            cells.append(_digits(scale * gained, decimals))
        if name == answer.measure:
            titles.append("plausible range")
            for cells, name_of_row in zip(rows, rows_shown["id"], strict=True):
                cells.append(_range(ends[name_of_row], scale, decimals))
    for cells, price, effect in zip(rows, rows_shown["own_usd"], rows_shown["effect"], strict=True):
        cells += [_digits(columns["usd"][1] * price, 0), effect]
    return Table(("mitigation", *titles, "price", "effect size"), rows, words=("effect size",))


def _scale(answer: Comparison, measure: str, factor: float) -> float:
    """Return the factor from the gain of a measure to the numbers in its column."""
    return factor * (1.0 if measure == "ettr" else _per(answer.study).share)


def _columns(answer: Comparison) -> dict[str, tuple[str, float, int]]:
    """Return the columns of gains, the measure that is ranked by first."""
    names = dict.fromkeys((answer.measure, *_ALWAYS))
    columns = {name: _GAINS[name] for name in names}
    if answer.ranked.empty:
        return columns
    amounts = answer.ranked[["usd_gain", "own_usd"]].abs().max().max()
    return columns if amounts >= _IN_FULL_USD else columns | {"usd": ("USD", 1.0, 0)}


def _range(ends: Any, scale: float, decimals: int) -> str:
    mark = _MARK if ends.only_simulated else " " * len(_MARK)
    return joined_range(*(_digits(scale * end, decimals) for end in (ends.low, ends.high))) + mark


def _digits(value: float, decimals: int) -> str:
    """Return a number with three digits and at most these decimals; a zero has no sign."""
    return f"{round(float(f'{value:.3g}'), decimals) + 0.0:,.{decimals}f}"


def _not_ranked(answer: Comparison) -> Report:
    """Return the mitigations in place, unfair comparisons, and mitigations without an answer."""
    frame, in_place = answer.frame, answer.in_place
    sections: Report = []
    if len(in_place):
        sections.append(Note(_worths(answer, in_place)))
    for row in frame[frame["straw_man"] != ""].itertuples():
        sections.append(Note(f"Not ranked: {row.title} compares against outdated practice ({row.straw_man})."))
    failed = answer.not_compared[answer.not_compared["state"] == FAILS]
    sections += [Note(f"{row.title}: {row.state}; {row.why}.") for row in failed.itertuples()]
    others = answer.not_compared[answer.not_compared["state"] != FAILS]
    counts = [f"{n} {state}" for state, n in Counter(others["state"]).items()]
    counts += [f"{len(answer.without_evidence)} without any published figure"] if len(answer.without_evidence) else []
    if counts:
        sections.append(Note(f"Not compared: {', '.join(counts)} (reasons in `to_dict()`).", dim=True))
    return sections


def _worths(answer: Comparison, in_place: pd.DataFrame) -> str:
    """Return the mitigations in place with their gains, as a sentence."""
    title, factor, decimals = _columns(answer)[answer.measure]
    scale = _scale(answer, answer.measure, factor)
    worths = [
        f"{row['title']} {_digits(scale * row[f'{answer.measure}_gain'], decimals)}" for _, row in in_place.iterrows()
    ]
    return f"Already in place, with their gain in {title}: {', '.join(worths)}."


def _footnotes(answer: Comparison) -> Report:
    """Return how to read the ranges, and the assumed fields."""
    notes = []
    n_ranked = len(answer.published) + len(answer.assumed)
    if n_ranked:
        notes.append(_of_ranges(answer))
    if n_ranked and answer.measure == "ettr":
        notes.append("The ETTR counts slower training as fully productive; the days do not.")
    if answer.completed.assumptions:
        paths = _sections(answer.completed.assumed)
        scope = " (each only for the mitigations that act on it)" if answer.completed.assumed_of_run else ""
        notes.append(
            f"Assumed in addition to the scenario: {paths}{scope}. "
            "Set them with `override()`, or assume none with `as_given=True`."
        )
    return [Note(text, dim=True) for text in notes]


def _of_ranges(answer: Comparison) -> str:
    """Return the meaning of the ranges, and of their mark."""
    condition, simulated = condition_of(answer.study.scenario), answer.ranges["only_simulated"]
    agreeing = f" (given {condition})" if condition else ""
    text = f"Plausible range: across the ranges of the assumed inputs{agreeing} and of the effect size."
    if not simulated.any():
        return text
    return f"{text} *: only the 95% CI of the simulated mean, because the analytical model does not cover it."


def _sections(paths: list[str]) -> str:
    """Return the sections of paths, with their number where there are several, e.g. ``repair (5)``."""
    names = Counter(_section(path) for path in dict.fromkeys(paths))
    return ", ".join(name if n == 1 else f"{name} ({n})" for name, n in names.items())


def _section(path: str) -> str:
    first, *rest = path.split(".")
    return ".".join([first, *rest[:1]]) if first == "failures" else first
