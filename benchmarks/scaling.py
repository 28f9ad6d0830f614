"""How long a million points of size and layout take, beside as many passes of plain arrays and a loop of points.

A point is the duration of a step, term by term, the memory of the fullest GPU, and its place among the layouts of its
size, of which the fastest that fits is chosen. The references are timed in the same run: passes that add and multiply
arrays of as many points, and the same formulas one point at a time, a part of which is timed.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ettr import Scenario, sizing

POINTS = 1_000_000
OF_LOOP = 2_000
"""Points of the loop that are timed."""


def best_s(call: Callable[[], Any], repeats: int = 3) -> float:
    """Least seconds of some calls."""
    found = []
    for _ in range(repeats):
        since = time.perf_counter()
        call()
        found.append(time.perf_counter() - since)
    return min(found)


def one_by_one(through: Any, sizes: np.ndarray) -> list[str]:
    """The fastest layout of each size by a loop over all, point by point."""
    tried, found = through.candidates, []
    layouts = [tried.at(i) for i in range(tried.tensor.size)]
    for n in sizes:
        best, name = math.inf, ""
        for layout in layouts:
            if layout.replica_gpus > n or through.memory_gb(n, layout) > through.usable_gb:
                continue
            total = float(through.step(n, layout).total_s)
            if total < best:
                best, name = total, str(layout)
        found.append(name)
    return found


def main() -> None:
    run = Scenario.load("llama3-405b-tokens")
    through = run.throughput
    assert through is not None
    n_layouts = through.candidates.tensor.size
    sizes = np.geomspace(128, 1e6, POINTS // n_layouts)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    n_points = sizes.size * n_layouts
    ours = best_s(lambda: through.fastest(sizes))
    print(f"{n_points:,} points: {ours:.3f} s, {1e9 * ours / n_points:.0f} ns a point")
    print(f"{sizes.size:,} sizes and {n_layouts} layouts of {run.title}")
    print(f"peak of memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB, {before:,.0f} before")

    one, two = np.random.default_rng(0).random((2, n_points))
    a_pass = best_s(lambda: one * two + one) / 2
    print(f"a pass of plain arrays {1e3 * a_pass:.2f} ms: as many as {ours / a_pass:.0f} of them")

    few = sizes[:: max(1, sizes.size // (OF_LOOP // n_layouts))]
    since = time.perf_counter()
    names = one_by_one(through, few)
    loop = (time.perf_counter() - since) * n_points / (few.size * n_layouts)
    chosen = through.fastest(few)
    assert names == [str(chosen.at(i)) for i in range(few.size)]
    print(
        f"point by point {loop:.0f} s (from {few.size * n_layouts:,} points, the same layouts): {loop / ours:.0f} times"
    )

    curve = best_s(lambda: sizing.curve(run))
    print(
        f"a curve of 60 sizes with bands {curve:.2f} s; how many GPUs, in full {best_s(lambda: sizing.make(run)):.2f} s"
    )


if __name__ == "__main__":
    main()
