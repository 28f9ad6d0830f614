"""Scaling: throughput of a synchronous training job by number of GPUs.

Plain formulas on numbers and arrays; the sections ``model``, ``layout``, ``network``, ``scaling`` and ``sync`` of a
scenario combine them.
"""

from ettr.scaling.layout import Layout, candidates, memory_gb, micro_batches, stage_layers
from ettr.scaling.network import Network
from ettr.scaling.step import Constants, StepTime, Sync, step_time
from ettr.scaling.transformer import (
    Transformer,
    flop_per_token,
    layer_parameters,
    parameter_range,
    tokens_factor,
    usual_hidden,
    usual_layers,
)

__all__ = [
    "Constants",
    "Layout",
    "Network",
    "StepTime",
    "Sync",
    "Transformer",
    "candidates",
    "flop_per_token",
    "layer_parameters",
    "memory_gb",
    "micro_batches",
    "parameter_range",
    "stage_layers",
    "step_time",
    "tokens_factor",
    "usual_hidden",
    "usual_layers",
]
