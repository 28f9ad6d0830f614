"""A cluster of many jobs: where its GPU-hours go, failure rates by job size, checkpoint policy and mitigations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
