"""Planning questions, warm, beside one evaluation of the exact form on as many points in the same run.

Run as ``make bench``. Every ratio is of two timings in this one run; seconds depend on the machine.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from ettr import Scenario, budget, plan
from ettr.core.validity import ValidityWarning

TARGET, POINTS, REPEATS = 0.9, 200, 3
FIELD, SIZE, INTERVAL = "recovery.restart_min", "cluster.n_gpus", "checkpoint.interval_min"


def best_seconds(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def runs() -> dict[str, Scenario]:
    """One run for each way in which the best interval is found."""
    plain = Scenario.load("llama3-405b").override({"maintenance": None})
    peer = {"name": "peer memory", "interval_s": 60, "stall_s": 0.05, "write_s": 2, "load_s": 5, "survives": 0.7}
    disk = {"name": "local disk", "interval_s": 180, "stall_s": 0.5, "write_s": 20, "load_s": 30, "survives": 0.9}
    warned = {"recall": 0.6, "precision": 0.85, "lead_s": 120, "action_s": 30}
    return {
        "closed optimum": plain,
        "two faster tiers": plain.override({"checkpoint.tiers": [peer, disk]}),
        "prediction": plain.override({"prediction": warned}),
    }


def by_override(run: Scenario, field: str) -> float:
    """The plain way: a scenario a value, and a root finder."""

    def surplus(value: float) -> float:
        at = run.override({field: value})
        best = at.override({INTERVAL: budget.best_interval_min(at)})
        return float(budget.exact(best).ettr) - TARGET

    return float(optimize.brentq(surplus, 0.0, 1e3, rtol=1e-9))


def question(name: str, run: Scenario) -> None:
    print(f"\n{name}: ETTR {plan.ettr_at_best(run):.3f}")
    array, plain = plan.required(run, FIELD, TARGET).value, by_override(run, FIELD)
    ours = best_seconds(lambda: plan.required(run, FIELD, TARGET))
    theirs = best_seconds(lambda: by_override(run, FIELD))
    once = best_seconds(lambda: budget.exact(run))
    print(f"  required({FIELD}): {ours * 1e3:.1f} ms, {ours / once:.0f} times budget.exact of one run")
    print(f"  the same by a scenario a value: {theirs * 1e3:.1f} ms; values differ by {array / plain - 1:.0e}")
    each = {field: best_seconds(lambda field=field: plan.required(run, field, TARGET)) for field in plan.solvable(run)}
    slowest, most = max(each.items(), key=lambda pair: pair[1])
    print(f"  required, each of {len(each)} fields: {sum(each.values()) / len(each) * 1e3:.1f} ms on average, ", end="")
    print(f"{sum(seconds > 0.05 for seconds in each.values())} over 50 ms, at most {most * 1e3:.0f} ms ({slowest})")
    blocked = best_seconds(lambda: plan.required(run, FIELD, 0.999))
    print(f"  a target out of reach, with all that blocks it: {blocked * 1e3:.1f} ms")


def areas(name: str, run: Scenario) -> None:
    n_gpus, restart = np.geomspace(1_000, 1e5, POINTS), np.geomspace(0.1, 60, POINTS)
    line = best_seconds(lambda: plan.frontier(run, SIZE, FIELD, TARGET, x_values=n_gpus))
    whole = best_seconds(lambda: plan.ettr_map(run, SIZE, FIELD, n_gpus, restart))
    at = {SIZE: n_gpus[:, None], FIELD: restart}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        once = best_seconds(lambda: budget.exact(run, at))
    few = best_seconds(lambda: [plan.ettr_at_best(run.override({FIELD: float(value)})) for value in restart[:20]])
    print(f"  frontier of {POINTS} sizes: {line:.2f} s; map of {POINTS} x {POINTS}: {whole:.2f} s")
    print(f"  map over budget.exact of as many points at one interval ({once * 1e3:.0f} ms): {whole / once:.1f} times")
    print(f"  a scenario a point would take {few / 20 * POINTS**2:.0f} s for the map (from 20 of its points)")


def main() -> None:
    for name, run in runs().items():
        question(name, run)
        areas(name, run)


if __name__ == "__main__":
    main()
