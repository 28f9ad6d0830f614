"""Numbers of the study cells of the worked case."""

import numpy as np

import ettr
from ettr_book.chapters.common import failure_logs


def numbers():
    log, days = failure_logs.synthetic_log(), 120
    fit = ettr.fit_log(log)
    recent = ettr.fit_log(ettr.logs.from_frame(log.failures, log.n_nodes, ("2025-08-29", "2025-12-26")))
    assert recent.log.window_h == 24 * days
    node203 = fit.nodes.set_index("node").loc["node203"]
    assert node203["advice"] == "replace" and recent.nodes.set_index("node").loc["node203", "advice"] == "watch"
    plans = {name: ettr.plan.from_fit(one, like="llama3-405b") for name, one in {"year": fit, "recent": recent}.items()}
    best_min = plans["recent"].plan.band.interval_min
    run = plans["recent"].scenario.override({"checkpoint.interval_min": best_min})
    bad = fit.nodes["advice"] == "replace"
    avoidable = fit.nodes.loc[bad, "n_failures"].sum() + fit.nodes.loc[~bad, "n_repeats"].sum()
    share = avoidable / len(fit.start_h)
    better = run.override({"failures.rate_per_1000_node_days": run.failure_rate * (1 - share)})
    saved_h = ettr.budget.exact(run).total_h - ettr.budget.exact(better).total_h
    usd_per_h = plans["recent"].scenario.prices.usd_per_gpu_h
    true_rate = failure_logs.true_rate(failure_logs.RULES["later_rate"])
    assert recent.fair_rate.low < true_rate < recent.fair_rate.high and true_rate > fit.fair_rate.high
    true_run = run.override({"failures.rate_per_1000_node_days": true_rate})
    planned, true = float(ettr.budget.exact(run).ettr), float(ettr.budget.exact(true_run).ettr)
    at_best = true_run.override({"checkpoint.interval_min": ettr.budget.best_interval_min(true_run)})
    assert ettr.budget.exact(at_best).ettr - true < 0.0005
    futures = failure_logs.futures(30, 1000)
    covered = {name: np.mean((futures >= f.low) & (futures <= f.high)) for name, f in _forecasts(fit, recent).items()}
    ends_h = ettr.simulate(true_run, 1000).total_h
    in_time = {name: np.mean(ends_h <= _done_h(one)) for name, one in plans.items()}
    return [
        ("5.03 failures per 1,000 node-days", fit.rate.per_1000_node_days, 1000),
        ("95% CI of 4.2 to 6.0", 0.95, fit.fair_rate.low, fit.fair_rate.high),
        (
            "last 120 days of the synthetic year have a rate of 6.67 per 1,000 node-days (95% CI 5.6 to 7.9)",
            *(days, recent.rate.per_1000_node_days, 1000, 0.95, recent.fair_rate.low, recent.fair_rate.high),
        ),
        ("from the last 120 days alone", days),
        ("with its 26 failures", node203["n_failures"]),
        ("29% of the failures", share),
        ("3.9 hours of all 2,048 GPUs", saved_h, run.cluster.n_gpus),
        ("16,000 USD at the assumed price of 2 USD", saved_h * run.cluster.n_gpus * usd_per_h, usd_per_h),
        ("already reaches 97%", planned),
        ("year is 7.3", true_rate),
        ("interval of the last 120 days", days),
        ("on 2,048 GPUs is 97.0%, 0.2 points below", run.cluster.n_gpus, true, 100 * (planned - true)),
        ("forecast from the last 120 days", days),
        ("covered 96% of", covered["recent"]),
        ("log 88%", covered["year"]),
        ("90% date is met in 78% of", 0.9, in_time["recent"]),
        ("in the last 120 days happens", days),
        ("been met in 16%", in_time["year"]),
    ]


def _forecasts(fit, recent):
    return {"year": fit.forecast, "recent": recent.forecast}


def _done_h(fitted):
    best = {"checkpoint.interval_min": fitted.plan.band.interval_min}
    return ettr.make_plan(fitted.scenario.override(best)).dates.reported.quantile(0.9)
