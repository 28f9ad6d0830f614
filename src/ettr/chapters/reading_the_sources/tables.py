"""Which published figures agree with each other: each claim against what the published counts imply.

A claim names the quantity that it is about; the quantity is computed from the tables of ``data/``, and the verdict
is the comparison within the claim's tolerance. A claim that cannot be computed carries a judgement and its reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from ettr import evidence
from ettr.core.errors import DataError, UnknownName
from ettr.core.units import H_PER_DAY, MIN_PER_H

AGREES, DISAGREES = "agrees", "disagrees"
"""The two computed verdicts; all others are judgements."""

PRINTED_ROUNDING_PCT = 0.05
"""Half the last digit of a share printed to one decimal. [%]"""

_DAYS_PER_MONTH = 365.25 / 12.0
_SLACK = 1e-9  # a difference that equals the tolerance up to rounding of binary fractions still agrees


class _Facts:
    """The tables that quantities are computed from, read when first needed."""

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
        """Sum over both clusters of two figures' product, over the observed days."""
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


def _mfu_pct(facts: _Facts, row: int) -> float:
    return 100.0 * facts.parallelism(row, "tflops_per_gpu") / evidence.figure("h100_peak_tflops").value


@dataclass(frozen=True)
class _Rule:
    unit: str
    meaning: str
    compute: Callable[[_Facts], float]


