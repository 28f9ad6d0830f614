"""Failures, checkpoints and the Effective Training Time Ratio of large training runs.

Names are loaded when first used, so that ``import ettr`` costs nothing; ``__init__.pyi`` is their list.

>>> import ettr
>>> scenario = ettr.Scenario.load("llama3-405b")
>>> scenario.n_nodes
2048
"""

import lazy_loader

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
