"""The sections power and cost of a scenario."""

from __future__ import annotations

import pytest

from ettr import Scenario, budget, evidence, power
from refusals import refusal


def test_they_are_written_and_read_back(llama3):
    mine = llama3.override({"power.step_s": 8, "power.country": "DEU", "cost.usd_per_gpu_h": 3})
    assert Scenario.parse(mine.to_yaml()) == mine
    assert mine.power.carbon_g_per_kwh == 381
    assert power.profile(mine).waveform.step_s == 8
    rows = mine.to_frame().set_index("field")
    assert rows.loc["power.step_s", ["unit", "status"]].tolist() == ["s", "given"]
    assert rows.loc["power.other_w", ["unit", "status"]].tolist() == ["W", "assumed"]


def test_they_do_not_move_the_time(llama3):
    mine = llama3.override({"power.step_s": 8, "cost.usd_per_kwh": 1})
    assert budget.exact(mine) == budget.exact(llama3)


def test_the_rest_of_the_computers_is_what_a_node_leaves():
    rating_w = 1e3 * evidence.figure("dgx_h100_rating_kw").value * evidence.figure("dgx_h100_peak_share").value
    assert (rating_w - 8 * 696) / 8 == pytest.approx(275, abs=5)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"power.pue": 1.01}, "power.pue must be >= 1.05, 1 and the loss_share, got 1.01"),
        ({"power.country": "XYZ"}, "power.country must be one of CHN, DEU"),
        ({"power.country": "USA", "power.g_per_kwh": 300}, "give country or g_per_kwh, not both"),
        ({"power.jitter_s": 6}, "jitter_s must be <= 5 s, the step_s, got 6"),
        ({"power.volts": 3}, "unknown field"),
    ],
)
def test_what_cannot_be_is_refused(llama3, values, message):
    assert message in refusal(llama3.override, values)
