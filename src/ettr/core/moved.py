"""Names of version 0.1 that are elsewhere now: they work until 0.3, with a warning that says where."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import pkgutil
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

_MODULES = {
    "audit": ["chapters.reading_the_sources.tables"],
    "calibration": ["scaling.calibration"],
    "charts.render": ["notebook.rendering"],
    "charts.tables": ["chapters.common.table"],
    "charts.theme": ["chapters.common.theme"],
    "clusters": ["chapters.failure_rates.tables"],
    "errors": ["core.errors"],
    "findings.words": ["chapters.common.sentences"],
    "progress": ["logs.training_logs", "chapters.failure_log.tables"],
    "results": ["core.results"],
    "validity": ["core.validity"],
    "weather": ["files.weather"],
}
_KINDS = {"charts": "charts", "curves": "tables", "findings": "words"}
"""Rooms that were cut by kind, and what their files are called in the rooms of the chapters."""
_CHAPTERS = {
    "changing_rates disagreement interval": "checkpoint_interval",
    "notice stores tiers": "checkpoint_tiers",
    "failure_log log_verdicts log_words real_runs": "failure_log",
    "failure_rates": "failure_rates",
    "how_many_gpus ways_out": "how_many_gpus",
    "break_even mitigation_evidence mitigations": "one_by_one",
    "portfolio sensitivity": "portfolio",
    "power smoothing": "power",
    "effective_time requirements scale uncertainty": "scale",
    "finishing mechanisms one_run replications": "simulation",
    "spare_options spares simulated_pools": "spares",
    "cooling heat hot_failures": "thermal",
    "failures": "what_failed",
    "reference": "validation",
    "sweeps": "sweeps",
}
_NAMES: dict[str, str] = {}
"""Names that are others now in the same place, by their whole path."""


class OldModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of version 0.1, after all others have been asked."""

    def find_spec(self, fullname: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        old = fullname.removeprefix("ettr.")
        if not fullname.startswith("ettr.") or not any(_places(old)):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=old in _KINDS)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _OldModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""


class _OldModule(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        old = self.__name__.removeprefix("ettr.")
        if not name.startswith("_"):
            if any(_places(f"{old}.{name}")):
                return importlib.import_module(f"ettr.{old}.{name}")
            for place in _places(old):
                if name in vars(importlib.import_module(f"ettr.{place}")):
                    return _said(f"{old}.{name}", f"{place}.{name}")
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def moved(name: str) -> Any:
    """What a name of the package itself has become.

    Raises
    ------
    AttributeError
        If it never was one.
    """
    if name in _NAMES:
        return _said(name, _NAMES[name])
    if any(_places(name)):
        return importlib.import_module(f"ettr.{name}")
    raise AttributeError(f"module 'ettr' has no attribute {name!r}")


def watch() -> None:
    """Let the old modules be imported."""
    if not any(isinstance(finder, OldModules) for finder in sys.meta_path):
        sys.meta_path.append(OldModules())


def _places(old: str) -> Iterator[str]:
    """The modules that hold what an old one held."""
    yield from _MODULES.get(old, ())
    room, _, topic = old.partition(".")
    if room not in _KINDS or "." in topic:
        return
    if not topic:  # `charts` and `findings` held modules, and a few names; `curves` every table
        yield "chapters.common.theme"
        yield "chapters.common.sentences"
    for topics, chapter in _CHAPTERS.items():
        if not topic or topic in topics.split():
            found = importlib.import_module(f"ettr.chapters.{chapter}")
            for module in pkgutil.iter_modules(found.__path__):
                if module.name.endswith(_KINDS[room]) and (topic or room == "curves"):
                    yield f"chapters.{chapter}.{module.name}"


def _said(old: str, new: str) -> Any:
    warnings.warn(f"ettr.{old} is now ettr.{new}; the old name goes with version 0.3", DeprecationWarning, stacklevel=3)
    place, _, name = new.rpartition(".")
    return getattr(importlib.import_module(f"ettr.{place}"), name)
