"""Tables on heat."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from computed.thermal import run as hall
from computed.thermal import table_of
from ettr import Scenario, budget, evidence, plan
from ettr.chapters.thermal import failure_tables, tables
from ettr.core.errors import InputError
from ettr.thermal import Chip, arrhenius_factor, clock_at, speed


@pytest.fixture(scope="module")
def run():
    return hall()


def test_a_scenario_is_put_into_a_hall_and_its_gpu_modes_into_heat(run):
    assert run.heat.mean_c == 20 and run.heat.cooling == "air_economiser"
    activated = {mode.name for mode in run.failures.modes if mode.heat_share == 0.5}
    assert activated == {mode.name for mode in run.failures.modes if mode.category == "GPU"} and len(activated) == 6
    assert tables.warmed(run, mean_c=35.0) == run  # its own hall and shares stay


def test_a_scenario_without_modes_gets_one_with_the_share_of_llama_3():
    counts = evidence.table("llama3_interruptions")
    share = counts.loc[counts["category"] == "GPU", "n_events"].sum() / counts["n_events"].sum()
    (mode,) = tables.warmed(Scenario.load("rsc-1"), activated_share=0.3, energy_ev=1.1).failures.modes
    assert (mode.share, mode.heat_share, mode.heat_energy_ev) == (pytest.approx(share), 0.3, 1.1)


def test_a_part_that_air_cannot_cool_is_observed_in_the_liquid_of_its_plant():
    run = tables.warmed(Scenario.load("rsc-1"), part="gb200", cooling="cold_plate")
    assert (run.heat.reference_medium, run.heat.reference_inlet_c) == ("cold_plate", 32)
    assert set(tables.cooling_at(run)["cooling"]) == {"cold_plate"}


def in_weather(path: Path, ambient_c: dict[tuple[int, int], float]) -> Scenario:
    """A run in a hall whose temperatures outdoors are given by day and hour."""
    lines = [f"2025-06-{day:02d}T{hour:02d}:00,{value}" for (day, hour), value in ambient_c.items()]
    path.write_text("time,temperature\n" + "\n".join(lines), encoding="utf-8")
    return tables.warmed(Scenario.load("rsc-1").override({"heat": {"weather": str(path)}}))


def test_hours_of_a_day_that_is_cut_are_no_hottest_day(tmp_path):
    cut = {(1 + i // 24, i % 24): 35 if i >= 48 + 12 else 15 for i in range(12, 48 + 20)}
    assert len(tables.hottest_day(in_weather(tmp_path / "hall.csv", cut))) == 24


def test_the_hottest_day_of_a_weather_file_is_shown(tmp_path):
    warm = {(day, hour): 20 + (9 if day == 7 else 0) + hour / 10 for day in range(1, 11) for hour in range(24)}
    run = in_weather(tmp_path / "hall.csv", warm)
    assert tables.hottest_day(run)["ambient_c"].tolist() == pytest.approx([29 + h / 10 for h in range(24)])
    temperatures = tables.afternoon(run)
    assert len(temperatures) == 96
    assert set(temperatures["what"]) == {"outdoors", "inlet", "die, mean GPU", "die, hottest GPU"}
    assert tables.cooling_at(run)["mean_c"].round(6).nunique() == 1


@pytest.mark.parametrize("loss", [0.005, 0.01, 0.02])
@pytest.mark.parametrize("leakage", [0.05, 90 / 700, 0.25])
def test_the_warming_for_a_loss_gives_that_loss(loss, leakage):
    chip = Chip(700, 100, np.inf, 0.07, 0, 2000, 1500, 2.6, 700 * leakage, 60, 25)
    warming = tables.warming_for(loss, leakage, 25)
    assert 1 - speed(clock_at(60 + warming, chip), clock_at(60, chip), 0.8) == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize(("loss", "share"), [(1.0, 0.1), (0.01, 1.0), (0.0, 0.1)])
def test_a_share_that_is_none_is_refused(loss, share):
    with pytest.raises(InputError, match=r"must be (< 1|> 0)"):
        tables.warming_for(loss, share, 30)


def test_more_or_steeper_leakage_needs_less_of_a_swing():
    table = tables.swing_for_loss()
    assert (table["low_k"] < table["high_k"]).all()
    for _, group in table.groupby("doubling_k"):
        assert (np.diff(group["low_k"]) < 0).all()
    ends = table[table["leakage_share"] == table["leakage_share"].min()].sort_values("doubling_k")
    assert (np.diff(ends["low_k"]) > 0).all()


def test_pace_falls_with_size_and_begins_with_one_part(run):
    table = tables.pace_by_size(run)
    for _, group in table.groupby("when"):
        assert (np.diff(group["speed"]) <= 1e-12).all() and (np.diff(group["hottest_c"]) > -1e-9).all()
    one = table[(table["n_gpus"] == 1) & (table["when"] == "hottest hour")]["speed"].iloc[0]
    assert one == pytest.approx(tables.hottest_day(run)["mean_speed"].min())


def test_cooling_is_compared_at_the_best_interval_against_one_observation(run):
    table = tables.cooling_at(run).set_index("cooling")
    assert list(table.index) == ["air_economiser", "chiller", "cold_plate", "immersion"]
    steady = run.override({"job.include_start": False})
    best = steady.override({"checkpoint.interval_min": plan.best_interval_min(steady)})
    own = table.loc["air_economiser"]
    assert own["ettr"] == pytest.approx(budget.exact(best).ettr) and own["speed"] == pytest.approx(run.speed)
    assert own["effective"] == pytest.approx(own["ettr"] * own["speed"])
    assert own["rate_factor"] == pytest.approx(run.job_rate_per_h / Scenario.load("llama3-405b").job_rate_per_h)
    assert table.loc["cold_plate", "effective"] == table["effective"].max()


def test_the_scenarios_own_kind_of_cooling_keeps_its_own_inlet(run):
    hall = run.override({"heat.approach_k": 12.0, "heat.most_c": 36.0})
    table = tables.cooling_at(hall).set_index("cooling")
    assert table.loc["air_economiser", "speed"] == hall.speed < run.speed
    assert table.loc["chiller", "speed"] == tables.cooling_at(run).set_index("cooling").loc["chiller", "speed"]


def test_no_plant_gets_better_as_it_gets_warmer(run):
    for _, group in table_of(tables.by_climate).groupby("cooling"):
        assert (np.diff(group["effective"]) < 1e-9).all()


def test_beliefs_meet_where_nothing_is_warmer(run):
    table = table_of(failure_tables.by_warming)
    at_zero = table[table["warming_k"] == 0]
    assert np.ptp(at_zero["ettr"]) == pytest.approx(0, abs=1e-12) and (at_zero["rate_factor"] == 1).all()
    none = table[table["case"] == "none is activated"]
    assert np.ptp(none["ettr"]) < 1e-9
    warm = table[table["warming_k"] == 10].set_index("case")["ettr"]
    assert warm["all at 1.2 eV"] < warm["50% at 0.7 eV"] < warm["25% at 0.3 eV"] < warm["none is activated"]


@pytest.mark.parametrize("hall", [{"cooling": "immersion"}, {"cooling": "cold_plate", "mean_c": 35.0}])
def test_beliefs_are_about_dies_and_not_about_what_cools_them(run, hall):
    other = tables.warmed(Scenario.load("llama3-405b"), **hall)
    assert failure_tables.by_warming(other).equals(table_of(failure_tables.by_warming))
    reference = run.heat_response.reference.die_c
    ettrs = failure_tables.by_warming(run, [30.0]).set_index("case")[
        "rate_factor"
    ]  # beyond where the die would throttle
    gpus = sum(share for share, mode in zip(run.failures.shares, run.failures.modes, strict=True) if mode.heat_share)
    assert ettrs["all at 1.2 eV"] == pytest.approx(1 + gpus * (arrhenius_factor(reference + 30, reference, 1.2) - 1))


def test_sizes_whose_hottest_part_cannot_compute_are_not_shown(run):
    hall = run.override({"cluster.n_gpus": 8, "heat.mean_c": 45.0, "heat.swing_k": 0.0, "heat.approach_k": 31.5})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = tables.pace_by_size(hall)
    assert 8 <= table["n_gpus"].max() < 131072 and not table.isna().any(axis=None)


def test_a_lower_limit_cools_less_deep(run):
    capped = failure_tables.stop_and_restart(run.override({"heat.limit_w": 400}))
    air = capped[capped["medium"] == "air"]["die_c"]
    assert np.ptp(air) == pytest.approx(0.07 * (400 - 200), rel=0.03)


def test_laws_are_one_at_the_reference():
    table = failure_tables.laws(70.0)
    for _, group in table.groupby("law"):
        assert np.interp(70.0, group["die_c"], group["factor"]) == pytest.approx(1, abs=1e-3)


def test_titans_cages_have_intervals_and_the_published_ratios():
    table = failure_tables.titan_cages().set_index(["failure", "cage"])
    assert (table["low"] < table["rate"]).all() and (table["rate"] < table["high"]).all()
    assert table["ratio"].round(2).tolist() == [1.0, 1.65, 2.25, 1.0, 1.9, 2.9]


def test_a_stop_cools_to_the_restarts_level_and_warms_again(run):
    table = failure_tables.stop_and_restart(run)
    for medium, resistance in (("air", 0.07), ("cold_plate", 0.03)):
        die = table[table["medium"] == medium]["die_c"]
        assert die.max() - die.min() == pytest.approx(resistance * (700 - 200), rel=0.03)
        assert die.iloc[-1] == pytest.approx(die.iloc[0], abs=0.1)


def test_a_scenario_without_heat_is_refused():
    with pytest.raises(InputError, match="rsc-1 has no section on heat"):
        tables.pace(Scenario.load("rsc-1"))
