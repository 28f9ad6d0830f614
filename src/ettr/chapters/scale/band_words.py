"""What is said of a failure rate that is not known exactly."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ettr.chapters.common.sentences import Finding, duration, gpus, number, pct


def sizes_with_bands(frame: pd.DataFrame, target: float) -> Finding:
    """Up to which size a target is reached; ``frame`` as from ``band_tables.size_with_bands``."""
    reach = {column: _reach(frame, column, target) for column in ("ettr", "low_95", "high_95")}
    known = (frame["high_95"] > frame["low_95"]).any()
    goal = pct(target, 0)
    if reach["ettr"] == 0:
        said = f"{goal} is reached at no size shown"
    elif math.isinf(reach["ettr"]):
        said = f"{goal} is reached at every size shown"
    else:
        said = f"{goal} is reached up to {gpus(_three(reach['ettr']))}"
    if not known:
        return Finding(title=said, text=f"{said}. What is known of the rate's uncertainty is not said: no bands.")
    if reach["low_95"] > 0 and math.isfinite(reach["high_95"]):
        ends = f"between {gpus(_three(reach['low_95']))} and {gpus(_three(reach['high_95']))}"
        text = f"{said}. As far as the rate is known, that size lies {ends} with 95% probability."
    else:
        text = f"{said}, as far as the rate is known."
    width = frame["high_95"] - frame["low_95"]
    widest = frame.loc[width.idxmax()]
    return Finding(
        title=said,
        text=(
            f"{text} The band is widest at {gpus(_three(widest['n_gpus']))}, from {pct(widest['low_95'])} to "
            f"{pct(widest['high_95'])}."
        )
        if width.max() > 5e-4
        else text,
    )


def _reach(frame: pd.DataFrame, column: str, target: float) -> float:
    """Largest size with the target reached, between points by the logarithm; 0 or infinite beyond the ends."""
    above = frame[column].to_numpy() >= target
    if above.all():
        return math.inf
    if not above[0]:
        return 0.0
    first = int(np.argmin(above))
    ends = frame.iloc[first - 1 : first + 1]
    return math.exp(np.interp(-target, -ends[column].to_numpy(), np.log(ends["n_gpus"].to_numpy())))


def _three(size: float) -> float:
    return float(f"{size:.3g}")


def band_by_size(frame: pd.DataFrame) -> Finding:
    """How the best interval and its band change with size; ``frame`` as from ``band_tables.band_by_size``."""
    first, last = frame.iloc[0], frame.iloc[-1]
    widths = [row["high_min"] / row["low_min"] for row in (first, last)]
    if first["interval_min"] < last["interval_min"] * (1 + 1e-6):
        title = "The best interval is the same at every size"
    else:
        times = number(last["n_gpus"] / first["n_gpus"])
        title = (
            f"{times} times the GPUs, an interval {number(first['interval_min'] / last['interval_min'])} times shorter"
        )
    forgiving = (
        "Large jobs forgive less: there it pays to know the stall and the rate."
        if widths[1] < widths[0]
        else "The range does not narrow."
    )
    return Finding(
        title=title,
        text=(
            f"The best interval is {duration(first['interval_min'] / 60)} at {gpus(first['n_gpus'])} and "
            f"{duration(last['interval_min'] / 60)} at {gpus(last['n_gpus'])}. The ends of the range that costs at "
            f"most half a point differ by a factor of {number(widths[0])} at the small size and of "
            f"{number(widths[1])} at the large one. {forgiving}"
        ),
    )
