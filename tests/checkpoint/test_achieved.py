"""What runs really did: from steps and stamps, against diaries, and against runs whose losses are known."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import Scenario, budget, evidence
from ettr.checkpoint import achieved
from ettr.core.errors import InputError
from ettr_book.chapters import two_diaries
from ettr_book.chapters.common import diaries, failure_logs

HOUR = pd.Timedelta(hours=1)
START = pd.Timestamp("2022-05-01")


def stamps(hours) -> list[pd.Timestamp]:
    return [START + float(hour) * HOUR for hour in hours]


# --------------------------------------------------------------------------- steps over time


def test_a_worked_run():
    """1,000 steps of 90 s in 40 h: 25 h are productive; the first stretch loses nothing, the second 15 h."""
    done = achieved.realised_ettr(stamps([0, 10, 40]), [500, 900, 1500], 90.0)
    assert (done.ettr, done.low, done.high) == pytest.approx((25 / 40,) * 3)
    assert (done.wall_h, done.productive_h, done.lost_h, done.n_steps) == pytest.approx((40, 25, 15, 1000))
    assert (done.first, done.last) == (START, START + 40 * HOUR)
    assert done.segments.columns.tolist() == ["start", "end", "steps", "wall_h", "ettr", "low", "high"]
    assert done.segments["ettr"].tolist() == pytest.approx([1.0, 0.5])
    assert done.segments["steps"].tolist() == [400, 600]


def test_the_resolution_opens_the_ends():
    done = achieved.realised_ettr(["2022-03-01", "2022-03-03"], [0, 1000], 144.0, 24.0)
    assert (done.ettr, done.low, done.high) == pytest.approx((40 / 48, 40 / 72, 40 / 24))
    same_day = achieved.realised_ettr(["2022-03-01", "2022-03-02"], [0, 100], 144.0, 24.0)
    assert same_day.high == math.inf  # the two stamps may be one instant


runs = st.lists(
    st.tuples(st.floats(30.0, 200.0), st.integers(0, 3000)), min_size=1, max_size=8
)  # hours of a stretch, its steps


@given(stretches=runs, step_s=st.floats(1.0, 40.0), k=st.floats(0.1, 20.0))
@settings(max_examples=25, deadline=None)
def test_time_has_no_scale_and_the_whole_is_the_mean_of_its_stretches(stretches, step_s, k):
    wall_h, steps = (np.array(column, dtype=float) for column in zip(*stretches, strict=True))
    at, reached = np.append(0, wall_h.cumsum()), np.append(0, steps.cumsum())
    done = achieved.realised_ettr(stamps(at), reached, step_s, 2.0)
    scaled = achieved.realised_ettr(stamps(at * k), reached, step_s * k, 2.0 * k)
    for end in ("ettr", "low", "high"):
        assert getattr(scaled, end) == pytest.approx(getattr(done, end), rel=1e-6)
    mean = np.average(done.segments["ettr"], weights=done.segments["wall_h"])
    assert done.ettr == pytest.approx(mean, rel=1e-9)
    assert done.low <= done.ettr <= done.high


@pytest.mark.parametrize(
    ("time", "step", "step_s", "resolution_h", "words"),
    [
        (["2022-01-01"], [0], 1.0, 0.0, "at least 2 and as many, got 1 and 1"),
        (["2022-01-02", "2022-01-01"], [0, 1], 1.0, 0.0, r"time must rise, got 2022-01-01.* \(row 2\)"),
        (
            ["2022-01-01", "2022-01-02"],
            [5, 1],
            1.0,
            0.0,
            "step must not fall, got 1 after 5 .* from which the run went on",
        ),
        (["2022-01-01", "2022-01-02"], [0, 1.5], 1.0, 0.0, "whole number, got 1.5"),
        (["2022-01-01", "noon"], [0, 1], 1.0, 0.0, "times of one zone and numbers"),
        (["2022-01-01", "2022-01-02"], [0, 1], 0.0, 0.0, "step_s must be > 0 s and finite, got 0"),
    ],
)
def test_what_is_no_progress_is_refused(time, step, step_s, resolution_h, words):
    with pytest.raises(InputError, match=words):
        achieved.realised_ettr(time, step, step_s, resolution_h)


# --------------------------------------------------------------------------- hours by kind

KINDS = {
    "node": diaries.HARDWARE,
    "loss": diaries.LOSS,
    "experiment": diaries.EXPERIMENT,
    "planned": diaries.PLANNED,
}


def diary(*rows, restarted=None) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["time", "kind", "restart_step"])
    frame["time"] = stamps(frame["time"])
    return frame if restarted is None else frame.assign(restarted=[START + hour * HOUR for hour in restarted])


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_a_run_whose_losses_are_known_gets_them_back(seed):
    """Each stretch trains for a while, then loses hours to one kind of stop; the sums by kind come back."""
    random = np.random.default_rng(seed)
    kinds = random.choice(list(KINDS), 25)
    steps, lost_h = random.integers(0, 400, 25), random.uniform(0.1, 9.0, 25)
    at_h = np.append(0, (steps * 30.0 / 3600 + lost_h).cumsum())
    rows = zip(at_h, ["start", *kinds], np.append(0, steps.cumsum()), strict=True)
    lost = diaries.lost_by_kind(diary(*rows), 30.0).set_index("group")
    for kind, group in KINDS.items():
        if (kinds == kind).any():
            assert lost.loc[group, "lost_h"] == pytest.approx(lost_h[kinds == kind].sum())
            assert lost.loc[group, "n_stops"] == lost.loc[group, "n_stretches"] == (kinds == kind).sum()
    assert lost["share"].sum() == pytest.approx(1)
    assert lost["lost_h"].is_monotonic_decreasing


def test_a_stop_without_a_step_shares_its_stretch():
    """Of 20 h, 10 are productive; a node in the middle of a stretch that a loss spike ends makes it nobody's."""
    rows = [(0, "start", 0), (8, "node", math.nan), (20, "loss", 400)]
    lost = diaries.lost_by_kind(diary(*rows), 90.0)
    assert lost[["group", "n_stops", "n_stretches"]].to_numpy().tolist() == [[diaries.MIXED, 2, 1]]
    assert lost["lost_h"].tolist() == pytest.approx([10.0])
    same = diaries.lost_by_kind(diary(rows[0], rows[1], (20, "network", 400)), 90.0)
    assert same["group"].tolist() == [diaries.HARDWARE] and same["n_stops"].tolist() == [2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows.drop(columns="kind"), "events need the column kind; there are: time, restart_step"),
        (
            lambda rows: rows.assign(kind=["start", "nodes", "loss"]),
            "unknown kind of stop 'nodes'; did you mean 'node'",
        ),
        (lambda rows: rows.assign(restart_step=[math.nan, 100, 200]), "known in the first and in the last"),
        (lambda rows: rows.iloc[:1], "at least two rows"),
        (lambda rows: rows.assign(restart_step=[0, 100, 9000]), "step_s must fit every stretch, got 90 s: 8900 steps"),
    ],
)
def test_what_is_no_diary_is_refused(change, words):
    rows = diary((0, "start", 0), (10, "node", 100), (20, "loss", 200))
    with pytest.raises(InputError, match=words):
        diaries.lost_by_kind(change(rows), 90.0)


