"""How do I get from a failure log to a plan?

One log with known rules, from failure rate to forecast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from ettr.core.sentences import Finding, count, joined_range, listed, pct, say
from ettr.core.units import H_PER_DAY
from ettr.plots import builders
from ettr.plots.theme import GREEN, ORANGE, PURPLE, finish, layered
from ettr_book.chapters.common.failure_logs import COMPONENTS, DAYS, RULES, true_rate
from ettr_book.chapters.common.table import CaptionedTable

if TYPE_CHECKING:
    from ettr.failures import Fit
    from ettr.plan.fitted import FittedPlan

_TICKS = (0, 0.05, 0.1, 0.15)
_BIN = 3
"""Counts in a bar of a histogram."""


def answer(fit: Fit, fitted: FittedPlan) -> Finding:
    """Return the recommendation of the case; ``fit`` of the entire log, ``fitted`` from its last days."""
    run, plan, dates = fitted.scenario, fitted.plan, fitted.plan.dates
    bad = fit.nodes.loc[fit.nodes["advice"] == "replace", "node"]
    assert dates is not None
    values = {"interval": plan.band.interval_min / 60, "ettr": plan.budget.ettr}
    return Finding(
        say("Synthetic year: checkpoint every {interval:roughly}, ETTR {ettr:share}", **values),
        say(
            "**On {n_gpus:gpus}, checkpoint every {interval:roughly}; expect an ETTR of {ettr:share} "
            "({range}) and {work:.0f} days of training to be done after {done:.1f} days in 90% of "
            "runs.** Before the run, replace {bad}, and test nodes after each repair.",
            n_gpus=run.cluster.n_gpus,
            range=joined_range(pct(fitted.ettr_low), pct(fitted.ettr_high)),
            work=run.productive_h / H_PER_DAY,
            done=dates.reported.quantile(0.9) / H_PER_DAY,
            bad=listed(sorted(bad)),
            **values,
        ),
    )


def truth(fit: Fit) -> pd.DataFrame:
    """Return the rules of the synthetic log and their fitted values.

    Returns
    -------
    DataFrame
        ``what``; ``true``, ``found``, ``low``, ``high`` (numbers; the last two missing without an interval), or
        ``true`` and ``found`` as text for names.
    """
    changes, repairs, statistics = RULES["changes_d"], fit.repairs.overall, fit.node_statistics
    assert statistics is not None
    mean = true_rate((RULES["rate"] * changes + RULES["later_rate"] * (DAYS - changes)) / DAYS)
    gpu = fit.components.set_index("group").loc["GPU", "share"]
    named = ", ".join(sorted(map(str, statistics.bad.advised("replace")))) or "none"
    rate, mean_repair = fit.fair_rate, [repairs[f"mean_{end}h"] for end in ("", "low_", "high_")]
    unknown = np.nan, np.nan
    rows = [
        ("Failures per 1,000 node-days, in the year", mean, rate.per_1000_node_days, rate.low, rate.high),
        ("Nodes to replace", ", ".join(RULES["bad_nodes"]), named, *unknown),
        (
            "Share of failures soon after a repair",
            RULES["again_share"],
            statistics.n_repeats / len(fit.start_h),
            *unknown,
        ),
        ("Mean repair [h]", RULES["repair_h"], *mean_repair),
        ("Share of failures by GPUs", COMPONENTS["GPU"], gpu, *unknown),
    ]
    return pd.DataFrame(rows, columns=["what", "true", "found", "low", "high"])


def rules(fit: Fit) -> CaptionedTable:
    """Return the rules of the synthetic log beside their fitted values, as a table."""
    rows = [
        {
            "Rule": row.what,
            "Built in": _cell(row.true),
            "Fitted (95% CI)": _cell(row.found)
            + (f" ({_cell(row.low)} to {_cell(row.high)})" if np.isfinite(row.low) else ""),
        }
        for row in truth(fit).itertuples()
    ]
    return CaptionedTable(pd.DataFrame(rows), "Rules of the synthetic log and their fitted values")


def _cell(value: object) -> str:
    return value if isinstance(value, str) else f"{float(value):#.2g}".rstrip(".")  # type: ignore[arg-type]


def outcomes(counts: np.ndarray, forecasts: dict[str, Any], days: float = 30.0) -> Any:
    """Draw the number of failures in simulated futures, and the 95% prediction intervals of forecasts.

    Parameters
    ----------
    counts : ndarray
        Failures in each future. [count]
    forecasts : dict
        Forecasts with ``mean``, ``low`` and ``high`` [count], by name.
    days : float
        Length of the futures. [d]
    """
    low = np.arange(counts.min() // _BIN * _BIN, counts.max() + 1, _BIN)
    times = np.histogram(counts, [*low, low[-1] + _BIN])[0]
    bars = pd.DataFrame({"from": low - 0.5, "to": low + _BIN - 0.5, "share": times / counts.size, "zero": 0.0})
    bars = bars[bars["share"] > 0]
    tops = {name: -bars["share"].max() * (0.12 + 0.14 * i) for i, name in enumerate(forecasts)}
    ends = pd.DataFrame(
        [{"name": name, "y": tops[name], "mean": f.mean, "low": f.low, "high": f.high} for name, f in forecasts.items()]
    )
    covered = {name: float(np.mean((counts >= f.low) & (counts <= f.high))) for name, f in forecasts.items()}
    x = alt.X("from:Q", title=f"Failures in the next {days:.0f} days [count]", scale=alt.Scale(zero=False))
    y = alt.Y("share:Q", title="Futures [%]", axis=alt.Axis(format="%", values=list(_TICKS)))
    tips = [alt.Tooltip("from:Q", title="From [count]"), alt.Tooltip("share:Q", title="Share of futures", format=".1%")]
    future = alt.Chart(bars).mark_bar(color=PURPLE, opacity=0.7).encode(x=x, x2="to:Q", y=y, y2="zero:Q", tooltip=tips)
    tips = [alt.Tooltip("name:N", title="Forecast from")]
    tips += [alt.Tooltip(f"{end}:Q", title=end.capitalize(), format=".0f") for end in ("mean", "low", "high")]
    look = builders.colours("name", builders.series(forecasts, (ORANGE, GREEN)), "95% prediction interval")
    spans = alt.Chart(ends).mark_rule(strokeWidth=4).encode(x="low:Q", x2="high:Q", y="y:Q", color=look, tooltip=tips)
    means = alt.Chart(ends).mark_point(size=110, opacity=1).encode(x="mean:Q", y="y:Q", color=look, tooltip=tips)
    shares = " and ".join(f"{pct(share, 0)} ({name})" for name, share in covered.items())
    return finish(
        layered(future, spans, means),
        title=f"Forecasts covered {shares} of the true futures",
        subtitle=f"{count(counts.size)} futures drawn from the rules of the log; dots: mean forecast",
        description=(
            f"Histogram of the failures in {days:.0f} days of {count(counts.size)} simulated futures, mean "
            f"{counts.mean():.0f}. Below it the 95% prediction intervals: "
            + "; ".join(f"{name}, {f.low:.0f} to {f.high:.0f}" for name, f in forecasts.items())
            + "."
        ),
        height=300,
    )
