"""Racks in a plan: their MTBF, and the racks that leave the job with and without spare nodes inside."""

from __future__ import annotations

import pytest

from ettr import Scenario, plan, spares
from ettr.core.sentences import about, number, roughly
from ettr.core.units import H_PER_MONTH


@pytest.fixture(scope="module")
def gb200() -> Scenario:
    return Scenario.load("gb200-nvl72")


def lines_of(run: Scenario) -> list[str]:
    """The sentences of a plan about racks."""
    texts = [getattr(part, "text", "") for part in plan.make(run, simulate=False).report()]
    return [text for text in texts if "inside racks" in text or "of a rack in use" in text]


def test_a_plan_compares_the_racks_out_with_and_without_spares_inside(gb200):
    own, without = lines_of(gb200)
    assert "27 days" in own  # 1,732 GPU-days for 64 GPUs
    for line, run in ((own, gb200), (without, gb200.override({"rack.n_used": None}))):
        per_month = spares.demand(run).leaves_per_h * H_PER_MONTH
        assert f"{number(about(per_month))} racks" in line
        assert f"{spares.cheapest_pool_for(run).n_spares} spare nodes" in line
    assert "90.0%" in without  # a tenth drains the rack


def test_a_rack_without_spares_inside_has_nothing_to_compare(gb200):
    [only] = lines_of(gb200.override({"rack.n_used": 72}))
    assert roughly(24 * 1732 / 72) in only


def test_without_repair_the_plan_names_the_missing_sections(gb200):
    [only] = lines_of(gb200.override({"spares": None, "repair": None}))
    assert "27 days" in only and "spares and repair" in only


@pytest.mark.parametrize(
    "values", [{"rack": None}, {"failures.gpu_mttf_h": None, "failures.rate_per_1000_node_days": 0}]
)
def test_no_rack_or_no_failure_has_no_line(gb200, values):
    assert lines_of(gb200.override(values)) == []
