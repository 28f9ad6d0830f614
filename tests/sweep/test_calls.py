"""Budgets and simulations over a grid, without a notebook: the same numbers as one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, budget, simulate, sweep
from ettr.core.errors import InputError, OutsideValidity, UnknownName
from ettr.sweep import runs

SIZES = [8192, 65536, 400_000]
INTERVALS = [2.0, 10.0]
GRID = {"cluster.n_gpus": SIZES, "checkpoint.interval_min": INTERVALS}


def test_the_closed_form_takes_a_grid_at_once_and_says_what_it_says_of_each_point(tmp_path):
    table = sweep.call("budget", {"scenario": ["llama3-405b", "rsc-1"], **GRID}, tmp_path)
    assert len(table) == 12 and (table["status"] == "done").sum() >= 10
    for row in table.to_dict("records"):
        run = Scenario.load(row["scenario"]).override({name: row[name] for name in GRID})
        if row["status"] == "failed":
            with pytest.raises(OutsideValidity):
                budget.exact(run)
            continue
        alone = budget.exact(run)
        assert row["ettr"] == pytest.approx(alone.ettr, rel=1e-12)
        assert row["rework_h"] == pytest.approx(alone.rework_h, rel=1e-9)
        assert (row["status"], row["formula"], row["error"]) == ("done", "budget.exact", "")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "results.parquet"), table, check_dtype=False)


def test_points_outside_the_form_have_failed_and_say_so(tmp_path):
    table = sweep.call("budget", {"cluster.n_gpus": [8192, 10**9]}, tmp_path, scenario="llama3-405b")
    assert table["status"].tolist() == ["done", "failed"]
    assert np.isnan(table["ettr"][1]) and "outside the validity" in table["error"][1]


def test_what_is_there_is_not_computed_again(tmp_path, monkeypatch):
    first = sweep.call("budget", GRID, tmp_path, scenario="llama3-405b")
    monkeypatch.setattr(runs.calls, "at_once", None)  # would fail
    again = sweep.call("budget", GRID, tmp_path, scenario="llama3-405b")
    assert again["id"].tolist() == first["id"].tolist()
    np.testing.assert_array_equal(again["ettr"], first["ettr"])


def test_a_table_that_cannot_be_read_is_computed_again(tmp_path):
    first = sweep.call("budget", GRID, tmp_path, scenario="llama3-405b")
    (tmp_path / "results.parquet").write_bytes(b"PAR1")
    again = sweep.call("budget", GRID, tmp_path, scenario="llama3-405b")
    read = pd.read_parquet(tmp_path / "results.parquet")
    np.testing.assert_array_equal([again["ettr"], read["ettr"]], [first["ettr"]] * 2)


def test_fields_that_are_no_arrays_are_taken_one_point_at_a_time(tmp_path, cluster):
    grid = {"failures.lifetime": [None, {"shape": 0.7, "start": "new"}], "cluster.n_gpus": [8192, 16384]}
    progress = []
    table = sweep.call("budget", grid, tmp_path, scenario="llama3-405b", scheduler=cluster, on_progress=progress.append)
    assert progress[-1].done == 4
    assert table["formula"].tolist() == ["budget.exact"] * 2 + ["budget.over_time"] * 2
    alone = budget.closed_form(Scenario.load("llama3-405b").override({name: grid[name][1] for name in grid}))
    assert table["ettr"][3] == alone.budget.ettr
    assert sorted(path.suffix for path in (tmp_path / "points").iterdir()) == [".json"] * 4


def test_a_grid_over_the_weather_tells_the_speed_beside_the_ettr(tmp_path, cluster):
    """A hall is of one size: sizes are taken one point at a time too."""
    grid = {"heat.mean_c": [15, 30], "cluster.n_gpus": [8192, 65536]}
    table = sweep.call("budget", grid, tmp_path, scenario="llama3-405b", scheduler=cluster)
    for row in table.to_dict("records"):
        run = Scenario.load("llama3-405b").override({name: row[name] for name in grid})
        assert row["speed"] == pytest.approx(run.speed) and row["ettr"] == pytest.approx(budget.exact(run).ettr)
    assert table["speed"].nunique() == 4


def test_a_scenario_file_with_heat_is_not_taken_at_once(tmp_path, cluster):
    path = tmp_path / "warm.yml"
    path.write_text(Scenario.load("rsc-1").override({"heat": {"mean_c": 30}}).to_yaml(), encoding="utf-8")
    table = sweep.call(
        "budget", {"cluster.n_gpus": [8, 65536]}, tmp_path / "out", scenario=str(path), scheduler=cluster
    )
    speeds = [Scenario.load(path).override({"cluster.n_gpus": n}).speed for n in (8, 65536)]
    assert table["speed"].tolist() == pytest.approx(speeds) and speeds[0] != speeds[1]
    calm = sweep.call("budget", {"checkpoint.interval_min": [5.0, 9.0]}, tmp_path / "calm", scenario="llama3-405b")
    assert calm["speed"].tolist() == [1, 1]


def test_a_part_that_changed_is_computed_again(tmp_path, monkeypatch, cluster):
    from ettr import Gpu

    monkeypatch.chdir(tmp_path)
    part, grid = tmp_path / "mine.yml", {"heat.part": ["mine.yml"], "heat.mean_c": [35]}
    part.write_text(Gpu.load("h100").to_yaml(), encoding="utf-8")
    first = sweep.call("budget", grid, tmp_path / "out", scenario="llama3-405b", scheduler=cluster)
    part.write_text(Gpu.load("h100").to_yaml().replace("power_w: 90", "power_w: 150"), encoding="utf-8")
    again = sweep.call("budget", grid, tmp_path / "out", scenario="llama3-405b", scheduler=cluster)
    assert again["speed"][0] != first["speed"][0]
    assert again["speed"][0] == pytest.approx(
        Scenario.load("llama3-405b").override({"heat": {"part": "mine.yml", "mean_c": 35}}).speed
    )


def test_a_simulation_has_the_same_runs_as_one_by_itself(tmp_path, cluster):
    grid = {"cluster.n_gpus": [8192, 16384], "n_runs": 40, "seed": [3]}
    table = sweep.call("simulate", grid, tmp_path, scenario="llama3-405b", scheduler=cluster)
    alone = simulate(Scenario.load("llama3-405b").override({"cluster.n_gpus": 16384}), 40, 3)
    row = table.iloc[1]
    assert (row["ettr"], row["finish_p95_h"]) == (alone.ettr, alone.finish_h(0.95))
    assert row["rework_h"] == alone.budget.rework_h
    again = []
    sweep.call("simulate", grid, tmp_path, scenario="llama3-405b", scheduler=cluster, on_progress=again.append)
    assert again[0].kept == 2


def test_a_point_that_breaks_a_rule_fails_and_the_others_go_on(tmp_path, cluster):
    grid = {"failures.lifetime": [None], "cluster.n_gpus": [16384, 16385]}
    table = sweep.call("budget", grid, tmp_path, scenario="llama3-405b", scheduler=cluster)
    assert table["status"].tolist() == ["done", "failed"]
    assert "cluster.n_gpus" in table["error"][1]


def test_a_scenario_file_counts_with_its_contents(tmp_path):
    mine = tmp_path / "mine.yml"
    run = Scenario.load("rsc-1")
    mine.write_text(run.to_yaml())
    before = sweep.call("budget", {"checkpoint.interval_min": [10.0]}, tmp_path / "a", scenario=str(mine))
    mine.write_text(run.override({"recovery.restart_min": 60.0}).to_yaml())
    after = sweep.call("budget", {"checkpoint.interval_min": [10.0]}, tmp_path / "a", scenario=str(mine))
    assert before["id"].tolist() != after["id"].tolist()
    assert before["ettr"][0] > after["ettr"][0]


@pytest.mark.parametrize(
    ("name", "grid", "scenario", "error", "words"),
    [
        ("budgets", {"cluster.n_gpus": [8]}, "rsc-1", UnknownName, "unknown call 'budgets'.*did you mean 'budget'"),
        ("budget", {"cluster.n_gpu": [8]}, "rsc-1", InputError, "did you mean 'cluster.n_gpus'|n_gpus"),
        ("budget", {"n_gpus": [8]}, "rsc-1", UnknownName, "or a field of a scenario, e.g. cluster.n_gpus"),
        ("budget", {"cluster.n_gpus": [8]}, None, InputError, "needs a scenario"),
        ("budget", {"scenario": ["rsc-1"]}, "rsc-2", InputError, "conflicts with the scenario in the grid"),
        ("budget", {"scenario": ["rsc-9"]}, None, UnknownName, "unknown scenario 'rsc-9'"),
        ("simulate", {"n_runs": [0]}, "rsc-1", InputError, "n_runs must be an integer from 1 to .*, got 0"),
        ("simulate", {"seed": [1.5]}, "rsc-1", InputError, "seed must be an integer from 0 to .*, got 1.5"),
        ("simulate", {"until": [2.0]}, "rsc-1", InputError, "until must be a number between 0 and 1, got 2.0"),
    ],
)
def test_what_cannot_be_called_is_refused_before_anything_runs(tmp_path, name, grid, scenario, error, words):
    with pytest.raises(error, match=words):
        sweep.call(name, grid, tmp_path / "out", scenario=scenario)
    assert not (tmp_path / "out").exists()


def test_a_grid_too_large_to_take_one_by_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "MOST_POINTS", 3)
    grid = {"failures.lifetime": [None], "cluster.n_gpus": {"from": 8, "to": 80, "step": 8}}
    with pytest.raises(InputError, match="at most 3 points, got 10"):  # before the values are made
        sweep.call("budget", grid, tmp_path / "out", scenario="rsc-1")
    with pytest.raises(InputError, match="at most 3 points if its fields do not accept arrays, got 10"):
        sweep.call("budget", {**grid, "scenario": ["rsc-1"]}, tmp_path / "out")


def test_a_preview_of_what_is_computed_at_once_runs_nothing(tmp_path):
    job = sweep.CallJob("budget", "rsc-1", sweep.load(GRID, 100))
    preview = sweep.preview(job, tmp_path / "out")
    assert set(preview.table["status"]) == {"open"}
    assert (preview.point_s, preview.left_s) == (None, None)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("odd", ["abc", True, None, [1, 2], 1025])
def test_a_value_that_is_no_size_fails_alone(tmp_path, cluster, odd):
    table = sweep.call("budget", {"cluster.n_gpus": [1024, odd]}, tmp_path, scenario="rsc-1", scheduler=cluster)
    assert table["status"].tolist() == ["done", "failed"]


def test_named_points_computed_at_once_have_their_names(tmp_path):
    grid = {"points": {"small": {"cluster.n_gpus": 1024}, "large": {"cluster.n_gpus": 10**9}}}
    assert sweep.call("budget", grid, tmp_path, scenario="llama3-405b")["name"].tolist() == ["small", "large"]
    job = sweep.CallJob("budget", "llama3-405b", sweep.load(grid, 9))
    assert sweep.preview(job, tmp_path).table["status"].tolist() == ["done", "failed"]


@pytest.mark.parametrize("failures", ["{job_mttf_h: 9}", "{rate_per_1000_node_days: 5}", "{gpu_mttf_h: 36000}"])
def test_a_swept_size_keeps_the_rate_of_a_node(tmp_path, failures):
    path = tmp_path / "mine.yml"
    path.write_text(f"cluster: {{n_gpus: 4096}}\nfailures: {failures}\n", encoding="utf-8")
    run, grid = Scenario.load(path), {"cluster.n_gpus": [4096, 16_384, 65_536]}
    table = sweep.call("budget", grid, tmp_path / "out", scenario=str(path))
    alone = [budget.exact(run.override({"cluster.n_gpus": n})) for n in grid["cluster.n_gpus"]]
    assert table["ettr"].to_numpy() == pytest.approx([answer.ettr for answer in alone], rel=1e-12)
    assert np.all(np.diff(table["ettr"]) < -0.05)
