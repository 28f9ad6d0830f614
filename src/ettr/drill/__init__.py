"""Drill: run a real training job on this machine, inject faults, and compare its time budget with the model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
