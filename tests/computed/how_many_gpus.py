"""What the chapter on the number of GPUs makes of some jobs, computed once for its tests of tables, charts, sentences.

``table(kind, name)`` is a table of a job; those of one job have the sizes that all tests need.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from computed.chapters import PRESETS
from ettr import Scenario, sizing
from ettr_book.chapters.how_many_gpus import given, sizes, training_methods

TOKENS = "llama3-405b-tokens"
NO_FAILURES = {"failures": {"rate_per_1000_node_days": 0}}
NO_PRICES = {"cost": {"usd_per_gpu_h": 0, "usd_per_kwh": 0}}
JOBS = {
    **{name: (name, {}) for name in PRESETS},
    "perfect": (TOKENS, {**NO_FAILURES, "scaling": {"jitter": 0, "overlap": 1}}),
    "no prices": (TOKENS, NO_PRICES),
    "hot": ("rsc-2", {"heat": {"part": "h100", "mean_c": 30}}),
}


@cache
def job(name: str = TOKENS) -> given.GivenByTokens:
    preset, changes = JOBS[name]
    return given.given_by_tokens(Scenario.load(preset).override(changes))


def run(name: str = TOKENS) -> Scenario:
    return job(name).scenario


@cache
def answer(name: str = TOKENS) -> sizing.Sizing:
    return sizing.make(run(name))


def fastest_gpus(name: str) -> float:
    return answer(name).best["fastest"].n_gpus


def marked(name: str):
    return sizes.marked_sizes(answer(name), table("in_time", name), table("cost", name)["unit"].iloc[0])


TABLES = {
    "returns": lambda name: sizes.returns_by_size(run(name), n_draws=10),
    "step": lambda name: sizes.step_by_size(run(name), [100_000, fastest_gpus(name)], n_sizes=12),
    "cost": lambda name: sizes.cost_by_size(run(name)),
    "in_time": lambda name: sizes.in_time(run(name), answer(name)),
    "marked": marked,
    "peaks": lambda name: training_methods.peaks_of_ways(run(name), training_methods.ways()),
}


@cache
def table(kind: str, name: str = TOKENS) -> Any:
    return TABLES[kind](name)