_REGISTRY: dict[str, _Rule] = {
    "n_unexpected": _Rule("count", "sum of the 18 rows", lambda f: f.total),
    "n_interruptions": _Rule("count", "planned and the 18 rows", lambda f: f.figure("n_planned") + f.total),
    "n_planned": _Rule("count", "all less the 18 rows", lambda f: f.figure("n_interruptions") - f.total),
    "n_cpu": _Rule("count", "row CPU", lambda f: f.events("CPU")),
    "n_sram": _Rule("count", "row GPU SRAM Memory", lambda f: f.events("GPU SRAM Memory")),
    "n_system_memory": _Rule("count", "row System Memory", lambda f: f.events("System Memory")),
    "n_network": _Rule("count", "row Network Switch/Cable", lambda f: f.events("Network Switch/Cable")),
    "n_not_component": _Rule(
        "count",
        "categories Dependency, Unplanned Maintenance and Unknown",
        lambda f: f.events("Dependency", "Unplanned Maintenance", "Unknown", by="category"),
    ),
    "n_manual": _Rule("count", "interruptions with manual work, as the paper", lambda f: f.figure("n_manual")),
    "n_faulty_gpu_from_printed": _Rule(
        "count",
        "events that the printed share of faulty GPUs means",
        lambda f: float(round(f.printed_pct("Faulty GPU") / 100.0 * f.total)),
    ),
    "faulty_gpu_share_pct": _Rule("%", "row Faulty GPU", lambda f: f.share_pct("Faulty GPU")),
    "hbm_share_pct": _Rule("%", "row GPU HBM3 Memory", lambda f: f.share_pct("GPU HBM3 Memory")),
    "gpu_memory_share_pct": _Rule(
        "%", "rows of HBM3 and SRAM", lambda f: f.share_pct("GPU HBM3 Memory", "GPU SRAM Memory")
    ),
    "faulty_gpu_or_hbm_share_pct": _Rule(
        "%", "rows Faulty GPU and HBM3", lambda f: f.share_pct("Faulty GPU", "GPU HBM3 Memory")
    ),
    "four_gpu_rows_share_pct": _Rule("%", "four GPU rows by count", lambda f: f.share_pct(*_GPU_FOUR)),
    "four_gpu_rows_printed_pct": _Rule("%", "four GPU rows as printed", lambda f: f.printed_pct(*_GPU_FOUR)),
    "gpu_share_pct": _Rule("%", "category GPU", lambda f: f.share_pct("GPU", by="category")),
    "non_gpu_share_pct": _Rule("%", "all but the category GPU", lambda f: 100.0 - f.share_pct("GPU", by="category")),
    "printed_gpu_share_pct": _Rule("%", "printed GPU rows", lambda f: f.printed_pct("GPU", by="category")),
    "printed_total_pct": _Rule("%", "all printed shares", lambda f: float(f.rows["printed_pct"].sum())),
    "software_bug_share_pct": _Rule("%", "row Software Bug", lambda f: f.share_pct("Software Bug")),
    "dependency_share_pct": _Rule("%", "category Dependency", lambda f: f.share_pct("Dependency", by="category")),
    "network_share_pct": _Rule("%", "row Network Switch/Cable", lambda f: f.share_pct("Network Switch/Cable")),
    "network_with_nic_share_pct": _Rule(
        "%", "rows Network Switch/Cable and NIC", lambda f: f.share_pct("Network Switch/Cable", "NIC")
    ),
    "unplanned_maintenance_share_pct": _Rule("%", "row Host Maintenance", lambda f: f.share_pct("Host Maintenance")),
    "hardware_share_pct": _Rule(
        "%", "categories GPU, Host and Unplanned Maintenance", lambda f: f.share_pct(*_HARDWARE, by="category")
    ),
    "hardware_with_network_share_pct": _Rule(
        "%", "GPU, Host, Unplanned Maintenance and Network", lambda f: f.share_pct(*_HARDWARE, "Network", by="category")
    ),
    "hardware_with_unknown_share_pct": _Rule(
        "%", "GPU, Host, Unplanned Maintenance and Unknown", lambda f: f.share_pct(*_HARDWARE, "Unknown", by="category")
    ),
    "hardware_without_maintenance_share_pct": _Rule(
        "%", "categories GPU, Host and Network", lambda f: f.share_pct("GPU", "Host", "Network", by="category")
    ),
    "snapshot_days": _Rule("d", "length of the snapshot", lambda f: f.figure("window_days")),
    "mtbi_unexpected_h": _Rule("h", "snapshot per unexpected interruption", lambda f: f.mtbi_h(f.total)),
    "mtbi_all_h": _Rule("h", "snapshot per interruption", lambda f: f.mtbi_h(f.figure("n_interruptions"))),
    "unexpected_per_day": _Rule("1/d", "unexpected a day", lambda f: f.total / f.figure("window_days")),
    "planned_per_day": _Rule("1/d", "planned a day", lambda f: f.figure("n_planned") / f.figure("window_days")),
    "rate_per_1000_node_days": _Rule(
        "1/(1000 node-days)", "unexpected, on all servers", lambda f: 1000.0 * f.total / f.node_days
    ),
    "max_loss_min": _Rule(
        "min",
        "mean loss per unexpected interruption that the bound on effective time allows",
        lambda f: (1.0 - f.figure("ettr_bound")) * f.mtbi_h(f.total) * MIN_PER_H,
    ),
    "ettr_bound_pct": _Rule(
        "%", "effective training time, the paper's bound", lambda f: 100.0 * f.figure("ettr_bound")
    ),
    "data_parallel_long_context": _Rule("count", "GPUs by the other degrees of parallelism", _long_context_ways),
    "mfu_16k_gpus_pct": _Rule("%", "printed throughput by the H100's peak", lambda f: _mfu_pct(f, 2)),
    "training_days_at_16k": _Rule(
        "d",
        "GPU time of the whole training on the GPUs of the snapshot",
        lambda f: evidence.figure("llama31_405b_gpu_h").value / f.figure("n_gpus") / H_PER_DAY,
    ),
    "roce_cluster_n_gpus": _Rule("count", "GPUs in all pods", lambda f: f.figure("n_pods") * f.figure("pod_n_gpus")),
    "throughput_swing_high_pct": _Rule(
        "%", "variation over the day, upper figure of the paper", lambda f: f.figure("throughput_swing_high_pct")
    ),
    "gpu_power_w": _Rule("W", "rated power of a GPU", lambda f: f.figure("gpu_power_w")),
    "gpu_power_mw": _Rule(
        "MW", "rated power of all GPUs", lambda f: f.figure("gpu_power_w") * f.figure("n_gpus") / 1e6
    ),
    "xai_ratio": _Rule("1", "GPUs of the xAI cluster by those of the job", lambda f: f.xai_ratio),
    "xai_failures_per_day": _Rule(
        "1/d", "at the same rate per GPU", lambda f: f.xai_ratio * f.total / f.figure("window_days")
    ),
    "xai_mtbi_min": _Rule("min", "at the same rate per GPU", lambda f: f.mtbi_h(f.total) * MIN_PER_H / f.xai_ratio),
    "llama1_n_gpus": _Rule("count", "as its paper", lambda f: evidence.figure("llama1_n_gpus").value),
    "rsc_n_jobs": _Rule("count", "jobs a day of both clusters in 11 months", lambda f: f.rsc("jobs_per_day", "")),
    "rsc_gpu_h": _Rule(
        "GPU h",
        "size and utilisation of both clusters in 11 months",
        lambda f: H_PER_DAY * f.rsc("n_gpus", "utilisation"),
    ),
}


