"""Spare nodes: how many a service level asks for, how many are cheapest, and what they do to others.

Closed forms take plain numbers; those that take a scenario read its failures, repair and prices. The number of nodes in
repair, a, is the nodes that leave the job per hour of wall clock times the mean repair time.
"""

from ettr.spares.cheapest import Pool, cheapest_pool, pool_cost, waiting_share
from ettr.spares.demand import Demand, demand
from ettr.spares.elastic import crossing, elastic_by_pool
from ettr.spares.erlang import erlang_b, erlang_c
from ettr.spares.levels import binomial_pool, crew_pool, normal_pool, poisson_pool, pool_level
from ettr.spares.mission import by_mission, mission_level, mission_pool
from ettr.spares.racks import (
    domain_unavailability,
    domains_level,
    rack_level,
    racks_level,
)
from ettr.spares.search import least_pool
from ettr.spares.shared import PARTS, SharedCluster, SmallJobs, shared_cluster
from ettr.spares.simulated import by_pool_size

__all__ = [
    "PARTS",
    "Demand",
    "Pool",
    "SharedCluster",
    "SmallJobs",
    "binomial_pool",
    "by_mission",
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
    "least_pool",
    "mission_level",
    "mission_pool",
    "normal_pool",
    "poisson_pool",
    "pool_cost",
    "pool_level",
    "rack_level",
    "racks_level",
    "shared_cluster",
    "waiting_share",
]
