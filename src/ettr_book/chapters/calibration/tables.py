"""Published runs beside what the model of throughput makes of them."""

from __future__ import annotations

import pandas as pd

from ettr.scaling import calibration

SAID_BY_ROWS = calibration.SAID_BY_ROWS
"""Rows moved a constant where they leave less than this of its prior's standard deviation."""
AIM_POINTS = 3.0
"""How far a published run that a fit used may lie off the model. [% of utilisation]"""


def calibrated_runs() -> pd.DataFrame:
    """Published runs beside what the model makes of them, with the constants fitted to their study.

    Returns
    -------
    DataFrame
        ``study``, ``run_id``, ``title``, ``n_gpus`` [GPUs], ``measured_pct``, ``computed_pct``, ``residual_points``
        [%], ``relative_to``, ``used``, ``source``, ``status``, ``note``, ``kernel_efficiency``, ``jitter``,
        ``moved`` (names of the constants that the study's rows moved, joined by commas). Rows that others are given
        relative to are left out: they agree by definition.
    """
    frames = []
    for study in calibration.studies():
        fitted = calibration.fit(study)
        own = {name: getattr(fitted.constants, name) for name in ("kernel_efficiency", "jitter")}
        frames.append(fitted.rows.assign(study=study, moved=", ".join(fitted.moved), **own))
    rows = pd.concat(frames, ignore_index=True)
    return rows[rows["relative_to"].fillna("") != rows["run_id"]].reset_index(drop=True)
