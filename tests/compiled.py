"""Compile the simulator's kernels, which Numba caches next to the sources; otherwise each process compiles them.

Run by ``make compiled`` and ``make matrix`` before the tests, some of which wait for processes that simulate.
"""

from __future__ import annotations

from ettr import Scenario, simulate

LIFETIMES = {"failures.lifetime": {"shape": 0.7}}
SPARES = {"spares": {"n_nodes": 9}, "repair": {"manual_h": 9}}


def main() -> None:
    run = Scenario.load("llama3-405b")
    for changes in ({}, LIFETIMES, SPARES, LIFETIMES | SPARES):
        simulate(run.override(changes), 1)
    simulate(run, 1, horizon_h=9)


if __name__ == "__main__":
    main()
