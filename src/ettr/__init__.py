"""Failures, checkpoints and the Effective Training Time Ratio of large training runs.

Names are loaded when first used, so that ``import ettr`` costs nothing.

>>> import ettr
>>> scenario = ettr.Scenario.load("llama3-405b")
>>> scenario.n_nodes
2048
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ettr import (
        audit,
        budget,
        calibration,
        charts,
        checkpoint,
        clusters,
        compare,
        curves,
        errors,
        evidence,
        failures,
        findings,
        logs,
        mitigation,
        notebook,
        plan,
        power,
        progress,
        publish,
        scaling,
        simulation,
        sizing,
        spares,
        sweep,
        telemetry,
        thermal,
        validation,
        weather,
    )
    from ettr.notebook import record
    from ettr.results import FailureLog, TimeBudget
    from ettr.scenario import Part, Scenario
    from ettr.simulation import simulate

__version__ = "0.1.0"

_NAMES = {
    "FailureLog": "ettr.results",
    "Part": "ettr.scenario",
    "Scenario": "ettr.scenario",
    "TimeBudget": "ettr.results",
    "record": "ettr.notebook",
    "simulate": "ettr.simulation",
}
__all__ = [
    "FailureLog",
    "Part",
    "Scenario",
    "TimeBudget",
    "__version__",
    "audit",
    "budget",
    "calibration",
    "charts",
    "checkpoint",
    "clusters",
    "compare",
    "curves",
    "errors",
    "evidence",
    "failures",
    "findings",
    "logs",
    "mitigation",
    "notebook",
    "plan",
    "power",
    "progress",
    "publish",
    "record",
    "scaling",
    "simulate",
    "simulation",
    "sizing",
    "spares",
    "sweep",
    "telemetry",
    "thermal",
    "validation",
    "weather",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"ettr.{name}")
    raise AttributeError(f"module 'ettr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
