"""Text on the error of the formulas in use."""

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

_RARELY = 0.5
"""Below this share of runs a formula is rarely near."""


def answer(refereed: pd.DataFrame, n: int) -> Finding:
    """Return which formula to use; ``refereed`` as from :func:`ettr_book.validation.referee`."""
    first = refereed.loc[refereed["within"].idxmax()]
    young = refereed.set_index("calculator").loc["young"]
    rarely = refereed[refereed["within"] < _RARELY]
    return Finding(
        title="No formula is accurate everywhere",
        text=(
            f"Over {n:,} plausible runs {first['who']}'s {first['title'].lower()} is the most accurate: within a point "
            f"of the exact ETTR in {pct(first['within'], 0)} of runs, with a median error of {first['median']:.1f} "
            f"points. The first-order formula is within a point in {pct(young['within'], 0)}: trust it while its loss "
            f"is below {pct(young['safe_loss'], 0)}; beyond that its ETTR is too low. {len(rarely)} of the "
            f"{len(refereed)} formulas are within a point in fewer than half of the runs: they leave out stalls or "
            "lost work, and their ETTR is mostly too high."
        ),
    )


def drawn(refereed: pd.DataFrame, n: int) -> Finding:
    """Return the basis of the summary and its tails."""
    (low, high), rates = ranges()[N_GPUS], ranges()[RATE]
    silent = refereed.loc[refereed["no_answer"].idxmax()]
    worst = refereed.loc[refereed["high"].idxmax()]
    return Finding(
        title="",
        text=(
            f"{n:,} runs, log-uniform: {gpus(low).removesuffix(' GPUs')} to {gpus(high)} and {rates[0]:.1f} to "
            f"{rates[1]:.0f} failures per 1,000 node-days, the range of the presets; all other fields over their "
            "plausible ranges. The first-order loss is stall over interval, plus half an interval and a recovery over "
            "MTTF. Below the bound in its row a formula is within a point in 95% of runs. In 5% of runs "
            f"{worst['title']} is more than {worst['high']:.0f} points too high; "
            f"{silent['title'].lower()} has no answer in {pct(silent['no_answer'], 0)}."
        ),
    )


def maps(scenario: Scenario, results: pd.DataFrame) -> Finding:
    """Return the formulas' results for the run itself; ``results`` as from ``validation.beside``."""
    near = results[results["points"].abs() <= POINT]
    answered = results.dropna(subset=["ettr"])
    highest, lowest = (answered.loc[row] for row in (answered["points"].idxmax(), answered["points"].idxmin()))
    at = f"{gpus(scenario.cluster.n_gpus)} and an interval of {duration(scenario.interval_h)}"
    aside = set_aside(scenario)
    without = f" Left out here: {listed(aside)}." if aside else ""
    return Finding(
        title=f"{len(near)} of {len(results)} formulas are within a point at the run's own size and interval",
        text=(
            f"At {at} the exact ETTR of the steady state is {pct(results['exact'].iloc[0])}, and {len(near)} of "
            f"{len(results)} formulas come within a point. The highest is {highest['title']}, "
            f"{highest['points']:+.1f} points, and the lowest {lowest['title']}, {lowest['points']:+.1f}.{without}"
        ),
    )


def simulated(exact: TimeBudget, runs: Simulation) -> Finding:
    """Return the simulated and the exact ETTR; arguments as from ``tables.simulated``."""
    error = runs.ettr_error  # nan where hardly any run met a failure
    about = f", with a standard error of {100 * error:.1g} points" if error > 0 else ""
    return Finding(
        title="",
        text=(
            f"In {count(runs.n_runs)} simulated runs the ETTR is {100 * runs.ettr:.3f}%{about}; the exact model gives "
            f"{100 * float(exact.ettr):.3f}%. The two share the rules of a run but no code. This tests the "
            "computation; {doc}`validation` tests the rules against published runs."
        ),
    )
