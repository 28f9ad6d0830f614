"""Tables of the chapter on power."""

from __future__ import annotations

import pytest

from ettr import Scenario, simulate
from ettr.chapters.power import tables
from ettr.core.errors import InputError


def test_stops_are_the_failures_of_the_run():
    simulation = simulate(Scenario.load("llama3-405b"), 1, timeline=[0])
    rows = tables.stops(simulation.timeline)
    n_failures = int(simulation.runs["n_failures"].iloc[0])
    # a failure during a restart begins no stop of its own
    assert 0.9 * n_failures <= len(rows) <= n_failures
    assert (rows["return_h"] > rows["failure_h"]).all() and rows["failure_h"].is_monotonic_increasing


def test_the_job_is_resized_to_whole_nodes():
    run = Scenario.load("llama3-405b")
    assert tables.resized(run, 1001).cluster.n_gpus == 1000 and tables.resized(run, 0) is run
    with pytest.raises(InputError, match="n_gpus must be >= 0"):
        tables.resized(run, -8)
