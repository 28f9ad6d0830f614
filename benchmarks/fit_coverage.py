"""Coverage of the intervals of a fit, and error rates of its verdicts, on simulated logs with known parameters.

Run as ``python benchmarks/fit_coverage.py [--logs 1000]``. Each check simulates that many logs and evaluates yes-or-no
questions, and some scores, on each; the table shows the share of yes, or the mean, with its Monte Carlo error.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from ettr.failures.bad_nodes import BadNodes, failures_apart, find_bad_nodes
from ettr.failures.dispersion import node_dispersion, over_dispersed_rate, over_dispersion
from ettr.failures.gaps import MERGE_RULES_MIN, fit_gaps
from ettr.failures.groups import cohorts_differ, within_cohorts
from ettr.failures.lemons import find_lemons
from ettr.failures.log_statistics import Verdict
from ettr.failures.node_verdict import replace_or_retest
from ettr.failures.outages import find_outages, seen_nodes
from ettr.failures.prediction import predict_count
from ettr.failures.rates import failure_rate
from ettr.failures.repeats import repeat_risk
from ettr.failures.trend import crow_amsaa, find_trend
from ettr.failures.verdicts import memoryless
from simulated_logs import simulate_log

RATE, NODES, DAYS = 4.0, 400, 350.0
WINDOW_H, NODE_DAYS = DAYS * 24, NODES * DAYS
HORIZON_D = 30.0
BURSTS, REPEATS = {"burst_mean": 3.0}, {"repeat_probability": 0.3}
SLOW_REPEATS = {"repeat_probability": 0.5, "repeat_within_h": 168.0}

Answers = dict[str, float]
"""Result by question: True for yes, or a score."""


@dataclass(frozen=True)
class Check:
    """Questions for each log of a generator, and the nominal share of yes."""

    generator: str
    ask: Callable[[int], Answers]
    promised: dict[str, str]


def drawn_log(seed: int, days: float = DAYS, **rules: Any) -> pd.DataFrame:
    return simulate_log(seed, NODES, days, **({"rate_per_1000_node_days": RATE} | rules))


def starts(seed: int, days: float = DAYS, **rules: Any) -> np.ndarray:
    return drawn_log(seed, days, **rules)["start_h"].to_numpy()


def holds(low: float, true: float, high: float) -> bool:
    return bool(low <= true <= high)


# ---------------------------------------------------------------------- questions of one log


def interval_score(low: float, high: float, value: float, level: float = 0.95) -> float:
    """Return the interval score: width plus a penalty outside (Gneiting and Raftery 2007, eq. 43); lower is better."""
    return high - low + 2 / (1 - level) * (max(low - value, 0) + max(value - high, 0))


def rates(seed: int, rate: float = RATE, **rules: Any) -> Answers:
    log = drawn_log(seed, rate_per_1000_node_days=rate, **rules)
    start, counts = log["start_h"].to_numpy(), np.bincount(log["node"])
    scatter, between = over_dispersion(start, WINDOW_H), node_dispersion(counts[counts > 0], NODES, WINDOW_H)
    exact = failure_rate(start.size, NODE_DAYS)
    blocks = over_dispersed_rate(start.size, NODE_DAYS, scatter.paid(0.95))
    fair = over_dispersed_rate(start.size, NODE_DAYS, max(scatter.paid(0.95), between.paid(0.95)))
    return {
        POISSON: holds(exact.low, rate, exact.high),
        BLOCKS: holds(blocks.low, rate, blocks.high),
        FAIR: holds(fair.low, rate, fair.high),
        FAIR_WIDTH: (fair.high - fair.low) / (exact.high - exact.low),
        DISPERSED: scatter.p < 0.05,
    }


def forecasts(seed: int, **rules: Any) -> Answers:
    """Prediction intervals of the next month's count: ours, Poisson, and negative binomial at a constant rate."""
    start = starts(seed, DAYS + HORIZON_D, **rules)
    past = start[start < WINDOW_H]
    found, came = predict_count(past, WINDOW_H, HORIZON_D), start.size - past.size
    mean, months = (past.size + 0.5) * HORIZON_D / DAYS, np.histogram(past, 12, (0, WINDOW_H))[0]
    index = max(months.var(ddof=1) / months.mean(), 1.0) * (1 + HORIZON_D / DAYS)
    low, high = stats.nbinom.ppf([0.025, 0.975], mean / (index - 1), 1 / index)
    width = found.poisson_high - found.poisson_low
    return {
        NEXT: holds(found.poisson_low, came, found.poisson_high),
        NEXT_FAIR: holds(found.low, came, found.high),
        NEXT_WIDTH: (found.high - found.low) / width,
        SCORE: interval_score(found.low, found.high, came),
        POISSON_SCORE: interval_score(found.poisson_low, found.poisson_high, came),
        NEGATIVE_SCORE: interval_score(float(low), float(high), came),
    }


