"""Bad input is refused by name, rule, unit and value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ettr.core.errors import InputError
from ettr.failures import job_mttf_h, settled_rate
from ettr.failures.dispersion import local_dispersion, over_dispersed_rate, over_dispersion, rate_gamma
from ettr.failures.gaps import fit_gaps
from ettr.failures.groups import cohorts_differ, within_cohorts
from ettr.failures.lemons import find_lemons
from ettr.failures.lifetimes import fit_lifetimes, kaplan_meier
from ettr.failures.outages import find_outages
from ettr.failures.rates import poisson_interval
from ettr.failures.renewal import renewal_count
from ettr.failures.repeats import deduplicate, repeat_risk
from ettr.failures.trend import crow_amsaa, laplace, rate_over_time

NAN = math.nan
TEN = np.arange(10.0)
ONE = find_outages([1.0], None, ["a"], 9.0, 2)
PAIR = [1.0, 1.0]

REFUSED = {
    "level must be between 0 and 1, got 95": lambda: over_dispersed_rate(1, 1.0, level=95),
    "start_h must be in order, got 1 h after 2 h: sort it": lambda: over_dispersion([2.0, 1.0], 10.0),
    "start_h must be <= window_h = 8 h, got 9: cut the log or widen the window": lambda: local_dispersion(TEN, 8.0),
    "start_h must be >= 0 h and finite, got -1": lambda: over_dispersion([-1.0], 10.0),
    "start_h must have at least 10 failures to estimate dispersion, got 3": lambda: over_dispersion(TEN[:3], 10.0),
    "start_h must have at least 2 failures to test for a trend, got 1": lambda: laplace([1.0], 2.0),
    "start_h must contain a failure before window_h = 2 h": lambda: crow_amsaa([2.0, 2.0], 2.0),
    "start_h must be a finite number of hours; leave out failures without a start": lambda: deduplicate([NAN], ["a"]),
    "start_h must be between 0 h and the window's 10 h, got 12": lambda: find_lemons([12.0], ["a"], 10.0, 5),
    "end_h must be >= start_h, 3 h, got 2 (event 1)": lambda: find_outages([1, 3], [2, 2], [1, 2], 10.0, 2),
    "window_h must be > 0 h and finite, got 0": lambda: over_dispersion(TEN, 0.0),
    "node must have 2 values, as start_h has, got 1": lambda: find_outages([1, 3], [2, 4], [1], 10.0, 2),
    "values must have 1 values, as node has, got 2": lambda: within_cohorts([0], ["a", "b"], {"a": 2}),
    "node_days must have 2 values, as n_events has, got 1": lambda: cohorts_differ([1, 2], [1.0]),
    "n_events must be >= 0 and finite, got -1": lambda: over_dispersed_rate(-1, 1.0),
    "n_events must be a number or an array of numbers, got 'many'": lambda: poisson_interval("many"),
    "node_days must be > 0 and finite, got 0": lambda: rate_gamma(1, 0.0),
    "nodes of a must be >= 2, which failed, got 1": lambda: within_cohorts([0, 1], ["a", "a"], {"a": 1}),
    "n_nodes must be > 0 and finite, got 0": lambda: rate_over_time(TEN, 9.0, 0),
    "n_nodes must be >= 2, the nodes that failed, got 1": lambda: find_lemons([1.0, 2.0], ["a", "b"], 10.0, 1),
    "node must be given for at least one failure": lambda: find_lemons([1.0], [None], 10.0, 5),
    "n_gpus must be > 0 and finite, got 0": lambda: job_mttf_h(1, [8, 0]),
    "index must be > 0 and finite, got 0": lambda: rate_gamma(1, 1.0, index=0.0),
    "dof must be > 0 and finite, got 0": lambda: cohorts_differ([1, 2], PAIR, dof=0.0),
    "shape must be between 0.2 and 5, got 0.1": lambda: settled_rate(0, 1, 1, 0.1),
    "within_d must be > 0 d and finite, got 0": lambda: repeat_risk(ONE, within_d=0),
    "duration_h must be >= 0 h and finite, got -1": lambda: kaplan_meier([-1.0], [True]),
    "duration_h must be > 0 h where observed, got 0": lambda: fit_lifetimes([0.0, 2.0], [True, True]),
    "mean_h must be > 0 h and finite, got 0": lambda: renewal_count(1.0, 0.7, 0.0),
    "draws must be >= 19, got 5": lambda: fit_gaps([1.0], 2.0, draws=5),
}


@pytest.mark.parametrize("message", REFUSED)
def test_bad_input_is_refused(message):
    with pytest.raises(InputError) as caught:
        REFUSED[message]()
    assert message in str(caught.value)
