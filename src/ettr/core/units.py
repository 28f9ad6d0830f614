"""Units by the ending of a name, factors between units, and tolerances for rounding errors."""

from collections.abc import Iterable

S_PER_H, MIN_PER_H, H_PER_DAY, H_PER_MONTH, H_PER_YEAR = 3600.0, 60.0, 24.0, 730.5, 8766.0
KWH_PER_MWH, W_PER_MW = 1e3, 1e6
ROUNDING = 1e-9
"""Relative difference between two computations of one number, from rounding in sums and products."""
LAST_DIGITS = 1e-12
"""Relative rounding error of a single step."""

OF_ENDING = {
    "_h": "h",
    "_min": "min",
    "_s": "s",
    "_ms": "ms",
    "_us": "µs",
    "_s_per_1000_gpus": "s per 1000 GPUs",
    "_days": "days",
    "_days_low": "days",
    "_days_high": "days",
    "_months": "month",
    "_per_day": "1/day",
    "_node_days": "node-days",
    "_gpu_h": "GPU h",
    "_gpu_years": "GPU-years",
    "_rate_per_1000_node_days": "failures per 1,000 node-days",
    "_per_1000_node_days": "nodes per 1,000 node-days",
    "_per_1000_gpu_years": "1/(1000 GPU-years)",
    "_w": "W",
    "_kw": "kW",
    "_mw": "MW",
    "_w_per_s": "W/s",
    "_mw_per_s": "MW/s",
    "_mw_per_min": "MW/min",
    "_j": "J",
    "_ev": "eV",
    "_kwh": "kWh",
    "_mwh": "MWh",
    "_gwh": "GWh",
    "_c": "°C",
    "_k": "K",
    "_k_per_w": "K/W",
    "_per_k": "1/K",
    "_hz": "Hz",
    "_mhz": "MHz",
    "_flop": "FLOP",
    "_tflops": "TFLOP/s",
    "_tflops_per_gpu": "TFLOP/s",
    "_mb": "MB",
    "_gb": "GB",
    "_pb": "PB",
    "_gb_s": "GB/s",
    "_tb_s": "TB/s",
    "_usd": "USD",
    "_usd_per_day": "USD/day",
    "_usd_per_kw": "USD/kW",
    "_usd_per_kwh": "USD/kWh",
    "_usd_per_gpu_h": "USD/(GPU h)",
    "_g_per_kwh": "g/kWh",
    "_t_co2": "t CO2",
    "_pct": "%",
}
"""Units by the ending of a name."""

COUNTED = {
    "_gpus": "GPUs",
    "_gpus_per_node": "GPUs",
    "_tensor": "GPUs",
    "_context": "GPUs",
    "_pipeline": "GPUs",
    "_nodes": "nodes",
    "_preemptible": "nodes",
    "_events": "failures",
    "_tokens": "tokens",
    "_every_steps": "steps",
    "_crew": "people",
    "_replicas": "replicas",
    "_least": "replicas",
    "_kept": "checkpoints",
}
"""Counted things by the ending of a field's name."""

PLAIN = (
    *("_share", "_factor", "_ratio", "_shape", "_exponent", "_cv", "_spread", "_overlap", "_overshoot"),
    *("_oversubscription", "_pue", "_per_parameter", "_copies", "_after", "_hidden"),
)
"""Endings of names without a unit: shares, ratios and counts."""


def ending_of(name: str, endings: Iterable[str]) -> str:
    """Return the longest of some endings that a name or a dotted path has; empty if none.

    Examples
    --------
    >>> ending_of("checkpoint.write_gb_s", ("_s", "_gb_s"))
    '_gb_s'
    """
    last = f"_{name.rpartition('.')[2]}"
    return max((ending for ending in endings if last.endswith(ending)), key=len, default="")


def unit_of(name: str) -> str:
    """Return the unit that a field's name ends in; empty for fractions, counts without a noun, and text.

    Examples
    --------
    >>> unit_of("checkpoint.interval_min"), unit_of("recovery.person_share")
    ('min', '')
    """
    units = OF_ENDING | COUNTED
    return units.get(ending_of(name, units), "")