def shapes(seed: int, family: str, shape: float, n: int) -> Answers:
    """Simulate gaps of a family in a window of fixed length."""
    rng = np.random.default_rng(seed)
    draw = {"weibull": rng.weibull, "gamma": rng.standard_gamma, "lognormal": partial(rng.lognormal, 0.0)}[family]
    means = {"weibull": math.gamma(1 + 1 / shape), "gamma": shape, "lognormal": math.exp(shape**2 / 2)}
    start = np.cumsum(draw(shape, size=2 * n))
    window = n * means[family]
    row = fit_gaps(start[start < window], window, draws=19).table.set_index("distribution").loc[family]
    return {
        f"{family} shape": holds(row["shape_low"], shape, row["shape_high"]),
        f"{family} scale": holds(row["scale_low_h"], 1.0, row["scale_high_h"]),
    }


def remembers(seed: int, within_min: float = 0.0, step_h: float = 0.0, **rules: Any) -> Answers:
    start = starts(seed, **rules)
    if step_h:
        start = np.floor(start / step_h) * step_h
    fit = fit_gaps(start, WINDOW_H, within_min, step_h, seed)
    return {MEMORY: fit.memoryless_p is not None and fit.memoryless_p < 0.05}


def judged_memoryless(seed: int, **rules: Any) -> Answers:
    """Return the verdict over all merge rules."""
    start = starts(seed, **rules)
    answer = memoryless([fit_gaps(start, WINDOW_H, within_min, seed=seed) for within_min in MERGE_RULES_MIN]).answer
    return {JUDGED: answer not in ("yes", "too few")}


def trends(seed: int, beta: float = 1.0, **rules: Any) -> Answers:
    start = starts(seed, trend_beta=beta, **rules)
    found, plain = find_trend(start, WINDOW_H, NODES), crow_amsaa(start, WINDOW_H)
    fair = found.crow_amsaa
    return {
        "Crow-AMSAA beta": holds(plain.low, beta, plain.high),
        "Crow-AMSAA beta, over-dispersed": holds(fair.low, beta, fair.high),
        "called rising": found.direction == "rising",
        "called rising, falling or not monotone": found.direction != "steady",
        "called trending by Crow-AMSAA alone": plain.p < 0.05,
    }


def nodes(seed: int, **rules: Any) -> Answers:
    """Return the node statistics and the verdict of a fit, without the rest of it."""
    drawn = simulate_log(seed, NODES, DAYS, **({"rate_per_1000_node_days": RATE} | rules))
    bad, answer = judged(drawn, seed)
    answers = {
        "said: replace nodes": answer in ("replace", "both"),
        "said: re-test after repair": answer in ("re-test", "both"),
        "said: look at what bad nodes share": answer == "look first",
        BEYOND: bad.n_beyond > 0,
    }
    n_lemons, replaced = round(rules.get("lemon_share", 0.0) * NODES), bad.advised("replace")
    if is_clear(n_lemons, rules.get("lemon_factor", 1.0)):
        answers["replaced: clear lemons"] = sum(node in replaced for node in range(n_lemons)) / n_lemons
    if n_lemons:
        answers["replaced: a node that is no lemon"] = any(node >= n_lemons for node in replaced)
    return answers


