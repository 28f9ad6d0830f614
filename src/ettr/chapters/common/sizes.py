"""The sizes that curves go over."""

from __future__ import annotations

from ettr.scenario import Scenario

LARGEST_GPUS = 1e6


def smallest_gpus(scenario: Scenario) -> float:
    """128 GPUs, or as many as hold a node for each copy of a checkpoint. [GPUs]"""
    copies = max([1, *(tier.copies or 1 for tier in scenario.checkpoint.tiers)])
    return float(max(128, scenario.cluster.gpus_per_node * copies))
