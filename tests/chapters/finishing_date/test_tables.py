"""Finishing dates, what moves them, and what spares do to them."""

from __future__ import annotations

import itertools
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from computed.finishing_date import table
from ettr import Scenario, budget, simulate
from ettr.chapters.finishing_date import beyond_formula_tables, tables
from ettr.chapters.finishing_date.tables import CHANCE, RATE
from ettr.core.errors import OutsideValidity


def test_a_hundred_dots_stand_for_all_runs(llama3):
    simulation = simulate(llama3, 400)
    frame = tables.finishing_dates(simulation)
    assert len(frame) == 100 and frame["finish_h"].is_monotonic_increasing
    assert (simulation.total_h <= frame["finish_h"].iloc[24]).mean() == pytest.approx(0.245, abs=0.003)
    for _, column in frame.groupby("bin_day"):
        assert column["height"].tolist() == list(range(1, len(column) + 1))
    width = np.ptp(frame["finish_h"]) / 24 / 30
    assert ((frame["finish_h"] / 24 - frame["bin_day"]).abs() <= width / 2 * (1 + 1e-6)).all()


def test_runs_that_are_all_alike_are_one_column(llama3):
    quiet = llama3.override({"failures.rate_per_1000_node_days": 0, "maintenance": None})
    frame = tables.finishing_dates(simulate(quiet, 5))
    assert set(frame["bin_day"]) == {frame["bin_day"][0]} and frame["height"].max() == 100


def test_chance_alone_is_the_run_by_the_rules():
    run = beyond_formula_tables.formula_run(Scenario.load("glm-130b"))
    simulated, row = simulate(run, 100), table("causes", "glm-130b").set_index("cause").loc[CHANCE]
    assert (row["ettr"], row["p5_h"], row["p95_h"]) == (simulated.ettr, simulated.finish_h(5), simulated.finish_h(95))


def test_a_rate_that_is_not_known_adds_its_own_variance():
    """Two roads: the mean over rates is that of the closed form, and the variances of chance and of the rate add up."""
    scenario = Scenario.load("glm-130b")
    rows = tables.finish_by_cause(scenario, n_runs=2000).set_index("cause")
    run, known = beyond_formula_tables.formula_run(scenario), scenario.failures.posterior
    likely = (np.arange(25) + 0.5) / 25
    rates = 1000 * stats.gamma.ppf(likely, known.shape) / known.node_days
    means_h = np.array(
        [budget.exact(run.override({"failures.rate_per_1000_node_days": rate})).total_h for rate in rates]
    )
    row, chance = rows.loc[RATE], rows.loc[CHANCE]
    assert abs(row["mean_h"] - means_h.mean()) < 4 * row["error"] / row["ettr"] * row["mean_h"]
    widths = [one["p95_h"] - one["p5_h"] for one in (chance, row)]
    expected = np.hypot(widths[0], 2 * stats.norm.ppf(0.95) * means_h.std())
    assert widths[1] == pytest.approx(expected, rel=0.12)  # 2,000 runs know the width to 3%; neither is quite normal
    assert widths[1] > 1.1 * widths[0]


def test_the_rate_has_no_row_where_nothing_is_known_of_it():
    rows = tables.finish_by_cause(Scenario.load("rsc-2"), n_runs=12)
    assert RATE not in set(rows["cause"]) and rows["cause"].iloc[0] == CHANCE


def test_nodes_in_the_middle_of_their_lives_move_nothing_and_new_ones_do():
    rows = table("causes", "glm-130b").set_index("cause")
    chance = rows.loc[CHANCE]
    for name in ("Settled nodes, k = 0.7", "Settled nodes, k = 0.5", "Settled nodes, k = 1.5", "Lemons stay"):
        assert abs(rows.loc[name, "ettr"] - chance["ettr"]) < 4 * np.hypot(rows.loc[name, "error"], chance["error"])
    assert rows.loc["New nodes, k = 0.7", "ettr"] < chance["ettr"] - 0.02
    assert rows.loc["Racks fail at once", "p95_h"] > chance["p95_h"]


def test_ettrs_come_with_their_95_percent():
    for frame in (table("causes", "glm-130b"), table("by_spares", "glm-130b")):
        middle, half = (frame["low"] + frame["high"]) / 2, (frame["high"] - frame["low"]) / 2
        assert middle.to_numpy() == pytest.approx(frame["ettr"].to_numpy())
        assert half.to_numpy() == pytest.approx(NormalDist().inv_cdf(0.975) * frame["error"].to_numpy())


def test_more_spares_never_hurt_and_racks_always_do():
    frame = table("by_spares", "glm-130b")
    for _, rows in frame.groupby("failures"):
        assert rows["n_spares"].is_monotonic_increasing
        later = rows["ettr"].to_numpy()[1:] - rows["ettr"].to_numpy()[:-1]
        assert (later > -4 * np.hypot(rows["error"].to_numpy()[1:], rows["error"].to_numpy()[:-1])).all()
        assert rows["waiting_h"].is_monotonic_decreasing
    single, racks = (frame[frame["failures"] == kind].set_index("n_spares") for kind in ("single nodes", "racks too"))
    assert (racks["waiting_h"] >= single["waiting_h"]).all()
    np.testing.assert_allclose(racks["in_repair"], 1.3 * single["in_repair"])  # 2% of failures take 16 nodes
    most = single.iloc[-1]
    assert most["waiting_h"] == 0 and abs(most["ettr"] - most["closed_ettr"]) < 4 * most["error"]


def test_numbers_of_spares_go_from_the_nodes_in_repair_to_two_racks():
    numbers = sorted(table("by_spares", "glm-130b")["n_spares"].unique())
    assert numbers[0] == 0 and numbers[-1] == 32  # less than half a node is in repair
    assert all(b > 1.08 * a for a, b in itertools.pairwise(numbers))


@pytest.mark.parametrize("finish", [tables.finish_by_cause, tables.finish_by_spares])
def test_a_run_that_never_ends_is_refused(llama3, finish):
    with pytest.raises(OutsideValidity):
        finish(llama3.override({"recovery.restart_min": 1e6}), n_runs=5)
