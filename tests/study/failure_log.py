"""Numbers of the study cells on failure logs."""

import ettr
from ettr.failures.window import MIN_VERDICT_EVENTS
from ettr_book.chapters.common.failure_logs import diary_log


def numbers():
    log = diary_log()
    fit = ettr.fit_log(log)
    return [
        ("on 96 nodes", log.n_nodes),
        ("11 stops in 5,256 node-days", len(log.failures), log.node_days),
        ("2.1 failures per 1,000 node-days", fit.rate.per_1000_node_days, 1000),
        ("95% CI of 1.0 to 3.7", 0.95, fit.fair_rate.low, fit.fair_rate.high),
        ("fewer than 20 failures", MIN_VERDICT_EVENTS),
    ]