# --------------------------------------------------------------------------- two real runs


def test_glm130b_really_had():
    """From 11 May 2022 12:13, step 7,300, to 29 June 21:53, step 48,100: 40,800 steps of 88.5 s in 1185.67 h."""
    done = two_diaries.published_run("glm-130b").realised
    assert str(done.first) == "2022-05-11 12:13:00+08:00" and str(done.last) == "2022-06-29 21:53:00+08:00"
    assert done.n_steps == 48_100 - 7300 and done.wall_h == pytest.approx(1185.67, abs=0.005)
    assert done.ettr == pytest.approx(0.846, abs=5e-4) and done.low == done.high == done.ettr
    assert (done.segments["ettr"] <= 1).all()


def test_bloom176b_really_had():
    """0.926 +- 0.009: dates only. Two of ten stretches hold more steps than hours, which the dates explain."""
    run = two_diaries.published_run("bloom-176b")
    done = run.realised
    assert done.ettr == pytest.approx(0.926, abs=5e-4)
    assert [done.ettr - done.low, done.high - done.ettr] == pytest.approx([0.009, 0.009], abs=1e-3)  # one digit
    over = done.segments[done.segments["ettr"] > 1]
    assert len(done.segments) == 10 and len(over) == 2 and (over["low"] < 1).all()
    assert run.scenario.job.productive_h == pytest.approx(done.productive_h, abs=0.05)  # one decimal


@pytest.mark.parametrize("name", two_diaries.published_run_names())
def test_the_losses_sum_to_what_is_lost(name):
    run = two_diaries.published_run(name)
    a_minute = 1 / 60
    assert run.losses["lost_h"].sum() == pytest.approx(run.realised.lost_h, abs=a_minute)
    assert run.losses["share"].sum() == pytest.approx(1)
    assert run.losses["lost_h"].is_monotonic_decreasing and (run.losses["lost_h"] > 0).all()
    assert set(run.losses["term"]) == {
        two_diaries.MODELLED,
        two_diaries.NOT_MODELLED,
        two_diaries.NOT_STATED,
    }
    assert run.scenario.name == name


