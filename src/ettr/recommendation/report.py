"""What a comparison says to people, on one screen: the ranking, what is not in it, and the best sets together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ettr.core.report import Headline, Note, Report, Table
from ettr.core.sentences import about, count, number, pct, usd
from ettr.core.units import H_PER_MONTH
from ettr.ranges.assumed import condition_of

if TYPE_CHECKING:
    from ettr.recommendation.additions import Addition
    from ettr.recommendation.alone import Comparison
    from ettr.recommendation.answer import Recommendation
    from ettr.recommendation.study import Study

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


def of_comparison(
    answer: Comparison, found: Recommendation | None, added: Sequence[Addition], everything: bool
) -> Report:
    """The ranking on one screen, or everything there is; and the recommended set with what simulation adds to it."""
    sections: Report = [Headline(answer.study.scenario.title), Note(_base(answer))]
    sections += _ranking(answer, everything)
    sections += _not_ranked(answer, everything)
    if found:
        sections += [Headline("Recommended together"), *found.report(names_others=False)]
        sections += _added(answer, found, added)
        if everything:
            sections += found.details()
    return [*sections, *_footnotes(answer, everything)]


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
            one.id,
            usd(about(one.gained.mean * per.share)),
            f"{usd(about(one.gained.low * per.share))} to {usd(about(one.gained.high * per.share))}",
            usd(about(one.price_usd)),
            one.effect,
            ", ".join(dict.fromkeys(_section(path) for path in one.assumed)),
        )
        for one in added
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


def _ranking(answer: Comparison, everything: bool) -> Report:
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
        shown = rows if everything else rows.head(most)
        ranges = answer.ranges_of(shown["id"]) if everything else answer.ranges
        sections += [Headline(title), _table(answer, shown, ranges)]
        if answer.measure == "usd" and not (rows["usd_gain"] > 0).any():
            sections.append(Note("Each of these costs more than it saves"))
        if len(rows) > len(shown):
            sections.append(Note(f"and {len(rows) - len(shown)} more that save less (--all)", dim=True))
    return sections


def _table(answer: Comparison, shown: pd.DataFrame, ranges: pd.DataFrame | None) -> Table:
    """Mitigations with what they gain, of the measure they are ranked by with its range."""
    columns = _columns(answer)
    ends = {} if ranges is None else {row.id: row for row in ranges.itertuples()}
    titles, rows = [], [[row["id"]] for row in shown.to_dict("records")]
    for name, (title, factor, decimals) in columns.items():
        scale = _scale(answer, name, factor)
        titles.append(title)
        for cells, gained in zip(rows, shown[f"{name}_gain"], strict=True):
            cells.append(_digits(scale * gained, decimals))
        if name == answer.measure and ends:
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


def _not_ranked(answer: Comparison, everything: bool) -> Report:
    """What is in place, straw men, and what has no answer: a line each, or all of it."""
    frame, placed = answer.frame, answer.placed
    sections: Report = []
    if len(placed) and everything:
        sections += [Headline("In place already, or taken to be, and worth"), _table(answer, placed, None)]
    elif len(placed):
        sections.append(Note(_worths(answer, placed)))
    for row in frame[frame["straw_man"] != ""].itertuples():
        sections.append(Note(f"Straw man, not ranked: {row.id} against {row.straw_man}"))
    how = _listed if everything else _counted
    return [*sections, *how(answer.unanswered, answer.unpublished)]


def _worths(answer: Comparison, placed: pd.DataFrame) -> str:
    """What is in place with what it is worth of the measure."""
    title, factor, decimals = _columns(answer)[answer.measure]
    scale = _scale(answer, answer.measure, factor)
    worths = [f"{row['id']} {_digits(scale * row[f'{answer.measure}_gain'], decimals)}" for _, row in placed.iterrows()]
    return f"In place already, and worth ({title}): {', '.join(worths)}"


def _counted(unanswered: pd.DataFrame, unpublished: pd.DataFrame) -> Report:
    """How many are left out, and why, in a line."""
    counts = [f"{n} {state}" for state, n in Counter(unanswered["state"]).items()]
    counts += [f"{len(unpublished)} without any published figure"] if len(unpublished) else []
    return [Note(f"Left out: {', '.join(counts)} (--all names them)", dim=True)] if counts else []


def _listed(unanswered: pd.DataFrame, unpublished: pd.DataFrame) -> Report:
    sections: Report = []
    if len(unpublished):
        sections += [Headline("Without any published figure, not ranked"), Note(", ".join(unpublished["id"]))]
    if len(unanswered):
        sections.append(Headline("No answer here"))
        sections += [Note(f"{row.id}: {row.state}; {row.why}") for row in unanswered.itertuples()]
    return sections


def _footnotes(answer: Comparison, everything: bool) -> Report:
    """How to read the ranges, and what is assumed."""
    notes = []
    shown = len(answer.known) + len(answer.assumed)
    if shown:
        notes.append(_of_ranges(answer, everything))
    if shown and answer.measure == "ettr":
        notes.append("The ETTR counts slower training as productive, which the days do not")
    if answer.completed.assumptions:
        paths = _with_users(answer) if everything else _sections(answer.completed.assumed)
        whom = " Each only for what acts on it." if answer.completed.assumed_of_run and not everything else ""
        notes.append(
            f"Assumed beyond the scenario: {paths}.{whom} Set them with --set, or leave all out with --as-given"
        )
    return [Note(text, dim=True) for text in notes]


def _of_ranges(answer: Comparison, everything: bool) -> str:
    """What the ranges are over, and what the mark means."""
    known, simulated = condition_of(answer.study.scenario), answer.ranges["only_simulated"]
    given = f", given {known}" if known else ""
    text = f"Plausible range: across the assumed inputs{given}, and a weaker or stronger effect"
    if not (everything or simulated.any()):
        return text
    return f"{text}; *: 95% interval of the simulated mean alone, as the analytical model does not cover it"


def _with_users(answer: Comparison) -> str:
    """Paths of what is assumed, those that are assumed for the same mitigations together with their names."""
    users: dict[tuple[str, ...], list[str]] = {}
    rows = answer.compared.to_dict("records")
    for path in dict.fromkeys(answer.completed.assumed):
        ids = tuple(row["id"] for row in rows if path in row["assumed"].split(", "))
        users.setdefault(ids, []).append(path)
    return "; ".join(f"{', '.join(paths)} for {', '.join(ids) or 'all'}" for ids, paths in users.items())


def _sections(paths: list[str]) -> str:
    """Paths by the section that they are in, with their number where there are several, e.g. ``repair (5)``."""
    names = Counter(_section(path) for path in dict.fromkeys(paths))
    return ", ".join(name if n == 1 else f"{name} ({n})" for name, n in names.items())


def _section(path: str) -> str:
    first, *rest = path.split(".")
    return ".".join([first, *rest[:1]]) if first == "failures" else first
