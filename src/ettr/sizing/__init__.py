"""Sizing: the number of GPUs for a job, from throughput, ETTR, heat and prices together."""

from ettr.sizing.answer import Sizing, curve, make
from ettr.sizing.bands import SizingDraws, draws
from ettr.sizing.goals import CHEAPEST, FASTEST, GOALS, GREENEST, BestSize, SizingLimits, best
from ettr.sizing.next_gpu import NextGpu, next_gpu, range_gpus, turning_point
from ettr.sizing.yields import Yields, yields

__all__ = [
    "CHEAPEST",
    "FASTEST",
    "GOALS",
    "GREENEST",
    "BestSize",
    "NextGpu",
    "Sizing",
    "SizingDraws",
    "SizingLimits",
    "Yields",
    "best",
    "curve",
    "draws",
    "make",
    "next_gpu",
    "range_gpus",
    "turning_point",
    "yields",
]
