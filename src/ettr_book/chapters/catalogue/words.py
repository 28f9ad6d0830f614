"""What is said of the catalogue: whether the closed form agrees with simulation, and whose gains are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, count, number, pct
from ettr_book.chapters.common.mitigations import saved, small

if TYPE_CHECKING:
    from ettr.recommendation import Attribution


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
