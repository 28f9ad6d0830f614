"""Failures, checkpoints and the Effective Training Time Ratio of large training runs.

Names are loaded when first used, so that ``import ettr`` costs nothing; ``__init__.pyi`` is their list.

>>> import ettr
>>> scenario = ettr.Scenario.load("llama3-405b")
>>> scenario.n_nodes
2048
"""

import importlib
import sys
import types

import lazy_loader

__version__ = "0.3.0"

_lazy_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
_COMMANDS = {"fit": "fit_log", "compare": "recommend", "read": "read_log"}
"""Names of commands that are functions under another name."""


def __getattr__(name):
    if name in _COMMANDS:
        raise AttributeError(f"ettr has no attribute {name!r}; did you mean ettr.{_COMMANDS[name]}?", name=name)
    return _lazy_attribute(name)


_MAIN_FUNCTIONS = {
    "budget": "ettr.budget.exact(scenario), or ettr.finishing(scenario) for the finishing date",
    "checkpoint": "ettr.checkpoint.exact_interval(...), or ettr.budget.best_interval_min(scenario)",
    "cluster": "ettr.cluster.make(jobs)",
    "drill": "ettr.drill.run(folder, settings)",
    "evidence": "ettr.evidence.table(name)",
    "failures": "ettr.fit_log(log) or ettr.failures.fit(log)",
    "logs": "ettr.read_log(path, n_nodes=...) or ettr.logs.read(path, n_nodes=...)",
    "mitigation": "ettr.mitigation.catalogue(), or ettr.recommend(scenario)",
    "notebook": "ettr.notebook.run(...)",
    "plan": "ettr.make_plan(scenario) or ettr.plan.make(scenario)",
    "power": "ettr.power.profile(scenario)",
    "ranges": "ettr.ranges.assumptions(scenario)",
    "recommendation": "ettr.recommend(scenario), or ettr.recommendation.mitigations(scenario) to simulate each",
    "scenario": "ettr.Scenario.load(name) or ettr.Scenario.of({...})",
    "simulation": "ettr.simulate(scenario)",
    "sizing": "ettr.sizing.make(scenario)",
    "spares": "ettr.spares.cheapest_pool_for(scenario)",
    "sweep": "ettr.sweep.call(...), or ettr.sweep.run(...) for a notebook",
    "telemetry": "ettr.telemetry.read(path)",
}
"""What to call instead, for subpackages that are called as if they were functions."""


def _call(module, *_, **__):
    raise TypeError(f"{module.__name__} is a module: call {_MAIN_FUNCTIONS[module.__name__.removeprefix('ettr.')]}")


class _Package(types.ModuleType):
    """Type of this package, in which calling a subpackage raises an error that names the function to call."""

    def __setattr__(self, name, value):
        if name in _MAIN_FUNCTIONS:  # an import sets the attribute once the subpackage is loaded
            methods = {"__call__": _call, "__reduce__": lambda module: (importlib.import_module, (module.__name__,))}
            value.__class__ = type("module", (type(value),), methods)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