def test_glm130b_lost_its_hours_to():
    """Worked from the diary's restarts: the five experiments end at the step they began with, so all of it is lost."""
    losses = two_diaries.published_run("glm-130b").losses.set_index("reason")
    began, ended = pd.Timestamp("2022-05-28 11:52:26"), pd.Timestamp("2022-05-30 01:35:45")
    assert losses.loc[diaries.EXPERIMENT, "lost_h"] == pytest.approx((ended - began) / HOUR)
    assert losses["n"].to_dict() == {
        diaries.MIXED: 9,
        diaries.HARDWARE: 6,
        diaries.EXPERIMENT: 5,
        diaries.LOSS: 4,
        diaries.PLANNED: 5,
    }
    spikes = losses.loc[diaries.LOSS, "lost_h"]
    assert spikes == pytest.approx(8.79 + 6.73 + 5.24 + 3.05, abs=0.02)  # four stretches, each rounded


def test_bloom176b_lost_its_hours_to():
    losses = two_diaries.published_run("bloom-176b").losses.set_index("reason")
    assert losses["lost_h"].drop(two_diaries.UNNAMED).to_dict() == pytest.approx(
        {
            "software hang": 18 + 6 + 11,
            two_diaries.EVALUATION: 82 * 12 / 60,
            two_diaries.CHECKPOINT: 820 * 40 / 3600,
            diaries.HARDWARE: 7.3,
        }
    )
    assert pd.isna(losses.loc[two_diaries.UNNAMED, "n"])


def test_real_runs_stay_behind_the_model():
    frame = two_diaries.against_model().set_index("name")
    for name, row in frame.iterrows():
        assert row["modelled"] == budget.exact(Scenario.load(name)).ettr
        assert row["difference"] == pytest.approx(row["modelled"] - row["realised"])
        assert row["high"] < row["modelled"] < 1
        wall_h = two_diaries.published_run(name).realised.wall_h
        assert row["modelled_lost_h"] == pytest.approx((1 - row["modelled"]) * wall_h)
    assert frame["realised"].round(3).to_dict() == {"bloom-176b": 0.926, "glm-130b": 0.846}


# --------------------------------------------------------------------------- the data


def test_the_glm_preset_repeats_its_diary():
    preset = yaml.safe_load(evidence.scenario_text("glm-130b"))
    events = evidence.table("glm130b_events")
    step_s, interval = (evidence.figure(f"glm130b_{key}").value for key in ("step_s", "interval_steps"))
    stopped = events["kind"].str.contains("node|network") & (events["kind"] != "suspect_slow_node")
    assert preset["failures"]["n_events"] == stopped.sum() == 11
    at = pd.to_datetime(events["time"])
    n_gpus, per_node = (evidence.figure(f"glm130b_{key}").value for key in ("n_gpus", "gpus_per_node"))
    assert preset["cluster"] == {"n_gpus": n_gpus, "gpus_per_node": per_node}
    days = (at.iloc[-1] - at.iloc[0]) / pd.Timedelta(days=1)
    assert preset["failures"]["node_days"] == pytest.approx(n_gpus / per_node * days, abs=0.05)  # one decimal
    assert preset["checkpoint"]["interval_min"] == interval * step_s / 60
    assert preset["job"]["productive_h"] == two_diaries.published_run("glm-130b").realised.productive_h
    waits = (pd.to_datetime(events["restarted"]) - at)[stopped & (events["kind"] != "node+filesystem")]
    preset_min = preset["recovery"]["detection_min"] + preset["recovery"]["restart_min"]
    assert "116 min" in preset["evidence"]["recovery.detection_min"]["note"]
    assert [waits.mean() / pd.Timedelta(minutes=1), preset_min] == pytest.approx([116, 116], abs=1)


def test_bloom_s_tables_repeat_its_figures():
    steps = evidence.table("bloom176b_progress")
    assert steps["date"].is_monotonic_increasing and steps["iteration"].is_monotonic_increasing
    ends = [evidence.figure(f"bloom_{end}_iteration").value for end in ("first", "last")]
    assert [steps["iteration"].iloc[0], steps["iteration"].iloc[-1]] == ends
    assert evidence.table("bloom176b_losses")["lost_h"].tolist() == [7.3, 18, 6, 11]


def test_the_diary_as_a_failure_log_agrees_with_the_preset():
    log = failure_logs.diary_log()
    run = Scenario.load("glm-130b")
    assert len(log.failures) == run.failures.n_events and log.n_nodes == run.n_nodes
    assert log.node_days == pytest.approx(run.failures.node_days, rel=1e-4)
    assert len(failure_logs.diary_log().failures) == 11


def test_a_path_is_read_with_what_is_given(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("opened,box\n2026-01-02 10:00,a\n2026-01-05 11:00,b\n", encoding="utf-8")
    options = {"n_nodes": 4, "window": "2026-01-01/2026-01-11", "columns": ["start=opened", "node=box"]}
    log = failure_logs.failure_log(str(path), planned="", zone="", **options)
    assert len(log.failures) == 2 and log.n_nodes == 4 and log.events["node"].tolist() == ["a", "b"]
