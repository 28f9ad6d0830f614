"""Sentences on how far the formulas that people use are from the exact one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, count, duration, gpus, listed, pct
from ettr.scenario.paths import N_GPUS, RATE
from ettr_book.validation.comparing import POINT, ranges, set_aside

if TYPE_CHECKING:
    from ettr.core.results import TimeBudget
    from ettr.scenario import Scenario
    from ettr.simulation import Simulation

_SELDOM = 0.5
"""Below this share of runs a formula is seldom near."""


def answer(refereed: pd.DataFrame, n: int) -> Finding:
    """Which formula to take; ``refereed`` as from :func:`ettr_book.validation.referee`."""
    first = refereed.loc[refereed["within"].idxmax()]
    young = refereed.set_index("calculator").loc["young"]
    seldom = refereed[refereed["within"] < _SELDOM]
    return Finding(
        title="No formula is near everywhere",
        text=(
            f"Over {n:,} plausible runs {first['who']}'s {first['title'].lower()} is nearest: within a point of the "
            f"exact ETTR in {pct(first['within'], 0)} of them, and half of its errors lie below {first['median']:.1f} "
            f"points. First order, by hand, is within a point in {pct(young['within'], 0)}: trust it while it loses "
            f"less than {pct(young['safe_loss'], 0)}, as beyond that it says too little. {len(seldom)} of the "
            f"{len(refereed)} formulas are within a point in fewer than half of the runs: they leave out stalls or "
            "lost work, and mostly say too much."
        ),
    )


def drawn(refereed: pd.DataFrame, n: int) -> Finding:
    """What the summary rests on, and its tails."""
    (low, high), rates = ranges()[N_GPUS], ranges()[RATE]
    silent = refereed.loc[refereed["no_answer"].idxmax()]
    worst = refereed.loc[refereed["high"].idxmax()]
    return Finding(
        title="",
        text=(
            f"{n:,} runs, log-uniform: {gpus(low).removesuffix(' GPUs')} to {gpus(high)} and {rates[0]:.1f} to "
            f"{rates[1]:.0f} failures per 1,000 node-days, as the presets have them; all else over the plausible "
            "ranges of its fields. What first order loses is checked by hand: a stall over the interval, and half an "
            "interval and a recovery over the time to failure. Below the bound of its row a formula is within a point "
            f"in 19 of 20 runs. {worst['title']} says over {worst['high']:.0f} points too much in one run of twenty; "
            f"{silent['title'].lower()} has no answer in {pct(silent['no_answer'], 0)}."
        ),
    )


def maps(scenario: Scenario, own: pd.DataFrame) -> Finding:
    """What the formulas say of the run itself; ``own`` as from ``validation.beside``."""
    near = own[own["points"].abs() <= POINT]
    said = own.dropna(subset=["ettr"])
    much, little = (said.loc[place] for place in (said["points"].idxmax(), said["points"].idxmin()))
    at = f"{gpus(scenario.cluster.n_gpus)} and an interval of {duration(scenario.interval_h)}"
    aside = set_aside(scenario)
    without = f" Set aside here: {listed(aside)}." if aside else ""
    return Finding(
        title=f"{len(near)} of {len(own)} formulas are within a point at the run's own size and interval",
        text=(
            f"At {at} the exact ETTR of the steady state is {pct(own['exact'].iloc[0])}, and {len(near)} of "
            f"{len(own)} formulas are within a point of it. {much['title']} says most, {much['points']:+.1f} points, "
            f"and {little['title']} least, {little['points']:+.1f}.{without}"
        ),
    )


def simulated(exact: TimeBudget, runs: Simulation) -> Finding:
    """The ETTR of simulated runs beside the exact one; arguments as from ``tables.simulated``."""
    error = runs.ettr_error  # nan where hardly any run met a failure
    about = f", with a standard error of {100 * error:.1g} points" if error > 0 else ""
    return Finding(
        title="",
        text=(
            f"In {count(runs.n_runs)} simulated runs the ETTR is {100 * runs.ettr:.3f}%{about}; the exact form gives "
            f"{100 * float(exact.ettr):.3f}%. The two share the rules of a run but no code. This tests the "
            "computation; {doc}`validation` tests the rules against published runs."
        ),
    )
