"""Published runs beside the model of throughput."""

from __future__ import annotations

import numpy as np
import pytest

from ettr_book.chapters import calibration


def test_published_runs_are_told_apart_and_references_left_out():
    frame = calibration.calibrated_runs()
    residual = (frame["computed_pct"] - frame["measured_pct"]).to_numpy()
    assert frame["residual_points"].to_numpy() == pytest.approx(residual)
    assert not (frame["relative_to"] == frame["run_id"]).any()
    assert frame.groupby("study")["kernel_efficiency"].nunique().eq(1).all()
    assert frame[frame["used"]]["residual_points"].abs().max() < calibration.AIM_POINTS
    assert frame.loc[frame["residual_points"].abs().idxmax(), "run_id"] == "fsdp-8b-128"
    assert np.isfinite(frame["computed_pct"]).all()
