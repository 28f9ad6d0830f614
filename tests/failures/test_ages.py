"""The rate by age, by hand and against Crow's closed form."""

from __future__ import annotations

import numpy as np
import pytest

from ettr.core.errors import InputError
from ettr.failures.ages import hazard_by_age
from ettr.failures.rates import failure_rate
from simulated_logs import simulate_log

DAYS = 350.0


def test_rates_by_hand():
    """Two nodes for ten days; one is out on days 2 to 4. Failures at ages 2, 6 and 8 d."""
    by_age = hazard_by_age([48.0, 144.0, 192.0], [96.0, 144.0, 192.0], ["a", "a", "b"], 240.0, 2, edges_d=[0, 5, 10])
    assert by_age.table["node_days"].tolist() == pytest.approx([8, 10])
    assert by_age.table["n_events"].tolist() == [1, 2]
    row = failure_rate(2, 10)
    assert by_age.table.loc[1, ["rate", "low", "high"]].tolist() == pytest.approx([200, row.low, row.high])
    assert by_age.shape is None and by_age.hazard is None  # three failures tell no shape


def test_ages_of_their_own():
    """Node 0 is new and node 1 ten days old when the ten days begin: each is alone at its age."""
    by_age = hazard_by_age([24.0, 72.0], None, [1, 0], 240.0, 2, age0_h=[0.0, 240.0], edges_d=[0, 10, 20])
    assert by_age.table["node_days"].tolist() == [10, 10]
    assert by_age.table["n_events"].tolist() == [1, 1]
    later = hazard_by_age([24.0, 72.0], None, [1, 1], 240.0, 2, age0_h=[0.0, 240.0], edges_d=[0, 10, 20])
    assert later.table["n_events"].tolist() == [0, 2]


def test_one_age_for_all_is_that_age_for_each():
    log = simulate_log(1, 50, 100, 10.0)
    columns = (log["start_h"], log["end_h"], log["node"], 2400.0, 50)
    one, each = hazard_by_age(*columns, age0_h=1000.0), hazard_by_age(*columns, age0_h=np.full(50, 1000.0))
    assert one.table.equals(each.table)
    assert (one.shape, one.low) == pytest.approx((each.shape, each.low))


@pytest.mark.parametrize(("beta", "hazard"), [(0.6, "falling"), (1.0, "flat"), (1.8, "rising")])
def test_the_shape_is_crow_s(beta, hazard):
    """All nodes new at the window's start, no time out: n / sum of ln(T / t), with relative error 1 / sqrt(n)."""
    log = simulate_log(5, 400, DAYS, 4.0, trend_beta=beta)
    by_age = hazard_by_age(log["start_h"], log["start_h"], log["node"], DAYS * 24, 400)
    crow = len(log) / np.log(DAYS * 24 / log["start_h"]).sum()
    assert by_age.shape == pytest.approx(crow, rel=1e-5)
    assert np.log(by_age.high / by_age.low) / 2 == pytest.approx(1.96 / np.sqrt(len(log)), rel=2e-3)
    assert by_age.hazard == hazard
    assert by_age.table["n_events"].sum() == len(log)
    assert by_age.table["node_days"].sum() == pytest.approx(400 * DAYS)
    assert 4 <= len(by_age.table) <= 12


def test_ages_find_what_time_hides():
    """Nodes wear out (exponent 2 over age), but enter at all ages: flat over the window, rising over age."""
    rng = np.random.default_rng(3)
    age0, window = rng.uniform(0, 5000, 500), 2000.0
    n = rng.poisson(((age0 + window) ** 2 - age0**2) / 2e7)
    node = np.repeat(np.arange(500), n)
    at = np.sqrt(rng.uniform(age0[node] ** 2, (age0[node] + window) ** 2))
    by_age = hazard_by_age(at - age0[node], None, node, window, 500, age0_h=age0)
    assert by_age.low < 2 < by_age.high and by_age.hazard == "rising"
    assert hazard_by_age(at - age0[node], None, node, window, 500).low < 1.3


def test_a_failure_that_began_the_window_does_not_set_the_shape():
    start = np.append(0.0, np.linspace(10, 990, 50))
    with_first, without = (hazard_by_age(s, s, np.arange(len(s)), 1000.0, 99) for s in (start, start[1:]))
    assert with_first.shape == pytest.approx(without.shape, rel=1e-9)
    assert with_first.table["n_events"].sum() == 51


BAD = {
    "age0_h must be one age or have n_nodes = 3 values, got 2": lambda: hazard_by_age(
        [1.0], None, [0], 9.0, 3, age0_h=[1.0, 2.0]
    ),
    "node must be numbers from 0 to 1, the places in age0_h, where ages differ": lambda: hazard_by_age(
        [1.0], None, ["a"], 9.0, 2, age0_h=[1.0, 2.0]
    ),
    "age0_h must be >= 0 h and finite, got -1": lambda: hazard_by_age([1.0], None, [0], 9.0, 2, age0_h=-1.0),
    "edges_d must be at least two ages in rising order, got [2.0, 1.0]": lambda: hazard_by_age(
        [1.0], None, [0], 9.0, 2, edges_d=[2, 1]
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused(message):
    with pytest.raises(InputError) as caught:
        BAD[message]()
    assert str(caught.value) == message
