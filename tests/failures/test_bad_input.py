"""Bad input is refused by name, rule, unit and value: in the same words by all that take it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from ettr.core.errors import InputError
from ettr.failures import burn_in_count, job_mttf_h, settled_rate, without_each
from ettr.failures.dispersion import local_dispersion, over_dispersed_rate, over_dispersion, rate_gamma
from ettr.failures.gaps import fit_gaps, merge_starts
from ettr.failures.groups import cohorts_differ, rates_by, within_cohorts
from ettr.failures.lemons import find_lemons
from ettr.failures.lifetimes import fit_lifetimes, kaplan_meier
from ettr.failures.outages import find_outages
from ettr.failures.prediction import predict_count, score_forecasts
from ettr.failures.rates import failure_rate, gamma_interval, poisson_interval
from ettr.failures.renewal import fleet_rate, renewal_count
from ettr.failures.repairs import repair_times
from ettr.failures.repeats import deduplicate, hazard_after_repair, repeat_risk
from ettr.failures.roles import check_roles
from ettr.failures.trend import crow_amsaa, find_trend, laplace, rate_over_time

NAN = math.nan
TEN = np.arange(10.0)
ONE = find_outages([1.0], None, ["a"], 9.0, 2)
PAIR = [1.0, 1.0]

REFUSED = {
    # levels
    "level must be between 0 and 1, got 95": [
        lambda: over_dispersed_rate(1, 1.0, level=95),
        lambda: fit_gaps([1.0], 2.0, level=95),
        lambda: rates_by(["a"], 9.0, level=95),
        lambda: fit_lifetimes([1.0], [True], level=95),
        lambda: predict_count([1.0], 2.0, level=95),
        lambda: gamma_interval(3, 3, 95),
        lambda: repair_times(ONE, level=95),
    ],
    "level must be between 0 and 1, got 0": [
        lambda: crow_amsaa(TEN, 9.0, 0),
        lambda: score_forecasts([1.0], 2.0, level=0),
    ],
    "level must be between 0 and 1, got 1": [lambda: poisson_interval(3, 1), lambda: find_trend(TEN, 9.0, 1, level=1)],
    # times of failures
    "start_h must be in order, got 1 h after 2 h: sort it": [
        lambda: over_dispersion([2.0, 1.0], 10.0),
        lambda: merge_starts([2.0, 1.0], 1.0),
        lambda: score_forecasts([2.0, 1.0], 9.0),
    ],
    "start_h must be <= window_h = 8 h, got 9: cut the log or widen the window": [
        lambda: local_dispersion(TEN, 8.0),
        lambda: fit_gaps(TEN, 8.0),
        lambda: predict_count(TEN, 8.0),
    ],
    "start_h must be >= 0 h and finite, got -1": [lambda: over_dispersion([-1.0], 10.0)],
    "start_h must be a list of times, got an array of shape (2, 5)": [lambda: over_dispersion(TEN.reshape(2, 5), 10.0)],
    "start_h must hold at least 10 failures to see how they scatter, got 3": [lambda: over_dispersion(TEN[:3], 10.0)],
    "start_h must hold at least 2 failures to test for a trend, got 1": [lambda: laplace([1.0], 2.0)],
    "start_h must hold at least 2 failures after 0 h to test for a trend, got 1": [lambda: crow_amsaa([0.0, 1.0], 2.0)],
    "start_h must hold a failure before window_h = 2 h": [lambda: crow_amsaa([2.0, 2.0], 2.0)],
    "start_h must be finite h; leave out failures without a start, and count them": [lambda: deduplicate([NAN], ["a"])],
    "start_h must be between 0 h and the window's 10 h, got 12 (event 0); cut the log to the window": [
        lambda: find_lemons([12.0], ["a"], 10.0, 5)
    ],
    "start_h must be between 0 h and the window's 10 h, got nan (event 1); cut the log to the window": [
        lambda: find_outages([1, NAN], None, [1, 2], 10.0, 2)
    ],
    "end_h must be >= start_h, 3 h, got 2 (event 1)": [lambda: find_outages([1, 3], [2, 2], [1, 2], 10.0, 2)],
    "window_h must be > 0 h and finite, got 0": [
        lambda: over_dispersion(TEN, 0.0),
        lambda: find_trend(TEN, 0.0, 1),
        lambda: find_outages([1, 3], [2, 4], [1, 2], 0.0, 2),
        lambda: settled_rate(1, 1, 0, 0.7),
        lambda: without_each(pd.DataFrame({"category": ["a"], "n_events": [1]}), 0.0),
    ],
    # columns of one length
    "node must have 2 values, as start_h has, got 1": [
        lambda: find_outages([1, 3], [2, 4], [1], 10.0, 2),
        lambda: deduplicate([1.0, 2.0], ["a"]),
    ],
    "end_h must have 2 values, as start_h has, got 1": [lambda: find_outages([1, 3], [2], [1, 2], 10.0, 2)],
    "group must have 1 values, as start_h has, got 2": [lambda: repair_times(ONE, ["a", "b"])],
    "values must have 1 values, as node has, got 2": [lambda: within_cohorts([0], ["a", "b"], {"a": 2})],
    "observed must have 2 values, as duration_h has, got 1": [lambda: kaplan_meier([1.0, 2.0], [True])],
    "node_days must have 2 values, as n_events has, got 1": [lambda: cohorts_differ([1, 2], [1.0])],
    "names must have 2 values, as n_events has, got 1": [lambda: cohorts_differ([1, 2], PAIR, ["a"])],
    "counts must have 3 values, as names has, got 2": [lambda: check_roles(["a1", "a2", "a3"], [1, 2])],
    # counts and what was watched
    "n_events must be >= 0 and finite, got -1": [
        lambda: over_dispersed_rate(-1, 1.0),
        lambda: poisson_interval(-1),
        lambda: cohorts_differ([-1, 2], PAIR),
        lambda: settled_rate(-1, 1, 1, 0.7),
    ],
    "n_events must be >= 0 and finite, got inf": [lambda: poisson_interval([1, math.inf])],
    "n_events must be a number or an array of numbers, got 'many'": [lambda: poisson_interval("many")],
    "counts must be >= 0 and finite, got -1": [lambda: check_roles([f"n{i}" for i in range(12)], -np.ones(12))],
    "node_days must be > 0 and finite, got 0": [
        lambda: rate_gamma(1, 0.0),
        lambda: rates_by(["a"], 0.0),
        lambda: failure_rate(3, 0),
        lambda: gamma_interval(3, 0),
    ],
    "exposure of a must be > 0 and finite, got -1": [lambda: rates_by(["a"], 9.0, exposure={"a": -1})],
    "nodes of a must be > 0 and finite, got 0": [lambda: within_cohorts([0], ["a"], {"a": 0})],
    "nodes of a must be >= 2, which failed, got 1": [lambda: within_cohorts([0, 1], ["a", "a"], {"a": 1})],
    "n_nodes must be > 0 and finite, got 0": [
        lambda: rate_over_time(TEN, 9.0, 0),
        lambda: settled_rate(1, 0, 1, 0.7),
    ],
    "n_nodes must be >= 2, the nodes that failed, got 1; count the healthy nodes too": [
        lambda: find_lemons([1.0, 2.0], ["a", "b"], 10.0, 1),
        lambda: find_outages([1, 3], [2, 4], ["a", "b"], 10.0, 1),
    ],
    "node must be known for a failure at least: name the column of nodes, or do not look for lemons": [
        lambda: find_lemons([1.0], [None], 10.0, 5)
    ],
    "rate_per_1000_node_days must be >= 0 and finite, got -1": [lambda: job_mttf_h(-1, 8)],
    "gpus_per_node must be > 0 and finite, got 0": [lambda: job_mttf_h(1, 8, 0)],
    "n_gpus must be > 0 and finite, got 0": [lambda: job_mttf_h(1, [8, 0])],
    # how failures scatter, and shapes
    "index must be > 0 and finite, got 0": [lambda: rate_gamma(1, 1.0, index=0.0), lambda: laplace(TEN, 9.0, index=0)],
    "dispersion must be > 0 and finite, got 0": [lambda: cohorts_differ([1, 2], PAIR, dispersion=0.0)],
    "dof must be > 0 and finite, got 0": [
        lambda: cohorts_differ([1, 2], PAIR, dof=0.0),
    ],
    "shape must be > 0 and finite, got 0": [lambda: gamma_interval(0, 2)],
    "shape must be between 0.2 and 5, got 0.1": [
        lambda: settled_rate(0, 1, 1, 0.1),
        lambda: renewal_count(1.0, 0.1, 1.0),
    ],
    "shape must be between 0.2 and 5, got 9": [lambda: settled_rate(0, 1, 1, 9)],
    "shape must be between 0.2 and 5, got nan": [
        lambda: settled_rate(1, 1, 1, NAN),
        lambda: renewal_count(1.0, NAN, 1.0),
    ],
    # durations and steps
    "within_h must be >= 0 h and finite, got -1": [
        lambda: merge_starts([1.0], -1),
        lambda: deduplicate([1.0], ["a"], -1),
    ],
    "within_min must be >= 0 min and finite, got -5": [lambda: fit_gaps([1.0], 2.0, -5)],
    "within_d must be > 0 d and finite, got 0": [lambda: repeat_risk(ONE, within_d=0)],
    "horizon_d must be > 0 d and finite, got 0": [
        lambda: predict_count([1.0], 2.0, 0.0),
        lambda: score_forecasts([1.0], 2.0, 0.0),
    ],
    "resolution_h must be >= 0 h and finite, got nan": [lambda: fit_gaps([1.0], 2.0, resolution_h=NAN)],
    "duration_h must be >= 0 h and finite, got -1": [lambda: kaplan_meier([-1.0], [True])],
    "duration_h must be > 0 h where observed, got 0; join failures at one instant first": [
        lambda: fit_lifetimes([0.0, 2.0], [True, True])
    ],
    "t_h must be >= 0 h and finite, got -1": [
        lambda: burn_in_count(-1, 1, 1, 1),
        lambda: renewal_count(-1.0, 0.7, 1.0),
    ],
    "mean_h must be > 0 h and finite, got 0": [lambda: renewal_count(1.0, 0.7, 0.0)],
    "decay_h must be > 0 h and finite, got 0": [lambda: burn_in_count(1, 1, 1, 0)],
    "factor must be >= 0 and finite, got -2": [lambda: burn_in_count(1, 1, -2, 1)],
    "age_h must be >= 0 h and finite, got nan": [lambda: burn_in_count(1, 1, 2, 1, NAN)],
    "settled_rate_per_h must be >= 0 1/h and finite, got -1": [lambda: burn_in_count(1, -1, 1, 1)],
    "edges_d must rise from 0 d, got [1.0, 2.0]": [lambda: hazard_after_repair(ONE, (1, 2))],
    "edges_d must rise from 0 d, got [0.0, 2.0, 2.0]": [lambda: hazard_after_repair(ONE, (0, 2, 2))],
    "edges_d must be at least two ages in rising order, got [3.0]": [lambda: fleet_rate(3.0, 0.7, 1.0)],
    "edges_d must be at least two ages in rising order, got [3.0, 1.0]": [lambda: fleet_rate([3, 1], 0.7, 1.0)],
    # whole numbers
    "n_blocks must be a whole number >= 2, got 1": [lambda: over_dispersion(TEN, 10.0, n_blocks=1)],
    "n_blocks must be a whole number >= 2, got 2.5": [lambda: local_dispersion(TEN, 10.0, n_blocks=2.5)],
    "n_bins must be a whole number >= 1, got 0": [lambda: rate_over_time(TEN, 9.0, 1, n_bins=0)],
    "draws must be a whole number >= 19, got 5": [lambda: fit_gaps([1.0], 2.0, draws=5)],
    "max_gaps must be a whole number >= 100, got 99": [lambda: fit_gaps([1.0], 2.0, max_gaps=99)],
}


@pytest.mark.parametrize("message", REFUSED)
def test_bad_input_is_refused(message):
    for call in REFUSED[message]:
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == message
