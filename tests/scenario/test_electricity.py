"""The sections power and cost of a scenario."""

from __future__ import annotations

import pytest

from ettr import Gpu, Scenario, evidence, power
from ettr.scenario.electricity import Power
from refusals import refusal


def test_they_are_written_and_read_back(llama3):
    mine = llama3.override({"power.step_s": 8, "power.country": "DEU", "cost.usd_per_gpu_h": 3})
    assert Scenario.parse(mine.to_yaml()) == mine
    assert mine.power.carbon_g_per_kwh == 381
    assert power.profile(mine).waveform.step_s == 8
    rows = mine.to_frame().set_index("field")
    assert rows.loc["power.step_s", ["unit", "status"]].tolist() == ["s", "given"]
    assert rows.loc["power.other_w", ["unit", "status"]].tolist() == ["W", "assumed"]


def test_the_rest_of_the_computers_is_what_a_node_leaves():
    peak_w, gpu_w = 1e3 * evidence.figure("dgx_h100_peak_kw").value, Gpu.load("h100").levels.compute_w
    assert Power.model_validate({}).other_w == pytest.approx((peak_w - 8 * gpu_w) / 8, abs=1)


def test_a_node_in_training_draws_the_share_of_its_rating_that_was_measured(llama3):
    """The mean over a step, which the figures behind the level of a peak do not fix."""
    mean_w = 8 * (power.profile(llama3).gpu_w("training") + Power.model_validate({}).other_w)
    rating_w = 1e3 * evidence.figure("dgx_h100_rating_kw").value
    assert mean_w / rating_w == pytest.approx(evidence.figure("dgx_h100_mean_share").value, abs=0.02)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"power.pue": 0.9}, "power.pue must be >= 1, got 0.9"),
        ({"power.country": "XYZ"}, "power.country must be one of CHN, DEU"),
        ({"power.country": "USA", "power.g_per_kwh": 300}, "takes country or g_per_kwh, not both"),
        ({"power.volts": 3}, "unknown field"),
    ],
)
def test_what_cannot_be_is_refused(llama3, values, message):
    assert message in refusal(llama3.override, values)
