"""Heat in a scenario: what it does to speed and failures, and what it may not say."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from ettr import Gpu, Scenario, budget, plan, simulate
from ettr.plan.details import speed_lines
from ettr.scenario.heat_response import chip_of
from ettr.thermal import arrhenius_factor, largest_of, operating_point, speed
from refusals import refusal


def modes(**fields):
    return [{"name": "GPU", "category": "GPU", "share": 0.6, **fields}]


@pytest.fixture(scope="module")
def plain():
    return Scenario.load("rsc-1").override({"cluster.n_gpus": 8192})


def warm(plain, **heat):
    """The scenario in a hall at the conditions where it was observed, unless given otherwise."""
    return plain.override({"heat": {"mean_c": 23.0, "cooling": "air_economiser", **heat}})


def test_at_the_conditions_of_the_observation_heat_changes_nothing(plain):
    """23 °C outdoors and an approach of 2 K are the inlet of 25 °C where rates and speed hold."""
    same = warm(plain).override({"failures.modes": modes(heat_share=0.5)})
    assert same.speed == pytest.approx(1, abs=1e-12) and same.heat_factors == pytest.approx((1.0,))
    assert same.job_mttf_h == pytest.approx(plain.job_mttf_h)
    assert budget.exact(same).total_h == pytest.approx(budget.exact(plain).total_h)


def test_failures_by_hand(plain):
    run = warm(plain, mean_c=30.0).override({"failures.modes": modes(heat_share=0.5)})
    die = 32 + 0.07 * 700
    assert run.heat_response.hours["die_c"].to_numpy() == pytest.approx(die)
    factor = 0.5 * arrhenius_factor(die, 74, 0.7) + 0.5
    assert run.heat_factors == pytest.approx((factor,))
    assert run.job_rate_per_h == pytest.approx(plain.job_rate_per_h * (0.6 * factor + 0.4))
    assert run.heat_response.hours["hottest_c"].iloc[0] > die


def test_the_hottest_part_is_the_expected_largest_of_all_gpus_and_its_memory_counts(plain):
    run, part = warm(plain, mean_c=28.0), Gpu.load("h100")
    chip = chip_of(part, part.cooled_by("air"))
    hottest = operating_point(30.0, chip, 1 + 0.05 * largest_of(8192))
    assert set(run.heat_response.hours["limited_by"]) == {"memory"} and hottest.memory_c == pytest.approx(95)
    assert run.heat_response.hours["hottest_c"].to_numpy() == pytest.approx(hottest.die_c)
    mean_part = speed(operating_point(30.0, chip).clock_mhz, operating_point(25.0, chip).clock_mhz, 0.8)
    assert run.speed < mean_part <= 1
    full = operating_point(25.0, chip, 1 + 0.05 * largest_of(8192))
    assert run.speed == pytest.approx(speed(hottest.clock_mhz, full.clock_mhz, 0.8))


def test_a_mean_over_the_hours_is_taken_of_rates_and_of_speed(plain):
    run = warm(plain, swing_k=8.0).override({"failures.modes": modes(heat_share=1.0)})
    hours = run.heat_response.hours
    assert len(hours) == 24 and hours["ambient_c"].mean() == pytest.approx(23)
    # an hour of the sinusoid is taken at its middle
    assert hours["ambient_c"].max() == pytest.approx(23 + 8 * np.cos(np.pi / 24))
    assert hours.nlargest(2, "ambient_c")["hour"].sort_values().tolist() == [14.5, 15.5]
    assert run.heat_factors[0] == pytest.approx(np.mean(arrhenius_factor(hours["die_c"].to_numpy(), 74, 0.7)))
    assert run.speed == pytest.approx(hours["speed"].mean())
    assert hours.loc[hours["ambient_c"].idxmax(), "speed"] == hours["speed"].min() < 1


def test_speed_makes_the_work_longer_and_leaves_ettr_to_the_failures(plain):
    steady = plain.override({"job.include_start": False, "maintenance": None})
    slow = warm(steady, mean_c=35.0)
    assert slow.work_h == pytest.approx(plain.job.productive_h / slow.speed)
    assert slow.override({"job.throughput_factor": 0.9}).speed == pytest.approx(0.9 * slow.speed)
    assert budget.exact(slow).ettr == pytest.approx(budget.exact(steady).ettr)
    hot = slow.override({"failures.modes": modes(heat_share=1.0)})
    assert budget.exact(hot).ettr < budget.exact(slow).ettr
    answer = plan.make(hot)
    assert answer.effective_throughput == pytest.approx(answer.budget.ettr * hot.speed)
    assert answer.to_dict()["speed"] == hot.speed


def test_simulation_and_closed_form_feel_the_same_heat(plain):
    run = warm(plain, mean_c=35.0).override(
        {"failures.modes": modes(heat_share=1.0), "job.productive_h": 300.0, "maintenance": None}
    )
    simulated = simulate(run, 100, seed=3)
    exact = budget.exact(run)
    assert abs(simulated.budget.n_failures - exact.n_failures) < 4 * simulated.runs["n_failures"].std() / np.sqrt(100)
    assert abs(simulated.budget.total_h / exact.total_h - 1) < 4 * simulated.relative_error


def test_a_lower_power_limit_is_slower_and_cooler(plain):
    full, capped = warm(plain), warm(plain, limit_w=500)
    assert capped.speed < full.speed
    assert capped.heat_response.hours["die_c"].max() < full.heat_response.hours["die_c"].min()
    share = ((500 - 90) / (700 - 90)) ** (1 / 2.6)
    cooler = chip_of(Gpu.load("h100"), Gpu.load("h100").cooled_by("air"), 500).sustained_mhz
    assert cooler == pytest.approx(1600 * share)


def test_a_weather_file_takes_the_place_of_the_sinusoid(plain, tmp_path):
    path = tmp_path / "hall.csv"
    rows = [f"2025-06-{day:02d}T{hour:02d}:00,{20 + day}" for day in range(1, 31) for hour in range(24)]
    path.write_text("time,temperature\n" + "\n".join(rows), encoding="utf-8")
    run = plain.override({"job.productive_h": 47.0, "heat": {"weather": str(path), "starts": "06-10"}})
    assert sorted(set(run.heat_response.hours["ambient_c"])) == [30, 31] and len(run.heat_response.hours) == 48
    whole = run.override({"heat.starts": None})
    assert len(whole.heat_response.hours) == 720
    assert Scenario.parse(run.to_yaml()) == run
    (note,) = run.heat_response.notes
    assert "no time zone" in note and "local standard time" in note
    path.write_text(path.read_text(encoding="utf-8") + "\n2025-07-01T00:00,\n", encoding="utf-8")
    long = whole.override({"job.productive_h": 8800.0})
    assert long.heat_response.notes[1:] == (
        "1 of its records are not parsed, no temperature",
        "the run is longer than a year, and the one year stands for all of it",
    )
    assert f"Weather: {'; '.join(long.heat_response.notes)}" in speed_lines(plan.make(long))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"heat": {}}, "heat needs exactly one of mean_c or weather"),
        ({"heat": {"mean_c": 20, "starts": "06-01"}}, "heat takes starts only with weather"),
        ({"failures.modes": modes(heat_share=0.5)}, "failures.modes.GPU.heat_share needs heat"),
        (
            {"heat": {"mean_c": 23, "reference_inlet_c": 90}},
            "heat.reference_inlet_c of 90.0 °C leaves the hottest h100 no power",
        ),
        (
            {"heat": {"mean_c": 40, "swing_k": 30}},
            "heat.mean_c and heat.swing_k must keep the day from -90 to 60 °C, got 70",
        ),
        ({"heat": {"mean_c": 20, "cooling": "cold-plate"}}, "heat.cooling must be one of air_economiser, chiller"),
        ({"heat": {"mean_c": 20, "part": "h10"}}, "unknown part 'h10'"),
        (
            {"heat": {"mean_c": 20, "part": "gb200"}},
            "heat.cooling: gb200 has no figures for cooling by 'air'; it has cold_plate",
        ),
        ({"heat": {"mean_c": 20, "limit_w": 900}}, "heat.limit_w must be from 200 to 700 W for h100, got 900"),
        ({"heat": {"weather": "none.epw"}}, "cannot read the weather file: 'none.epw' does not exist"),
    ],
)
def test_what_breaks_a_rule_is_answered_with_its_place(plain, values, message):
    assert message in refusal(plain.override, values)


def hours_of(path, days, month="06"):
    rows = [f"2025-{month}-{day:02d}T{hour:02d}:00,{20 + day / 10}" for day in days for hour in range(24)]
    path.write_text("time,temperature\n" + "\n".join(rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("days", "productive_h", "starts", "hours"),
    [
        (range(1, 2), 500.0, None, "24 of the 8,760"),
        (range(1, 8), 500.0, None, "168 of the 8,760"),
        (range(1, 22), 500.0, None, ""),
        (range(1, 22), 480.0, "06-02", ""),
        (range(1, 31), None, None, "720 of the 8,760"),
    ],
)
def test_weather_that_covers_too_little_of_the_run_is_said_before_any_number(
    plain, tmp_path, days, productive_h, starts, hours
):
    heat = {"weather": hours_of(tmp_path / "hall.csv", days), "starts": starts}
    run = plain.override({"job": {"productive_h": productive_h}, "heat": heat})
    planned = plan.make(run, simulate=False)
    warnings, report = planned.to_dict()["warnings"], planned.report()
    if not hours:
        assert not run.cautions and not any("weather" in text for text in warnings)
    else:
        assert hours in run.cautions[0] and run.cautions[0] in warnings
        assert any(run.cautions[0] == section.text for section in report[:3])


def test_a_year_without_a_month_is_said_and_a_whole_year_is_not(plain, tmp_path):
    path, start = tmp_path / "hall.csv", datetime(2025, 1, 1)
    times = [start + timedelta(hours=hour) for hour in range(8760)]
    for left_out, expected in ((None, ()), (7, ("01-01 to 06-30, 08-01 to 12-31",))):
        rows = [f"{time:%Y-%m-%dT%H:%M},15" for time in times if time.month != left_out]
        path.write_text("time,temperature\n" + "\n".join(rows), encoding="utf-8")
        run = plain.override({"job.productive_h": 9000.0, "heat": {"weather": str(path)}})
        assert [part in caution for part, caution in zip(expected, run.cautions, strict=True)] == [True] * len(expected)
    assert simulate(run, 1).report()[1].text == run.cautions[0]


def test_files_that_change_are_read_again(plain, tmp_path):
    weather, part, path = (tmp_path / name for name in ("hall.csv", "part.yml", "mine.yml"))
    part.write_text(Gpu.load("h100").to_yaml(), encoding="utf-8")
    rows = "time,temperature\n" + "".join(f"2025-06-01T{hour:02d}:00,{{}}\n" for hour in range(24))
    weather.write_text(rows.replace("{}", "30"), encoding="utf-8")
    run = warm(plain, weather=str(weather), mean_c=None, part=str(part))
    path.write_text(run.to_yaml(), encoding="utf-8")
    before = Scenario.load(path).speed
    weather.write_text(rows.replace("{}", "9.5"), encoding="utf-8")
    cooler = Scenario.load(path).speed
    part.write_text(part.read_text(encoding="utf-8").replace("power_w: 90", "power_w: 10"), encoding="utf-8")
    assert len({before, cooler, Scenario.load(path).speed}) == 3 and cooler > before


def test_files_are_looked_for_beside_the_scenario_and_then_from_the_working_folder(plain, tmp_path, monkeypatch):
    hall, here = tmp_path / "hall", tmp_path / "here"
    for folder, warmer in ((hall, 0), (here, 10)):
        folder.mkdir()
        rows = [f"2025-06-01T{hour:02d}:00,{20 + warmer}" for hour in range(24)]
        (folder / "site.csv").write_text("time,temperature\n" + "\n".join(rows), encoding="utf-8")
    (hall / "part.yml").write_text(Gpu.load("a100").to_yaml().replace("name: a100", "name: mine"), encoding="utf-8")
    text = plain.to_yaml() + "heat: {part: part.yml, weather: site.csv}\npower: {part: part.yml}\n"
    (hall / "run.yml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(here)
    run = Scenario.load(hall / "run.yml")
    assert run.heat_response.hours["ambient_c"].max() == 20 and run.power.part == str(hall / "part.yml")
    assert "cannot read part part.yml" in refusal(Scenario.parse, text)
    (hall / "site.csv").unlink()
    assert Scenario.load(hall / "run.yml").heat_response.hours["ambient_c"].max() == 30