def quantity(name: str) -> float:
    """One quantity that the published tables imply, in its unit (see :func:`quantities`).

    Parameters
    ----------
    name : str
        A name of :func:`quantities`.

    Returns
    -------
    float
        Its value.

    Raises
    ------
    UnknownName
        If there is no such quantity.

    Examples
    --------
    >>> round(quantity("faulty_gpu_share_pct"), 1)
    35.3
    """
    if name not in _REGISTRY:
        raise UnknownName("quantity", name, _REGISTRY)
    return _REGISTRY[name].compute(_Facts())


def quantities() -> pd.DataFrame:
    """All quantities that claims are held against.

    Returns
    -------
    DataFrame
        Columns ``quantity``, ``value``, ``unit``, ``meaning``.
    """
    facts = _Facts()
    rows = [(name, rule.compute(facts), rule.unit, rule.meaning) for name, rule in _REGISTRY.items()]
    return pd.DataFrame(rows, columns=["quantity", "value", "unit", "meaning"])


def audit() -> pd.DataFrame:
    """Every claim with the value that the published counts imply, and a verdict.

    Returns
    -------
    DataFrame
        Columns ``claim_id``, ``source`` (bibliography key), ``claim``, ``stated_value``, ``unit``, ``quantity``,
        ``implied_value``, ``difference`` (stated less implied), ``tolerance``, ``tolerance_reason``, ``verdict``
        (``agrees``, ``disagrees`` or a judgement), ``comment``, ``status``; values in the row's unit, missing where
        the claim has no number or cannot be computed.

    Raises
    ------
    DataError
        If a claim names an unknown quantity, another unit than the quantity's, or lacks what its verdict needs.
    """
    known = quantities().set_index("quantity")
    claims = evidence.table("claims")
    for claim in claims.itertuples():
        _check(claim, known)
    claims["implied_value"] = claims["quantity"].map(known["value"])
    claims["difference"] = claims["stated_value"] - claims["implied_value"]
    agrees = claims["difference"].abs() <= claims["tolerance"] + _SLACK
    computed = agrees.map({True: AGREES, False: DISAGREES})
    claims["verdict"] = claims["judgement"].where(claims["quantity"] == "", computed)
    values = {str(name): float(value) for name, value in known["value"].items()}
    claims["comment"] = [_filled(*pair, values) for pair in zip(claims["claim_id"], claims["comment"], strict=True)]
    columns = "claim_id source claim stated_value unit quantity implied_value difference tolerance"
    return claims[[*columns.split(), "tolerance_reason", "verdict", "comment", "status"]]


