"""The chapter on heat."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ettr import Scenario, budget, evidence
from ettr_book.chapters import thermal


@pytest.fixture(scope="module")
def run():
    return thermal.warmed(Scenario.load("llama3-405b"))


def test_a_scenario_is_put_into_a_hall_and_its_gpu_modes_into_heat(run):
    assert run.heat.mean_c == 20 and run.heat.cooling == "air_economiser"
    activated = {mode.name for mode in run.failures.modes if mode.heat_share == 0.5}
    assert activated == {mode.name for mode in run.failures.modes if mode.category == "GPU"} and len(activated) == 6
    assert thermal.warmed(run, mean_c=35.0) == run  # its own hall and shares stay


def test_a_scenario_without_modes_gets_one_with_the_share_of_llama_3():
    counts = evidence.table("llama3_interruptions")
    share = counts.loc[counts["category"] == "GPU", "n_events"].sum() / counts["n_events"].sum()
    (mode,) = thermal.warmed(Scenario.load("rsc-1"), activated_share=0.3, energy_ev=1.1).failures.modes
    assert (mode.share, mode.heat_share, mode.heat_energy_ev) == (pytest.approx(share), 0.3, 1.1)


def in_weather(path: Path, ambient_c: dict[tuple[int, int], float]) -> Scenario:
    """A run in a hall whose temperatures outdoors are given by day and hour."""
    lines = [f"2025-06-{day:02d}T{hour:02d}:00,{value}" for (day, hour), value in ambient_c.items()]
    path.write_text("time,temperature\n" + "\n".join(lines), encoding="utf-8")
    return thermal.warmed(Scenario.load("rsc-1").override({"heat": {"weather": str(path)}}))


def test_hours_of_a_day_that_is_cut_are_no_hottest_day(tmp_path):
    cut = {(1 + i // 24, i % 24): 35 if i >= 48 + 12 else 15 for i in range(12, 48 + 20)}
    assert len(thermal.response_of(in_weather(tmp_path / "hall.csv", cut)).hottest_day) == 24


def test_the_hottest_day_of_a_weather_file_is_shown(tmp_path):
    warm = {(day, hour): 20 + (9 if day == 7 else 0) + hour / 10 for day in range(1, 11) for hour in range(24)}
    run = in_weather(tmp_path / "hall.csv", warm)
    assert thermal.response_of(run).hottest_day["ambient_c"].tolist() == pytest.approx([29 + h / 10 for h in range(24)])
    assert thermal.cooling_at(run)["mean_c"].round(6).nunique() == 1


def test_cooling_is_compared_at_the_best_interval_against_one_observation(run):
    table = thermal.cooling_at(run).set_index("cooling")
    assert list(table.index) == ["air_economiser", "chiller", "cold_plate", "immersion"]
    steady = run.override({"job.include_start": False})
    best = steady.override({"checkpoint.interval_min": budget.best_interval_min(steady)})
    current = table.loc["air_economiser"]
    assert current["ettr"] == pytest.approx(budget.exact(best).ettr) and current["speed"] == pytest.approx(run.speed)
    assert current["effective"] == pytest.approx(current["ettr"] * current["speed"])
    assert current["rate_factor"] == pytest.approx(run.job_rate_per_h / Scenario.load("llama3-405b").job_rate_per_h)
    assert table.loc["cold_plate", "effective"] == table["effective"].max()


def test_a_hotter_gpu_throttles_at_a_cooler_inlet(run):
    frame = thermal.by_inlet(run)
    throttled = frame[frame["limited_by"].isin(("heat", "memory"))].groupby("gpu")["inlet_c"].min()
    assert throttled["hottest GPU"] < throttled["mean GPU"]
    assert (frame.groupby("gpu")["clock"].diff().dropna() <= 1e-12).all()


def test_no_plant_gets_better_as_it_gets_warmer(run):
    for _, group in thermal.by_climate(run).groupby("cooling"):
        assert (np.diff(group["effective"]) < 1e-9).all()


def test_beliefs_meet_where_nothing_is_warmer(run):
    table = thermal.by_warming(run)
    at_zero = table[table["warming_k"] == 0]
    assert np.ptp(at_zero["ettr"]) == pytest.approx(0, abs=1e-12) and (at_zero["rate_factor"] == 1).all()
    none = table[table["case"] == "none"]
    assert np.ptp(none["ettr"]) < 1e-9
    warm = table[table["warming_k"] == 10].set_index("case")["ettr"]
    assert list(warm) == sorted(warm, reverse=True) and list(warm.index) == list(thermal.CASES)


def test_a_part_that_air_cannot_cool_is_observed_in_the_liquid_of_its_plant():
    run = thermal.warmed(Scenario.load("rsc-1"), part="gb200", cooling="cold_plate")
    assert run.heat.reference_inlet_c == 33 and run.speed == pytest.approx(1, abs=1e-3)
    assert set(thermal.cooling_at(run)["cooling"]) == {"cold_plate"}
