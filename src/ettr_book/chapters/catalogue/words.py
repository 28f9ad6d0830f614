"""What is said of the catalogue: what is assumed, what was published, whose gains are whose, and all their places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, count, listed, literal, number, pct
from ettr_book.chapters.catalogue.tables import NO_EVIDENCE
from ettr_book.chapters.common.mitigations import saved, small
from ettr_book.chapters.common.table import heads

if TYPE_CHECKING:
    from ettr.recommendation import Attribution, Comparison


def assumed(comparison: Comparison, values: pd.DataFrame) -> Finding:
    """What is assumed of the scenario; ``values`` as from ``tables.assumed_values``."""
    run = comparison.study.scenario
    statuses = values["status"].value_counts()
    n_assumed = int(statuses.get("assumed", 0))
    sections = list(dict.fromkeys(_section(field) for field in values["field"]))
    return Finding(
        title=f"{count(len(values))} values are assumed here, {count(n_assumed)} of them without evidence",
        text=(
            f"*{literal(run.title)}* says nothing of what many mitigations act on. {count(len(values))} values are "
            f"assumed here, {count(n_assumed)} of them without evidence: on {listed(sections)}. What a mitigation "
            f"saves of an assumption is as true as the assumption."
        ),
    )


def _section(field: str) -> str:
    if field.startswith("failures.modes."):
        return f"*{field.removeprefix('failures.modes.').rpartition('.')[0]}*"
    first, _, rest = field.partition(".")
    name = rest.partition(".")[0] if first == "failures" else first
    return {"slow_nodes": "slow nodes", "recovery": "recovery by people"}.get(name, name)


def assumed_cells(values: pd.DataFrame) -> pd.DataFrame:
    """The assumptions as a table shows them."""
    names = heads("field", "value", "unit", "status", "source", "note")
    return values.rename(columns=names)[list(names.values())]


def published(frame: pd.DataFrame) -> Finding:
    """What was published, and what the model makes of it; ``frame`` as from ``tables.published_pairs``."""
    verdicts = frame["verdict"].value_counts()
    told_by = [f"{count(int(verdicts.get(name, 0)))} {name}" for name in ("reproduced", "consistent", "not derivable")]
    underived = int(verdicts.get("not derivable", 0))
    pairs = int(frame["before"].notna().sum())
    broken = frame.loc[~frame["holds"], "quantity"]
    wrong = f" The computation does not bear out: {'; '.join(broken)}." if len(broken) else ""
    return Finding(
        title=f"{count(underived)} of {count(len(frame))} published figures cannot be derived",
        text=(
            f"Of {count(len(frame))} published figures, {count(pairs)} of them with the value before, "
            f"{listed(told_by)}. *Not derivable* does not mean wrong: what would be needed to compute it is not "
            f"stated, mostly the state "
            f"before, or how long jobs ran. Few of the rows say what a mitigation is worth to a whole job.{wrong}"
        ),
    )


def published_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Published figures as a table shows them."""
    units = ["" if unit == "1" else f" {unit}" for unit in frame["unit"]]
    before = [
        "" if math.isnan(value) else f"{value:g}{unit}" for value, unit in zip(frame["before"], units, strict=True)
    ]
    return pd.DataFrame(
        {
            "Mitigation": frame["title"],
            "Published": frame["quantity"],
            "Before": before,
            "After": [f"{value:g}{unit}" for value, unit in zip(frame["after"], units, strict=True)],
            "Verdict": frame["verdict"],
            "Computed": frame["computed"],
            "Here [days]": _rounded(frame["days"]),
            "Why": frame["why"],
            "Source": frame["source"],
            "Status": frame["status"],
        }
    )


def _rounded(values: pd.Series) -> list[str]:
    return ["" if math.isnan(value) else f"{value:+.2f}" for value in values.astype(float)]


def places(frame: pd.DataFrame) -> Finding:
    """How many there are, and why some have no rank; ``frame`` as from ``tables.places``."""
    asked = frame["asked_by"].map(bool).sum()
    return Finding(
        title=f"{count(len(frame))} mitigations and their places",
        text=(
            f"Of {count(len(frame))} mitigations {count(int(asked))} are asked for by a source document. "
            f"{count(int((frame['evidence'] == NO_EVIDENCE).sum()))} have nothing published of what they do, and "
            f"{count(int((frame['place'] == 'not modelled').sum()))} are not modelled; the reasons are in the table."
        ),
    )


