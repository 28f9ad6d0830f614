"""Spare nodes: pool sizes for a service level, and the cheapest pool.

Analytical functions take numbers; those that take a scenario use its failures, repair and prices. The mean number of
nodes in repair, a, is the rate at which nodes leave the job per hour of wall-clock time, times the mean repair time.
"""

from ettr.scenario.pools import enough_spares, erlang_b
from ettr.spares.cheapest import Pool, cheapest_pool, cheapest_pool_for, pool_cost
from ettr.spares.demand import Demand, demand
from ettr.spares.racks import domains_level, racks_level
from ettr.spares.simulated import LeastPool, by_pool_size, least_pool
from ettr.spares.waiting import waiting_share

__all__ = [
    "Demand",
    "LeastPool",
    "Pool",
    "by_pool_size",
    "cheapest_pool",
    "cheapest_pool_for",
    "demand",
    "domains_level",
    "enough_spares",
    "erlang_b",
    "least_pool",
    "pool_cost",
    "racks_level",
    "waiting_share",
]
