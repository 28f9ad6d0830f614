"""The answer to "what should I do": the interval to checkpoint at, what it leaves, and what a target needs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