def place_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Places as a table shows them."""
    ends = [
        "" if pd.isna(row.low) else f"{row.low:+.2f} to {row.high:+.2f}" for row in frame[["low", "high"]].itertuples()
    ]
    return pd.DataFrame(
        {
            "Mitigation": frame["title"],
            "Place": frame["place"],
            "Days": _rounded(frame["days"]),
            "95%": ends,
            "Acts on": frame["group"],
            "Evidence": frame["evidence"],
            "Its effect is": frame["effect"],
            "Why not": frame["why"],
        }
    )


def documents(frame: pd.DataFrame) -> Finding:
    """What each source document asks for; ``frame`` as from ``tables.by_document``."""
    by = frame.groupby("key", sort=False)
    sentences = []
    for _, group in by:
        best = group[group["days"].notna()].sort_values("days", ascending=False)
        most = f", of which {small(best['title'].iloc[0])} is worth most here" if len(best) else ""
        sentences.append(f"*{group['document'].iloc[0]}*: {count(len(group))}{most}.")
    return Finding(
        title=f"{count(by.ngroups)} documents ask for {count(frame['id'].nunique())} mitigations",
        text=" ".join(sentences),
    )


def document_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """What documents ask for as a table shows it."""
    return pd.DataFrame(
        {
            "Document": frame["document"],
            "Mitigation": frame["title"],
            "Place": frame["place"],
            "Days": _rounded(frame["days"]),
            "Evidence": frame["evidence"],
        }
    )


def closed(frame: pd.DataFrame) -> Finding:
    """Whether the closed form agrees; ``frame`` as from ``tables.beside_closed_form``."""
    if frame.empty:
        text = "The closed form has no term for what these mitigations change, or they change nothing of the ETTR."
        return Finding(title="The closed form has nothing to say", text=text)
    off = frame["apart"].abs()
    worst = frame.loc[off.idxmax()]
    inside = int(frame["agrees"].sum())
    typical = float(off.median())
    return Finding(
        title=f"The closed form is off by {_hundredths(typical)} points in the median",
        text=(
            f"Of {count(len(frame))} mitigations that the closed form has a term for, it lies within the simulation's "
            f"95% for {count(inside)}, and is off by {_hundredths(typical)} points of ETTR in the median; most for "
            f"{small(worst['title'])}, with {_hundredths(worst['closed'])} for {_hundredths(worst['simulated'])} "
            f"points. It "
            f"leaves out nodes in repair, slow nodes and people, so that gains beside those come out different."
        ),
    )


def _hundredths(fraction: float) -> str:
    """A difference of fractions in points, to a hundredth of one."""
    return f"{100 * fraction + 0.0:.2f}".replace("-0.00", "0.00")


def shares(shared: Attribution) -> Finding:
    """How a common gain is shared; as from ``tables.shared_gain``."""
    if shared.frame.empty:
        return Finding("Nothing to share", "Nothing is lost here that could be saved.")
    frame = shared.frame
    first = frame.iloc[0]
    sentences = [
        f"Together the {count(len(frame))} that go together save {saved(shared.together)} "
        f"({number(shared.together_low)} to {number(shared.together_high)} days). Over all orders in which they may "
        f"come {small(first['title'])} adds {saved(first['value'])} on average, "
        f"{pct(first['value'] / shared.together, 0)} of it."
        if shared.together > 0
        else f"Together the {count(len(frame))} that go together save nothing for certain."
    ]
    order_alone = frame.sort_values("alone", ascending=False)["id"].tolist()
    if len(frame) > 1:
        sentences.append(
            "The order is that of the gains alone."
            if order_alone == frame["id"].tolist()
            else "The order is another than that of the gains alone: those that save the same hours share them."
        )
    ratio = (frame["last"] / frame["alone"]).where(frame["alone"] > 0)
    if ratio.min() < 0.9:
        least = frame.loc[ratio.idxmin()]
        sentences.append(
            f"Added last, {small(least['title'])} gains {_signed(least['last'])} of the {saved(least['alone'])} "
            f"that it gains alone."
        )
    return Finding(title=f"{saved(shared.together)} together, and whose they are", text=" ".join(sentences))


def _signed(value: float) -> str:
    return saved(value) if value >= 0 else f"minus {saved(value)}"
