"""Consistency of published figures: each claim against the value that the published counts imply.

Each claim names a quantity, which is computed from the tables of ``data/`` and compared within the claim's tolerance.
A claim that cannot be computed has a judgement and its reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import pandas as pd

from ettr import evidence
from ettr.core.errors import UnknownName
from ettr.core.units import H_PER_DAY, MIN_PER_H

AGREES, DISAGREES = "agrees", "disagrees"
"""The two computed verdicts; all others are judgements."""

PRINTED_ROUNDING_PCT = 0.05
"""Half the last digit of a share printed to one decimal. [%]"""

_DAYS_PER_MONTH = 365.25 / 12.0
_SLACK = 1e-9  # a difference that equals the tolerance up to rounding of binary fractions still agrees


class _Facts:
    """Tables behind the quantities, read when first needed."""

    @cached_property
    def rows(self) -> pd.DataFrame:
        return evidence.table("llama3_interruptions")

    @cached_property
    def total(self) -> float:
        return float(self.rows["n_events"].sum())

    def figure(self, key: str) -> float:
        return evidence.figure(f"llama3_{key}").value

    def events(self, *names: str, by: str = "component") -> float:
        missing = set(names) - set(self.rows[by])
        if missing:
            raise UnknownName(by, missing.pop(), set(self.rows[by]), "data/llama3_interruptions.csv")
        return float(self.rows.loc[self.rows[by].isin(names), "n_events"].sum())

    def share_pct(self, *names: str, by: str = "component") -> float:
        return 100.0 * self.events(*names, by=by) / self.total

    def printed_pct(self, *names: str, by: str = "component") -> float:
        return float(self.rows.loc[self.rows[by].isin(names), "printed_pct"].sum())

    def parallelism(self, row: int, column: str) -> float:
        rows = evidence.table("llama3_parallelism")
        return float(rows.loc[rows["row"] == row, column].item())

    @property
    def node_days(self) -> float:
        return self.figure("n_gpus") / self.figure("gpus_per_node") * self.figure("window_days")

    def mtbi_h(self, events: float) -> float:
        return self.figure("window_days") * H_PER_DAY / events

    @property
    def xai_ratio(self) -> float:
        return evidence.figure("xai_n_gpus").value / self.figure("n_gpus")

    def rsc(self, per_day: str, weight: str) -> float:
        """Return the sum over both clusters of the product of two figures, over the observed days."""
        values = {
            name: evidence.figure(f"{name}_{per_day}").value
            * (evidence.figure(f"{name}_{weight}").value if weight else 1.0)
            for name in ("rsc1", "rsc2")
        }
        return sum(values.values()) * evidence.figure("rsc_window_months").value * _DAYS_PER_MONTH


_GPU_FOUR = ("Faulty GPU", "GPU HBM3 Memory", "GPU SRAM Memory", "GPU System Processor")
_HARDWARE = ("GPU", "Host", "Unplanned Maintenance")


def _long_context_ways(facts: _Facts) -> float:
    others = (facts.parallelism(3, f"{kind}_parallel") for kind in ("tensor", "context", "pipeline"))
    return facts.parallelism(3, "n_gpus") / math.prod(others)


_QUANTITIES: dict[str, tuple[str, Callable[[_Facts], float]]] = {
    "n_unexpected": ("count", lambda f: f.total),
    "n_interruptions": ("count", lambda f: f.figure("n_planned") + f.total),
    "n_planned": ("count", lambda f: f.figure("n_interruptions") - f.total),
    "n_cpu": ("count", lambda f: f.events("CPU")),
    "n_sram": ("count", lambda f: f.events("GPU SRAM Memory")),
    "n_system_memory": ("count", lambda f: f.events("System Memory")),
    "n_network": ("count", lambda f: f.events("Network Switch/Cable")),
    "n_not_component": ("count", lambda f: f.events("Dependency", "Unplanned Maintenance", "Unknown", by="category")),
    "n_manual": ("count", lambda f: f.figure("n_manual")),
    "n_faulty_gpu_from_printed": ("count", lambda f: float(round(f.printed_pct("Faulty GPU") / 100.0 * f.total))),
    "faulty_gpu_share_pct": ("%", lambda f: f.share_pct("Faulty GPU")),
    "hbm_share_pct": ("%", lambda f: f.share_pct("GPU HBM3 Memory")),
    "gpu_memory_share_pct": ("%", lambda f: f.share_pct("GPU HBM3 Memory", "GPU SRAM Memory")),
    "faulty_gpu_or_hbm_share_pct": ("%", lambda f: f.share_pct("Faulty GPU", "GPU HBM3 Memory")),
    "four_gpu_rows_share_pct": ("%", lambda f: f.share_pct(*_GPU_FOUR)),
    "four_gpu_rows_printed_pct": ("%", lambda f: f.printed_pct(*_GPU_FOUR)),
    "gpu_share_pct": ("%", lambda f: f.share_pct("GPU", by="category")),
    "non_gpu_share_pct": ("%", lambda f: 100.0 - f.share_pct("GPU", by="category")),
    "printed_gpu_share_pct": ("%", lambda f: f.printed_pct("GPU", by="category")),
    "printed_total_pct": ("%", lambda f: float(f.rows["printed_pct"].sum())),
    "software_bug_share_pct": ("%", lambda f: f.share_pct("Software Bug")),
    "dependency_share_pct": ("%", lambda f: f.share_pct("Dependency", by="category")),
    "network_share_pct": ("%", lambda f: f.share_pct("Network Switch/Cable")),
    "network_with_nic_share_pct": ("%", lambda f: f.share_pct("Network Switch/Cable", "NIC")),
    "unplanned_maintenance_share_pct": ("%", lambda f: f.share_pct("Host Maintenance")),
    "hardware_share_pct": ("%", lambda f: f.share_pct(*_HARDWARE, by="category")),
    "hardware_with_network_share_pct": ("%", lambda f: f.share_pct(*_HARDWARE, "Network", by="category")),
    "hardware_with_unknown_share_pct": ("%", lambda f: f.share_pct(*_HARDWARE, "Unknown", by="category")),
    "hardware_without_maintenance_share_pct": ("%", lambda f: f.share_pct("GPU", "Host", "Network", by="category")),
    "snapshot_days": ("d", lambda f: f.figure("window_days")),
    "mtbi_unexpected_h": ("h", lambda f: f.mtbi_h(f.total)),
    "mtbi_all_h": ("h", lambda f: f.mtbi_h(f.figure("n_interruptions"))),
    "unexpected_per_day": ("1/d", lambda f: f.total / f.figure("window_days")),
    "planned_per_day": ("1/d", lambda f: f.figure("n_planned") / f.figure("window_days")),
    "rate_per_1000_node_days": ("1/(1000 node-days)", lambda f: 1000.0 * f.total / f.node_days),
    "max_loss_min": ("min", lambda f: (1.0 - f.figure("ettr_bound")) * f.mtbi_h(f.total) * MIN_PER_H),
    "ettr_bound_pct": ("%", lambda f: 100.0 * f.figure("ettr_bound")),
    "data_parallel_long_context": ("count", _long_context_ways),
    "mfu_16k_gpus_pct": (
        "%",
        lambda f: 100 * f.parallelism(2, "tflops_per_gpu") / evidence.figure("h100_peak_tflops").value,
    ),
    "training_days_at_16k": (
        "d",
        lambda f: evidence.figure("llama31_405b_gpu_h").value / f.figure("n_gpus") / H_PER_DAY,
    ),
    "roce_cluster_n_gpus": ("count", lambda f: f.figure("n_pods") * f.figure("pod_n_gpus")),
    "throughput_swing_high_pct": ("%", lambda f: f.figure("throughput_swing_high_pct")),
    "gpu_power_w": ("W", lambda f: f.figure("gpu_power_w")),
    "gpu_power_mw": ("MW", lambda f: f.figure("gpu_power_w") * f.figure("n_gpus") / 1e6),
    "xai_ratio": ("1", lambda f: f.xai_ratio),
    "xai_failures_per_day": ("1/d", lambda f: f.xai_ratio * f.total / f.figure("window_days")),
    "xai_mtbi_min": ("min", lambda f: f.mtbi_h(f.total) * MIN_PER_H / f.xai_ratio),
    "llama1_n_gpus": ("count", lambda f: evidence.figure("llama1_n_gpus").value),
    "rsc_n_jobs": ("count", lambda f: f.rsc("jobs_per_day", "")),
    "rsc_gpu_h": ("GPU h", lambda f: H_PER_DAY * f.rsc("n_gpus", "utilisation")),
}
"""Unit of each quantity in a claim, and its computation from the tables."""


def quantities() -> pd.DataFrame:
    """Return all quantities that claims are compared with.

    Returns
    -------
    DataFrame
        Columns ``quantity``, ``value``, ``unit``.
    """
    facts = _Facts()
    rows = [(name, compute(facts), unit) for name, (unit, compute) in _QUANTITIES.items()]
    return pd.DataFrame(rows, columns=["quantity", "value", "unit"])


def audit() -> pd.DataFrame:
    """Return every claim with the value that the published counts imply, and a verdict.

    Returns
    -------
    DataFrame
        The columns of the table ``claims``, ``implied_value`` and ``verdict`` (``agrees``, ``disagrees`` or a
        judgement); values in the row's unit, missing where the claim has no number or cannot be computed.
    """
    computed = quantities().set_index("quantity")
    claims = evidence.table("claims")
    implied, values = claims["quantity"].map(computed["value"]), computed["value"].to_dict()
    agrees = (claims["stated_value"] - implied).abs() <= claims["tolerance"] + _SLACK
    verdicts = claims["judgement"].where(claims["quantity"] == "", agrees.map({True: AGREES, False: DISAGREES}))
    comments = [comment.format(**values) for comment in claims["comment"]]
    return claims.assign(implied_value=implied, verdict=verdicts, comment=comments)


def interruption_shares() -> pd.DataFrame:
    """Return the printed share of each root cause and the share that its count implies.

    Returns
    -------
    DataFrame
        The columns of the table ``llama3_interruptions`` and ``implied_pct`` [%] and ``agrees`` (bool): whether
        rounding to one decimal explains the difference from the printed share.
    """
    rows = evidence.table("llama3_interruptions")
    implied = 100.0 * rows["n_events"] / rows["n_events"].sum()
    agrees = (rows["printed_pct"] - implied).abs() <= PRINTED_ROUNDING_PCT + _SLACK
    return rows.assign(implied_pct=implied, agrees=agrees)
