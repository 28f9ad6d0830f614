"""The figures of the GPUs, side by side."""

from __future__ import annotations

import pandas as pd

from ettr import evidence
from ettr.scenario import Gpu


def part_figures() -> pd.DataFrame:
    """Every figure of the GPUs that are known by name.

    Returns
    -------
    DataFrame
        ``part``, and the columns of :meth:`ettr.Gpu.to_frame`.
    """
    return pd.concat([Gpu.load(name).to_frame().assign(part=name) for name in evidence.gpu_names()], ignore_index=True)
