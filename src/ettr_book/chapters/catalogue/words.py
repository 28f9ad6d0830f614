"""Text on the agreement of the exact model with simulation."""

from __future__ import annotations

import pandas as pd

from ettr.core.sentences import Finding, count
from ettr_book.chapters.common.mitigations import small


def closed(frame: pd.DataFrame) -> Finding:
    """Return the agreement of the exact model with simulation; ``frame`` as from ``tables.beside_closed_form``."""
    if frame.empty:
        text = "The exact model covers none of these mitigations, or they do not change ETTR."
        return Finding(title="The exact model covers none of these mitigations", text=text)
    off = frame["apart"].abs()
    worst = frame.loc[off.idxmax()]
    inside = int(frame["agrees"].sum())
    typical = float(off.median())
    return Finding(
        title=f"The exact model is off by {_hundredths(typical)} points in the median",
        text=(
            f"The exact model covers {count(len(frame))} mitigations. For {count(inside)} its gain lies within the "
            f"simulation's 95% CI, and its median error is {_hundredths(typical)} points of ETTR. The largest error is "
            f"that of {small(worst['title'])}: {_hundredths(worst['closed'])} points, against "
            f"{_hundredths(worst['simulated'])} simulated. The exact model leaves out nodes in repair, slow nodes and "
            "people, so its gains differ where those matter."
        ),
    )


def _hundredths(fraction: float) -> str:
    """Return a difference of fractions in points, to two decimals."""
    return f"{100 * fraction + 0.0:.2f}".replace("-0.00", "0.00")
