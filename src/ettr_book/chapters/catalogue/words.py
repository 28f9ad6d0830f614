"""What is said of the catalogue: whether the closed form agrees with simulation."""

from __future__ import annotations

import pandas as pd

from ettr.core.sentences import Finding, count
from ettr_book.chapters.common.mitigations import small


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
