"""How fast a job trains on so many GPUs, and the layout that is fastest."""

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
"""Share of a GPU's memory that the model may fill; the rest is buffers, fragments and the runtime (assumed)."""
_MOST_GPUS = 2.0**33
_AT_A_TIME = 1_000_000
"""Pairs of a size and a layout that are looked at together."""
_HAIR = 1e-9
_NEARLY = 0.98
"""A layout this close to the fastest is as good."""


@dataclass(frozen=True, eq=False)
class Throughput:
    """A job given by its tokens, as plain numbers.

    Attributes
    ----------
    model : Transformer
        What is trained.
    n_tokens : float
        Tokens with the reference batch, exchanged in every step. [tokens]
    batch_tokens, reference_batch_tokens, critical_batch_tokens : float
        As in the section ``model``. [tokens]
    peak_tflops, gpu_memory_gb : float
        Of a GPU. [TFLOP/s], [GB]
    network : Network
        Links.
    constants : Constants
        Those in force.
    sync : Sync
        How replicas are kept in step.
    efficiency : float
        Statistical price of that, at most 1.
    given : Layout
        Fixed cuts of the layout; those that are None are chosen.
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
    given: Layout

    @property
    def tokens_needed(self) -> float:
        """Tokens to train on, with what the batch and loose exchange ask on top. [tokens]"""
        factor = tokens_factor(self.batch_tokens, self.critical_batch_tokens, self.reference_batch_tokens)
        return float(self.n_tokens * factor / self.efficiency)

    @property
    def usable_gb(self) -> float:
        """Memory of a GPU that the model may fill. [GB]"""
        return USABLE_MEMORY * self.gpu_memory_gb

    def step(self, n_gpus: Any, layout: Layout, constants: Constants | None = None) -> StepTime:
        """Parts of a step. [s]"""
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
        """Memory of the fullest GPU. [GB]"""
        return memory_gb(self.model, layout, n_gpus, self.batch_tokens, own_optimizers=self.sync.every_steps > 1)

    def fastest(self, n_gpus: Any) -> Layout:
        """The fastest layout that fits the memory at each size, sizes taken as continuous.

        Parameters
        ----------
        n_gpus : float or ndarray
            Sizes, of one axis. [GPUs]

        Returns
        -------
        Layout
            Arrays of the shape of ``n_gpus``; ``tensor`` is 0 where no layout fits or the batch is too small.
        """
        sizes = np.atleast_1d(np.asarray(n_gpus, dtype=float))
        tried = self.candidates
        at_a_time = max(1, _AT_A_TIME // np.size(tried.tensor))
        best = [self._fastest_of(sizes[i : i + at_a_time, None], tried) for i in range(0, sizes.size, at_a_time)]
        index = np.concatenate(best) if best else np.zeros(0, dtype=int)
        fastest = tried.at(np.maximum(index, 0))
        fastest = replace(fastest, tensor=np.where(index < 0, 0, fastest.tensor))
        return fastest if np.ndim(n_gpus) else fastest.at(0)

    def _fastest_of(self, sizes: np.ndarray, tried: Layout) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            total = self.step(sizes, tried).total_s
        good = self._fits(sizes, tried) & np.isfinite(total) & (sizes >= tried.replica_gpus)
        total = np.where(good, total, np.inf)
        return np.where(good.any(axis=1), total.argmin(axis=1), -1)

    @functools.cached_property
    def candidates(self) -> Layout:
        """Every layout that is tried, as arrays."""
        return candidates(self.model, self.network.gpus_per_node, self.given)

    def _fits(self, n_gpus: Any, tried: Layout) -> np.ndarray:
        return np.asarray(self.memory_gb(n_gpus, tried) <= self.usable_gb)

    def tokens_per_s(self, n_gpus: Any, layout: Layout | None = None) -> Any:
        """Tokens a second at full speed; NaN where nothing fits, or the batch is smaller than the replicas. [tokens/s]

        Parameters
        ----------
        n_gpus : float or ndarray
            Sizes. [GPUs]
        layout : Layout, optional
            The fastest of each size by default.
        """
        chosen = self.fastest(n_gpus) if layout is None else layout
        nothing = np.asarray(chosen.tensor) == 0
        chosen = replace(chosen, tensor=np.where(nothing, 1, chosen.tensor))
        total = self.step(n_gpus, chosen).total_s
        return np.where(nothing, np.nan, self.batch_tokens / total)

    def productive_h(self, n_gpus: Any, layout: Layout | None = None) -> Any:
        """Hours of useful training at full speed that the tokens need. [h]"""
        return self.tokens_needed / self.tokens_per_s(n_gpus, layout) / S_PER_H

    def dividing(self, n_gpus: int) -> Layout:
        """The fastest layout whose replicas divide the GPUs.

        Raises
        ------
        InputError
            The model does not fit, no layout that fits divides the GPUs, or the batch is smaller than the replicas; the
            message says what would do.
        """
        tried = self.candidates
        fits = self._fits(float(n_gpus), tried) & (tried.replica_gpus <= n_gpus)
        if not fits.any():
            raise InputError(self._no_memory(n_gpus, tried))
        enough = fits & (micro_batches(self.model, tried, n_gpus, self.batch_tokens) >= 1 - _HAIR)
        if not enough.any():
            raise InputError(self._batch_too_small(n_gpus, tried.at(fits)))
        divides = enough & (n_gpus % tried.replica_gpus == 0)
        if not divides.any():
            larger = bool((fits & (n_gpus % tried.replica_gpus == 0)).any())
            raise InputError(self._not_divided(n_gpus, tried.at(enough), larger))
        with np.errstate(divide="ignore", invalid="ignore"):
            total = self.step(float(n_gpus), tried).total_s
        return tried.at(int(np.argmin(np.where(divides, total, np.inf))))

    def _no_memory(self, n_gpus: int, tried: Layout) -> str:
        held = tried.at(tried.replica_gpus <= n_gpus)
        what = f"a model of {self.model.n_parameters:.3g} parameters does not fit {n_gpus:,} GPUs of "
        what += f"{self.gpu_memory_gb:g} GB"
        if not np.size(held.tensor):
            return f"{what}: a replica of the layout that is given takes {int(np.min(tried.replica_gpus)):,} of them"
        needs = np.asarray(self.memory_gb(float(n_gpus), held))
        least = int(needs.argmin())
        text = f"{what}: the layout that needs least ({held.at(least)}) takes {needs[least]:,.0f} GB of the "
        text += f"{self.usable_gb:g} GB that are left for it"
        smallest = self.smallest_gpus()
        return f"{text}; {f'it fits from {smallest:,} GPUs on' if smallest else 'no number of GPUs is enough'}"

    def smallest_gpus(self) -> int | None:
        """The fewest GPUs, in whole nodes, that hold the model; None if no number does. [GPUs]"""
        tried, node = self.candidates, self.network.gpus_per_node

        def holds(nodes: int) -> bool:
            n = float(nodes * node)
            return bool((self._fits(n, tried) & (tried.replica_gpus <= n)).any())

        low, high = 0, 1
        while not holds(high):
            low, high = high, 2 * high
            if high * node > _MOST_GPUS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high * node

    def largest_gpus(self) -> float:
        """GPUs at which each replica has a single micro-batch left, for the layout that goes farthest. [GPUs]"""
        tried = self.candidates
        most = self.batch_tokens / (np.asarray(tried.micro_batch) * self.model.sequence_tokens) * tried.replica_gpus
        fits = self._fits(np.maximum(most, 1.0), tried)
        return float(np.max(np.where(fits, most, 0.0)))

    def whole_sizes(self, near_gpus: float) -> tuple[np.ndarray, Layout]:
        """Sizes near one in whole nodes and replicas, each with a layout that divides, fits it and has work there.

        Returns
        -------
        tuple of ndarray and Layout
            Up to three sizes a layout, of one axis. [GPUs]
        """
        tried = self.candidates
        whole = np.lcm(np.asarray(tried.replica_gpus).astype(int), self.network.gpus_per_node)
        near = np.concatenate([(near_gpus // whole + step) * whole for step in (-1, 0, 1)])
        layouts = tried.at(np.tile(np.arange(whole.size), 3))
        good = near > 0
        good[good] &= micro_batches(self.model, layouts.at(good), near[good], self.batch_tokens) >= 1 - _HAIR
        good[good] &= self._fits(near[good], layouts.at(good))
        return near[good], layouts.at(good)

    def _not_divided(self, n_gpus: int, fitting: Layout, larger_batch_helps: bool) -> str:
        sizes, layouts = self.whole_sizes(n_gpus)
        per_gpu = np.asarray(self.tokens_per_s(sizes, layouts)) / sizes
        near = []
        for side in (sizes < n_gpus, sizes > n_gpus):
            if side.any():  # of those nearly as fast as the fastest the nearest
                fast = side & (per_gpu >= _NEARLY * per_gpu[side].max())
                near.append(f"{int(sizes[fast][np.abs(sizes[fast] - n_gpus).argmin()]):,}")
        sizes_text = ", ".join(f"{size:,}" for size in np.unique(fitting.replica_gpus.astype(int))[:6])
        return (
            f"no layout that fits the memory and the batch divides {n_gpus:,} GPUs: replicas of {sizes_text} GPUs fit; "
            f"take {' or '.join(near)} GPUs{', or a larger model.batch_tokens' if larger_batch_helps else ''}"
        )

    def _batch_too_small(self, n_gpus: int, fitting: Layout) -> str:
        sizes, _ = self.whole_sizes(self.largest_gpus())
        divides = n_gpus % fitting.replica_gpus == 0
        fewer = [f"at most {int(sizes.max()):,} GPUs"] if sizes.size else []
        if divides.any():
            replicas = n_gpus / fitting.replica_gpus[divides] * np.asarray(fitting.micro_batch)[divides]
            tokens = float(np.min(replicas)) * self.model.sequence_tokens
            fewer.insert(0, f"model.batch_tokens >= {tokens:,.0f}")
        return (
            f"a batch of {self.batch_tokens:,.0f} tokens is smaller than the replicas of {n_gpus:,} GPUs: of "
            f"{self.model.sequence_tokens:,} tokens each replica needs one sequence at least; take "
            f"{', or '.join(fewer) or 'a larger model.batch_tokens'}"
        )
