"""Spare nodes: how many a service level asks for, how many are cheapest, and what they do to others.

Closed forms take plain numbers; those that take a scenario read its failures, repair and prices. The number of nodes in
repair, a, is the nodes that leave the job per hour of wall clock times the mean repair time.
"""

from ettr.spares.cheapest import Pool, cheapest_pool, pool_cost, waiting_share
from ettr.spares.crews import crew_pool, in_repair_share, mean_in_repair, mean_queue_h
from ettr.spares.demand import Demand, demand
from ettr.spares.elastic import crossing, elastic_by_pool
from ettr.spares.erlang import erlang_b, erlang_c
from ettr.spares.expected import expected_by_pool, least_pool
from ettr.spares.levels import binomial_pool, normal_pool, poisson_pool, pool_level, unavailability
from ettr.spares.racks import (
    domain_unavailability,
    domains_level,
    least_rack_spares,
    nonuniform_loss,
    rack_level,
    racks_level,
    uniform_loss,
)
from ettr.spares.shared import PARTS, SharedCluster, SmallJobs, shared_cluster
from ettr.spares.simulated import by_pool_size, gpu_price_usd

__all__ = [
    "PARTS",
    "Demand",
    "Pool",
    "SharedCluster",
    "SmallJobs",
    "binomial_pool",
    "by_pool_size",
    "cheapest_pool",
    "crew_pool",
    "crossing",
    "demand",
    "domain_unavailability",
    "domains_level",
    "elastic_by_pool",
    "erlang_b",
    "erlang_c",
    "expected_by_pool",
    "gpu_price_usd",
    "in_repair_share",
    "least_pool",
    "least_rack_spares",
    "mean_in_repair",
    "mean_queue_h",
    "nonuniform_loss",
    "normal_pool",
    "poisson_pool",
    "pool_cost",
    "pool_level",
    "rack_level",
    "racks_level",
    "shared_cluster",
    "unavailability",
    "uniform_loss",
    "waiting_share",
]