def judged(drawn: pd.DataFrame, seed: int) -> tuple[BadNodes, str]:
    """Return the flagged nodes, and the verdict."""
    outages = find_outages(drawn["start_h"], drawn["end_h"], drawn["node"], WINDOW_H, NODES)
    apart = failures_apart(outages)
    apart = apart[apart["apart"]]
    lemons = find_lemons(apart["start_h"], apart["node"], WINDOW_H, NODES, seed)
    bad = find_bad_nodes(outages, seen_nodes(drawn["node"]).names)
    cohorts = Verdict("cohorts", "not asked")
    return bad, replace_or_retest(lemons, bad, repeat_risk(outages), None, cohorts, len(drawn)).answer


def is_clear(n_lemons: int, factor: float) -> bool:
    """Return True if a test with the true rate of the other nodes detects a lemon with a power above 99%.

    It is the test of one Poisson count at the level that Holm leaves for the worst of all nodes.
    """
    ordinary = RATE * DAYS / 1000 / (1 + n_lemons / NODES * (factor - 1))
    least = stats.poisson.isf(0.05 / NODES, ordinary) + 1
    return bool(stats.poisson.sf(least - 1, factor * ordinary) > 0.99)


def one_of_thirteen(seed: int) -> Answers:
    """Simulate 60 failures of 400 nodes, 13 of them on a single node."""
    rng = np.random.default_rng(seed)
    node = np.append(np.zeros(13, dtype=int), rng.integers(1, NODES, 47))
    drawn = pd.DataFrame({"start_h": rng.uniform(0, WINDOW_H, 60), "end_h": np.nan, "node": rng.permutation(node)})
    bad, _ = judged(drawn.sort_values("start_h", ignore_index=True), seed)
    return {"named: the node with 13 of 60": bool(bad.table["beyond"][0]) and bad.table["node"][0] == 0}