def interruption_shares() -> pd.DataFrame:
    """The printed share of each root cause next to the share that its count implies.

    Returns
    -------
    DataFrame
        The columns of the table ``llama3_interruptions`` and ``implied_pct``, ``difference_pct`` (printed less
        implied) [%] and ``agrees`` (bool): whether rounding to one decimal explains the difference.
    """
    rows = evidence.table("llama3_interruptions")
    implied = 100.0 * rows["n_events"] / rows["n_events"].sum()
    difference = rows["printed_pct"] - implied
    agrees = difference.abs() <= PRINTED_ROUNDING_PCT + _SLACK
    return rows.assign(implied_pct=implied, difference_pct=difference, agrees=agrees)


def readings() -> pd.DataFrame:
    """The two ways to read the root cause whose count and printed share contradict each other.

    Returns
    -------
    DataFrame
        One row a reading. Columns ``reading`` (``H1`` or ``H2``), ``assumption`` (text), ``gpu_events``, ``rows_sum``,
        ``unexplained_events`` (the stated total less the rows), ``gpu_share_pct`` and ``hardware_share_pct`` (of the
        stated total) [%], ``gpu_mtbi_h`` [h].

    Notes
    -----
    H1 trusts the count: the rows add up to the stated total, which makes it the base case. H2 trusts the printed
    share, so events are missing from the table; they stay in the stated total but belong to no component. Hardware
    is GPU, host and unplanned maintenance.

    Examples
    --------
    >>> readings()["gpu_share_pct"].round(1).tolist()
    [64.0, 58.7]
    """
    facts = _Facts()
    total, printed = facts.figure("n_unexpected"), quantity("n_faulty_gpu_from_printed")
    cases = {
        "H1": ("the count of faulty GPUs is right and its printed share wrong", facts.events("Faulty GPU")),
        "H2": ("the printed share of faulty GPUs is right and its count wrong", printed),
    }
    rows = []
    for reading, (assumption, faulty) in cases.items():
        shift = faulty - facts.events("Faulty GPU")
        gpu = facts.events("GPU", by="category") + shift
        hardware = facts.events(*_HARDWARE, by="category") + shift
        rows.append(
            {
                "reading": reading,
                "assumption": assumption,
                "gpu_events": int(gpu),
                "rows_sum": int(facts.total + shift),
                "unexplained_events": int(total - facts.total - shift),
                "gpu_share_pct": 100.0 * gpu / total,
                "hardware_share_pct": 100.0 * hardware / total,
                "gpu_mtbi_h": facts.mtbi_h(gpu),
            }
        )
    return pd.DataFrame(rows)


def _check(claim: Any, known: pd.DataFrame) -> None:
    """Refuse a claim whose verdict could not be reached, or would compare two units."""
    place = f"data/claims.csv, claim {claim.claim_id}"
    if not claim.quantity:
        if not claim.judgement:
            raise DataError(f"{place}: needs a quantity or a judgement")
        return
    if claim.quantity not in known.index:
        raise UnknownName("quantity", claim.quantity, known.index, place)
    if claim.judgement:
        raise DataError(f"{place}: has a quantity, so the judgement {claim.judgement!r} must go")
    if pd.isna(claim.stated_value) or pd.isna(claim.tolerance) or not claim.tolerance_reason:
        raise DataError(f"{place}: a computed verdict needs stated_value, tolerance and tolerance_reason")
    unit = known.loc[claim.quantity, "unit"]
    if claim.unit != unit:
        raise DataError(f"{place}: unit {claim.unit!r}, but the quantity {claim.quantity} has {unit!r}")


def _filled(claim_id: str, comment: str, values: dict[str, float]) -> str:
    """A comment with its quantities put in."""
    try:
        return comment.format(**values)
    except (KeyError, ValueError, IndexError) as error:
        raise DataError(f"data/claims.csv, claim {claim_id}: comment cannot be filled, {error}") from None
