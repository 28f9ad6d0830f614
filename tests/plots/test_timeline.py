"""A simulated run cut into days."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ettr import simulate
from ettr.core.errors import InputError
from ettr.plots.timelines import timeline_data


def written(stretches: list[tuple[str, float]], run: int = 0) -> SimpleNamespace:
    """A simulation whose timeline is given as states and hours."""
    ends = np.cumsum([hours for _, hours in stretches])
    states = pd.Categorical([state for state, _ in stretches])
    starts = np.append(0.0, ends[:-1])
    return SimpleNamespace(timeline=pd.DataFrame({"run": run, "start_h": starts, "end_h": ends, "state": states}))


def test_stretches_are_cut_at_midnight_and_merged():
    stall = ("checkpoint", 0.01)  # shorter than a minute
    runs = written([("restart", 0.5), ("training", 20), stall, ("training", 10), ("rework", 1), ("restart", 0.5)])
    frame = timeline_data(runs)
    assert frame["state"].tolist() == ["restart", "training", "training", "rework", "restart"]
    assert frame["day"].tolist() == [1, 1, 2, 2, 2]
    assert frame["from_h"].tolist() == pytest.approx([0, 0.5, 0, 6.51, 7.51])
    assert frame["to_h"].tolist() == pytest.approx([0.5, 24, 6.51, 7.51, 8.01])
    assert frame["lasts_min"].sum() == pytest.approx(60 * 32.01)


def test_a_long_stall_is_seen():
    frame = timeline_data(written([("training", 1), ("checkpoint", 0.1), ("training", 1)]))
    assert frame["state"].tolist() == ["training", "checkpoint", "training"]


def test_days_end_as_asked_and_with_the_run():
    runs = written([("training", 100.0)])
    assert timeline_data(runs, n_days=2)["day"].tolist() == [1, 2]
    last = timeline_data(runs, n_days=9)
    assert last["day"].tolist() == [1, 2, 3, 4, 5] and last["to_h"].iloc[-1] == pytest.approx(4)


def test_more_than_a_page_can_hold_is_cut_at_a_midnight():
    dense = written([(state, 0.02) for _ in range(2400) for state in ("training", "restart")])  # four days
    frame = timeline_data(dense)
    assert frame["day"].max() == 1 and frame["lasts_min"].sum() == pytest.approx(24 * 60)
    denser = written([(state, 0.004) for _ in range(2400) for state in ("training", "restart")])
    assert len(timeline_data(denser)) == 2000


def test_a_simulation_without_a_timeline_is_refused(llama3):
    with pytest.raises(InputError, match="no timeline: simulate"):
        timeline_data(simulate(llama3, 1))
    with pytest.raises(InputError, match="n_days must be >= 1, got 0"):
        timeline_data(written([("training", 30.0)]), n_days=0)


def test_days_of_a_simulated_run_hold_what_its_timeline_holds(llama3):
    simulation = simulate(llama3, 2, timeline=[1])
    frame = timeline_data(simulation, n_days=1000)
    row = simulation.runs.loc[1]
    hours = frame.groupby("state")["lasts_min"].sum() / 60
    assert frame["lasts_min"].sum() / 60 == pytest.approx(row["total_h"])
    for part in ("rework", "detection", "restart", "maintenance"):
        assert hours[part] == pytest.approx(row[f"{part}_h"]), part
    assert (frame["to_h"] <= 24 + 1e-9).all() and (frame["from_h"] >= 0).all()
    since_h = 24 * (frame["day"] - 1) + frame["from_h"]
    np.testing.assert_allclose(since_h.to_numpy()[1:], (since_h + frame["lasts_min"] / 60)[:-1])
