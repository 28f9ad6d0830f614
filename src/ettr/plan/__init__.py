"""Plans: the best checkpoint interval of a run, its ETTR and losses, and the values that a target ETTR needs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
