"""Failures that a checkpoint copy survives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ettr.checkpoint.placement import peer_survival
from ettr.core.errors import InputError, UnknownName
from ettr.core.units import ROUNDING
from ettr.scenario.basics import ALL
from ettr.scenario.checkpoints import Tier
from ettr.scenario.failures import Mode


def survival_by_mode(
    tiers: Sequence[Tier], modes: Sequence[Mode], n_nodes: Any, replaced: Mapping[str, Any]
) -> list[np.ndarray]:
    """Return the share of each mode's failures that each tier survives, ``other`` last; see ``Scenario.survival``."""
    of_tiers: list[np.ndarray] = []
    for tier in tiers:
        shares = (
            _for_modes(replaced[tier.name], len(modes) + 1) if tier.name in replaced else _of_tier(tier, modes, n_nodes)
        )
        if of_tiers:
            _refuse_less(
                shares, of_tiers[-1], tier.name, tiers[len(of_tiers) - 1].name, [*(m.name for m in modes), "other"]
            )
        of_tiers.append(shares)
    return of_tiers


def by_mode(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return arrays with the modes on the first axis, and the other axes aligned for broadcasting."""
    n_axes = max(array.ndim for array in arrays)
    return [array.reshape(array.shape[:1] + (1,) * (n_axes - array.ndim) + array.shape[1:]) for array in arrays]


def _for_modes(share: Any, n_modes: int) -> np.ndarray:
    share = np.asarray(share, dtype=float)
    return np.broadcast_to(share, (n_modes, *share.shape))


def _of_tier(tier: Tier, modes: Sequence[Mode], n_nodes: Any) -> np.ndarray:
    if tier.survives is None:
        return _by_copies(tier, [*(mode.n_lost_nodes for mode in modes), 1], n_nodes)
    kinds = {ALL, "other", *(mode.name for mode in modes), *(mode.category for mode in modes)}
    for kind in tier.survives:
        if kind not in kinds:
            raise UnknownName("kind of failure", kind, kinds, f"checkpoint.tiers.{tier.name}.survives")
    general = tier.survives.get(ALL, 0.0)
    named = [tier.survives.get(mode.name, tier.survives.get(mode.category, general)) for mode in modes]
    return np.array([*named, tier.survives.get("other", general)], dtype=float)


def _by_copies(tier: Tier, n_lost: Sequence[int], n_nodes: Any) -> np.ndarray:
    copies = tier.copies or 1
    if np.min(n_nodes) < copies:
        raise InputError(
            f"checkpoint.tiers.{tier.name}.copies must be <= {int(np.min(n_nodes))}, the nodes of the job, got {copies}"
        )
    each = {lost: peer_survival(n_nodes, lost, copies, tier.placement) for lost in set(n_lost)}
    return np.array([each[lost] for lost in n_lost])


def _refuse_less(shares: np.ndarray, faster: np.ndarray, name: str, faster_name: str, modes: Sequence[str]) -> None:
    """Raise if a safer tier survives less than a faster one."""
    shares, faster = by_mode(shares, faster)
    less = np.argwhere(np.asarray(shares + ROUNDING < faster))
    if less.size:
        where, mode = tuple(less[0]), modes[less[0][0]]
        least, got = np.broadcast_arrays(faster, shares)
        raise InputError(
            f"checkpoint.tiers go from fast to safe: of failures {mode!r} the tier {name!r} must survive >= "
            f"{least[where]:g}, the share of {faster_name!r} before it, got {got[where]:g}"
        )
