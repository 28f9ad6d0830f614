"""Monte Carlo: one training run, simulated many times.

:func:`simulate` follows the rules of the methods page from failure to failure; means, intervals and finishing dates
are in the :class:`Simulation` that it returns. Names are loaded when first used, as the compiler takes a second;
``__init__.pyi`` is their list.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
