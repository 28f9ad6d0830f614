"""Which mitigations to choose: the best set by the analytical model, each one simulated alone, and what decides it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
