"""A drill: a real training job on this machine, killed on purpose, and what it took beside what it should take."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
