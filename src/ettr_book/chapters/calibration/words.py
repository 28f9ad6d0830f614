"""What is said of the published runs beside the model of throughput."""

from __future__ import annotations

import pandas as pd

from ettr.core.sentences import Finding, listed, pct
from ettr_book.chapters.calibration.tables import AIM_POINTS, SAID_BY_ROWS


def calibrated(frame: pd.DataFrame) -> Finding:
    """How far the model is off published runs; ``frame`` as from ``tables.calibrated_runs``."""
    off = frame["residual_points"].abs()
    used, left = frame[frame["used"]], frame[~frame["used"]]
    worst, most = frame.loc[off.idxmax()], off[used.index].max()
    kept = "is kept" if most <= AIM_POINTS else "is missed"
    low, high = (frame.loc[frame["kernel_efficiency"].agg(which)] for which in ("idxmin", "idxmax"))
    why = ""
    if isinstance(worst["relative_to"], str) and worst["relative_to"]:
        why = (
            f" Its study gives only ratios of throughput, which say little about jitter, so that the assumed one of "
            f"about {pct(worst['jitter'], 0)} a node shows: the nodes of that run vary less."
        )
    return Finding(
        title=f"Rows in a fit are off by at most {most:.1f} points, the others by up to {off[left.index].max():.1f}",
        text=(
            f"Constants are estimated for each study, from priors and the rows marked as used: {len(used)} of "
            f"{len(frame)}. {_moved(frame)} The aim of "
            f"{AIM_POINTS:g} points on these {kept}, the worst of them being off by {most:.1f}. The {len(left)} rows "
            f"left out are the test: in the mean they are off by {off[left.index].mean():.1f} points. Worst of all is "
            f"*{worst['title']}*, by {worst['residual_points']:+.1f} points.{why} No constants hold for all: the "
            f"efficiency of kernels goes from {low['kernel_efficiency']:.2f} ({low['study']}) to "
            f"{high['kernel_efficiency']:.2f} ({high['study']}), by GPU, precision and software."
        ),
    )


_CONSTANTS = {
    "kernel_efficiency": "the efficiency of kernels",
    "jitter": "jitter",
    "overlap": "overlap",
    "latency_us": "the latency of a hop",
}


def _moved(frame: pd.DataFrame) -> str:
    """Which constants the rows moved, and in which studies."""
    by = frame.drop_duplicates("study").set_index("study")["moved"].str.split(", ")
    studies = {name: [str(study) for study, moved in by.items() if name in moved] for name in _CONSTANTS}
    by_constant = [f"{_CONSTANTS[name]} in {_of_studies(those, len(by))}" for name, those in studies.items() if those]
    kept = [_CONSTANTS[name] for name, those in studies.items() if not those]
    text = f"The rows moved {listed(by_constant)}" if by_constant else "The rows moved none of them"
    if by_constant and kept:
        text += f", and nowhere {listed(kept)}"
    return (
        f"{text}; a constant counts as moved where they leave less than {pct(SAID_BY_ROWS, 0)} of its prior's "
        "standard deviation. The others are mostly the priors'."
    )


def _of_studies(names: list[str], n_studies: int) -> str:
    return "all studies" if len(names) == n_studies else f"{len(names)} of {n_studies} studies ({listed(names)})"
