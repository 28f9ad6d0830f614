"""Throughput of a job by number of GPUs, and the search for the fastest layout."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.units import S_PER_H
from ettr.scaling import (
    Constants,
    Layout,
    Network,
    StepTime,
    Sync,
    Transformer,
    candidates,
    memory_gb,
    micro_batches,
    step_time,
    tokens_factor,
)

USABLE_MEMORY = 0.9
"""Share of GPU memory available to the model; the rest is buffers, fragmentation and the runtime (assumed)."""
_MOST_GPUS = 2.0**33
_BATCH_PAIRS = 1_000_000
"""Pairs of size and layout that are evaluated at once."""
_ROUNDING = 1e-9
_NEARLY = 0.98
"""Speed relative to the fastest layout from which a nearer size is preferred."""


@dataclass(frozen=True, eq=False)
class Throughput:
    """A job defined by its tokens, with the inputs of its step time as plain numbers.

    Attributes
    ----------
    model : Transformer
        Model to train.
    n_tokens : float
        Tokens to train on with the reference batch and an exchange in every step. [tokens]
    batch_tokens, reference_batch_tokens, critical_batch_tokens : float
        Batch sizes, as in the section ``model``. [tokens]
    peak_tflops, gpu_memory_gb : float
        Peak and memory of a GPU. [TFLOP/s], [GB]
    network : Network
        Links.
    constants : Constants
        Constants of the step-time model.
    sync : Sync
        Synchronisation of the replicas.
    efficiency : float
        Statistical efficiency of that synchronisation, at most 1.
    fixed : Layout
        Fixed values of the layout; None where the fastest is searched.
    """

    model: Transformer
    n_tokens: float
    batch_tokens: float
    reference_batch_tokens: float
    critical_batch_tokens: float
    peak_tflops: float
    gpu_memory_gb: float
    network: Network
    constants: Constants
    sync: Sync
    efficiency: float
    fixed: Layout

    @property
    def tokens_needed(self) -> float:
        """Tokens to train on, including the extra tokens for the batch size and for local SGD. [tokens]"""
        factor = tokens_factor(self.batch_tokens, self.critical_batch_tokens, self.reference_batch_tokens)
        return float(self.n_tokens * factor / self.efficiency)

    @property
    def usable_gb(self) -> float:
        """GPU memory available to the model. [GB]"""
        return USABLE_MEMORY * self.gpu_memory_gb

    def step(self, n_gpus: Any, layout: Layout, constants: Constants | None = None) -> StepTime:
        """Return the step time by part. [s]"""
        return step_time(
            self.model,
            layout,
            n_gpus,
            self.batch_tokens,
            self.peak_tflops,
            self.network,
            constants or self.constants,
            self.sync,
        )

    def memory_gb(self, n_gpus: Any, layout: Layout) -> Any:
        """Return the memory that the fullest GPU needs. [GB]"""
        return memory_gb(self.model, layout, n_gpus, self.batch_tokens, local_optimizers=self.sync.every_steps > 1)

    def fastest(self, n_gpus: Any) -> Layout:
        """Return the fastest layout that fits the memory at each size, which need not be divisible by the replicas.

        Parameters
        ----------
        n_gpus : float or ndarray
            Sizes, one-dimensional. [GPUs]

        Returns
        -------
        Layout
            Arrays of the shape of ``n_gpus``; ``tensor`` is 0 where no layout fits or the batch is too small.
        """
        sizes = np.atleast_1d(np.asarray(n_gpus, dtype=float))
        layouts = self.candidates
        n_sizes = max(1, _BATCH_PAIRS // np.size(layouts.tensor))
        best = [self._fastest_of(sizes[i : i + n_sizes, None], layouts) for i in range(0, sizes.size, n_sizes)]
        index = np.concatenate(best) if best else np.zeros(0, dtype=int)
        fastest = layouts.at(np.maximum(index, 0))
        fastest = replace(fastest, tensor=np.where(index < 0, 0, fastest.tensor))
        return fastest if np.ndim(n_gpus) else fastest.at(0)

    def _fastest_of(self, sizes: np.ndarray, layouts: Layout) -> np.ndarray:
        """Index of the fastest layout of each size; -1 if none is possible."""
        with np.errstate(divide="ignore", invalid="ignore"):
            total = self.step(sizes, layouts).total_s
        possible = self._fits(sizes, layouts) & np.isfinite(total) & (sizes >= layouts.replica_gpus)
        total = np.where(possible, total, np.inf)
        return np.where(possible.any(axis=1), total.argmin(axis=1), -1)

    @functools.cached_property
    def candidates(self) -> Layout:
        """Every layout of the search, as arrays."""
        return candidates(self.model, self.network.gpus_per_node, self.fixed)

    def _fits(self, n_gpus: Any, layouts: Layout) -> np.ndarray:
        """Which layouts fit into the usable memory."""
        return np.asarray(self.memory_gb(n_gpus, layouts) <= self.usable_gb)

    def tokens_per_s(self, n_gpus: Any, layout: Layout | None = None) -> Any:
        """Return the tokens per second at full speed; NaN if no layout fits or the batch is too small. [tokens/s]

        Parameters
        ----------
        n_gpus : float or ndarray
            Sizes. [GPUs]
        layout : Layout, optional
            Layout to use; by default the fastest of each size.
        """
        layout = self.fastest(n_gpus) if layout is None else layout
        impossible = np.asarray(layout.tensor) == 0
        layout = replace(layout, tensor=np.where(impossible, 1, layout.tensor))
        total = self.step(n_gpus, layout).total_s
        return np.where(impossible, np.nan, self.batch_tokens / total)

    def productive_h(self, n_gpus: Any, layout: Layout | None = None) -> Any:
        """Return the hours at full speed that training on all tokens takes. [h]"""
        return self.tokens_needed / self.tokens_per_s(n_gpus, layout) / S_PER_H

    def fastest_dividing(self, n_gpus: int) -> Layout:
        """Return the fastest layout whose replica size divides the number of GPUs.

        Raises
        ------
        InputError
            If the model does not fit, no layout that fits divides the GPUs, or the batch is too small; the message
            names sizes or batches that work.
        """
        layouts = self.candidates
        fits = self._fits(float(n_gpus), layouts) & (layouts.replica_gpus <= n_gpus)
        if not fits.any():
            raise InputError(self._no_memory(n_gpus, layouts))
        enough = fits & (micro_batches(self.model, layouts, n_gpus, self.batch_tokens) >= 1 - _ROUNDING)
        if not enough.any():
            raise InputError(self._batch_too_small(n_gpus, layouts.at(fits)))
        divides = enough & (n_gpus % layouts.replica_gpus == 0)
        if not divides.any():
            larger = bool((fits & (n_gpus % layouts.replica_gpus == 0)).any())
            raise InputError(self._not_divided(n_gpus, layouts.at(enough), larger))
        with np.errstate(divide="ignore", invalid="ignore"):
            total = self.step(float(n_gpus), layouts).total_s
        return layouts.at(int(np.argmin(np.where(divides, total, np.inf))))

    def _no_memory(self, n_gpus: int, layouts: Layout) -> str:
        """Message for a model that does not fit."""
        possible = layouts.at(layouts.replica_gpus <= n_gpus)
        text = f"a model of {self.model.n_parameters:.3g} parameters does not fit {n_gpus:,} GPUs of "
        text += f"{self.gpu_memory_gb:g} GB"
        if not np.size(possible.tensor):
            return f"{text}: a replica of this layout needs {int(np.min(layouts.replica_gpus)):,} GPUs"
        needs = np.asarray(self.memory_gb(float(n_gpus), possible))
        smallest = int(needs.argmin())
        text += f": the layout with the smallest memory ({possible.at(smallest)}) needs {needs[smallest]:,.0f} GB per "
        text += f"GPU, and {self.usable_gb:g} GB are usable"
        n_smallest = self.smallest_gpus()
        return f"{text}; {f'it fits from {n_smallest:,} GPUs on' if n_smallest else 'no number of GPUs is enough'}"

    def smallest_gpus(self) -> int | None:
        """Return the fewest GPUs, in whole nodes, that the model fits on; None if no number is enough. [GPUs]"""
        layouts, node = self.candidates, self.network.gpus_per_node

        def fits(nodes: int) -> bool:
            n = float(nodes * node)
            return bool((self._fits(n, layouts) & (layouts.replica_gpus <= n)).any())

        # Double the number of nodes until the model fits, then bisect.
        low, high = 0, 1
        while not fits(high):
            low, high = high, 2 * high
            if high * node > _MOST_GPUS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fits(middle) else (middle, high)
        return high * node

    def largest_gpus(self) -> float:
        """Return the most GPUs that the batch can keep busy, with one micro-batch per replica. [GPUs]"""
        layouts = self.candidates
        sequences = self.batch_tokens / (np.asarray(layouts.micro_batch) * self.model.sequence_tokens)
        most = sequences * layouts.replica_gpus
        fits = self._fits(np.maximum(most, 1.0), layouts)
        return float(np.max(np.where(fits, most, 0.0)))

    def divisible_sizes(self, near_gpus: float) -> tuple[np.ndarray, Layout]:
        """Return sizes near a number of GPUs in whole nodes and replicas, each with a layout that works there.

        Returns
        -------
        tuple of ndarray and Layout
            Up to three sizes per layout, one-dimensional. [GPUs]
        """
        layouts = self.candidates
        multiple = np.lcm(np.asarray(layouts.replica_gpus).astype(int), self.network.gpus_per_node)
        near = np.concatenate([(near_gpus // multiple + step) * multiple for step in (-1, 0, 1)])
        layouts = layouts.at(np.tile(np.arange(multiple.size), 3))
        works = near > 0
        works[works] &= micro_batches(self.model, layouts.at(works), near[works], self.batch_tokens) >= 1 - _ROUNDING
        works[works] &= self._fits(near[works], layouts.at(works))
        return near[works], layouts.at(works)

    def _not_divided(self, n_gpus: int, fitting: Layout, larger_batch_helps: bool) -> str:
        """Message for a size that no replica divides, with the nearest sizes that work."""
        sizes, layouts = self.divisible_sizes(n_gpus)
        per_gpu = np.asarray(self.tokens_per_s(sizes, layouts)) / sizes
        near = []
        for side in (sizes < n_gpus, sizes > n_gpus):
            if side.any():  # the nearest size among those nearly as fast as the fastest
                fast = side & (per_gpu >= _NEARLY * per_gpu[side].max())
                near.append(f"{int(sizes[fast][np.abs(sizes[fast] - n_gpus).argmin()]):,}")
        sizes_text = ", ".join(f"{size:,}" for size in np.unique(fitting.replica_gpus.astype(int))[:6])
        return (
            f"no layout divides {n_gpus:,} GPUs: replicas of {sizes_text} GPUs fit the memory and the batch; "
            f"use {' or '.join(near)} GPUs{', or a larger model.batch_tokens' if larger_batch_helps else ''}"
        )

    def _batch_too_small(self, n_gpus: int, fitting: Layout) -> str:
        """Message for a batch with fewer sequences than replicas."""
        sizes, _ = self.divisible_sizes(self.largest_gpus())
        divides = n_gpus % fitting.replica_gpus == 0
        remedies = [f"at most {int(sizes.max()):,} GPUs"] if sizes.size else []
        if divides.any():
            replicas = n_gpus / fitting.replica_gpus[divides] * np.asarray(fitting.micro_batch)[divides]
            tokens = float(np.min(replicas)) * self.model.sequence_tokens
            remedies.insert(0, f"model.batch_tokens >= {tokens:,.0f}")
        return (
            f"a batch of {self.batch_tokens:,.0f} tokens is too small for {n_gpus:,} GPUs: each replica needs at least "
            f"one sequence of {self.model.sequence_tokens:,} tokens; use "
            f"{', or '.join(remedies) or 'a larger model.batch_tokens'}"
        )
