"""Numbers of the study cells on the size of a run."""

import numpy as np

from ettr import Scenario, evidence
from ettr.budget.intervals import at_best
from ettr.core.units import H_PER_DAY, MIN_PER_H
from ettr_book.chapters import scale
from ettr_book.chapters.common.steady_state import mtbf_h

LARGER = 100_000


def numbers():
    run = Scenario.load("llama3-405b")
    grown = run.override({"cluster.n_gpus": LARGER})
    rate = 1 / run.job_mttf_h
    first_order = 1 - np.sqrt(2 * run.stall_h * rate) - run.recovery_h * rate
    without_stops = at_best(run.override({"maintenance": None})).ettr
    sizes = scale.ettr_of_sizes(run, [LARGER]).set_index("n_gpus")
    parts = scale.parts_by_size(run)
    larger, own = (scale.losses_near(parts, size) for size in (LARGER, run.cluster.n_gpus))
    recovery = ["detection", "restart"]
    needs = scale.needs_alone(grown, 0.9).set_index("field")
    rate_need = needs.loc["failures.rate_per_1000_node_days"]
    figure = {
        key: evidence.figure(f"fthsdp_{key}").value
        for key in ("n_gpus", "ettr", "mtbf_min", "stall_min", "tolerant_stall_min", "tolerant_ettr")
    }
    rates = evidence.published_rates().set_index("cluster_id")
    meta_per_server_day = rates.loc["ft-hsdp-32k", "rate"] / 1000
    n_servers = LARGER / 8
    at = sizes.loc[LARGER]
    return [
        ("on 16,384 GPUs the formula gives an ETTR of 92.5%", run.cluster.n_gpus, first_order),
        ("exact model 91.0%", at_best(run).ettr),
        ("exact model gives 92.2%", without_stops),
        ("about 100,000 GPUs in which", figure["n_gpus"]),
        ("stalled all GPUs for 10 minutes", figure["stall_min"]),
        ("every 18 minutes, and 44%", figure["mtbf_min"], figure["ettr"]),
        ("31 minutes and recover in 9.5 minutes", mtbf_h(run, LARGER) * MIN_PER_H, grown.recovery_h * MIN_PER_H),
        ("makes 62%, with a plausible range of 45% to 70%", at["ettr"], at["low"], at["high"]),
        ("the range is 24% to 80%, which includes 44%", at["clusters_low"], at["clusters_high"], figure["ettr"]),
        ("every 50 minutes", H_PER_DAY * MIN_PER_H / (meta_per_server_day * n_servers)),
        ("the measured 44% as well", figure["ettr"]),
        ("fell to 3 minutes, and 80% of", figure["tolerant_stall_min"], figure["tolerant_ettr"]),
        (
            "scaled to 100,000 GPUs, restart takes 24% of the time and rework 6%",
            LARGER,
            larger["restart"],
            larger["rework"],
        ),
        ("together are 72%", larger[recovery].sum() / larger.sum()),
        ("On 16,384 GPUs they are 38%", run.cluster.n_gpus, own[recovery].sum() / own.sum()),
        ("on 100,000 GPUs an instant restart alone gives 74%", LARGER, needs.loc["recovery.restart_min", "ettr"]),
        ("instant detection alone 64%", needs.loc["recovery.detection_min", "ettr"]),
        ("at most 0.54 per 1,000", rate_need["value"], 1000),
        ("instead of 3.8 is", rate_need["given"]),
        ("reaches 90%", 0.9),
    ]
