"""A NumPy generator as seed: reproducible, and the same as the whole number that is drawn from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ettr import Gpu, Scenario, failures, logs, ranges, recommendation, simulate, sizing, spares, telemetry
from ettr.core.seeds import seed_of

RUN = Scenario.load("llama3-405b")
SIZED = Scenario.load("llama3-405b-tokens")
POOL = {"spares": {"n_nodes": 4}, "repair": {"manual_h": 24}}


def _fit(seed):
    start = pd.Timestamp("2024-05-01") + pd.to_timedelta(np.cumsum(np.random.default_rng(0).exponential(60, 80)), "h")
    frame = pd.DataFrame({"start": start, "node": [f"n{i % 13}" for i in range(start.size)]})
    return str(failures.fit(logs.from_frame(frame, n_nodes=20), seed=seed).to_dict())


CALLS = {
    "simulate": lambda seed: simulate(RUN, n_runs=5, seed=seed).rows.tolist(),
    "ranges": lambda seed: ranges.draws(RUN, n=100, seed=seed).ettr.tolist(),
    "sizing": lambda seed: sizing.draws(
        Scenario.load("llama3-405b-tokens"), 20, seed
    ).constants.kernel_efficiency.tolist(),
    "spares": lambda seed: spares.by_pool_size(RUN.override(POOL), [4, 8], 5, seed).to_dict(),
    "recommendation": lambda seed: recommendation.run_scenario(RUN, 5, seed).budget.total_h,
    "failures": _fit,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_generator_gives_the_answer_of_the_number_that_it_draws(name):
    call, number = CALLS[name], seed_of(np.random.default_rng(3))
    assert call(np.random.default_rng(3)) == call(number)


def test_a_generator_moves_on():
    generator = np.random.default_rng(3)
    first, second = (simulate(RUN, n_runs=5, seed=generator) for _ in range(2))
    assert first.seed != second.seed and not (first.rows == second.rows).any(axis=0).all()


def test_a_recording_is_simulated_from_a_generator():
    first, second = (
        telemetry.simulate(Gpu.load("h100"), telemetry.schedule(2), step_s=1.0, seed=np.random.default_rng(3))
        for _ in range(2)
    )
    assert first.samples.equals(second.samples)
