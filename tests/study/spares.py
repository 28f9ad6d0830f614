"""Numbers of the study cells on spares."""

from math import sqrt

from scipy.stats import norm

from ettr import Scenario, evidence
from ettr_book.chapters import spares


def numbers():
    pool = spares.pooled_run(Scenario.load("llama3-405b"))
    n_nodes, a, best = pool.scenario.n_nodes, pool.in_repair, pool.best
    deviations = norm.isf(1 / n_nodes)
    simulated = spares.simulated_pools(pool, n_runs=200)
    cheapest = simulated.loc[simulated.groupby("pool")["cost"].idxmin()].set_index("pool")["n_spares"]
    places = spares.rack_choices(pool)
    enough = places[places["short"] < 0.001].groupby("way")[["n_spares", "held"]].min()

    def more(n_spares):
        return float(pool.extra_cost(n_spares, a)) - (best.cost - 1)

    opt, imbue = evidence.figure("opt_n_hosts_cycled"), evidence.table("failure_rates").set_index("cluster_id")
    imbue_nodes = imbue.loc["imbue-70b", "n_gpus"] / imbue.loc["imbue-70b", "gpus_per_node"]
    per_week = imbue.loc["imbue-70b", "stated_low"] / 100
    return [
        ("run 5.9 nodes failed per day", 24 * pool.demand.leaves_per_h),
        ("repair of 24 hours (assumed), 5.9 of the 2,048 nodes", pool.demand.repair_h, a, n_nodes),
        ("standard deviation of 2.4", sqrt(a)),
        ("part in 2,048 of the time lies 3.3 standard", n_nodes, deviations),
        ("at 14 spares; the exact minimum is 15", a + deviations * sqrt(a), best.n_spares),
        ("best cost 2.0% more", more(best.n_spares - 5)),
        ("cost 0.2% more", more(best.n_spares + 5)),
        ("28 spares are cheapest", cheapest[spares.RACKS]),
        ("racks of 72 GPUs, 99.9% availability", 72, 1 - 0.001),
        ("takes 15 spare servers in a shared pool, 0.7%", *enough.loc[spares.SERVERS]),
        ("takes 2 GPUs in each, 3.1%", *enough.loc[spares.IN_RACKS]),
        ("takes 15 racks, 5.9%", *enough.loc[spares.WHOLE_RACKS]),
        ("trained on 124 nodes", Scenario.load("opt-175b").n_nodes),
        ("at least 35 times", evidence.figure("opt_n_manual_restarts").value),
        ("more than 100", opt.value),
        ("about 3% of its 511", per_week, imbue_nodes),
        (": 15 nodes per week", per_week * imbue_nodes),
    ]