def cohorts(seed: int, factor: float = 1.0, **rules: Any) -> Answers:
    shares = {"old": (0.5, 1.0), "new": (0.5, factor)}
    drawn = simulate_log(seed, NODES, DAYS, rate_per_1000_node_days=RATE, cohorts=shares, **rules)
    sizes = {"old": NODES // 2, "new": NODES // 2}
    between = within_cohorts(drawn["node"].to_numpy(), drawn["cohort"].to_numpy(), sizes)
    over_time = find_trend(drawn["start_h"].to_numpy(), WINDOW_H, NODES).dispersion
    index, dof = max((over_time.index, over_time.dof), (between.index, between.dof), key=lambda spread: spread[0])
    counts = [int((drawn["cohort"] == name).sum()) for name in sizes]
    test = cohorts_differ(counts, [NODE_DAYS / 2] * 2, list(sizes), index, dof)
    return {
        "cohorts called different": test.p < 0.05,
        "ratio of cohorts": holds(test.low, factor if test.highest == "new" else 1 / factor, test.high),
    }


# ---------------------------------------------------------------------- the table

POISSON, FAIR, DISPERSED = "rate, exact Poisson", "rate, over-dispersed", "counts called over-dispersed"
BLOCKS = "rate, over-dispersed by blocks alone"
FAIR_WIDTH = "rate, width over Poisson's"
NEXT, NEXT_FAIR = "30-day count, Poisson", "30-day count, over-dispersed"
NEXT_WIDTH, SCORE = "30-day count, width over Poisson's", "30-day count, interval score"
POISSON_SCORE, NEGATIVE_SCORE = "  of a Poisson count", "  of a negative binomial count"
BETA, FAIR_BETA, ALONE = "Crow-AMSAA beta", "Crow-AMSAA beta, over-dispersed", "called trending by Crow-AMSAA alone"
RISING, NOT_STEADY = "called rising", "called rising, falling or not monotone"
MEMORY, JUDGED = "called not memoryless", "judged not memoryless over all rules"
BEYOND = "named: any node"
REPLACE, RETEST, LOOK = "said: replace nodes", "said: re-test after repair", "said: look at what bad nodes share"
APART, RATIO = "cohorts called different", "ratio of cohorts"
NAMED, CLEAR, OTHERS = (
    "named: the node with 13 of 60",
    "replaced: clear lemons",
    "replaced: a node that is no lemon",
)
WRONG_ADVICE = {REPLACE: "< 0.02", RETEST: "< 0.02", LOOK: "<= 0.05"}
ALIKE = {"independent": {}, "bursts of 3": BURSTS, "beta = 1.5": {"trend_beta": 1.5}}
RIGHT_LEMONS = {REPLACE: "", CLEAR: "> 0.95", OTHERS: "< 0.02"}
LEMONS = {"lemon_share": 0.03, "lemon_factor": 15.0}
AHEAD = {
    "bursts of 3": BURSTS,
    "3% lemons, 15 times the rate": LEMONS,
    "30% repeats within a day": REPEATS,
    "50% repeats within a week": SLOW_REPEATS,
    "Weibull gaps, k = 0.7": {"shape": 0.7},
    "beta = 1.3": {"trend_beta": 1.3},
    "beta = 1.8": {"trend_beta": 1.8},
    "beta = 0.6": {"trend_beta": 0.6},
}
NO_PROMISE = ""


def all_checks() -> list[Check]:
    few = 200 / NODE_DAYS * 1000
    clustered = {
        "bursts of 3": BURSTS,
        "bursts of 3, 200 failures": BURSTS | {"rate": few},
        "Weibull gaps, k = 0.7": {"shape": 0.7},
        "Weibull gaps, k = 0.7, 200 failures": {"shape": 0.7, "rate": few},
        "30% repeats within a day": REPEATS,
        **{f"nodes with gaps of k = 0.6, rate {rate:g}": {"node_shape": 0.6, "rate": rate} for rate in (1, 4, 10, 25)},
    }
    scattered = {POISSON: NO_PROMISE, BLOCKS: "", FAIR: "0.93-0.97", FAIR_WIDTH: NO_PROMISE, DISPERSED: NO_PROMISE}
    quiet = {NOT_STEADY: "<= 0.05"}
    either = {MEMORY: NO_PROMISE}
    scores = dict.fromkeys((SCORE, POISSON_SCORE, NEGATIVE_SCORE), NO_PROMISE)
    ahead = {NEXT: NO_PROMISE, NEXT_FAIR: "0.90-0.98", NEXT_WIDTH: NO_PROMISE, **scores}
    families = (("weibull", 0.7), ("weibull", 1.5), ("gamma", 0.6), ("lognormal", 1.5))
    return [
        Check("independent", rates, {POISSON: ">= 0.95", FAIR: ">= 0.95", FAIR_WIDTH: "<= 1.5", DISPERSED: "0.05"}),
        *(Check(name, partial(rates, **rules), scattered) for name, rules in clustered.items()),
        Check("50% repeats within a week", partial(rates, **SLOW_REPEATS), dict.fromkeys(scattered, NO_PROMISE)),
        *(
            Check(f"{family} gaps, {shape:g}, n = {n}", partial(shapes, family=family, shape=shape, n=n), promised)
            for family, shape in families
            for n in (200, 560)
            for promised in ({f"{family} shape": "0.93-0.97", f"{family} scale": "0.95"},)
        ),
        Check("independent", remembers, {MEMORY: "<= 0.05"}),
        Check("independent, merged within 1 h", partial(remembers, within_min=60.0), {MEMORY: "<= 0.05"}),
        Check("independent, stamps of 2 h", partial(remembers, step_h=2.0), {MEMORY: "<= 0.05"}),
        Check("Weibull gaps, k = 0.7", partial(remembers, shape=0.7), either),
        Check("Weibull gaps, k = 0.85", partial(remembers, shape=0.85), either),
        Check("bursts of 3, merged within 10 min", partial(remembers, within_min=10.0, **BURSTS), {MEMORY: "<= 0.05"}),
        *(
            Check(
                f"independent, rate {r:g}", partial(judged_memoryless, rate_per_1000_node_days=r), {JUDGED: "<= 0.05"}
            )
            for r in (1, 4, 12, 43)
        ),
        Check("Weibull gaps, k = 0.6", partial(judged_memoryless, shape=0.6), {JUDGED: NO_PROMISE}),
        Check("independent", trends, {BETA: "0.95", FAIR_BETA: ">= 0.95", ALONE: "0.05"} | quiet),
        Check("bursts of 3", partial(trends, **BURSTS), {BETA: NO_PROMISE, FAIR_BETA: "0.95", ALONE: ""} | quiet),
        Check("Weibull gaps, k = 0.7", partial(trends, shape=0.7), {FAIR_BETA: "0.95", ALONE: ""} | quiet),
        Check("30% repeats within a day", partial(trends, **REPEATS), quiet),
        Check("50% repeats within a week", partial(trends, **SLOW_REPEATS), {NOT_STEADY: NO_PROMISE}),
        Check("beta = 1.3", partial(trends, beta=1.3), {BETA: "0.95", RISING: ""}),
        Check("beta = 1.3, bursts of 3", partial(trends, beta=1.3, **BURSTS), {FAIR_BETA: "0.95", RISING: ""}),
        *(Check(name, partial(nodes, **rules), WRONG_ADVICE) for name, rules in ALIKE.items()),
        *(
            Check(f"nodes with gaps of k = 0.6, rate {rate:g}", partial(nodes, **rules), {BEYOND: "<= 0.05", LOOK: ""})
            for rate in (1, 4, 10, 25)
            for rules in ({"node_shape": 0.6, "rate_per_1000_node_days": rate},)
        ),
        Check("30% repeats within a day", partial(nodes, **REPEATS), {REPLACE: "< 0.02", RETEST: "> 0.95"}),
        Check("50% repeats within a week", partial(nodes, **SLOW_REPEATS), {REPLACE: "", RETEST: "> 0.95"}),
        Check("3% lemons, 15 times the rate", partial(nodes, **LEMONS), {**RIGHT_LEMONS, RETEST: "< 0.02"}),
        Check("3% lemons, 8 times the rate", partial(nodes, **LEMONS | {"lemon_factor": 8.0}), {RETEST: "< 0.02"}),
        Check("one node with 13 of 60 failures", one_of_thirteen, {NAMED: "1"}),
        Check("two cohorts alike", cohorts, {APART: "<= 0.05", RATIO: ">= 0.95"}),
        Check("two cohorts alike, bursts of 3", partial(cohorts, **BURSTS), {APART: "<= 0.05", RATIO: ">= 0.95"}),
        Check("two cohorts, twice the rate", partial(cohorts, factor=2.0), {APART: NO_PROMISE, RATIO: ">= 0.95"}),
        Check("independent", forecasts, ahead | {NEXT: "0.95", NEXT_WIDTH: "<= 1.5"}),
        *(Check(name, partial(forecasts, **rules), ahead) for name, rules in AHEAD.items()),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=1000, help="logs drawn for each check")
    parser.add_argument("--only", default="", help="checks whose question or generator holds this text")
    options = parser.parse_args()
    checks = [c for c in all_checks() if any(options.only in name for name in (c.generator, *c.promised))]
    workers = os.cpu_count() or 1
    started = time.perf_counter()
    print(f"{'question':40}{'generator':38}{'promised':>11}{'mean':>9}{'+-':>8}")
    with ProcessPoolExecutor(workers) as pool:
        for check in checks:
            answers = list(pool.map(check.ask, range(options.logs), chunksize=max(1, options.logs // (8 * workers))))
            for question, promise in check.promised.items():
                values = np.array([answer[question] for answer in answers], dtype=float)
                error = values.std() / math.sqrt(options.logs)
                print(
                    f"{question:40}{check.generator:38}{promise or '-':>11}{values.mean():9.3f}{error:8.3f}", flush=True
                )
    seconds = time.perf_counter() - started
    print(
        f"{options.logs:,} logs a check, {seconds:.0f} s on {workers} cores ({platform.machine()}, {platform.system()})"
    )


if __name__ == "__main__":
    main()
