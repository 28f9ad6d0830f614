"""A second model of a training run, in SimPy and written from the rules alone, to check the simulator against.

It has every rule and is slow. It shares no code with the package, of which only ``rules_of`` knows anything.
"""

from __future__ import annotations

import math
import random

import numpy as np

from .job import Job
from .rules import PARTS, Rules, rules_of

__all__ = ["PARTS", "Rules", "means", "rules_of", "runs", "simulate"]


def simulate(rules: Rules, seed: int | str) -> dict[str, float]:
    """One run: hours by part, and counts."""
    return Job(rules, random.Random(seed)).result()


def runs(scenario, n_runs: int, seed: int, horizon: float = math.inf) -> dict[str, np.ndarray]:
    """Independent runs: an array for each part and count, and for the total."""
    rules = rules_of(scenario, horizon)
    rows = [simulate(rules, f"{seed}/{number}") for number in range(n_runs)]
    table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return table | {"total_h": np.sum([table[part] for part in PARTS], axis=0)}


def means(scenario, n_runs: int, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Mean and standard error of every part, count and total over independent runs."""
    table = runs(scenario, n_runs, seed)
    errors = {name: float(column.std(ddof=1) / n_runs**0.5) for name, column in table.items()}
    return {name: float(column.mean()) for name, column in table.items()}, errors
