"""Energy by part, the bill, and carbon."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import TimeBudget, budget, evidence, power, simulate
from ettr.core.errors import InputError, UnknownName


def test_a_budget_is_hours_times_mean_power(profile):
    spent = power.energy(TimeBudget(10.0, rework_h=1.0, queue_h=2.0, restart_h=0.5), profile).set_index("part")
    training_mw = 16384 * (0.8 * 696 + 0.2 * 350 + 354) / 1e6
    assert spent["it_mwh"].to_dict() == pytest.approx(
        {
            "productive": 10 * training_mw,
            "rework": training_mw,
            "queue": 2 * 16384 * (72.5 + 354) / 1e6,
            "restart": 0.5 * 16384 * (200 + 354) / 1e6,
        }
    )
    assert spent["facility_mwh"].to_numpy() == pytest.approx(1.1 * spent["it_mwh"].to_numpy())


def test_simulated_and_expected_energy_agree(llama3, profile):
    simulation = simulate(llama3, 100, timeline=[0])
    of_mean = power.energy(simulation.budget, profile)["it_mwh"].sum()
    assert of_mean == pytest.approx(power.energy(budget.exact(llama3), profile)["it_mwh"].sum(), rel=0.01)
    timeline = simulation.timeline
    of_one = power.energy(timeline, profile)["it_mwh"].sum()
    runs = simulation.runs.iloc[0]
    parts = {
        name: float(runs[name]) for name in TimeBudget.__dataclass_fields__ if name.endswith("_h") and name in runs
    }
    parts.pop("spare_gpu_h", None)
    # steps that are cut off have taken more than their mean: at most this much, once a stretch
    room = len(timeline) * profile.n_gpus * profile.waveform._table[1].max() / 3.6e9
    assert 0 <= of_one - power.energy(TimeBudget(**parts), profile)["it_mwh"].sum() <= room


def test_the_bill_is_energy_and_hours_at_their_prices(timeline, profile, llama3):
    dear = llama3.override({"cost.usd_per_kwh": 0.2, "cost.usd_per_gpu_h": 3.0})
    costs = power.bill(timeline, profile, dear)
    assert costs["electricity_usd"].to_numpy() == pytest.approx(costs["facility_mwh"].to_numpy() * 200)
    assert costs["gpu_usd"].sum() == pytest.approx(3.0 * 16384 * float(timeline["end_h"].iloc[-1]))
    assert costs["t_co2"].to_numpy() == pytest.approx(costs["facility_mwh"].to_numpy() * 0.369)
    assert costs.loc[~costs["wasted"], "part"].tolist() == ["training"]
    plain = power.bill(timeline, profile)
    assert costs["electricity_usd"].sum() == pytest.approx(2.5 * plain["electricity_usd"].sum())


def test_carbon_is_that_of_the_country_or_of_the_scenario(llama3):
    assert power.profile(llama3.override({"power.country": "FRA"})).g_per_kwh == 56
    assert power.profile(llama3.override({"power.g_per_kwh": 12.5})).g_per_kwh == 12.5
    countries = power.carbon_by_country(2000.0)
    assert len(countries) == len(evidence.table("carbon_intensity")) and countries["t_co2"].is_monotonic_decreasing
    assert countries.set_index("country").loc["SWE", "t_co2"] == pytest.approx(82.0)


def test_a_part_of_ones_own(tmp_path, llama3):
    from ettr import Gpu

    path = tmp_path / "mine.yml"
    path.write_text(Gpu.load("h100").to_yaml().replace("name: h100", "name: mine").replace("350", "100"))
    timeline = power.profile(llama3.override({"power.part": str(path)}))
    assert timeline.waveform.swing_w == pytest.approx(596.0)
    with pytest.raises(UnknownName, match="unknown part 'h1000'.*did you mean 'h100'"):
        power.profile(llama3, part="h1000")


def test_the_part_of_heat_is_that_of_power_unless_it_has_its_own(llama3):
    warm = llama3.override({"heat": {"mean_c": 20, "part": "a100"}})
    assert power.profile(warm).rated_w == 400
    assert power.profile(warm.override({"power.part": "b200"})).rated_w == 1000
    assert power.profile(warm, part="h200").title == "NVIDIA H200 SXM"


def test_arrays_are_refused(profile):
    with pytest.raises(ValueError, match="arrays"):
        power.energy(TimeBudget(np.array([1.0, 2.0])), profile)
    with pytest.raises(InputError, match="facility_mwh must be >= 0 MWh"):
        power.carbon_by_country(-1.0)
