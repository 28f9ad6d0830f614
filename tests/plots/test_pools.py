"""The chart of a spare pool uses the repair of the run."""

from __future__ import annotations

import pytest

from ettr import Scenario, spares
from ettr.plots.pools import pool_data


def need(repair_h: float | None) -> float:
    pool = {"spares": {"n_nodes": 0}, "repair": {"manual_h": repair_h}} if repair_h else {}
    return float(pool_data(Scenario.load("llama3-405b").override(pool))["need"]["n_spares"].iloc[0])


def test_the_pool_is_for_the_repair_of_the_run():
    assert need(6) < need(None) < need(96)


def test_the_share_without_spares_is_that_of_the_loss_formula():
    run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    in_repair = spares.demand(run).in_repair
    assert pool_data(run)["lines"]["chance"].iloc[0] == pytest.approx(1 / (1 + in_repair))
