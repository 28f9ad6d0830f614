"""Names of version 0.1 that are elsewhere now: they work until 0.3, with a warning that says where."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import pkgutil
import sys
import types
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any

_MODULES = {
    "audit": ["chapters.sources.tables"],
    "calibration": ["scaling.calibration"],
    "charts.render": ["notebook.rendering"],
    "charts.tables": ["chapters.common.table"],
    "charts.theme": ["chapters.common.theme"],
    "clusters": ["chapters.failure_rates.tables"],
    "curves.mechanisms": ["chapters.common.mechanisms"],
    "errors": ["core.errors"],
    "findings.words": ["core.sentences"],
    "progress": ["logs.training_logs", "chapters.scale.real_run_tables"],
    "results": ["core.results"],
    "scenario.part": ["scenario.gpu"],
    "scenario.warmth": ["scenario.heat_response"],
    "validity": ["core.validity"],
    "weather": ["files.weather"],
}
_KINDS = {"charts": "charts", "curves": "tables", "findings": "words"}
"""Rooms that were cut by kind, and what their files are called in the rooms of the chapters."""
_CHAPTERS = {
    "changing_rates interval": "checkpoint_interval",
    "disagreement": "calculators",
    "notice stores tiers": "checkpoint_tiers",
    "failure_log log_verdicts log_words": "failure_log",
    "real_runs": "scale",
    "failure_rates": "failure_rates",
    "how_many_gpus ways_out": "how_many_gpus",
    "break_even mitigations": "one_by_one",
    "mitigation_evidence": "catalogue",
    "portfolio sensitivity": "portfolio",
    "power smoothing": "power",
    "effective_time requirements scale uncertainty": "scale",
    "finishing one_run": "finishing_date",
    "spare_options spares simulated_pools": "spares",
    "cooling heat hot_failures": "thermal",
    "failures": "what_failed",
    "reference": "validation",
    "sweeps": "sweeps",
}
_NAMES = {
    "Part": "Gpu",
    "evidence.part_names": "evidence.gpu_names",
    "evidence.part_text": "evidence.gpu_text",
    "mitigation.Lent": "mitigation.WithAssumptions",
    "mitigation.Loan": "mitigation.Assumption",
    "mitigation.lend": "mitigation.with_assumptions",
    "scenario.Part": "scenario.Gpu",
    "scenario.part.Part": "scenario.gpu.Gpu",
    "scenario.warmth.Warmth": "scenario.heat_response.HeatResponse",
    "scenario.warmth.warmth": "scenario.heat_response.heat_response",
}
"""Names that were replaced by others, by their whole paths."""


class OldModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of version 0.1, after all others have been asked."""

    def find_spec(self, fullname: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        package, _dot, old = fullname.partition(".")
        if package != "ettr" or not any(_places(old)):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=old in _KINDS)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        vars(module)["__getattr__"] = names_of(spec.name)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""


def watch() -> None:
    """Let the old modules be imported."""
    if not any(isinstance(finder, OldModules) for finder in sys.meta_path):
        sys.meta_path.append(OldModules())


def names_of(module: str, own: Collection[str] = (), load: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """Return a module's ``__getattr__``, which finds old names in their new places.

    Parameters
    ----------
    module : str
        Its whole name, e.g. ``"ettr.scenario"``.
    own : collection of str
        Names of its own that are loaded when they are first asked for.
    load : callable, optional
        Loads one of these.
    """
    place = module.partition(".")[2]

    def find(name: str) -> Any:
        if load and name in own:
            return load(name)
        path = f"{place}.{name}".lstrip(".")
        if path in _NAMES:
            return _warned(path, _NAMES[path])
        if not name.startswith("_"):
            if any(_places(path)):
                return importlib.import_module(f"ettr.{path}")
            for new in _places(place):
                if name in vars(importlib.import_module(f"ettr.{new}")):
                    return _warned(path, f"{new}.{name}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find


def attribute(new: str, old: str) -> Any:
    """An attribute of version 0.1, as a property that leads to the new one."""

    def value(self: Any) -> Any:
        _warn(f"{type(self).__name__}.{old}", f"{type(self).__name__}.{new}", 3)
        return getattr(self, new)

    return property(value, doc=f"Now :attr:`{new}`.")


def _places(old: str) -> Iterator[str]:
    """The modules that hold what an old one held."""
    yield from _MODULES.get(old, ())
    room, _, topic = old.partition(".")
    if room not in _KINDS or "." in topic:
        return
    if not topic:
        yield from ("chapters.common.theme", "core.sentences")
    for topics, chapter in _CHAPTERS.items():
        if (not topic and room == "curves") or topic in topics.split():
            package = importlib.import_module(f"ettr.chapters.{chapter}")
            files = [file.name for file in pkgutil.iter_modules(package.__path__) if file.name.endswith(_KINDS[room])]
            own = [file for file in files if topic.startswith(file.removesuffix(f"_{_KINDS[room]}"))]
            for file in dict.fromkeys([*own, *sorted(files, key=len)]):  # the shortest name is the chapter's first
                yield f"chapters.{chapter}.{file}"


def _warned(old: str, new: str) -> Any:
    _warn(f"ettr.{old}", f"ettr.{new}", 4)
    place, _, name = f"ettr.{new}".rpartition(".")
    return getattr(importlib.import_module(place), name)


def _warn(old: str, new: str, level: int) -> None:
    """Warn at the line that asks, so many calls up."""
    warnings.warn(f"{old} is now {new}; the old name goes with version 0.3", DeprecationWarning, stacklevel=level)
